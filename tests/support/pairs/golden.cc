#include "tests/support/pairs/golden.h"

#include <bit>
#include <fstream>
#include <sstream>

namespace samebits::checker {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Dim3 ParseDims(const std::string& text) {
  Dim3 d{};
  std::istringstream in(text);
  std::string part;
  for (uint32_t& v : d) {
    std::getline(in, part, ',');
    v = static_cast<uint32_t>(std::stoul(part));
  }
  return d;
}

Argument ParseArgument(const std::string& text) {
  Argument a;
  const std::string kind = text.substr(0, text.find(':'));
  const std::string value = text.find(':') == std::string::npos ? "" : text.substr(text.find(':') + 1);
  if (kind == "scratch") {
    a.kind = Argument::Kind::kScratch;
  } else if (kind == "ptr") {
    a.kind = Argument::Kind::kPointer;
    a.buffer = value;
  } else if (kind == "f32") {
    a.kind = Argument::Kind::kFloat;
    a.bits = std::bit_cast<uint32_t>(std::stof(value));
  } else {
    a.kind = Argument::Kind::kInteger;
    a.bits = static_cast<uint64_t>(std::stoll(value));
  }
  return a;
}

}  // namespace

std::string GoldenFolder(const std::string& source) { return source + "/tests/unit/core/checker/golden/"; }

std::vector<GoldenKernel> ReadGoldenKernels(const std::string& source) {
  std::vector<GoldenKernel> kernels;
  std::istringstream lines(ReadAll(GoldenFolder(source) + "launches.txt"));
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    GoldenKernel k;
    std::string block, grid, output, word;
    words >> k.name >> k.launch.entry >> block >> grid >> k.launch.shared_bytes >> output;
    k.launch.block = ParseDims(block);
    k.launch.grid = ParseDims(grid);
    k.launch.outputs = {output};
    k.launch.args.emplace();
    while (words >> word) k.launch.args->push_back(ParseArgument(word));
    k.text = ReadAll(GoldenFolder(source) + k.name + ".ptx");
    kernels.push_back(std::move(k));
  }
  return kernels;
}

}  // namespace samebits::checker
