"""The list of what was run.

One entry for each cell and study that has records: seeds, trace hashes, where each seed ended, CPU
seconds, data, versions, code paths, commits, and the command that makes it again; and the licences
of the libraries that took part. It is what
remains of the records where these are not kept, and what the site shows of them.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from workflow.judge.claims import command
from workflow.measure import metrics
from workflow.measure.store import Run, Store
from workflow.plan.paper import Paper
from workflow.trace import code_path
from workflow.trace.atomic import atomic
from workflow.trace.cells import Cell

Entry = dict[str, Any]


def write(store: Store, folder: Path) -> None:
    """Write runs.json. Raises BadRecords."""
    found, path = inventory(store.paper, store), folder / "runs.json"
    with atomic(path) as temporary:
        temporary.write_text(
            json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n",
            encoding="utf-8",
        )


def inventory(paper: Paper, store: Store) -> dict[str, Any]:
    """All runs of a paper that have records, cells before studies. Raises BadRecords."""
    store.check(paper.parts)
    runs = [_cell(paper, store, cell) for cell in paper.cells if store.has(cell)]
    studies = [_study(store, study) for study in paper.studies.values() if store.has(study)]
    return {
        "paper": paper.name,
        "scale": paper.scale,
        "mixed": store.mixed(),
        "licences": _licences({name for run in (*runs, *studies) for name in run["libraries"]}),
        "runs": runs,
        "studies": studies,
        "missing": [run.name for run in paper.parts if not store.has(run)],
    }


def _cell(paper: Paper, store: Store, cell: Cell) -> Entry:
    measure = "simple_regret" if _has_regret(store, cell) else "best_feasible"
    ends = {
        str(seed): _digits(float(metrics.metric(measure).of(store.record(cell, seed))[-1]))
        for seed in store.seeds(cell)
    }
    return {
        "problem": cell.problem_name,
        "curve": cell.curve,
        "names": sorted(
            curve
            for (problem, curve), other in paper.aliases.items()
            if other.name == cell.name and problem == cell.problem_name
        ),
        "algorithm": cell.algorithm_entry["is"],
        "function": cell.problem_entry["is"],
        "budget": cell.budget,
        "measure": measure,
        "ends": ends,
        **_provenance(store, cell),
    }


def _study(store: Store, run: Run) -> Entry:
    return {"study": run.name.rpartition("/")[2], **_provenance(store, run)}


def _provenance(store: Store, run: Run) -> Entry:
    """What the records of a run say about how they were made."""
    headers = {seed: store.record(run, seed).header for seed in store.seeds(run)}
    made = [header["provenance"] for header in headers.values()]
    return {
        "digest": run.digest,
        "data": store.data(run),
        "trace_sha256": {str(seed): header["trace_sha256"] for seed, header in headers.items()},
        "cpu_seconds": _digits(sum(header.get("cpu_seconds", 0.0) for header in headers.values())),
        "peak_mib": max(header.get("peak_mib", 0) for header in headers.values()),
        "planned_seeds": len(run.seeds),
        **({"timeouts": list(late)} if (late := store.timeouts(run)) else {}),
        **({"other_code": list(other)} if (other := store.made_by_other_code(run)) else {}),
        "commits": sorted({each["commit"] for each in made}),
        "machines": sorted({each["machine"] for each in made}),
        "code_paths": sorted({code_path.words(each.get("code_path", {})) for each in made}),
        "libraries": _versions([{"python": each["python"], **each["libraries"]} for each in made]),
        "rerun": command(run),
    }


def _has_regret(store: Store, cell: Cell) -> bool:
    """Whether a problem has an optimum that is known and no constraints."""
    found = store.record(cell, store.seeds(cell)[0])
    return found.header.get("best") is not None and not metrics.is_constrained(found)


def _versions(made: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Every version of each library that took part."""
    found: dict[str, set[str]] = {}
    for libraries in made:
        for name, version in libraries.items():
            found.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(versions)) for name, versions in sorted(found.items())}


def _licences(libraries: Iterable[str]) -> dict[str, str]:
    """The licence that each library states, as far as it is installed here."""
    found = {}
    for name in sorted(libraries):
        with contextlib.suppress(PackageNotFoundError):
            said = metadata(name)
            kinds = [line for line in said.get_all("Classifier", []) if line[:7] == "License"]
            classes = "; ".join(line.rpartition(" :: ")[2] for line in kinds)
            stated = [*said.get_all("License-Expression", []), classes]
            stated += said.get_all("License", [])
            found[name] = next(filter(None, stated), "").partition("\n")[0]
    return found


def _digits(value: float) -> float | None:
    """Six significant digits; null where there is no number."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
