"""Tuning classifiers: published ranges, scikit-learn called directly, folds, unfit files."""

import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from problems import load, tuning
from tests.problems.asked import needs_data, real, rng, written

OPTIONS = {"folds": 5, "fold": 0, "split": "stratified", "features": "raw"}
SPACES = {
    "random_forest": tuning.RANDOM_FOREST,
    "multilayer_perceptron": tuning.MULTILAYER_PERCEPTRON,
    "gradient_boosting": tuning.GRADIENT_BOOSTING,
}
NAMES = list(SPACES)
SLOW = {"n_estimators", "max_iter"}  # hyperparameters that cost time and nothing else

# App. D.2, written down again: all values of a category, or the ends of a range.
OPEN = 1e-6
PUBLISHED = {
    "random_forest": {
        "n_estimators": range(20, 201),
        "criterion": ["gini", "entropy", "log_loss"],
        "max_depth": range(1, 11),
        "min_samples_split": range(2, 11),
        "min_samples_leaf": range(1, 11),
        "max_features": ["sqrt", "log2"],
        "bootstrap": [True, False],
    },
    "multilayer_perceptron": {
        "activation": ["identity", "logistic", "tanh", "relu"],
        "alpha": (1e-6, 1e-2),
        "learning_rate_init": (1e-6, 1e-2),
        "max_iter": range(100, 301),
        "shuffle": [True, False],
        "beta_1": (OPEN, 1 - OPEN),
        "beta_2": (OPEN, 1 - OPEN),
        "n_iter_no_change": range(1, 11),
    },
    "gradient_boosting": {
        "loss": ["log_loss", "exponential"],
        "learning_rate": (OPEN, 1 - OPEN),
        "n_estimators": range(20, 201),
        "subsample": (OPEN, 1 - OPEN),
        "criterion": ["friedman_mse", "squared_error"],
        "min_samples_split": range(2, 11),
        "min_samples_leaf": range(1, 11),
        "min_weight_fraction_leaf": (OPEN, 0.5 - OPEN),
        "max_depth": range(1, 11),
        "max_features": ["sqrt", "log2"],
        "max_leaf_nodes": range(2, 11),
    },
}


def classes(rows=60, d=3, seed=1):
    """Features of different sizes (rows, d) and a noisy border between 0 and 1."""
    X = rng(seed).standard_normal((rows, d)) * 10.0 ** np.arange(d)
    y = X[:, 0] + 0.3 * rng(seed + 1).standard_normal(rows) > 0.3
    return np.column_stack([X, y.astype(float)])


def prepared(folder: Path, values=None, data="real"):
    return written(folder, classes() if values is None else values, data)


def problem(name, path, seed=0, **changes):
    return load(f"tuning.{name}")(rng(seed), data=path, **{**OPTIONS, **changes})


def values(found, query):
    return found.evaluate(np.atleast_2d(query), rng()).true.y


# ranges


@pytest.mark.parametrize("name", NAMES)
def test_the_hyperparameters_are_the_published_ones_in_their_order(tmp_path, name):
    found = problem(name, prepared(tmp_path, data="substitute: a toy"))
    assert (found.data, found.data_sha256) == ("substitute: a toy", "ab" * 32)
    assert list(SPACES[name]) == list(PUBLISHED[name])
    assert (found.domain.d, found.best) == (len(PUBLISHED[name]), None)
    assert (found.best_kind, found.display.label) == ("best-seen", "accuracy")


@pytest.mark.parametrize("name", NAMES)
def test_categories_have_equal_bins_and_ranges_are_linear_from_end_to_end(name):
    for position, (key, published) in enumerate(PUBLISHED[name].items()):

        def at(u, others=np.arange(len(SPACES[name])) != position, key=key):
            return tuning.decode(SPACES[name], np.where(others, 0.5, u))[key]

        ends = at(0.0), at(1.0)
        if isinstance(published, tuple):
            low, high = published
            assert ends == pytest.approx(published, rel=1e-12)
            assert at(0.25) == pytest.approx(low + 0.25 * (high - low), abs=2 * OPEN)
            continue
        n = len(published)
        assert ends == (published[0], published[-1])
        for k, value in enumerate(published):
            middle, first, last = (at((k + part) / n) for part in (0.5, 1e-9, 1 - 1e-9))
            assert middle == first == last == value
            assert type(middle) is type(value)


# accuracy


FOREST = {"n_estimators": 30, "criterion": "entropy", "max_depth": 6, "min_samples_split": 6}
FOREST |= {"min_samples_leaf": 2, "max_features": "log2", "bootstrap": False}
PERCEPTRON = {"activation": "tanh", "alpha": 1e-6 + 0.01 * (1e-2 - 1e-6), "max_iter": 200}
PERCEPTRON |= {"learning_rate_init": 1e-6 + 0.3 * (1e-2 - 1e-6), "beta_1": 0.9, "beta_2": 0.999}
PERCEPTRON |= {"shuffle": True, "n_iter_no_change": 10}
BOOSTING = {"loss": "exponential", "learning_rate": 0.1, "n_estimators": 40, "subsample": 0.7}
BOOSTING |= {"min_samples_split": 5, "min_samples_leaf": 4, "min_weight_fraction_leaf": 0.05}
BOOSTING |= {"max_depth": 3, "max_features": "sqrt", "max_leaf_nodes": 6}
DIRECT = {
    "random_forest": (RandomForestClassifier, FOREST),
    "multilayer_perceptron": (MLPClassifier, PERCEPTRON),
    "gradient_boosting": (GradientBoostingClassifier, BOOSTING),
}
POINTS = {  # where these hyperparameters lie
    "random_forest": [(30.5 - 20) / 181, 0.5, 0.55, 0.5, 0.15, 0.75, 0.75],
    "multilayer_perceptron": [0.6, 0.01, 0.3, 0.5, 0.25, 0.9, 0.999, 0.95],
    "gradient_boosting": [0.75, 0.1, 20.5 / 181, 0.7, 0.9, 0.35, 0.35, 0.1, 0.25, 0.2, 0.5],
}


@pytest.mark.parametrize("name", DIRECT)
@pytest.mark.parametrize("fold", [0, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_accuracy_is_that_of_scikit_learn(tmp_path, name, fold):
    table, (kind, parameters) = classes(rows=100), DIRECT[name]
    X, y = table[:, :-1], table[:, -1]
    train, test = list(StratifiedKFold(5).split(X, y))[fold]
    direct = kind(**parameters, random_state=0).fit(X[train], y[train])
    expected = np.mean(direct.predict(X[test]) == y[test])
    found = values(problem(name, prepared(tmp_path, table), fold=fold), POINTS[name])
    assert_array_equal(found, [expected])
    assert 0.4 < expected <= 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_no_corner_fails_or_warns(tmp_path, name, every):
    """Nor a few, and the two where all coordinates agree; what costs time is kept small in most."""
    found = problem(name, prepared(tmp_path, classes(rows=30)))
    ends = [[0.0] if key in SLOW else [0.0, 1.0] for key in SPACES[name]]
    corners = np.array(list(itertools.product(*ends)))
    assert len(corners) == 2 ** (found.domain.d - 1)
    if not every:
        corners = np.vstack([rng(4).choice(corners, 24), corners[:1], np.ones(found.domain.d)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = values(found, corners)
    assert ((seen >= 0) & (seen <= 1)).all()


def test_a_lack_of_convergence_is_silenced_here_and_nowhere_else(tmp_path):
    found = problem("multilayer_perceptron", prepared(tmp_path))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        values(found, [0.6, 0.5, 0.1, 0.0, 0.0, 0.9, 0.99, 1.0])
        assert heard == []
        warnings.warn("still heard", ConvergenceWarning, stacklevel=1)
    assert len(heard) == 1


@pytest.mark.parametrize("name", NAMES)
def test_one_query_has_one_value_whoever_asks(tmp_path, name):
    """Instance, generator of the noise and rest of a batch do not matter; nothing is added."""
    path, query = prepared(tmp_path), rng(5).random((3, len(SPACES[name])))
    query[:, [position for position, key in enumerate(SPACES[name]) if key in SLOW]] = 0
    evaluation = problem(name, path).evaluate(query, rng(1))
    other = problem(name, path, seed=1)
    apart = [other.evaluate(row[None], rng(2)).true.y[0] for row in query[::-1]]
    assert_array_equal(evaluation.true.y, apart[::-1])
    assert_array_equal(evaluation.seen.y, evaluation.true.y)
    assert_array_equal(evaluation.seconds, np.zeros(3))
    assert evaluation.seen.g.shape == evaluation.seen.factor_values.shape == (3, 0)


# folds and features


@pytest.mark.parametrize(
    ("split", "theirs"), [("stratified", StratifiedKFold), ("contiguous", KFold)]
)
def test_folds_are_those_of_scikit_learn_and_count_round(tmp_path, split, theirs):
    table, path = classes(), prepared(tmp_path)
    for fold, (train, test) in enumerate(theirs(5).split(table[:, :-1], table[:, -1])):
        for number in (fold, fold + 5):
            found = tuning.read_fold(path, 5, number, split, "raw")
            assert_array_equal(found.X, table[train, :-1])
            assert_array_equal(found.y, table[train, -1])
            assert_array_equal(found.X_test, table[test, :-1])
            assert_array_equal(found.y_test, table[test, -1])


def test_features_are_scaled_as_scikit_learn_scales_them(tmp_path):
    X, path = classes()[:, :-1], prepared(tmp_path)
    raw = tuning.read_fold(path, 5, 2, "stratified", "raw")
    scaled = tuning.read_fold(path, 5, 2, "stratified", "z-scored")
    scaler = StandardScaler().fit(raw.X)
    assert_allclose(scaled.X, scaler.transform(raw.X), rtol=1e-10, atol=1e-12)
    assert_allclose(scaled.X_test, scaler.transform(raw.X_test), rtol=1e-10, atol=1e-12)
    whole = MinMaxScaler((-1, 1)).fit(X)
    ranged = tuning.read_fold(path, 5, 2, "stratified", "min-max")
    assert_allclose(ranged.X_test, whole.transform(raw.X_test), rtol=1e-10, atol=1e-12)
    assert_array_equal(ranged.y_test, raw.y_test)


def test_tables_and_folds_that_do_not_fit_are_refused(tmp_path):
    """What is no table at all is refused as in test_tables.py, by the same reading."""
    table = classes()
    ordered, other, constant = table.copy(), table * [1, 1, 1, 2], table * [1, 0, 1, 1]
    ordered[:, -1] = np.arange(60) < 12
    folds = r"expected 2 to 2\d folds \(rows of the smaller class\), got"
    for values, changes, said in (
        (other, {}, r"expected a target of 0 and 1, got \[0. 2.\] in .*toy.parquet"),
        (constant, {"features": "z-scored"}, "columns that vary for z-scored, got column 1 const"),
        (ordered, {"split": "contiguous"}, "outside fold 0 of .*: use a stratified split"),
        (table, {"folds": 1}, f"{folds} 1"),
        (table, {"folds": 40}, f"{folds} 40"),
    ):
        with pytest.raises(ValueError, match=said):
            problem("random_forest", prepared(tmp_path, values), **changes)


@needs_data
@pytest.mark.parametrize(
    ("data", "rows", "features", "share"),
    [("breast_cancer", 683, 9, 0.65), ("australian", 690, 14, 0.555), ("diabetes", 768, 8, 0.651)],
)
def test_the_real_tables(tmp_path, data, rows, features, share):
    """Every classifier beats the larger class somewhere among a few random settings."""
    path = real(tmp_path, data)
    parts = [tuning.read_fold(path, 5, fold, "stratified", "raw") for fold in range(5)]
    assert sum(len(part.y_test) for part in parts) == rows
    assert parts[0].X.shape[1] == features
    for name in NAMES:
        found = problem(name, path)
        assert found.data == "real"
        assert values(found, rng(6).random((10, found.domain.d))).max() > share + 0.02


def test_the_papers_example_of_a_border():
    """[0, 5) is True and [5, 10] is False, on [0, 10]."""
    bootstrap = tuning.RANDOM_FOREST["bootstrap"]
    assert [bootstrap.at(x / 10) for x in (0.0, 4.999999, 5.0, 10.0)] == [True, True, False, False]
    found = map(tuning.RANDOM_FOREST["criterion"].at, (0.3333, 1 / 3, 0.6666, 2 / 3, 1.0))
    assert list(found) == ["gini", "entropy", "entropy", "log_loss", "log_loss"]
    # exact away from the ends that scikit-learn refuses
    assert tuning.MULTILAYER_PERCEPTRON["beta_1"].at(0.9) == pytest.approx(0.9, rel=1e-15)
