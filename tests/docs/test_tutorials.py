"""The tutorials of docs/ are carried out line by line, as printed, each in its own checkout."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from tests.docs import tutorial
from tests.workflow.checkout import contents, linked
from workflow.plan import reader
from workflow.plan.expand import load
from workflow.site.markdown import slug

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = sorted(DOCS.glob("*.md"))
MINE = "my-method"
BASELINES = {"GO-UCB", "TuRBO", "GP-UCB", "GP-EI", "GP-PI", "random-search"}


def done(name, folder):
    """The checkout after all steps of a page; every result that the page names is there."""
    page = DOCS / f"{name}.md"
    copy = tutorial.checkout(folder)
    tutorial.carry_out(page, copy)
    promised = tutorial.promised(page)
    assert promised
    assert [path for path in promised if not (copy / path).stat().st_size] == []
    return copy


def curves(path):
    """{panel: its curves} of a figure's CSV."""
    found = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            found.setdefault(row["panel"], set()).add(row["curve"])
    return found


@pytest.mark.slow
def test_a_method_is_added_and_drawn_beside_the_baselines(tmp_path):
    copy = done("add-a-method", tmp_path)
    folder = copy / "figures" / "smoke" / "go_ucb"
    panels = curves(folder / "fig2.csv")
    assert len(panels) == 3
    assert all(drawn == BASELINES | {MINE} for drawn in panels.values())
    assert MINE in (folder / "fig2.json").read_text()


@pytest.mark.slow
def test_a_problem_is_added_and_drawn(tmp_path):
    copy = done("add-a-problem", tmp_path)
    panels = curves(copy / "figures" / "smoke" / "my_paper" / "fig1.csv")
    assert len(panels) == 3
    assert {"averaging", "averaging@pairs", "random-search"} in panels.values()


@pytest.mark.slow
def test_a_paper_is_added_and_judged(tmp_path):
    copy = done("add-a-paper", tmp_path)
    ledger = json.loads((copy / "figures" / "paper" / "my_paper" / "verdicts.json").read_text())
    assert "contradicted" in json.dumps(ledger)
    assert len(list((copy / "results" / "paper" / "my_paper").rglob("9.parquet"))) == 6


@pytest.mark.slow
def test_a_method_is_compared_with_published_curves(tmp_path):
    """As the page says, on the published records, which are read and not written."""
    copy = tutorial.checkout(tmp_path)
    published = Path("figures", "reference", "records", "paper", "go_ucb")
    shutil.copytree(ROOT / published, copy / published)
    before = contents(copy / published)
    tutorial.carry_out(DOCS / "compare-your-method.md", copy)
    assert contents(copy / published) == before
    report = copy / "figures" / "paper" / "my_method_at_go_ucb_fig2"
    drawn = curves(report / "fig2.csv")
    assert len(drawn) == 3 and all(shown == BASELINES | {"my_method"} for shown in drawn.values())
    for name in ("fig2.png", "fig2.pdf", "fig2.json", "verdicts.md"):
        assert (report / name).stat().st_size
    ledger = json.loads((report / "verdicts.json").read_text())
    assert len(ledger["claims"]) == 3 * len(BASELINES)
    made = {path.parent.name for path in (copy / "results").rglob("*.parquet")}
    assert "my_method" in made and made.isdisjoint(BASELINES)


def test_the_library_of_the_readme_runs_as_it_stands(capsys):
    (example,) = re.findall("^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    assert len(example.splitlines()) <= 9
    names = {}
    exec(example, names)
    assert names["found"].y < 0.05 and "lowest" in capsys.readouterr().out


@pytest.mark.parametrize("scale", ["smoke", "paper"])
def test_the_template_of_a_paper_has_every_scale(tmp_path, scale):
    root = linked(tmp_path)
    shutil.copy(ROOT / "papers" / "_template.yaml", root / "papers" / "mine.yaml")
    assert len(load("mine", scale, root=root).curves) == 6


def test_the_table_of_parameters_to_copy_names_entries_that_are_there():
    text = (DOCS / "add-a-paper.md").read_text()
    named = re.findall(r"^\| .*? \| (.*?)`papers/(\w+)\.yaml` \|(.*)\|$", text, re.MULTILINE)
    assert len(named) == 7
    for before, paper, after in named:
        entry = reader.read(paper)
        assert set(re.findall(r"`([\w-]+)`", before)) <= set(entry["algorithms"])
        assert set(re.findall(r"`([\w-]+)`", after)) <= set(entry["readings"])


def test_links_of_a_page_lead_somewhere():
    lost = []
    for page in [*PAGES, README]:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            place, _, anchor = link.partition("#")
            target = page.parent / place if place else page
            if "://" not in link and not (target.exists() and is_there(anchor, target)):
                lost.append((page.name, link))
    assert lost == []


def is_there(anchor, target):
    """Whether a page has a heading of this anchor, or a mark."""
    if not anchor or target.suffix != ".md":
        return not anchor
    text = target.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return anchor in map(slug, headings) or f'id="{anchor}"' in text
