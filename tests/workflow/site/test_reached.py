"""The page of data profiles: what its tables read of the curves."""

import json
from types import SimpleNamespace

from workflow.plan.resolve import ROOT
from workflow.site import reached
from workflow.site.folder import reports

LINES = [
    {
        "label": "slow",
        "x": 0,
        "centre": [0, 0.1, 0.3, 0.4],
        "low": [0, 0, 0.2, 0.3],
        "high": [0, 0.2, 0.4, 0.5],
    },
    {"label": "quick", "x": 1, "centre": [0.5, 0.6]},
]


def test_shares_are_those_reached_before_and_the_end_has_its_interval(tmp_path):
    panel = {"title": "all", "xs": [[0, 0.2, 0.6, 1.0], [0, 0.5]], "lines": LINES}
    (tmp_path / "reached.json").write_text(json.dumps({"title": "t", "panels": [panel]}))
    shown = SimpleNamespace(kind="profiles", interactive="reached.json")
    others = [SimpleNamespace(kind="figures", interactive="a.json"),
              SimpleNamespace(kind="profiles", interactive="")]  # fmt: skip
    (one,) = reached.profiles([SimpleNamespace(shown=[*others, shown], folder=tmp_path)])
    (group,) = one.groups
    assert (group.title, group.at) == ("all", ["0.25", "0.5"])
    assert [(each.curve, each.shares, each.end) for each in group.curves] == [
        ("quick", [0.5, 0.6], 0.6),
        ("slow", [0.1, 0.1], 0.4),
    ]
    assert group.curves[1].in_words == "0.4 [0.3, 0.5]"


def test_the_committed_profiles_stand_on_a_page_of_their_own(reference_site):
    page = (reference_site / "profiles.html").read_text(encoding="utf-8")
    found = reached.profiles(reports(ROOT / "figures" / "reference"))
    assert {one.shown.id for one in found} >= {"reached", "reached-seconds"}
    for one in found:
        assert f'data-script="{one.report.name}/{one.shown.id}.js"' in page
        for group in one.groups:
            assert group.title.replace("'", "&#39;") in page
            assert all(0 <= each.end <= 1 for each in group.curves) and len(group.curves) > 3
    assert 'href="profiles.html"' in (reference_site / "index.html").read_text(encoding="utf-8")
