#include "client/cli/heal_request.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "client/cli/job_connection.h"
#include "core/heal/jobs/prompt_file.h"
#include "proto/convert/convert.h"
#include "proto/convert/numerics/instruction_mix.h"
#include "proto/convert/numerics/numerics.h"

namespace samebits::cli {
namespace {

absl::Status ReadPrompts(const HealOptions& o, v1::NumericsPromptSet* out) {
  const absl::StatusOr<heal::PromptSet> set = heal::LoadPrompts(o.prompts);
  if (!set.ok()) return set.status();
  out->set_name(set->name);
  for (const heal::Prompt& prompt : set->prompts) {
    if (o.limit != 0 && out->prompts_size() == o.limit) break;
    v1::NumericsPrompt* to = out->add_prompts();
    to->set_id(prompt.id);
    to->set_domain(prompt.domain);
    to->set_use_case(prompt.use_case);
    to->mutable_tokens()->Add(prompt.tokens.begin(), prompt.tokens.end());
    if (prompt.expected != 0) to->set_expected(std::string(1, prompt.expected));
  }
  for (const std::string& bytes : set->token_bytes) out->add_token_bytes(bytes);
  out->mutable_stop_tokens()->Add(set->stop_tokens.begin(), set->stop_tokens.end());
  return absl::OkStatus();
}

absl::Status ReadCode(const std::vector<std::string>& paths, v1::CodeFiles* out) {
  uint64_t bytes = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return absl::InvalidArgumentError(absl::StrCat(path, " is a folder: name its files"));
    std::ifstream in(path, std::ios::binary);
    if (!in) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
    if (const uint64_t size = std::filesystem::file_size(path, error); !error) bytes += size;
    if (bytes > proto::kMostCodeBytes)
      return absl::InvalidArgumentError(absl::StrCat(path, ": with it the files have more than ", proto::kMostCodeBytes >> 20,
                                                     " MiB, which a server does not take; count them here, without --server"));
    v1::CodeFile* file = out->add_files();
    proto::SetText(path, file->mutable_name());
    file->set_content(std::string(std::istreambuf_iterator<char>(in), {}));
  }
  return absl::OkStatus();
}

// COUNTxLENGTH[:SEED]
absl::Status ParseSynthetic(const std::string& text, v1::SyntheticPrompts* out) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  const std::vector<std::string> sizes = absl::StrSplit(parts[0], 'x');
  int32_t count = 0, length = 0;
  uint64_t seed = 0;
  const bool fits = parts.size() <= 2 && sizes.size() == 2 && absl::SimpleAtoi(sizes[0], &count) &&
                    absl::SimpleAtoi(sizes[1], &length) && (parts.size() == 1 || absl::SimpleAtoi(parts[1], &seed));
  if (!fits)
    return absl::InvalidArgumentError(absl::StrCat("--synthetic-prompts ", text, ": give COUNTxLENGTH or COUNTxLENGTH:SEED"));
  out->set_count(count);
  out->set_length(length);
  out->set_seed(seed);
  return absl::OkStatus();
}

// Where and how a server has it done.
void FillPlace(const CommandLine& line, v1::NumericsRun* run) {
  if (line.local) return;
  run->set_device(line.heal.device);
  run->set_priority(line.job.priority);
  if (line.job.deadline_seconds > 0) {
    const int64_t nanos = absl::ToInt64Nanoseconds(absl::Seconds(line.job.deadline_seconds));
    run->mutable_timeout()->set_seconds(nanos / 1'000'000'000);
    run->mutable_timeout()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  }
  run->set_request_id(line.job.request_id.empty() ? NewRequestId() : line.job.request_id);
}

absl::Status FillRun(const CommandLine& line, v1::NumericsRun* run) {
  const HealOptions& o = line.heal;
  run->set_model(o.model);
  run->set_slots(o.slots);
  run->set_rows(o.rows);
  if (!o.prompts.empty()) {
    if (absl::Status status = ReadPrompts(o, run->mutable_prompt_set()); !status.ok()) return status;
  } else if (!o.synthetic_prompts.empty()) {
    if (absl::Status status = ParseSynthetic(o.synthetic_prompts, run->mutable_synthetic_prompts()); !status.ok())
      return status;
  } else if (line.command != Command::kHealServeCost) {
    return absl::InvalidArgumentError("no prompts; give --prompts FILE or --synthetic-prompts COUNTxLENGTH");
  }
  FillPlace(line, run);
  return absl::OkStatus();
}

void FillTrajectory(const HealOptions& o, v1::NumericsTrajectory* out) {
  out->set_anchor(o.anchor);
  out->set_max_new_tokens(o.max_new_tokens);
}

// Lists are split at commas, and so are the layers of "heal++:@2,5,7-9". No configuration begins with a digit: what does
// is a layer of the configuration before it.
std::vector<std::string> WithTheirLayers(const std::vector<std::string>& pieces) {
  std::vector<std::string> whole;
  for (const std::string& piece : pieces) {
    const bool layer = !piece.empty() && absl::ascii_isdigit(static_cast<unsigned char>(piece[0]));
    if (layer && !whole.empty() && absl::StrContains(whole.back(), ":@"))
      absl::StrAppend(&whole.back(), ",", piece);
    else
      whole.push_back(piece);
  }
  return whole;
}

template <typename Request>
void FillConfigurations(const HealOptions& o, Request* out) {
  for (const std::string& text : WithTheirLayers(o.configurations)) out->add_configurations(text);
}

absl::Status FillEvaluate(const HealOptions& o, v1::EvaluateReproducibilityRequest* out) {
  FillTrajectory(o, out->mutable_trajectory());
  FillConfigurations(o, out);
  for (const std::string& name : o.schedules) {
    if (name != "fixed" && name != "original" && name != "reversed")
      return absl::InvalidArgumentError(absl::StrCat("--schedules: '", name, "' is none of fixed, original, reversed"));
    out->add_schedules(name == "fixed" ? v1::FIXED : name == "original" ? v1::ORIGINAL : v1::REVERSED);
  }
  out->set_skip_mse(o.skip_mse);
  out->set_skip_flips(o.skip_flips);
  return absl::OkStatus();
}

void FillServeCost(const HealOptions& o, v1::MeasureServingCostRequest* out) {
  out->set_baseline(o.baseline);
  FillConfigurations(o, out);
  out->mutable_batches()->Add(o.batches.begin(), o.batches.end());
  out->mutable_contexts()->Add(o.contexts.begin(), o.contexts.end());
  out->set_rounds(o.rounds);
  out->set_warmup_steps(o.warmup_steps);
  out->set_steps(o.steps);
}

void FillAttribute(const HealOptions& o, v1::AttributeErrorsRequest* out) {
  FillTrajectory(o, out->mutable_trajectory());
  FillConfigurations(o, out);
  out->set_prompts(o.used_prompts);
  out->set_fitted_rows(o.fitted_rows);
}

void FillDecompose(const HealOptions& o, v1::DecomposeErrorsRequest* out) {
  FillTrajectory(o, out->mutable_trajectory());
  out->set_configuration(o.configuration);
  out->set_prompts(o.used_prompts);
}

void FillSweep(const HealOptions& o, v1::SweepSignificandRequest* out) {
  FillTrajectory(o, out->mutable_trajectory());
  out->set_least_bits(o.least_bits);
  out->set_most_bits(o.most_bits);
  for (const std::string& text : WithTheirLayers(o.configurations)) out->add_baselines(text);
  if (o.tolerated_rate) out->set_tolerated_rate(*o.tolerated_rate);
}

void FillQkv(const HealOptions& o, v1::MeasureQkvRequest* out) {
  FillTrajectory(o, out->mutable_trajectory());
  FillConfigurations(o, out);
  out->set_prompts(o.used_prompts);
}

void FillPolicy(const HealOptions& o, v1::ChooseSkipPolicyRequest* out) {
  FillTrajectory(o, out->mutable_trajectory());
  out->set_variant(o.variant);
  out->set_budget(o.budget);
  out->set_prompts(o.used_prompts);
  out->set_most_skipped(o.most_skipped);
}

absl::Status FillJob(const CommandLine& line, v1::NumericsRequest* out) {
  const HealOptions& o = line.heal;
  switch (line.command) {
    case Command::kHealAttribute:
      FillAttribute(o, out->mutable_attribute());
      break;
    case Command::kHealDecompose:
      FillDecompose(o, out->mutable_decompose());
      break;
    case Command::kHealSweep:
      FillSweep(o, out->mutable_sweep());
      break;
    case Command::kHealQkv:
      FillQkv(o, out->mutable_qkv());
      break;
    case Command::kHealPolicy:
      FillPolicy(o, out->mutable_policy());
      break;
    case Command::kHealServeCost:
      FillServeCost(o, out->mutable_serve_cost());
      break;
    default:
      return FillEvaluate(o, out->mutable_evaluate());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::NumericsRequest> MakeHealRequest(const CommandLine& line) {
  v1::NumericsRequest request;
  if (absl::Status status = FillJob(line, &request); !status.ok()) return status;
  if (absl::Status status = FillRun(line, proto::MutableRunOf(&request)); !status.ok()) return status;
  return request;
}

absl::StatusOr<v1::NumericsRequest> MakeMixRequest(const CommandLine& line) {
  const HealOptions& o = line.heal;
  v1::NumericsRequest request;
  v1::MeasureInstructionMixRequest* mix = request.mutable_instruction_mix();
  FillPlace(line, mix->mutable_run());
  mix->set_target(o.target);
  mix->set_match(o.match);
  if (o.engine.empty()) {
    if (absl::Status status = ReadCode(o.files, mix->mutable_code_files()); !status.ok()) return status;
    return request;
  }
  mix->mutable_run()->set_model(absl::StrCat("synthetic:", o.shape));
  v1::EngineKernels* kernels = mix->mutable_engine_kernels();
  if (o.engine != std::vector<std::string>{"all"})
    for (const std::string& text : WithTheirLayers(o.engine)) kernels->add_configurations(text);
  return request;
}

}  // namespace samebits::cli
