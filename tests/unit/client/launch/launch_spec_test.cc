#include "client/launch/launch_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace samebits::launch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = checker::Argument::Kind;

// out pointer, in pointer, u32, f32, b16, aggregate, f64
checker::TextInfo Text() {
  checker::EntryInfo entry;
  entry.name = "k";
  const auto add = [&](const char* type, uint32_t bytes, bool pointer) {
    entry.parameters.push_back({"k_param_" + std::to_string(entry.parameters.size()), type, bytes, pointer});
  };
  add("u64", 8, true);
  add("u64", 8, true);
  add("u32", 4, false);
  add("f32", 4, false);
  add("b16", 2, false);
  add("b8[16]", 16, false);
  add("f64", 8, false);
  checker::TextInfo text;
  text.entries.push_back(entry);
  return text;
}

absl::StatusOr<ResolvedLaunch> ResolveArgs(const std::vector<std::string>& args, checker::TextInfo text = Text()) {
  LaunchSpec spec;
  spec.block = checker::Dim3{128, 1, 1};
  spec.args_set = true;
  spec.args.emplace();
  for (const std::string& arg : args) {
    absl::StatusOr<ArgSpec> parsed = ParseArg(arg);
    if (!parsed.ok()) return parsed.status();
    spec.args->push_back(*parsed);
  }
  return Resolve(spec, [&] { return text; });
}

std::string Error(const absl::StatusOr<ResolvedLaunch>& launch) {
  return launch.ok() ? "no error" : std::string(launch.status().message());
}

TEST(ParseDim3Test, TakesOneToThreeExtents) {
  EXPECT_EQ(*ParseDim3("128", "--block"), (checker::Dim3{128, 1, 1}));
  EXPECT_EQ(*ParseDim3("16,8", "--block"), (checker::Dim3{16, 8, 1}));
  EXPECT_EQ(*ParseDim3("16x8x4", "--block"), (checker::Dim3{16, 8, 4}));
  EXPECT_EQ(*ParseDim3("2147483647", "--grid"), (checker::Dim3{2147483647, 1, 1}));
}

TEST(ParseDim3Test, RefusesTheRest) {
  for (const char* text : {"", "0", "1,0", "1,2,3,4", "-1", "a", "1,,2", "4294967297", "2147483648", "1.5"}) {
    const absl::StatusOr<checker::Dim3> dim = ParseDim3(text, "--grid");
    ASSERT_FALSE(dim.ok()) << text;
    EXPECT_EQ(dim.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(dim.status().message()), AllOf(HasSubstr("--grid"), HasSubstr("X,Y,Z"))) << text;
  }
}

struct ValueCase {
  std::string value;
  Kind kind;
  uint64_t bits;
};

TEST(ResolveTest, TypedValuesKeepTheirBits) {
  const std::vector<ValueCase> cases = {
      {"i32:-1", Kind::kInteger, ~uint64_t{0}},
      {"i32:0xffffffff", Kind::kInteger, ~uint64_t{0}},
      {"i32:2147483647", Kind::kInteger, 0x7fffffff},
      {"u32:4294967295", Kind::kInteger, 0xffffffff},
      {"i64:-9223372036854775808", Kind::kInteger, uint64_t{1} << 63},
      {"u64:18446744073709551615", Kind::kInteger, ~uint64_t{0}},
      {"f32:1.5", Kind::kFloat, 0x3fc00000},
      {"f32:-0", Kind::kFloat, 0x80000000},
      {"f32:0.1", Kind::kFloat, 0x3dcccccd},
      {"f32:1e-45", Kind::kFloat, 1},
      {"f32:inf", Kind::kFloat, 0x7f800000},
      {"f32:0x7fc00001", Kind::kFloat, 0x7fc00001},
      {"f64:0.1", Kind::kFloat, 0x3fb999999999999a},
      {"f64:-inf", Kind::kFloat, 0xfff0000000000000},
  };
  for (const ValueCase& c : cases) {
    LaunchSpec spec;
    spec.block = checker::Dim3{1, 1, 1};
    const absl::StatusOr<ArgSpec> arg = ParseArg(c.value);
    ASSERT_TRUE(arg.ok()) << c.value << ": " << arg.status();
    spec.args = {*arg};
    spec.args_set = true;
    const absl::StatusOr<ResolvedLaunch> launch =
        Resolve(spec, []() -> absl::StatusOr<checker::TextInfo> { return absl::InternalError("not needed"); });
    ASSERT_TRUE(launch.ok()) << c.value << ": " << launch.status();
    EXPECT_EQ((*launch->launch.args)[0].kind, c.kind) << c.value;
    EXPECT_EQ((*launch->launch.args)[0].bits, c.bits) << c.value;
    const uint32_t float_bytes = c.kind != Kind::kFloat ? 0 : c.value.starts_with("f64") ? 8 : 4;
    EXPECT_THAT(launch->float_bytes, ElementsAre(float_bytes)) << c.value;
  }
}

TEST(ParseArgTest, RefusesWithPlaceAndRemedy) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"n=", "write ptr"},
      {"n=four", "write ptr"},
      {"n=i32:2147483648", "out of range of i32"},
      {"n=u32:-1", "out of range of u32"},
      {"n=i64:9223372036854775808", "out of range of i64"},
      {"n=i32:1.5", "not an integer"},
      {"n=f32:nan", "bit pattern"},
      {"n=f32:1e39", "out of range of f32"},
      {"n=f32:1.5x", "not a number"},
      {"n=f32:", "not a number"},
      {"n=i16:3", "not a type"},
      {"n=0x1ffffffffffffffff", "64 bits"},
      {"n=0xzz", "hexadecimal"},
      {"n=i32:0x100000000", "fit in 32 bits"},
      {"x=ptr:", "names no buffer"},
      {"p=bytes:abc", "two hexadecimal digits"},
      {"p=bytes:zz", "hexadecimal"},
  };
  for (const auto& [text, remedy] : cases) {
    const absl::StatusOr<ArgSpec> arg = ParseArg(text);
    ASSERT_FALSE(arg.ok()) << text;
    EXPECT_EQ(arg.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(arg.status().message()), AllOf(HasSubstr("--arg " + text), HasSubstr(remedy)));
  }
}

TEST(ResolveTest, NumbersTakeTheTypeOfTheirParameter) {
  const auto launch = ResolveArgs(
      {"o=ptr:out", "x=ptr", "n=-1", "s=1.5", "h=0x3c00", "p=bytes:000102030405060708090a0b0c0d0e0f", "d=2"});
  ASSERT_TRUE(launch.ok()) << launch.status();
  const std::vector<checker::Argument>& args = *launch->launch.args;
  ASSERT_EQ(args.size(), 7u);
  EXPECT_EQ(launch->launch.entry, "k");
  EXPECT_EQ(args[0].kind, Kind::kPointer);
  EXPECT_EQ(args[0].buffer, "out");
  EXPECT_EQ(args[1].kind, Kind::kPointer);
  EXPECT_EQ(args[1].buffer, "");
  EXPECT_EQ(args[2].kind, Kind::kInteger);
  EXPECT_EQ(args[2].bits, ~uint64_t{0});
  EXPECT_EQ(args[3].kind, Kind::kFloat);
  EXPECT_EQ(args[3].bits, 0x3fc00000u);
  EXPECT_EQ(args[4].bits, 0x3c00u);
  EXPECT_EQ(args[5].kind, Kind::kBytes);
  EXPECT_THAT(std::vector<int>(args[5].bytes.begin(), args[5].bytes.begin() + 3), ElementsAre(0, 1, 2));
  EXPECT_EQ(args[6].kind, Kind::kFloat);
  EXPECT_EQ(args[6].bits, 0x4000000000000000u);
  EXPECT_THAT(launch->float_bytes, ElementsAre(0, 0, 0, 4, 0, 0, 8));
}

TEST(ResolveTest, NamesPlaceArgumentsAndLeaveTheRestUnknown) {
  for (const char* label : {"k_param_2", "param_2", "2"}) {
    const auto launch = ResolveArgs({std::string(label) + "=4096", "1=scratch"});
    ASSERT_TRUE(launch.ok()) << launch.status();
    const std::vector<checker::Argument>& args = *launch->launch.args;
    ASSERT_EQ(args.size(), 7u);
    EXPECT_EQ(args[0].kind, Kind::kUnknown);
    EXPECT_EQ(args[1].kind, Kind::kScratch);
    EXPECT_EQ(args[2].kind, Kind::kInteger);
    EXPECT_EQ(args[2].bits, 4096u);
    EXPECT_EQ(args[3].kind, Kind::kUnknown);
  }
}

TEST(ResolveTest, RefusesArgumentsThatDoNotFit) {
  EXPECT_THAT(Error(ResolveArgs({"2=1", "n=2"})), AllOf(HasSubstr("--arg n=2"), HasSubstr("name all of them")));
  EXPECT_THAT(Error(ResolveArgs({"2=1", "param_2=2"})), AllOf(HasSubstr("--arg param_2=2"), HasSubstr("given twice")));
  EXPECT_THAT(Error(ResolveArgs({"x=ptr"})),
              AllOf(HasSubstr("1 given"), HasSubstr("7 parameters"), HasSubstr("2:u32")));
  EXPECT_THAT(Error(ResolveArgs({"a=ptr", "b=ptr", "c=1", "d=1", "e=1"})), HasSubstr("add --arg scratch"));
  EXPECT_THAT(Error(ResolveArgs({"0=7"})), AllOf(HasSubstr("--arg 0=7"), HasSubstr("pointer")));
  EXPECT_THAT(Error(ResolveArgs({"2=1.5"})), AllOf(HasSubstr("--arg 2=1.5"), HasSubstr("not an integer")));
  EXPECT_THAT(Error(ResolveArgs({"2=4294967296"})), HasSubstr("out of range of u32"));
  EXPECT_THAT(Error(ResolveArgs({"2=0x100000000"})), HasSubstr("fit in 32 bits"));
  EXPECT_THAT(Error(ResolveArgs({"4=1.5"})), AllOf(HasSubstr("b16"), HasSubstr("0x")));
  EXPECT_THAT(Error(ResolveArgs({"5=1"})), AllOf(HasSubstr("b8[16]"), HasSubstr("bytes:HEX")));
}

TEST(ResolveTest, TypesThatWereWrittenMustBeTheParameters) {
  EXPECT_THAT(Error(ResolveArgs({"3=f64:2.5"})), AllOf(HasSubstr("--arg 3=f64:2.5"), HasSubstr("type f64"), HasSubstr("type f32")));
  EXPECT_THAT(Error(ResolveArgs({"2=i64:4096"})), AllOf(HasSubstr("type i64"), HasSubstr("type u32")));
  EXPECT_THAT(Error(ResolveArgs({"2=f32:1"})), AllOf(HasSubstr("type f32"), HasSubstr("type u32")));
  EXPECT_THAT(Error(ResolveArgs({"3=u32:1"})), AllOf(HasSubstr("type u32"), HasSubstr("type f32")));
  EXPECT_THAT(Error(ResolveArgs({"5=u64:1"})), HasSubstr("bytes:HEX"));
  EXPECT_THAT(Error(ResolveArgs({"4=i32:70000"})), AllOf(HasSubstr("b16"), HasSubstr("does not fit")));
  EXPECT_THAT(Error(ResolveArgs({"ptr", "ptr", "i64:1", "f32:1", "i32:1", "unknown", "f64:1"})), HasSubstr("type u32")) << "by position too";
  for (const char* good : {"2=i32:-1", "2=u32:4294967295", "3=f32:2.5", "6=f64:2.5", "4=i32:-32768", "4=u32:65535"}) EXPECT_TRUE(ResolveArgs({good}).ok()) << good;
}

TEST(ResolveTest, ATextThatCannotBeReadDoesNotStopTypedArguments) {
  LaunchSpec spec;
  spec.block = checker::Dim3{32, 1, 1};
  spec.args_set = true;
  spec.args = {*ParseArg("i32:7")};
  const auto launch = Resolve(spec, [] { return absl::InvalidArgumentError("registered elsewhere"); });
  ASSERT_TRUE(launch.ok()) << launch.status();
  EXPECT_EQ((*launch->launch.args)[0].bits, 7u);
}

TEST(ResolveTest, AnUnsignedParameterTakesBothHalvesOfItsRange) {
  for (const char* value : {"2=4294967295", "2=-1", "2=0xffffffff"}) {
    const auto launch = ResolveArgs({value});
    ASSERT_TRUE(launch.ok()) << launch.status();
    EXPECT_EQ((*launch->launch.args)[2].bits, ~uint64_t{0}) << value;
  }
}

TEST(ResolveTest, ChoosesTheEntry) {
  checker::TextInfo text = Text();
  text.entries.push_back(text.entries[0]);
  text.entries[1].name = "other";
  EXPECT_THAT(Error(ResolveArgs({"2=1"}, text)), AllOf(HasSubstr("2 entries: k, other"), HasSubstr("--entry")));
  LaunchSpec spec;
  spec.entry = "third";
  EXPECT_THAT(Error(Resolve(spec, [&] { return text; })), AllOf(HasSubstr("no entry 'third'"), HasSubstr("k, other")));
  text.entries.clear();
  EXPECT_THAT(Error(ResolveArgs({"2=1"}, text)), HasSubstr("no entry"));
}

TEST(ResolveTest, TheBlockComesFromTheTextOrMustBeGiven) {
  checker::TextInfo text = Text();
  EXPECT_THAT(Error(Resolve({}, [&] { return text; })), AllOf(HasSubstr("entry k"), HasSubstr("--block")));
  text.entries[0].required_block = checker::Dim3{96, 2, 1};
  const auto launch = Resolve({}, [&] { return text; });
  ASSERT_TRUE(launch.ok()) << launch.status();
  EXPECT_EQ(launch->launch.block, (checker::Dim3{96, 2, 1}));
  EXPECT_FALSE(launch->launch.args.has_value());
  EXPECT_FALSE(launch->launch.grid.has_value());
}

TEST(ResolveTest, PassesOnTheTextsError) {
  const auto launch =
      Resolve({}, []() -> absl::StatusOr<checker::TextInfo> { return absl::InvalidArgumentError("3:1: bad"); });
  EXPECT_EQ(launch.status(), absl::InvalidArgumentError("3:1: bad"));
}

TEST(OverlayTest, TheUpperLayerWinsPartByPart) {
  LaunchSpec base, top;
  base.entry = "k";
  base.block = checker::Dim3{1, 2, 3};
  base.grid_set = base.args_set = true;
  base.grid = checker::Dim3{9, 9, 9};
  base.args.emplace(2);
  base.shared_bytes = 16;
  const LaunchSpec same = Overlay(base, top);
  EXPECT_EQ(same.entry, "k");
  EXPECT_EQ(same.grid, base.grid);
  EXPECT_EQ(same.args->size(), 2u);
  EXPECT_EQ(same.shared_bytes, 16u);
  top.block = checker::Dim3{4, 4, 4};
  top.grid_set = top.args_set = true;
  const LaunchSpec opened = Overlay(base, top);
  EXPECT_EQ(opened.block, top.block);
  EXPECT_FALSE(opened.grid.has_value());
  EXPECT_FALSE(opened.args.has_value());
  EXPECT_EQ(opened.entry, "k");
}

TEST(WithoutSizesTest, KeepsPointersAndWithholdsTheRest) {
  LaunchSpec spec;
  spec.block = checker::Dim3{64, 1, 1};
  spec.grid_set = spec.args_set = true;
  spec.grid = checker::Dim3{9, 9, 9};
  spec.args.emplace();
  for (const char* text : {"ptr:x", "n=i32:7", "f32:1.5", "scratch", "4096"}) {
    const auto arg = ParseArg(text);
    ASSERT_TRUE(arg.ok()) << arg.status();
    spec.args->push_back(*arg);
  }
  const LaunchSpec open = WithoutSizes(spec);
  EXPECT_TRUE(open.grid_set);
  EXPECT_FALSE(open.grid.has_value());
  EXPECT_EQ(open.block, spec.block);
  ASSERT_EQ(open.args->size(), 5u);
  EXPECT_EQ((*open.args)[0].form, ArgSpec::Form::kPointer);
  EXPECT_EQ((*open.args)[0].text, "x");
  EXPECT_EQ((*open.args)[1].form, ArgSpec::Form::kUnknown);
  EXPECT_EQ((*open.args)[1].label, "n");
  EXPECT_EQ((*open.args)[2].form, ArgSpec::Form::kUnknown);
  EXPECT_EQ((*open.args)[3].form, ArgSpec::Form::kScratch);
  EXPECT_EQ((*open.args)[4].form, ArgSpec::Form::kUnknown);
}

}  // namespace
}  // namespace samebits::launch
