"""A toy paper with records of known curves, written as runs write them, to test reports."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from workflow.data import fetch
from workflow.measure.store import Store
from workflow.plan import published_numbers, resolve
from workflow.plan.paper import Paper
from workflow.trace import record
from workflow.trace.curves import Curve, Study, with_data

SHA = "0" * 64
PROVENANCE = {"commit": "c0ffee", "machine": "M", "python": "3.11", "libraries": {}}


def curve(problem, algorithm, seeds, budget, *, reading="", settings=None, **which):
    problem_entry = {"is": "tables.abalone", "data": "abalone", "budget": budget, "init": {"n": 1}}
    problem_entry |= {"optimum": "best-seen"} if problem == "open" else {}
    algorithm_entry = {"is": "random_search.RandomSearch", "qbar": 2, "beta": "theorem"}
    algorithm_entry |= settings or {}
    named = {"paper": "toy", "scale": "paper", "problem": problem, "algorithm": algorithm}
    named |= {"algorithm_reading": reading, "seeds": tuple(range(seeds)), **which}
    entries = {"problem_entry": problem_entry, "algorithm_entry": algorithm_entry}
    digest = resolve.curve_digest(problem_entry, algorithm_entry, budget)
    return Curve(**named, **entries, budget=budget, digest=digest)


class Toy:
    """Builds a Paper, its records below `root` and the Store that reads them."""

    def __init__(self, root, *, scale="paper", data="real", budget=60, seeds=10):
        self.root, self.scale, self.data, self.budget, self.seeds = root, scale, data, budget, seeds
        self.curves = {}
        self.studies = {}
        self.entry = {
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
        table = pa.table({"target": [0.0]})
        pq.write_table(table.replace_schema_metadata({record.KEY: json.dumps(header)}), path)

    def add(self, algorithm, true, *, problem="p", seeds=None, budget=None, **which):
        """Records whose columns `true(seed)` gives: at least `true`, the values of the arms pulled
        (the optimum is 1). `which` are reading, variant, the problem's reading, and `settings`
        that a reading changes.
        """
        sizes = seeds or self.seeds, budget or self.budget
        made = curve(problem, algorithm, *sizes, scale=self.scale, **which)
        self.curves[made.problem_name, made.label] = made
        for seed in made.seeds:
            self.write(made, seed, dict(true(seed)))
        return made

    def reading(self, name, **algorithms):
        """A reading with these settings of algorithms."""
        line = {"says": f"as {name} has it", "algorithms": algorithms}
        self.entry["readings"][name] = line

    def write(self, made, number, columns, **changes):
        """One record; `changes` overwrite its header."""
        true = np.asarray(columns.pop("true"), dtype=float)
        values = np.broadcast_to(true, (made.budget,)).copy()
        index = np.arange(made.budget)
        none = np.zeros(made.budget)
        times = {"seconds": none, "timing.ask": none + 1e-3, "timing.tell": none}
        full = {"evaluation": index, "batch": index, "query": index, "y": values, "true": values}
        full |= {**times, **columns}
        named = {"scale": self.scale, "problem": made.problem_name, "curve": made.label}
        recommended = {"query": int(np.argmax(values)), "true": float(values[-1])}
        named |= {"best": 1.0, "recommendation": recommended, **changes}
        return self._write(made, number, full, named)

    def _write(self, run, seed, columns, more):
        said = {"paper": "toy", "seed": seed, "status": "complete", "data": self.data}
        said |= {"digest": with_data(run.digest, SHA), "provenance": PROVENANCE, **more}
        record.write(self.root / run.record(seed), said, columns)
        return self.root / run.record(seed)

    def drop(self, run, seeds=None):
        """Delete the records of a run: of all its seeds, or of these."""
        for seed in run.seeds if seeds is None else seeds:
            (self.root / run.record(seed)).unlink()

    def study(self, name, columns, *, seeds=None):
        problem = {"is": "tables.abalone", "data": "abalone"}
        named = {"paper": "toy", "scale": self.scale, "id": name, "problem": "p"}
        named |= {"seeds": tuple(range(seeds or self.seeds)), "function": "lemma3.run"}
        digest = resolve.study_digest("lemma3.run", problem, {"T": 10})
        made = Study(**named, problem_entry=problem, parameters={"T": 10}, digest=digest)
        self.studies[name] = made
        for seed in made.seeds:
            found = {k: np.asarray(v, dtype=float) for k, v in columns(seed).items()}
            self._write(made, seed, found, {"study": name})
        return made

    @property
    def paper(self):
        curves, reached = tuple(self.curves.values()), frozenset(self._reached())
        return Paper("toy", self.scale, self.entry, curves, self.curves, self.studies, reached)

    def _reached(self):
        """Whom a reading reaches: here whoever has the parameter in the YAML."""
        for reading, line in self.entry["readings"].items():
            for kind in ("problems", "algorithms"):
                changes = line.get(kind, {})
                for key, entry in self.entry[kind].items():
                    if changes.get(key) or changes.get("*", {}).keys() & entry.keys():
                        yield reading, kind, key

    def store(self, **options):
        return Store(self.paper, self.root, **options)


def rewrite(path, columns=None, **header):
    """Change columns and header of a record."""
    found = record.read(path)
    record.write(path, {**found.header, **header}, {**found.columns, **(columns or {})})


def noisy(level, spread=0.01, key=0):
    """A constant value per seed; over ten seeds of mean `level` and deviation `spread`."""
    draws = np.random.default_rng(key).standard_normal(10)
    draws = (draws - draws.mean()) / draws.std(ddof=1)
    return lambda seed: {"true": level + spread * draws[seed]}


def publish(toy, monkeypatch, experiments, lines):
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
