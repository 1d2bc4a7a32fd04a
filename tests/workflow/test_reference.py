"""`make reference` copies a report and counts its verdicts in the README, and nothing else."""

import json

import pytest

from workflow import reference

README = "# Title\n\n<!-- verdicts -->\nold\n<!-- /verdicts -->\nrest\n"


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "figures" / "paper" / "bbkb"
    folder.mkdir(parents=True)
    claims = [{"verdict": "reproduced"}, {"verdict": "reproduced"}, {"verdict": "undecided"}]
    (folder / "verdicts.json").write_text(json.dumps({"paper": "bbkb", "scale": "paper", "claims": claims}))
    for name in ("verdicts.md", "fig1.png", "fig1.csv", "fig1.pdf"):
        (folder / name).write_text(name)
    (tmp_path / "README.md").write_text(README)
    return tmp_path


def test_pictures_tables_and_counts_are_committed(drawn):
    assert reference.main(["paper", "bbkb"]) == 0
    kept = drawn / "figures" / "reference" / "bbkb"
    assert {path.name for path in kept.iterdir()} == {"verdicts.json", "verdicts.md", "fig1.png"}
    readme = (drawn / "README.md").read_text()
    assert "| [bbkb](figures/reference/bbkb/verdicts.md) | paper | 2 | 0 | 0 | 1 |" in readme
    assert readme.startswith("# Title")
    assert readme.endswith("rest\n")
    assert "old" not in readme


def test_a_second_call_changes_nothing(drawn):
    reference.main(["paper", "bbkb"])
    before = (drawn / "README.md").read_text()
    reference.main(["paper", "bbkb"])
    assert (drawn / "README.md").read_text() == before


def test_what_was_not_drawn_is_refused(drawn, capsys):
    assert reference.main(["quick", "bbkb"]) == 1
    assert "run make figures SCALE=quick PAPERS=bbkb first" in capsys.readouterr().err
    assert (drawn / "README.md").read_text() == README
