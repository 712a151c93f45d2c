"""Worker processes that run GPU jobs and may be lost: a fault or a hang costs one job, never the run.

A task is a list of jobs that share preparation (all kernels of one group, a base kernel and its mutants). The parent
never touches the GPU. A worker that reports a fault ends, since its context is lost; one that makes no progress for
`patience` seconds is killed; in both cases a new worker goes on with the task's next job.
"""
import dataclasses
import multiprocessing
import multiprocessing.connection
import os
import time


STARTS = 4  # attempts of a worker to open the device


@dataclasses.dataclass
class Task:
    key: str
    jobs: list           # run in order; results come back per job
    shared: object = None  # handed to the runner at the start, also after a loss
    done: int = 0


def _serve(pipe, make_runner):
    """Worker: builds a runner and answers tasks until the pipe closes. A runner's exception ends the process."""
    for attempt in range(STARTS):
        try:
            runner = make_runner()
            break
        except Exception as error:  # the device may need a moment after another process's fault
            if attempt + 1 == STARTS:
                pipe.send(("fault", None, f"start-up: {error}"[:300]))
                os._exit(1)
            time.sleep(1 + attempt)
    while True:
        task = pipe.recv()
        if task is None:
            os._exit(0)  # no driver teardown: the process ends anyway
        try:
            prepared = runner.prepare(task)
            for index in range(task.done, len(task.jobs)):
                pipe.send(("start", index, None))
                pipe.send(("result", index, runner.run(prepared, task.jobs[index])))
            runner.finish(prepared)
            pipe.send(("end", None, None))
        except Exception as error:  # reported, then the context is given up
            pipe.send(("fault", None, str(error)[:300]))
            os._exit(1)


class _Worker:
    def __init__(self, make_runner):
        self.pipe, child = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(child, make_runner), daemon=True)
        self.process.start()
        child.close()
        self.task, self.running, self.seen, self.fault = None, None, time.monotonic(), None

    def assign(self, task):
        self.task, self.running, self.fault, self.seen = task, None, None, time.monotonic()
        self.pipe.send(task)

    def close(self):
        self.process.kill()
        self.process.join(timeout=2)  # a process that hangs in the driver does not end
        self.pipe.close()


def run_tasks(tasks, make_runner, on_result, workers=8, patience=20.0, deadline=None):
    """Calls on_result(task, job, result); result is the runner's, or {"fault": reason}.

    A job that was running when its worker was lost gets the fault. A loss outside a job (start-up, preparation) is
    tried again twice, then all remaining jobs of the task get the fault. Past `deadline` (time.monotonic()) nothing
    new starts and the remaining jobs are left out; returns how many.
    """
    waiting, losses = list(reversed(tasks)), {}
    live = []
    while waiting or any(w.task for w in live):
        late = deadline is not None and time.monotonic() > deadline
        if late:
            break
        for worker in [w for w in live if w.task is None]:
            if waiting:
                worker.assign(waiting.pop())
        while waiting and len(live) < workers:
            live.append(_Worker(make_runner))
            live[-1].assign(waiting.pop())
        ready = multiprocessing.connection.wait([w.pipe for w in live if w.task], timeout=1.0)
        for worker in list(live):
            lost = None
            if worker.pipe in ready:
                try:
                    lost = _receive(worker, on_result)
                except (EOFError, OSError):
                    lost = worker.fault or "the worker process died"
            elif worker.task and time.monotonic() - worker.seen > patience:
                lost = "no progress in time"
            if lost:
                live.remove(worker)
                worker.close()
                _after_loss(worker, lost, waiting, losses, on_result)
    left = sum(len(t.jobs) - t.done for t in waiting + [w.task for w in live if w.task])
    for worker in live:
        worker.close()
    return left


def _receive(worker, on_result):
    """One message; returns a reason if the worker said that it is lost."""
    kind, index, payload = worker.pipe.recv()
    worker.seen = time.monotonic()
    if kind == "start":
        worker.running = index
    elif kind == "result":
        worker.running, worker.task.done = None, index + 1
        on_result(worker.task, worker.task.jobs[index], payload)
    elif kind == "end":
        worker.task = None
    else:
        return payload
    return None


def _after_loss(worker, reason, waiting, losses, on_result):
    task = worker.task
    if task is None:
        return
    if worker.running is not None:
        on_result(task, task.jobs[worker.running], {"fault": reason})
        task.done = worker.running + 1
    else:
        losses[task.key] = losses.get(task.key, 0) + 1
        if losses[task.key] > 2:
            for job in task.jobs[task.done:]:
                on_result(task, job, {"fault": reason})
            return
    if task.done < len(task.jobs):
        waiting.append(task)
