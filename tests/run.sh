#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests, on Debian 12 or Ubuntu 24.04 and later. Safe to run
# again: only what changed is built.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/packages.sh

usage() {
  cat <<'TEXT'
Usage: tests/run.sh [--quick] [--preset NAME] [--no-install] [--no-python] [--jobs N] [-- CTEST-OPTIONS]

  --quick          leave out tests labelled slow, and the Python package's
  --preset NAME    build preset: release (default), dev, asan, tsan (see CMakePresets.json)
  --no-install     install nothing
  --no-python      leave out the Python package's tests (they install packages from PyPI into build/python-env)
  --jobs N         threads of build and tests (default: one per core, fewer where memory is short)
TEXT
}

quick=no preset=release install=yes python=yes jobs=
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) quick=yes python=no ;;
    --preset) preset=${2:?--preset needs a name}; shift ;;
    --no-install) install=no ;;
    --no-python) python=no ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    -h|--help) usage; exit 0 ;;
    --) shift; break ;;
    *) usage >&2; fail "no option $1" ;;
  esac
  shift
done
jobs=${jobs:-$(build_jobs)}

# What the tests of the Python package need, whose generated modules need a newer grpcio-tools than Debian's, and the
# linters of deploy/.
python_environment() {
  local env=build/python-env
  "$env/bin/python" -c 'import google.rpc, grpc_tools, numpy, pytest, triton, kubernetes_validate' 2>/dev/null && return
  [ "$install" = yes ] || fail "$env is not there and --no-install forbids to make it; add --no-python"
  python3 -m venv "$env"
  "$env/bin/pip" install -q --disable-pip-version-check -r tests/integration/python/requirements.txt \
      -r tests/deploy/requirements.txt ||
    fail "PyPI cannot be reached; --no-python leaves the Python package's tests out"
}

step "1/4 Packages"
packages=("${PACKAGES_BUILD[@]}" "${PACKAGES_TEST[@]}")
case "$preset" in asan|clang) packages+=(clang) ;; esac
if [ "$install" = yes ]; then
  install_packages "${packages[@]}"
  mapfile -t packages < <(known_packages "${PACKAGES_TEST_OPTIONAL[@]}")
  install_packages "${packages[@]}"
else
  note "left as they are"
fi

step "2/4 Build (build/$preset, $jobs threads; minutes the first time)"
cmake --preset "$preset" -DSAMEBITS_BUILD_TESTS=ON
cmake --build --preset "$preset" -j "$jobs"

step "3/4 Environment of the Python package's tests (build/python-env)"
if [ "$python" = yes ]; then python_environment; export SAMEBITS_PYTHON_TESTS=1; else note "left out"; fi  # not skipped

step "4/4 Tests"
selection=()
[ "$quick" = yes ] && selection=(-LE slow)
[ "$python" = no ] && selection+=(-E '^python_package$')
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "${selection[@]}" "$@"
