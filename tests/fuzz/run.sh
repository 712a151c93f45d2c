#!/usr/bin/env bash
# Builds the fuzz targets with ASan and UBSan and runs each for some time from seeds of the corpus; stops at the first
# input that crashes, hangs or leaks, and says where it is.
#
#   tests/fuzz/run.sh [SECONDS (600)] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/packages.sh
seconds=${1:-600}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(ptx_parser_fuzz executor_fuzz gemm_desc_fuzz amdgcn_fuzz prompt_file_fuzz model_file_fuzz disassembly_fuzz)
work=build/fuzz

step "Build"
cmake --preset asan
cmake --build --preset asan -j "$(build_jobs)" --target "${targets[@]}"

step "Seeds"
python3 tests/corpus/unpack.py $work/kernels
python3 tests/fuzz/seeds.py $work/kernels $work/seeds

# An evaluated kernel may take its limits of time in each of the checks that the target makes of one input.
for target in "${targets[@]}"; do
  step "$target, $seconds s (inputs found: $work/found/$target)"
  mkdir -p "$work/found/$target" "$work/seeds/$target" "$work/failures"
  dict=tests/fuzz/ptx.dict
  [ "$target" = gemm_desc_fuzz ] && dict=tests/fuzz/gemm_desc.dict
  [ "$target" = amdgcn_fuzz ] && dict=tests/fuzz/amdgcn.dict
  [ "$target" = prompt_file_fuzz ] && dict=tests/fuzz/prompt_file.dict
  more=()
  [ "$target" = ptx_parser_fuzz ] && more=(tests/fuzz/ptx_corpus)
  [ "$target" = prompt_file_fuzz ] && more=(tests/fuzz/prompt_file_corpus)
  [ "$target" = model_file_fuzz ] && more=(tests/fuzz/model_file_corpus)
  [ "$target" = disassembly_fuzz ] && more=(tests/unit/core/heal/instruction_mix/fixtures)
  UBSAN_OPTIONS=print_stacktrace=1 "build/asan/tests/fuzz/$target" -dict="$dict" -max_len=8192 \
    -timeout=120 -rss_limit_mb=4096 -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 -print_funcs=0 \
    -artifact_prefix="$work/failures/$target-" "$work/found/$target" "$work/seeds/$target" "${more[@]}" ||
    fail "$target failed; its input is in $work/failures"
done
