"""What a finding shows is there, and its commands name planned runs."""

import json
from pathlib import Path

from workflow.plan import expand
from workflow.plan.reads import stated

ROOT = Path(__file__).resolve().parents[3]
PAPERS = {name: expand.load(name, "paper") for name in expand.papers()}
FINDINGS = [(name, one) for name in PAPERS for one in PAPERS[name].entry.get("findings", [])]


def test_what_a_finding_shows_was_drawn_and_judged():
    assert FINDINGS
    for paper, finding in FINDINGS:
        reference = ROOT / "figures" / "reference" / paper
        assert any((reference / f"{finding['figure']}.{end}").exists() for end in ("png", "md"))
        verdicts = json.loads((reference / "verdicts.json").read_text())
        assert set(finding["claims"]) <= {claim["id"] for claim in stated(verdicts)}


def test_the_commands_of_a_finding_name_planned_runs():
    for paper, finding in FINDINGS:
        for command in finding.get("runs", []):
            _, _, module, named, problem, curve, seeds = command.split()
            assert (module, named) == ("workflow.run", paper)
            assert set(expand.parse_seeds(seeds)) <= set(PAPERS[paper].cell(problem, curve).seeds)
