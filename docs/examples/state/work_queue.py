"""A queue for several workers. A worker may die any time: its job is taken up again.

    work_queue.py add NAME...      put jobs into the queue
    work_queue.py work             work until all is done; says `done NAME` after each

A claim lapses after LEASE seconds, so that a dead worker's job comes back, and so a job may be
done twice. Its work must therefore be safe to repeat: here, a file of the job's name, renamed
into place.
"""

import os
import sys
import time
from pathlib import Path

import roost_state

LEASE = float(os.environ.get("LEASE", "60"))  # seconds, longer than a job ever takes
RESULTS = Path.home() / "results"


def add(names):
    def put(jobs):
        for name in names:
            jobs.setdefault(name, {"until": 0, "done": False})
        return jobs

    roost_state.update("queue", put, {})


def claim():
    """A job that nobody has, or None; no two workers get the same one."""
    taken = []

    def take(jobs):
        now = time.time()
        free = [name for name, job in jobs.items() if not job["done"] and job["until"] < now]
        for name in free[:1]:
            jobs[name]["until"] = now + LEASE
            taken.append(name)
        return jobs

    roost_state.update("queue", take, {})
    return taken[0] if taken else None


def work_on(name):
    part = RESULTS / f".{name}.{os.getpid()}.part"
    part.write_text(f"result of {name}\n")
    os.replace(part, RESULTS / f"{name}.txt")


def finish(name):
    def mark(jobs):
        jobs[name]["done"] = True
        return jobs

    roost_state.update("queue", mark)


def work():
    RESULTS.mkdir(exist_ok=True)
    while not all(job["done"] for job in roost_state.load("queue", {}).values()):
        name = claim()
        if name is None:  # others are at work on all that is left
            time.sleep(LEASE / 10)
            continue
        work_on(name)
        finish(name)
        print("done", name, flush=True)


if __name__ == "__main__":
    add(sys.argv[2:]) if sys.argv[1] == "add" else work()
