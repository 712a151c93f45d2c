"""Kernels with their configurations and tensors for run_tuning.py. Kernels are the corpus's own."""
import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "corpus" / "src"))

import torch
import triton

from triton_kernels import attention, gemm, norm, reduce


def product(warps, stages, **axes):
    names = list(axes)
    return [triton.Config(dict(zip(names, values)), num_warps=w, num_stages=s)
            for values in itertools.product(*axes.values()) for w in warps for s in stages]


def random(shape, dtype, seed):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32).to(dtype)


class Case:
    """One kernel to tune: `arguments(seed)` gives its named arguments, `output` names the tensor that is compared."""

    def __init__(self, name, kernel, configs, grid, arguments, output, fixed=None):
        self.name, self.kernel, self.configs, self.grid = name, kernel, configs, grid
        self.arguments, self.output, self.fixed = arguments, output, fixed or {}


def row_sum():
    rows, n = 4096, 16384
    return Case("sum", reduce.row_mean_vector, product((1, 2, 4, 8, 16), (1, 2, 3), BLOCK=[512, 1024, 2048, 4096]),
                lambda m: (rows,), lambda seed: dict(x=random((rows, n), torch.float32, seed), o=torch.empty(rows, device="cuda"), n=n), "o")


def softmax():
    rows, n = 4096, 8192
    return Case("softmax", norm.softmax_online, product((1, 2, 4, 8, 16), (1, 2, 3), BLOCK=[512, 1024, 2048, 8192]),
                lambda m: (rows,), lambda seed: dict(x=random((rows, n), torch.float16, seed), o=torch.empty((rows, n), device="cuda", dtype=torch.float16), n=n), "o")


def layer_norm():
    rows, n = 4096, 8192
    return Case("layer norm", norm.layer_norm_loop, product((1, 2, 4, 8, 16), (1, 2, 3), BLOCK=[512, 1024, 2048, 8192]),
                lambda m: (rows,), lambda seed: dict(
                    x=random((rows, n), torch.float16, seed), w=random((n,), torch.float16, seed + 100), b=random((n,), torch.float16, seed + 200),
                    o=torch.empty((rows, n), device="cuda", dtype=torch.float16), n=n, eps=1e-5), "o")


def _matrices(m, n, k, dtype, seed):
    return dict(a=random((m, k), dtype, seed), b=random((k, n), dtype, seed + 100))


def matmul():
    size = 2048
    configs = product((4, 8), (3, 4), BM=[64, 128], BN=[64, 128, 256], BK=[32, 64, 128], GROUP=[8])
    return Case("GEMM", gemm.matmul, configs, lambda m: (triton.cdiv(size, m["BM"]) * triton.cdiv(size, m["BN"]),),
                lambda seed: dict(_matrices(size, size, size, torch.float16, seed), c=torch.empty((size, size), device="cuda", dtype=torch.float16),
                                  M=size, N=size, K=size, sa=size, sb=size), "c", dict(PREC="ieee", TAIL=False))


def split_matmul():
    m, n, k = 256, 512, 8192
    configs = product((4, 8), (3, 4), BM=[64, 128], BN=[64, 128], BK=[64, 128], SPLIT=[4, 8])
    return Case("split-K GEMM", gemm.matmul_split, configs, lambda c: (m // c["BM"], n // c["BN"], c["SPLIT"]),
                lambda seed: dict(_matrices(m, n, k, torch.bfloat16, seed), c=torch.zeros((8, m, n), device="cuda"), M=m, N=n, K=k), "c")


def epilogue_matmul():
    size = 2048
    configs = product((4, 8), (3, 4), BM=[64, 128], BN=[64, 128], BK=[32, 64, 128]) + product((4, 8), (2,), BM=[64, 128], BN=[64, 128], BK=[32, 64])
    return Case("fused epilogue", gemm.matmul_epilogue, configs, lambda m: (size // m["BM"], size // m["BN"]),
                lambda seed: dict(_matrices(size, size, size, torch.bfloat16, seed), w=random((size,), torch.bfloat16, seed + 200),
                                  r=random((size, size), torch.bfloat16, seed + 300), c=torch.empty((size, size), device="cuda", dtype=torch.bfloat16),
                                  M=size, N=size, K=size), "c", dict(ACT=2))


def flash_attention():
    heads, t, d = 16, 2048, 64
    configs = product((4, 8), (1, 2, 3), BM=[32, 64, 128], BN=[16, 32, 64, 128])
    shape = (heads, t, d)
    return Case("attention", attention.attention, configs, lambda m: (t // m["BM"], heads),
                lambda seed: dict(q=random(shape, torch.float16, seed), k=random(shape, torch.float16, seed + 100), v=random(shape, torch.float16, seed + 200),
                                  o=torch.empty(shape, device="cuda", dtype=torch.float16), scale=0.18033688, T=t), "o", dict(D=d, CAUSAL=False))


def matvec():
    rows, n = 8192, 8192
    configs = product((1, 2, 4, 8), (1, 3), BM=[1, 2, 4], BK=[256, 512, 1024], SPREAD=[True])
    return Case("GEMV", gemm.matvec, configs, lambda m: (rows // m["BM"],),
                lambda seed: dict(a=random((rows, n), torch.bfloat16, seed), x=random((n,), torch.bfloat16, seed + 100),
                                  o=torch.empty(rows, device="cuda"), rows=rows, n=n), "o")


CASES = (row_sum, softmax, layer_norm, matmul, split_matmul, epilogue_matmul, flash_attention, matvec)
