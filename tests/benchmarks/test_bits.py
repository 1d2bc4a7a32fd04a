"""Bits are the same whatever kernels a user asks for, and a difference is told."""

import os
from dataclasses import replace

import pytest

from benchmarks import bits
from benchmarks.bits import Line
from workflow.trace import one_path, record

CHEAP = (("bkb", "abalone", ("BKB", "uniform")), ("lcbo", "syn-25", ("CEI",)))
ONE = Line("a/b/C", "d" * 12, "numpy 2", "1" * 64, ("X",))
TWO = Line("a/b/D", "e" * 12, "numpy 2 torch 2", "2" * 64)
KNOWN = {ONE.run: ONE, TWO.run: TWO}


@pytest.mark.slow
@pytest.mark.skipif(
    one_path._chosen()[1] != one_path.LEVEL, reason="this processor computes with its own kernels"
)
def test_the_users_variables_change_no_hash(monkeypatch, tmp_path):
    """Of the arms and of a box; `python -m benchmarks.bits` does so for all runs."""
    monkeypatch.setattr(bits, "RUNS", CHEAP)
    plain, *others = map(bits.made, bits.AMBIENT.values())
    names = ["bkb/abalone/BKB", "bkb/abalone/uniform", "lcbo/syn-25/CEI"]
    assert [one.run for one in plain] == names
    assert all(one.trace_sha256 for one in plain)
    assert others == [plain, plain]
    # which other kernels would
    other = {"OPENBLAS_CORETYPE": "Prescott", "ATEN_CPU_CAPABILITY": "default"}
    (tmp_path / "sitecustomize.py").write_text(
        f"from workflow.trace import one_path\none_path.FIXED = {other}\n"
    )
    monkeypatch.setattr(bits, "RUNS", CHEAP[1:])
    (heard,) = bits.made({"PYTHONPATH": f"{tmp_path}{os.pathsep}{bits.ROOT}"})
    assert heard.trace_sha256 not in ("", plain[2].trace_sha256)


def test_the_table_has_every_run_and_where_it_came_out():
    lines = bits.table()
    assert set(lines) == {f"{a}/{b}/{curve}" for a, b, curves in bits.RUNS for curve in curves}
    assert all(len(line.trace_sha256) == 64 and all(line.processors) for line in lines.values())


def test_a_difference_says_what_it_may_come_from():
    other = replace(TWO, trace_sha256="3" * 64)
    said = "a/b/D: expected 222222222222, got 333333333333; "
    assert bits.difference(TWO, other).startswith(f"{said}code and versions are the same")
    changed = replace(other, digest="f" * 12)
    assert bits.difference(TWO, changed).startswith(f"{said}code or parameters are others")
    newer = replace(changed, versions="numpy 3")
    assert bits.difference(TWO, newer).startswith(f"{said}versions are numpy 3, not numpy 2 torch")


def test_there_is_a_sentence_for_what_differs_and_a_status_for_all():
    assert bits.compared(KNOWN, [ONE, TWO]) == (0, [])
    lacking = replace(ONE, trace_sha256="", versions="error: no JAX")
    lacks = "a/b/C: not made: error: no JAX"
    assert bits.compared(KNOWN, [lacking, TWO]) == (2, [lacks])
    status, (differs, other) = bits.compared(KNOWN, [lacking, replace(TWO, trace_sha256="3" * 64)])
    assert (status, other) == (1, lacks) and differs.startswith("a/b/D: expected 2222")
    assert bits.compared(KNOWN, [replace(lacking, run="new")])[0] == 2


@pytest.fixture
def kept(monkeypatch, tmp_path):
    path = tmp_path / "bits.csv"
    bits.write(KNOWN.values(), path)
    assert bits.table(path) == {**KNOWN, TWO.run: replace(TWO, processors=())}
    monkeypatch.setattr(bits, "table", lambda read=bits.table: read(path))
    monkeypatch.setattr(bits, "write", lambda lines, write=bits.write: write(lines, path))
    monkeypatch.setattr(record, "processor", lambda: "Y")
    return path


@pytest.mark.parametrize(
    ("found", "status", "processors"),
    [
        ([ONE, TWO], 0, [("X", "Y"), ("Y",)]),
        ([ONE, replace(TWO, trace_sha256="")], 2, [("X", "Y"), ()]),
        ([ONE, replace(TWO, trace_sha256="3")], 1, [("X",), ()]),
    ],
)
def test_a_processor_is_added_to_lines_that_agree(kept, monkeypatch, found, status, processors):
    monkeypatch.setattr(bits, "made", lambda *_: found)
    assert bits.main(["--add"]) == status
    assert [line.processors for line in bits.table().values()] == processors


def test_a_run_that_the_table_has_not_is_added_if_it_is_the_same_each_time(kept, monkeypatch):
    new = replace(TWO, run="a/b/E")
    monkeypatch.setattr(bits, "made", lambda *_: [new])
    assert bits.main(["--add"]) == 0
    assert bits.table()["a/b/E"].processors == ("Y",)
    passes = iter("4567")
    monkeypatch.setattr(bits, "made", lambda *_: [replace(new, run="F", trace_sha256=next(passes))])
    assert bits.main(["--add"]) == 1
    assert "F" not in bits.table()
