"""The chance that a look decides, against exact predictions, frequencies and what is recorded."""

import json

import numpy as np
import pytest
from scipy import optimize, stats

from workflow.judge import chances
from workflow.judge.chances import Chance, Prior
from workflow.judge.checks import AGAINST, FOR, Comparison
from workflow.measure.statistics import LOOKS, Look, below_zero, looks

LESS = {"test": "less"}
FIRST, SECOND = looks(10)


def compared(values, **changes):
    """A comparison as `less` makes it of differences."""
    test = below_zero(np.asarray(values, dtype=float))
    found = Comparison(
        "a < b",
        "difference",
        test.mean,
        test.low,
        test.high,
        test.mean < 0,
        test.p,
        test.p_flip,
        test.n,
        p_against=test.p_against,
        looks=2,
    )
    return Comparison(**{**vars(found), **changes})


def chance(found, look, lacking, check=LESS, many=1, prior=None):
    prior = Prior() if prior is None else prior
    return chances.chance(found, check, look, lacking=lacking, many=many, prior=prior)


@pytest.mark.parametrize("values", [(-1.0, -2.0, -0.5, -1.5), (-1.0, 0.5, -0.2, 0.4)])
def test_with_one_seed_to_come_it_is_what_student_predicts_of_the_next_value(values):
    """The next value is mean + s sqrt(1 + 1/n) t_(n-1); the look decides below a value of it."""
    there = np.array(values)

    def p(new):
        return below_zero(np.append(there, new)).p - FIRST.level

    scale = there.std(ddof=1) * np.sqrt(1 + 1 / 4)
    inside = np.linspace(there.mean() - 40 * scale, there.mean() + 40 * scale, 4001)
    decided = np.array([p(new) <= 0 for new in inside])
    edges = [
        optimize.brentq(p, inside[i], inside[i + 1])
        for i in np.flatnonzero(decided[1:] != decided[:-1])
    ]
    cdf = stats.t.cdf((np.array(edges) - there.mean()) / scale, 3)
    exact = cdf[1] - cdf[0] if len(edges) == 2 else (cdf[0] if len(edges) == 1 else 0.0)
    found = chance(compared(values), FIRST, 1)
    assert found.seen
    assert found.favour == pytest.approx(exact, abs=0.02)


def test_it_is_how_often_ten_seeds_decide_after_five():
    """Over effects of all sizes, as the flat prior has them, predicted and found shares agree."""
    random = np.random.default_rng(7)
    predicted, happened = [], []
    for _ in range(400):
        seen = random.normal(random.normal(0, 2), 1, 10)
        found = chance(compared(seen[:5]), SECOND, 5)
        whole = below_zero(seen)
        predicted.append((found.favour, found.against))
        happened.append((whole.p <= SECOND.level, whole.p_against <= SECOND.level))
    assert np.mean(predicted, axis=0) == pytest.approx(np.mean(happened, axis=0), abs=0.04)


def test_against_a_claim_of_many_comparisons_the_level_is_shared():
    wrong = compared([1.0, 1.4, 0.2, 0.9, 0.3])
    alone, among = (chance(wrong, SECOND, 5, many=many).against for many in (1, 20))
    assert among < alone - 0.1


def test_two_seeds_say_more_than_none_and_one_nothing():
    assert not chance(compared([-1.0]), FIRST, 4).seen
    assert chance(compared([-1.0, -1.1]), FIRST, 3).seen
    missing = compared([-1.0, -1.1], missing="not run")
    assert not chance(missing, FIRST, 5).seen
    assert not chance(compared([-1.0, -1.1], kind="ratio of spreads"), FIRST, 3).seen


def test_a_statement_about_every_run_is_predicted_by_the_rule_of_succession():
    rows = {"kind": "share of rows, value", "effect": 1.0, "n": 4}
    kept = chance(compared([-1.0] * 4, **rows, holds=True), FIRST, 1, {"test": "band"})
    assert (kept.favour, kept.against) == (pytest.approx(5 / 6), pytest.approx(1 / 6))
    broken = chance(compared([1.0] * 4, **rows, holds=False), FIRST, 1, {"test": "band"})
    assert (broken.favour, broken.against) == (0, 1)


def test_a_share_of_seeds_is_beta_binomial():
    """Half or more, 4 of 4 hits: at five seeds only 5 of 5 shows it, p = 1/32; nothing refutes."""
    check = {"test": "share", "at_least": 0.5, "event": {}}
    hits = compared([-1.0] * 4, kind="share of seeds", effect=1.0, n=4)
    found = chance(hits, FIRST, 1, check)
    assert (found.favour, found.against) == (pytest.approx(5 / 6), 0)


def test_the_prior_is_the_share_of_claims_of_the_kind_decided_by_a_first_look():
    prior, claim = Prior(), {"id": "x", "check": LESS}
    shown, refuted, open_ = (
        compared([0.1] * 4 + [0.2], side=side, at=at)
        for side, at in ((FOR, 5), (AGAINST, 5), (FOR, 10))
    )
    empty = prior.chance("less", 1)
    assert (empty.favour, empty.against) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    for number, found in enumerate([shown, shown, shown, refuted, open_, open_]):
        prior.add("toy", {**claim, "id": str(number)}, [found])
    found = prior.chance("less", 1)
    assert found.favour == pytest.approx((3 + 2 * 4 / 9) / 8)  # ten at five seeds is no first look
    assert found.against == pytest.approx((1 + 2 * 2 / 9) / 8)
    assert prior.chance("band", 1).favour == pytest.approx(4 / 9)  # as all kinds together
    three = prior.chance("less", 3)
    assert three.favour**3 == pytest.approx(found.favour)
    assert 1 - (1 - three.against) ** 3 == pytest.approx(found.against)
    prior.add("toy", {**claim, "id": "0"}, [refuted])  # judged anew
    assert prior.chance("less", 1).against > found.against
    prior.add("toy", {**claim, "id": "7"}, [shown, compared([0.1], missing="not run")])
    assert len(prior.ends) == 6


def test_a_committed_report_of_the_first_edition_counts_by_its_p(tmp_path):
    entry = {"what": "", "kind": "difference", "effect": -1.0, "low": -2.0, "high": 0.0, "n": 5}
    claims = [
        {"id": "a", "comparisons": [{**entry, "holds": True, "p": 0.03, "p_flip": 0.03}]},
        {"id": "b", "comparisons": [{**entry, "holds": True, "p": 0.04, "p_flip": 0.03}]},
        {"id": "c", "comparisons": [{**entry, "holds": False, "p": 0.99, "p_flip": 1.0}]},
        {"id": "gone", "comparisons": [{**entry, "holds": False, "p": 0.99, "p_flip": 1.0}]},
    ]
    report = tmp_path / "verdicts.json"
    known = [{"id": one, "check": LESS} for one in "abcd"]
    prior = Prior()
    chances.committed(report, "toy", known, prior)
    assert not prior.ends
    report.write_text(json.dumps({"claims": claims}))
    chances.committed(report, "toy", known, prior)
    assert {name: end for (_, name), (_, end) in prior.ends.items()} == {
        "a": FOR,
        "b": "",
        "c": AGAINST,
    }
    assert LOOKS[0] == (5, 1 / 32)


def test_no_chance_is_none():
    hopeless = chance(compared([50.0, 50.1, 50.2, 50.1, 50.0]), Look(10, 0.026), 5)
    assert 0 < hopeless.favour < 0.001
    assert isinstance(hopeless, Chance)
