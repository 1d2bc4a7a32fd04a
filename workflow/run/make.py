"""Make records: of all seeds of a cell, of initial designs, of studies.

Every seed is its own record, written atomically; one that is complete and current is kept, a stale
one is set aside, anything else in its place is refused. While a process makes a record others wait
(`lease`), a long run saves itself (`checkpoint`), and an evaluation that takes too long ends its
run, which is then its result (`watchdog`).
"""

from __future__ import annotations

import importlib
import logging
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import algorithms
from algorithms.api import Optimizer
from problems.api import Evaluation, Problem
from workflow.plan.cells import Cell, Study
from workflow.plan.digest import with_data
from workflow.run import async_loop, checkpoint, lease, loop, watchdog
from workflow.run.instance import NoDesign, build_problem, initial_design, parameters_of
from workflow.run.lease import Lease
from workflow.run.watchdog import Watchdog
from workflow.trace import record, seeds

log = logging.getLogger("noregret.run")
NOTHING: record.Columns = {"evaluation": np.arange(0)}


@dataclass(frozen=True)
class Limits:
    """When a run stops (after a whole step), how often it saves itself, how long it waits for
    another process, in seconds.
    """

    seconds: float = float("inf")
    checkpoint_every: float = 60.0
    wait: float = lease.WAIT


@dataclass(frozen=True)
class Made:
    """A record: the hash of its trace, its status, and the seconds that this process spent on what
    it is about.

    That is asking, telling, evaluating, constructors, designs and studies; 0 for a record that was
    there.
    """

    trace_sha256: str
    status: str
    seconds: float = 0.0


def run_cell(
    cell: Cell, *, output: Path | None = None, limits: Limits = Limits()
) -> dict[int, Made]:
    """Make the records of all seeds of a cell."""
    return {seed: run_seed(cell, seed, output or cell.record(seed), limits) for seed in cell.seeds}


def run_seed(cell: Cell, seed: int, path: Path, limits: Limits) -> Made:
    """Make one record unless it is there, complete and current."""
    with Lease(path, wait=limits.wait) as held:
        run = _Run(cell, seed, path)
        if (kept := _existing(path, run.digest)) is not None:
            return kept
        with _watched(cell, path, held, run.described, run.columns) as dog:
            run.problem = dog.guarded(run.problem)
            try:
                run.begin()
            except NoDesign as error:
                return Made(
                    record.write(path, {**run.described(), **error.header}, NOTHING), record.TIMEOUT
                )
            run.go_on(held, limits)
            return run.end()


class _Run:
    """One seed of a cell under way: begun, gone on with until its budget or its time is spent, and
    ended by its record.
    """

    def __init__(self, cell: Cell, seed: int, path: Path) -> None:
        self.cell, self.seed, self.path = cell, seed, path
        self.problem = build_problem(cell, seed)
        self.digest = with_data(cell.digest, self.problem.data_sha256)
        self.progress: loop.Progress | None = None
        self.setup = 0.0  # CPU seconds of the constructor
        self.before = 0.0  # seconds that other processes have spent on it

    def begin(self) -> None:
        """Build the optimizer and tell it the initial design, or go on from a checkpoint.

        Raises NoDesign.
        """
        self.parameters = parameters_of(self.cell, self.problem)
        began = time.process_time()
        rng = seeds.optimizer(self.seed, self.cell.problem, self.cell.algorithm)
        kind = self.cell.algorithm_entry["is"]
        optimizer = algorithms.build(kind, self.problem.domain, rng, self.parameters)
        self.setup = time.process_time() - began
        if (resumed := checkpoint.resume(self.path, self.digest)) is not None:
            self.progress, self.before = resumed, _seconds(resumed.columns())
        else:
            self.progress = _started(
                self.cell, optimizer, *initial_design(self.cell, self.seed, self.problem)
            )

    def go_on(self, held: Lease, limits: Limits) -> None:
        """Step by step, saving itself now and then."""
        progress = self._begun
        began = saved = time.monotonic()
        cost = 0.0
        held.saved = progress.rows if self.before else 0
        while progress.rows < self.cell.budget and time.monotonic() - began < limits.seconds:
            _step(self.cell, self.seed, self.problem, progress)
            held.check()
            if time.monotonic() - saved > max(limits.checkpoint_every, 20 * cost):
                cost = checkpoint.save(self.path, self.digest, progress)
                saved, held.saved = time.monotonic(), progress.rows

    def end(self) -> Made:
        """Write the record: of a run that was cut, too, beside its checkpoint."""
        progress, columns = self._begun, self.columns()
        status = "complete" if progress.rows >= self.cell.budget else "cutoff"
        setup = self.setup + progress.given_seconds
        header = {**self.described(), "status": status, **self._recommended()}
        header |= {"algorithm_parameters": {**self.cell.algorithm_entry, **self.parameters}}
        header |= {
            "setup_seconds": setup,
            "given_seconds": progress.given_seconds,
            "cpu_seconds": setup + _seconds(columns),
        }
        found = record.write(self.path, {**header, "peak_mib": peak_mib()}, columns)
        if status == "complete":
            checkpoint.place(self.path).unlink(missing_ok=True)
        else:
            checkpoint.save(self.path, self.digest, progress)
        log.info(
            "%s seed %d: %d evaluations, %s",
            self.cell.name,
            self.seed,
            len(columns["evaluation"]),
            status,
        )
        return Made(found, status, setup + _seconds(progress.columns()) - self.before)

    def columns(self) -> record.Columns:
        """The rows so far, within the budget: an initial design may be longer than a very small
        one.
        """
        if self.progress is None:
            return NOTHING
        return {
            name: values[: self.cell.budget] for name, values in self.progress.columns().items()
        }

    def described(self) -> dict[str, Any]:
        """What is known of a run before it begins."""
        cell, problem = self.cell, self.problem
        return {
            "paper": cell.paper,
            "scale": cell.scale,
            "problem": cell.problem_name,
            "algorithm": cell.algorithm,
            "curve": cell.curve,
            "seed": self.seed,
            "budget": cell.budget,
            "initial": cell.problem_entry["init"]["n"],
            "problem_parameters": dict(cell.problem_entry),
            "digest": self.digest,
            "best": problem.best,
            "best_kind": problem.best_kind,
            "display": vars(problem.display),
            "data": problem.data,
            "data_sha256": problem.data_sha256,
            "provenance": record.provenance(),
        }

    def _recommended(self) -> dict[str, Any]:
        """What the optimizer recommends at the end, and how good that truly is."""
        final = self._begun.optimizer.recommend()
        shown = self.problem.evaluate(
            final, seeds.recommendation(self.seed, self.cell.problem)
        ).true
        return {
            "recommendation": {
                "query": final[0].tolist(),
                "true": float(shown.y[0]),
                "true_g": shown.g[0].tolist(),
            }
        }

    @property
    def _begun(self) -> loop.Progress:
        if self.progress is None:
            raise RuntimeError(f"{self.path}: expected a run that has begun")
        return self.progress


def _started(
    cell: Cell, optimizer: Optimizer, query: np.ndarray, evaluation: Evaluation
) -> loop.Progress:
    """The progress of a run that was told its initial design."""
    counted = cell.problem_entry["init"].get("counted", True)
    if cell.is_async:
        return async_loop.started(optimizer, query, evaluation, counted=counted)
    return loop.started(optimizer, query, evaluation, counted=counted)


def _step(cell: Cell, seed: int, problem: Problem, progress: loop.Progress) -> None:
    """One batch, or one event where workers do not wait for one another."""

    def noise(i: int) -> np.random.Generator:
        return seeds.noise(seed, cell.problem, i)

    if isinstance(progress, async_loop.Progress):
        async_loop.step(problem, progress, room=cell.room, noise=noise)
    else:
        loop.step(problem, progress, budget=cell.budget, room=cell.room, noise=noise)


def run_initial(cell: Cell, *, limits: Limits = Limits()) -> dict[int, Made]:
    """Make the records of the initial designs of all seeds."""
    return {seed: _run_initial(cell, seed, limits) for seed in cell.seeds}


def _run_initial(cell: Cell, seed: int, limits: Limits) -> Made:
    path = cell.initial_folder / f"{seed}.parquet"
    with Lease(path, wait=limits.wait) as held:
        problem = build_problem(cell, seed)
        digest = with_data(cell.initial_digest, problem.data_sha256)
        if (kept := _existing(path, digest)) is not None:
            return kept
        header = {"problem": cell.problem_name, "seed": seed, "digest": digest}
        with _watched(cell, path, held, lambda: header, lambda: NOTHING) as dog:
            began = time.process_time()
            columns = _design(*initial_design(cell, seed, dog.guarded(problem)))
            return Made(
                record.write(path, header, columns), "complete", time.process_time() - began
            )


def run_study(study: Study, *, limits: Limits = Limits()) -> dict[int, Made]:
    """Make the records of all seeds of a study."""
    return {seed: _run_study(study, seed, limits) for seed in study.seeds}


def _run_study(study: Study, seed: int, limits: Limits) -> Made:
    path = study.record(seed)
    with Lease(path, wait=limits.wait) as held:
        module, _, function = study.function.partition(".")
        run = getattr(importlib.import_module(f"workflow.studies.{module}"), function)
        problem = build_problem(study, seed)
        digest = with_data(study.digest, problem.data_sha256)
        if (kept := _existing(path, digest)) is not None:
            return kept
        header = {
            "paper": study.paper,
            "scale": study.scale,
            "study": study.id,
            "problem": study.problem,
            "seed": seed,
            "parameters": dict(study.parameters),
            "digest": digest,
            "status": "complete",
            "data": problem.data,
            "data_sha256": problem.data_sha256,
            "provenance": record.provenance(),
        }
        with _watched(study, path, held, lambda: header, lambda: NOTHING) as dog:
            began = time.process_time()
            columns = run(seed, dog.guarded(problem), **algorithms.grouped(run, study.parameters))
            spent = time.process_time() - began
            held.check()
            found = record.write(
                path, {**header, "cpu_seconds": spent, "peak_mib": peak_mib()}, columns
            )
        log.info("%s seed %d: complete", study.name, seed)
        return Made(found, "complete", spent)


def _watched(
    part: Cell | Study,
    path: Path,
    held: Lease,
    header: Callable[[], Mapping[str, Any]],
    rows: Callable[[], record.Columns],
) -> Watchdog:
    """A watchdog that writes down, as the result of this run, that an evaluation took too long: its
    rows before that.
    """
    seconds = float(part.problem_entry.get("timeout", watchdog.SECONDS))

    def expired(query: NDArray) -> None:
        columns = rows()
        timeout = {
            "seconds": seconds,
            "query": query[0].tolist(),
            "after": len(columns["evaluation"]),
        }
        record.write(path, {**header(), "status": record.TIMEOUT, "timeout": timeout}, columns)
        log.warning(
            "%s: an evaluation took more than %g s, which ended this run and is its result; to try"
            " again, remove that file (the limit is `timeout:` on the problem's line in"
            " papers/%s.yaml)",
            path,
            seconds,
            part.paper,
        )
        held.release()

    return Watchdog(seconds, expired)


def _design(query: NDArray, evaluation: Evaluation) -> record.Columns:
    """An initial design as columns."""
    columns = {
        "evaluation": np.arange(len(query)),
        "query": query,
        "y": evaluation.seen.y,
        "true": evaluation.true.y,
        "seconds": evaluation.seconds,
    }
    if evaluation.seen.g.shape[1]:
        columns |= {"g": evaluation.seen.g, "true_g": evaluation.true.g}
    if evaluation.seen.factor_values.shape[1]:
        columns |= {
            "factor_values": evaluation.seen.factor_values,
            "true_factor_values": evaluation.true.factor_values,
        }
    return columns


def _seconds(columns: record.Columns) -> float:
    """What asking, telling and evaluating took."""
    return sum(float(columns[f"timing.{part}"].sum()) for part in ("ask", "tell", "evaluate"))


def peak_mib() -> int:
    """The most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _existing(path: Path, digest: str) -> Made | None:
    """A record that may be kept; a cut one is continued, a stale one set aside, anything else
    refused.
    """
    record.sweep(path)
    if not path.exists():
        return None
    found = record.read(path)
    trace, status = str(found.header["trace_sha256"]), str(found.header.get("status", "complete"))
    if found.header.get("digest") == digest:
        return Made(trace, status) if status in record.FINAL else None
    aside = path.with_name(f"{path.name}.{trace[:8]}")  # equal names hold equal traces
    log.warning(
        "%s was made by other code, parameters or data: it is kept as %s, the run is made again",
        path,
        aside.name,
    )
    path.replace(aside)
    return None
