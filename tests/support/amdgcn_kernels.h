#ifndef SAMEBITS_TESTS_SUPPORT_AMDGCN_KERNELS_H_
#define SAMEBITS_TESTS_SUPPORT_AMDGCN_KERNELS_H_

#include <string>

namespace samebits::test {

struct AmdgcnText {
  std::string body = "\tv_add_f32_e32 v3, s8, v1\n";
  std::string processor = "gfx942";
  std::string triple = "amdgcn-amd-amdhsa--";
  int lds_bytes = 0;
  std::string store = "\tglobal_store_dword v0, v3, s[6:7]\n";
  std::string metadata;  // further lines of the kernel
};

// k(x, o, s), for workgroups of 32: out[i] = f(x[i], s), one work-item an element. `body` turns v1 (and the scalar s8) into
// v3; v0 is the byte offset of the element, s9 the hidden count of workgroups.
inline std::string AmdgcnElement(const AmdgcnText& text = {}) {
  const std::string lds = std::to_string(text.lds_bytes), target = text.triple + text.processor;
  return "\t.amdgcn_target \"" + target + R"("
	.text
	.globl	k
	.p2align	8
	.type	k,@function
k:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dword s8, s[0:1], 0x10
	s_load_dword s9, s[0:1], 0x18
	s_waitcnt lgkmcnt(0)
	s_lshl_b32 s3, s2, 5
	v_add_u32_e32 v0, s3, v0
	v_lshlrev_b32_e32 v0, 2, v0
	global_load_dword v1, v0, s[4:5]
	s_waitcnt vmcnt(0)
)" + text.body + text.store +
         R"(	s_endpgm
	.size	k, .Lfunc_end0-k
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size )" + lds + R"(
		.amdhsa_kernarg_size 28
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
		.amdhsa_float_denorm_mode_32 3
	.end_amdhsa_kernel
	.text
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .name:           x
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .name:           o
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .name:           s
        .offset:         16
        .size:           4
        .value_kind:     by_value
      - .offset:         24
        .size:           4
        .value_kind:     hidden_block_count_x
    .group_segment_fixed_size: )" + lds + R"(
    .kernarg_segment_align: 8
    .kernarg_segment_size: 28
    .max_flat_workgroup_size: 256
    .name:           k
    .private_segment_fixed_size: 0
)" + text.metadata + R"(    .sgpr_count:     22
    .symbol:         k.kd
    .vgpr_count:     8
    .wavefront_size: 64
amdhsa.target:   )" + target + R"(
amdhsa.version:
  - 1
  - 2
...
	.end_amdgpu_metadata
)";
}

inline std::string AmdgcnElement(const std::string& body) {
  AmdgcnText text;
  text.body = body;
  return AmdgcnElement(text);
}

}  // namespace samebits::test

#endif  // SAMEBITS_TESTS_SUPPORT_AMDGCN_KERNELS_H_
