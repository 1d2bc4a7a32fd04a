"""Run cells of the plan: `python -m workflow.run PAPER PROBLEM CURVE SEEDS [-o FILE]`.

A curve is `algorithm[@reading][+variant]`. Every seed is its own record, written atomically; a record that is
complete and current is kept, a stale one is set aside, anything else in its place is refused. A long run leaves a
checkpoint from which it continues bit-identically. While a process makes a record no other one does; one that fails
leaves its error beside it (workflow/lease.py).
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import pickle
import resource
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import algorithms
from algorithms.api import Optimizer
from problems.api import Evaluation, Problem
from workflow import async_loop, fetch, loop, record, seeds
from workflow.digest import with_data
from workflow.instance import build_problem, initial_design, parameters_of
from workflow.lease import Lease, Refused
from workflow.plan import Cell, Paper, PlanError, Study, load, parse_seeds, seed_range

log = logging.getLogger("noregret.run")
TOLD = (
    PlanError,
    Refused,
    record.BadRecord,
    fetch.DataUnavailable,
    ArithmeticError,
    np.linalg.LinAlgError,
    ImportError,
    ChildProcessError,
)


@dataclass(frozen=True)
class Limits:
    """When a run stops (after a whole step) and how often it saves itself, in seconds."""

    seconds: float = float("inf")
    checkpoint_every: float = 60.0


def run_cell(cell: Cell, *, output: Path | None = None, limits: Limits = Limits()) -> dict[int, str]:
    """Make the records of all seeds of a cell; returns their trace hashes by seed."""
    return {seed: run_seed(cell, seed, output or cell.record(seed), limits) for seed in cell.seeds}


def run_seed(cell: Cell, seed: int, path: Path, limits: Limits) -> str:
    """Make one record unless it is there, complete and current; returns its trace hash."""
    with Lease(path) as lease:
        return _run_seed(cell, seed, path, limits, lease)


def _run_seed(cell: Cell, seed: int, path: Path, limits: Limits, lease: Lease) -> str:
    problem = build_problem(cell, seed)
    digest = with_data(cell.digest, problem.data_sha256)
    if (kept := _existing(path, digest)) is not None:
        return kept
    checkpoint = path.with_suffix(".checkpoint")
    kind = algorithms.load(cell.algorithm_entry["is"])
    parameters = parameters_of(cell, problem)
    setup = time.process_time()
    optimizer = kind(problem.domain, seeds.optimizer(seed, cell.problem, cell.algorithm), **parameters)
    setup = time.process_time() - setup
    progress = _resume(checkpoint, digest) or _started(cell, optimizer, *initial_design(cell, seed, problem))
    lease.saved = progress.rows if checkpoint.exists() else 0
    began = saved = time.monotonic()
    cost = 0.0
    while progress.rows < cell.budget and time.monotonic() - began < limits.seconds:
        _step(cell, seed, problem, progress)
        lease.renew()
        if time.monotonic() - saved > max(limits.checkpoint_every, 20 * cost):
            cost = _save(checkpoint, digest, progress)
            saved, lease.saved = time.monotonic(), progress.rows
    status = "complete" if progress.rows >= cell.budget else "cutoff"
    header = _header(cell, seed, problem, digest, progress, status)
    columns = _clipped(progress, cell.budget)
    setup += progress.given_seconds
    spent = setup + sum(float(columns[f"timing.{part}"].sum()) for part in ("ask", "tell", "evaluate"))
    header |= {"algorithm_parameters": {**cell.algorithm_entry, **parameters}}
    header |= {"setup_seconds": setup, "given_seconds": progress.given_seconds, "cpu_seconds": spent, "peak_mib": _peak_mib()}
    found = record.write(path, header, columns)
    if status == "complete":
        checkpoint.unlink(missing_ok=True)
    else:
        _save(checkpoint, digest, progress)
    log.info("%s seed %d: %d evaluations, %s", cell.name, seed, min(progress.rows, cell.budget), status)
    return found


def _started(cell: Cell, optimizer: Optimizer, query: np.ndarray, evaluation: Evaluation) -> loop.Progress:
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


def run_initial(cell: Cell) -> dict[int, str]:
    """Make the records of the initial designs of all seeds; returns their trace hashes by seed."""
    hashes = {}
    for seed in cell.seeds:
        path = cell.initial_folder / f"{seed}.parquet"
        with Lease(path):
            problem = build_problem(cell, seed)
            digest = with_data(cell.initial_digest, problem.data_sha256)
            kept = _existing(path, digest)
            hashes[seed] = kept if kept is not None else _write_initial(cell, seed, problem, digest, path)
    return hashes


def run_study(study: Study) -> dict[int, str]:
    """Make the records of all seeds of a study; returns their trace hashes by seed."""
    hashes = {}
    for seed in study.seeds:
        with Lease(study.record(seed)):
            hashes[seed] = _run_study(study, seed)
    return hashes


def _run_study(study: Study, seed: int) -> str:
    module, _, function = study.function.partition(".")
    run = getattr(importlib.import_module(f"workflow.studies.{module}"), function)
    problem = build_problem(study, seed)
    digest = with_data(study.digest, problem.data_sha256)
    path = study.record(seed)
    if (kept := _existing(path, digest)) is not None:
        return kept
    header = {"paper": study.paper, "scale": study.scale, "study": study.id, "problem": study.problem, "seed": seed,
              "parameters": dict(study.parameters), "digest": digest, "status": "complete", "data": problem.data,
              "data_sha256": problem.data_sha256, "provenance": record.provenance()}  # fmt: skip
    began = time.process_time()
    columns = run(seed, problem, **study.parameters)
    header |= {"cpu_seconds": time.process_time() - began, "peak_mib": _peak_mib()}
    found = record.write(path, header, columns)
    log.info("%s seed %d: complete", study.name, seed)
    return found


def _write_initial(cell: Cell, seed: int, problem: Problem, digest: str, path: Path) -> str:
    query, evaluation = initial_design(cell, seed, problem)
    columns = {"evaluation": np.arange(len(query)), "query": query, "y": evaluation.seen.y, "true": evaluation.true.y,
               "seconds": evaluation.seconds}  # fmt: skip
    if evaluation.seen.g.shape[1]:
        columns |= {"g": evaluation.seen.g, "true_g": evaluation.true.g}
    if evaluation.seen.factor_values.shape[1]:
        columns |= {"factor_values": evaluation.seen.factor_values, "true_factor_values": evaluation.true.factor_values}
    return record.write(path, {"problem": cell.problem_name, "seed": seed, "digest": digest}, columns)


def _clipped(progress: loop.Progress, budget: int) -> record.Columns:
    """The rows within the budget: an initial design may be longer than a very small one."""
    return {name: values[:budget] for name, values in progress.columns().items()}


def _header(cell: Cell, seed: int, problem: Problem, digest: str, progress: loop.Progress, status: str) -> dict[str, Any]:
    final = progress.optimizer.recommend()
    shown = problem.evaluate(final, seeds.recommendation(seed, cell.problem)).true
    return {
        "paper": cell.paper,
        "scale": cell.scale,
        "problem": cell.problem_name,
        "algorithm": cell.algorithm,
        "curve": cell.curve,
        "seed": seed,
        "budget": cell.budget,
        "initial": cell.problem_entry["init"]["n"],
        "problem_parameters": dict(cell.problem_entry),
        "digest": digest,
        "status": status,
        "best": problem.best,
        "best_kind": problem.best_kind,
        "display": vars(problem.display),
        "data": problem.data,
        "data_sha256": problem.data_sha256,
        "recommendation": {"query": final[0].tolist(), "true": float(shown.y[0]), "true_g": shown.g[0].tolist()},
        "provenance": record.provenance(),
    }


def _peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _existing(path: Path, digest: str) -> str | None:
    """The trace hash of a record that may be kept; a cut one is continued, a stale one set aside, anything else refused."""
    if not path.exists():
        return None
    found = record.read(path)
    if found.header.get("digest") == digest:
        return str(found.header["trace_sha256"]) if found.header.get("status", "complete") == "complete" else None
    aside = path.with_name(f"{path.name}.{found.header['trace_sha256'][:8]}")  # equal names hold equal traces
    log.warning("%s was made by other code, parameters or data: kept as %s, made anew", path, aside.name)
    path.replace(aside)
    return None


def _save(path: Path, digest: str, progress: loop.Progress) -> float:
    """Pickle everything the rest of the run depends on; returns the seconds it took."""
    began = time.monotonic()
    with record.atomic(path) as temporary:
        temporary.write_bytes(pickle.dumps((digest, record.provenance()["libraries"], progress)))
    return time.monotonic() - began


def _resume(path: Path, digest: str) -> loop.Progress | None:
    """A checkpoint of exactly this run, or None: one of other code or other library versions is set aside."""
    if not path.exists():
        return None
    try:
        found, libraries, progress = pickle.loads(path.read_bytes())
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, ValueError) as error:
        log.warning("%s cannot be read (%s): the run starts anew", path, error)
        found, libraries, progress = "", {}, None
    if found == digest and libraries == record.provenance()["libraries"]:
        log.info("%s: continues after evaluation %d", path, progress.rows)
        return progress
    path.replace(path.with_suffix(".checkpoint.stale"))
    return None


def _shortened(cell: Cell, options: argparse.Namespace) -> Cell:
    """A hand-made shorter run, never in the place of a record of the plan."""
    if options.evaluations is None:
        return cell
    if options.output is None:
        raise PlanError("--evaluations makes a run that is not the plan's: name its file with -o")
    return replace(cell, budget=min(cell.budget, options.evaluations))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.run", description=__doc__)
    parser.add_argument("paper")
    parser.add_argument("problem", help="as in the paper's YAML, with @READING where a reading changes the problem")
    parser.add_argument(
        "curve",
        help="algorithm[@reading][+variant], or several with commas; `initial` for the shared initial design; "
        "a study after `studies`",
    )
    parser.add_argument("seeds", help="one seed or a range such as 0-9")
    parser.add_argument("--scale", default="paper")
    parser.add_argument("-o", "--output", type=Path, help="the record of a single seed (default: its place in results/)")
    parser.add_argument("--evaluations", type=int, help="a smaller budget, with -o only: the exact prefix of the full run")
    parser.add_argument("--marker", type=Path, help="write a list of the records and their hashes here when all are made")
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="stop after a whole step beyond this time")
    parser.add_argument("--checkpoint-every", type=float, default=Limits.checkpoint_every, help="seconds between checkpoints")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    hashes: dict[str, dict[int, str]] = {}
    plan: Paper | None = None
    failed = False
    for curve in options.curve.split(","):
        try:
            plan = plan or load(options.paper, options.scale)  # once, and its mistakes are told like any other
            hashes[curve] = _made(plan, curve, options)
        except TOLD as error:
            print(f"error: {error}", file=sys.stderr)
            failed = True  # and the other curves are made all the same
    if failed:
        return 1
    if options.marker and options.seconds == Limits.seconds:  # a run that may have been cut is not finished
        with record.atomic(options.marker) as temporary:
            made = {"seeds": seed_range(parse_seeds(options.seeds)), "trace_sha256": hashes}
            temporary.write_text(json.dumps(made, indent=1) + "\n")
    return 0


def _made(plan: Paper, curve: str, options: argparse.Namespace) -> dict[int, str]:
    """The trace hashes, by seed, of what the command line names. Raises PlanError, Refused, BadRecord, DataUnavailable."""
    seeds = parse_seeds(options.seeds)
    if options.output and (len(seeds) > 1 or "," in options.curve):
        raise PlanError(f"-o names the record of one seed of one curve, got {options.curve} seeds {options.seeds}")
    if curve == "initial":
        return run_initial(replace(plan.first_cell(options.problem), seeds=seeds))
    if options.problem == "studies":
        return run_study(replace(plan.study(curve), seeds=seeds))
    cell = _shortened(replace(plan.cell(options.problem, curve), seeds=seeds), options)
    return run_cell(cell, output=options.output, limits=Limits(options.seconds, options.checkpoint_every))


if __name__ == "__main__":
    sys.exit(main())
