"""Records of several kernels or versions are counted together and named, in every report."""

import json

import pytest

from tests.workflow.judge.claimed import claim
from tests.workflow.synthetic import Toy, noisy, rewrite
from workflow.judge import ledger
from workflow.measure.mixture import END, sentences
from workflow.trace.one_path import LEVEL


def header(kernels=LEVEL, **libraries):
    made = {"python": "3.11", "libraries": libraries, "machine": "m", "threads": 1, "commit": "c"}
    return {"provenance": {**made, "kernels": kernels} if kernels else made}


BEFORE = header(None, numpy="2.4")
START = (
    "Records of several code paths of the CPU, or of several versions of libraries, are mixed here"
)


def test_one_path_and_one_version_are_no_mixture():
    assert sentences([]) == sentences([header(numpy="2.4", torch="2.13")] * 5) == []


def test_versions_are_compared_where_a_run_has_loaded_the_library():
    assert sentences([header(numpy="2.4", torch="2.13"), header(numpy="2.4")]) == []
    assert sentences([header(pyarrow="1"), header(pyarrow="2")]) == []  # no bit of a trace
    found = [*[header(numpy="2.4")] * 2, header(numpy="2.5", torch="2"), header(torch="3")]
    said = "numpy 2.4 (2 records), 2.5 (1 record); torch 2 (1 record), 3 (1 record)"
    assert sentences(found) == [f"{START}: {said}; {END}"]


@pytest.fixture
def toy(tmp_path):
    """Two curves of three seeds; the last seed of one of them was made elsewhere."""
    made = Toy(tmp_path, seeds=3)
    for name in ("A", "B"):
        curve = made.add(name, noisy(0.5))
        for seed in curve.seeds:
            elsewhere = (name, seed) == ("B", 2)
            more = BEFORE if elsewhere else header(numpy="2.4")
            rewrite(tmp_path / curve.record(seed), **more, cpu_seconds=1.0, peak_mib=1)
    made.entry["claims"] = [claim()]
    return made


def test_verdicts_say_so_and_say_no_word_where_nothing_is_mixed(toy):
    ledger.write(toy.store(), toy.root)
    assert f"\n\n{START}: kernels" in (toy.root / "verdicts.md").read_text()
    (said,) = json.loads((toy.root / "verdicts.json").read_text())["mixed"]
    assert f"{LEVEL} (5 records), unnamed, before {LEVEL} (1 record)" in said
    rewrite(toy.root / toy.curves["p", "B"].record(2), **header(numpy="2.4"))
    ledger.write(toy.store(), toy.root)
    assert "mixed" not in (toy.root / "verdicts.md").read_text()
    assert json.loads((toy.root / "verdicts.json").read_text())["mixed"] == []
