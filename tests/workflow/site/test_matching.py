"""A claim stands beside the figure that draws what decides it."""

from workflow.plan import reader, resolve
from workflow.site.matching import decided_by, labels


def test_places_of_a_paper():
    for where, found in [
        ("Sec. 6.1, Fig. 1(a)", {("figure", "1", "a")}),
        ("Figs. 1(a) and 4(c)", {("figure", "1", "a"), ("figure", "4", "c")}),
        ("Lemmas A.10 and A.11", {("lemma", "A.10", ""), ("lemma", "A.11", "")}),
        (
            "supplementary Fig. 2, Table 2 (underlined)",
            {("supplementary figure", "2", ""), ("table", "2", "")},
        ),
        ("Thm. 1, Sec. 3", {("theorem", "1", "")}),
        ("Sec. 5", set()),
    ]:
        assert labels(where) == found


def test_the_study_decides_before_the_label():
    shown = [
        {"id": "a", "where": "Thm. 1", "panels": [{"study": "s"}]},
        {"id": "b", "where": "Thm. 2", "panels": [{"study": "t"}]},
    ]
    claim = {"id": "c", "where": "Thm. 2", "check": {"study": "s", "test": "bound"}}
    assert decided_by([claim], shown)["a"] == ["c"]


def test_among_figures_of_one_label_curves_and_problems_decide():
    shown = [
        {
            "id": "f",
            "where": "Fig. 2",
            "metric": "m",
            "curves": ["A", "B"],
            "panels": [{"problem": "p"}],
        },
        {
            "id": "g",
            "where": "Fig. 2",
            "metric": "m",
            "curves": ["A", "C"],
            "panels": [{"problem": "q"}],
        },
    ]
    claim = {
        "id": "c",
        "where": "Fig. 2",
        "check": {"metric": "m", "problems": ["q"], "left": ["A"], "right": ["C"], "test": "less"},
    }
    alone = {
        "id": "d",
        "where": "Sec. 9",
        "check": {
            "metric": "other",
            "problems": ["z"],
            "left": ["Z"],
            "right": [1],
            "test": "less",
        },
    }
    assert decided_by([claim, alone], shown) == {"f": [], "g": ["c"], "": ["d"]}


def test_every_claim_of_a_paper_has_one_place():
    for name in resolve.papers():
        entry = reader.read(name)
        shown = [
            line for section in ("figures", "tables", "pictures") for line in entry.get(section, [])
        ]
        placed = [
            claim for beside in decided_by(entry["claims"], shown).values() for claim in beside
        ]
        assert sorted(placed) == sorted(claim["id"] for claim in entry["claims"])
