"""Seconds of one LCBO iteration: `python -m benchmarks.lcbo [--iterations 20]`.

The size is that of the paper's synthetic tasks: an objective and two constraints, data of the last 2d evaluations, 2 repeats and
5 explorations, 50 steps of Adam. An iteration is the step, the plan of the next one, and handing it out. Seconds are CPU seconds
on one thread over a number of iterations; refits, once in five, show in the mean.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

from workflow import record
from workflow.seeds import rng

# isort: split
import numpy as np

from algorithms.api import Box
from algorithms.lcbo import LCBO
from problems.gp_samples import within_model

TABLE_1: dict[str, Any] = {
    "noise": 0.01, "noise_units": "models", "memory_per_dim": 2, "repeated": "separate", "schedule": "fixed", "repeats": 2,
    "exploration": 5, "exploration_per_dim": 0, "condition": "data", "measure": "posterior-trace", "temperature": 1.0,
    "delta": 0.1, "steps": 50, "constraints": "inequality", "direction": "normalised", "step": 0.25, "step_power": 0.0,
    "penalty": 10.0, "penalty_power": 0.25, "lengthscale": [3.0, 3.0, 1.0], "outputscale": [2.0, 1.0, 0.693], "fit_every": 5,
    "between_fits": "keep", "fit_steps": 50, "fit_rate": 0.1,
}  # fmt: skip
SIDES: dict[str, dict[str, Any]] = {
    "joint, 10 starts": {"batch": "joint", "starts": 10, "rate": 0.01, "standard": "raw"},
    "greedy, 10 starts": {"batch": "greedy", "starts": 10, "rate": 0.01, "standard": "raw"},
    "greedy, 5 starts": {"batch": "greedy", "starts": 5, "rate": 0.05, "standard": "raw"},
    "joint, 10 starts, fit": {"batch": "joint", "starts": 10, "rate": 0.01, "standard": "sample", "kernels": "fit"},
}


def seconds(d: int, side: dict[str, Any], iterations: int) -> list[float]:
    """CPU seconds of each iteration after the window is full."""
    problem = within_model(
        rng(0, "instance", d), d=d, constraints=2, offset=0.5, features=500, noise=0.1, lengthscales="official-code"
    )
    optimizer = LCBO(Box(d), rng(0, "optimizer"), **{**TABLE_1, "kernels": problem.reveals["kernels"], **side})
    query = rng(0, "init").random((2 * d, d))
    optimizer.tell(query, problem.evaluate(query, rng(0, "noise")).seen)
    spent = []
    for k in range(1, 1 + iterations):
        total = 0.0
        while optimizer.k == k:
            began = time.process_time()
            query = optimizer.ask(1000, np.empty((0, d)))
            total += time.process_time() - began
            seen = problem.evaluate(query, rng(0, "noise", k, len(query))).seen
            began = time.process_time()
            optimizer.tell(query, seen)
            total += time.process_time() - began
        spent.append(total)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lcbo", description=__doc__)
    parser.add_argument("--iterations", type=int, default=20)
    iterations = parser.parse_args().iterations
    for side in SIDES.values():
        seconds(2, side, 6)  # torch loads parts of itself with the first fit
    print(f"machine: {record.provenance()['machine']}, one thread")
    print(f"{'d':>5}  {'Z_2':<24}{'median s':>10}{'least s':>10}{'mean s':>10}")
    for d in (25, 50, 100):
        for name, side in SIDES.items():
            spent = seconds(d, side, iterations)
            print(f"{d:>5}  {name:<24}{median(spent):>10.4f}{min(spent):>10.4f}{sum(spent) / len(spent):>10.4f}", flush=True)


if __name__ == "__main__":
    main()
