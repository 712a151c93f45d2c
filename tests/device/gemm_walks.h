#ifndef SAMEBITS_TESTS_DEVICE_GEMM_WALKS_H_
#define SAMEBITS_TESTS_DEVICE_GEMM_WALKS_H_

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/gemm/probe.h"

namespace samebits::device_test {

using gemm::GemmProblem;

// "0*3 1*61 0*4": runs of equal bits; '?' for answers that are no sum of tiny values.
inline std::string RunLengths(const std::string& bits) {
  std::string text;
  for (size_t i = 0; i < bits.size();) {
    size_t end = i;
    while (end < bits.size() && bits[end] == bits[i]) ++end;
    absl::StrAppend(&text, text.empty() ? "" : " ", std::string(1, bits[i]), "*", end - i);
    i = end;
  }
  return text;
}

// Raw observations for people, where recovery found nothing: which places a pair absorbs, and which neighbours absorb
// place 0.
class Walks {
 public:
  Walks(gemm::BlackBox* library, const GemmProblem& problem) : problem_(problem), prober_(library, problem, 64) {}

  std::vector<std::string> All() {
    std::vector<std::string> lines;
    for (int64_t x = 1; x < problem_.k && launches_ < 120; x *= 2) lines.push_back(Set(0, x));
    if (problem_.k > 600) lines.push_back(Set(problem_.k / 2, problem_.k / 2 + 1));
    lines.push_back(Neighbours());
    for (int64_t tile : {128, 256}) {
      if (problem_.k < 130 * tile) continue;
      for (int64_t x : {4, 8, 28, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 512})
        if (x * tile < problem_.k) lines.push_back(Tiles(tile, x));
    }
    return lines;
  }

 private:
  // Places up to 1024 absorbed by the pair (p, q).
  std::string Set(int64_t p, int64_t q) {
    std::vector<gemm::Probe> probes;
    const int64_t small = prober_.small_per_probe(), end = std::min<int64_t>(problem_.k, 1024);
    for (int64_t x = 0; x < end; x += small) {
      gemm::Probe probe{p, q, {}};
      for (int64_t y = x; y < std::min(end, x + small); ++y) {
        if (y != p && y != q) probe.small.push_back(y);
      }
      probes.push_back(std::move(probe));
    }
    std::string bits(end, '-');
    Ask(probes, [&](const gemm::Probe& probe, size_t i, char bit) { bits[probe.small[i]] = bit; });
    return absl::StrCat("pair ", p, " ", q, " absorbs of the first ", end, ": ", RunLengths(bits));
  }

  // First places of tiles absorbed by the pair of places 0 and x * tile.
  std::string Tiles(int64_t tile, int64_t x) {
    std::vector<gemm::Probe> probes;
    const int64_t small = prober_.small_per_probe(), end = std::min<int64_t>((problem_.k - 1) / tile + 1, 700);
    for (int64_t y = 0; y < end; y += small) {
      gemm::Probe probe{0, x * tile, {}};
      for (int64_t z = y; z < std::min(end, y + small); ++z) {
        if (z != 0 && z != x) probe.small.push_back(z * tile);
      }
      probes.push_back(std::move(probe));
    }
    std::string bits(end, '-');
    Ask(probes, [&](const gemm::Probe& probe, size_t i, char bit) { bits[probe.small[i] / tile] = bit; });
    std::string places;
    for (int64_t y = 0; y < end; ++y)
      if (bits[y] != '0') absl::StrAppend(&places, " ", bits[y] == '1' ? "" : std::string(1, bits[y]), y);
    return absl::StrCat("pair of tiles 0 and ", x, " of ", tile, " absorbs tiles:", places);
  }

  // Whether the pair (m, m + 1) absorbs place 0, m from 1 on.
  std::string Neighbours() {
    std::vector<gemm::Probe> probes;
    const int64_t end = std::min<int64_t>(problem_.k - 1, 4096);
    for (int64_t m = 1; m < end; ++m) probes.push_back({m, m + 1, {0}});
    std::string bits;
    Ask(probes, [&](const gemm::Probe&, size_t, char bit) { bits.push_back(bit); });
    return absl::StrCat("place 0 absorbed by neighbours from 1: ", RunLengths(bits));
  }

  template <typename Function>
  void Ask(const std::vector<gemm::Probe>& probes, const Function& each) {
    const size_t batch = prober_.probes_per_launch();
    for (size_t i = 0; i < probes.size() && launches_ < 4000; i += batch) {
      const std::span<const gemm::Probe> some(&probes[i], std::min(batch, probes.size() - i));
      const auto answers = prober_.Ask(some);
      ++launches_;
      if (!answers.ok()) return;
      for (size_t j = 0; j < some.size(); ++j) {
        for (size_t b = 0; b < some[j].small.size(); ++b) {
          each(some[j], b, !(*answers)[j].valid ? '?' : ((*answers)[j].absorbed >> b & 1) != 0 ? '1' : '0');
        }
      }
    }
  }

  const GemmProblem problem_;
  gemm::Prober prober_;
  int launches_ = 0;
};

}  // namespace samebits::device_test

#endif  // SAMEBITS_TESTS_DEVICE_GEMM_WALKS_H_
