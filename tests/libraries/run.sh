#!/usr/bin/env bash
# Kernels of public packages: installs Triton and the packages from PyPI into build/libraries, compiles the kernels that
# kernels.txt names, and asks samebits for their signatures. Needs python3-venv and a built samebits; no GPU and no
# PyTorch.
#
#   tests/libraries/run.sh [PROGRAM (build/release/bin/samebits)]
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
program=$(realpath "${1:-$repository/build/release/bin/samebits}")
cd "$repository"
work=build/libraries
packages=(conch-triton-kernels==1.3 fla-core==0.6.0 flag-gems==5.0.2 liger-kernel==0.8.5 unsloth==2026.10.9)

[ -x "$work/env/bin/python" ] || python3 -m venv "$work/env"
pip=("$work/env/bin/pip" install --quiet --disable-pip-version-check)
"${pip[@]}" triton==3.9.0 setuptools
if [ "$(cat "$work/installed" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$work/site"
  "${pip[@]}" --no-deps --no-compile --target "$work/site" "${packages[@]}"
  echo "${packages[*]}" >"$work/installed"
fi
exec "$work/env/bin/python" -W ignore tests/libraries/check.py --samebits "$program" --site "$work/site" \
  --work "$work/kernels"
