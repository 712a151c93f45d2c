// Kernels in OpenCL C, compiled without its library: clang -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

int lane() { return __builtin_amdgcn_workitem_id_x(); }
int block() { return __builtin_amdgcn_workgroup_id_x(); }
void sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// As sum_lds_down of kernels.hip.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void cl_sum_lds_down(global const float* x, global float* o) {
  local float s[64];
  float v = 0;
  for (int i = 0; i < 4; ++i) v += x[block() * 256 + i * 64 + lane()];
  s[lane()] = v;
  for (int d = 32; d > 0; d /= 2) {
    sync();
    if (lane() < d) s[lane()] += s[lane() + d];
  }
  if (lane() == 0) o[block()] = s[0];
}

// As axpy_4.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void cl_axpy_4(global const float4* x, global const float4* y, global float4* o) {
  const int i = block() * 64 + lane();
  o[i] = __builtin_elementwise_fma((float4)1.5f, x[i], y[i]);
}

// As half_scale.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void cl_half_scale(global const half2* x, global half2* o) {
  const int i = block() * 64 + lane();
  o[i] = x[i] * (half2)1.5h + (half2)0.25h;
}

// As gemm_f32_fma: a dot product a lane, eight elements at a time.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void cl_gemm_f32_fma(global const float* a, global const float* b, global float* o) {
  const int i = __builtin_amdgcn_workgroup_id_y(), j = lane();
  float c = 0;
  for (int k = 0; k < 64; k += 8)
    for (int n = 0; n < 8; ++n) c = __builtin_fmaf(a[i * 64 + k + n], b[j * 64 + k + n], c);
  o[i * 64 + j] = c;
}

// As transpose_global.
__attribute__((reqd_work_group_size(64, 4, 1)))
kernel void cl_transpose(global const float* x, global float* o) {
  const int j = lane(), i = __builtin_amdgcn_workitem_id_y() + block() * 4;
  o[j * 64 + i] = x[i * 64 + j];
}
