#ifndef SAMEBITS_TESTS_DIFFERENTIAL_AMDGCN_KERNEL_H_
#define SAMEBITS_TESTS_DIFFERENTIAL_AMDGCN_KERNEL_H_

// AMDGCN kernels written by hand, and what tests ask of them: that the checker's map and the direct interpreter agree.

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/checker/checker.h"
#include "gtest/gtest.h"
#include "tests/differential/interpret.h"
#include "tests/differential/kernel.h"

namespace samebits::differential {

inline constexpr int kLanes = 64;

// A kernel k(x, o) of `lanes` work-items: v0 is the id, s[4:7] and s[8:11] are buffer descriptors of x and o, v1 is 4 * id.
inline std::string Kernel(const std::string& body, int lanes = kLanes, int lds = 4096) {
  return absl::StrCat(R"(
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.p2align	8
k:
	s_load_dwordx4 s[0:3], s[0:1], 0x0
	s_waitcnt lgkmcnt(0)
	s_mov_b32 s4, s0
	s_and_b32 s5, s1, 0xffff
	s_mov_b32 s6, 0x7ffffffe
	s_mov_b32 s7, 0x27000
	s_mov_b32 s8, s2
	s_and_b32 s9, s3, 0xffff
	s_mov_b32 s10, 0x7ffffffe
	s_mov_b32 s11, 0x27000
	v_lshlrev_b32_e32 v1, 2, v0
)", body, R"(
	s_endpgm
	.section	.rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size )", lds, R"(
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .offset:         8
        .size:           8
        .value_kind:     global_buffer
    .max_flat_workgroup_size: )", lanes, R"(
    .name:           k
    .wavefront_size: 64
...
	.end_amdgpu_metadata
)");
}

inline checker::Argument Pointer(const char* name) {
  checker::Argument a;
  a.kind = checker::Argument::Kind::kPointer;
  a.buffer = name;
  return a;
}

inline checker::Launch LaunchOf(int lanes) {
  checker::Launch launch;
  launch.block = {static_cast<uint32_t>(lanes), 1, 1};
  launch.grid = checker::Dim3{1, 1, 1};
  launch.args = {Pointer("x"), Pointer("o")};
  launch.outputs = {"o"};
  return launch;
}

inline Contents Draw(int words, std::mt19937& random, bool floats) {
  Contents c = {{"x", std::vector<uint8_t>(4096 * 4)}, {"o", std::vector<uint8_t>(static_cast<size_t>(words) * 4, 0x5a)}};
  for (size_t i = 0; i < c["x"].size(); i += 4) {
    uint32_t bits = static_cast<uint32_t>(random());
    if (floats) bits = (bits & 0x807fffffu) | (120 + random() % 16) << 23;
    std::memcpy(&c["x"][i], &bits, 4);
  }
  return c;
}

inline constexpr char kLoad[] = "\tbuffer_load_dword v2, v1, s[4:7], 0 offen\n\ts_waitcnt vmcnt(0)\n";
inline constexpr char kStore[] = "\tbuffer_store_dword v2, v1, s[8:11], 0 offen\n";

// Checks that map and interpreter agree on random inputs; returns the signature.
inline std::string Agree(const std::string& text, int lanes = kLanes, int words = kLanes, bool floats = true, int draws = 3) {
  std::mt19937 random(7);
  const checker::Launch launch = LaunchOf(lanes);
  std::vector<Contents> before;
  for (int i = 0; i < draws; ++i) before.push_back(Draw(words, random, floats));
  const auto mapped = EvaluateKernel(text, launch, before, nullptr, 20);
  EXPECT_TRUE(mapped.ok()) << mapped.status() << text;
  if (!mapped.ok()) return "";
  EXPECT_EQ(mapped->signature.reason, "") << text;
  if (mapped->signature.status != checker::SignatureStatus::kOk) return "";
  for (size_t i = 0; i < before.size(); ++i) {
    uint64_t model = 0;
    const auto run = InterpretKernel(text, launch, before[i], &model);
    EXPECT_TRUE(run.ok()) << run.status();
    if (run.ok()) {
      EXPECT_EQ(run->at("o"), mapped->after[i].at("o")) << text;
    }
  }
  return mapped->signature.digest;
}

inline checker::Signature Check(const std::string& text, int lanes = kLanes) {
  const auto signature = checker::ComputeSignature(text, LaunchOf(lanes));
  EXPECT_TRUE(signature.ok()) << signature.status();
  return signature.ok() ? *signature : checker::Signature{};
}

inline std::string Dpp(const std::string& control) { return absl::StrCat("\ts_nop 1\n\tv_add_f32_dpp v2, v2, v2 ", control, " row_mask:0xf bank_mask:0xf bound_ctrl:1\n"); }

inline std::string Mfma(const std::string& name, int words, int results, const std::string& times = "") {
  std::string text;
  for (int i = 0; i < 2 * words; ++i)
    absl::StrAppend(&text, "\tbuffer_load_dword v", 4 + i, ", v1, s[4:7], 0 offen offset:", 256 * i, "\n");
  absl::StrAppend(&text, "\ts_waitcnt vmcnt(0)\n");
  const std::string a = words == 1 ? "v4" : absl::StrCat("v[4:", 3 + words, "]"), b = words == 1 ? "v5" : absl::StrCat("v[", 4 + words, ":", 3 + 2 * words, "]");
  const std::string d = absl::StrCat("v[32:", 31 + results, "]");
  absl::StrAppend(&text, "\t", name, " ", d, ", ", a, ", ", b, ", 0\n");
  if (!times.empty()) absl::StrAppend(&text, "\t", times, " ", d, ", ", b, ", ", a, ", ", d, "\n");
  absl::StrAppend(&text, "\ts_movk_i32 s14, 0x1000\n");  // offsets go to 4095
  for (int r = 0; r < results; ++r)
    absl::StrAppend(&text, "\tbuffer_store_dword v", 32 + r, ", v1, s[8:11], ", r < 16 ? "0" : "s14", " offen offset:", 256 * (r % 16), "\n");
  return Kernel(text);
}

}  // namespace samebits::differential

#endif  // SAMEBITS_TESTS_DIFFERENTIAL_AMDGCN_KERNEL_H_
