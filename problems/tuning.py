"""Tuning three classifiers of scikit-learn on prepared tables (liu2023goucb, Sec. 6.2 and App.
D.2).

A query is one setting of all hyperparameters; its value is the accuracy on one fold after training
on the others. A coordinate runs through the range of its hyperparameter in proportion where that is
continuous, and through equal bins, in the order listed, where it is not, whole numbers among them:
"[0, 5) as True and [5, 10] as False" on the paper's [0,10].

Every training of a fold starts from the same random state, so that the accuracy is a function and
not a draw. Nobody knows its maximum: `best` is None, and the paper's f* is the best accuracy that
any of the compared runs has seen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Box, Indices, Observation
from problems.api import Display, Evaluation, Problem
from problems.prepared import read

LOW, HIGH = 0.0, 10.0  # the paper's box, in which a method with units of its own may live
OPEN = (
    1e-6  # what values keep from the ends of an open interval, some of which scikit-learn refuses
)
RANDOM_STATE = 0  # of every training; which one is not stated
Value = bool | int | float | str


@dataclass(frozen=True)
class Choice:
    """Values in equal bins [k/n, (k+1)/n) of [0,1]; the last one is closed."""

    values: Sequence[Value]

    def at(self, u: float) -> Value:
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]


@dataclass(frozen=True)
class Interval:
    """The real numbers from `low` to `high`, in proportion to [0,1], held `margin` away from both
    ends.
    """

    low: float
    high: float
    margin: float = 0.0

    def at(self, u: float) -> float:
        return min(
            max(self.low + u * (self.high - self.low), self.low + self.margin),
            self.high - self.margin,
        )


Space = Mapping[str, Choice | Interval]

RANDOM_FOREST: Space = {  # App. D.2, "Classification with Random Forest"
    "n_estimators": Choice(range(20, 201)),  # 1.
    "criterion": Choice(
        ("gini", "entropy", "log_loss")
    ),  # 2. (two names of one criterion in scikit-learn: the last two)
    "max_depth": Choice(range(1, 11)),  # 3.
    "min_samples_split": Choice(range(2, 11)),  # 4.
    "min_samples_leaf": Choice(range(1, 11)),  # 5.
    "max_features": Choice(("sqrt", "log2")),  # 6.
    "bootstrap": Choice((True, False)),  # 7.
}
MULTILAYER_PERCEPTRON: Space = {  # App. D.2, "Classification with Multi-Layer Perceptron"
    "activation": Choice(("identity", "logistic", "tanh", "relu")),  # 1.
    "alpha": Interval(1e-6, 1e-2),  # 2.
    "learning_rate_init": Interval(1e-6, 1e-2),  # 3.
    "max_iter": Choice(range(100, 301)),  # 4.
    "shuffle": Choice((True, False)),  # 5.
    "beta_1": Interval(0.0, 1.0, OPEN),  # 6.
    "beta_2": Interval(0.0, 1.0, OPEN),  # 7.
    "n_iter_no_change": Choice(range(1, 11)),  # 8.
}
GRADIENT_BOOSTING: Space = {  # App. D.2, "Classification with Gradient Boosting"
    "loss": Choice(("log_loss", "exponential")),  # 1.
    "learning_rate": Interval(0.0, 1.0, OPEN),  # 2.
    "n_estimators": Choice(range(20, 201)),  # 3.
    "subsample": Interval(0.0, 1.0, OPEN),  # 4.
    "criterion": Choice(("friedman_mse", "squared_error")),  # 5.
    "min_samples_split": Choice(range(2, 11)),  # 6.
    "min_samples_leaf": Choice(range(1, 11)),  # 7.
    "min_weight_fraction_leaf": Interval(0.0, 0.5, OPEN),  # 8.
    "max_depth": Choice(range(1, 11)),  # 9.
    "max_features": Choice(("sqrt", "log2")),  # 10.
    "max_leaf_nodes": Choice(range(2, 11)),  # 11.
}


class Classifier(Protocol):
    """What is used of an estimator of scikit-learn."""

    def fit(self, X: Array, y: Array) -> object: ...
    def score(self, X: Array, y: Array) -> float: ...


@dataclass(frozen=True, eq=False)
class Fold:
    """What a run trains on and what it tests on, with the provenance of the table."""

    X: Array  # (n, d)
    y: Array  # (n,) 0 or 1
    X_test: Array  # (m, d)
    y_test: Array  # (m,)
    data: str
    content_sha256: str


def random_forest(
    instance: np.random.Generator, *, data: Path, folds: int, fold: int, split: str, features: str
) -> Problem:
    """Tune a random forest (d = 7) for accuracy on one of `folds` folds; `fold` counts round, so
    that any seed may choose it.

    `split` is stratified or contiguous; neither shuffles, so that the folds are those of the table
    and `instance` is not used. `features` is raw, z-scored (by the training rows) or min-max (the
    whole table in [-1,1]).
    """
    return _problem(RANDOM_FOREST, _forest, read_fold(data, folds, fold, split, features))


def multilayer_perceptron(
    instance: np.random.Generator, *, data: Path, folds: int, fold: int, split: str, features: str
) -> Problem:
    """Tune a multi-layer perceptron (d = 8), else as `random_forest`.

    A lack of convergence is no warning here.
    """
    return _problem(
        MULTILAYER_PERCEPTRON, _perceptron, read_fold(data, folds, fold, split, features)
    )


def gradient_boosting(
    instance: np.random.Generator, *, data: Path, folds: int, fold: int, split: str, features: str
) -> Problem:
    """Tune gradient boosting (d = 11), else as `random_forest`."""
    return _problem(GRADIENT_BOOSTING, _boosting, read_fold(data, folds, fold, split, features))


def decode(space: Space, x: Array) -> dict[str, Value]:
    """The hyperparameters at a point x (d,) of the unit cube, by the names of scikit-learn."""
    return {name: axis.at(float(u)) for (name, axis), u in zip(space.items(), x, strict=True)}


def read_fold(path: Path, folds: int, fold: int, split: str, features: str) -> Fold:
    """Fold number `fold` modulo `folds` of a prepared table, scaled.

    Raises ValueError with directions.
    """
    for option, value, known in (("split", split, SPLITS), ("features", features, FEATURES)):
        if value not in known:
            raise ValueError(
                f"expected {option} to be {' or '.join(known)}, got {value!r}: correct it in"
                " papers/*.yaml"
            )
    values, header = read(path)
    X, y = values[:, :-1], values[:, -1]  # (A, d), (A,)
    sizes = [int((y == label).sum()) for label in (0, 1)]
    if sum(sizes) != len(y):
        raise ValueError(
            f"expected a target of 0 and 1, got {np.unique(y)[:5]} in {path}: choose a table of two"
            " classes"
        )
    if not 2 <= folds <= min(sizes):
        raise ValueError(
            f"expected 2 to {min(sizes)} folds (rows of the smaller class), got {folds}: correct it"
            " in papers/*.yaml"
        )
    train, test = SPLITS[split](X, y, folds)[fold % folds]
    if len(np.unique(y[train])) < 2:
        raise ValueError(
            f"expected both classes outside fold {fold % folds} of {path}, got one: use a"
            " stratified split"
        )
    scaled = FEATURES[features](X, train)  # (A, d)
    return Fold(
        scaled[train], y[train], scaled[test], y[test], header["data"], header["content_sha256"]
    )


def _problem(
    space: Space, build: Callable[[Mapping[str, Value]], Classifier], fold: Fold
) -> Problem:
    """The accuracy of what `build` makes of hyperparameters, trained and tested on a fold."""

    def accuracy(x: Array) -> float:
        from sklearn.exceptions import ConvergenceWarning

        classifier = build(decode(space, x))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(fold.X, fold.y)
        return classifier.score(fold.X_test, fold.y_test)

    def evaluate(query: NDArray[np.float64], rng: np.random.Generator) -> Evaluation:
        y = np.array([accuracy(x) for x in query], dtype=np.float64)  # (q,)
        return Evaluation(Observation.of(y), Observation.of(y), np.zeros(len(query)))

    return Problem(
        domain=Box(len(space)),
        evaluate=evaluate,
        best_kind="best-seen",
        reveals={"low": LOW, "high": HIGH},
        display=Display("accuracy"),
        data=fold.data,
        data_sha256=fold.content_sha256,
    )


def _forest(parameters: Mapping[str, Value]) -> Classifier:
    from sklearn.ensemble import RandomForestClassifier

    forest: Classifier = RandomForestClassifier(**parameters, n_jobs=1, random_state=RANDOM_STATE)
    return forest


def _perceptron(parameters: Mapping[str, Value]) -> Classifier:
    from sklearn.neural_network import MLPClassifier

    perceptron: Classifier = MLPClassifier(**parameters, random_state=RANDOM_STATE)
    return perceptron


def _boosting(parameters: Mapping[str, Value]) -> Classifier:
    """Both criteria rank splits alike; scikit-learn has ignored the parameter since 1.9 and warns
    where it is given.
    """
    from sklearn.ensemble import GradientBoostingClassifier

    felt = {name: value for name, value in parameters.items() if name != "criterion"}
    boosting: Classifier = GradientBoostingClassifier(**felt, random_state=RANDOM_STATE)
    return boosting


def _stratified(X: Array, y: Array, folds: int) -> list[tuple[Indices, Indices]]:
    """(train, test) rows of every fold, each with the classes' shares of the table."""
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(folds).split(X, y))


def _contiguous(X: Array, y: Array, folds: int) -> list[tuple[Indices, Indices]]:
    """(train, test) rows of every fold, each a stretch of the table."""
    from sklearn.model_selection import KFold

    return list(KFold(folds).split(X))


def _raw(X: Array, train: Indices) -> Array:
    return X


def _z_scored(X: Array, train: Indices) -> Array:
    """Every column with mean 0 and variance 1 (divisor n) over the training rows."""
    _varying("z-scored", X[train])
    scaled: Array = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    return scaled


def _min_max(X: Array, train: Indices) -> Array:
    """Every column from -1 to 1 over the whole table, as LIBSVM's copies of these tables are."""
    _varying("min-max", X)
    low, high = X.min(axis=0), X.max(axis=0)  # (d,)
    scaled: Array = 2 * (X - low) / (high - low) - 1
    return scaled


def _varying(features: str, X: Array) -> None:
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    if len(constant):
        raise ValueError(
            f"expected columns that vary for {features}, got column {constant[0]} constant: use raw"
            " features"
        )


SPLITS: Mapping[str, Callable[[Array, Array, int], list[tuple[Indices, Indices]]]] = {
    "stratified": _stratified,
    "contiguous": _contiguous,
}
FEATURES: Mapping[str, Callable[[Array, Indices], Array]] = {
    "raw": _raw,
    "z-scored": _z_scored,
    "min-max": _min_max,
}
