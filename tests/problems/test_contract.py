"""What every problem without a data file promises: its noise, its batches, its instances, its
refusals, its optimum where one is known; and that none of them loads what it does not need.
"""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

from problems import load
from tests import programs
from tests.problems.asked import PROBLEMS, problem, rng

ROOT = Path(__file__).resolve().parents[2]
DRAWN = ("gp_samples.within_model",)  # whose instance is a draw
SILENT_G = ("cosmology.boss_likelihood",)  # g says where the simulator failed


@pytest.mark.parametrize("name", PROBLEMS)
def test_noise_is_gaussian_of_its_size_and_only_in_what_is_seen(name):
    """Independent in y and g, or shared equally by the factors of a sum."""
    found = problem(name, noise=0.25)
    query = np.full((500, found.domain.d), 0.3)
    evaluation = found.evaluate(query, rng(4))
    seen, true = evaluation.seen, evaluation.true
    n = seen.factor_values.shape[1]
    if n:
        noise, size = seen.factor_values - true.factor_values, 0.25 / np.sqrt(n)
        assert_array_equal(seen.y, seen.factor_values.sum(axis=1))
        assert_array_equal(true.y, true.factor_values.sum(axis=1))
    else:
        columns = seen.y[:, None] - true.y[:, None], seen.g - true.g
        noise, size = np.column_stack(columns[:1] if name in SILENT_G else columns), 0.25
    assert_allclose(noise, size * rng(4).standard_normal(noise.shape), atol=1e-11)
    assert np.ptp(true.y) < 1e-9 and (name not in SILENT_G or (seen.g == true.g).all())
    assert_array_equal(evaluation.seconds, np.zeros(500))
    silent = problem(name, noise=0.0).evaluate(query[:3], rng(4))
    assert_array_equal(silent.seen.y, silent.true.y)
    assert_array_equal(silent.seen.g, silent.true.g)


VALLEY = 39.16616570377141  # of each coordinate
OPTIMA = [  # options and the published value
    ("synthetic.unit_network", {}, 26.0),
    ("synthetic.unit_network", {"d": 1}, 25 / (1 + np.exp(-6)) + 1),
    *[("synthetic.styblinski_tang", {"d": d}, d * VALLEY) for d in (1, 20)],
    *[("synthetic.rastrigin", {"d": d}, 0.0) for d in (1, 20)],
    ("additive.six_hump_camel", {}, 1.0316284534898774),
    ("additive.hartmann", {}, 3.3223680114155148),
    *[("additive.powell", {"maximiser": place}, 0.0) for place in ("published", "shifted")],
    *[("additive.rastrigin", {"maximiser": place}, 0.0) for place in ("published", "shifted")],
]


@pytest.mark.parametrize(("name", "changes", "best"), OPTIMA)
def test_a_known_optimum_is_attained_and_nothing_is_better(name, changes, best):
    """Uniform points, points near the optimum, and a local search from the best of them."""
    found = problem(name, **changes)
    d, at = found.domain.d, found.best_at
    assert (found.best_kind, found.data, found.display.sign) == ("exact", "none", 1)
    assert_allclose(found.best, best, rtol=1e-15, atol=0)
    assert at.shape == (2 if name == "additive.six_hump_camel" else 1, d)
    assert_allclose(found.evaluate(at, rng()).true.y, found.best, rtol=1e-15, atol=0)
    near = np.clip(at[0] + 0.02 * rng(2).standard_normal((2000, d)), 0, 1)
    query = np.vstack([rng(1).random((2000, d)), near])
    reached = found.evaluate(query, rng()).true.y
    assert reached.max() <= found.best
    climbed = optimize.minimize(
        lambda u: -found.evaluate(u[None], rng()).true.y[0],
        query[np.argmax(reached)],
        bounds=[(0, 1)] * d,
        options={"maxiter": 20},
    )
    assert -climbed.fun <= found.best + 1e-9


SAYS = {  # dimensions, the kind of its optimum, data, label and sign of what is shown
    "cosmology.boss_likelihood": (9, "best-seen", "substitute", "negative log-likelihood", -1),
    "gp_samples.within_model": (3, "best-known", "none", "objective", -1),
    "rover.trajectory_planning": (60, "best-seen", "none", "negative reward", -1),
    "wlan.shannon_capacity": (12, "best-seen", "none", "negative capacity", -1),
}


@pytest.mark.parametrize("name", SAYS)
def test_where_no_optimum_is_known_a_problem_says_so(name):
    found = problem(name)
    d, kind, data, label, sign = SAYS[name]
    assert (found.domain.d, found.best, found.best_kind) == (d, None, kind)
    assert found.data.partition(":")[0] == data
    assert (found.display.label, found.display.sign) == (label, sign)


@pytest.mark.parametrize("name", PROBLEMS)
def test_many_queries_at_once_are_as_one_by_one_and_an_instance_matters_where_it_is_drawn(name):
    found, other = problem(name), problem(name, 1)
    query = np.vstack([rng(5).random((6, found.domain.d)), np.full(found.domain.d, 0.5)])
    whole = found.evaluate(query, rng()).true
    apart = [found.evaluate(x[None], rng(7)).true for x in query]
    for part in ("y", "g", "factor_values"):
        one_by_one = np.concatenate([getattr(one, part) for one in apart])
        assert_allclose(getattr(whole, part), one_by_one, rtol=1e-10, atol=1e-11)
    assert np.array_equal(whole.y, other.evaluate(query, rng()).true.y) == (name not in DRAWN)


CHOICES = {name: {"noise": 0.1, **options} for name, options in PROBLEMS.items()}
OF_DATA = {"folds": 5, "fold": 0, "split": "stratified", "features": "raw", "data": Path("absent")}
CHOICES["tuning.random_forest"] = OF_DATA  # tables: their options are read before the file
TABLE = {"features": "z-scored", "target": "raw", "noise": 0.1, "data": Path("absent")}
CHOICES["tables.abalone"] = TABLE


@pytest.mark.parametrize("name", CHOICES)
def test_choices_and_noises_that_there_are_not_are_refused(name):
    options = CHOICES[name]
    for option, value in options.items():
        if isinstance(value, str):
            with pytest.raises(ValueError, match=f"expected {option} to be .*, got 'other'"):
                load(name)(rng(), **{**options, option: "other"})
    for noise in (-0.1, np.nan) if "noise" in options else ():
        with pytest.raises(ValueError, match=f"a standard deviation noise >= 0, got {noise}"):
            load(name)(rng(), **{**options, "noise": noise})


REFUSED = [
    ("additive.powell", {"d": 0}, "expected d to be a positive multiple of 4, got 0: correct"),
    ("additive.powell", {"d": 22}, "expected d to be a positive multiple of 4, got 22"),
    ("additive.rastrigin", {"factor_size": 0}, "factors of one size .* got factor_size = 0 and d"),
    ("additive.rastrigin", {"factor_size": 3}, "factors of one size .* got factor_size = 3 and d"),
    ("additive.rastrigin", {"d": -5}, "got factor_size = 5 and d = -5"),
    ("cosmology.boss_likelihood", {"bias": "fixed"}, "to be free or a number > 0, got 'fixed'"),
    ("cosmology.boss_likelihood", {"bias": 0.0}, "bias to be free or a number > 0, got 0.0"),
    ("cosmology.boss_likelihood", {"bias": np.nan}, "bias to be free or a number > 0, got nan"),
    ("cosmology.boss_likelihood", {"floor": 0.0}, "expected a floor < 0, -inf for none, got 0.0"),
    ("cosmology.boss_likelihood", {"floor": np.nan}, "a floor < 0, -inf for none, got nan"),
    ("gp_samples.within_model", {"d": 0}, "got d = 0, features = 200, constraints = 2"),
    ("gp_samples.within_model", {"features": 0}, "got d = 3, features = 0, constraints = 2"),
    ("gp_samples.within_model", {"constraints": -1}, "constraints >= 0, got d = 3"),
    ("halfcheetah.linear_policy", {"episodes": 0}, "expected episodes >= 1, got 0"),
    ("halfcheetah.linear_policy", {"episodes": 1, "noise": np.nan}, "noise >= 0, got nan"),
    ("structures.truss25", {"alpha": 0.0}, "expected a finite alpha > 0, got 0.0"),
    ("structures.truss25", {"alpha": np.nan}, "expected a finite alpha > 0, got nan"),
    ("synthetic.rastrigin", {"d": 0}, "expected d >= 1 dimensions, got 0"),
    ("synthetic.rastrigin", {"low": 1.0}, r"a box that holds the maximiser, got \[1.0, 5.0\] for"),
    ("synthetic.styblinski_tang", {"low": -2.0}, r"maximiser, got \[-2.0, 5.0\] for coordinate 0"),
    ("synthetic.unit_network", {"high": -5.0}, r"box with low < high, got \[-5.0, -5.0\]"),
    ("synthetic.unit_network", {"high": np.inf}, r"box with low < high, got \[-5.0, inf\]"),
    ("synthetic.unit_network", {"hidden": 0}, "expected hidden >= 1 units, got 0"),
    ("wlan.shannon_capacity", {"bandwidth": 0}, "expected a finite bandwidth > 0, got 0"),
    ("wlan.shannon_capacity", {"bandwidth": np.inf}, "expected a finite bandwidth > 0, got inf"),
    ("wlan.shannon_capacity", {"backend": "ns3"}, "for the backends ns3 and csma alone, got None"),
    ("wlan.shannon_capacity", {"simulator": Path("here")}, "alone, got here for closed-form: corr"),
]


@pytest.mark.parametrize(("name", "changes", "said"), REFUSED)
def test_an_option_without_a_meaning_is_refused(name, changes, said):
    with pytest.raises(ValueError, match=said):
        problem(name, **changes)


LOADED = """
import sys
from importlib import import_module
for names, unwanted in (
    ("additive cosmology wlan", "scipy"),
    ("gp_samples halfcheetah mapped_tables nasbench rover structures synthetic tables tuning", ""),
):
    for name in names.split():
        import_module(f"problems.{name}")
        unwanted_too = {"camb", "gymnasium", "mujoco", "pandas", "sklearn", "torch", "workflow"}
        print(*[f"{name}: {module}" for module in ({unwanted} | unwanted_too) & set(sys.modules)])
"""


def test_importing_them_is_cheap():
    done = programs.python("-c", LOADED, cwd=ROOT, check=True)
    assert done.stdout.split() == []
