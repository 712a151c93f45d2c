#!/usr/bin/env bash
# Builds the program with g++ and with clang++ and compares the signatures of the corpus, and of the manifests named,
# between the two builds, two runs, 1 and 8 threads, and after renaming every register and label.
#
#   tests/reproducibility/run.sh [MANIFEST...]
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
. "$repository/deploy/packages.sh"
manifests=()
for manifest in "$@"; do manifests+=("$(realpath "$manifest")"); done
cd "$repository"

step "1/2 Two builds"
for preset in release clang; do
  cmake --preset "$preset" -DSAMEBITS_BUILD_TESTS=ON
  cmake --build --preset "$preset" -j "$(build_jobs)" --target samebits samebits_rename
done

step "2/2 Signatures"
python3 tests/reproducibility/compare.py --program build/release/bin/samebits --program build/clang/bin/samebits \
  --renamer build/release/tests/reproducibility/samebits_rename \
  build/release/tests/corpus/kernels/manifest.jsonl "${manifests[@]}"
