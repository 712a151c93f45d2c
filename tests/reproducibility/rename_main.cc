// samebits_rename SEED SOURCE TARGET: every *.ptx below folder SOURCE, with its registers and labels renamed, at the
// same place below folder TARGET. Prints the number of texts; exit code 1 where a file cannot be read or written, or
// where renaming left a text as it was.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/isa/ptx/rename.h"

namespace samebits {
namespace {

namespace fs = std::filesystem;

bool RenameFile(const fs::path& from, const fs::path& to, uint64_t seed) {
  std::ifstream in(from, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string renamed = isa::ptx::RenameRegistersAndLabels(text, seed);
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  std::ofstream out(to, std::ios::binary);
  out << renamed;
  out.close();
  return in && out && !error && renamed != text;
}

int Run(const fs::path& source, const fs::path& target, uint64_t seed) {
  int files = 0;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(source, error)) {
    if (entry.path().extension() != ".ptx") continue;
    if (!RenameFile(entry.path(), target / fs::relative(entry.path(), source), seed)) {
      std::fprintf(stderr, "samebits_rename: %s was not renamed\n", entry.path().c_str());
      return 1;
    }
    ++files;
  }
  if (error || files == 0) {
    std::fprintf(stderr, "samebits_rename: no *.ptx below %s\n", source.c_str());
    return 1;
  }
  std::printf("%d\n", files);
  return 0;
}

}  // namespace
}  // namespace samebits

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: samebits_rename SEED SOURCE TARGET\n");
    return 2;
  }
  return samebits::Run(argv[2], argv[3], std::strtoull(argv[1], nullptr, 10));
}
