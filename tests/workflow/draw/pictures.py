"""A paper with one picture and its records, for tests of what is drawn of designs."""

import hashlib

import numpy as np
from PIL import Image

from workflow.draw import picture
from workflow.draw.drawers import Best
from workflow.measure.store import Store
from workflow.plan import selection
from workflow.plan.paper import Paper
from workflow.trace import record
from workflow.trace.curves import Curve, with_data

RUN = {"noise": 0.1, "room": 1, "init": {"n": 1}}  # of the entry of every problem


class Runs:
    """A paper with one picture, and the records that it reads: `add(curve, seed, query=...,
    true=..., true_g=...)`.
    """

    def __init__(self, root, entry, display, drawer, curves=("A", "B"), seeds=(0, 1), **line):
        self.root, self.display = root, display
        self.line = {"id": "best", "is": drawer, "problem": "p", "curves": list(curves), **line}
        named = {"paper": "toy", "scale": "paper", "problem": "p", "seeds": seeds, "budget": 3}
        named["problem_entry"] = {**RUN, "budget": 3, **entry}
        named["algorithm_entry"] = {"is": "random_search.RandomSearch"}
        self.curves = {curve: Curve(**named, algorithm=curve) for curve in curves}

    def add(self, curve, seed, true, true_g=None, *, query, **libraries):
        """A record; `query` is one design, repeated but for its last digits, or one a row."""
        made, n = self.curves[curve], len(true)
        header = {"paper": "toy", "seed": seed, "status": "complete", "display": self.display}
        header["digest"] = with_data(made.digest, "")
        header["provenance"] = {"libraries": {"numpy": f"of {curve}{seed}", **libraries}}
        rows = np.tile(query, (n, 1)) + 1e-9 * np.arange(n)[:, None] if query.ndim < 2 else query
        columns = {"evaluation": np.arange(n), "query": rows, "true": true}
        columns |= {} if true_g is None else {"true_g": true_g}
        values = {name: np.asarray(column, dtype=float) for name, column in columns.items()}
        record.write(self.root / made.record(seed), header, values)

    @property
    def paper(self):
        entry = {"scales": {"paper": {}}, "pictures": [self.line]}
        curves = {("p", label): curve for label, curve in self.curves.items()}
        return Paper("toy", "paper", entry, tuple(curves.values()), curves, {})

    def store(self, **options):
        return Store(self.paper, self.root, **options)

    def best(self, **options):
        return picture.best_of(self.store(**options), selection.picture_curves(self.paper, "best"))

    def draw(self, folder, **options):
        return picture.draw(self.paper, self.store(**options), "best", folder)

    def drawn(self, folder):
        """The files of the picture, which are the same bytes when drawn again."""
        first, second = self.draw(folder / "one"), self.draw(folder / "two")
        assert hashes(first) == hashes(second)
        return first


def hashes(paths):
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def pixels(path):
    """A still (height, width, 3), of which nothing is cut at the sides."""
    with Image.open(path) as still:
        seen = np.asarray(still.convert("RGB")).astype(int)
    assert (seen[:, [0, -1]] == 255).all()
    return seen


def count(seen, colour):
    """How many pixels have a colour, about."""
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(seen - wanted).max(axis=2) < 3).sum())


def best_of(query, g=(), **changes):
    shown = {"value": 2.5, "label": "weight", "unit": "100 lb", "curve": "A", "seed": 0}
    shown |= {"evaluation": 1, "evaluations": 3, "compared": 3, "libraries": {}}
    return Best(query=np.asarray(query), g=np.array(g), **{**shown, **changes})
