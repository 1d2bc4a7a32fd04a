"""runs.json says of each run what its records say: seeds, hashes, ends, cost, versions, and what is
missing.
"""

import json
from importlib.metadata import metadata

import numpy as np
import pytest

from tests.workflow.synthetic import Toy
from workflow.judge import inventory
from workflow.measure.store import BadRecords
from workflow.trace import record

PROVENANCE = {
    "python": "3.11.7",
    "libraries": {"numpy": "2.0"},
    "machine": "M",
    "threads": 1,
    "commit": "c0ffee",
}


@pytest.fixture
def toy(tmp_path):
    toy = Toy(tmp_path, seeds=3)
    for name, level in (("A", 0.9), ("B", 0.7)):
        made = toy.add(name, lambda seed, level=level: {"true": np.full(60, level)})
        for seed in made.seeds:
            machine = {**PROVENANCE, "libraries": {"numpy": f"2.{seed}"}}
            toy.write(
                made,
                seed,
                {"true": np.full(60, level - 0.1 * seed)},
                provenance=machine,
                cpu_seconds=2.0,
                peak_mib=90 + seed,
            )
    return toy


def test_a_run_is_told_by_its_records(toy):
    found = inventory.inventory(toy.paper, toy.store())
    run = found["runs"][0]
    assert (run["problem"], run["curve"], run["measure"]) == ("p", "A", "simple_regret")
    assert run["ends"] == {
        "0": pytest.approx(0.1),
        "1": pytest.approx(0.2),
        "2": pytest.approx(0.3),
    }
    assert (run["cpu_seconds"], run["peak_mib"], run["planned_seeds"]) == (6.0, 92, 3)
    assert run["libraries"] == {"numpy": "2.0, 2.1, 2.2", "python": "3.11.7"}
    assert run["rerun"] == "python -m workflow.run toy p A 0-2 --scale paper"
    path = toy.root / toy.cells["p", "A"].record(1)
    assert run["trace_sha256"]["1"] == record.read(path).header["trace_sha256"]
    assert found["licences"] == {"numpy": metadata("numpy")["License-Expression"]}
    json.dumps(found, allow_nan=False)


def test_where_there_are_constraints_the_end_is_the_best_feasible_value(toy):
    made = toy.cells["p", "A"]
    for seed in made.seeds:
        g = np.full((60, 1), -1.0 if seed else 1.0)
        toy.write(
            made,
            seed,
            {"true": np.full(60, 0.5), "true_g": g},
            provenance=PROVENANCE,
            cpu_seconds=1.0,
            peak_mib=1,
        )
    run = inventory.inventory(toy.paper, toy.store())["runs"][0]
    assert run["measure"] == "best_feasible"
    assert run["ends"] == {"0": None, "1": -0.5, "2": -0.5}


def test_where_no_optimum_is_known_the_end_is_the_best_value(toy):
    made = toy.cells["p", "A"]
    for seed in made.seeds:
        toy.write(made, seed, {"true": np.linspace(0, 0.5, 60)}, best=None, provenance=PROVENANCE)
    run = inventory.inventory(toy.paper, toy.store())["runs"][0]
    assert (run["measure"], set(run["ends"].values())) == ("best_feasible", {-0.5})


def test_what_has_no_record_is_named_in_a_partial_list_and_refused_otherwise(toy):
    for seed in range(3):
        (toy.root / toy.cells["p", "B"].record(seed)).unlink()
    with pytest.raises(BadRecords):
        inventory.inventory(toy.paper, toy.store())
    found = inventory.inventory(toy.paper, toy.store(partial=True))
    assert [run["curve"] for run in found["runs"]] == ["A"]
    assert found["missing"] == ["toy/p/B"]
