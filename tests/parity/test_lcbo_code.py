"""LCBO under `official-code` on an instance of the authors' public code, from its design.

Random numbers differ, so that no path can be compared: the instance and the first iterates are, and
(marked slow, or `python -m tests.parity.test_lcbo_code SEED ...`) where whole runs end.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import algorithms
from algorithms.api import Box, Observation
from algorithms.lcbo import LCBO
from tests.algorithms.grouped import changed
from workflow.plan.expand import load

ORACLE = Path(__file__).parent / "oracles" / "lcbo-synthetic-25.npz"
OFFSET, NOISE = 0.5, 0.1  # jing2026lcbo, Sec. 6.1 and 6.2
DESIGN, BATCH = 25, 7  # evaluations at first, and of each iteration
THEIRS = -3.890  # the best feasible iterate of the authors' run


@cache
def oracle():
    """The arrays of the file, as tests/parity/README.md names them; w (3, 2000, 25) as numbers."""
    with np.load(ORACLE) as arrays:
        found = {name: arrays[name].astype(float) for name in arrays}
    return {**found, "w": found["w"] * found["w_step"][:, None, None]}


def true(x):
    """y = -f, g_1 and g_2 at x (n, 25): (n, 3)."""
    w, b, weights = (oracle()[name] for name in ("w", "b", "weights"))
    f = [np.sqrt(2 / 2000) * np.cos(x @ w[j].T + b[j]) @ weights[j] for j in range(3)]
    return np.column_stack([-f[0], f[1] + OFFSET, f[2] + OFFSET])


@cache
def settings():
    """The reading `official-code`, its kernels those that the methods of the authors are given."""
    curve = load("lcbo", "paper").curve("syn-25", "LCBO@official-code")
    kernels = [
        {"lengthscale": float(scale), "outputscale": 1.0, "mean": OFFSET if j else 0.0}
        for j, scale in enumerate(oracle()["lengthscales"])
    ]
    entry = {name: value for name, value in curve.algorithm_entry.items() if name != "is"}
    return changed(entry, kernels=kernels)


def begun(seed):
    """The method after the design, which the authors' public code observes without noise."""
    made = algorithms.build("lcbo.LCBO", Box(25), np.random.default_rng([seed, 2]), settings())
    assert isinstance(made, LCBO)
    design = oracle()["design"]
    values = true(design)
    made.tell(design, Observation(values[:, 0], values[:, 1:], np.empty((len(design), 0))))
    return made


def played(method, seed, evaluations):
    """The iterates (k, 25) up to so many evaluations; evaluation i has noise of its own."""
    noise = np.random.default_rng([seed, 1]).normal(0.0, NOISE, (evaluations + 50, 3))
    iterates = []
    while len(method.y) < evaluations:
        k, query = method.k, method.ask(1000, method.x[:0])
        values = true(query) + noise[len(method.y) : len(method.y) + len(query)]
        method.tell(query, Observation(values[:, 0], values[:, 1:], np.empty((len(query), 0))))
        if method.k > k:
            iterates.append(method.iterate)
    return np.array(iterates)


def best_iterate(seed):
    """The least objective of a feasible iterate of a run of 1000 evaluations, by true values."""
    values = true(played(begun(seed), seed, 1000))
    return float(-values[(values[:, 1:] <= 0).all(1), 0].max())


def test_the_instance_is_the_authors():
    arrays = oracle()
    # the file is rounded, and the noise of an evaluation 0.1
    assert_allclose(-true(arrays["check_x"])[:, 0], arrays["check_f"], atol=3e-4)
    feasible = arrays["iterates_feasible"].astype(bool)
    assert arrays["iterates_f"][feasible].min() == pytest.approx(THEIRS, abs=1e-3)
    assert len(feasible) - 2 == (1000 - DESIGN) // BATCH  # b^(1) = 2, b^(2) = 5; one was cut short


def test_the_first_iterates_are_where_the_authors_are():
    """The objective at the first three: theirs lies among those of fifteen runs."""
    ends = [-true(played(begun(seed), seed, DESIGN + 3 * BATCH))[:, 0] for seed in range(100, 115)]
    theirs = oracle()["iterates_f"][:3]
    assert (np.min(ends, axis=0) <= theirs).all() and (theirs <= np.max(ends, axis=0)).all()
    assert np.ptp(ends, axis=0)[0] < 0.2  # and no run of ours is far from it


@pytest.mark.slow
def test_runs_end_where_the_authors_ends():
    """Measured: -3.730 in the median under the kernels of all runs, -3.765 under those of AVX512,
    from -3.876 to -3.511. Without the rounding of the file, which makes other paths: -3.840, from
    -4.158 to -3.352. So the median of ten moves by 0.1 with last digits alone.
    """
    ends = [best_iterate(seed) for seed in range(100, 110)]
    assert min(ends) - 0.1 <= THEIRS <= max(ends) + 0.1
    assert abs(np.median(ends) - THEIRS) < 0.25


if __name__ == "__main__":
    for seed in map(int, sys.argv[1:]):
        print(seed, round(best_iterate(seed), 3), "authors", THEIRS)
