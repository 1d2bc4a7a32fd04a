"""What a report folder holds of one paper, ready for its pages."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from PIL import Image

from workflow.draw import shrink
from workflow.judge import ledger, outcomes, render, settings
from workflow.judge.checks import AGAINST, FOR, Comparison
from workflow.judge.claims import command
from workflow.judge.history import UNENTERED, Fixed
from workflow.plan import reader
from workflow.plan.exhibits import Exhibit, lines_of
from workflow.plan.expand import load
from workflow.plan.paper import Paper
from workflow.site.markdown import mathematics
from workflow.site.markdown import render as rendered
from workflow.trace.cells import PlanError

Entry = Mapping[str, Any]
CLAIMS = "claims"  # of a paper's pages; a claim's address is PAPER/claims/ID.html for good


@dataclass(frozen=True)
class Claim:
    """A claim with its verdict, as verdicts.json has it."""

    entry: Entry

    @property
    def id(self) -> str:
        return str(self.entry["id"])

    @property
    def verdict(self) -> str:
        return str(self.entry["verdict"])

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All comparisons, the weakest first."""
        found = [ledger.comparison(entry) for entry in self.entry["comparisons"]]
        return sorted(found, key=lambda one: one.weakness)

    @property
    def group(self) -> str:
        """The group that it is counted in, if it is counted apart; "" for the others."""
        return outcomes.group(self.entry["qualifiers"])

    @property
    def found(self) -> str:
        """What its comparisons came to, in a sentence."""
        found = self.comparisons
        if self.entry["reasons"]:
            return f"Not decided: {'; '.join(self.entry['reasons'])}."
        if not found:
            return "Nothing was compared."
        counted = [one for one in found if not one.apart]
        if not counted:
            return "All comparisons are counted apart."
        sides = [one.decides for one in counted]
        parts = [
            f"On the claimed side in {sum(one.holds for one in counted)} of {len(counted)}"
            f" comparison{'s' * (len(counted) > 1)}, significantly in {sides.count(FOR)}"
        ]
        if against := sides.count(AGAINST):
            parts.append(f"significantly on the other side in {against}")
        if apart := len(found) - len(counted):
            parts.append(f"counted apart are {apart}")
        return f"{', '.join(parts)}; the weakest is {found[0].what}."

    @property
    def fixed(self) -> str:
        """When its check and the defaults were fixed, in words; "" where nobody entered it."""
        said = self.entry["fixed"]
        return str(Fixed(**said)) if said and said["check"] != UNENTERED else ""

    @property
    def outcome(self) -> str:
        """That of a line of the appendix."""
        told = self.entry
        return render.outcome_of(told["verdict"], told["reasons"], told["observed"])

    @property
    def why_apart(self) -> str:
        """Why it stands in the appendix."""
        told = self.entry
        return outcomes.why_apart(told["kind"], told["qualifiers"], told["observed"])


@dataclass(frozen=True)
class Shown:
    """A figure, picture or table: its file, its words, the claims that it decides, and the CPU
    seconds of its runs.
    """

    id: str
    kind: str
    title: str
    where: str
    note: str
    claims: Sequence[Claim]
    seconds: float
    image: str = ""
    size: tuple[int, int] = (0, 0)  # of the image, in pixels
    moving: str = ""
    interactive: str = ""
    table: Markup | None = None

    @property
    def picture(self) -> str:
        """What the image is called in the site."""
        return shrink.named(self.image)

    @property
    def alt(self) -> str:
        """What the picture shows, for those who cannot see it."""
        heading = f"{self.title} ({self.where})" if self.where else self.title
        return f"{heading}: {self.note}" if self.note else heading


@dataclass(frozen=True)
class Report:
    """One paper: what its YAML registers, its verdicts, and the files of its folder."""

    name: str
    folder: Path
    entry: Entry
    verdicts: Entry
    records: pd.DataFrame  # `judge.record_table.frame`

    @property
    def label(self) -> str:
        """What people call the paper."""
        return str(self.entry["paper"].get("label", self.name))

    @property
    def scale(self) -> str:
        return str(self.verdicts["scale"])

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims, those first that the paper is known for."""
        marked = {str(one["id"]) for one in self.entry.get("claims", []) if one.get("headline")}
        found = [Claim(entry) for entry in self.verdicts["claims"]]
        return sorted(found, key=lambda claim: claim.id not in marked)

    @cached_property
    def appendix(self) -> list[Claim]:
        """What is judged and is no claim of the paper."""
        return [Claim(entry) for entry in self.verdicts["appendix"]]

    @property
    def judged(self) -> list[Claim]:
        """All that has a page of its own: the claims, then the appendix."""
        return [*self.claims, *self.appendix]

    @cached_property
    def shown(self) -> list[Shown]:
        """Everything that the folder has of the figures, pictures and tables in the YAML, in its
        order.
        """
        plan, lines = load(self.name, self.scale), lines_of(self.entry)
        return [self._shown(plan, kind, line) for kind, line in lines if self._has(kind, line)]

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """All comparisons under all settings: `judge.settings.frame`."""
        return pd.read_parquet(self.folder / "verdicts.parquet")

    @cached_property
    def by_setting(self) -> dict[str, list[dict[Hashable, Any]]]:
        """What each claim comes to under every setting, the paper as printed first."""
        table = settings.by_setting(self.comparisons)
        return {
            str(claim): rows.to_dict("records")
            for claim, rows in table.groupby("claim", sort=False)
        }

    @cached_property
    def sentences(self) -> dict[str, str]:
        """What each claim comes to as printed and under other settings, in one sentence."""
        return settings.sentences(self.comparisons)

    def robust(self, claim: Claim) -> str:
        """Whether other settings say of a claim what the paper as printed says: yes, no, or a dash
        where no other setting decides it or it is not decided itself.
        """
        rows = self.comparisons[self.comparisons["claim"] == claim.id]
        same, tested, _ = settings.firm(rows, [claim.id])
        return ("yes" if same else "no") if tested else "-"

    @cached_property
    def seeds_of_claims(self) -> pd.DataFrame:
        """The numbers behind the verdicts, a row a seed: `judge.seed_table.frame`."""
        return pd.read_parquet(self.folder / "seeds.parquet")

    def seconds(self, commands: Iterable[str]) -> float:
        """CPU seconds of all records of the runs that some commands make, whatever their seeds."""
        is_theirs = self.records["rerun"].map(_run).isin({_run(line) for line in commands})
        return float(self.records[is_theirs]["cpu_seconds"].sum())

    @property
    def undrawn(self) -> list[Entry]:
        """The figures, pictures and tables of the YAML that the folder lacks."""
        return [line for kind, line in lines_of(self.entry) if not self._has(kind, line)]

    def _has(self, kind: Exhibit, line: Entry) -> bool:
        """Whether the folder has the first of the files by which the site shows it."""
        return (self.folder / f"{line['id']}.{kind.shown[0]}").exists()

    def _shown(self, plan: Paper, kind: Exhibit, line: Entry) -> Shown:
        name = str(line["id"])
        told = {one["id"] for one in self.entry.get("claims", []) if one.get("figure") == name}
        files = {
            ending: f"{name}.{ending}"
            for ending in kind.shown
            if (self.folder / f"{name}.{ending}").exists()
        }
        image = files.get("png", "")
        title = mathematics(line.get("title", name.replace("-", " ")))
        sheet = (self.folder / files["md"]).read_text("utf-8") if "md" in files else ""
        return Shown(
            id=name,
            kind=kind.section,
            title=title,
            where=line.get("where", ""),
            note=mathematics(line.get("note", "")),
            claims=[claim for claim in self.claims if claim.id in told],
            seconds=self.seconds(map(command, kind.runs(plan, name))),
            image=image,
            size=_size(self.folder / image) if image else (0, 0),
            moving=files.get("gif", ""),
            interactive=files.get("json", ""),
            table=rendered(sheet.partition("\n")[2], title=title).body if sheet else None,
        )


def _run(line: str) -> str:
    """The paper, problem and curve of a command."""
    return " ".join(line.partition("workflow.run ")[2].split()[:3])


def effect(one: Comparison) -> str:
    """An effect with its interval; why there is none."""
    if math.isnan(one.effect):  # JSON has no infinity, either
        return one.missing or "no finite number"
    return one.missing or render.effect(one.kind, one.effect, one.low, one.high)


def reports(root: Path, papers: Sequence[str] = ()) -> list[Report]:
    """The papers, some or all, that have verdicts below a folder.

    Raises PlanError where one that is asked for has none.
    """
    found = [
        path.parent
        for path in sorted(root.glob("*/verdicts.json"))
        if not papers or path.parent.name in papers
    ]
    lacking = sorted(set(papers) - {folder.name for folder in found})
    if not found or lacking:
        raise PlanError(
            f"expected {root}/<paper>/verdicts.json{' of ' if lacking else ''}{', '.join(lacking)},"
            " found none: run make figures first, or name another folder"
        )
    return [_report(folder) for folder in found]


def _report(folder: Path) -> Report:
    verdicts = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))
    table = pd.read_parquet(folder / "runs.parquet")
    return Report(folder.name, folder, reader.read(folder.name), verdicts, table)


def _size(picture: Path) -> tuple[int, int]:
    """Width and height."""
    with Image.open(picture) as shown:
        return shown.size
