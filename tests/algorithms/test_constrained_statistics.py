"""Every constrained optimizer on boxes finds better feasible points than uniform random search."""

import numpy as np
import pytest
from scipy.stats import binomtest

from algorithms.api import Box, Observation

SEEDS, D, FIRST, BUDGET = 8, 4, 6, 36


def evaluate(x, noise):
    """About a tenth of the cube is feasible, and the unconstrained optimum is not."""
    y = -((x - 0.2) ** 2).sum(1)
    g = np.column_stack([0.45 - x[:, 0], x.sum(1) - 1.8])
    return Observation(y + 0.01 * noise.standard_normal(len(x)), g, np.empty((len(x), 0)))


def best_feasible(x):
    obs = evaluate(x, np.random.default_rng(0))
    return np.max(-((x - 0.2) ** 2).sum(1), where=(obs.g <= 0).all(1), initial=-np.inf)


@pytest.mark.slow
@pytest.mark.parametrize(
    "label", ["cei-fit", "epbo-fit", "scbo-table", "scbo-paper", "hdsafebo-code", "hdsafebo-strict"]
)
def test_it_beats_uniform_random_search_in_most_seeds(cases, label):
    (case,) = (case for case in cases if f"{case.name.partition('.')[0]}-{case.label}" == label)
    wins = 0
    for seed in range(SEEDS):
        noise, x = np.random.default_rng(100 + seed), np.random.default_rng(seed).random((FIRST, D))
        optimizer = case.build(Box(D), np.random.default_rng(seed))
        optimizer.tell(x, evaluate(x, noise))
        while len(optimizer.y) < BUDGET:
            query = optimizer.ask(4, x[:0])
            optimizer.tell(query, evaluate(query, noise))
        uniform = np.concatenate([x, np.random.default_rng(200 + seed).random((BUDGET - FIRST, D))])
        wins += best_feasible(optimizer.x[:BUDGET]) > best_feasible(uniform)
    assert binomtest(wins, SEEDS, alternative="greater").pvalue < 0.05, (
        f"better in {wins} of {SEEDS} seeds"
    )
