#!/usr/bin/env bash
# Runs the two commands of the README in a fresh Debian root, from a clean clone of HEAD. Needs root, debootstrap and
# the packages' mirror and PyPI. Not part of the test suite: it takes as long as two builds.
#
#   tests/fresh/run_in_debootstrap.sh [RECORD.json]
#
# Environment: SUITE (bookworm), MIRROR (of Debian; default: the one this machine's apt uses), ROOT (a root to make or
# use again, kept; default: a temporary one), KEEP=1 (go on in the clone of HEAD that an interrupted run left in ROOT;
# its times are then those of a build that was partly there).
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
record=${1:-}
suite=${SUITE:-bookworm}
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$' || true)}
root=${ROOT:-$(mktemp -d /var/tmp/samebits-fresh.XXXXXX)}
home=/root/samebits
results=()

[ "$(id -u)" -eq 0 ] || { echo "error: run as root (debootstrap and chroot need it)" >&2; exit 1; }
[ -n "$mirror" ] || { echo "error: set MIRROR to a Debian mirror" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "error: install debootstrap" >&2; exit 1; }

cleanup() {
  if [ -d "$root$home" ]; then in_root deploy/quickstart.sh --stop >/dev/null 2>&1 || true; fi
  umount "$root/proc" "$root/dev/pts" "$root/dev" 2>/dev/null || true
  [ -n "${ROOT:-}" ] || grep -q " $root/" /proc/mounts || rm -rf --one-file-system "$root"
}
trap cleanup EXIT

in_root() {
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb \
    bash -c 'cd "$1" && shift && exec "$@"' bash "$home" "$@"
}

make_root() {
  debootstrap --variant=minbase "$suite" "$root" "$mirror"
}

# How this machine reaches mirror and PyPI, certificates of its own included; nothing of it is kept.
copy_network() {
  cp /etc/pip.conf "$root/etc/" 2>/dev/null || true
  mkdir -p "$root/etc/ssl/certs" "$root/usr/local/share/ca-certificates"
  cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
  cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
  cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
  rm -f "$root"/etc/apt/apt.conf.d/{20packagekit,50appstream,70debconf}
}

# The kernel's file systems.
mount_root() {
  mountpoint -q "$root/proc" || mount --bind /proc "$root/proc"
  mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"
  mountpoint -q "$root/dev/pts" || mount --bind /dev/pts "$root/dev/pts"
}

# NAME COMMAND...: runs it in the root and notes time, exit code and closing lines.
measure() {
  local name=$1 start code=0 log
  shift
  log=$(mktemp)
  start=$(date +%s)
  in_root "$@" 2>&1 | tee "$log" || code=${PIPESTATUS[0]}
  results+=("$(python3 - "$name" "$code" "$(($(date +%s) - start))" "$log" "$*" <<'PY'
import json, sys
name, code, seconds, log, command = sys.argv[1:]
tail = [line.rstrip() for line in open(log, errors="replace")][-12:]
print(json.dumps({"name": name, "command": command, "exit_code": int(code), "seconds": int(seconds), "tail": tail}))
PY
  )")
  rm -f "$log"
  [ "$code" -eq 0 ]
}

write_record() {
  [ -n "$record" ] || return 0
  printf '%s\n' "${results[@]}" | python3 -c '
import json, sys
runs = [json.loads(line) for line in sys.stdin]
system, commit, cores, date, path = sys.argv[1:]
json.dump({"system": system, "commit": commit, "cores": int(cores), "date": date, "runs": runs}, open(path, "w"), indent=1)
open(path, "a").write("\n")' \
    "$(in_root sh -c '. /etc/os-release; echo "$PRETTY_NAME $(cat /etc/debian_version), minbase"')" \
    "$head" "$(nproc)" "$(date -u +%F)" "$record"
}

[ -e "$root/bin/sh" ] || make_root
copy_network
mount_root
head=$(git -C "$repository" rev-parse HEAD)
if [ "${KEEP:-0}" != 1 ] || [ "$(git -C "$root$home" rev-parse HEAD 2>/dev/null)" != "$head" ]; then
  rm -rf "${root:?}$home"
  git clone -q "$repository" "$root$home"
fi

status=0
measure quickstart deploy/quickstart.sh || status=1
measure "quickstart, again" deploy/quickstart.sh || status=1
measure "quickstart, stop" deploy/quickstart.sh --stop || status=1
measure tests tests/run.sh || status=1
write_record
exit $status
