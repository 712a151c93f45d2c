"""How the kernels of this folder are launched, what they compute, and which of them add in the same order.

Each entry: group (kernels of one group compute the same function of the same inputs), order (equal: the same signature;
different within a group: another; None: no claim), launch, and a reference in NumPy of the group's output in double
precision or exact integers.
"""
import numpy as np

ROWS = 6  # blocks of most kernels


def f32(elements, role="in", **more):
    return {"dtype": "f32", "elements": elements, "role": role, **more}


def rows_of(n):
    return lambda v: v["x"].reshape(-1, n)


def softmax(v):
    x = rows_of(256)(v)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).ravel()


def layer_norm(v):
    x = rows_of(256)(v)
    d = x - x.mean(axis=1, keepdims=True)
    return (d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * v["w"]).ravel()


def gemm(v):
    return (v["a"].reshape(64, 64) @ v["b"].reshape(64, 64).T).ravel()


def blocked(m):
    """Of blocked matrix instructions: register r of lane l holds one element of the product of its block's rows."""
    def product(v):
        a, b = v["a"].reshape(64 // m, m, 16), v["b"].reshape(64 // m, m, 16)
        d = np.einsum("nik,njk->nij", a, b)
        out = np.empty((m * m * (64 // m) // 64, 64))
        for block in range(64 // m):
            for i in range(m):
                for j in range(m):
                    lane = 4 * block + j if m == 4 else 16 * (i // 4) + j if m == 16 else 32 * (i // 4 % 2) + j
                    register = i if m == 4 else 4 * block + i % 4 if m == 16 else 16 * block + i // 8 * 4 + i % 4
                    out[register, lane] = d[block, i, j]
        return out.ravel()
    return product


# group: (buffers, reference); the output buffer is o.
VECTOR = {"x": f32(ROWS * 64), "y": f32(ROWS * 64), "o": f32(ROWS * 64, "out")}
WIDE = {"x": f32(ROWS * 256), "y": f32(ROWS * 256), "o": f32(ROWS * 256, "out")}
GROUPS = {
    "row_sum": ({"x": f32(ROWS * 256), "o": f32(ROWS, "out")}, lambda v: rows_of(256)(v).sum(axis=1)),
    "block_sum": ({"x": f32(ROWS * 1024), "o": f32(ROWS, "out")}, lambda v: rows_of(1024)(v).sum(axis=1)),
    "row_max": ({"x": f32(ROWS * 256), "o": f32(ROWS, "out")}, lambda v: rows_of(256)(v).max(axis=1)),
    "sum_i32": ({"x": {"dtype": "i32", "elements": ROWS * 64, "role": "in", "low": -1000, "high": 1000},
                 "o": {"dtype": "i32", "elements": ROWS, "role": "out"}}, lambda v: rows_of(64)(v).sum(axis=1)),
    "softmax": ({"x": f32(ROWS * 256), "o": f32(ROWS * 256, "out")}, softmax),
    "layer_norm": ({"x": f32(ROWS * 256), "w": f32(256), "o": f32(ROWS * 256, "out")}, layer_norm),
    "scan": ({"x": f32(ROWS * 64), "o": f32(ROWS * 64, "out")}, lambda v: rows_of(64)(v).cumsum(axis=1).ravel()),
    "axpy": (WIDE, lambda v: 1.5 * v["x"] + v["y"]),
    "half_scale": ({"x": {"dtype": "f16", "elements": ROWS * 256, "role": "in"}, "o": {"dtype": "f16", "elements": ROWS * 256, "role": "out"}},
                   lambda v: 1.5 * v["x"] + 0.25),
    "bf16_add": ({"x": {"dtype": "bf16", "elements": ROWS * 64, "role": "in"}, "y": {"dtype": "bf16", "elements": ROWS * 64, "role": "in"},
                  "o": f32(ROWS * 64, "out")}, lambda v: v["x"] + v["y"]),
    "divide": ({"x": f32(ROWS * 128), "y": f32(ROWS * 128), "o": f32(ROWS * 128, "out")}, lambda v: v["x"] / v["y"]),
    "f64": ({"x": {"dtype": "f64", "elements": ROWS * 512, "role": "in"}, "o": {"dtype": "f64", "elements": ROWS * 64, "role": "out"}},
            lambda v: (v["x"].reshape(-1, 8) ** 2).sum(axis=1)),
    "clamp": ({"x": f32(ROWS * 64), "o": f32(ROWS * 64, "out")}, lambda v: np.clip(v["x"], -1, 1)),
    "reverse": ({"x": f32(ROWS * 64), "o": f32(ROWS * 64, "out")}, lambda v: rows_of(64)(v)[:, ::-1].ravel()),
    "transpose": ({"x": f32(64 * 64), "o": f32(64 * 64, "out")}, lambda v: v["x"].reshape(64, 64).T.ravel()),
    "atomic_i32": ({"x": {"dtype": "i32", "elements": ROWS * 64, "role": "in"}, "o": {"dtype": "i32", "elements": 16, "role": "out"}}, None),
    "atomic_f32": ({"x": f32(ROWS * 64), "o": f32(1, "out")}, None),
    "gemm_f32": ({"a": f32(4096), "b": f32(4096), "o": f32(4096, "out")}, gemm),
    "gemm_xf32": ({"a": f32(4096), "b": f32(4096), "o": f32(4096, "out")}, None),
}
for _type in ("f16", "bf16"):
    GROUPS["gemm_" + _type] = ({"a": {"dtype": _type, "elements": 4096, "role": "in"}, "b": {"dtype": _type, "elements": 4096, "role": "in"},
                                "o": f32(4096, "out")}, gemm)
GROUPS["gemm_i8"] = ({"a": {"dtype": "i8", "elements": 4096, "role": "in", "low": -128, "high": 128},
                      "b": {"dtype": "i8", "elements": 4096, "role": "in", "low": -128, "high": 128},
                      "o": {"dtype": "i32", "elements": 4096, "role": "out"}}, gemm)
GROUPS["gemm_fp8"] = ({"a": {"dtype": "e4m3", "elements": 4096, "role": "in"}, "b": {"dtype": "e4m3", "elements": 4096, "role": "in"}, "o": f32(4096, "out")}, None)
for _type in ("f32", "f16", "bf16", "i8"):
    for _m in (4, 16, 32):
        _in = {"dtype": _type, "elements": 1024, "role": "in", **({"low": -128, "high": 128} if _type == "i8" else {})}
        GROUPS[f"blocked_{_type}_{_m}"] = ({"a": _in, "b": _in, "o": {"dtype": "i32" if _type == "i8" else "f32", "elements": _m * 64, "role": "out"}}, blocked(_m))

WAVE = ([64, 1, 1], [ROWS, 1, 1])
QUAD = ([256, 1, 1], [ROWS, 1, 1])
TILE16, TILE32, ONE = ([64, 1, 1], [4, 4, 1]), ([64, 1, 1], [2, 2, 1]), ([64, 1, 1], [1, 1, 1])
# kernel: (group, order, (block, grid), scalars)
KERNELS = {
    "sum_xor_down": ("row_sum", "down", WAVE), "sum_shift_down": ("row_sum", "down", WAVE), "sum_lds_down": ("row_sum", "down", WAVE),
    "cl_sum_lds_down": ("row_sum", "down", WAVE), "sum_xor_up": ("row_sum", "up", WAVE), "sum_dpp_rows": ("row_sum", "up", WAVE),
    "sum_dpp_up": ("row_sum", "up", WAVE), "sum_dpp_down": ("row_sum", "rows down", WAVE), "sum_vector_xor_down": ("row_sum", "neighbours first", WAVE),
    "block_sum_in_order": ("block_sum", "in order", QUAD), "block_sum_in_order_shift": ("block_sum", "in order", QUAD),
    "block_sum_tree": ("block_sum", "tree", QUAD), "block_sum_up": ("block_sum", "lanes up", QUAD), "block_sum_lds": ("block_sum", "waves first", QUAD),
    "block_sum_lds_then_wave": ("block_sum", "waves first", QUAD),
    "max_xor": ("row_max", "any", WAVE), "max_dpp": ("row_max", "any", WAVE),
    "sum_i32_up": ("sum_i32", "any", WAVE), "sum_i32_lds": ("sum_i32", "any", WAVE),
    "softmax_xor": ("softmax", "down", WAVE), "softmax_dpp_max": ("softmax", "down", WAVE), "softmax_up": ("softmax", "up", WAVE),
    "layer_norm_xor": ("layer_norm", "down", WAVE), "layer_norm_up": ("layer_norm", "up", WAVE),
    "scan_bpermute": ("scan", "shifts", WAVE), "scan_lds": ("scan", "shifts", WAVE), "scan_dpp": ("scan", "rows", WAVE),
    "axpy_1": ("axpy", "fused", ([64, 1, 1], [ROWS * 4, 1, 1])), "axpy_2": ("axpy", "fused", ([64, 1, 1], [ROWS * 2, 1, 1])),
    "axpy_4": ("axpy", "fused", WAVE), "cl_axpy_4": ("axpy", "fused", WAVE), "axpy_unfused": ("axpy", "unfused", ([64, 1, 1], [ROWS * 4, 1, 1])),
    "axpy_strided": ("axpy", "fused", ([64, 1, 1], [4, 1, 1]), [{"i32": ROWS * 256}]),
    "half_scale": ("half_scale", "one", ([64, 1, 1], [ROWS * 2, 1, 1])), "half_scale_4": ("half_scale", "one", WAVE),
    "cl_half_scale": ("half_scale", "one", ([64, 1, 1], [ROWS * 2, 1, 1])),
    "bf16_add": ("bf16_add", "one", WAVE), "divide": ("divide", "one", ([64, 1, 1], [ROWS * 2, 1, 1])), "divide_twice": ("divide", "one", WAVE),
    "f64_sum_of_squares": ("f64", "one", WAVE), "clamp_branch": ("clamp", None, WAVE), "clamp_select": ("clamp", None, WAVE),
    "reverse_lds": ("reverse", "one", WAVE), "reverse_global": ("reverse", "one", WAVE),
    "transpose_lds": ("transpose", "one", ([256, 1, 1], [4, 4, 1])), "transpose_global": ("transpose", "one", ([256, 1, 1], [4, 4, 1])),
    "cl_transpose": ("transpose", "one", ([64, 4, 1], [16, 1, 1])),
    "atomic_add_i32": ("atomic_i32", None, WAVE), "atomic_add_f32": ("atomic_f32", None, WAVE),
    "gemm_f32_32x32x2": ("gemm_f32", "chain", TILE32), "gemm_f32_16x16x4": ("gemm_f32", "chain", TILE16), "gemm_f32_fma": ("gemm_f32", "chain", TILE16),
    "cl_gemm_f32_fma": ("gemm_f32", "chain", ([64, 1, 1], [1, 64, 1])), "gemm_f32_split": ("gemm_f32", "two chains", TILE16),
    "gemm_f16_32x32x8": ("gemm_f16", "eights", TILE32), "gemm_f16_16x16x16": ("gemm_f16", "eights", TILE16),
    "gemm_bf16_32x32x8": ("gemm_bf16", "eights", TILE32), "gemm_bf16_16x16x16": ("gemm_bf16", "eights", TILE16),
    "gemm_i8_32x32x16": ("gemm_i8", "any", TILE32), "gemm_i8_16x16x32": ("gemm_i8", "any", TILE16),
    "gemm_fp8_32x32x16": ("gemm_fp8", "k16", TILE32), "gemm_fp8_16x16x32": ("gemm_fp8", "k32", TILE16), "gemm_xf32_16x16x8": ("gemm_xf32", "one", TILE16),
}
for _form, _types in {"32x32x1": ["f32"], "16x16x1": ["f32"], "4x4x1": ["f32"], "32x32x4": ["f16", "i8"], "16x16x4": ["f16", "i8"], "4x4x4": ["f16", "bf16", "i8"]}.items():
    for _type in _types:
        KERNELS[f"blocked_{_type}_{_form}"] = (f"blocked_{_type}_{_form.split('x')[0]}", "one", ONE)

# What is not decided, and how it is said.
EXPECTED_STATUS = {"atomic_add_i32": "UNKNOWN", "atomic_add_f32": "NONDETERMINISTIC", "clamp_branch": "UNKNOWN"}
# Matrix arithmetic that is not established is compared, not evaluated.
NOT_EVALUATED = {"gemm_fp8_32x32x16", "gemm_fp8_16x16x32", "gemm_xf32_16x16x8"}


def rows(text_of):
    """Manifest rows; text_of(kernel) is the text's path."""
    for name, (group, _, (block, grid), *more) in KERNELS.items():
        buffers = GROUPS[group][0]
        pointers = [{"ptr": b} for b in ("a", "b", "x", "y", "w", "o") if b in buffers and not (b == "y" and group in ("clamp",))]
        yield {"id": name, "set": "amdgcn", "family": group, "group": group, "entry": name, "block": block, "grid": grid, "shared": 0,
               "args": pointers + (more[0] if more else []), "outputs": ["o"], "buffers": buffers, "path": text_of(name)}
