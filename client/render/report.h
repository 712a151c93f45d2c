#ifndef SAMEBITS_CLIENT_RENDER_REPORT_H_
#define SAMEBITS_CLIENT_RENDER_REPORT_H_

// An explained comparison as a drawing and as a page. Pure. All text that comes from kernels and users is escaped;
// results name no other resource and need none.

#include <string>
#include <utility>
#include <vector>

#include "core/checker/checker.h"

namespace samebits::render {

// One of the two launches.
struct Subject {
  std::string id;
  std::vector<std::pair<std::string, std::string>> launch;  // "grid", "96 x 1 x 1"
};

struct Report {
  const checker::Comparison& comparison;
  Subject a, b;
  std::string meaning;  // of the verdict, for people
  std::string version;  // of the program
};

// SVG 1.1, readable alone: verdict, what parts, legend, both trees beside each other.
std::string SvgReport(const Report& report);

// One HTML page, also well-formed XML: launches, verdict, assumptions, both trees with their instructions.
std::string HtmlReport(const Report& report);

// A launch as rows of Subject::launch.
std::vector<std::pair<std::string, std::string>> LaunchRows(const checker::Launch& launch);

}  // namespace samebits::render

#endif  // SAMEBITS_CLIENT_RENDER_REPORT_H_
