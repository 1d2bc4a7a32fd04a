"""Methods beside each other on one function, with the same arguments for all."""

import numpy as np

import noregret


def rosenbrock(x):
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


for method in ("random", "GP-EI", "TuRBO", "gp-ucb-box"):
    lowest = [
        noregret.minimize(
            rosenbrock, [(-2, 2)] * 4, method=method, noise=0, evaluations=30, seed=seed
        ).y
        for seed in (0, 1)
    ]
    print(method, np.median(lowest), noregret.methods()[method].citation[:40])
