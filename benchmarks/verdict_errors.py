"""How often verdicts are wrong, and what they can see: `python -m benchmarks.verdict_errors`.

Writes benchmarks/report/verdict_errors.md: claims with known answers, judged by the tests of
workflow/measure/statistics.py under the rules of workflow/judge/checks.py, many at once. A test
judges samples of them whole, by the code that judges claims, and simulates the page again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from workflow.judge.outcomes import ORDER
from workflow.judge.render import table
from workflow.measure.statistics import (
    ENOUGH,
    FULL,
    LEVEL,
    LOOKS,
    POWER,
    detectable,
    false_discovery,
    looks,
    share,
    sign_flip,
    signed_ranks,
    t_test,
)

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
Test = Callable[[Array], Array]
PAGE = Path("benchmarks", "report", "verdict_errors.md")
REPEATS = 100_000
REPRODUCED, DIRECTION, INCONCLUSIVE, CONTRADICTED = range(4)


def basins(one: float, other: float, gap: float = 5.0) -> Draw:
    """Two methods that end in a side basin, `gap` worse, with these probabilities."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        ends = gap * ((rng.random(shape) < one).astype(float) - (rng.random(shape) < other))
        return np.asarray(ends + rng.standard_normal(shape))

    return draw


def never(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Runs that find nothing feasible, half of them on either side: infinite differences."""
    sides = [np.where(rng.random(shape) < 0.5, np.inf, rng.standard_normal(shape)) for _ in "AB"]
    with np.errstate(invalid="ignore"):
        return np.where(sides[0] == sides[1], 0.0, sides[0] - sides[1])


# Differences of two methods of which none is better. The last two have a mean of zero and are
# likelier on one side of it than on the other.
WITHOUT: Mapping[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "skewed: two lognormal regrets": lambda rng, shape: (
        rng.lognormal(0, 1, shape) - rng.lognormal(0, 1, shape)
    ),
    "heavy tails: Student's t, 2 degrees": lambda rng, shape: rng.standard_t(2, shape),
    "basins: both in a side basin in 3 of 10 runs": basins(0.3, 0.3),
    "basins: both in a side basin in 1 of 10 runs": basins(0.1, 0.1),
    "lognormal, less its mean": lambda rng, shape: rng.lognormal(0, 1, shape) - np.exp(0.5),
    "1 in 10 runs fails, at ten times the gain": lambda rng, shape: (
        np.where(rng.random(shape) < 0.1, 9.0, -1.0) + 0.1 * rng.standard_normal(shape)
    ),
}
EFFECTS = (0.5, 0.8, 1.0, 1.5, 2.0)  # in standard deviations of the differences
WITH: Mapping[str, Draw] = {
    "normal, 1 deviation": lambda rng, shape: rng.standard_normal(shape) - 1,
    "heavy tails: Student's t, 2 degrees, shifted by 1.5": lambda rng, shape: (
        rng.standard_t(2, shape) - 1.5
    ),
    "basins: 1 of 10 runs against 6 of 10": basins(0.1, 0.6),
    "basins: 1 of 10 runs against 9 of 10": basins(0.1, 0.9),
}


def signed_rank(values: Array) -> Array:
    """p of the exact test that decides where values are infinite."""
    return sign_flip(signed_ranks(values))


def decided(values: Array, planned: int, test: Test = t_test) -> tuple[Codes, Codes]:
    """1 for, -1 against and 0 for neither, of each comparison of claims (n, m, k): as the first
    look that decides has it, and as the last look has it.
    """
    m = values.shape[1]
    side = now = np.zeros(values.shape[1:], dtype=np.int64)
    for look in looks(planned):
        seen = values[: look.seeds]
        level = look.level if m == 1 else LEVEL / (m * len(looks(planned)))
        against = test(-seen) <= level
        now = np.where(test(seen) <= look.level, 1, np.where(against, -1, 0))
        side = np.where(side == 0, now, side)
    return side, now


def judged(values: Array, planned: int, test: Test = t_test) -> Codes:
    """The outcomes (k,) of k claims about m comparisons from their differences (n, m, k), in the
    order of ORDER.
    """
    side, last = decided(values, planned, test)
    seen = values[: looks(planned)[-1].seeds]
    median = test is signed_rank
    holds = (np.quantile(seen, 0.5, axis=0, method="higher") if median else seen.mean(axis=0)) < 0
    outcome = np.where(((side == 1) | holds).all(axis=0), DIRECTION, INCONCLUSIVE)
    outcome = np.where((side == 1).all(axis=0), REPRODUCED, outcome)
    outcome = np.where((side == -1).any(axis=0), CONTRADICTED, outcome)
    # what the first look decided and the last one no longer shows
    faded = (outcome == REPRODUCED) & (last != 1).any(axis=0)
    faded |= (outcome == CONTRADICTED) & ~((side == -1) & (last == -1)).any(axis=0)
    is_direction = (outcome == REPRODUCED) & holds.all(axis=0)
    return np.where(faded, np.where(is_direction, DIRECTION, INCONCLUSIVE), outcome)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def rate(codes: Codes, code: int) -> str:
    return percent(float((codes == code).mean()))


def rng_of(name: str) -> np.random.Generator:
    """The draws of one table, whatever the others draw."""
    return np.random.Generator(np.random.Philox(key=int.from_bytes(name.encode()[:16], "big")))


def outcomes_of(draws: Mapping[str, Draw], name: str, repeats: int) -> str:
    """How often each outcome is reached, at both plans, and by the sign-flip test."""
    rng, rows = rng_of(name), []
    for what, draw in draws.items():
        values = draw(rng, (FULL, 1, repeats))
        flips = judged(values[..., : repeats // 4], FULL, sign_flip)
        cells = [rate(judged(values, n), code) for n in (ENOUGH, FULL) for code in range(4)]
        rows.append([what, *cells, rate(flips, REPRODUCED), rate(flips, CONTRADICTED)])
    if name == "without":
        values = never(rng, (FULL, 1, repeats // 4))
        cells = [
            rate(judged(values, n, signed_rank), code) for n in (ENOUGH, FULL) for code in range(4)
        ]
        rows.append(["by rank: nothing feasible in half of the runs", *cells, "-", "-"])
    kinds = [f"{n} seeds: {name}" for n in (ENOUGH, FULL) for name in ORDER[:4]]
    flipped = [f"{FULL} seeds, sign flip: {ORDER[code]}" for code in (REPRODUCED, CONTRADICTED)]
    return table(["differences", *kinds, *flipped], rows)


def rules(repeats: int) -> str:
    """What other rules of looking at ten seeds would do."""
    rng = rng_of("rules")
    plans: Mapping[str, Sequence[tuple[int, float]]] = {
        "a look after each of the seeds 5 to 10, at 0.05": [(n, LEVEL) for n in range(5, 11)],
        "looks at 5 and 10, both at 0.05": [(5, LEVEL), (10, LEVEL)],
        "looks at 5 and 10, both at 0.031": [(5, 0.031), (10, 0.031)],
        "looks at 5 and 10, both at 0.029 (Pocock's boundary)": [(5, 0.029), (10, 0.029)],
        f"**looks at 5 and 10, at 1/32 and {LOOKS[1][1]:g}**": LOOKS,
        "one look at 10, at 0.05": [(10, LEVEL)],
    }
    null = rng.standard_normal((FULL, repeats))
    rows = []
    for what, plan in plans.items():
        wrong, flip, right = (
            np.any([test(values[:n]) <= level for n, level in plan], axis=0)
            for test, values in (
                (t_test, null),
                (sign_flip, null[:, : repeats // 4]),
                (t_test, null - 1),
            )
        )
        first, level = plan[0]
        used = FULL - (FULL - first) * float((t_test(null[:first] - 1) <= level).mean())
        seeds = f"{used:.1f}" if len(plan) == 2 else f"{first}" if len(plan) == 1 else "-"
        rows.append([what, *(percent(one.mean()) for one in (wrong, flip, right)), seeds])
    head = ["rule", "wrong without an effect", "the same, sign flip", "power at 1 deviation"]
    return table([*head, "seeds used there"], rows)


def conjunctions(repeats: int) -> str:
    """Claims about several comparisons: all without an effect, one without, all with one."""
    rng, rows = rng_of("conjunctions"), []
    for m in (1, 4, 24):
        k = max(repeats // m, 400)
        null = rng.standard_normal((FULL, m, k))
        one = null.copy()
        one[:, 1:] -= 50
        alone, _ = decided(null.reshape(FULL, 1, -1), FULL)
        without = np.any(alone.reshape(m, k) == -1, axis=0)
        cells = [
            rate(judged(null, FULL), REPRODUCED),
            rate(judged(one, FULL), REPRODUCED),
            rate(judged(null, FULL), CONTRADICTED),
            percent(float(without.mean())),
            rate(judged(null - 1.5, FULL), REPRODUCED),
        ]
        rows.append([str(m), *cells])
    return table(
        [
            "comparisons",
            "none has an effect: reproduced",
            "all but one have: reproduced",
            "none has an effect: contradicted",
            "the same, if the level were not shared",
            "all have 1.5 deviations: reproduced",
        ],
        rows,
    )


def powers(repeats: int) -> str:
    """How often an effect is seen."""
    rng = rng_of("powers")
    null = rng.standard_normal((FULL, 1, repeats))
    rows = []
    for effect in EFFECTS:
        five, ten = (judged(null - effect, n) for n in (ENOUGH, FULL))
        once = t_test(null[:, 0] - effect) <= LEVEL
        early = t_test(null[:ENOUGH, 0] - effect) <= LOOKS[0][1]
        rows.append(
            [
                f"{effect:g}",
                rate(five, REPRODUCED),
                rate(ten, REPRODUCED),
                percent(early.mean()),
                percent(once.mean()),
                rate(ten, CONTRADICTED),
            ]
        )
    return table(
        [
            "effect",
            f"{ENOUGH} planned: reproduced",
            f"{FULL} planned: reproduced",
            f"... of all, already at {ENOUGH}",
            f"one look at {FULL}, at 0.05",
            f"{FULL} planned: contradicted",
        ],
        rows,
    )


def shares() -> str:
    """What shares of seeds can show and refute; exact, nothing is drawn."""
    rows = []
    for words, bounds in (
        ("at least 1/2", {"at_least": 0.5}),
        ("at least 9/10", {"at_least": 0.9}),
        ("1, in every seed", {"at_least": 1.0}),
        ("at most 3/10", {"at_most": 0.3}),
    ):
        cells = []
        for n, level in ((ENOUGH, LEVEL), *LOOKS):
            for side in ("p", "p_against"):
                hits = [k for k in range(n + 1) if getattr(share(k, n, **bounds), side) <= level]
                cells.append(_range(hits, n))
        true = next(iter(bounds.values()))
        wrong = [_reached(bounds, side, true) for side in ("p", "p_against")]
        rows.append([words, *cells, *map(percent, wrong)])
    kinds = [
        f"{n} seeds at {level:.3g}: {what}"
        for n, level in ((ENOUGH, LEVEL), *LOOKS)
        for what in ("shown", "refuted")
    ]
    return table(
        ["share", *kinds, f"{FULL} seeds, at the bound: shown", "at the bound: refuted"], rows
    )


def _range(hits: Sequence[int], n: int) -> str:
    if not hits:
        return "never"
    ends = {0: f"{hits[-1]} or fewer", n: f"{hits[0]} or more"}
    return str(hits[0]) if len(hits) == 1 else ends[0] if hits[0] == 0 else ends[n]


def _reached(bounds: Mapping[str, float], side: str, true: float) -> float:
    """The probability that one of the two looks decides for a side."""
    total = 0.0
    for early, late in product(range(ENOUGH + 1), range(FULL - ENOUGH + 1)):
        reached = any(
            getattr(share(hits, n, **bounds), side) <= level
            for hits, (n, level) in zip((early, early + late), LOOKS, strict=True)
        )
        chance = stats.binom.pmf(early, ENOUGH, true) * stats.binom.pmf(late, FULL - ENOUGH, true)
        total += float(chance) * reached
    return total


def ledgers(repeats: int) -> str:
    """Ledgers of 100 claims of which some have an effect: how many of those called reproduced are
    wrong.
    """
    rng, rows = rng_of("ledgers"), []
    for true in (70, 40, 10):
        calls: dict[str, list[tuple[float, float]]] = {"each claim": [], "q at most 5 %": []}
        for _ in range(max(repeats // 500, 40)):
            values = rng.standard_normal((FULL, 1, 100))
            values[..., :true] -= 1.5
            alone = judged(values, FULL) == REPRODUCED
            q = false_discovery(np.minimum(1.0, 2 * t_test(values[:, 0])))
            for name, called in (("each claim", alone), ("q at most 5 %", q <= LEVEL)):
                wrong = float(called[true:].sum()) / max(int(called.sum()), 1)
                calls[name].append((wrong, float(called[:true].mean())))
        means = [np.mean(each, axis=0) for each in calls.values()]
        rows.append([str(true), *(percent(one) for mean in means for one in mean)])
    return table(
        [
            "claims with an effect, of 100",
            "each claim by itself: wrong among reproduced",
            "effects found",
            "q at most 5 %: wrong among reproduced",
            "effects found",
        ],
        rows,
    )


def page(repeats: int = REPEATS) -> str:
    """The whole report."""
    smallest = ", ".join(
        f"{detectable(n, level):.2f} at {n} seeds and level {level:.3g}"
        for n, level in ((ENOUGH, LEVEL), *LOOKS)
    )
    return f"""\
# How often verdicts are wrong, and which effects they can see

`python -m benchmarks.verdict_errors` simulates these tables: claims whose truth is known, judged by
[the rules](../../docs/verdicts.md). {repeats:,} claims a row, a quarter of that with sign flips and
ranks, fewer with many comparisons and for whole papers.

## No effect

How often each outcome is reached where no method is better. Five seeds have one look, ten have two.

{outcomes_of(WITHOUT, "without", repeats)}

The first five rows and the last keep 5 % on each side: one claim in ten is decided without an
effect, half of them for each side. The two rows before the last do not keep it: the mean is zero
there and most differences lie below it. No test of few seeds can tell that from an effect; where
one run in ten fails badly, five seeds see no failure in 59 % of the cases. Outcomes of this kind
are those of runs that end in different basins.

## An effect

{powers(repeats)}

Effects are in standard deviations of the differences, which are normal. The smallest effect that a
t test sees with a power of {POWER:g} is {smallest}. Other shapes:

{outcomes_of(WITH, "with", repeats)}

## Rules of looking

{rules(repeats)}

## Several comparisons

Ten seeds, two looks, independent normal differences.

{conjunctions(repeats)}

## Shares of seeds

Exact. A share of exactly 1 cannot be shown, and one seed refutes it.

{shares()}

## All claims of a paper

Ten seeds, effects of 1.5 deviations. Without q, claims that have no effect and are called
reproduced are few among all claims, and may be many among those called reproduced.

{ledgers(repeats)}

## Sources

- Benjamini, Y., and Hochberg, Y.: Controlling the false discovery rate. J. R. Stat. Soc. B 57
  (1995), 289-300.
- Berger, R. L.: Multiparameter hypothesis testing and acceptance sampling. Technometrics 24 (1982),
  295-300.
- Lan, K. K. G., and DeMets, D. L.: Discrete sequential boundaries for clinical trials. Biometrika
  70 (1983), 659-663.
- Pocock, S. J.: Group sequential methods in the design and analysis of clinical trials. Biometrika
  64 (1977), 191-199.
"""


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
