"""A toy paper with records of known curves, written as the runner writes them, for tests of the
report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from workflow.data import fetch
from workflow.measure.store import Store
from workflow.plan import published_numbers, resolve
from workflow.plan.paper import Paper, Reach
from workflow.trace import record
from workflow.trace.cells import Cell, Study, with_data

SHA = "0" * 64
PROVENANCE = {"commit": "c0ffee", "machine": "M", "python": "3.11", "libraries": {}}
Curve = Callable[[int], Mapping[str, Any]]


def cell(
    problem: str,
    algorithm: str,
    seeds: int,
    budget: int,
    *,
    scale: str = "paper",
    variant: str = "",
    reading: str = "",
    settings: Mapping[str, Any] | None = None,
) -> Cell:
    unknown = {"optimum": "best-seen"} if problem == "open" else {}
    problem_entry = {
        "is": "tables.abalone",
        "data": "abalone",
        "budget": budget,
        "init": {"n": 1},
        **unknown,
    }
    algorithm_entry = {
        "is": "random_search.RandomSearch",
        "qbar": 2,
        "beta": "theorem",
        **(settings or {}),
    }
    return Cell(
        paper="toy",
        scale=scale,
        problem=problem,
        algorithm=algorithm,
        seeds=tuple(range(seeds)),
        budget=budget,
        problem_entry=problem_entry,
        algorithm_entry=algorithm_entry,
        algorithm_reading=reading,
        variant=variant,
        digest=resolve.cell_digest(problem_entry, algorithm_entry, budget),
    )


class Toy:
    """Builds a Paper, its records below `root` and the Store that reads them."""

    def __init__(
        self,
        root: Path,
        *,
        scale: str = "paper",
        data: str = "real",
        budget: int = 60,
        seeds: int = 10,
    ) -> None:
        self.root, self.scale, self.data, self.budget, self.seeds = root, scale, data, budget, seeds
        self.cells: dict[tuple[str, str], Cell] = {}
        self.studies: dict[str, Study] = {}
        self.entry: dict[str, Any] = {
            "paper": {"key": "toy2026", "title": "A toy", "venue": "nowhere"},
            "scales": {"paper": {}, "short": {"variants": ["b-1"]}},
            "problems": {"p": {"is": "tables.abalone"}},
            "algorithms": {
                name: {"is": "random_search.RandomSearch", "beta": "theorem"}
                for name in ("A", "B", "C", "uniform")
            },
            "variants": {"b-1": {"b": 1}, "b-2": {"b": 2}},
            "readings": {"code": {"says": "as the code", "algorithms": {"*": {"beta": "code"}}}},
            "figures": [],
            "tables": [],
            "claims": [],
        }
        path = fetch.prepared_path("abalone", root=root, substitutes=scale != "paper")
        path.parent.mkdir(parents=True, exist_ok=True)
        header = {"name": "abalone", "data": data, "content_sha256": SHA}
        pq.write_table(
            pa.table({"target": [0.0]}).replace_schema_metadata({record.KEY: json.dumps(header)}),
            path,
        )

    def add(
        self,
        algorithm: str,
        true: Curve,
        *,
        problem: str = "p",
        seeds: int | None = None,
        budget: int | None = None,
        variant: str = "",
        reading: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> Cell:
        """Records whose columns `true(seed)` gives: at least `true`, the values of the arms pulled
        (the optimum is 1). `settings` are what the reading changes in the algorithm's entry.
        """
        made = cell(
            problem,
            algorithm,
            seeds or self.seeds,
            budget or self.budget,
            scale=self.scale,
            variant=variant,
            reading=reading,
            settings=settings,
        )
        self.cells[problem, made.curve] = made
        for seed in made.seeds:
            self.write(made, seed, dict(true(seed)))
        return made

    def write(self, made: Cell, number: int, columns: dict[str, Any], **changes: Any) -> Path:
        """One record; `changes` overwrite its header."""
        values = np.broadcast_to(
            np.asarray(columns.pop("true"), dtype=float), (made.budget,)
        ).copy()
        index = np.arange(made.budget)
        none = np.zeros(made.budget)
        full = {
            "evaluation": index,
            "batch": index,
            "query": index,
            "y": values,
            "true": values,
            "seconds": none,
            "timing.ask": none + 1e-3,
            "timing.tell": none,
            **columns,
        }
        header = {
            "paper": "toy",
            "scale": self.scale,
            "problem": made.problem_name,
            "curve": made.curve,
            "seed": number,
            "status": "complete",
            "digest": with_data(made.digest, SHA),
            "best": 1.0,
            "data": self.data,
            "provenance": PROVENANCE,
            "recommendation": {"query": int(np.argmax(values)), "true": float(values[-1])},
            **changes,
        }
        record.write(self.root / made.record(number), header, full)
        return self.root / made.record(number)

    def drop(self, run: Cell | Study, seeds: Iterable[int] | None = None) -> None:
        """Delete the records of a run: of all its seeds, or of these."""
        for seed in run.seeds if seeds is None else seeds:
            (self.root / run.record(seed)).unlink()

    def study(self, name: str, columns: Curve, *, seeds: int | None = None) -> Study:
        problem = {"is": "tables.abalone", "data": "abalone"}
        made = Study(
            paper="toy",
            scale=self.scale,
            id=name,
            seeds=tuple(range(seeds or self.seeds)),
            problem="p",
            function="lemma3.run",
            problem_entry=problem,
            parameters={"T": 10},
            digest=resolve.study_digest("lemma3.run", problem, {"T": 10}),
        )
        self.studies[name] = made
        for seed in made.seeds:
            header = {
                "paper": "toy",
                "study": name,
                "seed": seed,
                "digest": with_data(made.digest, SHA),
                "status": "complete",
                "data": self.data,
                "provenance": PROVENANCE,
            }
            record.write(
                self.root / made.record(seed),
                header,
                {k: np.asarray(v, dtype=float) for k, v in columns(seed).items()},
            )
        return made

    @property
    def paper(self) -> Paper:
        cells = tuple(self.cells.values())
        return Paper(
            "toy",
            self.scale,
            self.entry,
            cells,
            self.cells,
            self.studies,
            frozenset(self._reached()),
        )

    def _reached(self) -> Iterator[Reach]:
        """Whom a reading reaches: here whoever has the parameter in the YAML."""
        for reading, line in self.entry["readings"].items():
            for kind in ("problems", "algorithms"):
                changes = line.get(kind, {})
                for key, entry in self.entry[kind].items():
                    if changes.get(key) or changes.get("*", {}).keys() & entry.keys():
                        yield reading, kind, key

    def store(self, **options: Any) -> Store:
        return Store(self.paper, self.root, **options)


def noisy(level: float, spread: float = 0.01, key: int = 0) -> Curve:
    """A value per seed, the same at every evaluation; over ten seeds its mean is `level` and its
    deviation `spread`.
    """
    draws = np.random.default_rng(key).standard_normal(10)
    draws = (draws - draws.mean()) / draws.std(ddof=1)
    return lambda seed: {"true": level + spread * draws[seed]}


def publish(
    toy: Toy,
    monkeypatch: pytest.MonkeyPatch,
    experiments: Mapping[str, list[dict[str, Any]]],
    lines: list[str],
) -> None:
    """Give a toy paper published numbers: `panel,method,x,value` a line."""
    folder = toy.root / published_numbers.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"made up,{line},,," for line in lines]
    text = "\n".join([",".join(published_numbers.COLUMNS), *rows])
    (folder / "toy.csv").write_text(text + "\n", encoding="utf-8")
    monkeypatch.setattr(published_numbers, "ROOT", toy.root)
    for read in (published_numbers._panel, published_numbers._rows):
        read.cache_clear()
    toy.entry["published"] = {
        name: {"problems": ["p"], "panels": [{"at": [60], **panel} for panel in panels]}
        for name, panels in experiments.items()
    }
