"""The replay of `make decide` on published records."""

from benchmarks import decide_replay
from workflow.plan.expand import load
from workflow.plan.resolve import ROOT


def test_it_comes_to_the_verdicts_of_all_published_records_in_fewer_hours(tmp_path):
    found = decide_replay.replayed([load("go_ucb", "paper")], ROOT, tmp_path)
    assert found.differing == []
    assert {"reproduced", "not decided"} <= set(found.whole.values())
    assert 0 < found.after < found.spent < found.recorded
    assert found.spent <= found.read <= found.recorded


def test_nothing_is_run_that_is_not_asked_for(tmp_path):
    """A claim's first look comes from five seeds, of its own runs."""
    found = decide_replay.replayed([load("lcbo", "paper")], ROOT, tmp_path)
    assert found.differing == [] and found.after < 0.75 * found.read
