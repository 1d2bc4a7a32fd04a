"""Published records as one table."""

import importlib

import numpy as np
import pytest

from tests.workflow.synthetic import Toy
from workflow.measure.tidy import table
from workflow.trace.curves import PlanError


@pytest.fixture
def root(tmp_path):
    toy = Toy(tmp_path, budget=6, seeds=2)
    for name, level in (("A", 0.4), ("B", 0.6)):
        toy.add(name, lambda seed, level=level: {"true": np.full(6, level + seed / 10)})
    toy.add("A", lambda seed: {"true": 0.1}, problem="open", reading="code")
    curve = toy.curves["open", "A@code"]
    toy.write(curve, 0, {"true": 0.1, "report.beta": np.arange(6.0)}, best=None, budget=6)
    toy.study("theory", lambda seed: {"t": [1, 2], "ratio": [0.5, seed]})
    publish = importlib.import_module("workflow.operate.publish")
    assert publish.publish(toy.paper, toy.root / "results", toy.root).errors == []
    return tmp_path


def test_curves_of_several_problems_are_one_table(root):
    found = table("toy", root=root)
    assert len(found) == 3 * 2 * 6
    means = found.groupby(["problem", "algorithm", "reading"], observed=True)["true"].mean()
    expected = {("p", "A", ""): 0.45, ("p", "B", ""): 0.65, ("open", "A", "code"): 0.1}
    assert means.to_dict() == pytest.approx(expected)
    assert found["evaluation"].max() == 5 and set(found["seed"]) == {0, 1}
    # what only one curve reports is absent in the rows of the others
    assert found["report.beta"].notna().sum() == 6


def test_a_curve_is_chosen_by_name_and_says_its_optimum(root):
    found = table("toy", "p", "B", root=root)
    assert len(found) == 12 and set(found["best"]) == {1.0}
    regret = (found["best"] - found["true"]).groupby(found["seed"]).sum()
    assert regret.to_list() == pytest.approx([2.4, 1.8])
    other = table("toy", "open", "A@code", root=root)
    assert other.loc[other["seed"] == 0, "best"].isna().all()
    assert set(other["budget"].dropna()) == {6}


def test_a_study_is_asked_for_by_name_and_unknown_names_are_told(root):
    found = table("toy", "studies", "theory", root=root)
    assert found["ratio"].to_list() == [0.5, 0.0, 0.5, 1.0] and set(found["study"]) == {"theory"}
    with pytest.raises(PlanError, match=r"expected published records of toy/nowhere/\*"):
        table("toy", "nowhere", root=root)
