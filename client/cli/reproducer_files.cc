#include "client/cli/reproducer_files.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/cli/commands.h"
#include "client/cli/job_report.h"
#include "samebits/v1/verification.pb.h"

namespace samebits::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kIds[] = {"a", "b"};

Json Extents(const v1::Dim3& dim) { return {dim.x(), dim.y(), dim.z()}; }

Json ArgumentJson(const v1::Argument& argument) {
  switch (argument.value_case()) {
    case v1::Argument::kPointer:
      if (argument.pointer().buffer().empty()) return {{"ptr", nullptr}};
      return {{"ptr", argument.pointer().buffer()}};
    case v1::Argument::kInteger:
      return {{"i64", argument.integer()}};
    case v1::Argument::kFloat32Bits:
      return {{"f32", absl::StrFormat("0x%08x", argument.float32_bits())}};
    case v1::Argument::kFloat64Bits:
      return {{"f64", absl::StrFormat("0x%016x", argument.float64_bits())}};
    case v1::Argument::kScratch:
      return {{"scratch", true}};
    case v1::Argument::kAggregate:
      return {{"bytes", absl::BytesToHexString(argument.aggregate())}};
    case v1::Argument::VALUE_NOT_SET:
      break;
  }
  return nullptr;
}

Json BufferJson(const v1::BufferSpec& buffer) {
  Json out = {{"dtype", buffer.type()}, {"elements", buffer.elements()}};
  out["role"] = buffer.role() == v1::BufferSpec::IN ? "in" : buffer.role() == v1::BufferSpec::OUT ? "out" : "inout";
  if (buffer.unit()) out["values"] = "unit";
  if (buffer.has_low()) out["low"] = buffer.low();
  if (buffer.has_high()) out["high"] = buffer.high();
  return out;
}

std::string ShellQuoted(const std::string& word) {
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

}  // namespace

std::string ReproducerRow(const v1::Reproducer& reproducer, int index, const std::string& id, const std::string& path) {
  const v1::Launch& launch = reproducer.request().launches(index).kernel().launch();
  Json row = {{"id", id}, {"path", path}};
  if (!launch.entry().empty()) row["entry"] = launch.entry();
  row["block"] = Extents(launch.block());
  if (launch.has_grid()) row["grid"] = Extents(launch.grid());
  row["shared"] = launch.shared_bytes();
  row["args"] = Json::array();
  for (const v1::Argument& argument : launch.args().arguments()) row["args"].push_back(ArgumentJson(argument));
  if (launch.outputs_size() != 0)
    row["outputs"] = std::vector<std::string>(launch.outputs().begin(), launch.outputs().end());
  row["buffers"] = Json::object();
  for (const v1::BufferSpec& buffer : reproducer.request().buffers()) row["buffers"][buffer.name()] = BufferJson(buffer);
  return row.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status WriteReproducer(const v1::Reproducer& reproducer, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat(folder, ": cannot be made: ", error.message()));
  const int launches = std::min(reproducer.request().launches_size(), 2);
  std::string manifest;
  for (int i = 0; i < launches; ++i) {
    const std::string file = absl::StrCat(kIds[i], ".ptx");
    absl::Status status = WriteFile(folder + "/" + file, reproducer.request().launches(i).kernel().text());
    if (!status.ok()) return status;
    absl::StrAppend(&manifest, ReproducerRow(reproducer, i, kIds[i], file), "\n");
  }
  if (absl::Status status = WriteFile(folder + "/manifest.jsonl", manifest); !status.ok()) return status;
  return WriteFile(folder + "/reproducer.json", JsonMessage(reproducer) + "\n");
}

std::string ReproducerCommands(const v1::Reproducer& reproducer, const std::string& folder) {
  const v1::VerifyKernelsRequest& request = reproducer.request();
  const std::string manifest = ShellQuoted(folder + "/manifest.jsonl");
  std::string out;
  if (request.launches_size() == 2) absl::StrAppend(&out, "samebits compare --local --manifest ", manifest, " a b\n");
  absl::StrAppend(&out, "samebits verify --manifest ", manifest, " --seed ", ShellQuoted(request.seed()), " --runs ",
                  request.runs());
  for (const std::string& distribution : request.distributions())
    absl::StrAppend(&out, " --distribution ", ShellQuoted(distribution));
  return absl::StrCat(out, " --device ", ShellQuoted(reproducer.device().device().backend()), "\n");
}

}  // namespace samebits::cli
