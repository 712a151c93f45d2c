#ifndef SAMEBITS_TESTS_INTEGRATION_CLI_KERNELS_H_
#define SAMEBITS_TESTS_INTEGRATION_CLI_KERNELS_H_

#include <string>

namespace samebits::test {

// out[i] = f(x[i]) over one thread an element: `body` turns %f1 into %f3 (it may use %f2 and %p1), and `store` writes
// it to [%rd4].
inline std::string ElementKernel(const std::string& body, const std::string& store = "st.global.f32 [%rd4], %f3;",
                                 const std::string& name = "k") {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry )" +
         name + "(.param .u64 .ptr .global .align 4 " + name + "_param_0, .param .u64 .ptr .global .align 4 " + name +
         "_param_1, .param .f32 " + name + R"(_param_2)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [)" +
         name + R"(_param_0];
  ld.param.u64 %rd2, [)" +
         name + R"(_param_1];
  ld.param.f32 %f2, [)" +
         name + R"(_param_2];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %rd5, %r4, 4;
  add.s64 %rd3, %rd1, %rd5;
  add.s64 %rd4, %rd2, %rd5;
  ld.global.f32 %f1, [%rd3];
  )" + body +
         "\n  " + store + "\n  ret;\n}\n";
}

inline std::string Added() { return ElementKernel("add.rn.f32 %f3, %f1, %f2;"); }
inline std::string AddedSwapped() { return ElementKernel("add.rn.f32 %f3, %f2, %f1;"); }
inline std::string Multiplied() { return ElementKernel("mul.rn.f32 %f3, %f1, %f2;"); }
inline std::string Raced() {  // every thread adds to one address
  return ElementKernel("mov.f32 %f3, %f1;", "red.global.add.f32 [%rd2], %f3;");
}
inline std::string Unmodelled() { return ElementKernel("frobnicate.f32 %f3, %f1;"); }
inline std::string Misspelt() { return ElementKernel("add.rn.f32 %f3 %f1, %f2;"); }

// o[lane] = op(x[lane], y[lane]) of one wave, for gfx942; `op` reads v2 and v3 and writes v2.
inline std::string AmdgcnElementKernel(const std::string& op) {
  std::string text = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n\t.text\nk:\n\ts_load_dwordx4 s[4:7], s[0:1], 0x0\n"
                     "\ts_load_dwordx2 s[8:9], s[0:1], 0x10\n\tv_lshlrev_b32_e32 v1, 2, v0\n\ts_waitcnt lgkmcnt(0)\n"
                     "\tglobal_load_dword v2, v1, s[4:5]\n\tglobal_load_dword v3, v1, s[6:7]\n\ts_waitcnt vmcnt(0)\n\t";
  text += op + "\n\tglobal_store_dword v1, v2, s[8:9]\n\ts_endpgm\n\t.section .rodata,\"a\",@progbits\n\t.amdhsa_kernel k\n"
          "\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t\t.amdhsa_float_denorm_mode_32 3\n\t.end_amdhsa_kernel\n\t.amdgpu_metadata\n"
          "---\namdhsa.kernels:\n  - .args:\n";
  for (const char* offset : {"0", "8", "16"}) text += std::string("      - .offset: ") + offset + "\n        .size: 8\n        .value_kind: global_buffer\n";
  return text + "    .max_flat_workgroup_size: 64\n    .name: k\n    .wavefront_size: 64\n...\n\t.end_amdgpu_metadata\n";
}

}  // namespace samebits::test

#endif  // SAMEBITS_TESTS_INTEGRATION_CLI_KERNELS_H_
