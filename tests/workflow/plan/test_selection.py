"""Which run a name in a figure or a claim stands for."""

import pytest

from tests.workflow.synthetic import Toy, noisy
from workflow.plan import selection
from workflow.trace.cells import PlanError


def test_a_reading_reaches_only_whom_it_changes(tmp_path):
    toy = Toy(tmp_path, budget=6, seeds=2)
    toy.entry["algorithms"]["B"] = {"is": "random_search.RandomSearch"}
    for name, reading in (("A", ""), ("A", "code"), ("B", "")):
        toy.add(name, noisy(0.5), reading=reading)
    assert selection.place(toy.paper, "p", "A", reading="code").curve == "A@code"
    assert selection.place(toy.paper, "p", "B", reading="code").curve == "B"
    with pytest.raises(PlanError, match="unknown reading 'cod'; known: code"):
        selection.place(toy.paper, "p", "A", reading="cod")
