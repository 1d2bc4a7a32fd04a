"""Delimited text: rows of a raw file -> float64 columns, the last one called `target`; and the
tables that stand in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workflow.data.manifest import Dataset, Layout
from workflow.data.places import DataUnavailable, Prepared
from workflow.trace import seeds

Array = NDArray[np.float64]
LARGEST = 1 << 26  # bytes of text; cadata has two million


def parse(dataset: Dataset, raw: Path) -> Prepared:
    """The table in a raw file, in whichever of the known orders of columns it has the manifest's
    content.

    Raises DataUnavailable if it has so in none.
    """
    if (size := raw.stat().st_size) > LARGEST:
        raise DataUnavailable(
            f"{dataset.name}: expected at most {LARGEST} bytes of text, got {size}: remove {raw}"
        )
    lines = [line for line in raw.read_bytes().decode("ascii", "replace").splitlines() if line]
    parsed = []
    for layout in (
        Layout(separator=dataset.separator, columns=tuple(dataset.columns)),
        *dataset.layouts,
    ):
        values = _values(dataset, layout, lines)
        table = _prepared(values, dataset.features, source="")
        if table.content_sha256 == dataset.content_sha256:
            return table
        parsed.append(f"{len(values)} rows with {table.content_sha256}")
    raise DataUnavailable(
        f"{dataset.name}: expected {dataset.rows} rows with content_sha256"
        f" {dataset.content_sha256}, got {' or '.join(parsed)}: manifest and parser disagree"
    )


def _values(dataset: Dataset, layout: Layout, lines: Sequence[str]) -> Array:
    """Features and, last, the target (n, d+1) of the complete rows; lines that are no row, such as
    the prose before a table, are left out.
    """
    blank = None if layout.separator == " " else layout.separator
    kept = [(name, dataset.codes.get(name, {})) for name in [*dataset.features, dataset.target]]
    values = []
    for line in lines:
        fields = [one.rpartition(":")[2] for one in line.split(blank)]  # LIBSVM: number:value
        row = dict(zip(layout.columns, fields, strict=False))
        if len(fields) == len(layout.columns) and dataset.missing not in fields:
            with suppress(ValueError):
                values.append([float(codes.get(row[name], row[name])) for name, codes in kept])
    return np.array(values).reshape(-1, len(kept))


def substitute(dataset: Dataset) -> Prepared:
    """What scikit-learn ships or a maker makes."""
    return MAKERS[dataset.substitute.made_by](dataset)


def _prepared(values: Array, features: Mapping[str, str], source: str) -> Prepared:
    """Features and, last, the target (n, d+1) as a table of one float64 column each."""
    table = pa.Table.from_arrays(list(map(pa.array, values.T)), names=[*features, "target"])
    return Prepared(table, content_sha256(table), source, features=features)


def content_sha256(table: pa.Table) -> str:
    """sha256 of "feature,...,feature,target", a newline, and the rows as little-endian float64:
    another one where a value or a name was changed.
    """
    values = np.column_stack([column.to_numpy() for column in table.columns])
    head = ",".join(table.column_names) + "\n"
    return hashlib.sha256(head.encode() + values.astype("<f8").tobytes()).hexdigest()


def _regression(dataset: Dataset) -> Prepared:
    """Features as in _features; the target is log-normal, cut off at both ends, in steps."""
    features, score = _features(dataset)
    shape = dataset.substitute.shape
    target = shape["step"] * np.rint(
        shape["centre"] * np.exp(shape["spread"] * score) / shape["step"]
    )
    return _synthetic(features, np.clip(target, shape["low"], shape["high"]))


def _classification(dataset: Dataset) -> Prepared:
    """Features as in _features; class 1 is the given share with the highest scores."""
    features, score = _features(dataset)
    return _synthetic(
        features,
        (score > np.quantile(score, 1 - dataset.substitute.shape["share"])).astype(np.float64),
    )


def _features(dataset: Dataset) -> tuple[Array, Array]:
    """Correlated features (n, d) of three hidden factors, and a smooth, noisy, standardised score
    (n,) of these.
    """
    n, d = dataset.rows, len(dataset.features)
    rng = seeds.rng(0, "substitute", dataset.name)
    hidden, mixing = rng.standard_normal((n, 3)), rng.standard_normal((3, d))
    features = np.tanh(hidden @ mixing / 2) + 0.2 * rng.standard_normal((n, d))  # (n, d)
    score = (
        hidden[:, 0]
        + np.sin(2 * hidden[:, 1])
        + 0.5 * hidden[:, 0] * hidden[:, 2]
        + 0.5 * rng.standard_normal(n)
    )
    return features, (score - score.mean()) / score.std()


def _synthetic(features: Array, target: Array) -> Prepared:
    names = {f"x{column}": "" for column in range(features.shape[1])}
    # six digits are the same on every machine
    values: Array = np.column_stack([features, target]).round(6)
    return _prepared(values, names, "generated by workflow.fetch")


def _shipped_breast_cancer(_: Dataset) -> Prepared:
    from sklearn.datasets import load_breast_cancer  # a second to import, and rarely needed

    bunch = load_breast_cancer()
    names = {name.replace(" ", "_"): "" for name in bunch.feature_names}
    return _prepared(
        np.column_stack([bunch.data, 1 - bunch.target]), names, "scikit-learn load_breast_cancer"
    )


def _shipped_diabetes(_: Dataset) -> Prepared:
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    above = bunch.target > np.median(bunch.target)
    names = dict.fromkeys(bunch.feature_names, "")
    return _prepared(np.column_stack([bunch.data, above]), names, "scikit-learn load_diabetes")


MAKERS: Mapping[str, Callable[[Dataset], Prepared]] = {
    "regression": _regression,
    "classification": _classification,
    "shipped_breast_cancer": _shipped_breast_cancer,
    "shipped_diabetes": _shipped_diabetes,
}
