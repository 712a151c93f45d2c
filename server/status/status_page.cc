#include "server/status/status_page.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/status/page_template.h"

namespace samebits::server {
namespace {

constexpr absl::Duration kLongWait = absl::Minutes(30);

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  return out;
}

// `text` with each $NAME replaced; values are not looked into.
std::string Fill(const char* text, const std::map<std::string, std::string>& values) {
  std::string out;
  for (const char* at = text; *at != '\0';) {
    if (*at != '$') {
      out += *at++;
      continue;
    }
    const char* end = ++at;
    while ((*end >= 'A' && *end <= 'Z') || *end == '_') ++end;
    const auto value = values.find(std::string(at, end));
    out += value == values.end() ? absl::StrCat("$", std::string(at, end)) : value->second;
    at = end;
  }
  return out;
}

std::string Number(uint64_t value, const char* what, const char* tone = "") {
  return absl::StrCat("<div><b class=\"", tone, "\">", value, "</b><span>", what, "</span></div>");
}

std::string NumberText(const std::string& value, const char* what, const char* tone = "") {
  return absl::StrCat("<div><b class=\"", tone, "\">", value, "</b><span>", what, "</span></div>");
}

// Cells are HTML already.
std::string Table(const std::vector<const char*>& heads, const std::vector<std::vector<std::string>>& rows,
                  const char* kind = "") {
  std::string out = absl::StrCat("<table class=\"", kind, "\"><thead><tr>");
  for (const char* head : heads) absl::StrAppend(&out, "<th scope=\"col\">", head, "</th>");
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) absl::StrAppend(&out, "<td data-label=\"", heads[i], "\">", row[i], "</td>");
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string Toned(const std::string& text, const char* tone) {
  return absl::StrCat("<span class=\"state ", tone, "\">", Escaped(text), "</span>");
}

const char* ToneOf(const std::string& word) {
  for (const char* good : {"SUCCEEDED", "EQUIVALENT", "OK", "CONSISTENT"})
    if (word == good) return "good";
  for (const char* bad : {"FAILED", "DIFFERENT", "CONTRADICTED"})
    if (word == bad) return "bad";
  for (const char* warn : {"CANCELLED", "UNKNOWN", "NONDETERMINISTIC", "DISTINCT"})
    if (word == warn) return "warn";
  return "info";
}

std::string WorkerState(const StatusData::Worker& worker) {
  std::string out = worker.online ? Toned("online", "good") : Toned("offline", "bad");
  if (worker.draining) out += " " + Toned("draining", "warn");
  return out;
}

std::string Devices(const StatusData::Worker& worker) {
  std::string out;
  for (const StatusData::Device& device : worker.devices) {
    if (!out.empty()) out += "<br>";
    absl::StrAppend(&out, device.index, ": ", Escaped(device.name), " <span class=\"dim\">", Escaped(device.backend));
    if (!device.architecture.empty()) absl::StrAppend(&out, "/", Escaped(device.architecture));
    if (!device.assembler.empty()) absl::StrAppend(&out, ", assembled by ", Escaped(device.assembler));
    if (!device.libraries.empty()) absl::StrAppend(&out, "<br>", Escaped(device.libraries));
    out += "</span>";
  }
  if (!worker.runs_submitted_kernels)
    out += "<br><span class=\"warn\">runs no submitted kernels (--allow-submitted-kernels)</span>";
  return out;
}

// What others can connect to: a server that listens on every address does not know its name.
std::string Reachable(const std::string& address) {
  for (const char* any : {"0.0.0.0:", "[::]:"})
    if (absl::StartsWith(address, any)) return absl::StrCat("THIS-HOST:", address.substr(address.rfind(':') + 1));
  return address;
}

std::string Fleet(const StatusData& data) {
  const uint64_t all = data.workers_online + data.workers_offline;
  const std::map<std::string, std::string> address = {{"ADDRESS", Escaped(Reachable(data.address))}};
  if (all == 0) return Fill(kEmptyFleet, address);
  std::vector<std::vector<std::string>> rows;
  for (const StatusData::Worker& worker : data.workers)
    rows.push_back({absl::StrCat("<b>", Escaped(worker.id), "</b>"), WorkerState(worker),
                    worker.online ? std::string("now") : ShortDuration(worker.silent) + " ago", Devices(worker)});
  std::string out = data.workers_online == 0 ? Fill(kNobodyOnline, address) : "";
  out += Table({"Worker", "State", "Heard of", "Devices"}, rows);
  if (all > data.workers.size())
    absl::StrAppend(&out, "<p class=\"dim\">and ", all - data.workers.size(), " more: <code>samebits fleet</code></p>");
  return out;
}

std::string Jobs(const StatusData& data) {
  if (data.jobs.empty()) return kNoJobs;
  std::vector<std::vector<std::string>> rows;
  for (const StatusData::Job& job : data.jobs) {
    std::string what = absl::StrCat("<code>", Escaped(job.id), "</code> ", Escaped(job.kind));
    if (!job.error.empty()) absl::StrAppend(&what, "<br><span class=\"dim\">", Escaped(job.error), "</span>");
    rows.push_back({Toned(job.state, ToneOf(job.state)), what, Escaped(job.principal), absl::StrCat(job.priority),
                    ShortDuration(job.age)});
  }
  return Table({"State", "Job", "By", "Priority", "Age"}, rows);
}

std::string Profiles(const StatusData& data) {
  if (data.profiles_stored == 0) return kNoProfiles;
  std::vector<std::vector<std::string>> rows;
  for (const StatusData::Profile& profile : data.profiles)
    rows.push_back({Escaped(profile.device), Escaped(profile.library),
                    absl::StrCat(profile.explained, " of ", profile.shapes),
                    absl::FormatTime("%Y-%m-%d", profile.time, absl::UTCTimeZone()),
                    absl::StrCat("<code>archProfiles/", Escaped(profile.id), "</code>")});
  std::string out = Table({"Device", "Library", "Shapes explained", "Stored", "Name"}, rows);
  if (data.profiles_stored > data.profiles.size())
    absl::StrAppend(&out, "<p class=\"dim\">and ", data.profiles_stored - data.profiles.size(),
                    " more: <code>samebits profile list</code></p>");
  return out;
}

void AppendCounts(const StatusData::Counts& counts, const char* head, std::string* out) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [label, count] : counts)
    if (count != 0) rows.push_back({Toned(label, ToneOf(label)), absl::StrCat(count)});
  if (!rows.empty()) *out += Table({head, "Count"}, rows, "counts");
}

std::string Verdicts(const StatusData& data) {
  std::string out;
  AppendCounts(data.verdicts, "Comparisons", &out);
  AppendCounts(data.checks, "Signatures computed", &out);
  AppendCounts(data.unknown_reasons, "Unknown because of", &out);
  AppendCounts(data.verifications, "Verifications on devices", &out);
  return out.empty() ? kNoVerdicts : out;
}

std::string Contradictions(const StatusData& data) {
  std::vector<std::vector<std::string>> rows;
  for (const StatusData::Reproducer& reproducer : data.latest_reproducers)
    rows.push_back({absl::StrCat("<code>reproducers/", Escaped(reproducer.id), "</code>"),
                    absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", reproducer.time, absl::UTCTimeZone()),
                    absl::StrCat("<code>", Escaped(reproducer.job), "</code>")});
  return Fill(kContradicted, {{"COUNT", absl::StrCat(data.reproducers, data.reproducers == 1 ? " reproducer is" : " reproducers are")},
                              {"TABLE", Table({"Name", "Found", "By job"}, rows)}});
}

std::string Caution(const std::string& head, const std::string& text) {
  return Fill(kCaution, {{"HEAD", head}, {"TEXT", text}});
}

std::string Alarms(const StatusData& data) {
  std::string out;
  if (data.reproducers != 0) out += Contradictions(data);
  if (data.store_errors != 0)
    out += Caution("The database fails", absl::StrCat(data.store_errors, " calls failed since the start: is the disk full or "
                                                      "damaged? Look at the server's log, then <code>samebits fsck</code>."));
  if (data.queued_tasks != 0 && data.workers_online == 0)
    out += Caution("Jobs wait and no worker is online", absl::StrCat(data.queued_tasks, " tasks are queued."));
  else if (data.oldest_queued > kLongWait)
    out += Caution("A job has waited for a long time",
                   absl::StrCat("For ", ShortDuration(data.oldest_queued), ": no worker offers its device, or there are too "
                                "few. <code>samebits jobs --open</code>, <code>samebits fleet</code>."));
  if (!out.empty()) return out;
  uint64_t verifications = 0;
  for (const auto& [label, count] : data.verifications) verifications += count;
  return Fill(kQuiet, {{"TEXT", verifications == 0 ? std::string("No verification on devices has ended since the start.")
                                                   : absl::StrCat("No hardware result contradicts a verdict; verifications "
                                                                  "since the start: ", verifications, ".")}});
}

std::string Bytes(uint64_t bytes) {
  if (bytes >= 1ull << 30) return absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / (1ull << 30));
  if (bytes >= 1ull << 20) return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1ull << 20));
  return absl::StrCat(bytes >> 10, " KiB");
}

}  // namespace

std::string ShortDuration(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 1) return "now";
  if (seconds < 120) return absl::StrCat(seconds, " s");
  if (seconds < 120 * 60) return absl::StrCat(seconds / 60, " min");
  if (seconds < 48 * 3600) return absl::StrCat(seconds / 3600, " h");
  return absl::StrCat(seconds / 86400, " d");
}

std::string RenderStatusPage(const StatusData& data) {
  const bool alarmed = data.reproducers != 0;
  return Fill(
      kPageTemplate,
      {{"TITLE", alarmed ? "ALARM · samebits" : "samebits"},
       {"ADDRESS", Escaped(data.address)},
       {"UPTIME", ShortDuration(data.uptime)},
       {"SIGNATURE_VERSION", absl::StrCat(data.signature_version)},
       {"ALARMS", Alarms(data)},
       {"FLEET_NUMBERS", Number(data.workers_online, "online", data.workers_online != 0 ? "good" : "") +
                             Number(data.workers_offline, "offline", data.workers_offline != 0 ? "bad" : "") +
                             Number(data.workers_draining, "draining")},
       {"FLEET", Fleet(data)},
       {"QUEUE_NUMBERS",
        Number(data.open_jobs, "open jobs") + Number(data.queued_tasks, "tasks queued") +
            Number(data.leased_tasks, "tasks running") + Number(data.finished_jobs, "ended jobs kept") +
            NumberText(data.oldest_queued > absl::ZeroDuration() ? ShortDuration(data.oldest_queued) : "–", "longest wait")},
       {"JOBS", Jobs(data)},
       {"PROFILES", Profiles(data)},
       {"VERDICTS", Verdicts(data)},
       {"STORE_NUMBERS", Number(data.kernels, "kernels") + Number(data.signatures, "signatures") +
                             NumberText(data.file_bytes == 0 ? "–" : Bytes(data.file_bytes), "on disk")},
       {"TIME", absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", data.now, absl::UTCTimeZone())}});
}

}  // namespace samebits::server
