// Symbolic mode (grid and scalar arguments withheld) against real kernels and adversarial pairs: whatever is called
// equal for all sizes is equal at the sizes that hardware ran.

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "client/launch/manifest.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/adversarial/pair_table.h"

namespace samebits {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Digests of all draws as one string, per kernel; those that two runs agree on.
std::map<std::string, std::string> Digests(const std::string& manifest) {
  std::map<std::string, std::string> by_id;
  const auto text = launch::ReadFile(manifest, 1u << 30);
  if (!text.ok()) return by_id;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const auto row = nlohmann::json::parse(text->substr(at, end - at), nullptr, false);
    at = end + 1;
    if (row.is_object() && row.contains("id") && row.contains("digests") && row.value("stable", true))
      by_id[row["id"]] = row.value("group", "") + row["digests"].dump();
  }
  return by_id;
}

struct Checked {
  std::string id, digests;
  checker::Signature signature;
};

void CheckRow(const launch::ManifestRow& row, const std::string& digests, std::vector<Checked>* out) {
  const auto text = launch::ReadFile(row.path, 16u << 20);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto resolved = launch::Resolve(launch::WithoutSizes(row.spec), [&] { return checker::DescribeText(*text); });
  ASSERT_TRUE(resolved.ok()) << row.id << ": " << resolved.status();
  checker::Options options;
  options.limits.max_steps = 60'000'000;
  auto signature = checker::ComputeSignature(*text, resolved->launch, options);
  ASSERT_TRUE(signature.ok()) << row.id << ": " << signature.status();
  out->push_back({row.id, digests, *std::move(signature)});
}

// Of the groups of a manifest, `per_group` kernels each.
void CheckManifest(const std::string& manifest, uint64_t per_group, double least_decided) {
  const auto rows = launch::ReadManifest(manifest);
  ASSERT_TRUE(rows.ok()) << rows.status();
  const auto digests = Digests(manifest);
  std::map<std::string, std::vector<const launch::ManifestRow*>> groups;
  for (const launch::ManifestRow& row : *rows) {
    const auto at = digests.find(row.id);
    if (row.status.ok() && at != digests.end()) groups[at->second.substr(0, at->second.find('['))].push_back(&row);
  }
  ASSERT_FALSE(groups.empty());
  uint64_t kernels = 0, decided = 0, classes = 0, on_hardware = 0;
  std::map<std::string, uint64_t> reasons;
  for (const auto& [group, members] : groups) {
    std::vector<Checked> checked;
    const uint64_t n = std::min<uint64_t>(per_group, members.size());
    for (uint64_t i = 0; i < n; ++i) CheckRow(*members[i * members.size() / n], digests.at(members[i * members.size() / n]->id), &checked);
    std::map<std::string, const Checked*> first;
    std::set<std::string> hardware;
    kernels += checked.size();
    for (const Checked& c : checked) {
      if (c.signature.status != checker::SignatureStatus::kOk) {
        ++reasons[c.signature.reason_code];
        continue;
      }
      ++decided;
      hardware.insert(c.digests);
      const Checked& same = *first.try_emplace(c.signature.digest, &c).first->second;
      EXPECT_EQ(same.digests, c.digests) << "unsound: " << same.id << " and " << c.id;
    }
    classes += first.size();
    on_hardware += hardware.size();
  }
  std::cout << kernels << " kernels, " << decided << " decided in " << classes << " classes, " << on_hardware << " on hardware\n";
  for (const auto& [code, count] : reasons) std::cout << "  " << count << " " << code << "\n";
  EXPECT_GE(static_cast<double>(decided), least_decided * static_cast<double>(kernels));
  EXPECT_LE(static_cast<double>(classes), 1.5 * static_cast<double>(on_hardware));
}

TEST(Symbolic, CompiledKernels) {
  const char* other = std::getenv("SAMEBITS_SYMBOLIC_MANIFEST");
  CheckManifest(other == nullptr ? SAMEBITS_BINARY_DIR "/tests/corpus/kernels/manifest.jsonl" : other, FromEnvironment("SAMEBITS_SYMBOLIC_PER_GROUP", 4), 0.5);
}

bool SameLaunch(const checker::Launch& a, const checker::Launch& b) {
  return a.block == b.block && a.shared_bytes == b.shared_bytes && a.grid == b.grid && a.entry == b.entry;
}

// Pairs that differ in their texts only. Those that differ by grids or sizes become one question.
TEST(Symbolic, AdversarialPairs) {
  const auto pairs = adversarial::LoadPairs(SAMEBITS_SOURCE_DIR "/tests/adversarial");
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  uint64_t parted = 0, equal = 0, undecided = 0;
  for (const adversarial::Pair& pair : *pairs) {
    if (!SameLaunch(pair.a.launch, pair.b.launch)) continue;
    const bool may_be_equal = std::find(pair.allowed.begin(), pair.allowed.end(), "EQUIVALENT") != pair.allowed.end();
    checker::Signature sides[2];
    for (int s = 0; s < 2; ++s) {
      const adversarial::Side& side = s == 0 ? pair.a : pair.b;
      checker::Launch open = side.launch;
      open.grid.reset();
      if (open.args)
        for (checker::Argument& a : *open.args)
          if (a.kind != checker::Argument::Kind::kPointer && a.kind != checker::Argument::Kind::kScratch) a = {};
      auto signature = checker::ComputeSignature(side.text, open);
      ASSERT_TRUE(signature.ok()) << pair.name << ": " << signature.status();
      sides[s] = *std::move(signature);
    }
    const checker::Verdict verdict = checker::CompareSignatures(sides[0], sides[1]).verdict;
    if (verdict == checker::Verdict::kEquivalent) {
      ++equal;
      EXPECT_TRUE(may_be_equal) << pair.name;
    } else {
      ++(verdict == checker::Verdict::kDistinct ? parted : undecided);
    }
  }
  std::cout << equal << " equal, " << parted << " parted, " << undecided << " undecided\n";
  EXPECT_GE(parted, 60u);
  EXPECT_GE(equal, 10u);
}

}  // namespace
}  // namespace samebits
