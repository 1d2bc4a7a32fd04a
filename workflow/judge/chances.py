"""How likely the next look at a comparison is to decide it, for the claim or against it.

Where at least two seeds are there, the chance is predictive: mean and deviation are drawn from what
the seeds seen leave possible (normal differences, flat prior in the mean and in the logarithm of
the deviation), the seeds that are missing are drawn from these, and the look is taken. Any other
test than that of Student is read as the t that has its p. Statements of which a seed keeps or
breaks each are predicted by the rule of succession. Where there are no seeds, or a test has no such
model, the chance is a prior: the share of claims by the same kind of test that a first look has
decided so far.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from workflow.judge.checks import AGAINST, BY_RANK, FOR, OF_ALL, OF_ROWS, Comparison
from workflow.judge.evidence import Check
from workflow.judge.ledger import comparison
from workflow.measure.metrics import Array
from workflow.measure.statistics import ENOUGH, LEVEL, LOOKS, Look, share

DRAWS = 4096  # of a predictive chance: a standard error of 0.008 at most
STEEPEST = 50.0  # of a t, where p is zero within rounding
PSEUDO = 2.0  # claims of the average kind that are added to the record of each kind
NEITHER = ""
TWO_SIDED = ("equivalent", "published")  # refuted by either of two tests
COUNTED, SPREAD = "share of seeds", "ratio of spreads"


@dataclass(frozen=True)
class Chance:
    """That a look decides a comparison: for its claim, against it; `seen` if seeds say so."""

    favour: float
    against: float
    seen: bool = False


@dataclass
class Prior:
    """How first looks at claims have ended so far, by kind of test: a claim that is judged anew
    takes the place of what was committed.
    """

    ends: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def add(self, paper: str, claim: Mapping[str, Any], found: Sequence[Comparison]) -> None:
        """Count what the first look has said of a claim of the YAML, if it was taken."""
        test = claim["check"]["test"]
        if not found or not all(_was_looked_at(one) for one in found):
            return
        sides = {_first(test, one, len(found)) for one in found}
        end = AGAINST if AGAINST in sides else FOR if sides == {FOR} else NEITHER
        self.ends[paper, claim["id"]] = test, end

    def chance(self, test: str, many: int) -> Chance:
        """That of one of `many` comparisons of a claim by a kind of test, of which no seed says
        anything: all of them together have the claim's.
        """
        total = Counter({FOR: 1, AGAINST: 1, NEITHER: 1})
        total.update(end for _, end in self.ends.values())
        kind = Counter(end for name, end in self.ends.values() if name == test)
        whole = kind.total() + PSEUDO
        favour, against = (
            (kind[side] + PSEUDO * total[side] / total.total()) / whole for side in (FOR, AGAINST)
        )
        return Chance(favour ** (1 / many), 1 - (1 - against) ** (1 / many))


def committed(report: Path, paper: str, claims: Iterable[Mapping[str, Any]], prior: Prior) -> None:
    """Add to a prior what a committed verdicts.json, of any edition, says of claims that the YAML
    still has. Nothing where there is none.
    """
    if not report.exists():
        return
    said = json.loads(report.read_text(encoding="utf-8"))["claims"]
    known = {one["id"]: [comparison(entry) for entry in one["comparisons"]] for one in said}
    for claim in claims:
        prior.add(paper, claim, known.get(claim["id"], []))


def chance(
    found: Comparison, check: Check, look: Look, *, lacking: int, many: int, prior: Prior
) -> Chance:
    """The chance of a look, of whose seeds so many are `lacking`, at one of `many` comparisons."""
    there = min(found.n, look.seeds - lacking)
    if found.missing or there < 2 or not found.has_number or found.kind.startswith(SPREAD):
        return prior.chance(check["test"], many)
    against = look.level if many == 1 else LEVEL / (many * found.looks)
    if found.kind.startswith(OF_ROWS):
        return _of_rows(found, look, there)
    if found.kind == COUNTED:
        return _of_counts(found, check, look, there, against)
    if np.isnan(found.p):
        return prior.chance(check["test"], many)
    if check["test"] in TWO_SIDED or {"at_least", "at_most"} <= set(check):
        against /= 2
    return _of_means(found, look, there, against)


def _of_means(found: Comparison, look: Look, there: int, level_against: float) -> Chance:
    """By a t test of `there` seeds of the mean seen, in deviations, and those that come."""
    t = float(np.clip(stats.t.isf(found.p, found.n - 1), -STEEPEST, STEEPEST))
    final = _later(t / np.sqrt(found.n), there, look.seeds)
    free = look.seeds - 1
    favour = float((final >= stats.t.isf(look.level, free)).sum())
    against = float((final <= -stats.t.isf(level_against, free)).sum())
    # a draw more that says nothing: no chance is none
    return Chance((favour + 0.5) / (DRAWS + 1), (against + 0.5) / (DRAWS + 1), seen=True)


def _later(mean: float, there: int, seeds: int) -> Array:
    """Draws of the t of all `seeds`, given the mean of those that are there, in deviations."""
    coming = seeds - there
    wide, position, place, extra = _noise(there, coming)
    deviation = np.sqrt((there - 1) / wide)
    centre = mean + deviation * position / np.sqrt(there)
    new = centre + deviation * place / np.sqrt(coming)
    whole = (there * mean + coming * new) / seeds
    squares = there - 1 + deviation**2 * extra + there * coming / seeds * (mean - new) ** 2
    return np.asarray(whole / np.sqrt(squares / (seeds - 1) / seeds), dtype=np.float64)


@cache
def _noise(there: int, coming: int) -> tuple[Array, Array, Array, Array]:
    """The same draws whoever asks: chi-square, normal, normal, chi-square."""
    random = np.random.Generator(np.random.Philox(key=1000 * there + coming))
    return (
        random.chisquare(there - 1, DRAWS),
        random.standard_normal(DRAWS),
        random.standard_normal(DRAWS),
        random.chisquare(coming - 1, DRAWS) if coming > 1 else np.zeros(DRAWS),
    )


def _of_rows(found: Comparison, look: Look, there: int) -> Chance:
    """Of a statement that one seed refutes: all seeds so far keep it, or one has broken it."""
    if not found.holds:
        return Chance(0.0, 1.0, seen=True)
    kept = (there + 1) / (look.seeds + 1)
    return Chance(kept if 0.5**look.seeds <= look.level else 0.0, 1 - kept, seen=True)


def _of_counts(
    found: Comparison, check: Check, look: Look, there: int, level_against: float
) -> Chance:
    """Of a share of seeds: how many of those that come are hits is beta-binomial."""
    hits, coming = round(found.effect * there), look.seeds - there
    weights = stats.betabinom.pmf(np.arange(coming + 1), coming, hits + 1, there - hits + 1)
    favour = against = 0.0
    least, most = check.get("at_least", 0.0), check.get("at_most", 1.0)
    for more, weight in enumerate(weights):
        test = share(hits + more, look.seeds, at_least=least, at_most=most)
        if least <= test.mean <= most:
            favour += float(weight) * (test.p <= look.level)
        else:
            against += float(weight) * (test.p_against <= level_against)
    return Chance(favour, against, seen=True)


def _was_looked_at(found: Comparison) -> bool:
    return not found.missing and not found.few and found.n >= ENOUGH and found.has_number


def _first(test: str, found: Comparison, many: int) -> str:
    """Which side the first look at one of `many` comparisons has decided for; of the first edition,
    which did not say, by p.
    """
    if found.looks > 1 or found.side:
        return found.side if found.at in (0, ENOUGH) or found.looks == 1 else NEITHER
    if found.holds:
        return FOR if found.p <= LOOKS[0][1] else NEITHER
    level = LOOKS[0][1] if many == 1 else LEVEL / (many * len(LOOKS))
    is_refuted = test in OF_ALL or 1 - found.p <= level
    return AGAINST if is_refuted and BY_RANK not in found.kind else NEITHER
