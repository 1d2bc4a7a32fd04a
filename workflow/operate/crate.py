"""Write what a deposit of the published records and reports needs: `python -m workflow.crate
[-o build/crate]`, called by `make crate`.

The folder is an RO-Crate that conforms to the profile Process Run Crate 0.5: copies of the records,
the reports and what they were made from, and `ro-crate-metadata.json`, which says of each file what
it is, of each paper what made its records and its report, and under which licences. The same commit
gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

import yaml
from rocrate.model.contextentity import ContextEntity
from rocrate.model.entity import Entity
from rocrate.rocrate import ROCrate

from workflow.data.manifest import read_manifest
from workflow.plan import reader
from workflow.plan.citations import BIBLIOGRAPHY, Cited, cited
from workflow.plan.resolve import ROOT, lasting, papers
from workflow.trace import curve_file
from workflow.trace.curves import PUBLISHED, PlanError
from workflow.trace.record import BadRecord

METADATA = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
LICENCE = "https://spdx.org/licenses/MIT"
REPORTS = Path("figures", "reference")
FORMATS = {
    ".bib": "application/x-bibtex",
    ".cff": "application/yaml",
    ".csv": "text/csv",
    ".gif": "image/gif",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".yaml": "application/yaml",
}
ALSO = {  # files of the crate beside papers, records and reports
    Path("CITATION.cff"): "how to cite the software",
    Path("LICENSE"): "the licence of all files here",
    Path("codemeta.json"): "the software, described for machines",
    Path("data", "manifest.yaml"): "the data sets that runs were made on: origin, hash, licence",
    Path("docs", "data.md"): "what the records are, column by column",
    BIBLIOGRAPHY: "what the papers and this project cite",
}


class NotCommitted(ValueError):
    """What would be deposited is not what a commit holds."""


class Deposit:
    """A crate of a checkout while it grows."""

    def __init__(self, root: Path) -> None:
        self.root, self.crate = root, ROCrate(version="1.1")
        if self._git("status", "--porcelain", "--", REPORTS.as_posix()):
            raise NotCommitted(
                f"{REPORTS}: expected committed files, found changes: commit them first"
            )
        citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        (author,) = citation["authors"]
        self.makers = self.other("#developers", "Organization", name=author["name"])
        self.licence = self.other(LICENCE, "CreativeWork", name="MIT License", identifier="MIT")
        self.software = self.other(
            "#noregret",
            "SoftwareApplication",
            name=project["name"],
            description=project["description"],
            softwareVersion=project["version"],
            license=self.licence,
            author=self.makers,
        )
        described = {
            "name": f"Records and reports of {citation['title']}",
            "description": "The records of the runs behind the reports, as tables, and the reports:"
            " figures, tables and verdicts on the claims of each paper. docs/data.md says what the"
            " columns are.",
            "datePublished": str(citation["date-released"]),
            "version": citation["version"],
            "license": self.licence,
            "author": self.makers,
            "publisher": self.makers,
            "conformsTo": self.other(
                PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"
            ),
        }
        for name, value in described.items():
            self.crate.root_dataset[name] = value

    def file(self, path: Path, description: str) -> Entity:
        """Take a file in."""
        content = (self.root / path).read_bytes()
        said = {
            "name": path.name,
            "description": description,
            "encodingFormat": FORMATS.get(path.suffix, "text/plain"),
            "contentSize": str(len(content)),
            "sha256": hashlib.sha256(content).hexdigest(),
            "license": self.licence,
        }
        return self.crate.add_file(self.root / path, path.as_posix(), properties=said)

    def other(self, identifier: str, kind: str, /, **said: Any) -> Entity:
        """Take in what is no file."""
        return self.crate.add(
            ContextEntity(self.crate, identifier, properties={"@type": kind, **said})
        )

    def action(
        self,
        identifier: str,
        consumed: Sequence[Entity],
        made: Sequence[Entity],
        folder: Path,
        **said: Any,
    ) -> None:
        """Take in what made some files of a folder from others, until their last commit."""
        ended = self._git("log", "-1", "--format=%cI", "--", folder.as_posix())
        action = self.crate.add_action(
            self.software,
            identifier=f"#{identifier}",
            object=list(consumed),
            result=list(made),
            properties={
                **said,
                "actionStatus": "http://schema.org/CompletedActionStatus",
                "endTime": ended,
            },
        )
        action["agent"] = self.makers
        self.crate.root_dataset.append_to("mentions", action)

    def _git(self, *arguments: str) -> str:
        """What git prints. Raises NotCommitted where there is no history."""
        done = subprocess.run(
            ["git", "-C", str(self.root), *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise NotCommitted(
                f"{self.root}: expected a checkout with its history, git says:"
                f" {done.stderr.strip()}"
            )
        return done.stdout.strip()


def made(root: Path) -> Deposit:
    """The crate of a checkout. Raises NotCommitted, PlanError, BadRecord."""
    deposit = Deposit(root)
    for path, description in ALSO.items():
        deposit.file(path, description)
    sources, cites = read_manifest(root), cited(root, papers(root))
    articles = {name: _article(deposit, name, paper) for name, paper in cites.items()}
    used: dict[str, Entity] = {}
    for name in lasting(root):
        about = {"about": articles[name]} if name in articles else {}  # no comparison is
        plan = deposit.file(Path("papers", f"{name}.yaml"), f"what is run and claimed of {name}")
        problems = reader.read(name, root)["problems"].values()
        data = sorted({line["data"] for line in problems if line.get("data")})
        for key in data:
            used[key] = used.get(key) or deposit.other(
                f"#data-{key}",
                "CreativeWork",
                name=sources[key].title,
                license=sources[key].licence,
                citation=sources[key].citation,
            )
        records = _records(deposit, name, [plan, *(used[key] for key in data)], about)
        _report(deposit, name, [plan, *records], about)
    deposit.crate.root_dataset["citation"] = list(articles.values())
    return deposit


def _article(deposit: Deposit, name: str, paper: Cited) -> Entity:
    return deposit.other(
        f"#paper-{name}",
        "ScholarlyArticle",
        name=paper.title,
        author=[f"{given} {family}" for family, given in paper.authors],
        datePublished=paper.year,
        description=str(paper),
    )


def _records(
    deposit: Deposit, name: str, consumed: Sequence[Entity], about: Mapping[str, Entity]
) -> list[Entity]:
    """Take in the records of a paper or a comparison, and what made them; returns their files."""
    files, provenance = [], []
    folder = PUBLISHED / "paper" / name
    for path in sorted((deposit.root / folder).rglob("*.parquet")):
        inside = path.relative_to(deposit.root)
        headers = curve_file.headers(path)
        provenance += [header["provenance"] for header in headers.values()]
        what = " ".join(inside.relative_to(PUBLISHED).with_suffix("").parts[1:])
        files.append(deposit.file(inside, f"{len(headers)} runs of {what}"))
    commits, machines, pythons = (
        "; ".join(sorted({each[key] for each in provenance}))
        for key in ("commit", "machine", "python")
    )
    if files:
        deposit.action(
            f"runs-{name}",
            consumed,
            files,
            folder,
            name=f"Runs of {name}",
            description=f"{len(provenance)} runs by `snakemake`, published by `make publish`; the"
            " column `rerun` of the report's runs.parquet has the command of each. Made by the"
            f" commits {commits} on {machines}, with Python {pythons}. No record is younger than"
            " endTime, the date of the last publication.",
            **about,
        )
    return files


def _report(
    deposit: Deposit, name: str, consumed: Sequence[Entity], about: Mapping[str, Entity]
) -> None:
    """Take in the report of a paper, or of a comparison, and what made it."""
    folder = REPORTS / name
    paths = sorted(path for path in (deposit.root / folder).rglob("*") if path.is_file())
    files = [
        deposit.file(path.relative_to(deposit.root), f"of the report on {name}") for path in paths
    ]
    if files:
        deposit.action(
            f"report-{name}",
            consumed,
            files,
            folder,
            name=f"Report on {name}",
            description=f"`python -m workflow.reference {name}`",
            **about,
        )


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
        crate = made(options.root).crate
    except (NotCommitted, PlanError, BadRecord) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    rmtree(folder, ignore_errors=True)
    crate.write(folder)
    print(f"wrote {folder}: {len(list(crate.data_entities))} files", file=sys.stderr)
    return 0
