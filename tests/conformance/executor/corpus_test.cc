// Compiled kernels: what the checker's map evaluates to must be what the direct interpreter writes, approximate
// functions included, since both sides use the same stand-ins.

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "client/launch/manifest.h"
#include "core/base/hash.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/evaluation/evaluation.h"

namespace samebits {
namespace {

// A part of the grid, and buffers as long as that part needs.
struct Job {
  std::string id, group, text;
  checker::Launch launch;
  std::map<std::string, std::pair<int64_t, int64_t>> integers;  // buffers of integers, with their bounds
};

constexpr uint64_t kMaxSteps = 12'000'000, kMaxEvaluated = 300;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::map<std::string, std::string> Lines(const std::string& manifest) {
  std::map<std::string, std::string> by_id;
  const auto text = launch::ReadFile(manifest, 1u << 30);
  if (!text.ok()) return by_id;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string line = text->substr(at, end - at);
    at = end + 1;
    const auto row = nlohmann::json::parse(line, nullptr, false);
    if (row.is_object() && row.contains("id")) by_id[row["id"]] = line;
  }
  return by_id;
}

bool MakeJob(const launch::ManifestRow& row, const std::string& line, Job* job) {
  if (!row.status.ok()) return false;
  auto text = launch::ReadFile(row.path, 16u << 20);
  if (!text.ok()) return false;
  job->text = *std::move(text);
  const auto resolved = launch::Resolve(row.spec, [&] { return checker::DescribeText(job->text); });
  if (!resolved.ok() || !resolved->launch.grid || !resolved->launch.args) return false;
  job->launch = resolved->launch;
  job->launch.outputs.clear();
  job->id = row.id;
  for (uint32_t& n : *job->launch.grid) n = std::min(n, 2u);
  const auto json = nlohmann::json::parse(line, nullptr, false);
  job->group = json.value("group", row.id);
  if (!json.contains("buffers")) return true;
  for (const auto& [name, buffer] : json["buffers"].items()) {
    const std::string type = buffer.value("dtype", "");
    if (type.empty() || (type[0] != 'i' && type[0] != 'u')) continue;
    job->integers[name] = {buffer.value("low", int64_t{0}), buffer.value("high", int64_t{100})};
  }
  return true;
}

// Integers within their bounds, as 32- and as 64-bit words where the bounds are not negative.
void PutIntegers(const Job& job, evaluation::Contents* contents) {
  for (const auto& [name, bounds] : job.integers) {
    const auto it = contents->find(name);
    if (it == contents->end()) continue;
    const auto range = static_cast<uint64_t>(std::max<int64_t>(1, bounds.second - bounds.first));
    for (size_t i = 0; i + 8 <= it->second.size(); i += 8) {
      const uint64_t value = static_cast<uint64_t>(bounds.first) + Scramble(i) % range;
      for (size_t k = 0; k < 8; ++k) it->second[i + k] = static_cast<uint8_t>(value >> (8 * k));
    }
  }
}

struct Counts {
  uint64_t equal = 0, mismatched = 0, no_signature = 0, too_long = 0, not_interpreted = 0, inexact = 0,
           not_evaluated = 0;
  std::map<std::string, uint64_t> reasons;
};

void Compare(const Job& job, Counts* counts) {
  checker::Options options;
  options.limits.max_time = absl::Seconds(20);
  auto contents = evaluation::MakeContents(job.text, job.launch, 7, options);
  ASSERT_TRUE(contents.ok()) << job.id << ": " << contents.status();
  PutIntegers(job, &*contents);
  evaluation::EvaluationLimits limits;
  limits.max_evaluated = kMaxEvaluated;
  const auto evaluated = evaluation::EvaluateLaunch(job.text, job.launch, *contents, options, limits);
  if (!evaluated.ok()) {
    ++counts->not_evaluated;
    ++counts->reasons["not evaluated: " + evaluated.status().ToString()];
    return;
  }
  if (evaluated->signature.status != checker::SignatureStatus::kOk) {
    ++counts->no_signature;
    ++counts->reasons["no signature: " + evaluated->signature.reason_code];
    return;
  }
  const auto interpreted = evaluation::InterpretLaunch(job.text, job.launch, *contents, kMaxSteps);
  if (!interpreted.ok()) {
    const bool too_long = interpreted.status().code() == absl::StatusCode::kResourceExhausted;
    ++(too_long ? counts->too_long : counts->not_interpreted);
    if (!too_long) ++counts->reasons["not interpreted: " + interpreted.status().ToString()];
    return;
  }
  counts->inexact += interpreted->inexact;
  const std::string mismatch = FirstMismatch(evaluated->outcome, *interpreted);
  if (mismatch.empty()) {
    ++counts->equal;
  } else {
    ++counts->mismatched;
    ADD_FAILURE() << job.id << ": " << mismatch;
  }
}

// `per_group` kernels of each group.
Counts CompareManifest(const std::string& manifest, uint64_t per_group) {
  Counts counts;
  const auto rows = launch::ReadManifest(manifest);
  EXPECT_TRUE(rows.ok()) << rows.status();
  if (!rows.ok()) return counts;
  const auto lines = Lines(manifest);
  std::map<std::string, std::vector<const launch::ManifestRow*>> groups;
  for (const launch::ManifestRow& row : *rows) {
    const auto line = lines.find(row.id);
    if (line == lines.end()) continue;
    groups[nlohmann::json::parse(line->second).value("group", row.id)].push_back(&row);
  }
  for (const auto& [group, members] : groups) {
    const uint64_t n = std::min<uint64_t>(per_group, members.size());
    for (uint64_t i = 0; i < n; ++i) {
      const launch::ManifestRow& row =
          *members[i * members.size() / n + (i == 0 ? 0 : Scramble(i) % std::max<uint64_t>(1, members.size() / n))];
      Job job;
      if (MakeJob(row, lines.at(row.id), &job)) Compare(job, &counts);
    }
  }
  std::cout << manifest << ": " << counts.equal << " equal (" << counts.inexact << " with approximate functions), "
            << counts.mismatched << " not, " << counts.no_signature << " without signature, " << counts.too_long
            << " too long to interpret, " << counts.not_interpreted << " not interpreted, " << counts.not_evaluated
            << " not evaluated\n";
  for (const auto& [reason, times] : counts.reasons) std::cout << "  " << times << " " << reason << "\n";
  return counts;
}

TEST(Corpus, EvaluatedMapIsWhatTheInterpreterWrites) {
  const Counts counts = CompareManifest(SAMEBITS_BINARY_DIR "/tests/corpus/kernels/manifest.jsonl",
                                        FromEnvironment("SAMEBITS_CORPUS_PER_GROUP", 1));
  EXPECT_EQ(counts.mismatched, 0u);
  EXPECT_GE(counts.equal, 30u);
}

// SAMEBITS_DEV_CORPUS names the manifest of another corpus.
TEST(Corpus, OtherCorpus) {
  const char* manifest = std::getenv("SAMEBITS_DEV_CORPUS");
  if (manifest == nullptr) GTEST_SKIP() << "SAMEBITS_DEV_CORPUS is not set";
  EXPECT_EQ(CompareManifest(manifest, FromEnvironment("SAMEBITS_CORPUS_PER_GROUP", 1)).mismatched, 0u);
}

}  // namespace
}  // namespace samebits
