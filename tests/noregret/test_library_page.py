"""docs/library.md says what the code says, and what it and the notebook show runs as it stands."""

import json
import re
from pathlib import Path

import numpy as np

import noregret
from noregret import page

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOK = json.loads((DOCS / "library.ipynb").read_text(encoding="utf-8"))


def test_the_generated_parts_of_the_page_are_of_today():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.written(text) == text, "python -m noregret.page writes them"


def test_every_part_is_generated():
    text = page.PAGE.read_text(encoding="utf-8")
    emptied = re.sub(r"(<!-- (\w+) -->\n).*?(<!-- /\2 -->)", r"\1\3", text, flags=re.DOTALL)
    assert len(emptied) < len(text) / 2
    assert page.written(emptied) == text


def test_the_page_runs_as_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", page.PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)
    assert names["found"].feasible and names["found"].y < 8
    assert names["optimizer"].best().feasible
    going_on = noregret.Optimizer.load("state.npz")
    np.testing.assert_array_equal(going_on.ask(), names["optimizer"].ask())


def test_the_notebook_runs_from_its_first_cell_to_its_last(capsys):
    names = {}
    cells = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == 6
    for cell in cells:
        exec(cell, names)
    assert "row" in capsys.readouterr().out


def test_the_notebook_keeps_no_output():
    for cell in NOTEBOOK["cells"]:
        assert cell.get("outputs", []) == [] and cell.get("execution_count") is None
