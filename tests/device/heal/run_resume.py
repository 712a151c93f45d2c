#!/usr/bin/env python3
"""A numerics job on a GPU through server and worker, whose worker is killed midway, against the same job undisturbed.

    run_resume.py --bin DIR --model PATH --prompts FILE.jsonl --record FILE.json [--kill-after SECONDS] [--commit REV]
    run_resume.py --bin DIR --engine-mix --record FILE.json [--kill-after SECONDS] [--commit REV]

The job: evaluate; with --engine-mix the instruction mix of the engine's own kernels under all configurations. --bin holds `samebits` and `samebits-worker`. Exit code 1 where the numbers differ or nothing was killed in time.
"""
import argparse
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import record  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=lambda x: pathlib.Path(x).resolve(), required=True)
    parser.add_argument("--model", default="")
    parser.add_argument("--prompts", default="")
    parser.add_argument("--engine-mix", action="store_true")
    parser.add_argument("--record", type=pathlib.Path, required=True)
    parser.add_argument("--kill-after", type=float, default=8)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--device-name", default="NVIDIA H200")
    parser.add_argument("--commit", default="")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    address, log = f"127.0.0.1:{free_port()}", open(folder / "log", "w")

    def start(program, *words):
        return subprocess.Popen([str(args.bin / program), *words], stdout=log, stderr=log)

    def worker(name):
        named = ["--model", f"m={args.model}"] if named_model else []
        return start("samebits-worker", "--server", address, "--id", name, *named,
                     *(["--no-cpu"] if args.device.startswith("cuda") else ["--no-cuda"]))

    named_model = args.model != "" and not args.model.startswith("synthetic:")
    if args.engine_mix:
        words = ["instruction-mix", "--engine", "all", "--kernels"]
        there, here = [], []
    else:
        words = ["evaluate", "--prompts", args.prompts, "--max-new-tokens", "64", "--slots", "64", "--rows", "1024"]
        on = args.device if ":" in args.device or args.device == "cpu" else args.device + ":0"
        there, here = ["--model", "m" if named_model else args.model], ["--local", "--device", on, "--model", args.model]
    server = start("samebits", "serve", "--listen", address, "--metrics", "none", "--in-memory", "--lease-seconds", "3")
    processes = [server]
    try:
        time.sleep(1.5)
        processes.append(worker("first"))
        time.sleep(4)
        begin = time.monotonic()
        job = subprocess.Popen([str(args.bin / "samebits"), "heal", *words, "--server", address, *there, "--device", args.device,
                                "--output", str(folder / "resumed"), "--quiet"], stdout=log, stderr=log)
        time.sleep(args.kill_after)
        running = job.poll() is None
        processes[-1].send_signal(signal.SIGKILL)
        processes.append(worker("second"))
        code = job.wait(timeout=400)
        seconds = time.monotonic() - begin
        subprocess.run([str(args.bin / "samebits"), "heal", *words, *here, "--output", str(folder / "plain"), "--quiet"],
                       stdout=log, stderr=log, check=True, timeout=400)
        workers = subprocess.run([str(args.bin / "samebits"), "fleet", "--server", address], capture_output=True, text=True,
                                 timeout=60).stdout
        listed = subprocess.run([str(args.bin / "samebits"), "jobs", "--server", address, "--format", "json"],
                                capture_output=True, text=True, check=True, timeout=60).stdout
    finally:
        for process in processes:
            process.kill()
    if code != 0:
        print(open(folder / "log").read()[-3000:])
        return 1
    results = [json.loads((folder / name / "result.json").read_text()) for name in ("resumed", "plain")]
    for result in results:
        result.pop("model", None)
    same = results[0] == results[1]
    figures = {"killed while the job ran": int(running), "same numbers as undisturbed": int(same), "seconds": round(seconds, 1)}
    if args.engine_mix:
        figures["kernels"] = len(results[0]["kernels"])
    environment = record.environment(args.device_name, 0, args.commit)
    environment["versions"].pop("cuda_driver_api")
    args.record.write_text(json.dumps({"what": "a numerics job whose worker is killed midway" + (": instruction mix" if args.engine_mix else ""), **environment,
                                       "figures": figures}, indent=1) + "\n")
    print(figures)
    print(workers)
    print(listed[:600])
    return 0 if running and same else 1


if __name__ == "__main__":
    sys.exit(main())
