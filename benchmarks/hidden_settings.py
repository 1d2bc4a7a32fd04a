"""The search for the settings behind BBKB's published curves on Cadata: `python -m
benchmarks.hidden_settings STAGE [--seeds 0-4] [--evaluations 2000]`.

The poster of calandriello2020bbkb (papers/published/bbkb.csv) prints the regret ratio of six
methods and no feature map, regularisation, noise or width. Each trial runs this project's own
method under one such setting, over the table's every arm, and appends one row to
benchmarks/hidden_settings.csv: the mean ratio to the uniform run of the same seed and its standard
deviation over seeds, at some evaluations, and the score, the mean |ln(ours/published)| over these.

A score that was searched for is no evidence. What was not searched for tests it: other methods,
other seeds, later evaluations.
"""

from __future__ import annotations

import argparse
import csv
import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from algorithms.api import Arms, Array, Observation, Optimizer
from algorithms.async_ts import AsyncTS
from algorithms.bbkb import BBKB
from algorithms.bkb import BKB
from algorithms.gp_bucb import GPBUCB
from algorithms.gp_ucb import GPUCB
from problems import prepared
from problems.feature_maps import mapped
from workflow.trace.cells import parse_seeds

LOG = Path(__file__).with_suffix(".csv")
CURVES = Path("papers", "published", "bbkb.csv")
AT = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)
MAPS = {
    "raw z": ["z-scored"],
    "raw z, unit rows": ["z-scored", "unit-rows"],
    "raw centred, unit rows": ["centred", "unit-rows"],
    "ratios z": ["per-household", "z-scored"],
    "ratios z, unit rows": ["per-household", "z-scored", "unit-rows"],
}


@dataclass(frozen=True)
class Setting:
    """What no text says, and `beta` and `inclusion`, of which text and public code differ. `noise`
    is the standard deviation of what is seen, `xi` the one in the width.
    """

    features: str
    lam: float
    xi: float
    noise: float
    beta: str = "theorem"
    inclusion: str = "per-arm"
    bandwidth: float = 12.5
    norm: float = 1.0


def optimizer(method: str, domain: Arms, rng: np.random.Generator, one: Setting) -> Optimizer:
    """A method with the constants of Table 1 and App. D.1, and a setting."""
    shared = {
        "bandwidth": 10.0 if method == "Async-TS" else one.bandwidth,  # Table 1
        "lam": one.lam,
        "xi": one.xi,
        "norm": one.norm,
        "delta": 1e-4,
        "beta": one.beta,
    }
    sketched = {"qbar": 2.0, "inclusion": one.inclusion}
    if method == "GP-UCB":
        return GPUCB(domain, rng, **shared, posterior="distinct-arms")
    if method == "GP-BUCB":
        return GPBUCB(domain, rng, **shared, C=2.0, rule="product", posterior="distinct-arms")
    if method == "Async-TS":
        return AsyncTS(domain, rng, **shared, batch=30, shrink=10.0, tolerance=1e-8)
    if method == "BKB":
        return BKB(domain, rng, **shared, **sketched, epsilon=0.5)
    rule = {"Global-BBKB": "global", "GlobalLocal-BBKB": "global-local"}[method]
    return BBKB(
        domain, rng, **shared, **sketched, C=2.0, rule=rule, parallelism=0, start="resparsify"
    )


def ratios(method: str, one: Setting, seed: int, points: Array, y: Array, horizon: int) -> Array:
    """Regret over that of the uniform run of the same seed, after each evaluation, (horizon,)."""
    draws = [np.random.default_rng([seed, stream]) for stream in range(4)]
    chosen = optimizer(method, Arms(points), draws[0], one)
    pulled, count = [draws[1].integers(len(y), size=2)], 2  # two initial arms, which count
    while True:
        seen = y[pulled[-1]] + one.noise * draws[2].standard_normal(len(pulled[-1]))
        chosen.tell(pulled[-1], Observation.of(seen))
        if count >= horizon:
            break
        pulled.append(chosen.ask(horizon - count, np.empty(0, dtype=np.int64)))
        count += len(pulled[-1])
    regret = y.max() - y[np.concatenate(pulled)]
    uniform = y.max() - y[draws[3].integers(len(y), size=horizon)]
    found: Array = np.cumsum(regret) / np.cumsum(uniform)
    return found


def published(method: str, at: tuple[int, ...]) -> Array:
    """The published ratio at some evaluations, (n,); NaN behind the end of its curve."""
    with CURVES.open(encoding="utf-8") as lines:
        rows = [
            (float(row["x"]), float(row["value"]))
            for row in csv.DictReader(lines)
            if row["panel"] == "cadata-regret-ratio" and row["method"] == method
        ]
    t, value = np.array(rows).T
    found: Array = np.interp(at, t, value, right=np.nan)
    return found


def trial(
    method: str, one: Setting, seeds: list[int], horizon: int, table: Array
) -> dict[str, object]:
    """The row of one trial."""
    points, target = mapped(table[:, :-1], MAPS[one.features]), table[:, -1]
    y = (target - target.min()) / np.ptp(target)
    curves = np.array([ratios(method, one, seed, points, y, horizon) for seed in seeds])
    at = tuple(t for t in AT if t <= horizon)
    ours, theirs = curves[:, [t - 1 for t in at]], published(method, at)
    score = np.nanmean(np.abs(np.log(ours.mean(axis=0) / theirs)))
    return {
        "method": method,
        **asdict(one),
        "seeds": f"{seeds[0]}-{seeds[-1]}",
        "score": f"{score:.3f}",
        **{f"mean {t}": f"{value:.3f}" for t, value in zip(at, ours.mean(axis=0), strict=True)},
        **{f"sd {t}": f"{v:.3f}" for t, v in zip(at, ours.std(axis=0, ddof=1), strict=True)},
    }


def exact() -> Iterator[tuple[str, Setting]]:
    """Exact methods under every map, regularisation, width and beta."""
    for features, lam, xi, beta in itertools.product(
        MAPS, (0.01, 0.001), (0.1, 0.05), ("theorem", "reference-code")
    ):
        for method in ("GP-UCB", "GP-BUCB"):
            yield method, Setting(features, lam, xi, noise=0.1, beta=beta)


def all_six() -> Iterator[tuple[str, Setting]]:
    """All six methods under the settings that the text, the public code or the poster support: a
    noise variance of 0.01 and lambda = xi^2.
    """
    methods = ("GP-UCB", "GP-BUCB", "Async-TS", "Global-BBKB", "GlobalLocal-BBKB", "BKB")
    for features, beta in itertools.product(reversed(MAPS), ("theorem", "reference-code")):
        for method in methods:
            yield method, Setting(features, 0.01, 0.1, noise=0.1, beta=beta)


STAGES = {"exact": exact, "all-six": all_six}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hidden_settings", description=__doc__
    )
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--table", type=Path, default=Path("data", "prepared", "cadata.parquet"))
    options = parser.parse_args()
    table, _ = prepared.read(options.table)
    columns = ["method", *Setting.__annotations__, "seeds", "score"]
    columns += [f"{what} {t}" for what in ("mean", "sd") for t in AT]
    for method, one in STAGES[options.stage]():
        row = trial(method, one, sorted(parse_seeds(options.seeds)), options.evaluations, table)
        with LOG.open("a", encoding="utf-8", newline="") as log:
            writer = csv.DictWriter(log, columns, restval="")
            if log.tell() == 0:
                writer.writeheader()
            writer.writerow(row)
        print(row, flush=True)


if __name__ == "__main__":
    main()
