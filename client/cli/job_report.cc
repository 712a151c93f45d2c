#include "client/cli/job_report.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/cli/terminal.h"
#include "proto/convert/device.h"
#include "samebits/v1/fleet_service.pb.h"
#include "samebits/v1/operations.pb.h"
#include "samebits/v1/verification.pb.h"

namespace samebits::cli {
namespace {

using v1::Operation;
using v1::VerifyKernelsResponse;

std::string PaintState(Operation::State state, const Style& style) {
  const std::string name = Operation::State_Name(state);
  switch (state) {
    case Operation::SUCCEEDED:
      return style.Green(name);
    case Operation::FAILED:
      return style.Red(name);
    case Operation::CANCELLED:
      return style.Yellow(name);
    default:
      return style.Bold(name);
  }
}

std::string DeviceText(const v1::Device& device) {
  std::string text = absl::StrCat(OneLine(device.name()), " (", OneLine(device.backend()));
  if (!device.architecture().empty()) absl::StrAppend(&text, ", ", OneLine(device.architecture()));
  if (!device.driver_version().empty()) absl::StrAppend(&text, ", driver ", OneLine(device.driver_version()));
  if (!device.assembler().empty()) absl::StrAppend(&text, ", assembled by ", OneLine(device.assembler()));
  return text + ")";
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", absl::FromUnixSeconds(time.seconds()), absl::UTCTimeZone());
}

std::string AgreementText(const VerifyKernelsResponse& result, const Style& style) {
  switch (result.agreement()) {
    case VerifyKernelsResponse::CONSISTENT:
      return style.Green("CONSISTENT");
    case VerifyKernelsResponse::CONTRADICTED:
      return style.Red("CONTRADICTED");
    default:
      return style.Yellow("NOT_TESTED");
  }
}

// Launches of one device by the class of their bytes.
std::map<int, std::vector<std::string>> ClassesOn(const VerifyKernelsResponse& result, int device) {
  std::map<int, std::vector<std::string>> classes;
  for (int c = 0; c < result.classes_size(); ++c)
    for (int i = 0; i < result.classes(c).devices_size(); ++i)
      if (result.classes(c).devices(i) == static_cast<uint32_t>(device))
        classes[c].push_back(OneLine(result.launch_ids(static_cast<int>(result.classes(c).launches(i)))));
  return classes;
}

void AppendDevice(const VerifyKernelsResponse& result, int d, const Layout& layout, std::string* out) {
  const v1::DeviceVerification& device = result.devices(d);
  absl::StrAppend(out, "  ", layout.style.Bold(OneLine(device.target())));
  if (device.has_error()) {
    absl::StrAppend(out, ": ", layout.style.Red("no result: "), OneLine(device.error().message()), "\n");
    return;
  }
  absl::StrAppend(out, " on ", OneLine(device.worker()), ": ", DeviceText(device.device()), "\n");
  for (const auto& [index, ids] : ClassesOn(result, d))
    absl::StrAppend(out, "    bytes ", index + 1, ": ", absl::StrJoin(ids, " "), "\n");
  for (const v1::LaunchOutcome& outcome : device.outcomes()) {
    if (outcome.has_error())
      absl::StrAppend(out, "    ", layout.style.Yellow("no bytes"), ": ", OneLine(outcome.id()), ": ",
                      OneLine(outcome.error().message()), "\n");
    else if (!outcome.stable())
      absl::StrAppend(out, "    ", layout.style.Red("does not repeat"), ": ", OneLine(outcome.id()), "\n");
  }
}

}  // namespace

std::string JsonMessage(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  return status.ok() ? json : "{}";
}

std::string HumanOperationLine(const Operation& operation, const Layout& layout) {
  std::string line = absl::StrCat(Fit(Operation::State_Name(operation.state()), 9), "  ", operation.name(), "  ",
                                  OneLine(operation.method()), "  by ", OneLine(operation.principal()));
  if (operation.has_error()) absl::StrAppend(&line, "  ", layout.style.Dim(OneLine(operation.error().message())));
  return line + "\n";
}

std::string HumanOperation(const Operation& operation, const Layout& layout) {
  std::string out = absl::StrCat(PaintState(operation.state(), layout.style), "  ", operation.name(), "  ",
                                 OneLine(operation.method()), "\n");
  if (operation.has_error()) absl::StrAppend(&out, "  ", OneLine(operation.error().message()), "\n");
  for (const Operation::Task& task : operation.tasks()) {
    absl::StrAppend(&out, "  ", Operation::State_Name(task.state()), "  ", OneLine(task.target()));
    if (!task.worker().empty()) absl::StrAppend(&out, " on ", OneLine(task.worker()), ", attempt ", task.attempt());
    if (task.total() != 0) absl::StrAppend(&out, ", ", task.done(), " of ", task.total(), " steps");
    out += "\n";
    for (const google::rpc::Status& error : task.attempt_errors())
      absl::StrAppend(&out, "    ", layout.style.Yellow("retried"), ": ", OneLine(error.message()), "\n");
  }
  return out;
}

namespace {

// What the certificates rest on; the hardware may refute just that.
std::string AssumptionLine(const v1::Contradiction& contradiction) {
  if (contradiction.assumptions().empty()) return "";
  std::vector<std::string> words;
  for (const std::string& assumption : contradiction.assumptions()) words.push_back(OneLine(assumption));
  return absl::StrCat("    certified assuming ", absl::StrJoin(words, "; "), "\n");
}

}  // namespace

std::string HumanVerification(const VerifyKernelsResponse& result, const Layout& layout) {
  std::string out = absl::StrCat(AgreementText(result, layout.style), "  ", result.launch_ids_size(), " launches, ",
                                 result.devices_size(), " devices, inputs: ",
                                 absl::StrJoin(result.distributions(), " "), "\n");
  for (int d = 0; d < result.devices_size(); ++d) AppendDevice(result, d, layout, &out);
  absl::StrAppend(&out, "  pairs with one signature: ", result.certified_pairs(), " of ", result.pairs(), "\n");
  for (const v1::Contradiction& c : result.contradictions())
    absl::StrAppend(&out, "  ", layout.style.Red("contradiction"), ": ", OneLine(c.a()),
                    c.b().empty() ? " does not repeat" : absl::StrCat(" and ", OneLine(c.b()), " differ on ", c.distribution()),
                    ", kept as ", c.reproducer(), "\n", AssumptionLine(c));
  return out;
}

std::string HumanReproducerLine(const v1::Reproducer& reproducer) {
  return absl::StrCat(OneLine(reproducer.name()), "  ", TimeText(reproducer.create_time()), "  found by ",
                      OneLine(reproducer.operation()), "\n");
}

std::string HumanReproducer(const v1::Reproducer& reproducer, const Layout& layout) {
  const v1::Contradiction& c = reproducer.contradiction();
  std::string out = HumanReproducerLine(reproducer);
  absl::StrAppend(&out, "  ", layout.style.Red("contradiction"), ": ", OneLine(c.a()));
  if (c.b().empty()) {
    absl::StrAppend(&out, " is certified to repeat its bits and does not\n");
  } else {
    absl::StrAppend(&out, " and ", OneLine(c.b()), " have one signature and differ on ", OneLine(c.distribution()), "\n");
  }
  out += AssumptionLine(c);
  absl::StrAppend(&out, "  on ", OneLine(reproducer.device().worker()), ": ", DeviceText(reproducer.device().device()), "\n");
  for (int i = 0; i < reproducer.device().outcomes_size() && i < reproducer.signatures_size(); ++i) {
    const v1::LaunchOutcome& outcome = reproducer.device().outcomes(i);
    absl::StrAppend(&out, "  ", OneLine(outcome.id()), ": signature ", OneLine(reproducer.signatures(i).digest()), "\n");
    for (int d = 0; d < outcome.digests_size() && d < reproducer.request().distributions_size(); ++d)
      absl::StrAppend(&out, "    ", Fit(OneLine(reproducer.request().distributions(d)), 12),
                      absl::BytesToHexString(outcome.digests(d)), "\n");
  }
  return out;
}

std::string HumanWorker(const v1::Worker& worker, const Layout& layout) {
  const bool online = worker.state() == v1::Worker::ONLINE;
  std::string out = absl::StrCat(online ? layout.style.Green("ONLINE ") : layout.style.Red("OFFLINE"), "  ",
                                 layout.style.Bold(worker.name()), worker.draining() ? "  draining" : "",
                                 worker.runs_submitted_kernels() ? "" : "  runs no submitted kernels",
                                 worker.runs_numerics() ? "" : "  runs no numerics", "  ",
                                 layout.style.Dim(absl::StrCat("version ", OneLine(worker.version()))), "\n");
  if (!worker.models().empty()) absl::StrAppend(&out, "    models: ", OneLine(absl::StrJoin(worker.models(), " ")), "\n");
  if (!worker.instruction_sources().empty())
    absl::StrAppend(&out, "    counts instructions of: ", OneLine(absl::StrJoin(worker.instruction_sources(), " ")), "\n");
  if (!worker.gemm_libraries().empty())
    absl::StrAppend(&out, "    libraries: ", OneLine(absl::StrJoin(worker.gemm_libraries(), ", ")), "\n");
  if (worker.emulates_gemms()) absl::StrAppend(&out, "    emulates matrix products\n");
  for (const v1::Device& device : worker.devices()) {
    absl::StrAppend(&out, "    ", device.index(), "  ", DeviceText(device));
    if (device.multiprocessors() != 0) absl::StrAppend(&out, ", ", device.multiprocessors(), device.backend() == "rocm" ? " CUs" : " SMs");
    absl::StrAppend(&out, ", ", device.memory_bytes() >> 30, " GiB");
    if (device.clock_megahertz() != 0) absl::StrAppend(&out, ", ", device.clock_megahertz(), " MHz");
    absl::StrAppend(&out, device.ecc() ? ", ECC" : "", "\n");
    if (!device.libraries().empty()) absl::StrAppend(&out, "       ", layout.style.Dim(OneLine(proto::LibrariesText(device))), "\n");
  }
  return out;
}

ExitCode ExitCodeOf(const VerifyKernelsResponse& result) {
  if (result.agreement() == VerifyKernelsResponse::CONTRADICTED) return ExitCode::kNotEquivalent;
  bool all_ran = true;
  for (int d = 0; d < result.devices_size(); ++d) {
    if (ClassesOn(result, d).size() > 1) return ExitCode::kNotEquivalent;
    all_ran &= !result.devices(d).has_error();
    for (const v1::LaunchOutcome& outcome : result.devices(d).outcomes()) {
      if (!outcome.has_error() && !outcome.stable()) return ExitCode::kNotEquivalent;
      all_ran &= !outcome.has_error();
    }
  }
  return all_ran ? ExitCode::kEquivalent : ExitCode::kUnknown;
}

}  // namespace samebits::cli
