// Any bytes: a GEMM descriptor's parser answers with a valid record or an error. A record's text parses back to it, and
// where the record compiles for a small K, its plan takes every element once.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/gemm/gemm_desc.h"
#include "core/gemm/plan.h"

namespace samebits::gemm {
namespace {

void Require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

void CheckPlan(const GemmDesc& desc, int64_t k, const std::string& text) {
  const absl::StatusOr<Plan> plan = Compile(desc, k, 90);
  if (!plan.ok()) return;
  std::vector<int32_t> order = plan->order;
  std::sort(order.begin(), order.end());
  Require(static_cast<int64_t>(order.size()) == k, "elements lost", text);
  for (int64_t i = 0; i < k; ++i) Require(order[i] == i, "an element taken twice", text);
  (void)DigestOf(*plan);
}

}  // namespace
}  // namespace samebits::gemm

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace samebits::gemm;
  // Every other input gets a header, so that mutation need not keep one.
  const std::string head = size % 2 == 0 ? "" : "gemm/1 types=f16,f16,f32,f16 instruction=wgmma:16 ";
  const std::string text = head + std::string(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<GemmDesc> desc = ParseGemmDesc(text);
  if (!desc.ok()) {
    Require(!desc.status().message().empty(), "an error without a message", text);
    return 0;
  }
  Require(Validate(*desc).ok(), "a parsed record is not valid", text);
  const absl::StatusOr<GemmDesc> again = ParseGemmDesc(ToText(*desc));
  Require(again.ok() && *again == *desc, "the text does not parse back", text);
  Require(!Describe(*desc).empty(), "no description", text);
  for (int64_t k : {0, 1, 7, 100}) CheckPlan(*desc, k, text);
  return 0;
}
