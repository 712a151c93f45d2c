#include "server/registry/launch_digest.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace samebits::server {
namespace {

using checker::Argument;

checker::Launch Base() {
  checker::Launch launch;
  launch.entry = "sum";
  launch.block = {128, 1, 1};
  launch.grid = {{96, 1, 1}};
  launch.shared_bytes = 16;
  launch.args.emplace();
  launch.args->push_back({Argument::Kind::kPointer, "x", 0, {}});
  launch.args->push_back({Argument::Kind::kInteger, "", 4096, {}});
  launch.outputs = {"x"};
  return launch;
}

TEST(LaunchDigestTest, KeepsItsEncoding) {
  // Stored databases hold digests of this encoding: a change needs a new leading byte.
  std::string bytes;
  EncodeLaunch(Base(), {}, {}, &bytes);
  const std::string expected(
      "\x01\x0c"
      "\x80\0\0\0\x01\0\0\0\x01\0\0\0"
      "\x60\0\0\0\x01\0\0\0\x01\0\0\0"
      "\x10\0\0\0"
      "\x03\0\0\0\0\0\0\0sum"
      "\x02\0\0\0"
      "\x01\x01\0\0\0\0\0\0\0x"
      "\x02\0\x10\0\0\0\0\0\0"
      "\x01\0\0\0\x01\0\0\0\0\0\0\0x",
      2 + 12 + 12 + 4 + 11 + 4 + 10 + 9 + 4 + 9);
  EXPECT_EQ(bytes, expected);
}

TEST(LaunchDigestTest, TellsApartWhatDiffers) {
  std::vector<Digest> digests;
  const auto add = [&](auto change) {
    checker::Launch launch = Base();
    std::vector<uint8_t> widths;
    CheckOptions options;
    change(launch, widths, options);
    digests.push_back(LaunchDigest(launch, widths, options));
  };
  add([](auto&, auto&, auto&) {});
  add([](auto& l, auto&, auto&) { l.entry = "su"; });
  add([](auto& l, auto&, auto&) { l.block = {64, 2, 1}; });
  add([](auto& l, auto&, auto&) { l.grid.reset(); });
  add([](auto& l, auto&, auto&) { l.grid = {{96, 2, 1}}; });
  add([](auto& l, auto&, auto&) { l.shared_bytes = 17; });
  add([](auto& l, auto&, auto&) { l.args.reset(); });
  add([](auto& l, auto&, auto&) { l.args->clear(); });
  add([](auto& l, auto&, auto&) { l.args->pop_back(); });
  add([](auto& l, auto&, auto&) { (*l.args)[0].buffer = "y"; });
  add([](auto& l, auto&, auto&) { (*l.args)[0].kind = Argument::Kind::kScratch; });
  add([](auto& l, auto&, auto&) { (*l.args)[0].kind = Argument::Kind::kUnknown; });
  add([](auto& l, auto&, auto&) { (*l.args)[1].bits = 4097; });
  add([](auto& l, auto&, auto&) { (*l.args)[1].kind = Argument::Kind::kFloat; });
  add([](auto& l, auto& w, auto&) { (*l.args)[1].kind = Argument::Kind::kFloat; w = {0, 4}; });
  add([](auto& l, auto& w, auto&) { (*l.args)[1].kind = Argument::Kind::kFloat; w = {0, 8}; });
  add([](auto& l, auto&, auto&) { (*l.args)[1] = {Argument::Kind::kBytes, "", 0, {1, 2}}; });
  add([](auto& l, auto&, auto&) { (*l.args)[1] = {Argument::Kind::kBytes, "", 0, {1, 2, 0}}; });
  add([](auto& l, auto&, auto&) { l.outputs.clear(); });
  add([](auto& l, auto&, auto&) { l.outputs = {"x", ""}; });
  add([](auto& l, auto&, auto&) { l.outputs = {"", "x"}; });
  add([](auto&, auto&, auto& o) { o.ignore_signed_zero = true; });
  add([](auto&, auto&, auto& o) { o.strict_contraction = true; });
  EXPECT_EQ(std::set<Digest>(digests.begin(), digests.end()).size(), digests.size());
}

TEST(LaunchDigestTest, IsTheSameForEqualLaunches) {
  EXPECT_EQ(LaunchDigest(Base(), {}, {}), LaunchDigest(Base(), {}, {}));
}

}  // namespace
}  // namespace samebits::server
