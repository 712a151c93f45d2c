#ifndef SAMEBITS_SERVER_STATUS_COLLECT_H_
#define SAMEBITS_SERVER_STATUS_COLLECT_H_

#include "server/dispatch/dispatcher.h"
#include "server/metrics/metrics.h"
#include "server/status/status_page.h"
#include "storage/profile_store.h"

namespace samebits::server {

// What the status page shows, but for address, signature version and uptime. Blocks on the stores; what they fail to
// say is left empty.
StatusData CollectStatus(Dispatcher& dispatcher, storage::ProfileStore& profiles, const Levels& levels,
                         const Metrics& metrics);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_STATUS_COLLECT_H_
