"""Seconds of SAASBO's steps, and whether its sampler is sound: `python -m benchmarks.saasbo [--budget 110]`.

One run maximises minus Powell's function of 24 inputs, from two uniform points. A line says how the steps up to n went: mean
CPU seconds of ask and tell with compiling, the median tell (without); leapfrog steps, acceptance, divergences.
At some n, the samples of the run are compared with those of a long cold start, for the posterior means of f at 100 points:
`score` is their difference in standard errors, which count effective samples; its rms is about 1 where both sample the same.
CPU seconds are those of all threads; other parameters are given as --set '{"readaptation": 128}'.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Any

from workflow import record
from workflow.seeds import rng

# isort: split
import numpy as np
import torch
from numpyro.diagnostics import effective_sample_size

from algorithms.api import Array, Box, Observation
from algorithms.parts import saas
from algorithms.saasbo import CORRELATIONS, SAASBO, Mixture

D = 24
SETTINGS: Mapping[str, Any] = {
    "kernel": "matern", "priors": "official", "alpha": 0.1, "noise": 2e-6, "noise_as": "fixed", "standard": "population",
    "warmup": 512, "readaptation": 64, "samples": 256, "thinning": 16, "tree_depth": 6, "target": 0.8, "mass": "diagonal",
    "pad": 16, "candidates": 5000, "nudge": 1e-3, "starts": 5, "steps": 100,
}  # fmt: skip


def powell(x: Array) -> Array:
    """Minus Powell's singular function on [-4, 5]^24, of unit inputs (n, 24)."""
    a, b, c, e = np.moveaxis((9 * x - 4).reshape(len(x), -1, 4), -1, 0)
    return -((a + 10 * b) ** 2 + 5 * (c - e) ** 2 + (b - 2 * c) ** 4 + 10 * (a - e) ** 4).sum(1)


def seconds_of(optimizer: SAASBO) -> tuple[float, float]:
    """CPU seconds of an ask, and of the tell of what it asked for."""
    began = time.process_time()
    query = optimizer.ask(1, optimizer.x[:0])
    asked = time.process_time()
    optimizer.tell(query, Observation.of(powell(query)))
    return asked - began, time.process_time() - asked


def means(optimizer: SAASBO, z: Array, Z: Array) -> Array:
    """The mean of f at Z (q, d) under each sample z (s, p), shape (s, q)."""
    y, draws = optimizer.standard(optimizer.y)(optimizer.y), optimizer.sampler.parameters(z)
    mixture = Mixture.of(draws, CORRELATIONS[optimizer.sampler.kernel], torch.from_numpy(optimizer.x), torch.from_numpy(y))
    return mixture(torch.from_numpy(Z))[0].numpy()


def soundness(optimizer: SAASBO, before: saas.Chain) -> str:
    """The samples of the last step, from the chain before it, against a long cold start."""
    y = optimizer.standard(optimizer.y)(optimizer.y)
    warm, _ = optimizer.sampler.run(optimizer.x, y, before, 1)
    cold, _ = replace(optimizer.sampler, samples=1024).run(optimizer.x, y, None, 2)
    f, g = (means(optimizer, z, rng(0, "places").random((100, D))) for z in (warm, cold))
    ess = effective_sample_size(warm[None])
    errors = [values.var(0) / effective_sample_size(values[None]) for values in (f, g)]
    score = (f.mean(0) - g.mean(0)) / np.sqrt(errors[0] + errors[1])
    return (
        f"     effective samples of {len(warm)}: {ess.min():.0f} least, {np.median(ess):.0f} median, "
        f"{effective_sample_size(f[None]).min():.0f} least of a mean of f; score: rms {np.sqrt(np.mean(score**2)):.2f}, "
        f"largest {np.abs(score).max():.1f}; rms of the difference {np.sqrt(np.mean((f.mean(0) - g.mean(0)) ** 2)):.3f} "
        f"where f varies by {g.mean(0).std():.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saasbo", description=__doc__)
    parser.add_argument("--budget", type=int, default=110)
    parser.add_argument("--compare", default="10,50,100", help="where the sampler is checked")
    parser.add_argument("--set", type=json.loads, default={}, help="parameters, as JSON")
    options = parser.parse_args()
    settings, checked = {**SETTINGS, **options.set}, {int(n) for n in options.compare.split(",") if n}
    print(f"machine: {record.provenance()['machine']}, d = {D}, {json.dumps(settings)}")
    optimizer = SAASBO(Box(D), rng(0, "optimizer"), **settings)
    x = rng(0, "init").random((2, D))
    began = time.process_time()
    optimizer.tell(x, Observation.of(powell(x)))
    total = time.process_time() - began
    print(f"first tell, cold: {total:.1f} s")
    print("   n   ask s  tell s  median  in all s  leapfrogs  accepted  diverged      best")
    steps: list[tuple[float, float, float, float, float]] = []
    while len(optimizer.y) < options.budget and optimizer.chain is not None:
        before = optimizer.chain
        ask, tell = seconds_of(optimizer)
        chain, n = optimizer.chain, len(optimizer.y)
        steps.append((ask, tell, chain.leapfrogs, chain.acceptance, chain.divergences))
        total += ask + tell
        if n % 10 == 0:
            asks, tells, leapfrogs, accepted, diverged = (list(column) for column in zip(*steps, strict=True))
            print(
                f"{n:>4}{np.mean(asks):>8.2f}{np.mean(tells):>8.2f}{median(tells):>8.2f}{total:>10.0f}{np.mean(leapfrogs):>11.0f}"
                f"{np.mean(accepted):>10.2f}{sum(diverged):>10.0f}{optimizer.y.max():>10.0f}",
                flush=True,
            )
            steps = []
        if n in checked:
            print(soundness(optimizer, before), flush=True)


if __name__ == "__main__":
    main()
