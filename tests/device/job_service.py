"""A server of the built programs with workers that may be killed, for jobs on this machine's devices."""
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from local_service import free_port


def run(folder, *words, check=True):
    """Standard output of `samebits WORDS`, the program being in that folder."""
    result = subprocess.run([folder / "samebits", *words], capture_output=True, text=True)
    if check and result.returncode != 0:
        sys.exit(f"samebits {' '.join(map(str, words))}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class JobService:
    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.address = f"127.0.0.1:{free_port()}"
        self.server = subprocess.Popen([programs / "samebits", "serve", "--listen", self.address, "--data", folder / "data",
                                        "--lease-seconds", "2", "--metrics", "none"], stderr=open(folder / "server.txt", "w"))
        self._wait(lambda: self.ask("fleet", check=False))

    @staticmethod
    def _wait(condition, seconds=60):
        end = time.time() + seconds
        while not condition():
            if time.time() > end:
                sys.exit("the service does not start")
            time.sleep(0.1)

    def stop(self):
        self.server.terminate()
        self.server.wait()

    def ask(self, *words, check=True):
        return run(self.programs, *words, "--server", self.address, check=check)

    def worker(self, name, *options):
        process = subprocess.Popen([self.programs / "samebits-worker", "--server", self.address, "--id", name, *options],
                                   stdout=open(self.folder / f"{name}.txt", "w"), stderr=subprocess.STDOUT)
        self._wait(lambda: name in self.ask("fleet", check=False))
        return process

    def operation(self, name):
        return json.loads(self.ask("jobs", name, "--format", "json", check=False))

    def disturb(self, *words, part=0.4):
        """The operation of a command, at its end, whose first worker is killed when this part is done; what was seen of it."""
        first = self.worker("first")
        begin = time.time()
        name = self.ask(*words, "--no-wait").strip()
        done = total = 0
        while total == 0 or done < part * total:
            operation = self.operation(name)
            task = operation["tasks"][0]
            if operation["state"] not in ("QUEUED", "RUNNING"):
                sys.exit(f"it ended before it could be disturbed: {operation}")
            done, total = int(task.get("done", 0)), int(task.get("total", 0))
            time.sleep(0.02)
        first.kill()
        first.wait()
        second = self.worker("second")
        self.ask("jobs", name, "--watch", "--quiet", check=False)
        operation = self.operation(name)
        seconds = time.time() - begin
        second.terminate()
        second.wait()
        if operation["state"] != "SUCCEEDED":
            sys.exit(json.dumps(operation, indent=1))
        return operation, {"killed after": done, "of": total, "attempts": operation["tasks"][0]["attempt"], "seconds": round(seconds, 1)}
