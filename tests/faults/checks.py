"""What must hold of the database and of the jobs after each fault."""
import collections
import hashlib
import json
import shutil
import sqlite3

COUNTS = {
    "ended jobs with open tasks": "SELECT count(*) FROM jobs WHERE state <> 0 AND (open_tasks <> 0 OR EXISTS"
                                  " (SELECT 1 FROM tasks WHERE job = sequence AND tasks.state < 2))",
    "wrong counts of open tasks": "SELECT count(*) FROM jobs WHERE state = 0 AND open_tasks <>"
                                  " (SELECT count(*) FROM tasks WHERE job = sequence AND tasks.state < 2)",
    "jobs without tasks or body": "SELECT count(*) FROM jobs WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE job = sequence)"
                                  " OR NOT EXISTS (SELECT 1 FROM job_bodies WHERE job = sequence)",
    "completed tasks without a result": "SELECT count(*) FROM tasks WHERE state = 2 AND length(result) = 0",
    "succeeded jobs without a result": "SELECT count(*) FROM jobs JOIN job_bodies ON job = sequence"
                                       " WHERE state = 1 AND length(result) = 0",
    "tokens of two tasks": "SELECT count(*) FROM (SELECT token FROM tasks WHERE token > 0 GROUP BY token"
                           " HAVING count(*) > 1)",
    "tokens that were never given": "SELECT count(*) FROM tasks, counters WHERE name = 'lease_token' AND token > value",
    "attempts beyond the most": "SELECT count(*) FROM tasks WHERE attempt > max_attempts",
    "jobs that ended more or less than once": "SELECT abs(value - (SELECT count(*) FROM jobs WHERE state <> 0))"
                                              " FROM counters WHERE name = 'finished_jobs'",
    "wrong totals of kernels": "SELECT abs(kernels - (SELECT count(*) FROM kernels)) +"
                               " abs(text_bytes - (SELECT coalesce(sum(size_bytes), 0) FROM kernels)) FROM totals",
    "parts of tasks whose job has ended": "SELECT count(*) FROM task_units JOIN jobs ON job = sequence WHERE state <> 0",
    "kernels without text": "SELECT count(*) FROM kernels WHERE NOT EXISTS"
                            " (SELECT 1 FROM kernel_texts WHERE kernel = digest AND length(text) = size_bytes)",
}


class History:
    """What was once accepted or ended, and must stay so."""

    def __init__(self):
        self.jobs, self.results, self.attempts = {}, {}, 0

    def check(self, db, accepted, kernels, profiles):
        """Troubles of an open database; `accepted` jobs, `kernels` and `profiles`: by name, before it was opened."""
        troubles = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        troubles += [f"foreign key: {row}" for row in db.execute("PRAGMA foreign_key_check")]
        for what, sql in COUNTS.items():
            (count,) = db.execute(sql).fetchone()
            if count:
                troubles.append(f"{count} {what}")
        jobs = {f"operations/{row[0]}": row[1:] for row in db.execute("SELECT id, state, end_time_micros, error FROM jobs")}
        troubles += [f"{name} was accepted and is not there" for name in accepted if name not in jobs]
        stored = {row[0].hex() for row in db.execute("SELECT digest FROM kernels")}
        troubles += [f"{name} was accepted and is not there" for name in kernels if name.split("/")[1] not in stored]
        digests = {hashlib.sha256(row[1]).digest() == row[0] and row[0].hex()
                   for row in db.execute("SELECT digest, text FROM arch_profiles")}
        troubles += [f"{name} was accepted and is not there" for name in profiles if name.split("/")[1] not in digests]
        troubles += [f"{name} ended as {end} and is {jobs.get(name)}" for name, end in self.jobs.items()
                     if jobs.get(name) != end]
        self.jobs = {name: job for name, job in jobs.items() if job[0] != 0}
        results = {row[:2]: hashlib.sha256(row[2]).digest()
                   for row in db.execute("SELECT job, task, result FROM tasks WHERE state = 2")}
        troubles += [f"the result of task {key} changed" for key, digest in self.results.items()
                     if results.get(key) != digest]
        self.results = results
        (self.attempts,) = db.execute("SELECT count(*) FROM task_attempts").fetchone()
        return troubles

    def check_files(self, folder, scratch, accepted, kernels, profiles):
        """The same for the files as a dead server left them: of a copy, so that the server recovers them by itself."""
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        for path in folder.iterdir():
            if path.name.startswith("samebits.db"):
                shutil.copy(path, scratch / path.name)
        db = sqlite3.connect(scratch / "samebits.db")
        try:
            return self.check(db, accepted, kernels, profiles)
        finally:
            db.close()

    def check_live(self, path, accepted, kernels, profiles):
        """The same for the database of a running server."""
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30, isolation_level=None)
        try:
            db.execute("BEGIN")
            return self.check(db, accepted, kernels, profiles)
        finally:
            db.close()


def stored_texts(path):
    """The texts of all kernels and profiles by name."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        rows = {"kernels": "SELECT kernel, text FROM kernel_texts", "archProfiles": "SELECT digest, text FROM arch_profiles"}
        return {f"{kind}/{digest.hex()}": text for kind, sql in rows.items() for digest, text in db.execute(sql)}
    finally:
        db.close()


LOST = ("did not report in time", "has started anew", "is stopping")  # causes of attempts that faults cost


def check_jobs(ask, verifications, numerics):
    """Troubles of the answers about all jobs, and how many there are in which state."""
    troubles, states, shown, reports = [], collections.Counter(), {}, set()
    accepted = {**verifications, **numerics}
    names = list(accepted.values())
    for begin in range(0, len(names), 100):
        for line in ask("jobs", *names[begin:begin + 100]).stdout.splitlines():
            operation = json.loads(line)
            shown[operation.get("name")] = operation
    for request, name in accepted.items():
        operation = shown.get(name)
        if operation is None:
            troubles.append(f"{request}: {name} is not there")
            continue
        states[operation["state"]] += 1
        if operation["state"] == "FAILED" and any(cause in operation["error"]["message"] for cause in LOST):
            states["of them all attempts lost"] += 1  # ended, with its cause
            continue
        result = operation.get("verify_kernels")
        if operation["state"] != "SUCCEEDED":
            troubles.append(f"{name}: {operation['state']}: {operation.get('error')}")
        elif request in numerics:
            reports.add(json.dumps(operation.get("numerics"), sort_keys=True))
        elif result["agreement"] != "CONSISTENT" or len(result["classes"]) != 1 or result["devices"][0].get("error"):
            troubles.append(f"{name}: {result['agreement']}, {len(result['classes'])} classes, {result['devices']}")
    if len(reports) > 1 or "null" in reports:
        troubles.append(f"one request of numerics has {len(reports)} results: {[report[:300] for report in reports][:3]}")
    if len(set(names)) != len(names):
        troubles.append("two requests have one job")
    return troubles, states
