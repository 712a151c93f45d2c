#!/usr/bin/env bash
# Builds the Python package as a wheel, installs it in an environment of its own and runs its tests there:
#   run.sh ENVIRONMENT BUILD
# ENVIRONMENT: a virtual environment that has the packages of requirements.txt; exit status 77 where it is not there, 1
# where SAMEBITS_PYTHON_TESTS is set.
# BUILD: a build of the repository with libsamebits.so and the test server.
set -euo pipefail
environment=$(realpath -s "$1") build=$(realpath "$2")
root=$(cd "$(dirname "$0")/../../.." && pwd)
"$environment/bin/python" -c 'import google.rpc, grpc_tools, numpy, pytest, triton' 2>/dev/null || {
  echo "no environment $environment"
  [ -z "${SAMEBITS_PYTHON_TESTS:-}" ] && exit 77
  exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/client"
cp -r "$root/client/python" "$work/client/python"
cp -r "$root/proto" "$work/proto"
SAMEBITS_NATIVE_LIBRARY="$build/lib/libsamebits.so" "$environment/bin/python" -m pip wheel -q --disable-pip-version-check \
  --no-deps --no-build-isolation --no-index -w "$work/wheels" "$work/client/python"

"$environment/bin/python" -m venv --without-pip "$work/venv"
site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/dependencies.pth"
"$environment/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-index --target "$site" "$work"/wheels/samebits-*.whl

cd "$work"
export SAMEBITS_TEST_SERVER="$build/tests/integration/integration_server" SAMEBITS_TEST_PROGRAM="$build/bin/samebits"
export SAMEBITS_CACHE="$work/cache"
export TRITON_CACHE_DIR="$work/triton" TRITON_DEFAULT_FP_FUSION=1 SAMEBITS_README="$root/client/python/README.md"
exec "$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$root/tests/integration/python"
