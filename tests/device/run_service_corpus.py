#!/usr/bin/env python3
"""Verify a corpus on GPUs through a server and workers, and compare its partition by bytes with the manifest's.

    run_service_corpus.py [--corpus FILE] [--device cuda|cpu] [--workers-per-node N] [--bin DIR] [--out DIR] [--commit C]
                          [--groups REGEX] [--limit N] [--distribution NAME ...] [--seeds N] [--seconds S]
                          [--strict-contraction] [--ptxas FILE] [--evaluator FILE] [--name NAME]
    run_service.py --pack DIR      copies the programs for a machine that cannot build them

FILE is a manifest or an archive that holds manifest.jsonl with its texts; without it the committed corpus is used.
Starts `samebits serve` and N workers, each with all devices of the node, and submits every group as `samebits verify`
operations, several at a time: with one GPU to whichever worker is free, with several each operation to all of them,
so that devices are compared too. Buffers that a manifest does not describe come from undescribed.py. Compared are
- within a group, the classes of kernels with equal digests with the classes by the manifest's digests. Both are bounds
  from finitely many draws, and the manifest's draws were others: `finer` says which distributions part a class of the
  manifest, into how many pairs, and what the signatures say of these; `by_distributions` compares the classes that each
  distribution shows alone, the random ones of ordinary size together (ORDINARY), and all. With --seeds N each
  distribution is drawn N times,
- with --evaluator (differential_evaluator), the pairs that finer classes part with what the checker's maps predict for
  the same inputs: if the predicted bytes of such a pair differ too, then the manifest's draws were too few,
- every pair of a group with one signature, on every device, also across operations: its digests must be equal,
- repetition: an unstable kernel must have no signature, and manifest and device should agree on which are unstable,
- the digests of one kernel on different devices.
Exit status 1 where something is left out, faults, or differs. With --ptxas workers
assemble with that program and not with the driver. With --out writes DIR/NAME.json (corpus-service-record).
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import sys
import tarfile
import tempfile
import time

import run_service
import undescribed

KERNELS_A_CALL = 48
TEXT_A_CALL = 24 << 20
ORDINARY = ("uniform", "normal", "unit")  # random values of about one size, as most tests of kernels draw them


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--workers-per-node", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=run_service.ROOT / "build" / "release" / "bin")
    parser.add_argument("--groups", default="", help="a regular expression that a group's name must contain")
    parser.add_argument("--limit", type=int, help="kernels of a group")
    parser.add_argument("--distribution", nargs="*", default=list(run_service.DISTRIBUTIONS))
    parser.add_argument("--seeds", type=int, default=1, help="draws of each distribution")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--ptxas", type=pathlib.Path, help="assemble with it")
    parser.add_argument("--evaluator", type=pathlib.Path, help="differential_evaluator, to explain finer classes")
    parser.add_argument("--name", default="corpus-service-record", help="of the record")
    parser.add_argument("--seconds", type=float, default=480, help="start no operation after this long")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--strict-contraction", action="store_true", help="certify nothing that assumes contraction")
    return parser.parse_args()


def find_manifest(corpus, scratch):
    if corpus is None:
        import unpack
        return unpack.unpack(scratch / "corpus") / "manifest.jsonl"
    if not tarfile.is_tarfile(corpus):
        return corpus.resolve()
    with tarfile.open(corpus) as archive:
        archive.extractall(scratch / "corpus")
    return next((scratch / "corpus").rglob("manifest.jsonl"))


def load_groups(manifest, options, described):
    """Rows by group; writes them with buffers to the file `described`."""
    groups, skipped = collections.OrderedDict(), 0
    with open(described, "w") as out:
        for row in map(json.loads, filter(str.strip, open(manifest))):
            if not re.search(options.groups, row["group"]):
                continue
            if not (row.get("args") and row.get("grid") and row.get("digests")):
                skipped += 1
                continue
            rows = groups.setdefault(row["group"], [])
            if options.limit is None or len(rows) < options.limit:
                path = (manifest.parent / row["path"]).resolve()
                row = {**row, "path": str(path), "buffers": undescribed.buffers_of(row), "bytes": path.stat().st_size}
                rows.append(row)
                out.write(json.dumps(row) + "\n")
    return groups, skipped


def calls_of(groups):
    """Lists of rows of one group, those with the most text first."""
    calls = []
    for rows in groups.values():
        call = []
        for row in rows:
            if len(call) == KERNELS_A_CALL or sum(r["bytes"] for r in call) + row["bytes"] > TEXT_A_CALL and call:
                calls.append(call)
                call = []
            call.append(row)
        calls.append(call)
    return sorted(calls, key=lambda call: -sum(r["bytes"] for r in call))


class Targets:
    """What operations ask for: any worker where there is one GPU, else each GPU of some worker, workers in turn."""

    def __init__(self, workers, backend):
        self.backend = backend
        self.devices = {d.get("uuid") or f"{w['name']}/{d.get('index', 0)}": d
                        for w in workers for d in w["devices"] if d["backend"] == backend}
        if backend == "cpu":  # every worker names the same processor
            self.devices = dict(list(self.devices.items())[:1])
        self.by_device = [[f"{w['name']}/devices/{d.get('index', 0)}" for w in workers for d in w["devices"]
                           if d.get("uuid") == uuid] for uuid in self.devices]

    def of(self, number):
        if len(self.devices) == 1:
            return [self.backend]
        return [names[number % len(names)] for names in self.by_device]

    def describe(self):
        kinds = collections.Counter(f"{d['name']} ({d['architecture']})" if d.get("architecture") else d["name"]
                                    for d in self.devices.values())
        return ", ".join(f"{n} x {kind}" if n > 1 else kind for kind, n in kinds.items())


def joined(several):
    """One outcome of those of several seeds: their digests one after another."""
    errors = [outcome["error"] for outcome in several if outcome.get("error")]
    if errors:
        return {"error": errors[0]}
    return {"stable": all(outcome.get("stable") for outcome in several),
            "digests": [digest for outcome in several for digest in outcome["digests"]]}


class Results:
    """What became of each kernel: its signature (None: no certificate) and an outcome a device."""

    def __init__(self, seeds):
        self.signatures, self.wrong = {}, []
        self.by_seed = [{} for _ in range(seeds)]
        self.assuming = set()  # certified only if the assembler fuses alike in both kernels of a pair
        self.launches = self.server_pairs = self.contradictions = 0

    def outcomes(self):
        """By kernel, where all seeds have some."""
        ids = [name for name in self.by_seed[0] if all(name in outcomes for outcomes in self.by_seed)]
        return {name: [joined(several) for several in zip(*(outcomes[name] for outcomes in self.by_seed))] for name in ids}

    def add(self, rows, seed, done, draws, runs):
        try:
            operation = json.loads(done.stdout.splitlines()[-1])
            result = operation["verify_kernels"]
        except (IndexError, KeyError, ValueError):
            self.wrong.append(f"{rows[0]['group']}: no result: {done.stderr.strip() or done.stdout}"[:400])
            return
        for device in result["devices"]:
            if device.get("error"):
                self.wrong.append(f"{rows[0]['group']}: {device['target']}: {device['error']}"[:400])
        if any(device.get("error") for device in result["devices"]):
            return
        self.server_pairs += int(result.get("certified_pairs", 0))
        for contradiction in result.get("contradictions", []):
            self.contradictions += 1
            self.wrong.append(f"contradiction: {contradiction}"[:400])
        for i, row in enumerate(rows):
            signature = result["signatures"][i]
            self.signatures[row["id"]] = signature["digest"] if signature["status"] == "OK" else None
            if "contraction" in json.dumps(signature.get("assumptions", [])).lower():
                self.assuming.add(row["id"])
            outcomes = [device["outcomes"][i] for device in result["devices"]]
            self.by_seed[seed][row["id"]] = outcomes
            self.launches += sum(draws * runs for o in outcomes if not o.get("error"))


def relation(ours, theirs):
    """How the first labelling parts things, compared with the second."""
    joint, a, b = len(set(zip(ours, theirs))), len(set(ours)), len(set(theirs))
    if joint == a == b:
        return "equal"
    return "finer" if joint == a else "coarser" if joint == b else "crossing"


class Predictions:
    """What the checker's maps say that kernels write, once a signature. Approximate functions take stand-ins, the same
    in all kernels, so that only whether two predictions differ means something."""

    def __init__(self, binary, scratch, signatures):
        sys.path.insert(0, str(run_service.ROOT / "tests" / "differential"))
        import differential
        self.evaluate, self.task = differential.evaluate, differential.Task
        self.binary, self.manifest, self.signatures = binary, scratch / "predicted.jsonl", signatures
        self.source = differential.Inputs(scratch / "inputs", differential.DRAWS)

    def of(self, rows, draws):
        """By signature: a digest a draw, None where there is none."""
        first = {self.signatures[row["id"]]: row for row in rows if self.signatures[row["id"]]}
        with open(self.manifest, "w") as out:
            for row in first.values():
                written = [name for name, buffer in row["buffers"].items() if buffer["role"] != "in"]
                out.write(json.dumps({**row, "outputs": row.get("outputs") or written}) + "\n")
        folder = self.source.of(rows[0])

        def one(row):
            answers = self.evaluate(self.binary, self.manifest, self.task([row]), folder, draws, 60, ["--stand-ins"])
            return answers[row["id"]].get("digests") or [None] * len(draws)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = dict(zip(first, pool.map(one, first.values())))
        self.source.remove(rows[0]["group"])
        return found


class Report:
    def __init__(self, results, distributions, seeds, predictions):
        self.results, self.outcomes, self.predictions = results, results.outcomes(), predictions
        self.distributions = [name if seed == 0 else f"{name}#{seed}" for seed in range(seeds) for name in distributions]
        self.counts, self.wrong = collections.Counter(), list(results.wrong)
        self.other = {"finer": {}, "coarser": {}, "crossing": {}}
        self.sets = {name: [n for n in self.distributions if n.split("#")[0] == name] for name in distributions}
        ordinary = [name for name in distributions if name in ORDINARY]
        self.sets |= {"+".join(ordinary): sum((self.sets[name] for name in ordinary), [])} if ordinary else {}
        self.sets["all"] = self.distributions
        self.by_set = {name: collections.Counter() for name in self.sets}

    def add(self, group, rows):
        self.counts["groups"] += 1
        self.counts["kernels"] += len(rows)
        rows = [row for row in rows if row["id"] in self.outcomes]
        ran = [row for row in rows if self._ran(row)]
        self.counts["kernels_without_bytes"] += len(rows) - len(ran)
        self.counts["certified_kernels"] += sum(self.results.signatures[row["id"]] is not None for row in ran)
        for device in range(len(self._outcomes(rows[0])) if rows else 0):
            self._certified(group, ran, device)
        stable = [row for row in ran if self._repeats(row) and row["stable"]]
        if stable:
            self._partition(group, stable)

    def _outcomes(self, row):
        return self.outcomes[row["id"]]

    def _ran(self, row):
        errors = [o["error"] for o in self._outcomes(row) if o.get("error")]
        for error in errors:
            refused = error.get("code") == 12  # UNIMPLEMENTED
            self.counts["refused" if refused else "faults"] += 1
            self.wrong.append(f"{row['id']}: {error.get('message')}"[:300])
        return not errors

    def _repeats(self, row):
        outcomes = self._outcomes(row)
        stable = all(o.get("stable") for o in outcomes)
        self.counts["unstable"] += not stable
        self.counts["unstable_in_manifest"] += not row["stable"]
        if stable != row["stable"]:
            self.counts["stability_unlike_manifest"] += 1
            self.wrong.append(f"{row['id']}: {'repeats' if stable else 'does not repeat'}, unlike in the manifest")
        if not stable and self.results.signatures[row["id"]]:
            self.counts["unstable_certified"] += 1
            self.wrong.append(f"{row['id']}: has a signature and does not repeat")
        if stable and any(o["digests"] != outcomes[0]["digests"] for o in outcomes):
            self.counts["kernels_unlike_on_devices"] += 1
            self.wrong.append(f"{row['id']}: devices wrote different bytes")
        return stable

    def _certified(self, group, rows, device):
        classes = collections.defaultdict(list)
        for row in rows:
            if self.results.signatures[row["id"]]:
                classes[self.results.signatures[row["id"]]].append((row["id"], tuple(self._outcomes(row)[device]["digests"])))
        for members in classes.values():
            same = collections.Counter(digests for _, digests in members)
            pairs = len(members) * (len(members) - 1) // 2
            different = pairs - sum(n * (n - 1) // 2 for n in same.values())
            self.counts["certified_pairs"] += pairs
            assumes = any(name in self.results.assuming for name, _ in members)
            self.counts["certified_pairs_assuming_contraction"] += pairs * assumes
            self.counts["different_since_contraction_is_not_alike" if assumes else "certified_pairs_different"] += different
            if different:
                self.wrong.append(f"{group}: certified{', if the assembler fuses alike,' if assumes else ''} yet different: "
                                  f"{[name for name, _ in members][:6]}")

    def _partition(self, group, rows):
        ours = [tuple(self._outcomes(row)[0]["digests"]) for row in rows]
        theirs = [tuple(row["digests"]) for row in rows]
        self.counts["groups_compared"] += 1
        self.counts["kernels_compared"] += len(rows)
        self.counts["classes"] += len(set(ours))
        self.counts["classes_in_manifest"] += len(set(theirs))
        self._by_sets(ours, theirs)
        how = relation(ours, theirs)
        self.counts["groups_equal"] += how == "equal"
        if how == "equal":
            return
        splitting = [name for i, name in enumerate(self.distributions)
                     if len({(t, o[i]) for o, t in zip(ours, theirs)}) > len(set(theirs))]
        parted = self._parted_pairs(rows, ours, theirs)
        self.other[how][group] = {"classes": len(set(ours)), "in_manifest": len(set(theirs)), "parted_by": splitting,
                                  "pairs_parted": self._said_of(parted),
                                  **({"predicted": self._predicted(parted)} if self.predictions and parted else {})}
        self.wrong.append(f"{group}: {len(set(ours))} classes, {len(set(theirs))} in the manifest: {how}, "
                          f"parted by {splitting or 'no distribution'}")

    def _by_sets(self, ours, theirs):
        for name, members in self.sets.items():
            at = [self.distributions.index(member) for member in members]
            seen = [tuple(digests[i] for i in at) for digests in ours]
            self.by_set[name][relation(seen, theirs)] += 1
            self.by_set[name]["classes"] += len(set(seen))

    def _parted_pairs(self, rows, ours, theirs):
        """Pairs of one class in the manifest that wrote different bytes here: two rows, and their digests."""
        return [((a, x), (b, y)) for (a, x, s), (b, y, t) in itertools.combinations(zip(rows, ours, theirs), 2)
                if s == t and x != y]

    def _said_of(self, pairs):
        """How many pairs, by what the signatures say of them."""
        said = collections.Counter()
        for (a, _), (b, _) in pairs:
            first, second = self.results.signatures[a["id"]], self.results.signatures[b["id"]]
            if first is None or second is None:
                said["without_a_signature"] += 1
            elif first != second:
                said["of_two_signatures"] += 1
            else:
                assumes = {a["id"], b["id"]} & self.results.assuming
                said["of_one_signature_assuming_contraction" if assumes else "of_one_signature"] += 1
        self.counts["pairs_parted"] += sum(said.values())
        self.counts["pairs_parted_of_one_signature"] += said["of_one_signature"]
        return dict(said)

    def _predicted(self, pairs):
        """How many pairs, by what the maps predict where the device parted them."""
        draws = [d for d, name in enumerate(self.distributions) if "#" not in name]
        rows = {row["id"]: row for pair in pairs for row, _ in pair}
        predicted, said = self.predictions.of(list(rows.values()), draws), collections.Counter()
        for (a, x), (b, y) in pairs:
            first, second = (predicted.get(self.results.signatures[row["id"]]) for row in (a, b))
            at = [d for d in draws if x[d] != y[d]]
            known = [d for d in at if first and second and first[d] is not None and second[d] is not None]
            said["different" if any(first[d] != second[d] for d in known) else
                 "equal" if known else "not_evaluated" if at else "parted_by_another_seed"] += 1
        self.counts["pairs_parted_predicted_different"] += said["different"]
        return dict(said)


FIGURES = ("groups", "kernels", "kernels_without_bytes", "refused", "faults", "certified_kernels", "certified_pairs",
           "certified_pairs_different", "certified_pairs_assuming_contraction",
           "different_since_contraction_is_not_alike", "unstable", "unstable_in_manifest", "stability_unlike_manifest",
           "unstable_certified", "kernels_unlike_on_devices", "groups_compared", "groups_equal", "kernels_compared",
           "classes", "classes_in_manifest", "pairs_parted", "pairs_parted_of_one_signature",
           "pairs_parted_predicted_different")


def run_all(service, targets, described, calls, options, begin):
    """Results, and the number of kernels left out for time."""
    results, left = Results(options.seeds), 0

    def verify(number, rows, seed):
        if time.monotonic() - begin > options.seconds:
            return None
        words = ["verify", "--manifest", str(described), *[r["id"] for r in rows], "--runs", str(options.runs), "--seed", rows[0]["group"] + (f"#{seed}" if seed else "")]
        words += ["--strict-contraction"] * options.strict_contraction
        for target in targets.of(number):
            words += ["--device", target]
        for name in options.distribution:
            words += ["--distribution", name]
        return service.ask(*words)

    with concurrent.futures.ThreadPoolExecutor(2 * options.workers_per_node) as pool:
        asked = [(rows, seed) for rows in calls for seed in range(options.seeds)]
        waiting = {pool.submit(verify, i, *call): call for i, call in enumerate(asked)}
        for n, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            rows, seed = waiting[future]
            if future.result() is None:
                left += len(rows)
            else:
                results.add(rows, seed, future.result(), len(options.distribution), options.runs)
            if n % 10 == 0 or n == len(waiting):
                print(f"{n}/{len(waiting)} operations after {time.monotonic() - begin:.0f} s", flush=True)
    return results, left


def main():
    options = parse()
    try:
        import record
    except ImportError:
        print("needs numpy (Debian: python3-numpy)")
        return 77  # skipped
    if options.evaluator and options.distribution != list(run_service.DISTRIBUTIONS)[:len(options.distribution)]:
        sys.exit("--evaluator needs the distributions in their order")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        described = scratch / "described.jsonl"
        groups, skipped = load_groups(find_manifest(options.corpus, scratch), options, described)
        calls = calls_of(groups)
        words = ["--ptxas", str(options.ptxas)] if options.ptxas else []
        service = run_service.Service(options.bin, scratch, options.device, words, workers=options.workers_per_node)
        try:
            targets = Targets(service.workers(), options.device)
            print(f"{targets.describe()}, {options.workers_per_node} workers, {len(groups)} groups", flush=True)
            started = time.monotonic()
            results, left = run_all(service, targets, described, calls, options, begin)
            verified = time.monotonic()
        finally:
            service.stop()
        predictions = Predictions(options.evaluator, scratch, results.signatures) if options.evaluator else None
        report = Report(results, options.distribution, options.seeds, predictions)
        for group, rows in groups.items():
            report.add(group, rows)
    for line in report.wrong:
        print(line)
    figures = {"devices": len(targets.devices), "workers": options.workers_per_node, "operations": len(calls) * options.seeds,
               **{name: report.counts[name] for name in FIGURES}, **report.other,
               "by_distributions": {name: dict(counts) for name, counts in report.by_set.items()},
               "certified_pairs_by_the_server": results.server_pairs, "contradictions": results.contradictions,
               "launches": results.launches, "runs": options.runs, "distributions": options.distribution,
               "seeds": options.seeds, "assembler": service.device.get("assembler") or ("the driver" if options.device == "cuda" else ""),
               "libraries": {library["name"]: library["version"] for library in service.device.get("libraries", [])},
               "strict_contraction": options.strict_contraction,
               "left_out": left + skipped, "seconds_verifying": round(verified - started, 1),
               "seconds": round(time.monotonic() - begin, 1)}
    print(json.dumps(figures))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{options.name}.json").write_text(json.dumps(
            {"what": "a corpus verified through server and worker, against its manifest's partition",
             **record.environment(targets.describe(), service.device.get("driver_version", ""), options.commit),
             "figures": figures}, indent=1) + "\n")
    return 1 if report.wrong or left or not results.launches else 0


if __name__ == "__main__":
    sys.exit(main())
