#!/usr/bin/env python3
"""Submit kernels that go wrong to a server with a worker: each must get a clear result, and the worker must serve on.

    run_bad_kernels.py [--device cuda|cpu] [--bin DIR] [--launch-seconds S] [--ptxas FILE] [--out DIR] [--commit C]

Each bad kernel is verified together with a good one: the good one must write the same bytes every time, and the bad one
must end in an error of the kind that docs/jobs.md names, or the call must be refused. After all of them the worker must
still be there and run a job. Programs for a machine that cannot build them: run_service.py --pack. With --out writes
DIR/bad-kernels-record.json. With --ptxas the worker assembles with it. Exit status 1 if something is not as it should be.
"""
import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "corpus"):
    sys.path.insert(0, str(folder))

from run_service import ROOT, Service

ELEMENTS, BLOCK, GRID = 1024, 128, 8

FRAME = """.version 8.0
.target {target}
.address_size 64
.visible .entry kernel(.param .u64 x, .param .u64 o)
{{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
{declarations}
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [o];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
{body}
  ret;
}}
"""
STORE = "  st.global.f32 [%rd5], %f1;"


def text(body=STORE, declarations="", target="sm_70"):
    return FRAME.format(target=target, declarations=declarations, body=body)


@dataclasses.dataclass
class Bad:
    name: str
    text: str
    cuda: tuple          # codes that say what is wrong; "refused": the whole call is
    cpu: tuple
    renamed: bool = False  # the entry has another name than the launch


# Of google.rpc.Code.
CODES = {3: "INVALID_ARGUMENT", 4: "DEADLINE_EXCEEDED", 8: "RESOURCE_EXHAUSTED", 9: "FAILED_PRECONDITION",
         11: "OUT_OF_RANGE", 12: "UNIMPLEMENTED", 13: "INTERNAL", 14: "UNAVAILABLE"}
ANY_FAULT = ("FAILED_PRECONDITION", "OUT_OF_RANGE")
KERNELS = (
    Bad("illegal address", text(f"  mov.u64 %rd6, 0x7f0000000000;\n  st.global.f32 [%rd6], %f1;\n{STORE}"), ANY_FAULT, ("OUT_OF_RANGE",)),
    Bad("past the end", text("  st.global.f32 [%rd5+4], %f1;"), ("OUT_OF_RANGE",), ("OUT_OF_RANGE",)),
    Bad("null pointer", text(f"  mov.u64 %rd6, 0;\n  ld.global.f32 %f1, [%rd6];\n{STORE}"), ANY_FAULT, ("OUT_OF_RANGE",)),
    Bad("misaligned address", text("  st.global.f32 [%rd5+2], %f1;"), ANY_FAULT, ANY_FAULT),
    Bad("trap", text(f"  trap;\n{STORE}"), ANY_FAULT, ANY_FAULT),
    Bad("infinite loop", text(f"again:\n  ld.volatile.global.f32 %f1, [%rd4];\n  bra again;\n{STORE}"), ("DEADLINE_EXCEEDED",),
        ("DEADLINE_EXCEEDED",)),
    Bad("too much static shared memory", text(f"  mov.u32 %r5, s;\n  st.shared.f32 [%r5], %f1;\n{STORE}",
        "  .shared .align 4 .b8 s[4000000];"), ("INVALID_ARGUMENT", "FAILED_PRECONDITION", "UNIMPLEMENTED", "RESOURCE_EXHAUSTED"), ()),
    Bad("too much local memory", text(f"  mov.u32 %r5, %tid.x;\n  mul.wide.u32 %rd6, %r5, 4;\n  mov.u64 %rd7, l;\n"
        f"  add.s64 %rd7, %rd7, %rd6;\n  st.local.f32 [%rd7], %f1;\n{STORE}", "  .local .align 4 .b8 l[500000000];"),
        ("INVALID_ARGUMENT", "FAILED_PRECONDITION", "UNIMPLEMENTED", "RESOURCE_EXHAUSTED"), ()),
    Bad("another architecture", text(target="sm_100a"), ("FAILED_PRECONDITION", "UNIMPLEMENTED", "INVALID_ARGUMENT"), ()),
    Bad("no such instruction", text(f"  frobnicate.f32 %f2, %f1;\n{STORE}"), ("INVALID_ARGUMENT", "UNIMPLEMENTED", "FAILED_PRECONDITION"),
        ("UNIMPLEMENTED",)),
    Bad("no entry", ".version 8.0\n.target sm_70\n.address_size 64\n", ("refused",), ("refused",)),
    Bad("an entry that is not there", text(), ("refused",), ("refused",), True),
    Bad("truncated text", text()[:300], ("refused",), ("refused",)),
)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--launch-seconds", type=float, default=5)
    parser.add_argument("--ptxas", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    return parser.parse_args()


def verify(service, folder, kernels, device):
    """(outcomes by name, or None; what the program said)."""
    paths = []
    for name, content in kernels:
        paths.append(folder / f"{name}.ptx")
        paths[-1].write_text(content)
    done = service.ask("verify", *map(str, paths), "--entry", "kernel", "--block", str(BLOCK), "--grid", str(GRID),
                       "--arg", "x=ptr:x", "--arg", "o=ptr:o", "--buffer", f"x=f32:{ELEMENTS}:in",
                       "--buffer", f"o=f32:{ELEMENTS}:out", "--distribution", "normal", "--device", device)
    operation = json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else {}
    result = operation.get("verify_kernels")
    if result is None:
        return None, (done.stderr or done.stdout).strip()
    return result["devices"][0]["outcomes"], ""


def main():
    options = parse()
    begin, wrong, told = time.monotonic(), [], {}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        service = Service(options.bin, scratch, options.device, ["--launch-seconds", str(options.launch_seconds), *(["--ptxas", str(options.ptxas)] if options.ptxas else [])])
        try:
            first, said = verify(service, scratch, [("good", text())], options.device)
            if not first or first[0].get("error"):
                sys.exit(f"the good kernel does not run: {said or first}")
            for bad in KERNELS:
                expected = getattr(bad, options.device)
                if not expected:
                    continue
                content = bad.text.replace(" kernel(", " other(") if bad.renamed else bad.text
                outcomes, said = verify(service, scratch, [("good", text()), ("bad", content)], options.device)
                if outcomes is None:
                    code, message = "refused", said
                else:
                    error = outcomes[1].get("error") or {}
                    code, message = CODES.get(error.get("code"), str(error.get("code", "none"))), error.get("message", "")
                    if outcomes[0].get("digests") != first[0]["digests"]:
                        wrong.append(f"{bad.name}: the good kernel beside it answered {outcomes[0]}")
                told[bad.name] = f"{code}: {message}"[:300]
                print(f"{bad.name}: {told[bad.name]}", flush=True)
                if code not in expected or not message:
                    wrong.append(f"{bad.name}: {code}, expected {' or '.join(expected)}")
            last, said = verify(service, scratch, [("good", text())], options.device)
            if not last or last[0].get("digests") != first[0]["digests"]:
                wrong.append(f"afterwards the good kernel does not run as before: {said or last}")
        finally:
            service.stop()
    for line in wrong:
        print("WRONG", line)
    if options.out:
        import record
        options.out.mkdir(parents=True, exist_ok=True)
        name = f"{service.device['name']} ({service.device['architecture']})"
        figures = {"assembler": service.device.get("assembler", ""), "bad kernels": len(told), "not as they should be": len(wrong), "seconds": round(time.monotonic() - begin, 1)}
        (options.out / "bad-kernels-record.json").write_text(json.dumps(
            {"what": "kernels that go wrong, through server and worker, each beside a good one",
             **record.environment(name, service.device["driver_version"], options.commit), "figures": figures, "answers": told},
            indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
