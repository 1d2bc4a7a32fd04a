"""Which reading is nearest to published numbers, by hand, and what claims come to under it."""

import math

import pytest

from tests.workflow.judge.claimed import claim, typed
from tests.workflow.synthetic import Toy, noisy, publish
from workflow.judge import claims, closeness
from workflow.judge.outcomes import CONTRADICTED, REPRODUCED, UNDECIDED
from workflow.plan import published_numbers
from workflow.plan.reads import claims_of
from workflow.plan.selection import published_panels

PANEL = {"panel": "f", "problem": "p", "metric": "simple_regret"}
CLAIM = claim({"test": "less", "metric": "simple_regret", "left": ["A"], "right": ["B"]})


@pytest.fixture
def toy(tmp_path):
    """By default A ends at a regret of 0.8 and B of 0.4; under the reading `code` A at 0.2."""
    toy = Toy(tmp_path)
    for name, reading, regret in (("A", "", 0.8), ("B", "", 0.4), ("A", "code", 0.2)):
        toy.add(name, noisy(1 - regret, key=len(name + reading)), reading=reading)
    toy.entry["readings"]["code"]["algorithms"] = {"A": {"beta": "code"}}
    toy.entry["claims"] = [CLAIM]
    return toy


def judged(toy):
    found = closeness.experiments(toy.paper, toy.store(partial=True))
    verdict = claims.judge(toy.paper, toy.store(partial=True), claims_of(toy.paper)[0])
    (verdict,) = closeness.with_nearest(toy.paper, [verdict], found)
    return found[0], verdict


def test_a_score_is_the_mean_logarithm_over_all_methods(toy, monkeypatch):
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.2", "f,B,,0.2"])
    experiment, _ = judged(toy)
    default, code = experiment.candidates
    assert default.score == pytest.approx((math.log(4) + math.log(2)) / 2, abs=0.02)
    assert code.score == pytest.approx(math.log(2) / 2, abs=0.02)  # A is met, B stays as it is
    assert experiment.nearest is code


def test_published_curves_are_read_between_their_points_and_not_beyond(toy, monkeypatch):
    panel = {**PANEL, "at": [5, 20, 60], "known": 10}
    publish(toy, monkeypatch, {"e": [panel]}, ["f,A,20,0.4", "f,A,40,0.2"])
    (fit,) = judged(toy)[0].default.fits
    # x counts ten evaluations that ours does not: 15 is before its curve, 70 behind it
    assert (fit.at, fit.published) == ((20,), (pytest.approx(0.3),))


def test_numbers_are_divided_by_the_run_of_the_same_seed(toy, monkeypatch):
    toy.add("uniform", lambda seed: {"true": 1 - 0.8 / (1 + seed)})
    panel = {**PANEL, "relative_to": "uniform", "denominator": "same seed"}
    publish(toy, monkeypatch, {"e": [panel]}, ["f,A,,1"])
    store, curve = toy.store(), toy.curves["p", "A"]
    ratios = closeness.measured(toy.paper, store, published_panels(toy.paper)[0], curve)
    regrets = store.values(curve, "simple_regret")[:, -1]
    assert ratios[:, -1] == pytest.approx([regrets[s] / (0.8 / (1 + s)) for s in range(10)])


def test_a_published_curve_of_the_denominator_divides_the_published_numbers(toy, monkeypatch):
    panel = {**PANEL, "relative_to": "B"}
    publish(toy, monkeypatch, {"e": [panel]}, ["f,A,,6", "f,B,,3"])
    fits = {fit.method: fit.published for fit in judged(toy)[0].default.fits}
    assert fits == {"A": (2.0,)}  # B over itself says nothing


def test_beyond_a_hundredfold_all_is_equally_far():
    near, far = math.log(2), math.log(100)
    known = {(2, 1): near, (-1, -2): near, (0, 1): far, (1, -1): far, (1, 1e-9): far, (1, 0): far}
    assert {pair: closeness._distance(*pair) for pair in known} == pytest.approx(known)


def test_what_is_not_scored_tests_and_does_not_choose(toy, monkeypatch):
    test = {**PANEL, "panel": "g", "scored": False}
    publish(toy, monkeypatch, {"e": [PANEL, test]}, ["f,A,,0.8", "g,A,,0.2"])
    experiment, _ = judged(toy)
    assert experiment.nearest is experiment.default
    assert experiment.default.test == pytest.approx(math.log(4), abs=0.02)
    assert experiment.candidates[1].test == pytest.approx(0, abs=0.02)


def test_a_lead_that_the_seeds_may_make_is_none(toy, monkeypatch):
    toy.add("A", noisy(0.22, key=1))  # a regret of 0.78 beside 0.8, which is published
    toy.add("A", noisy(0.2, key=2), reading="code")
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.8"])
    experiment, _ = judged(toy)
    assert experiment.candidates[1].score < experiment.default.score
    assert experiment.nearest is experiment.default


def test_a_reading_that_lacks_a_run_is_no_candidate_and_is_set_beside_the_default(toy, monkeypatch):
    toy.entry["readings"]["code"]["algorithms"]["B"] = {"beta": "code"}  # and is not planned
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.2", "f,B,,0.8"])
    experiment, _ = judged(toy)
    assert experiment.nearest is experiment.default
    assert experiment.candidates[1].missing == ["B on p"]
    mine, usual = experiment.common(experiment.candidates[1])  # of A alone
    assert (mine, usual) == (pytest.approx(0, abs=0.02), pytest.approx(math.log(4), abs=0.02))


def test_a_control_is_no_candidate(toy, monkeypatch):
    toy.entry["readings"]["code"]["control"] = True
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.2"])
    assert [one.reading for one in judged(toy)[0].candidates] == [""]


def test_a_claim_has_a_second_verdict_in_the_nearest_setting(toy, monkeypatch):
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.2", "f,B,,0.4"])
    verdict = judged(toy)[1]
    assert verdict.verdict == CONTRADICTED
    assert (verdict.nearest.reading, verdict.nearest.verdict) == ("code", REPRODUCED)


def test_a_side_that_is_not_reproduced_decides_nothing(toy, monkeypatch):
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.2", "f,B,,0.04"])
    found = judged(toy)[1].nearest
    assert (found.verdict, found.observed) == (UNDECIDED, REPRODUCED)
    assert found.reasons[-1] == "B differs from what is published by a factor of 10 on p"


def test_a_claim_of_another_problem_or_of_the_default_setting_has_one_verdict(toy, monkeypatch):
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.2", "f,B,,0.4"])
    toy.entry["published"]["e"]["problems"] = ["q"]
    assert judged(toy)[1].nearest is None
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.8", "f,B,,0.4"])
    assert judged(toy)[1].nearest is None


def test_the_page_and_its_data_name_every_score(toy, monkeypatch):
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.2", "f,B,,0.4"])
    found = closeness.experiments(toy.paper, toy.store())
    text = closeness.as_markdown(found)
    assert "The nearest reading is code." in text
    assert "| default | 2.0" in text and "| code | 1.0" in text  # as factors
    told = closeness.as_data(found)["e"]
    assert told["nearest"] == "code"
    ends = [fit["ours"][0] for fit in told["fits"]["code"]]
    assert ends == pytest.approx([0.2, 0.4], abs=0.02)
    assert closeness.as_markdown([]) == ""


def test_a_setting_that_tells_no_methods_apart_compares_none(toy, monkeypatch):
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.3", "f,B,,0.3"])
    experiment, verdict = judged(toy)
    assert experiment.alike == 0 < experiment.nearest.score
    assert verdict.nearest.verdict == UNDECIDED
    assert verdict.nearest.reasons[0].startswith("one number for all methods fits as well")


def test_what_is_not_published_of_a_comparison_leaves_it_open(toy, monkeypatch):
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.2", "f,B,,0.4"])
    other = typed({**CLAIM["check"], "metric": "seconds"}).check
    experiment, _ = judged(toy)
    said = [f"no numbers of {name} are published for this" for name in "AB"]
    assert list(closeness._not_met(other, experiment)) == said
    alone = typed({"test": "band", "metric": "seconds", "curves": ["A"], "at_most": 1}).check
    assert list(closeness._not_met(alone, experiment)) == []  # its own runs are as published


def test_a_spread_is_that_over_seeds_and_of_the_band(toy, monkeypatch):
    panel = {**PANEL, "statistic": "spread", "seeds": 4, "scored": False}
    publish(toy, monkeypatch, {"e": [PANEL, panel]}, ["f,A,1,1", "f,A,60,1"])
    text = (toy.root / "papers/published/toy.csv").read_text().replace(",1,,,", ",1,0.902,1.098,")
    (toy.root / "papers/published/toy.csv").write_text(text)
    published_numbers._panel.cache_clear()
    published_numbers._rows.cache_clear()
    spread = judged(toy)[0].default.fits[1]
    assert spread.published == (pytest.approx(0.1),)  # 0.098 / 1.96 times the root of 4 seeds
    assert spread.ours == (pytest.approx(0.01),)


def test_of_readings_that_are_equally_near_the_simplest_is_nearest(toy, monkeypatch):
    toy.reading("more", A={"beta": "x", "qbar": 3})
    toy.add("A", noisy(0.801, key=9), reading="more")
    publish(toy, monkeypatch, {"e": [PANEL]}, ["f,A,,0.199", "f,B,,0.4"])
    experiment, _ = judged(toy)
    scores = {one.reading: one.score for one in experiment.candidates}
    assert scores["more"] < scores["code"] < scores[""]
    assert experiment.nearest.reading == "code"
