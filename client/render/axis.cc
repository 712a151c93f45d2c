#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/chart.h"

namespace samebits::render {
namespace {

constexpr double kZeroPlace = 0.06;  // of a log axis, before its first decade
constexpr int kMostDecades = 12;     // with a tick each

std::string Superscript(int exponent) {
  static const char* const kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = exponent < 0 ? "⁻" : "";
  for (const char digit : absl::StrCat(std::abs(exponent))) out += kDigits[digit - '0'];
  return out;
}

// The least of 1, 2, 5 times a power of ten that is `step` or more.
double RoundStep(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (step <= factor * power * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

}  // namespace

bool Axis::Has(double value) const {
  if (!std::isfinite(value)) return false;
  return !log || value > 0 || (zero && value == 0);
}

double Axis::At(double value) const {
  if (!log) return std::clamp((value - low) / (high - low), 0.0, 1.0);
  if (!(value > 0)) return 0;
  const double place = std::clamp((std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low)), 0.0, 1.0);
  return zero ? kZeroPlace + (1 - kZeroPlace) * place : place;
}

Axis LinearAxis(std::string label, double low, double high) {
  Axis axis;
  axis.label = std::move(label);
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) low = 0, high = 1;
  if (high - low < 1e-12 * std::max(std::abs(low), std::abs(high)) || high == low) high = low + (low == 0 ? 1 : std::abs(low));
  const double step = RoundStep((high - low) / 6);
  const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
  axis.low = first * step;
  axis.high = last * step;
  for (double i = first; i <= last && axis.ticks.size() < 32; ++i) {
    axis.ticks.push_back({i * step, absl::StrFormat("%g", i * step), ""});
  }
  return axis;
}

Axis LogAxis(std::string label, const std::vector<double>& values) {
  Axis axis;
  axis.label = std::move(label);
  axis.log = true;
  double least = HUGE_VAL, most = 0;
  for (const double value : values) {
    if (value == 0) axis.zero = true;
    if (!std::isfinite(value) || value <= 0) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (most == 0) least = most = 1;
  const int first = static_cast<int>(std::floor(std::log10(least) + 1e-9));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(most) - 1e-9)));
  axis.low = std::pow(10, first);
  axis.high = std::pow(10, last);
  const int step = (last - first + kMostDecades - 1) / kMostDecades;
  if (axis.zero) axis.ticks.push_back({0, "0", ""});
  for (int i = first; i <= last; i += step) axis.ticks.push_back({std::pow(10, i), "10" + Superscript(i), ""});
  return axis;
}

Axis NamedAxis(std::string label, const std::vector<std::string>& names) {
  Axis axis;
  axis.label = std::move(label);
  axis.low = -0.5;
  axis.high = std::max<double>(1, static_cast<double>(names.size())) - 0.5;
  for (size_t i = 0; i < names.size(); ++i) axis.ticks.push_back({static_cast<double>(i), names[i], ""});
  return axis;
}

}  // namespace samebits::render
