# shellcheck shell=bash disable=SC2034
# Packages and build steps shared by deploy/quickstart.sh and tests/run.sh. Sourced, not run.

PACKAGES_BUILD=(g++ cmake ninja-build ccache libabsl-dev libgrpc++-dev libprotobuf-dev protobuf-compiler
                protobuf-compiler-grpc libsqlite3-dev prometheus-cpp-dev libcli11-dev nlohmann-json3-dev libssl-dev
                zlib1g-dev liblz4-dev libzstd-dev libgoogle-perftools-dev)
PACKAGES_TEST=(openssl libgtest-dev libgmock-dev libbenchmark-dev python3 python3-numpy python3-venv
               python3-torch chromium prometheus)
# Tests that need these are skipped without them: not every release has them.
PACKAGES_TEST_OPTIONAL=(llvm-19 clang-19 lld-19 libamd-comgr2)

step() { printf '\n==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
fail() { printf '\nerror: %s\n' "$*" >&2; exit 1; }

is_installed() { [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" = "install ok installed" ]; }

# The releases whose packages are new enough (CMake 3.25, gRPC 1.51).
check_system() {
  local id='' version=''
  [ -r /etc/os-release ] && { id=$(. /etc/os-release; echo "${ID:-}"); version=$(. /etc/os-release; echo "${VERSION_ID:-}"); }
  command -v apt-get >/dev/null || {
    note "This is not Debian or Ubuntu: nothing is installed. Needed are the equivalents of: ${PACKAGES_BUILD[*]}"
    return 1
  }
  case "$id" in
    debian) [ -z "$version" ] || [ "${version%%.*}" -ge 12 ] || fail "Debian $version is too old; 12 or later is needed" ;;
    ubuntu) [ "${version%%.*}" -ge 24 ] || fail "Ubuntu $version is too old (its CMake and gRPC are); 24.04 or later is needed" ;;
  esac
}

# Those of the given packages that this system's archive has, one a line.
known_packages() {
  local package
  command -v apt-cache >/dev/null || return 0
  for package in "$@"; do apt-cache show "$package" >/dev/null 2>&1 && echo "$package"; done
  return 0
}

# Installs those of the given packages that are missing.
install_packages() {
  check_system || return 0
  local missing=() package
  for package in "$@"; do is_installed "$package" || missing+=("$package"); done
  if [ ${#missing[@]} -eq 0 ]; then
    note "all packages are there"
    return
  fi
  note "installing: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "these packages are missing: ${missing[*]}; install them as root, then run this again"
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# Threads to build with: one per core, and 1.5 GB of memory for each.
build_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo 2>/dev/null || echo "$cores")
  [ "${memory:-0}" -ge 1 ] || memory=1
  echo $((memory < cores ? memory : cores))
}
