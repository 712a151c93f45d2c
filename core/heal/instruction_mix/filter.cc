#include <regex.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/heal/instruction_mix/kernel_mix.h"

namespace samebits::heal {
namespace {

absl::StatusOr<std::shared_ptr<regex_t>> Compile(const std::string& pattern) {
  if (pattern.size() > kMostPattern) {
    return absl::InvalidArgumentError(
        absl::StrCat("regular expression of ", pattern.size(), " characters: at most ", kMostPattern));
  }
  if (pattern.find('\0') != std::string::npos) return absl::InvalidArgumentError("regular expression with a zero byte");
  auto regex = std::make_unique<regex_t>();
  if (const int error = regcomp(regex.get(), pattern.c_str(), REG_EXTENDED); error != 0) {
    char text[256] = {};
    regerror(error, regex.get(), text, sizeof text);
    return absl::InvalidArgumentError(absl::StrCat("regular expression '", pattern, "': ", text));
  }
  return std::shared_ptr<regex_t>(regex.release(), [](regex_t* r) {
    regfree(r);
    delete r;
  });
}

}  // namespace

absl::StatusOr<TextFilter> CompileFilter(const std::string& pattern) {
  if (pattern.empty()) return TextFilter([](std::string_view) { return true; });
  absl::StatusOr<std::shared_ptr<regex_t>> regex = Compile(pattern);
  if (!regex.ok()) return regex.status();
  return TextFilter([regex = *std::move(regex)](std::string_view text) {
    return regexec(regex.get(), std::string(text).c_str(), 0, nullptr, 0) == 0;
  });
}

absl::StatusOr<std::function<std::string(std::string_view)>> CompileGrouping(const std::string& pattern) {
  absl::StatusOr<std::shared_ptr<regex_t>> regex = Compile(pattern);
  if (!regex.ok()) return regex.status();
  return std::function<std::string(std::string_view)>([regex = *std::move(regex)](std::string_view text) -> std::string {
    const std::string whole(text);
    regmatch_t matches[2] = {};
    if (regexec(regex.get(), whole.c_str(), 2, matches, 0) != 0) return "others";
    const regmatch_t& match = matches[regex->re_nsub > 0 && matches[1].rm_so >= 0 ? 1 : 0];
    return whole.substr(match.rm_so, match.rm_eo - match.rm_so);
  });
}

}  // namespace samebits::heal
