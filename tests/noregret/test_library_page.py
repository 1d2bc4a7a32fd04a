"""docs/library.md says what the code says, and what it and the notebook show runs as it stands."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import noregret

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "library.md").read_text(encoding="utf-8")
NOTEBOOK = json.loads((DOCS / "library.ipynb").read_text(encoding="utf-8"))


def test_the_page_runs_as_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(block, names)
        if "weight" in names:
            assert names.pop("found").feasible and names.pop("weight")
    assert len(names["optimizer"].history.y) == 1
    going_on = noregret.Optimizer.load("run.npz")
    np.testing.assert_array_equal(going_on.history.x, names["found"].history.x)


@pytest.mark.slow
def test_the_notebook_runs_from_its_first_cell_to_its_last(capsys):
    names = {}
    cells = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == 6
    for cell in cells:
        exec(cell, names)
    assert "row" in capsys.readouterr().out
