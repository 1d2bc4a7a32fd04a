"""Whether SAASBO's sampler is sound along a run: `python -m benchmarks.saasbo [--budget 110]`.
What its sampling costs is in `make bench`.

One run maximises minus Powell's function of 24 inputs, from two uniform points; problem and
parameters are those of papers/dumbo.yaml. A line says how the steps up to n went: leapfrog steps,
acceptance, divergences. At some n, the samples of the run are compared with those of a long cold
start, for the posterior means of f at 100 points: `score` is their difference in standard errors,
which count effective samples; its rms is about 1 where both sample the same. CPU seconds are those
of the whole process, comparisons included; other parameters are given as --set
'{"nuts": {"readaptation": 128}}'.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from workflow.plan.expand import load
from workflow.plan.parameters import flat, nested, parameters_of
from workflow.plan.resolve import own_parameters
from workflow.run.instance import build_problem
from workflow.trace import record
from workflow.trace.seeds import rng

# isort: split
import numpy as np
import torch
from numpyro.diagnostics import effective_sample_size

import algorithms
from algorithms.api import Array
from algorithms.parts import saas
from algorithms.saasbo import CORRELATIONS, SAASBO, Mixture


def means(optimizer: SAASBO, z: Array, Z: Array) -> Array:
    """The mean of f at Z (q, d) under each sample z (s, p), shape (s, q)."""
    y, draws = optimizer.standard(optimizer.y)(optimizer.y), optimizer.sampler.parameters(z)
    mixture = Mixture.of(
        draws,
        CORRELATIONS[optimizer.sampler.kernel],
        torch.from_numpy(optimizer.x),
        torch.from_numpy(y),
    )
    return mixture(torch.from_numpy(Z))[0].numpy()


def soundness(optimizer: SAASBO, before: saas.Chain) -> str:
    """The samples of the last step, from the chain before it, against a long cold start."""
    y = optimizer.standard(optimizer.y)(optimizer.y)
    longer = replace(optimizer.sampler, nuts=replace(optimizer.sampler.nuts, samples=1024))
    warm, _ = optimizer.sampler.run(optimizer.x, y, before, 1)
    cold, _ = longer.run(optimizer.x, y, None, 2)
    f, g = (
        means(optimizer, z, rng(0, "places").random((100, optimizer.domain.d)))
        for z in (warm, cold)
    )
    ess = effective_sample_size(warm[None])
    errors = [values.var(0) / effective_sample_size(values[None]) for values in (f, g)]
    score = (f.mean(0) - g.mean(0)) / np.sqrt(errors[0] + errors[1])
    return (
        f"     effective samples of {len(warm)}: {ess.min():.0f} least, {np.median(ess):.0f}"
        f" median, {effective_sample_size(f[None]).min():.0f} least of a mean of f; score: rms"
        f" {np.sqrt(np.mean(score**2)):.2f}, largest {np.abs(score).max():.1f}; rms of the"
        f" difference {np.sqrt(np.mean((f.mean(0) - g.mean(0)) ** 2)):.3f} where f varies by"
        f" {g.mean(0).std():.2f}"
    )


def changed(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with other values for some of them, inside their groups, too."""
    known = parameters_of("saasbo.SAASBO", "algorithms")[1]
    return nested({**flat(settings, known), **flat(changes, known)})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saasbo", description=__doc__)
    parser.add_argument("--budget", type=int, default=110)
    parser.add_argument("--compare", default="10,50,100", help="where the sampler is checked")
    parser.add_argument("--set", type=json.loads, default={}, help="parameters, as JSON")
    options = parser.parse_args()
    cell = load("dumbo", "paper").cell("powell", "SAASBO")
    problem, settings = (
        build_problem(cell, 0),
        changed(own_parameters(cell.algorithm_entry), options.set),
    )
    d, checked = problem.domain.d, {int(n) for n in options.compare.split(",") if n}
    print(f"machine: {record.provenance()['machine']}, d = {d}, {json.dumps(settings)}")
    stream = rng(0, "optimizer")
    optimizer = cast(SAASBO, algorithms.build("saasbo.SAASBO", problem.domain, stream, settings))
    x = rng(0, "init").random((2, d))
    seen = problem.evaluate(x, rng(0, "noise")).seen
    optimizer.tell(x, seen)
    print("   n  CPU s so far  leapfrogs  accepted  diverged      best")
    steps: list[tuple[float, float, float]] = []
    while len(optimizer.y) < options.budget and optimizer.chain is not None:
        before = optimizer.chain
        query = optimizer.ask(1, optimizer.x[:0])
        optimizer.tell(query, problem.evaluate(query, rng(0, "noise")).seen)
        chain, n = optimizer.chain, len(optimizer.y)
        steps.append((chain.leapfrogs, chain.acceptance, chain.divergences))
        if n % 10 == 0:
            leapfrogs, accepted, diverged = np.transpose(steps)
            print(
                f"{n:>4}{time.process_time():>14.0f}{leapfrogs.mean():>11.0f}"
                f"{accepted.mean():>10.2f}{diverged.sum():>10.0f}{optimizer.y.max():>10.0f}",
                flush=True,
            )
            steps = []
        if n in checked:
            print(soundness(optimizer, before), flush=True)


if __name__ == "__main__":
    main()
