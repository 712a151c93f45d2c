#include "client/launch/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace samebits::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "samebits_launch_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  std::filesystem::path folder_;
};

TEST(LaunchJsonTest, ReadsEveryField) {
  const auto spec = ParseLaunchJson(
      R"({"entry": "k", "block": [64, 2], "grid": [7, 1, 1], "shared": 49152, "config": {"deep": [1]}, "outputs": ["o"],
          "args": [{"ptr": "x"}, {"ptr": null}, {"i32": -4}, {"i64": 5}, {"u32": 6}, {"f32": 0.1}, {"f32": "0x3f800000"},
                   {"f64": 2}, {"bits": "0xff"}, {"bytes": "00ff"}, {"scratch": true}, null]})",
      "a.json");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->entry, "k");
  EXPECT_EQ(spec->block, (checker::Dim3{64, 2, 1}));
  EXPECT_EQ(spec->grid, (checker::Dim3{7, 1, 1}));
  EXPECT_EQ(spec->shared_bytes, 49152u);
  ASSERT_EQ(spec->outputs->size(), 1u);
  ASSERT_EQ(spec->args->size(), 12u);
  using Form = ArgSpec::Form;
  EXPECT_EQ((*spec->args)[0].text, "x");
  EXPECT_EQ((*spec->args)[1].form, Form::kPointer);
  EXPECT_EQ((*spec->args)[2].bits, ~uint64_t{3});
  EXPECT_EQ((*spec->args)[5].bits, 0x3dcccccdu);
  EXPECT_EQ((*spec->args)[6].bits, 0x3f800000u);
  EXPECT_EQ((*spec->args)[7].bits, 0x4000000000000000u);
  EXPECT_EQ((*spec->args)[8].form, Form::kPattern);
  EXPECT_EQ((*spec->args)[9].bytes.size(), 2u);
  EXPECT_EQ((*spec->args)[10].form, Form::kScratch);
  EXPECT_EQ((*spec->args)[11].form, Form::kUnknown);
}

TEST(LaunchJsonTest, NullIsOpenAndAbsentIsUnset) {
  const auto open = ParseLaunchJson(R"({"grid": null, "args": null, "outputs": null})", "a.json");
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_TRUE(open->grid_set && open->args_set);
  EXPECT_FALSE(open->grid.has_value() || open->args.has_value());
  EXPECT_TRUE(open->outputs.has_value() && open->outputs->empty());
  const auto unset = ParseLaunchJson("{}", "a.json");
  ASSERT_TRUE(unset.ok());
  EXPECT_FALSE(unset->grid_set || unset->args_set || unset->block || unset->entry || unset->outputs);
}

TEST(LaunchJsonTest, RefusesWithThePlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "object is expected, not array"},
      {"{\"entry\": ", "not JSON at byte"},
      {R"({"entry": 3})", "entry: a string"},
      {R"({"block": [0]})", "block: '0'"},
      {R"({"block": [1, 2, 3, 4]})", "block: write"},
      {R"({"block": []})", "block: write"},
      {R"({"grid": [1.5]})", "grid: 1.5"},
      {R"({"grid": {"x": 1}})", "grid: write"},
      {R"({"shared": -1})", "shared: "},
      {R"({"shared": 4294967296})", "shared: "},
      {R"({"args": {}})", "args: an array"},
      {R"({"args": [{"ptr": "x"}, {"i32": 2147483648}]})", "args[1]: '2147483648' is out of range of i32"},
      {R"({"args": [{"i32": true}]})", "args[0]: true is no value"},
      {R"({"args": [{"i32": 1, "f32": 1}]})", "args[0]: "},
      {R"({"args": [{"half": 1}]})", "args[0]: 'half'"},
      {R"({"args": [{"scratch": false}]})", "args[0]: write"},
      {R"({"args": [3]})", "args[0]: 3 is not"},
      {R"({"args": [{"bits": 3}]})", "args[0]: 3 is no value of type bits"},
      {R"({"outputs": "o"})", "outputs: "},
      {R"({"outputs": []})", "compares nothing"},
      {R"({"outputs": [""]})", "outputs: "},
      {R"({"gird": [1]})", "unknown key \"gird\"; did you mean \"grid\""},
      {R"({"Block": [1]})", "did you mean \"block\""},
      {R"({"arg": []})", "did you mean \"args\""},
      {R"({"ouput": null})", "did you mean \"outputs\""},
      {R"({"buffers": {"x": {"dtype": "f32", "elements": 1, "roll": "in"}}})", "buffers.x: unknown key \"roll\"; did you mean \"role\""},
      {R"({"buffers": {"x": {"dtype": "f32", "elements": 1, "contents": "unit"}}})", "keys are: dtype, elements"},
  };
  for (const auto& [json, what] : cases) {
    const auto spec = ParseLaunchJson(json, "dir/a.json");
    ASSERT_FALSE(spec.ok()) << json;
    EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(spec.status()), AllOf(HasSubstr("dir/a.json: "), HasSubstr(what))) << json;
  }
}

TEST(LaunchJsonTest, KeysOfOthersAreTheirs) {
  for (const char* json : {R"({"set": 1, "family": "sum", "group": "a", "config": {}, "digests": [], "stable": true, "name": "k"})",
                           R"({"hash": "0", "target": {}, "arch": "sm90", "num_warps": 4, "shared": 0, "tmem_size": 0, "name": "k"})"}) {
    EXPECT_TRUE(ParseLaunchJson(json, "a.json").ok()) << json;
  }
}

TEST(LaunchJsonTest, NestingHasABound) {
  const std::string bomb = R"({"args": [)" + std::string(1 << 20, '[') + std::string(1 << 20, ']') + "]}";
  EXPECT_THAT(Message(ParseLaunchJson(bomb, "a.json").status()), HasSubstr("nested deeper"));
  EXPECT_TRUE(ParseLaunchJson(R"({"entry": ")" + std::string(200, '[') + R"(\"[" })", "a.json").ok());
}

TEST(ManifestTest, KeepsOrderAndResolvesPaths) {
  const auto rows = ParseManifest(
      "{\"id\": \"b\", \"path\": \"ptx/b.ptx\", \"block\": [32]}\n\n{\"path\": \"/abs/a.ptx\"}", "top/dir", "m.jsonl");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].id, "b");
  EXPECT_EQ((*rows)[0].path, "top/dir/ptx/b.ptx");
  EXPECT_EQ((*rows)[0].line, 1u);
  EXPECT_EQ((*rows)[1].id, "/abs/a.ptx");
  EXPECT_EQ((*rows)[1].path, "/abs/a.ptx");
  EXPECT_EQ((*rows)[1].line, 3u);
}

TEST(ManifestTest, ABadRowIsARowOfItsOwn) {
  const auto rows = ParseManifest(
      "{\"id\": \"good\", \"path\": \"a.ptx\"}\nnot json\n{\"id\": \"no path\"}\n"
      "{\"id\": \"bad\", \"path\": \"b.ptx\", \"block\": 0}\n{\"id\": \"good\", \"path\": \"c.ptx\"}\n",
      "", "m.jsonl");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 5u);
  EXPECT_TRUE((*rows)[0].status.ok());
  EXPECT_EQ((*rows)[1].id, "line 2");
  EXPECT_THAT(Message((*rows)[1].status), HasSubstr("m.jsonl:2: not JSON"));
  EXPECT_EQ((*rows)[2].id, "no path");
  EXPECT_THAT(Message((*rows)[2].status), HasSubstr("m.jsonl:3: no \"path\""));
  EXPECT_EQ((*rows)[3].id, "bad");
  EXPECT_THAT(Message((*rows)[3].status), HasSubstr("m.jsonl:4: block"));
  EXPECT_EQ((*rows)[4].id, "good");
  EXPECT_THAT(Message((*rows)[4].status), AllOf(HasSubstr("m.jsonl:5"), HasSubstr("line 1")));
}

TEST(ManifestTest, AManifestWithoutUsableRowsIsAnError) {
  EXPECT_THAT(Message(ParseManifest("", "", "m").status()), HasSubstr("no rows"));
  EXPECT_THAT(Message(ParseManifest("\n \n", "", "m").status()), HasSubstr("no rows"));
  EXPECT_THAT(Message(ParseManifest("x\ny\n", "", "m").status()), AllOf(HasSubstr("no row"), HasSubstr("m:1")));
}

using FilesTest = FolderTest;

TEST_F(FilesTest, ReadsManifestBesideItsKernels) {
  const std::string manifest = Write("m.jsonl", R"({"path": "a.ptx"})");
  const auto rows = ReadManifest(manifest);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ((*rows)[0].path, (folder_ / "a.ptx").string());
}

TEST_F(FilesTest, SidecarsByPreference) {
  const std::string kernel = Write("a.ptx", "");
  EXPECT_EQ(FindSidecar(kernel), std::nullopt);
  const std::string plain = Write("a.json", R"({"block": [32, 1, 1]})");
  EXPECT_EQ(FindSidecar(kernel), plain);
  const std::string launch = Write("a.launch.json", R"({"block": [64, 1, 1]})");
  EXPECT_EQ(FindSidecar(kernel), launch);
  const auto spec = ReadLaunchFile(launch);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->block, (checker::Dim3{64, 1, 1}));
}

TEST_F(FilesTest, ReadFileSaysWhatIsWrong) {
  const std::string path = Write("a.ptx", std::string(1000, 'x'));
  EXPECT_EQ(ReadFile(path, 1000)->size(), 1000u);
  EXPECT_EQ(ReadFile(path, 999).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReadFile((folder_ / "none").string(), 10).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(ReadFile(folder_.string(), 10).status()), HasSubstr("is a folder"));
}

}  // namespace
}  // namespace samebits::launch
