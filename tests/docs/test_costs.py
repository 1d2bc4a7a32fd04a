"""What a page says that runs cost is what the plan says."""

import re

from workflow.plan import costs
from workflow.plan.expand import chosen_papers, load
from workflow.plan.resolve import ROOT

NAMES = {"bbkb": "BBKB", "bkb": "BKB", "dumbo": "DuMBO", "go_ucb": "GO-UCB", "lcbo": "LCBO"}


def test_core_hours_of_the_papers_are_those_of_the_plan():
    said = re.sub(r"\s+", " ", (ROOT / "docs" / "commands.md").read_text())
    (every,) = re.findall(r"some (\d+) core-hours", said)
    named = {name: float(hours) for name, hours in re.findall(r"([\w-]+) ([\d.]+)[,.] ", said)}
    planned = {
        name: sum(costs.seconds(part) for part in load(name, "paper").every_curve) / 3600
        for name in chosen_papers("")
    }
    wrong = {
        name: (named.get(NAMES[name]), hours)
        for name, hours in planned.items()
        if not 0.8 < named.get(NAMES[name], 0) / hours < 1.25
    }
    assert wrong == {}
    assert 0.8 < float(every) / sum(planned.values()) < 1.25
