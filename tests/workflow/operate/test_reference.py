"""`make reference` replaces committed reports by drawings and writes the tables of a page."""

import json

import pytest

from workflow.operate import reference
from workflow.trace.curves import PlanError

PAGE = "# Title\n\n<!-- methods -->\nstale\n<!-- /methods -->\nrest\nend\n"


def report(folder):
    """What drawing leaves: a figure, one without any run, and verdicts."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {"paper": "bbkb", "scale": "paper", "claims": []}
    (folder / "verdicts.json").write_text(json.dumps(said))
    for name in ("verdicts.md", "fig1.csv", "fig1.pdf", "fig1.png", "fig3.png"):
        (folder / name).write_text(name)
    (folder / "fig1.json").write_text(json.dumps({"panels": [{"lines": [{}], "dots": []}]}))
    (folder / "fig3.json").write_text(json.dumps({"panels": [{"lines": [], "dots": []}]}))


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / reference.PAGE).write_text(PAGE)
    monkeypatch.setattr(reference, "draw", lambda _, folder, *__, **___: report(folder) or "paper")
    return tmp_path


def test_what_was_drawn_is_committed_but_for_what_shows_nothing(checkout):
    stale = checkout / "figures" / "reference" / "bbkb" / "gone.png"
    stale.parent.mkdir(parents=True)
    stale.write_text("of an earlier report")
    assert reference.main(["bbkb"]) == 0
    kept = checkout / "figures" / "reference" / "bbkb"
    files = {"verdicts.json", "verdicts.md", "fig1.png", "fig1.json"}
    assert {path.name for path in kept.iterdir()} == files


def test_no_committed_figure_is_lost_for_want_of_runs(checkout, capsys):
    kept = checkout / "figures" / "reference" / "bbkb"
    kept.mkdir(parents=True)
    (kept / "fig3.png").write_text("of an earlier report")
    assert reference.main(["bbkb"]) == 1
    said = capsys.readouterr().err
    assert "found no runs of fig3" in said
    assert "delete these files first" in said
    assert [path.name for path in kept.iterdir()] == ["fig3.png"]
    (kept / "fig3.png").unlink()
    assert reference.main(["bbkb"]) == 0
    assert (kept / "fig1.png").exists()


def test_the_page_is_written_anew_between_its_marks(checkout):
    line = {"label": "A", "centre": [0, 0.5], "low": [0, 0.4], "high": [0, 0.6]}
    panel = {"title": "f1 to f3", "lines": [line]}
    folder = checkout / "figures" / "reference" / reference.COMPARISON
    report(folder)
    (folder / "reached.json").write_text(json.dumps({"panels": [panel]}))
    reference.main(["bbkb"])
    page = (checkout / reference.PAGE).read_text()
    assert "| method | f1 to f3 | CPU seconds a query |" in page
    assert page.startswith("# Title") and page.endswith("end\n")
    assert "stale" not in page


def test_a_stale_page_is_told_and_left(checkout, capsys):
    reference.main(["bbkb"])
    assert reference.main(["--check"]) == 0
    (checkout / reference.PAGE).write_text(PAGE)
    assert reference.main(["--check"]) == 1
    assert "run python -m workflow.reference" in capsys.readouterr().err
    assert (checkout / reference.PAGE).read_text() == PAGE


def test_a_report_that_lacks_what_others_have_is_told(checkout, capsys):
    folder = checkout / "figures" / "reference"
    report(folder / "bbkb")
    report(folder / "bkb")
    reference.main(["bbkb"])
    assert reference.main(["--check"]) == 0
    (folder / "bkb" / "runs.parquet").touch()
    (folder / "bkb" / "verdicts.md").unlink()
    (folder / "bbkb" / "fig1.json").unlink()
    assert reference.main(["--check"]) == 1
    said = capsys.readouterr().err
    assert "bbkb: expected runs.parquet, fig1.json as in other reports" in said
    assert "bkb: expected verdicts.md as in other reports" in said


def test_what_cannot_be_drawn_leaves_the_committed_report(checkout, monkeypatch, capsys):
    assert reference.main(["bbkb"]) == 0
    kept = checkout / "figures" / "reference" / "bbkb"
    before = {path.name: path.read_bytes() for path in kept.iterdir()}

    def refuse(name, *_, **__):
        raise PlanError(f"{name}: records are stale")

    monkeypatch.setattr(reference, "draw", refuse)
    assert reference.main(["bbkb"]) == 1
    assert "records are stale" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


def test_the_largest_scale_with_records_is_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlanError, match="expected records in results/<scale>/bkb"):
        reference.largest("bkb")
    folder = tmp_path / "results" / "smoke" / "bkb" / "p" / "A"
    folder.mkdir(parents=True)
    (folder / "0.parquet").touch()
    assert reference.largest("bkb").scale == "smoke"
    published = tmp_path / "figures" / "reference" / "records" / "paper" / "bkb" / "p"
    published.mkdir(parents=True)
    (published / "A.parquet").touch()
    assert reference.largest("bkb").scale == "paper"


def test_what_is_drawn_elsewhere_is_compared_with_what_is_committed(checkout, capsys):
    reference.main(["bbkb"])
    report(checkout / "figures" / "drawn" / "bbkb")
    asked = ["--agreement", "figures/drawn"]
    assert reference.main(asked) == 0
    alike = "drawn files are those of figures/reference, bit for bit"
    assert capsys.readouterr().out == f"4 of 4 {alike}\n"
    (checkout / "figures" / "drawn" / "bbkb" / "fig1.png").write_text("other pixels")
    assert reference.main(asked) == 0
    assert capsys.readouterr().out == f"3 of 4 {alike}; unlike are bbkb/fig1.png\n"
