"""Write the pages of the site: home, papers, claims, methods, data and runs, guide."""

from __future__ import annotations

import ast
import base64
import gzip
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from workflow.draw import shrink
from workflow.judge import settings
from workflow.judge.outcomes import HOLDS, MEANINGS, SYMBOLS, UNDECIDED
from workflow.judge.render import number, seen
from workflow.plan.costs import duration
from workflow.plan.resolve import ROOT
from workflow.site.claim_pages import decided, drawn, effect
from workflow.site.folder import CLAIMS, Report, reports
from workflow.site.guide import Box, Guide
from workflow.site.markdown import Rendered, inline, slug
from workflow.trace import record
from workflow.trace.curves import PlanError

# What a page may load: scripts, styles and pictures that lie beside it, and its empty icon. A
# script or a style that stands in the page itself, a handler and a link `javascript:` are refused,
# so that a text that became markup could still do nothing. `file:` is for pages that are opened as
# files, where browsers differ in whether one file is of the same origin ('self') as another; the
# page of a web server can load none in any case.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:;"
    " img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
)
STATIC = Path(__file__).parent / "static"
MARK = "static/site.css"  # a folder that has it is a site of ours
TABLES = ("seeds.parquet", "runs.parquet")  # of a report that readers may take along
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
    boxes: Mapping[str, Box]

    def page(self, path: str, template: str, **shown: Any) -> None:
        """Write one page; `up` leads from it to the top of the site."""
        up = "../" * path.count("/")
        words = templates().get_template(template).render(site=self, up=up, path=path, **shown)
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
    shown = reports(source, papers)
    if target.exists() and any(target.iterdir()) and not (target / MARK).exists():
        raise FileExistsError(
            f"{target} holds files that are not a site of this project: name another folder with -o"
        )
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(STATIC, target / "static")
    guide = Guide(root, shown)
    site = Site(target, shown, guide.pages(), guide.boxes())
    for report in shown:
        _paper(site, report)
    site.page(
        "index.html",
        "home.html",
        pictures={report.name: _thumbnail(site, report) for report in shown},
        commit=record.provenance()["commit"],
        source=source,
    )
    methods = _methods(root, shown)
    site.page(METHODS, "methods.html", page=site.guide.get(METHODS), methods=methods)
    site.page(RUNS, "runs.html", page=site.guide.get(RUNS), repository=root)
    for path, page in site.guide.items():
        if path not in (METHODS, RUNS):
            site.page(path, "guide.html", page=page)
    for picture in guide.pictures():
        shutil.copyfile(picture, target / "guide" / picture.name)
    index = f"noregret.find({_compact([*_index(site, methods)])});\n"
    (target / "static" / "index.js").write_text(index, encoding="utf-8")
    return sorted(target.rglob("*.html"))


def _paper(site: Site, report: Report) -> None:
    """The page of a paper, those of its claims, and their pictures."""
    folder = site.root / report.name
    folder.mkdir()
    for path in sorted(report.folder.iterdir()):
        if path.suffix == ".png":
            shrink.put(path, folder)
        elif path.suffix == ".gif" or path.name in TABLES:
            shutil.copyfile(path, folder / path.name)
    for figure in report.shown:
        if "json" in figure.files:
            script = _curves(f"{report.name}/{figure.id}", figure.files["json"])
            (folder / f"{figure.id}.js").write_text(script, encoding="utf-8")
    matrix = settings.matrix(report.comparisons)
    site.page(f"{report.name}/index.html", "paper.html", report=report, matrix=matrix)
    for claim in report.judged:
        address = f"{report.name}/{CLAIMS}/{claim.id}.html"
        site.page(address, "claim.html", report=report, claim=claim)
    for former in report.entry.get("withdrawn", []):
        for name in former["ids"]:
            address = f"{report.name}/{CLAIMS}/{name}.html"
            site.page(address, "withdrawn.html", report=report, former=former, name=name)


def _thumbnail(site: Site, report: Report) -> tuple[str, tuple[int, int], str] | None:
    """The picture of a paper that the page of results has first, else its first one, small: its
    file, its size and what it shows.
    """
    there = [one for one in report.shown if "png" in one.files]
    if not there:
        return None
    first = min(there, key=lambda one: one.id != site.boxes[report.name].picture)
    name = f"{report.name}/thumbnail{shrink.ENDING}"
    return name, shrink.put_small(first.files["png"], site.root / name), first.alt


def _methods(root: Path, shown: Sequence[Report]) -> list[Method]:
    """The files of algorithms/ that a paper uses."""
    uses: dict[str, list[tuple[str, str]]] = {}
    for report in shown:
        for name, entry in report.entry["algorithms"].items():
            uses.setdefault(entry["is"].split(".")[0], []).append((name, report.label))
    methods = []
    for module, used in sorted(uses.items()):
        code = (root / "algorithms" / f"{module}.py").read_text(encoding="utf-8")
        about = " ".join((ast.get_docstring(ast.parse(code)) or "").split("\n\n")[0].split())
        names, papers = (list(dict.fromkeys(each)) for each in zip(*used, strict=True))
        first = re.split(r"(?<=[.:])\s", about)[0].rstrip(":")
        methods.append(Method(module, names, papers, first))
    return methods


def _index(site: Site, methods: Sequence[Method]) -> Iterator[tuple[str, str, str, str]]:
    """What the search finds: of each thing its kind, its name, where it is, and more words."""
    for term in site.guide[GLOSSARY].headings if GLOSSARY in site.guide else ():
        yield "term", term.words, f"{GLOSSARY}#{term.id}", term.text
    for report in site.reports:
        title = str(report.entry["paper"].get("title", report.label))
        yield "paper", title, f"{report.name}/index.html", report.label
    for method in methods:
        yield "method", method.file, METHODS, f"{', '.join(method.names)}: {method.about}"
    for path, page in site.guide.items():
        if path != GLOSSARY:
            yield "guide", page.title, path, ""
            for one in page.headings:
                yield "guide", f"{page.title}: {one.words}", f"{path}#{one.id}", one.text[:BRIEF]
    for report in site.reports:
        for claim in report.judged:
            address = f"{report.name}/{CLAIMS}/{claim.id}.html"
            outcome = f"{claim.entry['where']}: {claim.verdict} {claim.group} {claim.id}"
            yield "claim", str(claim.entry["says"]), address, f"{report.label}, {outcome}"


def _curves(name: str, path: Path) -> str:
    """The curves of a figure as a script, which a page read from a file may load: JSON, whatever
    else the file may hold, gzipped, which makes it a quarter as large, in base64.

    Raises PlanError.
    """
    try:
        data = _compact(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise PlanError(f"{path}: expected curves as JSON, got {error}: draw it again") from None
    packed = base64.b64encode(gzip.compress(data.encode(), mtime=0)).decode()
    return f"noregret.receive({json.dumps(name)},{json.dumps(packed)});\n"


def _compact(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


@cache
def templates() -> Environment:
    """All that pages are made of."""
    environment = Environment(
        loader=PackageLoader("workflow.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        each.__name__: each
        for each in (inline, slug, duration, number, seen, effect, decided, drawn)
    }
    environment.globals |= {
        "policy": POLICY,
        "symbol": {**SYMBOLS, UNDECIDED: "?"},
        "meanings": MEANINGS,
        "holding": HOLDS,
    }
    return environment
