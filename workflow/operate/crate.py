"""Write what a deposit of the published records and reports needs: `python -m workflow.crate
[-o build/crate]`, called by `make crate`.

The folder is an RO-Crate 1.1 that conforms to the profile Process Run Crate 0.5: copies of the
records, the reports and what they were made from, and `ro-crate-metadata.json`, which says of each
file what it is, of each paper what made its records and its report, and under which licences. It
depends on the repository and its history alone: the same commit gives the same bytes.

A record names the commit that made it, not the hour. An action therefore starts at the date of the
oldest commit that one of its records names, and ends at that of the last commit that published one:
no record is older than the first or younger than the last.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from workflow.data.manifest import read_manifest
from workflow.operate.citations import BIBLIOGRAPHY, Cited, cited
from workflow.operate.history import History, NoHistory
from workflow.plan import reader
from workflow.plan.cells import PUBLISHED
from workflow.plan.resolve import ROOT, PlanError, papers
from workflow.trace import curve_file

Entity = dict[str, Any]
METADATA = "ro-crate-metadata.json"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
LICENCE = "https://spdx.org/licenses/MIT"
REPORTS = Path("figures", "reference")
FORMATS = {
    ".bib": "application/x-bibtex",
    ".cff": "application/yaml",
    ".gif": "image/gif",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".yaml": "application/yaml",
}
SOFTWARE, MAKERS = "#noregret", "#developers"
ALSO = {  # files of the crate beside papers, records and reports
    Path("CITATION.cff"): "how to cite the software",
    Path("LICENSE"): "the licence of all files here",
    Path("codemeta.json"): "the software, described for machines",
    Path("data", "manifest.yaml"): "the data sets that runs were made on: origin, hash, licence",
    Path("docs", "data.md"): "what the records are, column by column",
    Path("papers", "history.json"): "since when checks and defaults are what they are",
    BIBLIOGRAPHY: "what the papers and this project cite",
}


class Crate:
    """The metadata of a crate while it grows."""

    def __init__(self, root: Path) -> None:
        self.root, self.history = root, History(root)
        self.project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        self.citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
        if not self.history.is_committed(REPORTS):
            raise NoHistory(
                f"{REPORTS}: expected committed files, found changes: commit them first"
            )
        self.touched = self.history.touched(REPORTS)
        self.files: dict[Path, Entity] = {}
        self.others: dict[str, Entity] = {}
        self.actions: list[Entity] = []

    def file(self, path: Path, description: str) -> Path:
        """Take a file in; returns its path."""
        content = (self.root / path).read_bytes()
        self.files[path] = {
            "@id": identifier(path),
            "@type": "File",
            "name": path.name,
            "description": description,
            "encodingFormat": FORMATS.get(path.suffix, "text/plain"),
            "contentSize": str(len(content)),
            "sha256": hashlib.sha256(content).hexdigest(),
            "license": {"@id": LICENCE},
        }
        return path

    def other(self, name: str, /, **said: Any) -> Entity:
        """Take in what is no file; returns a reference to it."""
        self.others[name] = {"@id": name, **said}
        return {"@id": name}

    def action(self, name: str, *, title: str, description: str, **said: Any) -> None:
        """Take in what made some files."""
        self.actions.append(
            {
                "@id": f"#{name}",
                "@type": "CreateAction",
                "name": title,
                "description": description,
                "actionStatus": "http://schema.org/CompletedActionStatus",
                "instrument": {"@id": SOFTWARE},
                "agent": {"@id": MAKERS},
                **{key: value for key, value in said.items() if value},
            }
        )

    def dates(self, made: Iterable[str], files: Iterable[Path]) -> dict[str, str]:
        """When an action started and ended, by the commits that records name and by those that
        brought its files. No start where one of these commits is not of this history.
        """
        ended = max(self.touched[path][1] for path in files)
        found = {"endTime": _date(self.history.commits[ended].seconds)}
        started = [self.history.place(commit) for commit in made]
        if started and max(started) < math.inf:
            found["startTime"] = _date(self.history.commits[int(min(started))].seconds)
        return found

    def text(self) -> str:
        """The metadata file."""
        graph = [
            *self._heads(),
            *self.actions,
            *(self.others[name] for name in sorted(self.others)),
        ]
        graph += [self.files[path] for path in sorted(self.files)]
        context = f"{SPECIFICATION}/context"
        whole = {"@context": context, "@graph": [_compact(entity) for entity in graph]}
        return json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def _heads(self) -> list[Entity]:
        known = sorted(name for name in self.others if name.startswith("#paper-"))
        root = {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Records and reports of {self.citation['title']}",
            "description": (
                "What remains of the runs behind the reports, as tables, and the reports:"
                " figures, tables and verdicts on the claims of each paper. docs/data.md says what"
                " the columns are."
            ),
            "datePublished": str(self.citation["date-released"]),
            "version": self.citation["version"],
            "license": {"@id": LICENCE},
            "author": {"@id": MAKERS},
            "publisher": {"@id": MAKERS},
            "conformsTo": {"@id": PROFILE},
            "citation": [{"@id": name} for name in known],
            "hasPart": [{"@id": identifier(path)} for path in sorted(self.files)],
            "mentions": [{"@id": action["@id"]} for action in self.actions],
        }
        descriptor = {
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": {"@id": SPECIFICATION},
            "about": {"@id": "./"},
        }
        return [descriptor, root]


def _compact(entity: Entity) -> Entity:
    """An entity as RO-Crate asks for: a single value is no list."""
    return {
        key: value[0] if isinstance(value, list) and len(value) == 1 else value
        for key, value in entity.items()
    }


def identifier(path: Path) -> str:
    """The name of a file as a part of an address."""
    return quote(path.as_posix(), safe="/@+,")


def made(root: Path) -> Crate:
    """The crate of a checkout. Raises NoHistory, PlanError."""
    crate = Crate(root)
    _software(crate)
    for path, description in ALSO.items():
        crate.file(path, description)
    names = papers(root)
    sources = read_manifest(root)
    for name, paper in cited(root, names).items():
        article = _article(crate, name, paper)
        plan = crate.file(Path("papers", f"{name}.yaml"), f"what is run and claimed of {name}")
        used = {line.get("data") for line in reader.read(name, root)["problems"].values()}
        data = [
            crate.other(
                f"#data-{key}",
                **{"@type": "CreativeWork", "name": sources[key].title},
                license=sources[key].licence,
                citation=sources[key].citation,
            )
            for key in sorted(filter(None, used))
        ]
        records = _records(crate, name, [_reference(plan), *data], article)
        _report(crate, name, plan, records, article)
    return crate


def _software(crate: Crate) -> None:
    (author,) = crate.citation["authors"]
    crate.other(MAKERS, **{"@type": "Organization", "name": author["name"]})
    crate.other(LICENCE, **{"@type": "CreativeWork", "name": "MIT License", "identifier": "MIT"})
    crate.other(PROFILE, **{"@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"})
    project = crate.project["project"]
    crate.other(
        SOFTWARE,
        **{"@type": "SoftwareApplication", "name": project["name"]},
        description=project["description"],
        softwareVersion=project["version"],
        license={"@id": LICENCE},
        author={"@id": MAKERS},
    )


def _article(crate: Crate, name: str, paper: Cited) -> Entity:
    return crate.other(
        f"#paper-{name}",
        **{"@type": "ScholarlyArticle", "name": paper.title},
        author=[f"{given} {family}" for family, given in paper.authors],
        datePublished=paper.year,
        description=str(paper),
    )


def _records(crate: Crate, name: str, consumed: Sequence[Entity], article: Entity) -> list[Path]:
    """Take in the records of a paper and what made them; returns their files."""
    headers: list[Mapping[str, Any]] = []
    files = []
    found_there = (crate.root / PUBLISHED).glob(f"*/{name}/**/*.parquet")
    for path in sorted(file.relative_to(crate.root) for file in found_there):
        found = curve_file.headers(crate.root / path)
        headers += found.values()
        what = " ".join(path.relative_to(PUBLISHED).with_suffix("").parts[1:])
        files.append(crate.file(path, f"{len(found)} runs of {what}"))
    if not files:
        return []
    provenance = [header["provenance"] for header in headers]
    commits = sorted({each["commit"] for each in provenance})
    crate.action(
        f"runs-{name}",
        title=f"Runs of {name}",
        description=(
            f"{len(headers)} runs by `snakemake`, published by `make publish`; the header of each"
            f" record has its command. Made by the commits {', '.join(commits)} on"
            f" {_listed(each['machine'] for each in provenance)}, with Python"
            f" {_listed(each['python'] for each in provenance)}. No record is older than startTime,"
            " the date of the oldest of these commits, or younger than endTime, that of the last"
            " publication."
        ),
        **crate.dates(commits, files),
        object=consumed,
        result=[_reference(path) for path in files],
        about=article,
    )
    return files


def _report(crate: Crate, name: str, plan: Path, records: Sequence[Path], article: Entity) -> None:
    """Take in the report of a paper and what made it, of its records those that were there."""
    folder = crate.root / REPORTS / name
    paths = sorted(path.relative_to(crate.root) for path in folder.rglob("*") if path.is_file())
    files = [crate.file(path, f"of the report on {name}") for path in paths]
    if not files:
        return
    drawn = max(crate.touched[path][1] for path in files)
    there = [path for path in records if crate.touched[path][0] <= drawn]
    crate.action(
        f"report-{name}",
        title=f"Report on {name}",
        description=(
            f"`python -m workflow.reference {name}`. It may rest on more records than are"
            " published; its runs.json, where it has one, lists those that it rests on."
        ),
        **crate.dates([], files),
        object=[_reference(path) for path in (plan, *there)],
        result=[_reference(path) for path in files],
        about=article,
    )


def _reference(path: Path) -> Entity:
    return {"@id": identifier(path)}


def _listed(values: Iterable[str]) -> str:
    return "; ".join(sorted(set(values)))


def _date(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def write(crate: Crate, folder: Path) -> list[Path]:
    """Put copies of all files, and the metadata, in the place of a folder; returns their paths."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in crate.files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(crate.root / path, folder / path)
    (folder / METADATA).write_text(crate.text(), encoding="utf-8")
    return [*(folder / path for path in crate.files), folder / METADATA]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.crate",
        description="Write the published records and reports as an RO-Crate, for a deposit.",
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="of the checkout")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="default: build/crate of the checkout"
    )
    options = parser.parse_args(arguments)
    folder = options.output or options.root / "build" / "crate"
    if folder.exists() and not (folder / METADATA).exists() and any(folder.iterdir()):
        print(
            f"error: {folder}: expected a crate or an empty folder, found others", file=sys.stderr
        )
        return 1
    try:
        paths = write(made(options.root), folder)
    except (NoHistory, PlanError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"wrote {folder}: {len(paths)} files", file=sys.stderr)
    return 0
