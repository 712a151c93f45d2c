"""Buffers of kernels whose manifest does not describe them (a corpus with TorchInductor's and our own older kernels).

Types and sizes come from a group's name: our kernels' are listed, TorchInductor's follow from its rules. Sizes may be
above what a kernel touches, never below; a write outside is a fault of the run. What is written is an inout buffer, so
that atomic additions start from values of the distribution. A group of no known kind gets large raw inout buffers.
"""
import re

FALLBACK_ELEMENTS = 4 << 20
ROW_SUM, TILE, NORM, MATRIX, PANEL = 96 * 4096, 128 * 1024, 64 * 2048, 256 * 256, 256 * 1024
MOST_REDUCED = 8192  # results of a reduction

KNOWN = (
    (r"sum_rows_.*_f32(_256)?|max_rows_f32", {"x": ("f32", ROW_SUM), "o": ("f32", 96)}),
    (r"sum_int32", {"x": ("i32", ROW_SUM), "o": ("i32", 96)}),
    (r"sum_tile_axis1_f32", {"x": ("f32", TILE), "o": ("f32", 128)}),
    (r"(?:softmax_once|layernorm_fwd|rmsnorm_fwd)_(f16|f32)",
     {"x": (None, NORM), "w": ("f32", 2048), "b": ("f32", 2048), "o": (None, NORM)}),
    (r"cumsum_rows_f32", {"x": ("f32", 64 * 1024), "o": ("f32", 64 * 1024)}),
    (r"axpy_gelu_f32", {"x": ("f32", MATRIX), "y": ("f32", MATRIX), "o": ("f32", MATRIX)}),
    (r"gemm_f16_.*", {"a": ("f16", PANEL), "b": ("f16", PANEL), "c": ("f32", MATRIX)}),
    (r"gemm_tf32", {"a": ("f32", 256 * 512), "b": ("f32", 256 * 512), "c": ("f32", MATRIX)}),
    (r"gemm_fp8", {"a": ("e4m3", PANEL), "b": ("e4m3", PANEL), "c": ("f32", MATRIX)}),
    (r"gemm_bias_act_f16", {"a": ("f16", PANEL), "b": ("f16", PANEL), "bias": ("f16", 512), "c": ("f32", MATRIX)}),
    (r"gemm_splitk_ws_f16", {"a": ("f16", PANEL), "b": ("f16", PANEL), "ws": ("f32", 8 * MATRIX)}),
    (r"splitk_merge_f32", {"ws": ("f32", 8 * MATRIX), "c": ("f32", MATRIX)}),
    (r"gemv_f16", {"a": ("f16", 128 * 2048), "x": ("f16", 2048), "o": ("f32", 128)}),
    (r"flash_fwd_f16", {name: ("f16", 2 * 512 * 64) for name in "qkvo"}),
    (r"atomic_colsum_f32", {"x": ("f32", 4096 * 256), "o": ("f32", 256)}),
    (r"rows|elementwise_mul_add|exp", {name: ("f32", 64 * 4096) for name in "xyo"}),
)
INDUCTOR = r"\w+?_(float16|bfloat16|float32)_(\d+)x(\d+)__triton_\w+"
INDUCTOR_TYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}
# Inputs that an earlier kernel of the same function wrote in f32: partial sums, and the reciprocal root of a row.
INDUCTOR_PARTIAL = {"in_ptr0": r"_(?:mul_sum|sum|pow_sub)_1$", "in_ptr2": r"_mul_sum_0$", "in_ptr3": r"_pow_sum_2$"}
INDUCTOR_REDUCED = r"^(?:logsumexp|mse|prod_small|sum_last|sum_first|mean_var)_|_mul_sum_\d$"


def names_of(row):
    return [arg["ptr"] for arg in row["args"] if "ptr" in arg]


def _inductor(row, dtype, rows, columns):
    types = {}
    for name in names_of(row):
        if not name.startswith("in_ptr"):
            reduced = name.startswith("in_out_ptr") or re.search(INDUCTOR_REDUCED, row["group"])
            types[name] = ("f32", MOST_REDUCED) if reduced else (dtype, rows * columns)
        elif re.search(INDUCTOR_PARTIAL.get(name, r"$."), row["group"]):
            types[name] = ("f32", MOST_REDUCED)
        else:
            types[name] = (dtype, rows * columns)
    return types


def _types(row):
    for pattern, types in KNOWN:
        found = re.fullmatch(pattern, row["group"])
        if found and set(names_of(row)) <= types.keys():
            return {name: (types[name][0] or found[1], types[name][1]) for name in names_of(row)}
    found = re.fullmatch(INDUCTOR, row["group"])
    if found and row["set"] == "inductor":
        return _inductor(row, INDUCTOR_TYPES[found[1]], int(found[2]), int(found[3]))
    return {name: ("raw", FALLBACK_ELEMENTS) for name in names_of(row)}


def buffers_of(row):
    """The row's "buffers", its own where it has any."""
    if "buffers" in row:
        return row["buffers"]
    outputs = row.get("outputs") or [name for name in names_of(row) if not name.startswith("in_ptr")]
    return {name: {"dtype": dtype, "elements": elements, "role": "inout" if name in outputs else "in"}
            for name, (dtype, elements) in _types(row).items()}
