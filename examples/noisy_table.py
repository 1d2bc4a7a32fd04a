"""The best row of a table whose values are measured with noise."""

import numpy as np

import noregret

rng = np.random.default_rng(0)
table = rng.uniform(-1, 1, (2000, 3))
truth = np.cos(2 * table).prod(axis=1)


def measured(row):
    return truth[row] + rng.normal(0, 0.1)


found = noregret.maximize(measured, arms=table, method="bbkb", noise=0.1, evaluations=60, seed=0)
print(
    "row", found.x, "is worth", truth[found.x], "of", truth.max(), "and is believed to be", found.y
)
