"""How often verdicts are wrong, and what they can see: `python -m benchmarks.verdict_errors`.

Writes docs/verdicts.md, whose tables it simulates: claims with known answers, judged by the tests
of workflow/measure/statistics.py under the rules of workflow/judge/checks.py, many at once. A test
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

from workflow.judge.closeness import CAP, MARGIN, REPRODUCES
from workflow.judge.outcomes import (
    CHANGED,
    DISAGREE,
    FADED,
    GROUPS,
    IMPLEMENTATION,
    LATE,
    MEANINGS,
    ORDER,
    OTHER_CODE,
    OUTSIDE,
    TRIVIAL,
)
from workflow.judge.render import table
from workflow.judge.trivial import PASSES
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
PAGE = Path("docs", "verdicts.md")
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
    found = np.where(((side == 1) | holds).all(axis=0), DIRECTION, INCONCLUSIVE)
    found = np.where((side == 1).all(axis=0), REPRODUCED, found)
    found = np.where((side == -1).any(axis=0), CONTRADICTED, found)
    # what the first look decided and the last one no longer shows
    faded = (found == REPRODUCED) & (last != 1).any(axis=0)
    faded |= (found == CONTRADICTED) & ~((side == -1) & (last == -1)).any(axis=0)
    is_direction = (found == REPRODUCED) & holds.all(axis=0)
    return np.where(faded, np.where(is_direction, DIRECTION, INCONCLUSIVE), found)


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
        means = [np.mean(found, axis=0) for found in calls.values()]
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
    """The whole page."""
    smallest = ", ".join(
        f"{detectable(n, level):.2f} at {n} seeds and level {level:.3g}"
        for n, level in ((ENOUGH, LEVEL), *LOOKS)
    )
    words, beside = (
        "\n".join(f"| {name} | {meaning} |" for name, meaning in said.items())
        for said in (MEANINGS, GROUPS)
    )
    return f"""\
# Verdicts: what decides them, and how often they are wrong

This page is written by `python -m benchmarks.verdict_errors`, which simulates its tables
({repeats:,} claims a row, a quarter of that with sign flips and ranks, fewer with many comparisons
and for whole papers). Rates are of claims whose truth is known.

## The rules

| verdict | meaning |
| --- | --- |
{words}

- **Seeds are pairs.** For one seed all methods meet the same problem, design and noise; a seed
  gives one difference. A one-sided paired t test decides for the claim, the opposite one against
  it, each at 5 %. The exact sign-flip test stands beside it. Where one of the two is significant
  and the other is not, the verdict says so.
- **Two looks.** Where ten seeds are planned they are looked at when the first five are there, at
  level 1/32, and when all ten are, at {LOOKS[1][1]:g}; together that is 5 %. What the first look
  has decided stands if ten seeds show it as well. Otherwise the claim is direction only, or
  inconclusive, and says *{FADED}*. With six to nine seeds the verdict is that of the first five.
  1/32 is the smallest p of an exact test of five pairs; it is also about what the
  spending function 0.05 ln(1 + (e - 1)/2) = 0.0310 of Lan and DeMets (1983) allows half-way,
  which imitates the boundary of Pocock (1977).
- **One look** at the full level, at all seeds, is taken where the YAML of the paper plans fewer
  than ten (at least five). Seeds that are chosen on the command line change no plan.
- **Fewer than five seeds** decide nothing, but for a claim in which nothing is drawn
  (`deterministic: true`): its numbers decide as they are.
- **Spreads** are compared by an F test.
- **Several comparisons.** A claim that says several things at once is reproduced if each of them
  is significant at the level of one: the intersection-union test needs no correction (Berger,
  1982). It is contradicted if one of them is significantly on the other side. That is a union:
  the level of 5 % is shared among all comparisons and their looks (Bonferroni); the table below
  shows what would happen otherwise. A claim that is contradicted waits for no other run.
- **Settings.** A claim may be asked in several settings, as a lemma is for several dictionaries:
  its comparisons are those of all of them. A setting outside the theorem, or in which nothing can
  fail, is shown with that word and decides nothing, unless no other is left. The level at which
  one comparison contradicts the claim is shared among all settings within the theorem.
- **Statements about every run** ("never exceeds", "in every repetition") are contradicted by one
  run. If all n runs keep the statement, p is 2^-n. This is the p-value against the hypothesis that
  at least half of all runs break it. n runs cannot show more.
- **All claims of a paper together.** `verdicts.md` shows q for each claim: p, times the number of
  looks, adjusted over the claims that are counted together (the plain ones, the trivial ones, ...)
  by the procedure of Benjamini and Hochberg (1995), separately for reproduced and contradicted.
- **What could be seen.** Each comparison shows the smallest effect that a t test of so many
  seeds, of the spread that was found, sees with a power of {POWER:g}: in standard deviations
  {smallest}.

## Qualifiers

They say what an outcome is worth. A claim with one of these is shown with it and counted apart from
the plain claims of the paper, once, in the first row that fits:

| qualifier | meaning |
| --- | --- |
{beside}

- *{OUTSIDE}* is said where a hypothesis under `requires:` is not met by what was run. The claim is
  then not decided; what was observed stands in the qualifier.
- *{IMPLEMENTATION}* is said of claims that compare seconds of methods that are not implemented
  alike (`implementation: true`). Seconds of our own code decide nothing of the authors': such a
  claim is not decided, and its qualifier stands beside what was observed.
- *{TRIVIAL}* is computed from records. A claim may name a **null model**: something that knows
  nothing of the claim's method, such as draws of a random search, another column or metric (the
  number of all distinct arms, the regret of the worst policy), or a column that says where a
  dictionary holds (nearly) all arms. The claim's check is applied to the null model. The claim
  holds trivially if the null model passes in at least {PASSES:.0%} of the cases. A
  check that is true of every number, such as an identity, needs no null model: the claim says why.
- These qualifiers are shown, but the claim is not counted apart: *{DISAGREE}*, *{FADED}*,
  *{OTHER_CODE}*, *{LATE}*, *{CHANGED}*.

## Certificates

A verdict is one outcome under one set of settings. Papers leave settings open, and public codes
depart from texts; a **reading** is one answer to such a question, or several. `certificate.md` says
of each claim how much hangs on them.

- A **setting** is a parameter of a method or of a problem. Which settings a reading changes in the
  runs of a claim is computed from the planned runs, not declared. They are its **axis**. Readings
  with the same axis are alternatives on it: three places where an ascent may start are one axis.
- A reading that repeats all changes of one other reading and adds to them is a refinement of it, an
  alternative on its axis: "the fit that works" and "the same, fitted every round" are one question,
  however often it is refined. A reading that repeats the changes of several, as a public code may,
  combines their questions and is an axis by itself.
- Readings that come to the same runs, by the same parameters or trace by trace, are one
  specification. Those under which all runs of the claim are the default ones again are the default.
- **Votes.** The default has one, and each axis has one that its alternatives share equally. A share
  is a part of all votes. So saying a reading twice changes no share, and trying more values of a
  setting gives it no more weight. This says how much of what was asked agrees; it is no
  probability: nobody drew the readings, and an axis that nobody thought of has no vote.
- **Controls.** A reading with `control: true` is an experiment of ours that answers no question of
  the paper, such as decompositions drawn at random. It is run, judged and shown like the others,
  and has no vote, no axis and no part in what turns a claim.
- What was not run, and what may not decide (too few seeds, stand-in data), has shares of its own.
  A sentence says how many of the readings were run. A reading not all of whose runs were made
  counts as run only where one of its own runs refutes the claim: what the default's runs refute
  says nothing of it.
- **In the public code** a claim comes to what it comes to under the reading that follows that code
  as a whole (`follows: public code`). That is said only of claims with a method whose parameters
  this reading sets. Of all others the public code says nothing.
- **What would have to be true.** For a claim that does not hold, the readings under which it does;
  for one that holds, those that contradict it. Where no single one does, pairs are composed of runs
  that were made one at a time: a run is that of the reading that changes it. Where two readings
  change the same run, nobody has run them together, and the pair is counted as never run. Several
  answers cannot be told apart by these runs. Many readings and pairs are tried without correction,
  so that what is found is a question to ask, no evidence of what the authors did.

## Nearest

Where authors have published numbers of an experiment (`papers/published/`), every reading has a
score: the mean of |ln(ours / published)| over all methods of the experiment and some points. A
difference of more than a factor of {CAP:g} counts as {CAP:g}. Of the readings within a factor of
{MARGIN:g} of the least score the simplest is the **nearest** setting. A claim about the experiment
then has two verdicts: as printed, and nearest.

- In the nearest setting a comparison of methods is decided only if the setting beats one number for
  all methods (*alike*), and if each of its methods is within a factor of {REPRODUCES:g} of what is
  published. A claim about one method needs the latter of that method.
- Published numbers that are not scored test the choice: batch sizes, the spread over seeds, seconds
  as ratios. `verdicts.md` has all scores.

`claims-by-settings.png` shows what every claim comes to under every setting.

## No effect

How often each outcome is reached where no method is better. Five seeds have one look, ten have two.

{outcomes_of(WITHOUT, "without", repeats)}

The first five rows and the last keep 5 % on each side: one claim in ten is decided without an
effect, half of them for each side. The two rows before the last do not keep it: the mean is zero
there and most differences lie below it. No test of few seeds can tell that from an effect; where
one run in ten fails badly, five seeds see no failure in 59 % of the cases. Outcomes of this kind
are those of basins, which is why tables show the share of runs in the global basin beside the mean.

## An effect

{powers(repeats)}

Effects are in standard deviations of the differences, which are normal. Other shapes:

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
