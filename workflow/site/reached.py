"""The page of data profiles: how many targets each method has reached, across problems, beside the
figures that draw it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow.judge import render
from workflow.site.folder import Report, Shown

SECTION = "profiles"  # of a paper's YAML
SHARES = (0.25, 0.5)  # of the axis, at which the tables read the curves before their end


@dataclass(frozen=True)
class Reached:
    """A curve of a panel: the share of its targets at SHARES of the axis and at the end, the last
    one also in words with its interval.
    """

    curve: str
    shares: Sequence[float]
    end: float
    in_words: str


@dataclass(frozen=True)
class Group:
    """A panel: problems that go together. `at` says where on the axis the shares are read."""

    title: str
    at: Sequence[str]
    curves: Sequence[Reached]  # who reaches most first


@dataclass(frozen=True)
class Profile:
    """A figure of data profiles, and its numbers by panel."""

    report: Report
    shown: Shown
    groups: Sequence[Group]


def profiles(reports: Sequence[Report]) -> list[Profile]:
    """All data profiles that the reports have."""
    return [
        Profile(report, shown, _groups(report, shown))
        for report in reports
        for shown in report.shown
        if shown.kind == SECTION and shown.interactive
    ]


def _groups(report: Report, shown: Shown) -> list[Group]:
    data = json.loads((report.folder / shown.interactive).read_text(encoding="utf-8"))
    return [_group(panel) for panel in data["panels"]]


def _group(panel: Mapping[str, Any]) -> Group:
    """The curves of one panel. A profile is a step function: what was reached before holds."""
    found, most = [], max(x[-1] for x in panel["xs"])
    places = [most * share for share in SHARES]
    for line in panel["lines"]:
        x, centre = np.asarray(panel["xs"][line["x"]]), line["centre"]
        steps = np.maximum(np.searchsorted(x, places, side="right") - 1, 0)
        low, high = (line.get(name, centre)[-1] for name in ("low", "high"))
        words = render.effect("", centre[-1], low, high).strip()
        found.append(Reached(line["label"], [centre[step] for step in steps], centre[-1], words))
    found.sort(key=lambda one: -one.end)
    return Group(panel["title"], [f"{place:.3g}" for place in places], found)
