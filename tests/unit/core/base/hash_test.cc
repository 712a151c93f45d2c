#include "core/base/hash.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace samebits {
namespace {

Digest128 Hash(const std::vector<uint64_t>& words, uint64_t seed = 0) {
  WordHasher h(seed);
  for (const uint64_t w : words) h.Add(w);
  return h.Finish();
}

// Digests are stored and compared between builds: these values may change only with the signature's version.
TEST(WordHasherTest, GoldenDigests) {
  struct Golden {
    uint64_t seed;
    std::vector<uint64_t> words;
    Digest128 digest;
  };
  const std::vector<Golden> goldens = {
      {0, {}, {0xc5c71b310883909f, 0x1fe3e0d882515f76}},
      {0, {0}, {0x35c09b31a7927889, 0xf4fb7a59f60a757f}},
      {0, {1, 2, 3}, {0x9de1c50c7dcda7d3, 0x232c37a32a61e571}},
      {3, {~uint64_t{0}, 0x0123456789abcdef}, {0xe62c2dd34fc22b6e, 0x704a4ec8f4a331ef}},
  };
  for (const Golden& g : goldens) {
    const Digest128 d = Hash(g.words, g.seed);
    EXPECT_EQ(d, g.digest) << std::hex << "0x" << d.hi << ", 0x" << d.lo;
  }
  EXPECT_EQ(Scramble(1), 0xe7fedfeb7ba5ff3bu);
}

TEST(WordHasherTest, DependsOnEachWordTheirOrderAndNumber) {
  const std::vector<uint64_t> words = {5, 0, 7, 0};
  std::set<std::pair<uint64_t, uint64_t>> seen;
  auto note = [&seen](const Digest128& d) { return seen.insert({d.hi, d.lo}).second; };
  EXPECT_TRUE(note(Hash(words)));
  EXPECT_TRUE(note(Hash(words, 1)));
  EXPECT_TRUE(note(Hash({5, 0, 7})));
  EXPECT_TRUE(note(Hash({0, 5, 7, 0})));
  for (size_t i = 0; i < words.size(); ++i) {
    for (int bit = 0; bit < 64; ++bit) {
      std::vector<uint64_t> changed = words;
      changed[i] ^= uint64_t{1} << bit;
      EXPECT_TRUE(note(Hash(changed))) << i << " " << bit;
    }
  }
}

TEST(WordHasherTest, ADigestIsTwoWords) {
  WordHasher digest, words;
  digest.Add(Digest128{1, 2});
  words.Add(1);
  words.Add(2);
  EXPECT_EQ(digest.Finish(), words.Finish());
}

TEST(DigestTest, OrdersByUpperWordFirst) {
  EXPECT_LT((Digest128{1, 9}), (Digest128{2, 0}));
  EXPECT_LT((Digest128{1, 1}), (Digest128{1, 2}));
  EXPECT_FALSE((Digest128{1, 1}) < (Digest128{1, 1}));
}

TEST(ScrambleTest, IsInjectiveOnSmallNumbersAndTheirComplements) {
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 4096; ++i) {
    EXPECT_TRUE(seen.insert(Scramble(i)).second);
    EXPECT_TRUE(seen.insert(Scramble(~i)).second);
  }
}

}  // namespace
}  // namespace samebits
