"""papers/published/*.csv: what is read of them, and mistakes in them and in what names them."""

import re

import pytest

from tests.workflow.checkout import ROOT, linked, write
from workflow.plan import published_numbers
from workflow.plan.expand import load
from workflow.plan.reader import read
from workflow.plan.resolve import papers
from workflow.trace.curves import PlanError

HEAD = ",".join(published_numbers.COLUMNS)


def tabled(root, *lines, head=HEAD):
    folder = root / published_numbers.FOLDER
    folder.mkdir(parents=True)
    (folder / "toy.csv").write_text("\n".join([head, *lines]) + "\n")


def test_series_of_a_panel_have_their_points_in_order(tmp_path):
    of_a = ("poster,f,A,1,0.9,0.8,1.0,1", "poster,f,A,2,0.5,0.4,0.6,1")
    tabled(tmp_path, *of_a, "Table 2,f,B,,7,,,s", "poster,g,A,1,1,,,1")
    found = published_numbers.panel("toy", "f", tmp_path)
    assert list(found) == ["A", "B"]
    assert found["A"] == published_numbers.Series((1, 2), (0.9, 0.5), (0.8, 0.4), (1.0, 0.6))
    assert found["B"] == published_numbers.Series((), (7,), (), ())


def test_mistakes_are_told_in_a_sentence(tmp_path):
    with pytest.raises(PlanError, match=r"published: expected .*toy\.csv, found none: write it"):
        published_numbers.panel("toy", "f", tmp_path / "empty")
    tabled(tmp_path, "poster,f,A,1,0.9,,,1")
    with pytest.raises(PlanError, match=r"unknown panel 'h'; known in .*toy\.csv: f"):
        published_numbers.panel("toy", "h", tmp_path)
    tabled(tmp_path / "other", head="panel,method")
    with pytest.raises(PlanError, match=r"expected the columns source, .*got panel, method: name"):
        published_numbers.panel("toy", "f", tmp_path / "other")


def test_numbers_of_no_algorithm_are_a_mistake(tmp_path):
    write(linked(tmp_path), "dumbo", read("dumbo"))
    text = (ROOT / "papers" / "published" / "dumbo.csv").read_text()
    (tmp_path / "papers" / "published").mkdir()
    (tmp_path / "papers" / "published" / "dumbo.csv").write_text(text.replace("TuRBO", "TurBO"))
    with pytest.raises(PlanError, match=r"panel six-hump-camel: expected numbers of .* got TurBO"):
        load("dumbo", "smoke", root=tmp_path)


@pytest.mark.parametrize("name", papers())
def test_every_published_panel_is_used_or_only_quoted(name):
    """A number that nothing reads would be a fact without a reader; bandwidths are a table's."""
    path = ROOT / published_numbers.FOLDER / f"{name}.csv"
    experiments = read(name).get("published", {})
    if not path.exists():
        assert not experiments
        return
    lines = re.sub(r'"[^"]*"', "", path.read_text()).splitlines()[1:]
    panels = {line.split(",")[1] for line in lines}
    used = {panel["panel"] for one in experiments.values() for panel in one["panels"]}
    assert used <= panels
    assert len(used) > 0
