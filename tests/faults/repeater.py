"""Runs command lines of `workflow.run` one after another in one process, as lines of JSON ask for.

Started in a checkout. The libraries are loaded once, here, and what is looked up once is looked up:
each command then takes a fraction of a second, since the processes that compute are forked from
this one, as ever.
"""

import json
import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

import torch

from workflow.plan.expand import load
from workflow.run import job, make
from workflow.run.target import Target
from workflow.trace import one_path

TOKEN = "NOREGRET_REPEATER"  # in the environment of this process and of whatever comes from it


def main():
    torch.set_num_threads(1)
    one_path.take()  # for this process and those of all runs
    warm(*json.loads(sys.stdin.readline()))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    handles = None
    for line in sys.stdin:
        order = json.loads(line)
        before = state()
        with Path("out").open("wb") as out, Path("err").open("wb") as err:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
        status = job.main(order)
        handles = opened() if handles is None else handles
        answer = {
            "status": status,
            "out": Path("out").read_text(encoding="utf-8", errors="replace"),
            "err": Path("err").read_text(encoding="utf-8", errors="replace"),
            "left": left(),
            "changed": [name for name, value in state().items() if value != before[name]],
            "handles": opened() - handles,
        }
        print(json.dumps(answer), file=answers, flush=True)


def warm(paper, problem, label):
    """Make a record here, and remove it."""
    curve = load(paper, "smoke").any_curve(problem, label)
    make.make(Target(curve, 0, curve.record(0)))
    shutil.rmtree("results")


def state():
    """What no run may change in the process that supervises it."""
    umask = os.umask(0)
    os.umask(umask)
    return {
        "folder": str(Path.cwd()),
        "umask": umask,
        "environment": dict(os.environ),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTSTP)],
    }


def opened():
    return len(list(Path("/proc/self/fd").iterdir()))


def left():
    """Processes that come from this one and still run; they are ended."""
    mine = f"{TOKEN}={os.environ[TOKEN]}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            pid = int(place.name)
            if pid != os.getpid() and mine in (place / "environ").read_bytes().split(b"\0"):
                found.append((place / "cmdline").read_text(errors="replace").replace("\0", " "))
                os.kill(pid, signal.SIGKILL)
    return found


if __name__ == "__main__":
    main()
