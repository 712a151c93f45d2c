"""Configurations of the CUDA kernels: source file, entry, macros, flags, target, launch."""
from space import Buffer, Case, Group, grid3, product

ROWS = 48
N = 1536
PLAIN = ("sm_90", "")


def _rows(source, name, macros=None, targets=(PLAIN,), threads=(128,), grid=None, block=None, shared=0):
    """One case per block size, macro set and (target, flags)."""
    cases = []
    for macro in macros or ({},):
        for count in threads:
            for arch, flags in targets:
                defines = {"THREADS": count, **macro} if block is None else dict(macro)
                cases.append(Case((source, name), grid or grid3(ROWS), defines, {"n": ("i32", N)},
                                  {"arch": arch, "flags": flags}, block or (count, 1, 1), shared))
    return cases


DEBUG = (PLAIN, ("sm_90", "-lineinfo"), ("sm_90", "-G"))
OLD = (PLAIN, ("sm_80", ""))
MATH = (PLAIN, ("sm_90", "-use_fast_math"), ("sm_90", "-fmad=false"))


def _row_cases():
    unroll = tuple({"UNROLL": u} for u in (1, 4))
    c = []
    c += _rows("folds", "shared_halving", unroll, threads=(64, 128, 256)) + _rows("folds", "shared_halving", None, DEBUG[1:])
    c += _rows("folds", "shared_doubling", None, OLD, threads=(64, 128, 256))
    c += _rows("folds", "shared_serial", None, threads=(64, 128))
    c += _rows("folds", "shuffle_xor", unroll, OLD, threads=(64, 128, 256))
    c += _rows("folds", "shuffle_xor_ascending", None, threads=(64, 128, 256))
    c += _rows("folds", "shuffle_down", None, OLD, threads=(64, 128, 256))
    c += _rows("folds", "shuffle_index", None, threads=(64, 128)) + _rows("folds", "shuffle_index", None, DEBUG[1:])
    c += _rows("folds", "shuffle_up_scan", None, threads=(64, 256)) + _rows("folds", "shuffle_up_scan", None, DEBUG[2:])
    c += _rows("folds", "vector_loads", unroll, threads=(64, 128))
    c += _rows("folds", "compensated", None, MATH, threads=(64, 128))
    c += _rows("folds", "double_sum", None, threads=(64, 128))
    c += _rows("folds", "dot_product", unroll, MATH, threads=(128, 256))
    c += [Case(("folds", "warp_rows"), grid3(ROWS // rows), {}, {"n": ("i32", N)}, {"arch": "sm_90", "flags": ""},
               (32, rows, 1)) for rows in (1, 2, 4, 8)]
    c += _rows("warp", "ballot_count", None, OLD, threads=(64, 128))
    c += _rows("warp", "any_all", None, threads=(64, 128))
    c += _rows("warp", "integer_redux", None, OLD, threads=(64, 128))
    c += _rows("warp", "argmax_shuffle", None, threads=(64, 128, 256))
    c += _rows("warp", "barrier_count", None, threads=(64, 128))
    c += _rows("warp", "named_barrier", None, threads=(64, 128))
    c += _rows("warp", "segmented_shuffle", None, threads=(64, 128))
    c += _rows("formats", "half2_fold", unroll, OLD, threads=(64, 128))
    c += _rows("formats", "half_polynomial", None, MATH, threads=(64, 128))
    c += _rows("formats", "bfloat_dot", None, OLD, threads=(64, 128))
    c += _rows("formats", "fp8_round_trip", None, threads=(64, 128))
    modes = tuple({"MODE": m} for m in range(4))
    c += _rows("formats", "divisions", modes, MATH[:2], threads=(128,))
    c += _rows("formats", "roots", modes, MATH[:2], threads=(128,))
    c += _rows("formats", "directed_rounding", modes, OLD + MATH[2:], threads=(64,))
    c += _rows("formats", "exponentials", None, MATH, threads=(64, 128))
    c += _rows("formats", "error_function", None, MATH, threads=(128,))
    c += _rows("formats", "hyperbolic", None, MATH, threads=(128,))
    c += _rows("formats", "packed_halves", None, threads=(64,))
    c += _rows("integer", "bit_mixer", None, DEBUG, threads=(64, 128))
    c += _rows("integer", "byte_dot", None, threads=(64, 128))
    c += _rows("integer", "histogram_shared", None, threads=(64, 128))
    c += _rows("integer", "wide_index", None, threads=(64, 128))
    c += _rows("integer", "division_index", None, OLD, threads=(64, 128))
    c += _rows("integer", "table_lookup", None, threads=(64, 128))
    c += _rows("integer", "saturating", None, threads=(64, 128))
    c += _rows("control", "called_function", None, DEBUG, threads=(64, 128))
    c += _rows("control", "called_with_struct", None, DEBUG[:2], threads=(64,))
    c += _rows("control", "local_window", None, DEBUG, threads=(64, 128))
    c += _rows("control", "sorted_five", None, threads=(64, 128))
    c += _rows("control", "lane_branches", None, threads=(64, 128))
    c += _rows("control", "row_switch", None, DEBUG[:2], threads=(64, 128))
    c += _rows("control", "data_branches", None, MATH[:2], threads=(64, 128))
    c += _rows("control", "newton_steps", None, threads=(64,))
    c += [Case(("control", "grid_stride"), grid3(g), {"THREADS": t}, {"n": ("i32", N)}, {"arch": "sm_90", "flags": f},
               (t, 1, 1)) for g in (24, 36) for t in (64, 128) for f in ("", "-fmad=false")]
    c += _rows("staging", "async_ring", tuple({"STAGES": s} for s in (2, 3, 4)), OLD, threads=(64, 96))
    c += [Case(("staging", "tile_transpose"), grid3(N // 16, ROWS // 16), {}, {"n": ("i32", N)},
               {"arch": a, "flags": ""}, (16, 16, 1)) for a in ("sm_80", "sm_90")]
    c += _rows("staging", "stencil_halo", None, MATH, threads=(64, 128))
    c += [Case(("staging", "tiled_product"), grid3(3, 3), {}, {"n": ("i32", N)}, {"arch": "sm_90", "flags": f},
               (16, 16, 1), 2 * 16 * 17 * 4) for f in ("", "-lineinfo", "-G")]
    c += _rows("staging", "block_softmax", None, MATH[:2], threads=(64, 128, 256))
    return c


def _matrix_cases():
    def case(name, arch="sm_90", columns=8, **macros):
        return Case(("matrix", name), grid3(64 // columns, 4), macros, {"n": ("i32", 64)}, {"arch": arch, "flags": ""},
                    (32, 1, 1))
    c = [case("mma_ldmatrix", arch, UNROLL=u) for u in (1, 2, 8) for arch in ("sm_80", "sm_90")]
    c += [case("mma_direct", SPLIT=s) for s in (1, 2, 4)]
    c += [case("mma_async"), case("mma_async", "sm_80"), case("mma_k8"), case("wmma_tile", columns=16)]
    return c


def groups():
    rows = {"x": Buffer("f32", ROWS * N), "y": Buffer("f32", ROWS * N), "o": Buffer("f32", ROWS * N, "out")}
    summed = {**rows, "o": Buffer("f32", 16, "inout")}
    tiles = {"a": Buffer("f16", 64 * 128), "b": Buffer("f16", 64 * 128), "c": Buffer("f32", 64 * 64, "out")}
    return [
        Group("cuda_rows", "cuda", rows, _row_cases()),
        Group("cuda_float_atomics", "nondeterministic", summed, _rows("control", "float_atomics", threads=(64, 256))),
        Group("cuda_integer_atomics", "cuda", summed, _rows("control", "integer_atomics", threads=(64, 256))),
        Group("cuda_matrix", "cuda", tiles, _matrix_cases(), ("c",)),
    ]
