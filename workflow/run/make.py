"""Make records: of one seed of a curve, of a study.

Every seed is its own record, written atomically to the store of its digest and handed out to its
place; one that is there is handed out again, anything else in its place is refused. Whoever calls
this holds the lease of the record. A long run saves itself (`checkpoint`), and an evaluation that
takes too long ends its run, which is then its result (`guard`).
"""

from __future__ import annotations

import importlib
import logging
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

import algorithms
from algorithms.api import Optimizer
from problems.api import Problem
from workflow.run import async_loop, boundary, checkpoint, loop
from workflow.run.guard import Guard, TooLong
from workflow.run.instance import build_problem, initial_design, parameters_of
from workflow.run.target import Target
from workflow.trace import by_digest, record, seeds
from workflow.trace.atomic import sweep
from workflow.trace.curves import AnyCurve, Curve, Study, with_data

log = logging.getLogger("noregret.run")
NOTHING: record.Columns = {"evaluation": np.arange(0)}


def make(target: Target, guard: Guard | None = None) -> None:
    """Make a record unless it is there, complete and current."""
    guard = Guard(target.seed) if guard is None else guard
    sweep(target.path)  # who holds the lease is alone here
    if isinstance(target.curve, Study):
        _make_study(target.curve, target, guard)
    else:
        _Run(target.curve, target, guard).make()


def load(curve: AnyCurve) -> None:
    """Import what every run of a curve or a study needs, and ask once for what they all write."""
    code(curve)
    if "data" in curve.problem_entry:
        importlib.import_module("workflow.data.fetch")
        importlib.import_module("pandas")  # pyarrow does so when it reads a table
    record.provenance()


def code(curve: AnyCurve) -> Callable[..., Any]:
    """The class of a curve's algorithm, or the function of a study; what it needs is imported."""
    if isinstance(curve, Curve):
        for library in curve.algorithm_entry.get("libraries", []):
            with suppress(ImportError):  # the method says how to get one that is missing
                importlib.import_module(library)
        return algorithms.load(curve.algorithm_entry["is"])
    module, _, function = curve.function.partition(".")
    function_of_study: Callable[..., Any] = getattr(
        importlib.import_module(f"workflow.studies.{module}"), function
    )
    return function_of_study


class _Run:
    """One seed of a curve under way: begun, gone on with until its budget is spent, and ended by
    its record.
    """

    def __init__(self, curve: Curve, target: Target, guard: Guard) -> None:
        self.curve, self.target, self.guard, self.seed = curve, target, guard, target.seed
        place = checkpoint.folder()
        self.problem = _problem(curve, target, guard)
        self.digest = with_data(curve.digest, self.problem.data_sha256)
        self.checkpoint = checkpoint.Checkpoint(place, self.digest, self.seed)
        self.progress: loop.Progress | None = None
        self.setup = 0.0  # CPU seconds of the constructor
        self.work = 0.0  # CPU seconds of the run and its children, on what the run is about

    def make(self) -> None:
        """Make the record unless it is there."""
        if not _is_there(self.target, self.described()):
            try:
                progress = self.begin()
                self.go_on(progress)
                header = self.described() | self.ended(progress)
            except TooLong as error:
                header = self.described() | _timeout(self.target, error, self.columns())
            _write(self.target, header, self.columns())
        self.checkpoint.clear()

    def begin(self) -> loop.Progress:
        """Build the optimizer and tell it the initial design, or go on from a checkpoint.

        Raises TooLong.
        """
        parameters = parameters_of(self.curve, self.problem)
        self.parameters = parameters
        code(self.curve)  # what an import costs is no cost of the method
        rng = seeds.optimizer(self.seed, self.curve.problem, self.curve.algorithm)
        with self._working():
            began = time.process_time()
            optimizer = algorithms.build(
                self.curve.algorithm_entry["is"],
                boundary.domain(self.problem.domain),
                rng,
                parameters,
            )
            self.setup = time.process_time() - began
        progress = self.checkpoint.resume()
        if progress is None:
            with self._working():
                design = initial_design(self.curve, self.seed, self.problem)
                started = async_loop.started if self.curve.is_async else loop.started
                counted = self.curve.problem_entry["init"].get("counted", True)
                progress = started(optimizer, *design, counted=counted)
        else:
            self.work = progress.work
        self.guard.number = progress.given + getattr(progress, "begun", progress.rows)
        self.progress = progress
        return progress

    def go_on(self, progress: loop.Progress) -> None:
        """Step by step, saving itself now and then.

        Raises TypeError at the first step of an optimizer that could not be saved, TooLong.
        """
        saved, cost = time.monotonic(), 0.0
        checked = False
        while progress.rows < self.curve.budget:
            with self._working():
                _step(self.curve, self.seed, self.problem, progress)
            if not checked:
                checkpoint.check(progress)
                checked = True
            if time.monotonic() - saved > max(self.target.checkpoint_every, 20 * cost):
                progress.work = self.work
                cost = self.checkpoint.save(progress)
                saved = time.monotonic()

    def ended(self, progress: loop.Progress) -> dict[str, Any]:
        """What is known of a run at its end. Raises TooLong."""
        given = progress.given_seconds
        return {
            "status": "complete",
            **self._recommended(progress.optimizer),
            "algorithm_parameters": {**self.curve.algorithm_entry, **self.parameters},
            "setup_seconds": self.setup + given,
            "given_seconds": given,
            "cpu_seconds": self.work,
            "peak_mib": peak_mib(),
        }

    def columns(self) -> record.Columns:
        """The rows so far, within the budget: an initial design may be longer than a very small
        one.
        """
        # data that existed before are no rows
        if self.progress is None or not self.progress.rows:
            return NOTHING
        return {
            name: values[: self.curve.budget] for name, values in self.progress.columns().items()
        }

    def described(self) -> dict[str, Any]:
        """What is known of a run before it begins."""
        curve, problem = self.curve, self.problem
        return {
            "paper": curve.paper,
            "scale": curve.scale,
            "problem": curve.problem_name,
            "algorithm": curve.algorithm,
            "curve": curve.label,
            "seed": self.seed,
            "budget": curve.budget,
            "initial": curve.problem_entry["init"]["n"],
            "problem_parameters": dict(curve.problem_entry),
            "digest": self.digest,
            "best": problem.best,
            "best_kind": problem.best_kind,
            "display": vars(problem.display),
            "data": problem.data,
            "data_sha256": problem.data_sha256,
            "provenance": record.provenance(),
        }

    def _recommended(self, optimizer: Optimizer) -> dict[str, Any]:
        """What the optimizer recommends at the end, and how good that truly is.

        Raises BadAnswer where it is no query, ArithmeticError where it is worth no finite number.
        """
        with self._working():
            answer, who = optimizer.recommend(), f"{type(optimizer).__name__}.recommend"
            final = boundary.query(self.problem.domain, answer, 1, who)
            shown = loop.evaluate(
                self.problem,
                final,
                lambda _: seeds.recommendation(self.seed, self.curve.problem),
                first=self.guard.number,
            ).true
        return {
            "recommendation": {
                "query": final[0].tolist(),
                "true": float(shown.y[0]),
                "true_g": shown.g[0].tolist(),
            }
        }

    @contextmanager
    def _working(self) -> Iterator[None]:
        """What happens within is what the run is about."""
        began = used()
        try:
            with self.guard.around():
                yield
        finally:
            self.work += used() - began


def _step(curve: Curve, seed: int, problem: Problem, progress: loop.Progress) -> None:
    """One batch, or one event where workers do not wait for one another."""

    def noise(i: int) -> np.random.Generator:
        return seeds.noise(seed, curve.problem, i)

    if isinstance(progress, async_loop.Progress):
        async_loop.step(problem, progress, room=curve.room, noise=noise)
    else:
        loop.step(problem, progress, budget=curve.budget, room=curve.room, noise=noise)


def _make_study(study: Study, target: Target, guard: Guard) -> None:
    run = code(study)
    problem = _problem(study, target, guard)
    header = {
        "paper": study.paper,
        "scale": study.scale,
        "study": study.id,
        "problem": study.problem,
        "seed": target.seed,
        "parameters": dict(study.parameters),
        "digest": with_data(study.digest, problem.data_sha256),
        "status": "complete",
        "data": problem.data,
        "data_sha256": problem.data_sha256,
    }
    if _is_there(target, header):
        return
    began = used()
    try:
        with guard.around():
            columns = run(target.seed, problem, **algorithms.grouped(run, study.parameters))
    except TooLong as error:
        columns = NOTHING
        header |= _timeout(target, error, columns)
    spent = used() - began
    # what the study has loaded is known when it has ended
    header |= {"provenance": record.provenance(), "cpu_seconds": spent, "peak_mib": peak_mib()}
    _write(target, header, columns)


def _problem(curve: AnyCurve, target: Target, guard: Guard) -> Problem:
    """The problem of a seed with a guard around it."""
    return guard.guarded(guard.built(lambda: build_problem(curve, target.seed, target.root)))


def _timeout(target: Target, error: TooLong, columns: record.Columns) -> dict[str, Any]:
    """What a header says of an evaluation that took too long, after the rows that there are."""
    timeout = {
        "seconds": target.timeout,
        "query": error.query[0].tolist(),
        "after": len(columns["evaluation"]),
    }
    return {"status": record.TIMEOUT, "timeout": timeout}


def used() -> float:
    """CPU seconds of this process and of those of its children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def peak_mib() -> int:
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _is_there(target: Target, header: record.Header) -> bool:
    """Whether the record with the digest of a header was made before, at its place or handed out
    from the store. Another record in its place is taken into the store.

    Raises BadRecord where that is no record, or where a file of the user's has another one.
    """
    made = record.read(target.path) if target.path.exists() else None
    where = by_digest.place(target.root, header)
    if made is not None and by_digest.place(target.root, made.header) != where:
        if not target.stored:
            raise record.BadRecord(
                f"{target.path}: expected no file, or this very run, found another record: name"
                " another file, or move it away"
            )
        by_digest.keep(target.path, made.header, target.root)
        made = None
    if target.again:
        return False
    if made is None and target.stored:
        made = by_digest.finished(where)
        if made is not None:
            by_digest.hand_out(where, target.path)
    is_final = made is not None and made.header.get("status", "complete") in record.FINAL
    if is_final:
        log.info("%s: is there: %s", target.who, target.path)
    return is_final


def _write(target: Target, header: record.Header, columns: record.Columns) -> None:
    """Write a record to its place, and to the store if it is complete: how far another one came
    depends on the machine.
    """
    if target.stored and header["status"] == "complete":
        by_digest.write(target.path, target.root, header, columns)
    else:
        record.write(target.path, header, columns)
    rows, trace = len(next(iter(columns.values()))), record.trace_hash(columns)[:12]
    log.info("%s: %d evaluations, %s, trace %s", target.who, rows, header["status"], trace)
