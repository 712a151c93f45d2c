"""Evaluates the corpus's symbolic maps on the CPU and compares them with what an H200 wrote.

The inputs are those of tests/device (inputs.py), the outputs' digests those of tests/corpus/manifest.jsonl.
"""
import collections
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
for _folder in (HERE.parent / "device", HERE.parent / "corpus"):
    sys.path.insert(0, str(_folder))

import inputs

POISON = 0x5A  # what arena.py leaves in outputs
CHUNK = 4      # kernels a process
DEVICE = 90    # compute capability, times ten, of the GPU that made the digests
APPROXIMATE = re.compile(r"\.(?:approx|full)\b|^\s*(?:@!?%\S+\s+)?(?:ex2|lg2|sin|cos|tanh|rsqrt)\.", re.M)
DRAWS = list(range(inputs.DRAWS))
SEEDS = 16  # draw d is distribution d % SEEDS; d // SEEDS enters the seed where it is not 0

# Verdicts on a kernel.
EQUAL = "equal"                # every draw's bytes are the GPU's
DIFFERENT = "different"        # some draw's are not
UNANSWERED = "unanswered"      # needs values of approximate functions; the other draws are the GPU's
UNDEFINED = "undefined"        # writes what was never written
NO_SIGNATURE = "no signature"  # nothing is claimed
UNFINISHED = "unfinished"      # the time for one kernel was up
NOT_RUN = "not run"            # the time for the whole run was up
FAILED = "failed"


def load_rows(manifest, only=None):
    """Rows that a GPU ran and that describe their inputs."""
    rows = [json.loads(line) for line in open(manifest) if line.strip()]
    return [r for r in rows if r.get("digests") and "buffers" in r and (not only or r["group"] in only)]


def is_approximate(manifest, row):
    """Whether the kernel's text has approximate functions."""
    return bool(APPROXIMATE.search((pathlib.Path(manifest).parent / row["path"]).read_text()))


class Inputs:
    """Buffers of groups as files, FOLDER/<group>/<draw>/<buffer>, each group written once."""

    def __init__(self, folder, draws):
        self.folder, self.draws = pathlib.Path(folder), draws
        self._lock, self._locks = threading.Lock(), collections.defaultdict(threading.Lock)

    def of(self, row):
        with self._lock:
            lock = self._locks[row["group"]]
        with lock:
            folder = self.folder / row["group"]
            if not (folder / "complete").exists():
                self._write(row, folder)
            return folder

    def _write(self, row, folder):
        for draw in self.draws:
            seed = row["group"] if draw < SEEDS else f"{row['group']}/{draw // SEEDS}"
            (folder / str(draw)).mkdir(parents=True, exist_ok=True)
            for name, buffer in row["buffers"].items():
                if buffer["role"] == "out":
                    data = bytes([POISON]) * (buffer["elements"] * inputs.ITEM_BYTES[buffer["dtype"]])
                else:
                    data = inputs.buffer_bytes(seed, name, buffer, draw % SEEDS).tobytes()
                (folder / str(draw) / name).write_bytes(data)
        (folder / "complete").touch()

    def remove(self, group):
        shutil.rmtree(self.folder / group, ignore_errors=True)


def verdict(row, answer):
    """(verdict, draws that differ)."""
    if answer is None:
        return NOT_RUN, []
    if "error" in answer:
        return FAILED, []
    if answer["status"] != "OK":
        return NO_SIGNATURE, []
    if "digests" not in answer:
        return UNFINISHED, []
    pairs = list(zip(answer["draws"], answer["digests"]))
    wrong = [d for d, digest in pairs if digest is not None and digest != row["digests"][d]]
    if wrong:
        return DIFFERENT, wrong
    if all(digest is not None for _, digest in pairs):
        return EQUAL, []
    return (UNANSWERED if any(answer["unanswered"]) else UNDEFINED), []


class Task:
    """Kernels of one group, for one process."""

    def __init__(self, rows):
        self.rows = rows
        self.key = rows[0]["group"], rows[0]["id"]


def make_tasks(rows, size=CHUNK):
    """Tasks of at most `size` kernels."""
    groups = collections.OrderedDict()
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    return [Task(members[i:i + size]) for members in groups.values() for i in range(0, len(members), size)]


def evaluate(binary, manifest, task, folder, draws, seconds, extra=()):
    """The tool's answers by id; kernels after one that crashed the tool fail."""
    return ask(binary, manifest, task, ["--inputs", str(folder), "--seconds", str(seconds),
                                        "--draws", ",".join(map(str, draws)), *extra])


def ask(binary, manifest, task, options):
    command = [str(binary), "--device", str(DEVICE), "--manifest", str(manifest), *options, *[r["id"] for r in task.rows]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    for row in task.rows:
        answers.setdefault(row["id"], {"error": f"the tool ended with {done.returncode}: {done.stderr.strip()[:300]}"})
    return answers


class Progress:
    """A line now and then: kernels done, by verdict."""

    def __init__(self, total, every=5.0):
        self.total, self.every, self.begin, self.last = total, every, time.monotonic(), 0.0
        self.counts = collections.Counter()

    def add(self, name):
        self.counts[name] += 1
        now = time.monotonic()
        if now - self.last >= self.every or sum(self.counts.values()) == self.total:
            self.last = now
            parts = ", ".join(f"{n} {name}" for name, n in sorted(self.counts.items()))
            print(f"{sum(self.counts.values())}/{self.total} after {now - self.begin:.0f} s: {parts}", flush=True)


def choose(binary, manifest, rows, jobs):
    """{id: id of the kernel that is evaluated for it}: the first of its group with its signature."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(lambda task: ask(binary, manifest, task, ["--signatures"]), make_tasks(rows, 32)))
    signatures = {name: answer.get("signature") for answers in found for name, answer in answers.items()}
    first = {}
    return {r["id"]: first.setdefault((r["group"], signatures[r["id"]] or r["id"]), r["id"]) for r in rows}


def evaluate_all(rows, chosen, jobs, work, deadline=None, size=CHUNK):
    """Answers by id for all rows; None where `deadline` (time.monotonic()) had passed.

    work(task) gives answers of a task by id; only rows that `chosen` maps to themselves are in tasks.
    """
    progress, answers, lock = Progress(len(rows)), {}, threading.Lock()
    followers = collections.defaultdict(list)
    for row in rows:
        followers[chosen[row["id"]]].append(row)

    def finish(task):
        late = deadline is not None and time.monotonic() > deadline
        found = {} if late else work(task)
        with lock:
            for chosen_row in task.rows:
                answer = found.get(chosen_row["id"])
                for row in followers[chosen_row["id"]]:
                    same = row is chosen_row or answer is None
                    answers[row["id"]] = answer if same else {**answer, "id": row["id"], "same_as": chosen_row["id"]}
                    progress.add(verdict(row, answers[row["id"]])[0])

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tasks = make_tasks([r for r in rows if chosen[r["id"]] == r["id"]], size)
        list(pool.map(finish, reversed(tasks)))  # the long ones, attention and matrix products, are at the end
    return answers


def figures_of(rows, answers, draws):
    """What a record says about a run."""
    verdicts = {row["id"]: verdict(row, answers[row["id"]]) for row in rows}
    counts = collections.Counter(v for v, _ in verdicts.values())
    equal = [r for r in rows if verdicts[r["id"]][0] == EQUAL]
    approximate = [r for r in equal if answers[r["id"]].get("asked")]
    times = sorted(a["seconds"] for a in answers.values() if a and "digests" in a and "same_as" not in a)
    return {
        "kernels": len(rows), "draws": len(draws), **dict(sorted(counts.items())),
        "equal_without_approximate_functions": len(equal) - len(approximate),
        "equal_with_approximate_functions": len(approximate),
        "equal_by_family": dict(sorted(collections.Counter(r["family"] for r in equal).items())),
        "evaluated": len(times),
        "equal_to_an_evaluated_map": sum(1 for a in answers.values() if a and "same_as" in a),
        "elements": sum(a.get("evaluated", 0) for a in answers.values() if a and "same_as" not in a),
        "seconds_a_kernel": {"median": round(times[len(times) // 2], 3), "largest": round(times[-1], 3)} if times else {},
    }


def print_troubles(rows, answers):
    for row in rows:
        name, wrong = verdict(row, answers[row["id"]])
        if name == DIFFERENT:
            print(f"{row['id']}: differs on draws {wrong}")
        elif name == FAILED:
            print(f"{row['id']}: {answers[row['id']]['error']}")
    reasons = collections.Counter(a["reason"] for a in answers.values() if a and "reason" in a)
    for reason, times in reasons.most_common():
        print(f"no signature: {times} x {reason}")
