"""docs/verdicts.md has its program's error rates, which judges as claims are, and the rules."""

import re
from functools import cache

import numpy as np

from benchmarks import verdict_errors
from tests.workflow.judge.claimed import typed
from tests.workflow.measure.test_statistics_power import FAMILY, Drawn, paper
from workflow.judge import claims
from workflow.judge.closeness import CAP, MARGIN, REPRODUCES
from workflow.judge.outcomes import GROUPS, MEANINGS, ORDER
from workflow.judge.trivial import PASSES
from workflow.measure.statistics import ENOUGH, LEVEL, LOOKS
from workflow.plan.resolve import ROOT

WRITTEN = (ROOT / verdict_errors.PAGE).read_text(encoding="utf-8")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
QUICK = 8_000
# the fewest claims that a rate of a quick page is of, by its section; others have a fourth of them
FEWEST = {"Several comparisons": QUICK // 24, "All claims of a paper": 40}


def test_the_rules_are_those_in_force():
    """The constants and words of the code, each in the sentence that states it."""
    rules = " ".join((ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8").split())
    for words in (MEANINGS, GROUPS):
        for name, meaning in words.items():
            assert f"| {name} | {meaning} |" in rules
    (five, first), (ten, second) = LOOKS
    assert (five, ten, ENOUGH, LEVEL, 1 / first) == (5, 10, 5, 0.05, 32)
    for stated in (
        f"at five seeds (level 1/32) and at ten (level {second:g}), together 5 %",
        f"in at least {PASSES:.0%} of the cases",
        f"A factor above {CAP:g} counts as {CAP:g}",
        f"within a factor of {MARGIN:g} of the least score",
        f"within a factor of {REPRODUCES:g} of what is published",
    ):
        assert stated in rules


@cache
def quick():
    return verdict_errors.page(QUICK)


def test_the_page_has_the_words_of_its_program():
    def words(page):
        return NUMBER.sub("#", page.replace(",000", "000"))

    assert words(WRITTEN) == words(quick())


def sections(page):
    """The rates in the tables of each section, as shares."""
    found = {}
    for part in page.split("\n## ")[1:]:
        heading, *lines = part.splitlines()
        rows = "\n".join(line for line in lines if line.startswith("|"))
        found[heading] = [float(rate) / 100 for rate in re.findall(r"(\d+\.\d) %", rows)]
    return found


def test_the_rates_on_the_page_are_those_of_another_simulation():
    """Within five Monte-Carlo errors of the quick page, and the last digit."""
    for section in [name for name, rates in sections(WRITTEN).items() if rates]:
        written, again = (np.array(sections(page)[section]) for page in (WRITTEN, quick()))
        wide = np.maximum(again * (1 - again), 0.001)
        errors = 5 * np.sqrt(wide / FEWEST.get(section, QUICK // 4)) + 0.001
        assert len(written) == len(again)
        assert (np.abs(written - again) <= errors).all(), np.c_[written, again, errors]


def test_rates_keep_what_the_rules_promise():
    """The bold row is the rule in use: 5 % without an effect, by both tests."""
    (row,) = re.findall(r"^\| \*\*looks.*$", WRITTEN, re.MULTILINE)
    assert max(float(found) for found in re.findall(r"(\d+\.\d) %", row)[:2]) <= 5.1


def test_the_program_judges_as_claims_are_judged():
    """400 claims about four comparisons, each outcome among them."""
    for planned in [5, 10]:
        values = np.random.default_rng(planned).standard_normal((planned, 4, 400))
        values += np.repeat([-3.0, -1.2, -0.4, 0.8], 100)
        expected = [ORDER[code] for code in verdict_errors.judged(values, planned)]
        assert set(expected) == set(ORDER[:4])
        claim = typed(FAMILY)
        zero = {"A": np.zeros(planned)}
        others = [dict(zip("BCDE", -values[..., k].T, strict=True)) for k in range(400)]
        drawn = [Drawn({**zero, **of_four}) for of_four in others]
        assert [claims.judge(paper(planned), one, claim).verdict for one in drawn] == expected
