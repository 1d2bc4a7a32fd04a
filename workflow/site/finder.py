"""What the page `Find` lists, each in a line: claims, papers, methods, findings, and pages of the
guide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workflow.judge.outcomes import group
from workflow.site.claim_pages import FOLDER, line_of
from workflow.site.findings import Finding
from workflow.site.folder import Report
from workflow.site.guide import Guide
from workflow.site.methods import Algorithm

CHECKS = {  # the tests of checks, for people
    "less": "smaller than another",
    "more": "larger than another",
    "equivalent": "level with another",
    "spread": "varies less",
    "passes": "reaches another",
    "exponent": "an exponent",
    "monotone": "rises or falls",
    "share": "a share of seeds",
    "band": "every row within bounds",
    "bound": "every row below another",
}


@dataclass(frozen=True)
class Found:
    """A line: what it is of, what it says, where it leads, and what filters read of it."""

    what: str
    says: str
    link: str
    where: str
    paper: str = ""
    outcome: str = ""
    qualifier: str = ""
    kind: str = ""
    id: str = ""


def lines(
    reports: Sequence[Report],
    algorithms: Sequence[Algorithm],
    findings: Sequence[Finding],
    guide: Sequence[Guide] = (),
) -> list[Found]:
    """All lines: papers, findings, methods, pages of the guide with their headings, then claims."""
    labels = {report.name: report.label for report in reports}
    papers = [
        Found(
            "paper",
            str(report.head.get("title", report.label)),
            f"{report.name}/index.html",
            f"{report.label}, {report.head.get('venue', '')}",
            report.name,
        )
        for report in reports
    ]
    told = [
        Found("finding", one.title, f"findings.html#{one.id}", labels[one.paper], one.paper)
        for one in findings
    ]
    methods = [
        Found(
            "method",
            f"{one.name}: {one.headline}",
            f"algorithms/{one.name}.html",
            ", ".join(dict.fromkeys(use.name for use in one.uses)),
        )
        for one in algorithms
    ]
    pages = [
        Found("guide", one.title, one.path, " · ".join(words for _, words in one.sections))
        for one in guide
    ]
    claims = [
        Found(
            "claim",
            str(claim.entry["says"]),
            f"{report.name}/{FOLDER}/{claim.id}.html",
            f"{report.label}, {claim.entry['where']} · {claim.id}",
            report.name,
            claim.verdict,
            group(claim.qualifiers),
            str(line_of(claim, report.entry).get("check", {}).get("test", "")),
            claim.id,
        )
        for report in reports
        for claim in report.claims
    ]
    return [*papers, *told, *methods, *pages, *claims]
