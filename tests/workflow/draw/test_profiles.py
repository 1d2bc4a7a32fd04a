"""Data profiles: what a target is, when it is reached, and what is drawn of it."""

import numpy as np
import pandas as pd
import pytest

from tests.workflow.synthetic import Toy
from workflow.draw import profiles
from workflow.plan import exhibits
from workflow.plan.lines import ProfilesLine
from workflow.trace.curves import PlanError

INF = np.inf
ENTRY = {"id": "r", "title": "Targets reached", "curves": ["A", "B"], "targets": [0.5, 0.1]}
ENTRY |= {"over": "evaluations", "panels": [{"problems": ["p", "q"], "title": "both"}]}


def test_a_target_is_a_share_of_the_way_from_the_design_to_the_best_of_all():
    # two evaluations of the design end at 10; the best of both curves is 0
    one, other = [12, 10, 6, 4, 0.5], [12, 10, 10, 9, 0]
    best = np.array([[one], [other]], dtype=float)
    found = profiles.evaluations(best, 2, np.array([0.5, 0.1, 0.01]))
    assert found.tolist() == [[[4, 5, INF]], [[5, 5, 5]]]


def test_it_does_not_matter_in_which_units_values_are():
    best = np.minimum.accumulate(np.random.default_rng(0).standard_normal((3, 4, 30)), axis=2)
    best[:, :, 0] = best[0, :, 0]  # a design of one evaluation, which they share
    best = np.minimum.accumulate(best, axis=2)
    targets = np.array([0.4, 0.2, 0.05])
    plain, scaled = (profiles.evaluations(y, 1, targets) for y in (best, 7 * best - 3))
    np.testing.assert_array_equal(plain, scaled)
    assert (plain.min(axis=0) < INF).all()  # whoever is best reaches all


def test_without_a_feasible_point_in_the_design_the_worst_first_one_is_the_start():
    best = np.array([[[INF, INF, 8, 2]], [[INF, 4, 4, 0]], [[INF] * 4]])
    # from 8 to 0: half of the way is 4
    assert profiles.evaluations(best, 1, np.array([0.5])).tolist() == [[[4]], [[2]], [[INF]]]
    nobody = np.full((2, 1, 3), INF)
    assert (profiles.evaluations(nobody, 1, np.array([0.5])) == INF).all()


@pytest.fixture
def toy(tmp_path):
    """On p and q, B is at once where A is at the end, and A gets there in even steps."""
    toy = Toy(tmp_path, seeds=5, budget=11)
    toy.entry["problems"]["q"] = {"is": "tables.abalone"}
    toy.entry["profiles"] = [ENTRY]
    slow, fast = np.linspace(0, 1, 11), np.r_[0.0, np.ones(10)]
    for problem in ("p", "q"):
        toy.add("A", lambda _: {"true": slow}, problem=problem)
        toy.add("B", lambda _: {"true": fast}, problem=problem)
    return toy


def panel_of(toy, **changes):
    line = ProfilesLine.model_validate({**ENTRY, **changes})
    ((own, curves),) = profiles.profile_panels(toy.paper, line)
    return profiles.profile(toy.store(partial=True), line, own, curves)


def share(line, at):
    return line.centre[np.searchsorted(line.x, at, side="right") - 1]


def test_a_profile_is_the_share_of_targets_by_evaluations(toy):
    slow, fast = panel_of(toy).lines
    assert (slow.label, fast.label, slow.n) == ("A", "B", 5)
    assert [share(slow, x) for x in (0, 0.49, 0.51, 0.89, 1)] == [0, 0, 0.5, 0.5, 1]
    assert [share(fast, x) for x in (0, 0.11)] == [0, 1]


def test_over_seconds_the_fast_one_is_the_one_that_computes_less(toy):
    slow, fast = panel_of(toy, over="seconds").lines
    # 1 ms an evaluation: B is there after two, A at half of the way after six, then ten
    assert fast.x[0] == pytest.approx(2e-3) and fast.centre[0] == 1
    assert [share(slow, x) for x in (2.1e-3, 6.1e-3, 9e-3, 11e-3)] == [0, 0.5, 0.5, 1]


def test_seeds_that_not_all_curves_have_are_left_out(toy):
    (toy.root / toy.curves["q", "A"].record(4)).unlink()
    found = panel_of(toy)
    assert found.is_cut and {line.seeds for line in found.lines} == {(0, 1, 2, 3)}


def test_a_curve_that_was_not_run_on_a_problem_is_named_and_not_drawn(toy):
    toy.drop(toy.curves["q", "A"])
    found = panel_of(toy)
    assert ([line.label for line in found.lines], found.missing) == (["B"], ["A"])
    toy.drop(toy.curves["q", "B"])
    found = panel_of(toy, panels=[{"problems": ["q"]}])
    assert (found.lines, found.missing) == ([], ["A", "B"])


def test_it_writes_what_a_figure_writes_and_says_what_a_target_is(toy, tmp_path):
    toy.entry["profiles"] = [{**ENTRY, "id": "s", "over": "seconds"}, ENTRY]
    for name in ("r", "s"):
        paths = profiles.draw(toy.paper, toy.store(), name, tmp_path / "out")
        assert [path.suffix for path in paths] == [".png", ".csv", ".json"]
    text = pd.read_csv(tmp_path / "out" / "r.csv")
    assert set(text["curve"]) == {"A", "B"}
    runs = exhibits.REGISTRY["profiles"].runs(toy.paper, "r")
    assert len(runs) == 4
    (toy.root / runs[0].record(0)).unlink()
    with pytest.raises(Exception, match="records are refused"):
        profiles.draw(toy.paper, toy.store(), "r", tmp_path / "out")
    with pytest.raises(PlanError, match="unknown profile 't'"):
        profiles.draw(toy.paper, toy.store(), "t", tmp_path / "out")


def test_a_problem_that_lacks_a_curve_at_a_scale_is_left_out(toy):
    del toy.curves["q", "B"]
    toy.scale = "short"
    ((_, curves),) = profiles.profile_panels(toy.paper, ProfilesLine.model_validate(ENTRY))
    assert list(curves) == ["p"]
