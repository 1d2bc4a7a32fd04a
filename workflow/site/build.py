"""Write the pages of the site: home, papers, claims, methods, data and runs, guide."""

from __future__ import annotations

import ast
import base64
import gzip
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from workflow.draw import shrink
from workflow.judge import settings
from workflow.judge.checks import FOR, Comparison
from workflow.judge.outcomes import MEANINGS, SYMBOLS, UNDECIDED
from workflow.judge.render import number
from workflow.plan.costs import duration
from workflow.plan.resolve import ROOT
from workflow.site import claim_pages, run_list
from workflow.site.folder import CLAIMS, Report, effect, reports
from workflow.site.guide import Box, Guide
from workflow.site.markdown import Rendered, inline, slug
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
MARK = "static/site.css"  # a folder that has it is a site of ours
METHODS, RUNS = "methods/index.html", "runs/index.html"
GLOSSARY = "guide/glossary.html"
BRIEF = 160  # letters of a text in the index of the search


@dataclass(frozen=True)
class Method:
    """A file of algorithms/, its names in the legends of papers, and its first sentence."""

    file: str
    names: Sequence[str]
    papers: Sequence[str]
    about: str


@dataclass(frozen=True)
class Site:
    """Everything that pages show, and where they go."""

    root: Path
    reports: Sequence[Report]
    guide: Mapping[str, Rendered]
    told: Mapping[str, Box]

    def page(self, path: str, template: str, **shown: Any) -> None:
        """Write one page; `up` leads from it to the top of the site."""
        up = "../" * path.count("/")
        words = _environment().get_template(template).render(site=self, up=up, path=path, **shown)
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = (line.rstrip() for line in words.splitlines() if line.strip())
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def build(
    source: Path, target: Path, root: Path = ROOT, *, papers: Sequence[str] = ()
) -> list[Path]:
    """Make the site of the reports below `source`, of some papers or of all; returns its pages.
    Raises PlanError.

    What an earlier call left in `target` is replaced; a folder that is no site is refused.
    """
    found = reports(source, papers)
    _clear(target)
    shutil.copytree(STATIC, target / "static")
    guide = Guide(root, found)
    site = Site(target, found, guide.pages(), guide.told())
    for report in found:
        _paper(site, report)
    pictures = {report.name: _thumbnail(site, report) for report in found}
    commit = record.provenance()["commit"]
    site.page("index.html", "home.html", pictures=pictures, commit=commit, source=source)
    methods = _methods(root, found)
    site.page(METHODS, "methods.html", page=site.guide.get(METHODS), methods=methods)
    site.page(
        RUNS,
        "runs.html",
        page=site.guide.get(RUNS),
        accounts=[(report, run_list.lines(report, root)) for report in found],
    )
    for path, page in site.guide.items():
        if path not in (METHODS, RUNS):
            site.page(path, "guide.html", page=page)
    for picture in guide.pictures():
        shutil.copyfile(picture, target / "guide" / picture.name)
    lines = json.dumps(_index(site, methods), ensure_ascii=False, separators=(",", ":"))
    (target / "static" / "index.js").write_text(f"noregret.find({lines});\n", encoding="utf-8")
    return sorted(target.rglob("*.html"))


def _paper(site: Site, report: Report) -> None:
    """The page of a paper, those of its claims, and their pictures; curves become scripts, which a
    page read from a file may load.
    """
    folder, findings = site.root / report.name, report.entry.get("findings", [])
    folder.mkdir()
    for name in ("seeds.parquet", "runs.parquet"):
        shutil.copyfile(report.folder / name, folder / name)
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
        box=site.told[report.name],
        findings=findings,
    )
    for claim in report.judged:
        site.page(
            f"{report.name}/{CLAIMS}/{claim.id}.html",
            "claim.html",
            report=report,
            claim=claim,
            check=claim_pages.check_of(claim, report.entry),
            printed=claim_pages.printed(report, claim),
            marks=[claim_pages.marks(one) for one in claim.comparisons],
            sample=claim_pages.sample(report, claim),
            settings=report.by_setting[claim.id],
            beside=[one for one in report.shown if claim in one.claims],
            seconds=report.seconds(claim.entry["rerun"]),
            findings=[one for one in findings if claim.id in one["claims"]],
        )
    for former in report.entry.get("withdrawn", []):
        address = f"{report.name}/{CLAIMS}/{former['id']}.html"
        site.page(address, "withdrawn.html", report=report, former=former)


def _thumbnail(site: Site, report: Report) -> tuple[str, tuple[int, int], str] | None:
    """The picture of a paper that the page of results has first, else its first one, small: its
    file, its size and what it shows.
    """
    there = sorted(
        (one for one in report.shown if one.image),
        key=lambda one: one.id != site.told[report.name].picture,
    )
    if not there:
        return None
    name = f"{report.name}/thumbnail{shrink.ENDING}"
    size = shrink.put_small(report.folder / there[0].image, site.root / name)
    return name, size, there[0].alt


def _methods(root: Path, found: Sequence[Report]) -> list[Method]:
    """The files of algorithms/ that a paper uses."""
    uses: dict[str, list[tuple[str, str]]] = {}
    for report in found:
        for name, entry in report.entry["algorithms"].items():
            uses.setdefault(entry["is"].split(".")[0], []).append((name, report.label))
    lines = []
    for module, used in sorted(uses.items()):
        code = (root / "algorithms" / f"{module}.py").read_text(encoding="utf-8")
        about = " ".join((ast.get_docstring(ast.parse(code)) or "").split("\n\n")[0].split())
        names, labels = zip(*used, strict=True)
        first = re.split(r"(?<=[.:])\s", about)[0].rstrip(":")
        lines.append(Method(module, list(dict.fromkeys(names)), list(dict.fromkeys(labels)), first))
    return lines


def _index(site: Site, methods: Sequence[Method]) -> list[list[str]]:
    """What the search finds: of each thing its kind, its name, where it is, and more words."""
    terms = site.guide[GLOSSARY].headings if GLOSSARY in site.guide else ()
    lines = [["term", one.words, f"{GLOSSARY}#{one.id}", one.text] for one in terms]
    for report in site.reports:
        title = str(report.entry["paper"].get("title", report.label))
        lines.append(["paper", title, f"{report.name}/index.html", report.label])
    for one in methods:
        lines.append(["method", one.file, METHODS, f"{', '.join(one.names)}: {one.about}"])
    for path, page in site.guide.items():
        if path != GLOSSARY:
            lines.append(["guide", page.title, path, ""])
            lines += [
                ["guide", f"{page.title}: {one.words}", f"{path}#{one.id}", one.text[:BRIEF]]
                for one in page.headings
            ]
    for report in site.reports:
        lines += [
            [
                "claim",
                str(claim.entry["says"]),
                f"{report.name}/{CLAIMS}/{claim.id}.html",
                f"{report.label}, {claim.entry['where']}: {claim.verdict} {claim.group} {claim.id}",
            ]
            for claim in report.judged
        ]
    return lines


def _curves(path: Path) -> str:
    """The curves of a figure as JSON, whatever else the file may hold: it becomes a script.

    Raises PlanError.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PlanError(f"{path}: expected curves as JSON, got {error}: draw it again") from None
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _packed(data: str) -> str:
    """A text as a string of a script: gzipped, which makes curves a quarter as large, in base64."""
    return json.dumps(base64.b64encode(gzip.compress(data.encode(), mtime=0)).decode())


def _clear(target: Path) -> None:
    """Make room, if what is there is a site of ours."""
    if target.exists() and any(target.iterdir()) and not (target / MARK).exists():
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
    found.filters |= {"inline": inline, "slug": slug, "duration": duration, "effect": effect}
    found.filters |= {"number": number, "decided": decided}
    found.globals |= {"policy": POLICY, "symbol": {**SYMBOLS, UNDECIDED: "?"}}
    found.globals |= {"meanings": MEANINGS}
    return found


def decided(one: Comparison) -> str:
    """Which side a comparison decides for, or why for none, in words."""
    p = one.p if one.decides == FOR else one.p_against
    if one.decides and 0 < one.at < one.n and p > one.level:
        return f"{one.decides} the claim at {one.at} seeds, no longer at {one.n}"
    if one.decides:
        return f"{one.decides} the claim"
    if why := one.apart or one.missing or one.few or one.undecided:
        return why
    if one.p_against <= one.level:
        return "on the other side, not surely enough for one comparison of several"
    return "for neither side"
