"""Write the pages of the site."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from workflow.judge import render, settings
from workflow.judge.checks import Comparison
from workflow.judge.claims import AS_PRINTED
from workflow.judge.outcomes import GROUPS, MEANINGS, SYMBOLS, UNDECIDED
from workflow.judge.record_table import STUDIES
from workflow.judge.settings import WAYS
from workflow.plan.costs import duration
from workflow.plan.resolve import ROOT
from workflow.site import (
    accounts,
    claim_pages,
    finder,
    findings,
    guide,
    shrink,
    text,
)
from workflow.site.findings import Finding
from workflow.site.folder import Claim, Report, reports
from workflow.site.glossary import GLOSSARY
from workflow.site.guide import Guide
from workflow.site.methods import Algorithm, algorithms, in_a_line, styles
from workflow.site.reached import Profile, profiles
from workflow.trace import record
from workflow.trace.cells import PlanError

# What a page may load: scripts, styles and pictures that lie beside it, and its empty icon. A
# script or a style that stands in the page itself, a handler and a link `javascript:` are refused,
# so that a text that became markup could still do nothing. `file:` is for pages that are opened as
# files, where browsers differ in whether one file is of the same origin ('self') as another; the
# page of a web server can load none in any case.
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self' file:",
        "style-src 'self' file:",
        "img-src 'self' file: data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
)
STATIC = Path(__file__).parent / "static"
THUMBNAILS = "thumbnails"
FEW = 3  # findings on the first page
MOST_ROWS = 35  # of the summary of a paper: two printed sides have room for these
LIBRARIES = (
    "numpy",
    "scipy",
    "torch",
    "gpytorch",
    "snakemake",
    "mujoco",
    "gymnasium",
    "pandas",
    "scikit-learn",
)


@dataclass(frozen=True)
class Highlight:
    """A finding on the first page, with its picture there."""

    finding: Finding
    label: str
    size: tuple[int, int]
    alt: str


@dataclass(frozen=True)
class Line:
    """A decided claim in the summary of a paper."""

    claim: Claim
    printed: str
    groups: Sequence[str]
    sentence: str


@dataclass(frozen=True)
class Site:
    """Everything that pages show, and where they go."""

    root: Path
    reports: Sequence[Report]
    algorithms: Sequence[Algorithm]
    guide: Sequence[Guide] = ()
    profiles: Sequence[Profile] = ()

    @property
    def outcomes(self) -> list[str]:
        """The outcomes that any report has a column for."""
        return list(dict.fromkeys(name for report in self.reports for name in report.counts))

    def page(self, path: str, template: str, **shown: Any) -> None:
        """Write one page; `up` leads from it to the top of the site."""
        up = "../" * path.count("/")
        words = _environment().get_template(template).render(site=self, up=up, path=path, **shown)
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            "\n".join(line.rstrip() for line in words.splitlines() if line.strip()) + "\n",
            encoding="utf-8",
        )


def build(
    source: Path, target: Path, root: Path = ROOT, *, papers: Sequence[str] = ()
) -> list[Path]:
    """Make the site of the reports below `source`, of some papers or of all; returns its pages.
    Raises PlanError.

    What an earlier call left in `target` is replaced; a folder that is no site is refused.
    """
    found = reports(source, papers)
    _clear(target)
    methods = algorithms(found, root)
    names = [method.name for method in methods]
    told_by_guide = guide.pages(root, found, names)
    site = Site(target, found, methods, told_by_guide, profiles(found))
    words = guide.told(root, found, names)
    shutil.copytree(STATIC, target / "static")
    (target / "static" / "source.css").write_text(styles() + "\n", encoding="utf-8")
    known = {report.name: report for report in found}
    told = [finding for finding in findings.load(root) if finding.paper in known]
    site.page(
        "index.html",
        "overview.html",
        environment=_versions(),
        findings=told,
        highlights=_highlights(site, known, told),
        told=words,
        ways=WAYS,
        commit=record.provenance()["commit"],
        source=source,
    )
    site.page(
        "findings.html",
        "findings.html",
        findings=[(finding, known[finding.paper]) for finding in told],
    )
    site.page("methods.html", "methods.html")
    if site.profiles:
        site.page("profiles.html", "profiles.html", profiles=site.profiles)
    site.page("glossary.html", "glossary.html", glossary=GLOSSARY)
    site.page(
        "find.html",
        "find.html",
        lines=finder.lines(found, site.algorithms, told, site.guide),
        papers=[(report.name, report.label) for report in found],
        outcomes=[(name, name) for name in site.outcomes],
        qualifiers=[(name, name) for name in GROUPS],
        kinds_of_check=list(finder.CHECKS.items()),
    )
    for report in found:
        _paper(site, report, words.get(report.name, Markup()))
    _runs(site, root, others=not papers)
    for page in site.guide:
        site.page(page.path, "guide.html", page=page)
    for picture in guide.pictures(root) if site.guide else []:
        shutil.copyfile(picture, target / guide.FOLDER / picture.name)
    site.page("algorithms/index.html", "algorithms.html")
    for algorithm in site.algorithms:
        site.page(f"algorithms/{algorithm.name}.html", "algorithm.html", algorithm=algorithm)
    return sorted(target.rglob("*.html"))


def _paper(site: Site, report: Report, told: Markup) -> None:
    """The page of a paper with what came of it in words, its run-sets and pictures; curves become
    scripts, which a page read from a file may load.
    """
    folder = site.root / report.name
    folder.mkdir()
    shutil.copyfile(report.folder / "seeds.parquet", folder / "seeds.parquet")
    for path in sorted(report.folder.iterdir()):
        if path.suffix == ".png":
            shrink.put(path, folder)
        elif path.suffix == ".gif":
            shutil.copyfile(path, folder / path.name)
    for figure in report.shown:
        if figure.interactive:
            data = _packed(_curves(report.folder / figure.interactive))
            script = f"noregret.receive({json.dumps(f'{report.name}/{figure.id}')},{data});\n"
            (folder / f"{figure.id}.js").write_text(script, encoding="utf-8")
    site.page(
        f"{report.name}/index.html",
        "paper.html",
        report=report,
        matrix=settings.matrix(report.comparisons),
        told=told,
        appendix_says=render.APPENDIX,
    )
    for claim in report.judged:
        _claim(site, report, claim)
    for former in report.entry.get("withdrawn", []):
        site.page(
            f"{report.name}/{claim_pages.FOLDER}/{former['id']}.html",
            "withdrawn.html",
            report=report,
            former=former,
        )
    _summary(site, report)
    for problem in report.problems:
        site.page(
            f"{report.name}/{'' if problem == STUDIES else 'runs-'}{problem}.html",
            "runs.html",
            report=report,
            problem="" if problem == STUDIES else problem,
            runs=report.on(problem),
        )


def _runs(site: Site, root: Path, *, others: bool) -> None:
    """The page of all run-sets, and what they cost."""
    found = accounts.accounts(site.reports, root, others=others)
    total = accounts.summed(account.total for account in found)
    site.page(
        "runs.html",
        "accounts.html",
        accounts=found,
        total=total,
        alone=sum(account.alone for account in found),
        hours_alone=sum(account.hours_alone for account in found),
        never=[key for key in ("carried", "other_code", "timeouts") if not getattr(total, key)],
    )


def _claim(site: Site, report: Report, claim: Claim) -> None:
    """The page of a claim."""
    site.page(
        f"{report.name}/{claim_pages.FOLDER}/{claim.id}.html",
        "claim.html",
        report=report,
        claim=claim,
        check=claim_pages.check_of(claim, report.entry),
        printed=claim_pages.printed(report, claim),
        pictured=claim_pages.pictured(claim),
        sample=claim_pages.sample(report, claim),
        settings=report.by_setting[claim.id],
        sentence=report.sentences[claim.id],
        says=report.verdicts["readings"],
        beside=claim_pages.shown_in(report, claim),
        commands=claim_pages.commands(report, claim),
    )


def _summary(site: Site, report: Report) -> None:
    """The claims of a paper on two printed sides."""
    # of the claims that are counted apart, and of those for which the table has no room, a long
    # summary has the outcome alone
    decided = [
        Line(
            claim,
            claim_pages.in_short(claim_pages.printed(report, claim)),
            claim.groups,
            report.sentences[claim.id],
        )
        for claim in report.claims
        if claim.verdict != UNDECIDED
    ]
    if len(decided) > MOST_ROWS:
        rows = [line for line in decided if not line.groups][:MOST_ROWS]
    else:
        rows = decided
    site.page(
        f"{report.name}/summary.html",
        "summary.html",
        report=report,
        decided=rows,
        in_short=[line.claim for line in decided if line not in rows],
        others=[claim for claim in report.claims if claim.verdict == UNDECIDED],
        is_printed=any(line.printed for line in decided),
    )


def _highlights(
    site: Site, known: Mapping[str, Report], told: Sequence[Finding]
) -> list[Highlight]:
    """The first finding with a picture of each paper, the first FEW of these."""
    found: dict[str, Highlight] = {}
    for finding in told:
        report = known[finding.paper]
        shown = next((each for each in report.shown if each.id == finding.figure), None)
        if shown is None or not shown.image or finding.paper in found or len(found) == FEW:
            continue
        target = site.root / THUMBNAILS / f"{finding.id}{shrink.ENDING}"
        target.parent.mkdir(exist_ok=True)
        size = shrink.put_small(report.folder / shown.image, target)
        found[finding.paper] = Highlight(finding, report.label, size, shown.alt)
    return list(found.values())


def _curves(path: Path) -> str:
    """The curves of a figure as JSON, whatever else the file may hold: it becomes a script. Bands
    and seeds keep three digits there.

    Raises PlanError.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PlanError(f"{path}: expected curves as JSON, got {error}: draw it again") from None
    for panel in data["panels"]:
        for line in panel["lines"]:
            line.update({key: _coarse(line[key]) for key in ("low", "high", "each") if key in line})
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _packed(data: str) -> str:
    """A text as a string of a script: gzipped, which makes curves a quarter as large, in base64."""
    return json.dumps(base64.b64encode(gzip.compress(data.encode(), mtime=0)).decode())


def _coarse(data: Any) -> Any:
    """The same with numbers of three significant digits."""
    if isinstance(data, Mapping):
        return {key: _coarse(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_coarse(value) for value in data]
    if isinstance(data, float):
        short = float(f"{data:.3g}")
        return int(short) if short.is_integer() else short
    return data


def _clear(target: Path) -> None:
    """Make room, if what is there is a site of ours."""
    if (
        target.exists()
        and any(target.iterdir())
        and not (target / "static" / "source.css").exists()
    ):
        raise FileExistsError(
            f"{target} holds files that are not a site of this project: name another folder with -o"
        )
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("workflow.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "hours": hours,
        "inline": text.inline,
        "slug": slug,
        "duration": duration,
        "in_a_line": in_a_line,
        "sentence": sentence,
        "number": render.number,
        "effect": effect,
        "decided": decided,
        "seeds": seeds,
    }
    found.tests["startswith"] = str.startswith
    found.globals |= {"as_printed": AS_PRINTED, "studies": STUDIES}
    found.globals |= {"groups": GROUPS, "meanings": MEANINGS, "undecided": UNDECIDED}
    found.globals |= {"symbol": {**SYMBOLS, UNDECIDED: "?"}, "policy": POLICY}
    return found


def slug(verdict: str) -> str:
    """A verdict as the name of a style."""
    return "-".join(re.findall(r"\w+", verdict))


def sentence(words: str) -> str:
    """Words as a sentence of their own."""
    return f"{words[:1].upper()}{words[1:]}."


def effect(one: Comparison) -> str:
    """An effect with its interval; what was not run has none."""
    return "" if one.missing else render.effect(one.kind, one.effect, one.low, one.high)


def decided(one: Comparison) -> str:
    """Which side a comparison decides for, or why for none, in words."""
    if one.decides:
        return f"{one.decides} the claim"
    if why := one.missing or one.few or one.undecided:
        return why
    if one.p_against <= one.level:
        return "on the other side, not surely enough for one comparison of several"
    return "for neither side"


def seeds(count: int) -> str:
    """So many seeds, in words."""
    return f"{count} seed{'' if count == 1 else 's'}"


def hours(value: float) -> str:
    """Core-hours for people."""
    return f"{value:.2f}" if value >= 0.005 or not value else "< 0.01"


def _versions() -> Mapping[str, str]:
    return {name: version(name) for name in LIBRARIES}
