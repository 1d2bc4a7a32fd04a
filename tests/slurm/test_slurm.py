"""The workflow through a real Slurm on this machine: every record is that of a local run, whatever
is killed on the way.

Runs on the problem `held` wait inside an evaluation for as long as the checkout has a file `hold`,
so that a test meets them at work, and every evaluation leaves a line in `evaluations`, so that it
sees how often each was made.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.slurm import cluster
from tests.workflow import checkout
from workflow.trace import record

pytestmark = pytest.mark.slow  # a cluster, and whole workflows on it

PROBLEM = '''
"""The first table; every evaluation but the first, which is the initial design,
waits while there is a file `hold`.
"""

import itertools
import os
import time
from dataclasses import replace
from pathlib import Path

from problems import tables


def abalone(instance, *, data, noise, features, target):
    problem, calls = tables.abalone(instance, data=data, noise=noise, features=features,
    target=target), itertools.count()

    def evaluate(query, rng):
        while next(calls) and Path("hold").exists():
            time.sleep(0.1)
        with Path("evaluations").open("a") as file:
            file.write(f"{os.getpid()}\\n")
        return problem.evaluate(query, rng)

    return replace(problem, evaluate=evaluate)
'''
PAPER = """
paper: {key: mini, title: A tiny paper, venue: nowhere}
scales: {smoke: {seeds: 3, budget: 30}, short: {}, paper: {}}
seeds: 3
problems:
  abalone: {is: tables.abalone, data: abalone, noise: 0.01, features: z-scored,
    target: unit-interval, budget: 120,
            room: unlimited, init: {design: uniform, n: 1}}
  held: {is: held.abalone, data: abalone, noise: 0.01, features: z-scored, target: unit-interval,
    budget: 120,
         room: 1, init: {design: uniform, n: 1}}
algorithms:
  GP-UCB: {is: gp_ucb.GPUCB, bandwidth: 5, lam: 1.0e-4, xi: 0.01, norm: 1, delta: 1/T,
    beta: theorem, posterior: distinct-arms}
  uniform: {is: random_search.RandomSearch}
runs: [{problems: [abalone]}, {problems: [held], algorithms: [uniform]}]
figures:
  - {id: regret, title: Regret, metric: cumulative_regret, curves: [GP-UCB, uniform],
       panels: [{problem: abalone, title: A}]}
claims:
  - {id: better, where: nowhere, says: GP-UCB beats uniform search,
     check: {test: less, problems: [abalone], metric: cumulative_regret, left: [GP-UCB],
     right: [uniform]}}
"""
# so long that each has its job
MEASURED = """paper,problem,curve,evaluations,seconds,most,mib
mini,abalone,GP-UCB,120,1,1,200
mini,abalone,uniform,120,1,1,200
mini,held,uniform,120,1000,1000,200
"""
SEEDS = (0, 1, 2)
HELD = "results/smoke/mini/held/uniform"
TWO = SEEDS[:2]
RECORDS = [f"{HELD}/{seed}.parquet" for seed in TWO]
# Snakemake, but that it looks after its jobs every second; the plugin's pauses grow by ten. Each
# pause touches `rests`: while Snakemake asks Slurm, Ctrl-C finds no job that it could cancel.
SNAKEMAKE = """
import asyncio
import os
from pathlib import Path
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

def rest(self):
    Path("rests").touch()
    return asyncio.sleep(float(os.environ["PAUSE"]))

RemoteExecutor.sleep = rest
main()
"""
PATIENCE = 900.0  # seconds: a job starts four processes, which takes minutes on a loaded machine


def prepared(folder):
    """A checkout with the paper of these tests, in which nothing was run."""
    copy = checkout.make(folder)
    (copy / "papers" / "mini.yaml").write_text(PAPER)
    (copy / "papers" / "measured.csv").write_text(MEASURED)
    (copy / "problems" / "held.py").write_text(PROBLEM)
    return copy


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """A cluster of this machine, or the reason why there is none."""
    found = cluster.Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        found.start()
    except cluster.Unavailable as error:
        pytest.skip(str(error))
    yield found
    found.stop()


@pytest.fixture(scope="session")
def begun(tmp_path_factory):
    """A checkout with data, made locally."""
    copy = prepared(tmp_path_factory.mktemp("begun"))
    made = checkout.snakemake(copy, "--until", "fetch_or_substitute")
    assert made.returncode == 0, made.stderr
    return copy


@pytest.fixture(scope="session")
def local(begun, tmp_path_factory):
    """The same, finished without Slurm: what every other checkout is compared with."""
    copy = checkout.another(begun, tmp_path_factory.mktemp("local"))
    made = checkout.snakemake(copy)
    assert made.returncode == 0, made.stderr
    return copy


@pytest.fixture
def expected(local):
    """The hashes of the two records that most tests make."""
    return {
        place: trace for place, trace in traces(local, HELD).items() if int(Path(place).stem) in TWO
    }


@pytest.fixture
def each(local):
    """The evaluations of one run on `held` that is made once."""
    return evaluations(local) // len(SEEDS)


class Started:
    """`snakemake` with the profile, in a checkout, until it is waited for or killed."""

    def __init__(self, copy, *arguments, pause=1):
        self.said = copy / "main.log"
        environment = {**cluster.alone(checkout.offline(copy)), "PAUSE": str(pause)}
        command = [
            *(sys.executable, "-c", SNAKEMAKE, "--workflow-profile", "profiles/slurm"),
            *("--max-jobs-per-timespan", "100/1s", *arguments),
        ]
        with self.said.open("w") as out:
            self.process = subprocess.Popen(
                [*command, "--config", "scale=smoke"],
                cwd=copy,
                env=environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def wait(self):
        until(lambda: self.process.poll() is not None, f"the end of the workflow: {self.said}")
        return self.process.returncode

    def text(self):
        return text(self.said)


@pytest.fixture
def start(slurm):
    """Start workflows, none of which outlives the test, nor do their jobs."""
    started = []

    def begin(copy, *arguments, pause=1):
        started.append(Started(copy, *arguments, pause=pause))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
    cluster.cancel_all()


@pytest.fixture
def copy(begun, tmp_path):
    """A checkout with data whose runs on `held` wait."""
    copy = checkout.another(begun, tmp_path)
    (copy / "hold").touch()
    return copy


def text(path):
    """Of a log, which a job that is run again removes for a moment."""
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""


def until(is_so, what):
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, f"waited {PATIENCE:.0f} s for {what}"
        time.sleep(0.1)


def at_work(copy, seeds):
    """Wait until the runs of some seeds have begun."""
    until(
        lambda: all((copy / HELD / f"{seed}.running").exists() for seed in seeds),
        f"leases in {copy / HELD}",
    )


def job_of(seed):
    """The id of the running job that makes one seed on `held`."""
    rows = cluster.command(
        "squeue", "--noheader", "--states=RUNNING", "--format=%i %k"
    ).splitlines()
    (found,) = [row.split()[0] for row in rows if row.endswith(f"_held_uniform_{seed}")]
    return found


def asked_for(seed, jobs):
    """The memory that each job asked for, in their order, if it made one seed on `held`."""
    rows = cluster.command(
        "squeue", "--noheader", "--states=all", "--sort=i", "--format=%i %m %k"
    ).splitlines()
    return [
        row.split()[1]
        for row in rows
        if row.endswith(f"_held_uniform_{seed}") and row.split()[0] in jobs
    ]


def traces(copy, folder="results"):
    """The hash of every record by its place; what was set aside is among them, by its own name."""
    found = (path for path in sorted((copy / folder).rglob("*")) if ".parquet" in path.name)
    return {str(path.relative_to(copy)): record.read(path).header["trace_sha256"] for path in found}


def evaluations(copy):
    path = copy / "evaluations"
    return len(path.read_text().splitlines()) if path.exists() else 0


def assert_nothing_is_left(copy):
    """No lease, failure, checkpoint or half-written file."""
    names = {path.suffix for path in (copy / "results").rglob("*") if path.is_file()}
    assert names == {".parquet"}


def test_the_whole_workflow_survives_a_cancelled_and_a_killed_job(start, local, tmp_path):
    copy = prepared(tmp_path)
    (copy / "hold").touch()
    before = set(cluster.jobs())
    workflow = start(copy)
    at_work(copy, SEEDS)
    cancelled, killed = job_of(0), job_of(1)
    cluster.command("scancel", cancelled)
    victims = cluster.processes(killed)
    assert any("workflow.run mini held uniform 1" in line for line in victims.values())
    for pid in victims:
        with suppress(ProcessLookupError):  # some end with others
            os.kill(pid, signal.SIGKILL)
    (copy / "hold").unlink()

    assert workflow.wait() == 0, workflow.text()
    assert traces(copy) == traces(local)
    assert_nothing_is_left(copy)
    said = workflow.text()
    assert said.count("Trying to restart job") == 2, said
    for job, state in ((cancelled, "CANCELLED"), (killed, "FAILED")):
        assert f"SLURM-job '{job}' failed, SLURM status is: '{state}'" in said, said
    states = {job: state for job, state in cluster.jobs().items() if job not in before}
    assert (states.pop(cancelled), states.pop(killed)) == ("CANCELLED", "FAILED")
    assert set(states.values()) == {"COMPLETED"}
    jobs = {*states, cancelled, killed}
    assert [asked_for(seed, jobs) for seed in SEEDS] == [
        ["800M", "1600M"],
        ["800M", "1600M"],
        ["800M"],
    ]
    verdicts = Path("figures", "smoke", "mini", "verdicts.json")
    assert json.loads((copy / verdicts).read_text()) == json.loads((local / verdicts).read_text())


def test_jobs_that_outlive_the_workflow_are_waited_for(start, copy, expected, each):
    orphaned = start(copy, *RECORDS)
    at_work(copy, TWO)
    orphaned.process.kill()
    orphaned.wait()
    orphans = {job_of(seed) for seed in TWO}
    leases = {seed: (copy / HELD / f"{seed}.running").read_text() for seed in TWO}

    locked = start(copy, *RECORDS)
    assert locked.wait() != 0
    assert "--unlock" in locked.text()
    assert start(copy, "--unlock").wait() == 0
    resumed = start(copy, *RECORDS)
    logs = [copy / "logs" / "smoke" / "mini" / "held" / "uniform" / f"{seed}.log" for seed in TWO]
    until(lambda: all("waits for" in text(log) for log in logs), f"jobs that wait: {resumed.said}")
    assert {seed: (copy / HELD / f"{seed}.running").read_text() for seed in TWO} == leases
    assert orphans < set(cluster.jobs("RUNNING"))
    (copy / "hold").unlink()

    assert resumed.wait() == 0, resumed.text()
    assert traces(copy, HELD) == expected
    assert evaluations(copy) == len(TWO) * each
    assert_nothing_is_left(copy)
    assert "Trying to restart job" not in resumed.text()
    assert {cluster.jobs()[job] for job in orphans} == {"COMPLETED"}


def test_sigterm_lets_jobs_end_ctrl_c_cancels_them_and_the_same_command_makes_the_rest(
    start, copy, expected, each
):
    ended = start(copy, "--jobs", "1", *RECORDS)
    until(lambda: len(list((copy / HELD).glob("*.running"))) == 1, f"a run: {ended.said}")
    ended.process.send_signal(signal.SIGTERM)
    until(
        lambda: "Will exit after finishing currently running jobs" in ended.text(),
        f"an answer: {ended.said}",
    )
    (copy / "hold").unlink()
    assert ended.wait() != 0
    (first,) = (copy / HELD).glob("*.parquet")
    made = first.stat()
    assert evaluations(copy) == each

    (copy / "hold").touch()
    before = set(cluster.jobs())
    cancelled = start(copy, *RECORDS, pause=15)
    at_work(copy, tuple(seed for seed in TWO if first.stem != str(seed)))
    (copy / "rests").unlink(missing_ok=True)
    until((copy / "rests").exists, f"a pause: {cancelled.said}")
    cancelled.process.send_signal(signal.SIGINT)
    assert cancelled.wait() != 0
    until(lambda: not cluster.jobs(*cluster.LIVING), "the end of its jobs")
    assert [state for job, state in cluster.jobs().items() if job not in before] == ["CANCELLED"]
    assert list(traces(copy, HELD)) == [str(first.relative_to(copy))]

    (copy / "hold").unlink()
    resumed = start(copy, *RECORDS)
    assert resumed.wait() == 0, resumed.text()
    assert traces(copy, HELD) == expected
    assert (first.stat().st_ino, first.stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    assert_nothing_is_left(copy)
