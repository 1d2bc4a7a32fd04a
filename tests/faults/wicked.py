"""A checkout that misbehaves as told, a process that makes its records, and what may come of it."""

import json
import secrets
import select
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from tests.faults import repeater
from tests.faults.wicked_deeds import DEEDS, SENTENCE
from tests.workflow import checkout
from workflow.trace import record

HERE = Path(__file__).parent
SEEDS, BUDGET, START = 3, 8, 2
TIMEOUT = 3.0  # seconds for one evaluation of a problem whose name ends so
PATIENCE = 600.0  # seconds for one command
# of problems: with workers that never wait for one another, with data that existed before
DOMAINS = {"box": "box", "arms": "arms", "workers": "box", "data": "box"}
KINDS = [f"{name}{end}" for end in ("", "-hurried") for name in DOMAINS]


def line(kind):
    """A problem as in the paper's YAML."""
    name, _, hurried = kind.partition("-")
    more = ", execution: async" if name == "workers" else ""
    counted = ", counted: false" if name == "data" else ""
    more += f", timeout: {TIMEOUT}" if hurried else ""
    return (
        f"  {kind}: {{is: wicked_problem.hill, domain: {DOMAINS[name]}, seed: seed, room: 2,"
        f" budget: {BUDGET}, init: {{design: uniform, n: {START}{counted}}}{more}}}"
    )


PAPER = f"""
paper: {{key: wicked, title: Those who misbehave, venue: nowhere}}
scales: {{smoke: {{}}, short: {{}}, paper: {{}}}}
seeds: {SEEDS}
problems:
{chr(10).join(line(kind) for kind in KINDS)}
algorithms:
  search: {{is: wicked_search.Search, repetition: {{given: repetition}}}}
runs: [{{}}]
figures:
  - {{id: best, title: Best, metric: simple_regret, curves: [search], panels: [{{problem: box,
       title: A}}]}}
"""
# what cannot be saved, which is tried after the first step of every run
UNWRITTEN = (
    "tell: cannot be pickled",
    "tell: holds a generator",
    "tell: holds a lock",
    "tell: is endless when pickled",
    "tell: raises when pickled",
)
# what says to a person what to do now
REMEDIES = (
    "correct ",
    "look at ",
    "give it more",
    "make room",
    "then run again",
    "change its mode",
)


class Wicked:
    """The checkout and its process. Context manager."""

    def __init__(self, folder):
        self.copy = checkout.make(folder)
        (self.copy / "papers" / "mini.yaml").unlink()
        (self.copy / "papers" / "wicked.yaml").write_text(PAPER)
        for name, place in (("problem", "problems"), ("search", "algorithms"), ("deeds", ".")):
            shutil.copy(HERE / f"wicked_{name}.py", self.copy / place)
        shutil.copy(HERE / "repeater.py", self.copy)
        (self.copy / "elsewhere").mkdir()
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop()

    def run(self, kind, *more):
        """All seeds of a problem, by the command line of `workflow.run`."""
        process = self._start()
        order = ["wicked", kind, "search", f"0-{SEEDS - 1}", "--scale", "smoke", *more]
        print(json.dumps(order), file=process.stdin, flush=True)
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        answer = process.stdout.readline() if ready else ""
        if not answer:
            said = (self.copy / "err").read_text(errors="replace")
            self._stop()
            raise AssertionError(f"the command {'died' if ready else 'hangs'}: {said}")
        return SimpleNamespace(**json.loads(answer))

    def folder(self, kind):
        return self.copy / "results" / "smoke" / "wicked" / kind / "search"

    def path(self, kind, seed):
        return self.folder(kind) / f"{seed}.parquet"

    def clear(self):
        for name in ("results", "state"):
            shutil.rmtree(self.copy / name, ignore_errors=True)

    def ask(self, deeds):
        """What is to be done: name, where, step and seed of each."""
        place = self.copy / "deeds.json"
        place.unlink(missing_ok=True)
        if deeds:
            place.write_text(json.dumps(deeds), encoding="utf-8")

    def beside(self, kind):
        """The names of all that lies beside records, hidden files among them."""
        found = self.folder(kind).iterdir() if self.folder(kind).is_dir() else ()
        return {path.name for path in found if path.suffix != ".parquet"}

    def saves(self):
        return list((self.copy / "state").rglob("*.checkpoint"))

    def _start(self):
        if self._process is None:
            environment = {**checkout.offline(self.copy), "OMP_NUM_THREADS": "1"}
            environment[repeater.TOKEN] = secrets.token_hex(8)
            environment["XDG_STATE_HOME"] = str(self.copy / "state")
            with (self.copy / "err").open("wb") as errors:
                self._process = subprocess.Popen(
                    [sys.executable, "repeater.py"],
                    cwd=self.copy,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
            print(json.dumps(["wicked", KINDS[0], "search"]), file=self._process.stdin, flush=True)
        return self._process

    def _stop(self):
        """What it has started dies with it."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.communicate()
            self._process = None


def outcomes(deeds, seed):
    """What may come of one seed; not "same" where a deed alone keeps it from being so."""
    done = [
        SENTENCE if name in UNWRITTEN and step <= 1 else DEEDS[name].outcomes
        for name, _, step, whose in deeds
        if whose == seed
    ]
    allowed = {"same"}.union(*done)
    return allowed if all("same" in one for one in done) else allowed - {"same"}


def outcome(wicked, kind, seed, expected, told):
    """What has come of one seed, verified: same, timeout, sentence or nothing."""
    path = wicked.path(kind, seed)
    who = f"wicked/{kind}/search seed {seed}: "
    said = [f"error: {part}" for part in told.split("error: ")[1:]]  # of one line or of many
    sentences = [part for part in said if who in part.partition("\n")[0]]
    found = record.read(path) if path.exists() else None
    status = None if found is None else found.header["status"]
    if found is not None and status != "complete":
        is_prefix(found, expected)
    if status == "complete":
        same(found, expected)
        return "same"
    if status == "timeout":
        assert not sentences
        cut = found.header["timeout"]
        assert (cut["seconds"], cut["after"]) == (TIMEOUT, found.rows)
        return "timeout"
    if not sentences:
        return "nothing"
    (sentence,) = sentences
    assert any(remedy in sentence for remedy in REMEDIES), sentence
    assert len(sentence.partition("\n")[0]) < 3000
    return "sentence"


def same(found, expected):
    """All that both hold is the same, bit for bit; what an optimizer reports is its own."""
    is_prefix(found, expected)
    assert found.rows == expected.rows
    assert found.header["recommendation"] == expected.header["recommendation"]
    own = [name for name in found.columns if name.startswith("report.")]
    if own == ["report.known"]:
        assert found.header["trace_sha256"] == expected.header["trace_sha256"]


def is_prefix(found, expected):
    """Its rows are the first ones of the other record."""
    assert found.rows <= expected.rows
    for name in set(found.columns) | set(expected.columns):
        if found.rows and not name.startswith(("timing.", "report.")):
            one, other = found.columns[name], expected.columns[name]
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other[: found.rows], err_msg=name)


def state(told):
    """What a command may leave behind in the process that gave it: nothing."""
    return {"out": told.out, "left": told.left, "changed": told.changed, "more": told.handles > 0}


CLEAN = {"out": "", "left": [], "changed": [], "more": False}
