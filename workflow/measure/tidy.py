"""Published records as one table, for whoever wants to compute or draw something of their own.

>>> from workflow.measure.tidy import table
>>> runs = table("dumbo", "powell")
>>> runs.groupby(["algorithm", "reading", "evaluation"])["true"].mean()

docs/data.md says what the columns are.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from workflow.plan.resolve import ROOT
from workflow.trace import curve_file
from workflow.trace.curves import PUBLISHED, STUDIES, PlanError

LABELS = ("paper", "problem", "problem_reading", "algorithm", "reading", "variant", "study")


def table(
    paper: str = "*",
    problem: str = "*",
    curve: str = "*",
    *,
    scale: str = "paper",
    root: Path = ROOT,
) -> pd.DataFrame:
    """The rows of all curves that have these names, `*` for any: `problem[@reading]`, and
    `algorithm[@reading][+variant]`; a study is a curve of the problem `studies`, which `*` leaves
    out.

    Beside the columns of the files it has `best`, the optimum that regret is measured from, NaN
    where none is known, and `budget`. Raises PlanError where nothing is published under the names.
    """
    folder = root / PUBLISHED / scale
    files = [
        path
        for path in sorted(folder.glob(f"{paper}/{problem}/{curve}.parquet"))
        if problem == STUDIES or path.parent.name != STUDIES
    ]
    if not files:
        raise PlanError(
            f"{folder}: expected published records of {paper}/{problem}/{curve}, found none: names"
            f" are those of papers/*.yaml; studies are asked for as problem={STUDIES!r}"
        )
    whole = pd.concat(map(_rows, files), ignore_index=True)
    for name in [name for name in LABELS if name in whole]:
        whole[name] = whole[name].astype("category")
    return whole


def _rows(path: Path) -> pd.DataFrame:
    """The rows of a file with what its headers say of each seed."""
    rows, headers = pd.read_parquet(path), curve_file.headers(path)
    if path.parent.name == STUDIES:
        return rows
    for name, kind in (("best", "float64"), ("budget", "Int64")):
        said = pd.Series({seed: header.get(name) for seed, header in headers.items()}, dtype=kind)
        rows[name] = rows["seed"].map(said)
    return rows
