"""Every mistake in a paper's YAML is a sentence before any job starts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from workflow.plan import PlanError, load, main, parse_seeds

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def root(tmp_path):
    """A repository whose code is the real one and whose papers may be spoiled."""
    for name in ("algorithms", "problems", "workflow"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "papers").mkdir()
    return tmp_path


def spoiled(root, change):
    entry = yaml.safe_load((ROOT / "papers" / "bbkb.yaml").read_text())
    for section in ("figures", "tables", "claims", "studies"):
        entry.pop(section, None)
    change(entry)
    (root / "papers" / "bbkb.yaml").write_text(yaml.safe_dump(entry, sort_keys=False))
    return load("bbkb", "smoke", root=root)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda entry: entry["algorithms"]["BKB"].update({"is": "bkbb.BKB"}), "no file algorithms/bkbb.py; known: .*bkb"),
        (lambda entry: entry["algorithms"]["BKB"].update({"is": "bkb.BKBB"}), "no BKBB in algorithms/bkb.py"),
        (lambda entry: entry["algorithms"]["BKB"].update({"qbarr": 2}), "unknown parameter qbarr of bkb.BKB; known: .*qbar"),
        (lambda entry: entry["algorithms"]["BKB"].pop("qbar"), "missing parameter qbar of bkb.BKB"),
        (lambda entry: entry["algorithms"]["BKB"]["bandwidth"].pop("cadata"), "expected a value for problem 'cadata'"),
        (lambda entry: entry["problems"]["abalone"].update({"is": "tables.abalon"}), "no abalon in problems/tables.py"),
        (lambda entry: entry["problems"]["abalone"].pop("data"), "reads a data set: add a line `data: NAME`"),
        (lambda entry: entry["runs"].append({"algorithms": ["BKBB"]}), "unknown algorithm 'BKBB' in `runs`; known: Global-BBKB"),
        (lambda entry: entry["runs"].append({"readings": ["mine"]}), "unknown reading 'mine' in `runs`; known: reference-code"),
        (lambda entry: entry["runs"].append({"problem": ["abalone"]}), "does not follow workflow/schema.json(.|\n)*problem"),
        (lambda entry: entry.pop("seeds"), "does not follow workflow/schema.json(.|\n)*seeds"),
    ],
)
def test_mistake_is_named(root, change, message):
    with pytest.raises(PlanError, match=message):
        spoiled(root, change)


def test_key_given_twice_is_refused(root):
    text = (ROOT / "papers" / "bbkb.yaml").read_text()
    (root / "papers" / "bbkb.yaml").write_text(re.sub(r"^seeds: 10", "seeds: 10\nseeds: 5", text, flags=re.MULTILINE))
    with pytest.raises(PlanError, match="key given twice: seeds"):
        load("bbkb", "smoke", root=root)


def test_unknown_scale_paper_and_curve_list_what_there_is(root):
    plan = spoiled(root, lambda entry: None)
    with pytest.raises(PlanError, match="unknown scale 'large'; known: smoke, quick, paper"):
        load("bbkb", "large", root=root)
    with pytest.raises(PlanError, match="unknown paper 'bbbkb'; known: bbkb"):
        load("bbbkb", "smoke", root=root)
    with pytest.raises(PlanError, match=r"no run makes the curve 'BKB@mine'(.|\n)*known there: .*BKB@reference-code"):
        plan.cell("abalone", "BKB@mine")


def test_a_variant_equal_to_the_default_is_run_once():
    plan = load("bbkb", "paper")
    assert plan.cell("abalone", "GP-UCB+bandwidth-5") is plan.cell("abalone", "GP-UCB")
    assert plan.cell("abalone", "GP-UCB+bandwidth-10") is not plan.cell("abalone", "GP-UCB")


def test_a_reading_names_only_the_cells_that_it_changes():
    plan = load("bbkb", "paper")
    assert plan.cell("abalone", "BKB@reference-code").algorithm_entry["beta"] == "reference-code"
    assert plan.cell("abalone", "BKB@reference-code").problem_name == "abalone"
    assert plan.cell("abalone", "GlobalLocal-BBKB@appendix").algorithm_entry["rule"] == "global-local-appendix"


def test_the_published_horizon_survives_a_cut_budget():
    for scale in ("smoke", "quick", "paper"):
        assert load("bbkb", scale).cell("abalone", "BKB").algorithm_entry["delta"] == pytest.approx(1e-4)


def test_seeds_by_hand():
    cut = load("bbkb", "paper", seeds="2-4")
    assert cut.cell("abalone", "BKB").seeds == (2, 3, 4)
    assert cut.cell("abalone", "GP-UCB-textbook").seeds == (0,)
    assert parse_seeds("7") == (7,)
    for wrong in ("", "a", "3-1", "1,2"):
        with pytest.raises(PlanError, match="expected"):
            parse_seeds(wrong)


def test_the_table_of_runs_names_core_hours(capsys):
    assert main(["bbkb", "--scale", "paper"]) == 0
    printed = capsys.readouterr().out
    assert "core-hours" in printed
    assert re.search(r"cadata\s+BKB\s+\d+\s+\d+\s+[\d.]+ (measured|estimated)", printed)


def test_planning_imports_no_numerical_library():
    heavy = "[name for name in ('numpy', 'torch', 'scipy') if name in sys.modules]"
    probe = f"import sys, workflow.plan as plan; plan.load('bbkb', 'paper'); print({heavy})"
    found = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
