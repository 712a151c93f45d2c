#!/usr/bin/env python3
"""Account for pairs of kernels that part: with a witness, or with the named cause that there is none.

    account.py --samebits BIN --manifest M [--out FILE] [--groups 40] [--max-pairs N]
               [--jobs N] [--only distinct|splits]

The manifest's digests give the hardware's classes within each group. Two kinds of pairs are explained, with one kernel
to represent a class:
  distinct  every two hardware classes of a group, in up to --groups groups that have several
  splits    in every group, for each hardware class that the signatures split, its first part against each other part
An account is a witness, or a cause that docs/verdicts.md names (NONE and NOT_EVALUATED are no accounts). Printed:
per group and kind the pairs, witnesses, causes and what is left. --out takes one JSON line a pair, which
tests/device/run_witnesses.py runs on a GPU. Exit status 1 if a distinct pair has no account, if a pair of different
classes is called EQUIVALENT, or if splits without an account exceed 1 % of all classes of the signatures.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import tempfile

CAUSES = ("SIGNED_ZERO", "NAN_PAYLOAD", "SPECIAL_VALUES", "APPROXIMATE_FUNCTION", "CONTRACTION", "SAME_TREES")
PART = 16  # pairs that one process explains


def run_lines(command):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield json.loads(line)


def signatures(samebits, manifest):
    command = [samebits, "signature", "--local", "--quiet", "--manifest", manifest]
    return {s["id"]: s["signature"] for s in run_lines(command) if s["status"] == "OK"}


def stable_groups(manifest):
    groups = collections.defaultdict(list)
    with open(manifest) as rows:
        for row in map(json.loads, rows):
            if row.get("stable") and row.get("digests"):
                groups[row["group"]].append((row["id"], tuple(row["digests"])))
    return groups


def first_of(items):
    """Value to its first id, in order."""
    first = {}
    for name, value in items:
        first.setdefault(value, name)
    return first


def distinct_pairs(groups, known, limit):
    chosen = 0
    for group, rows in groups.items():
        classes = list(first_of((name, digests) for name, digests in rows if name in known).values())
        if len(classes) < 2 or chosen == limit:
            continue
        chosen += 1
        yield from (("distinct", group, a, b) for a, b in itertools.combinations(classes, 2))


def split_pairs(groups, known):
    for group, rows in groups.items():
        members = collections.defaultdict(list)
        for name, digests in rows:
            if name in known:
                members[digests].append((name, known[name]))
        for parts in members.values():
            first, *others = first_of(parts).values()
            yield from (("splits", group, first, other) for other in others)


def account_of(answer):
    """witness, a cause, or why there is neither."""
    if answer["verdict"] == "DIFFERENT":
        return "witness"
    if answer["verdict"] != "DISTINCT":
        return answer["verdict"]
    cause = answer["difference"]["cause"]
    return cause if cause in CAUSES else "none: " + cause


def explain_part(samebits, manifest, pairs):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps({"a": a, "b": b}) + "\n" for _, _, a, b in pairs)
        file.flush()
        command = [samebits, "explain", "--local", "--manifest", manifest, "--pairs", file.name, "--format", "json"]
        answers = list(run_lines(command))
    if len(answers) != len(pairs):
        sys.exit(f"{len(answers)} of {len(pairs)} pairs were answered, after {pairs[len(answers)][2:] if answers else pairs[0][2:]}")
    return answers


def explain(samebits, manifest, pairs, jobs):
    """The pairs with their answers, by `jobs` processes."""
    parts = [pairs[at:at + PART] for at in range(0, len(pairs), PART)]
    done = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for part, answers in zip(parts, pool.map(lambda part: explain_part(samebits, manifest, part), parts)):
            yield from zip(part, answers)
            done += len(part)
            print(f"{done} of {len(pairs)} pairs", end="\r", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samebits", required=True)
    parser.add_argument("--manifest", required=True)
    parser.add_argument("--out")
    parser.add_argument("--groups", type=int, default=40)
    parser.add_argument("--max-pairs", type=int, default=10**9, help="explain only so many pairs, evenly spread")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--only", choices=("distinct", "splits"))
    options = parser.parse_args()

    known = signatures(options.samebits, options.manifest)
    groups = stable_groups(options.manifest)
    pairs = []
    if options.only != "splits":
        pairs += distinct_pairs(groups, known, options.groups)
    if options.only != "distinct":
        pairs += split_pairs(groups, known)
    pairs = pairs[::max(1, -(-len(pairs) // options.max_pairs))]
    classes = sum(len({known.get(name, name) for name, _ in rows}) for rows in groups.values())

    tables = {"distinct": collections.defaultdict(collections.Counter), "splits": collections.defaultdict(collections.Counter)}
    with open(options.out or os.devnull, "w") as out:
        for (kind, group, a, b), answer in explain(options.samebits, options.manifest, pairs, options.jobs):
            if "error" in answer:
                sys.exit(f"{a} {b}: {answer['error']}")
            account = account_of(answer)
            tables[kind][group][account] += 1
            difference = answer.get("difference") or {}
            out.write(json.dumps({"kind": kind, "group": group, "a": a, "b": b, "account": account,
                                  "cause": difference.get("cause"), "cause_text": difference.get("cause_text"),
                                  "summary": difference.get("summary"), "inputs_tried": difference.get("inputs_tried"),
                                  "witness": difference.get("witness")}) + "\n")
            out.flush()

    failed = False
    for kind, table in tables.items():
        total = collections.Counter()
        for group, counts in table.items():
            total += counts
            print(f"{kind:9s}{group[:80]:82s}{sum(counts.values()):5d} pairs  {dict(counts)}")
        left = sum(n for account, n in total.items() if account != "witness" and account not in CAUSES)
        print(f"{kind}: {sum(total.values())} pairs in {len(table)} groups, {dict(total)}, without account {left}")
        if kind == "distinct":
            failed |= left > 0
        else:
            share = left / max(1, classes)
            print(f"splits without account: {share:.2%} of {classes} classes")
            failed |= share > 0.01
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
