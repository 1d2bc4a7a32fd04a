"""Records of several code paths or versions are counted together and named, in every report."""

from __future__ import annotations

import json

import pytest

from tests.workflow.synthetic import Toy, noisy
from workflow.judge import inventory, ledger
from workflow.measure.mixture import END, Mixture, merged
from workflow.trace import record


def blas(architecture, library="numpy", version="0.3"):
    return {
        "library": library,
        "name": "openblas",
        "version": version,
        "architecture": architecture,
        "threads": 1,
    }


def path(architecture, capability=None, *, scipy=False, found=("X86_V3",)):
    """A code path; without a capability that of a run that loads no PyTorch."""
    both = [blas(architecture)] + [blas(architecture, "scipy", "0.2")] * scipy
    torch = {"capability": capability, "threads": 1, "mkl": "2024", "maker": "Intel", "asked": {}}
    named = {"blas": both, "numpy": {"baseline": ["X86_V2"], "found": list(found)}}
    return {**named, "torch": torch} if capability else named


def header(code_path=None, **libraries):
    made = {"python": "3.11", "libraries": libraries, "machine": "m", "threads": 1, "commit": "c"}
    return {"provenance": made if code_path is None else {**made, "code_path": code_path}}


def said(*headers):
    mixture = Mixture()
    for number, one in enumerate(headers):
        mixture.add(number, one)
    return mixture.sentences()


FAST, SLOW = path("SkylakeX", "AVX512", scipy=True), path("Haswell", "AVX2", scipy=True)


def test_one_path_and_one_version_are_no_mixture():
    assert said() == []
    assert said(*[header(FAST, numpy="2.4", torch="2.13")] * 5) == []


def test_a_run_without_pytorch_is_of_the_path_of_those_with_it():
    arms = path("SkylakeX")
    assert said(header(FAST), header(arms), header(path("SkylakeX", scipy=True))) == []
    assert merged({json.dumps(arms): 2, json.dumps(FAST): 1}) == [("SkylakeX + AVX512", 3)]


def test_two_paths_are_named_with_the_number_of_their_records():
    (sentence,) = said(*[header(FAST)] * 3, header(SLOW), header(path("Haswell")))
    assert sentence == (
        "Records of 2 code paths of the CPU are mixed here: SkylakeX + AVX512 (3 records),"
        f" Haswell + AVX2 (2 records); {END}"
    )


def test_a_part_that_one_lacks_hides_no_contradiction_of_two_others():
    """Without PyTorch it fits both, and is counted with one of them."""
    other = path("SkylakeX", "AVX2", scipy=True)
    (sentence,) = said(header(FAST), header(other), header(path("SkylakeX")))
    assert sentence.startswith("Records of 2 code paths")
    assert "SkylakeX + AVX512 (" in sentence and "SkylakeX + AVX2 (" in sentence
    assert "(2 records)" in sentence and "(1 record)" in sentence


def test_what_is_learnt_from_a_second_record_counts_for_a_third():
    """Only the first has PyTorch, only the second SciPy: a third one contradicts both."""
    third = {**path("SkylakeX"), "blas": [blas("Haswell", "scipy", "0.2")]}
    found = said(header(path("SkylakeX", "AVX512")), header(path("SkylakeX", scipy=True)))
    assert found == []
    (sentence,) = said(
        header(path("SkylakeX", "AVX512")), header(path("SkylakeX", scipy=True)), header(third)
    )
    assert "Haswell (1 record)" in sentence


def test_paths_of_equal_words_are_told_apart_by_what_differs():
    wider = path("SkylakeX", "AVX512", scipy=True, found=("X86_V3", "X86_V4"))
    (sentence,) = said(header(FAST), header(FAST), header(wider))
    assert "SkylakeX + AVX512 with NumPy X86_V3 (2 records)" in sentence
    assert "SkylakeX + AVX512 with NumPy X86_V3 X86_V4 (1 record)" in sentence


def test_records_of_before_are_of_an_unnamed_path():
    assert said(header(), header(), {}) == []
    (sentence,) = said(header(FAST), header(), {})
    assert "unnamed code path (2 records), SkylakeX + AVX512 (1 record)" in sentence


def test_versions_are_compared_where_a_run_has_loaded_the_library():
    assert said(header(numpy="2.4", torch="2.13"), header(numpy="2.4")) == []
    assert said(header(pyarrow="1"), header(pyarrow="2")) == []  # the format, no bit of a trace
    (sentence,) = said(
        *[header(numpy="2.4")] * 2, header(numpy="2.5", torch="2"), header(torch="3")
    )
    assert sentence == (
        "Records of several versions of libraries are mixed here: numpy 2.4 (2 records), 2.5"
        f" (1 record); torch 2 (1 record), 3 (1 record); {END}"
    )


def test_a_record_is_counted_once():
    mixture = Mixture()
    for _ in range(2):
        mixture.add("a", header(FAST))
        mixture.add("b", header(SLOW))
    assert "(1 record), " in mixture.sentences()[0]


@pytest.fixture
def toy(tmp_path):
    """Two curves of three seeds; the last seed of one of them was made elsewhere."""
    made = Toy(tmp_path, seeds=3)
    for name in ("A", "B"):
        cell = made.add(name, noisy(0.5))
        for seed in cell.seeds:
            elsewhere = (name, seed) == ("B", 2)
            change(made, cell, seed, header(SLOW if elsewhere else FAST, numpy="2.4"))
    made.entry["claims"] = [
        {
            "id": "c",
            "where": "nowhere",
            "says": "A is better",
            "check": {
                "test": "less",
                "metric": "simple_regret",
                "left": ["A"],
                "right": ["B"],
                "problems": ["p"],
            },
        }
    ]
    return made


def change(made, cell, seed, more):
    found = record.read(made.root / cell.record(seed))
    record.write(
        made.root / cell.record(seed),
        {**found.header, **more, "cpu_seconds": 1.0, "peak_mib": 1},
        found.columns,
    )


SENTENCE = (
    "Records of 2 code paths of the CPU are mixed here: SkylakeX + AVX512 (5 records),"
    f" Haswell + AVX2 (1 record); {END}"
)


def test_verdicts_and_the_list_of_runs_say_so(toy):
    found = inventory.inventory(toy.paper, toy.store())
    assert found["mixed"] == [SENTENCE]
    assert [run["code_paths"] for run in found["runs"]] == [
        ["SkylakeX + AVX512"],
        ["Haswell + AVX2", "SkylakeX + AVX512"],
    ]
    ledger.write(toy.store(), toy.root)
    assert f"\n\n{SENTENCE}\n\n" in (toy.root / "verdicts.md").read_text()
    assert json.loads((toy.root / "verdicts.json").read_text())["mixed"] == [SENTENCE]


def test_where_nothing_is_mixed_nobody_says_a_word(toy):
    change(toy, toy.cells["p", "B"], 2, header(FAST, numpy="2.4"))
    assert inventory.inventory(toy.paper, toy.store())["mixed"] == []
    ledger.write(toy.store(), toy.root)
    assert "mixed" not in (toy.root / "verdicts.md").read_text()
    assert json.loads((toy.root / "verdicts.json").read_text())["mixed"] == []
