"""What scripts need that start a server of the built programs: a free port, and a kernel for it."""
import socket

ADD_KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 4 x, .param .u64 .ptr .global .align 4 o)
{{
  .reg .b32 %r<3>; .reg .f32 %f<4>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [o];
  mov.u32 %r1, %tid.x;
  mul.wide.s32 %rd5, %r1, 4;
  add.s64 %rd3, %rd1, %rd5;
  add.s64 %rd4, %rd2, %rd5;
  ld.global.f32 %f1, [%rd3];
  mov.f32 %f2, 0f{constant:08x};
  add.rn.f32 %f3, {operands};
  st.global.f32 [%rd4], %f3;
  ret;
}}
"""


def add_kernel(operands="%f1, %f2", constant=0x3F800001):
    """PTX of entry `k`, one block: o[i] = x[i] + constant (a float's bits), the operands in the order given."""
    return ADD_KERNEL.format(constant=constant, operands=operands)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
