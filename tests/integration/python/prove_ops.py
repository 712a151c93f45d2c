#!/usr/bin/env python3
"""Proves one class for the pinned-order reductions over many configurations, without a GPU:

    prove_ops.py [--count 48] [--only OP ...]      with the package on the path

For each operation and length that many configurations of ops.space that reduce the axis in one launch are compiled for
sm_90 and partitioned. Prints a line a case; exit status 1 unless each is one class with nothing undecided.
"""

import argparse
import sys
import time

from test_ops import classes, whole_axis

CASES = [("sum", 4096, "fp32"), ("sum", 100_000, "fp32"), ("mean", 5000, "bf16"), ("var", 5120, "bf16"), ("dot_rows", 5120, "fp16"),
         ("softmax", 5120, "bf16"), ("rms_norm", 5120, "bf16"), ("sum_columns", 5000, "fp32")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    good = True
    for op, n, dtype in CASES:
        if options.only and op not in options.only:
            continue
        begin = time.monotonic()
        space = whole_axis(op, n)
        configs = [space[i * len(space) // options.count] for i in range(options.count)] if len(space) > options.count else space
        kept, report = classes(op, n, dtype, configs)
        tiles = sorted({c.kwargs.get("BI") or c.kwargs["U"] for c in configs})
        good &= len(kept) == len(configs)
        print(f"{op} {dtype} n={n}: {len(kept)} of {len(configs)} configurations in one class, tiles {tiles}, "
              f"{time.monotonic() - begin:.0f} s", flush=True)
        if len(kept) != len(configs):
            print(report)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
