#!/usr/bin/env bash
# From a clone to a running server and a first verdict, on Debian 12 or Ubuntu 24.04 and later. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/packages.sh

usage() {
  cat <<'TEXT'
Usage: deploy/quickstart.sh [--no-install] [--stop]

Installs missing packages (as root or with sudo), builds samebits, starts its server and a worker on loopback, compares
kernels over gRPC and runs one on the worker. Run again, it builds what changed and uses the server that runs.

  --no-install   install nothing
  --stop         stop the server and the worker that an earlier run started

Environment: SAMEBITS_DATA      folder of database, logs and process id (default ~/.local/share/samebits)
             SAMEBITS_LISTEN    address of the server   (default 127.0.0.1:7433, another port where that is taken)
             SAMEBITS_METRICS   address of its metrics  (default 127.0.0.1:9433, another port where that is taken)
TEXT
}

install=yes stop=no
for argument in "$@"; do
  case "$argument" in
    --no-install) install=no ;;
    --stop) stop=yes ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; fail "no option $argument" ;;
  esac
done

data=${SAMEBITS_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/samebits}
binary=$PWD/build/release/bin/samebits
worker=$PWD/build/release/bin/samebits-worker
examples=deploy/examples

# Process id of the server that an earlier run started, if it runs.
running_server() {
  local pid
  pid=$(cat "$data/server.pid" 2>/dev/null) || return 1
  [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = samebits ] && echo "$pid"
}

stop_server() {
  local pid
  pid=$(running_server) || return 0
  kill "$pid"
  for _ in $(seq 300); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -0 "$pid" 2>/dev/null && fail "the server (process $pid) does not stop"
  rm -f "$data/server.pid"
  note "stopped the server (process $pid)"
}

stop_worker() {
  local pid
  pid=$(cat "$data/worker.pid" 2>/dev/null) || return 0
  [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = samebits-worker ] || return 0
  kill "$pid"
  for _ in $(seq 150); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  rm -f "$data/worker.pid"
  note "stopped the worker (process $pid)"
}

# A worker of this build for the running server.
start_worker() {
  stop_worker
  setsid nohup "$worker" --server "$(address_of)" --id quickstart --allow-submitted-kernels \
    >"$data/worker.out" 2>>"$data/worker.log" </dev/null &
  local pid=$!
  echo "$pid" >"$data/worker.pid"
  for _ in $(seq 100); do
    if "$binary" fleet quickstart --server "$(address_of)" >/dev/null 2>&1; then note "started: process $pid"; return; fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 5 "$data/worker.log" >&2
  fail "the worker did not start; its log: $data/worker.log"
}

# $1 where nothing listens there, else a free port of the same host.
free_address() {
  local host=${1%:*} port=${1##*:}
  if (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null; then echo "$host:0"; else echo "$1"; fi
}

address_of() { sed -n 's/^samebits .* serves //p' "$data/server.out" 2>/dev/null; }
metrics_of() { sed -n 's/^metrics: //p' "$data/server.out" 2>/dev/null; }

start_server() {
  mkdir -p "$data"
  : >"$data/server.out"
  setsid nohup "$binary" serve --data "$data" --listen "$(free_address "${SAMEBITS_LISTEN:-127.0.0.1:7433}")" \
    --metrics "$(free_address "${SAMEBITS_METRICS:-127.0.0.1:9433}")" \
    >"$data/server.out" 2>>"$data/server.log" </dev/null &
  local pid=$!
  echo "$pid" >"$data/server.pid"
  for _ in $(seq 200); do
    if [ -n "$(address_of)" ]; then note "started: process $pid on $(address_of)"; return; fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 5 "$data/server.log" >&2
  fail "the server did not start; its log: $data/server.log"
}

# Uses the running server where it is this build.
ensure_server() {
  local pid
  if pid=$(running_server); then
    if [ "$(readlink "/proc/$pid/exe")" = "$binary" ]; then
      note "already running: process $pid on $(address_of)"
      return
    fi
    note "process $pid runs another build; restarting"
    stop_server
  fi
  start_server
}

# Runs samebits, shows the command and its answer, and checks the exit code.
ask() {
  local expected=$1 code=0
  shift
  printf '\n    $ samebits %s\n' "$*"
  "$binary" "$@" --server "$(address_of)" | sed 's/^/    /' || code=${PIPESTATUS[0]}
  [ "$code" -eq "$expected" ] || fail "exit code $code, expected $expected"
  case $code in
    0) note "(exit code 0: equivalent)" ;;
    *) note "(exit code $code: not equivalent, which is the right answer here and no failure)" ;;
  esac
}

if [ "$stop" = yes ]; then
  step "Stopping worker and server"
  stop_worker
  stop_server
  exit 0
fi

step "1/5 Packages"
if [ "$install" = yes ]; then install_packages "${PACKAGES_BUILD[@]}"; else note "left as they are"; fi

step "2/5 Build (build/release; minutes the first time)"
[ -f build/release/build.ninja ] || cmake --preset release -DSAMEBITS_BUILD_TESTS=OFF -DSAMEBITS_BUILD_BENCHMARKS=OFF
cmake --build --preset release -j "$(build_jobs)" --target samebits samebits-worker

step "3/5 Server and worker"
ensure_server
start_worker

step "4/5 Verdicts over gRPC, on kernels that Triton compiled for sm_90 ($examples)"
note "A matrix product in two tile sizes, and so with two different matrix instructions: the same bits."
ask 0 compare "$examples/matmul_32x32x32.ptx" "$examples/matmul_64x128x64.ptx"
note "A row sum with 4 and with 8 warps: another order of additions."
ask 1 explain "$examples/row_sum_4_warps.ptx" "$examples/row_sum_8_warps.ptx"

step "5/5 The same row sums on the worker: a GPU where there is one, else the CPU interprets them"
ask 1 verify "$examples/row_sum_4_warps.ptx" "$examples/row_sum_8_warps.ptx" --distribution uniform --distribution integers

step "Done"
note "server    $(address_of), process $(cat "$data/server.pid")"
note "worker    process $(cat "$data/worker.pid")"
note "metrics   $(metrics_of)"
note "data      $data/samebits.db"
note "log       $data/server.log"
note "stop      ${SAMEBITS_DATA:+SAMEBITS_DATA=$SAMEBITS_DATA }deploy/quickstart.sh --stop"
note "yours     $binary compare A.ptx B.ptx --server $(address_of) --grid X   (samebits compare --help)"
