"""Write the pages of the site."""

from __future__ import annotations

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

from workflow.judge import sensitivity
from workflow.judge.outcomes import GROUPS, MEANINGS, SYMBOLS, UNDECIDED
from workflow.judge.sensitivity import Matrix
from workflow.judge.votes import KINDS
from workflow.plan.costs import duration
from workflow.plan.exhibits import SPECIFICATIONS
from workflow.plan.resolve import ROOT, PlanError
from workflow.site import findings, text
from workflow.site.folder import Report, reports
from workflow.site.methods import Algorithm, algorithms, in_a_line, styles
from workflow.trace import record

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
class Site:
    """Everything that pages show, and where they go."""

    root: Path
    reports: Sequence[Report]
    algorithms: Sequence[Algorithm]

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
    site = Site(target, found, algorithms(found, root))
    shutil.copytree(STATIC, target / "static")
    (target / "static" / "source.css").write_text(styles() + "\n", encoding="utf-8")
    known = {report.name: report for report in found}
    told = [finding for finding in findings.load(root) if finding.paper in known]
    site.page(
        "index.html",
        "overview.html",
        environment=_versions(),
        findings=told,
        commit=record.provenance()["commit"],
        source=source,
    )
    site.page(
        "findings.html",
        "findings.html",
        findings=[(finding, known[finding.paper]) for finding in told],
    )
    site.page("methods.html", "methods.html")
    for report in found:
        _paper(site, report)
    site.page("algorithms/index.html", "algorithms.html")
    for algorithm in site.algorithms:
        site.page(f"algorithms/{algorithm.name}.html", "algorithm.html", algorithm=algorithm)
    return sorted(target.rglob("*.html"))


def _paper(site: Site, report: Report) -> None:
    """The page of a paper, its run-sets and pictures; curves become scripts, which a page read from
    a file may load.
    """
    folder = site.root / report.name
    folder.mkdir()
    for path in sorted(report.folder.iterdir()):
        if path.suffix in (".png", ".gif"):
            shutil.copyfile(path, folder / path.name)
    for curve in sorted((report.folder / SPECIFICATIONS).glob("*.png")):
        (folder / SPECIFICATIONS).mkdir(exist_ok=True)
        shutil.copyfile(curve, folder / SPECIFICATIONS / curve.name)
    for figure in report.shown:
        if figure.interactive:
            data = _curves(report.folder / figure.interactive)
            script = f"noregret.receive({json.dumps(f'{report.name}/{figure.id}')},{data});\n"
            (folder / f"{figure.id}.js").write_text(script, encoding="utf-8")
    matrix = _matrix(report)
    words = sensitivity.summary(matrix) if matrix else ""
    site.page(
        f"{report.name}/index.html", "paper.html", report=report, matrix=matrix, summary=words
    )
    for problem in report.problems:
        site.page(
            f"{report.name}/runs-{problem}.html",
            "runs.html",
            report=report,
            problem=problem,
            runs=report.on(problem),
        )
    if report.runs.get("studies"):
        site.page(
            f"{report.name}/studies.html",
            "runs.html",
            report=report,
            problem="",
            runs=report.runs["studies"],
        )


def _curves(path: Path) -> str:
    """The curves of a figure as JSON, whatever else the file may hold: it becomes a script.

    Raises PlanError.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PlanError(f"{path}: expected curves as JSON, got {error}: draw it again") from None
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _matrix(report: Report) -> Matrix | None:
    """Claims by readings; None where these verdicts are older than that."""
    return sensitivity.matrix(report.verdicts) if "readings" in report.verdicts else None


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
        "percent": percent,
        "inline": text.inline,
        "slug": slug,
        "duration": duration,
        "short": short,
        "in_a_line": in_a_line,
    }
    found.globals |= {"kinds": KINDS, "specifications": SPECIFICATIONS}
    found.globals |= {"groups": GROUPS, "meanings": MEANINGS, "undecided": UNDECIDED}
    found.globals |= {"symbol": {**SYMBOLS, UNDECIDED: "?"}, "policy": POLICY}
    return found


def slug(verdict: str) -> str:
    """A verdict as the name of a style."""
    return "-".join(re.findall(r"\w+", verdict))


def short(value: float | None) -> str:
    """A number of a record."""
    return "-" if value is None else f"{value:.4g}"


def percent(share: float) -> str:
    """A share in whole per cent; nothing for none."""
    return f"{100 * share:.0f} %" if share else ""


def _versions() -> Mapping[str, str]:
    return {name: version(name) for name in LIBRARIES}
