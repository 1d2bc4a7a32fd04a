"""The examples run as they stand, are short, and find what they look for."""

import json
import os
import re
from pathlib import Path

import pytest

from tests import programs

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# one thread, as everything else here
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
FOUND = {  # the number after this word is at least and at most this
    "constraints": ("weight", 5.0, 5.5),
    "earlier_data": ("cost", 0.0, 1.0),
    "failures": ("lowest", 0.02, 0.2),
    "function": ("lowest", -1.0317, -0.9),
    "in_parallel": ("lowest", 0.0, 0.1),
    "named_variables": ("loss", 0.0, 0.1),
    "noisy_table": ("worth", 0.8, 0.97),
    "own_loop": ("yield", 89.0, 90.0),
    "stop_and_go_on": ("lowest", 0.0, 0.1),
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_finds_what_it_looks_for(path, tmp_path):
    """In a folder of its own, where it writes nothing; it warns of nothing."""
    done = programs.python(path, cwd=tmp_path, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []
    if path.stem == "compared":  # a method a line: the papers' are ahead of random search
        random, *others = (float(line.split()[1]) for line in done.stdout.splitlines())
        assert len(others) == 3 and max(others) < random
        return
    word, least, most = FOUND[path.stem]
    (number, *_) = re.findall(rf"{word} (-?[\d.]+(?:e-?\d+)?)", done.stdout)
    assert least <= float(number) <= most


def test_no_example_is_longer_than_25_lines():
    assert max(len(path.read_text().splitlines()) for path in EXAMPLES) <= 25


def test_the_notebook_of_designs_runs_with_few_evaluations(capsys):
    """Its cells check all functions at the best known points; the last shows the whole table."""
    notebook = json.loads((ROOT / "examples" / "engineering.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(one["source"]) for one in notebook["cells"] if one["cell_type"] == "code"]
    names = {}
    exec(cells[0], names)
    quick = {"EVALUATIONS": 4, "SEEDS": [0], "CONSTRAINED": ("random",)}
    names |= {**quick, "UNCONSTRAINED": ("random", "gp-ei")}
    for cell in cells[1:]:
        exec(cell, names)
    assert len(names["table"]) == 3 + 2 * 4
    assert "pressure vessel" in capsys.readouterr().out
    *others, last = notebook["cells"]
    assert all(one.get("outputs", []) == [] for one in others)
    (shown,) = last["outputs"]
    assert len(shown["text"]) == 2 + 6 * (3 + 4)
