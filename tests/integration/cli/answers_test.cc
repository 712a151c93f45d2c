// Answers of the program, in process and over a server alike.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/cli/kernels.h"
#include "tests/integration/cli/program.h"

namespace samebits::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

class AnswersTest : public ::testing::TestWithParam<bool> {
 protected:
  static void SetUpTestSuite() {
    data_ = std::make_unique<Folder>();
    server_ = std::make_unique<ServerProcess>(data_->path());
  }
  static void TearDownTestSuite() {
    EXPECT_EQ(server_->Stop(), 0);
    server_.reset();
    data_.reset();
  }

  bool local() const { return GetParam(); }

  Outcome Ask(std::vector<std::string> arguments, const std::string& input = "") {
    if (local()) {
      arguments.push_back("--local");
    } else {
      arguments.insert(arguments.end(), {"--server", server_->address()});
    }
    return RunSamebits(arguments, input);
  }

  // The command on two texts with a block of 32.
  Outcome AskPair(const std::string& command, const std::string& a, const std::string& b,
                  const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        command, folder_.Write("a.ptx", a), folder_.Write("b.ptx", b), "--block", "32", "--grid", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Ask(arguments);
  }

  static std::unique_ptr<Folder> data_;
  static std::unique_ptr<ServerProcess> server_;
  Folder folder_;
};

std::unique_ptr<Folder> AnswersTest::data_;
std::unique_ptr<ServerProcess> AnswersTest::server_;

INSTANTIATE_TEST_SUITE_P(Local, AnswersTest, ::testing::Values(true));
INSTANTIATE_TEST_SUITE_P(Server, AnswersTest, ::testing::Values(false));

TEST_P(AnswersTest, ExitCodesFollowTheVerdict) {
  const Outcome equal = AskPair("compare", Added(), AddedSwapped());
  EXPECT_EQ(equal.exit_code, 0) << equal.err;
  EXPECT_THAT(equal.out, StartsWith("EQUIVALENT  "));
  const Outcome other = AskPair("compare", Added(), Multiplied());
  EXPECT_EQ(other.exit_code, 1) << other.err;
  EXPECT_THAT(other.out, AnyOf(StartsWith("DISTINCT  "), StartsWith("DIFFERENT  ")));
  const Outcome raced = AskPair("compare", Raced(), Raced());
  EXPECT_EQ(raced.exit_code, 1) << raced.err;
  EXPECT_THAT(raced.out, StartsWith("NONDETERMINISTIC  "));
  const Outcome unknown = AskPair("compare", Unmodelled(), Unmodelled());
  EXPECT_EQ(unknown.exit_code, 3) << unknown.err;
  EXPECT_THAT(unknown.out, AllOf(StartsWith("UNKNOWN  "), HasSubstr("frobnicate"), HasSubstr("--arg")))
      << "arguments are open";
}

TEST_P(AnswersTest, InputErrorsNamePlaceAndRemedy) {
  const Outcome syntax = AskPair("compare", Added(), Misspelt());
  EXPECT_EQ(syntax.exit_code, 2);
  EXPECT_THAT(syntax.err, AllOf(HasSubstr("b.ptx"), HasSubstr("21:")));
  EXPECT_EQ(syntax.out, "");
  const Outcome entry = AskPair("compare", Added(), Added(), {"--b-entry", "nope"});
  EXPECT_EQ(entry.exit_code, 2);
  EXPECT_THAT(entry.err, AllOf(HasSubstr("b.ptx"), HasSubstr("nope")));
  const Outcome count = AskPair("compare", Added(), Added(), {"--arg", "x=ptr", "--arg", "o=ptr"});
  EXPECT_EQ(count.exit_code, 2);
  EXPECT_THAT(count.err, AllOf(HasSubstr("2 given"), HasSubstr("3 parameters")));
  const Outcome missing =
      Ask({"compare", folder_.Write("a.ptx", Added()), folder_.path() + "/none.ptx", "--block", "32"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none.ptx: No such file"));
  const Outcome block = Ask({"compare", folder_.Write("a.ptx", Added()), folder_.Write("b.ptx", Added())});
  EXPECT_EQ(block.exit_code, 2);
  EXPECT_THAT(block.err, HasSubstr("--block"));
}

TEST_P(AnswersTest, FilesThatAreNotPtxAreSaidToBe) {
  const Outcome cuda = AskPair("compare", Added(), "__global__ void k(float* x) {}\n");
  EXPECT_EQ(cuda.exit_code, 2);
  EXPECT_THAT(cuda.err, AllOf(HasSubstr("b.ptx"), HasSubstr("expected .version"), HasSubstr("CUDA source"), HasSubstr("nvcc -ptx")));
}

TEST_P(AnswersTest, NamesThatAreNoneListThoseThatAre) {
  const Outcome output = AskPair("compare", Added(), Added(), {"--output", "y", "--arg", "ptr:x", "--arg", "ptr", "--arg", "1.5"});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, AllOf(HasSubstr("'y'"), HasSubstr("they are: x, arg1")));
  const Outcome registered = Ask({"compare", "kernels/0123abc", folder_.Write("a.ptx", Added()), "--block", "32"});
  EXPECT_EQ(registered.exit_code, 2);
  EXPECT_THAT(registered.err, AllOf(HasSubstr("kernels/0123abc: no such file"), HasSubstr("64 digits")));
}

TEST_P(AnswersTest, ReasonsNameOpenArguments) {
  const std::string loop = ElementKernel(
      "mov.b32 %r5, %f2;\n  mov.f32 %f3, %f1;\nL:\n  sub.u32 %r5, %r5, 1;\n  setp.ne.u32 %p1, %r5, 0;\n  @%p1 bra L;");
  const Outcome open = AskPair("compare", loop, loop, {"--arg", "0=ptr", "--arg", "1=ptr"});
  EXPECT_EQ(open.exit_code, 3);
  EXPECT_THAT(open.out, AllOf(HasSubstr("argument 2, which"), HasSubstr("--arg"), Not(HasSubstr("loaded"))));
  EXPECT_EQ(AskPair("compare", loop, loop, {"--arg", "0=ptr", "--arg", "1=ptr", "--arg", "2=0x7"}).exit_code, 0);
}

TEST_P(AnswersTest, NumbersOfAnotherWidthAreErrors) {
  folder_.Write("w.ptx", Added());
  const auto code = [&](const std::string& value) {
    const std::string file = folder_.Write("w.json", R"({"block": [32], "grid": 4, "args": [{"ptr": "x"}, {"ptr": "o"}, )" + value + "]}");
    return Ask({"compare", folder_.path() + "/w.ptx", folder_.path() + "/w.ptx"});
  };
  EXPECT_EQ(code(R"({"f32": 2.5})").exit_code, 0);
  const Outcome wide = code(R"({"f64": 2.5})");
  EXPECT_EQ(wide.exit_code, 2);
  EXPECT_THAT(wide.err, AllOf(HasSubstr("f64"), HasSubstr("f32")));
  const Outcome narrow = code(R"({"i32": 2})");
  EXPECT_EQ(narrow.exit_code, 0) << "as a bit pattern that fits";
  const Outcome big = code(R"({"i64": 4294967296})");
  EXPECT_EQ(big.exit_code, 2);
  EXPECT_THAT(big.err, AllOf(HasSubstr("4294967296 does not fit"), HasSubstr("f32")));
}

TEST_P(AnswersTest, MissingSharedMemoryIsNamed) {
  const std::string staged = ElementKernel(
      "shl.b32 %r5, %r3, 2;\n  st.shared.f32 [%r5], %f1;\n  ld.shared.f32 %f3, [%r5];");
  const Outcome without = AskPair("compare", staged, staged);
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_THAT(without.out, HasSubstr("--shared BYTES"));
  const Outcome with = AskPair("compare", staged, staged, {"--shared", "1024"});
  EXPECT_EQ(with.exit_code, 0) << with.out << with.err;
}

TEST_P(AnswersTest, AnyBytesAreAnInputError) {
  std::string bytes;
  uint32_t state = 12345;
  for (int i = 0; i < 4096; ++i) bytes.push_back(static_cast<char>((state = state * 1664525 + 1013904223) >> 24));
  for (const std::string& text : {bytes, std::string(), std::string("\0\0\0", 3), Added().substr(0, 300)}) {
    const Outcome run = AskPair("compare", text, Added());
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_THAT(run.err, HasSubstr("a.ptx"));
  }
}

TEST_P(AnswersTest, CompareAsJson) {
  const Outcome run = AskPair("compare", Added(), Multiplied(), {"--format", "json"});
  const Json json = Json::parse(run.out);
  EXPECT_THAT(json["verdict"].get<std::string>(), AnyOf("DISTINCT", "DIFFERENT"));
  for (const char* side : {"a", "b"}) {
    EXPECT_EQ(json[side]["status"], "OK");
    EXPECT_THAT(json[side]["signature"].get<std::string>(), MatchesRegex("[0-9a-f]+"));
    EXPECT_EQ(json[side]["signature"].get<std::string>().size(), 32u);
    EXPECT_TRUE(json[side]["assumptions"].is_array());
  }
  EXPECT_NE(json["a"]["signature"], json["b"]["signature"]);
  const Outcome error = AskPair("compare", Added(), Misspelt(), {"--format", "json"});
  EXPECT_EQ(Json::parse(error.out)["error"]["code"], "INVALID_ARGUMENT");
}

TEST_P(AnswersTest, ExplainShowsBothSides) {
  const Outcome run = AskPair("explain", Added(), Multiplied(),
                              {"--format", "json", "--arg", "ptr", "--arg", "ptr:out", "--arg", "unknown"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  const Json difference = Json::parse(run.out)["difference"];
  EXPECT_EQ(difference["buffer"], "out");
  EXPECT_EQ(difference["byte_offset"], 0);
  EXPECT_EQ(difference["a"]["place"]["line"], 21);
  EXPECT_THAT(difference["a"]["tree"].get<std::string>(), HasSubstr("add"));
  EXPECT_THAT(difference["b"]["tree"].get<std::string>(), HasSubstr("mul"));
  for (const char* side : {"a", "b"}) {
    const Json& nodes = difference[side]["nodes"];
    ASSERT_FALSE(nodes.empty());
    EXPECT_EQ(nodes[0]["match"], "parts");
    EXPECT_EQ(nodes[0]["scope"], "thread");
    EXPECT_EQ(nodes[0]["place"]["line"], 21);
    EXPECT_EQ(difference[side]["thread"], Json({0, 0, 0}));
  }
  const Outcome human = AskPair("explain", Added(), Multiplied());
  EXPECT_THAT(human.out, AllOf(HasSubstr("add.rn.f32"), HasSubstr("mul.rn.f32"), HasSubstr("fadd.rn.f32 @21"), HasSubstr("@21  add.rn.f32 %f3, %f1, %f2")));
}

TEST_P(AnswersTest, ExplainWritesADrawingAndAPage) {
  const std::string svg = folder_.path() + "/why.svg", html = folder_.path() + "/why.html";
  const Outcome run = AskPair("explain", Added(), Multiplied(), {"--svg", svg, "--html", html});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_THAT(read(svg), AllOf(StartsWith("<svg "), HasSubstr("fadd.rn.f32"), HasSubstr("fmul.rn.f32"), HasSubstr("</svg>")));
  EXPECT_THAT(read(html), AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("a.ptx"), HasSubstr("mul.rn.f32"), HasSubstr("4 x 1 x 1"), HasSubstr("</html>")));
  const Outcome equal = AskPair("explain", Added(), AddedSwapped(), {"--html", html});
  EXPECT_EQ(equal.exit_code, 0) << equal.err;
  EXPECT_THAT(read(html), HasSubstr("EQUIVALENT")) << "a page of an earlier answer does not stay";
  const Outcome lost = AskPair("explain", Added(), Multiplied(), {"--svg", folder_.path() + "/none/why.svg"});
  EXPECT_EQ(lost.exit_code, 2);
  EXPECT_THAT(lost.err, HasSubstr("none/why.svg: cannot be written: No such file"));
}

TEST_P(AnswersTest, ArgumentsMatter) {
  const std::vector<std::string> common = {"--arg", "ptr", "--arg", "ptr"};
  const auto compare = [&](const std::string& a, const std::string& b) {
    std::vector<std::string> more;
    for (const auto& [side, value] : {std::pair("--a-arg", a), std::pair("--b-arg", b)}) {
      more.insert(more.end(), {side, "ptr", side, "ptr", side, value});
    }
    return AskPair("compare", Added(), Added(), more).exit_code;
  };
  EXPECT_EQ(compare("1.5", "f32:1.5"), 0);
  EXPECT_EQ(compare("1.5", "0x3fc00000"), 0);
  EXPECT_EQ(compare("1.5", "1.25"), 1);
}

TEST_P(AnswersTest, BuffersMatchByPositionOrByName) {
  const auto compare = [&](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::string> more;
    for (const std::string& value : a) more.insert(more.end(), {"--a-arg", value});
    for (const std::string& value : b) more.insert(more.end(), {"--b-arg", value});
    return AskPair("compare", Added(), Added(), more).exit_code;
  };
  EXPECT_EQ(compare({"ptr", "ptr", "1"}, {"ptr", "ptr", "1"}), 0);
  EXPECT_EQ(compare({"ptr:x", "ptr:o", "1"}, {"ptr:x", "ptr:o", "1"}), 0);
  EXPECT_EQ(compare({"ptr:x", "ptr:o", "1"}, {"ptr:y", "ptr:o", "1"}), 1);
}

TEST_P(AnswersTest, SidecarsAndLaunchFiles) {
  const std::string a = folder_.Write("a.ptx", Added()), b = folder_.Write("b.ptx", AddedSwapped());
  folder_.Write("a.json",
                R"({"block": [32, 1, 1], "grid": [4, 1, 1], "args": [{"ptr": "x"}, {"ptr": "o"}, {"f32": 2}]})");
  const std::string other = folder_.Write(
      "other.json", R"({"block": [32], "grid": 4, "args": [{"ptr": "x"}, {"ptr": "o"}, {"f32": "0x40000000"}]})");
  EXPECT_EQ(Ask({"compare", a, b + "@" + other}).exit_code, 0);
  const std::string broken = folder_.Write("broken.json", R"({"block": [32], "args": [{"i33": 1}]})");
  const Outcome run = Ask({"compare", a, b + "@" + broken});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("broken.json: args[0]"), HasSubstr("i33")));
}

TEST_P(AnswersTest, SignaturesComeInOrderWithALineForEachRow) {
  folder_.Write("add.ptx", Added());
  folder_.Write("swapped.ptx", AddedSwapped());
  folder_.Write("raced.ptx", Raced());
  folder_.Write("unmodelled.ptx", Unmodelled());
  folder_.Write("misspelt.ptx", Misspelt());
  std::string rows;
  for (const char* name : {"add", "none", "swapped", "raced", "unmodelled", "misspelt"}) {
    rows += Json{{"id", name},          {"path", std::string(name) + ".ptx"},
                 {"block", {32, 1, 1}}, {"grid", {4, 1, 1}},
                 {"args", nullptr},     {"config", {{"x", 1}}},
                 {"outputs", nullptr}}
                .dump() +
            "\n";
  }
  const Outcome run = Ask({"signature", "--manifest", folder_.Write("m.jsonl", rows + "not json\n"), "--jobs", "3"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::vector<Json> lines;
  std::istringstream stream(run.out);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  ASSERT_EQ(lines.size(), 7u);
  const std::vector<std::pair<const char*, const char*>> expected = {{"add", "OK"},
                                                                     {"none", "UNKNOWN"},
                                                                     {"swapped", "OK"},
                                                                     {"raced", "NONDETERMINISTIC"},
                                                                     {"unmodelled", "UNKNOWN"},
                                                                     {"misspelt", "UNKNOWN"},
                                                                     {"line 7", "UNKNOWN"}};
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["id"], expected[i].first);
    EXPECT_EQ(lines[i]["status"], expected[i].second);
    EXPECT_TRUE(lines[i]["micros"].is_number());
    EXPECT_EQ(lines[i]["reason"].get<std::string>().empty(), lines[i]["status"] == "OK");
    EXPECT_EQ(lines[i]["signature"].get<std::string>().empty(), lines[i]["status"] != "OK");
  }
  EXPECT_EQ(lines[0]["signature"], lines[2]["signature"]);
  EXPECT_EQ(Ask({"signature", "--manifest", folder_.Write("bad.jsonl", "not json\n")}).exit_code, 2);
  EXPECT_EQ(Ask({"signature", "--manifest", folder_.path() + "/none.jsonl"}).exit_code, 2);
}

TEST_P(AnswersTest, PairsOfAManifestEndWithTheCodeOfTheWorst) {
  folder_.Write("add.ptx", Added());
  folder_.Write("swapped.ptx", AddedSwapped());
  folder_.Write("raced.ptx", Raced());
  folder_.Write("unmodelled.ptx", Unmodelled());
  std::string rows;
  for (const char* name : {"add", "swapped", "raced", "unmodelled"})
    rows += Json{{"id", name}, {"path", std::string(name) + ".ptx"}, {"block", {32, 1, 1}}, {"grid", {4, 1, 1}},
                 {"args", nullptr}}.dump() + "\n";
  const std::string manifest = folder_.Write("m.jsonl", rows);
  const auto code = [&](const std::string& pairs) {
    return Ask({"compare", "--manifest", manifest, "--pairs", folder_.Write("pairs.jsonl", pairs)}).exit_code;
  };
  const std::string equal = R"({"a": "add", "b": "swapped"})" "\n", raced = R"({"a": "add", "b": "raced"})" "\n",
                    unknown = R"({"a": "add", "b": "unmodelled"})" "\n", missing = R"({"a": "add", "b": "none"})" "\n";
  EXPECT_EQ(code(equal + equal), 0);
  EXPECT_EQ(code(raced + equal), 1);
  EXPECT_EQ(code(unknown + raced + equal), 3);
  EXPECT_EQ(code(missing + unknown + equal), 2);
}

TEST_P(AnswersTest, Partition) {
  const std::string a = folder_.Write("a.ptx", Added()), b = folder_.Write("b.ptx", Multiplied());
  const std::string c = folder_.Write("c.ptx", AddedSwapped()), n = folder_.Write("n.ptx", Raced());
  const std::string u = folder_.Write("u.ptx", Unmodelled());
  const std::vector<std::string> launch = {"--block", "32", "--grid", "4"};
  const auto partition = [&](std::vector<std::string> kernels, const std::vector<std::string>& more = {}) {
    kernels.insert(kernels.begin(), "partition");
    kernels.insert(kernels.end(), launch.begin(), launch.end());
    kernels.insert(kernels.end(), more.begin(), more.end());
    return Ask(kernels);
  };
  EXPECT_EQ(partition({a, c}).exit_code, 0);
  EXPECT_EQ(partition({a, b, c}).exit_code, 1);
  EXPECT_EQ(partition({a, c, n}).exit_code, 1);
  EXPECT_EQ(partition({a, c, u}).exit_code, 3);
  EXPECT_EQ(partition({a, c, folder_.path() + "/none.ptx"}).exit_code, 2);
  const Json json = Json::parse(partition({a, b, c, n, u}, {"--reference", b, "--format", "json"}).out);
  ASSERT_EQ(json["classes"].size(), 2u);
  EXPECT_EQ(json["classes"][0]["members"], Json({b}));
  EXPECT_EQ(json["classes"][1]["members"], Json({a, c}));
  EXPECT_EQ(json["classes"][1]["representative"], a);
  EXPECT_EQ(json["nondeterministic"][0]["id"], n);
  EXPECT_EQ(json["unknown"][0]["id"], u);
  EXPECT_THAT(json["reference"]["verdicts"][a].get<std::string>(), AnyOf("DISTINCT", "DIFFERENT"));
  const Outcome unlisted = partition({a, b}, {"--reference", c, "--format", "json"});
  EXPECT_EQ(Json::parse(unlisted.out)["classes"][0]["members"], Json({c, a}));
  EXPECT_THAT(partition({a, b}).out, Not(HasSubstr("\033"))) << "no colour where the output is no terminal";
}

TEST_P(AnswersTest, InspectShowsTheMap) {
  const std::string a = folder_.Write("a.ptx", Added());
  const Outcome run = Ask({"inspect", a, "--block", "32", "--grid", "4"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("add"));
  EXPECT_EQ(Ask({"inspect", folder_.Write("bad.ptx", Misspelt()), "--block", "32"}).exit_code, 2);
}

TEST_P(AnswersTest, StandardInputIsAKernel) {
  const Outcome run = Ask({"compare", folder_.Write("a.ptx", Added()), "-", "--block", "32"}, AddedSwapped());
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

}  // namespace
}  // namespace samebits::test
