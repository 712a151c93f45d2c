#ifndef SAMEBITS_CORE_HEAL_JOBS_ATTRIBUTION_H_
#define SAMEBITS_CORE_HEAL_JOBS_ATTRIBUTION_H_

#include <string>
#include <vector>

#include "core/heal/jobs/plan.h"
#include "core/heal/jobs/replay.h"
#include "core/heal/jobs/result.h"

namespace samebits::heal {

struct AttributionRequest {
  std::string anchor, configuration;
  int most_rows = 1;  // of a pass
  int kept_rows = 1;  // of the sequence's trajectory, spread evenly, for the fits
};

// Replays a sequence under both and measures equations 13 to 19 for every layer. The record has sums over all rows of
// the trajectory and the values of the kept ones.
absl::StatusOr<Json> MeasureAttribution(const AttributionRequest& request, const Sequence& sequence,
                                        const ModelShape& shape, UnitContext& context);

// Fits and allocates (equations 20 to 27) over the records of one configuration.
Attribution Attribute(const std::string& configuration, const ModelShape& shape,
                      const std::vector<const Json*>& records);

// Rows to keep of each of `prompts` sequences so that there are `fitted` together and a record stays small.
int KeptRows(const ModelShape& shape, int prompts, int fitted);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_ATTRIBUTION_H_
