#include "client/ci/embedded_ptx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <random>

namespace samebits::ci {
namespace {

using ::testing::HasSubstr;

const std::string kText = ".version 8.0\n.target sm_90\n.address_size 64\n" + std::string(2000, ' ') + "// end\n";

std::string Number(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

// An entry of a fat binary: kind 1 is PTX, 2 machine code.
std::string Entry(int kind, uint32_t arch, uint64_t flags, std::string content, size_t plain_size) {
  const size_t packed = content.size();
  content.resize((content.size() + 7) / 8 * 8);
  std::string header = Number(kind, 2) + Number(0x101, 2) + Number(80, 4) + Number(content.size(), 8) +
                       Number(packed, 4) + Number(64, 4) + Number(9 << 16, 4) + Number(arch, 4) + Number(0, 8) +
                       Number(0x11 | flags, 8) + Number(0, 8) + Number(flags ? plain_size : 0, 8);
  header.resize(80);
  return header + content;
}

std::string Container(const std::string& entries) {
  return std::string("\x50\xed\x55\xba", 4) + Number(1, 2) + Number(16, 2) + Number(entries.size(), 8) + entries;
}

std::string Plain(uint32_t arch = 90) { return Entry(1, arch, 0, "\n\n\n" + kText, 0); }

std::string Lz4() {
  std::string packed(LZ4_compressBound(kText.size()), '\0');
  packed.resize(LZ4_compress_default(kText.data(), packed.data(), kText.size(), packed.size()));
  return Entry(1, 90, 0x2000, packed, kText.size());
}

std::string Zstd() {
  std::string packed(ZSTD_compressBound(kText.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), kText.data(), kText.size(), 3));
  return Entry(1, 100, 0x8000, packed, kText.size());
}

TEST(EmbeddedPtxTest, ReadsPlainAndCompressedTextsInOrder) {
  const auto texts = ExtractPtx("ELF around" + Container(Entry(2, 90, 0, "machine code", 0) + Plain() + Lz4() + Zstd()) +
                                "more" + Container(Plain(80)));
  ASSERT_TRUE(texts.ok()) << texts.status();
  ASSERT_EQ(texts->size(), 4);
  for (const EmbeddedPtx& text : *texts) EXPECT_EQ(text.text, kText);
  EXPECT_EQ((*texts)[2].architecture, 100);
  EXPECT_EQ((*texts)[3].architecture, 80);
}

TEST(EmbeddedPtxTest, SaysWhatIsMissing) {
  const auto none = ExtractPtx("no fat binary");
  EXPECT_TRUE(absl::IsNotFound(none.status()));
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("holds no PTX"));
  const auto machine = ExtractPtx(Container(Entry(2, 90, 0, "machine code", 0)));
  EXPECT_TRUE(absl::IsNotFound(machine.status()));
  EXPECT_THAT(std::string(machine.status().message()), HasSubstr("machine code but no PTX"));
  EXPECT_TRUE(absl::IsUnimplemented(ExtractPtx(Container(Entry(1, 90, 0x1000, "packed", 100))).status()));
}

TEST(EmbeddedPtxTest, RefusesDamage) {
  std::string whole = Container(Zstd());
  EXPECT_TRUE(absl::IsInvalidArgument(ExtractPtx(whole.substr(0, whole.size() - 8)).status()));
  std::string wrong_size = Container(Entry(1, 90, 0x8000, "not Zstandard", 50));
  EXPECT_TRUE(absl::IsInvalidArgument(ExtractPtx(wrong_size).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ExtractPtx(Container(Entry(1, 90, 0x2000, "\xff\xff\xff", 50))).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(ExtractPtx(Container(Entry(1, 90, 0x8000, "x", 1ull << 40))).status()));
}

TEST(EmbeddedPtxTest, SurvivesAnyByteChanged) {
  const std::string whole = Container(Plain() + Lz4() + Zstd());
  std::mt19937 random(7);
  for (int i = 0; i < 4000; ++i) {
    std::string changed = whole;
    const int edits = 1 + random() % 3;
    for (int e = 0; e < edits; ++e) changed[random() % (e == 0 ? 96 : changed.size())] = static_cast<char>(random());
    const auto texts = ExtractPtx(changed);
    if (texts.ok()) {
      EXPECT_LE(texts->size(), 3);
    }
  }
}

}  // namespace
}  // namespace samebits::ci
