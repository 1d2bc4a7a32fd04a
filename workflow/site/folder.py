"""What a report folder holds of one paper, ready for its pages."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from PIL import Image

from workflow.draw import shrink
from workflow.judge import settings
from workflow.judge.claims import AS_PRINTED, command
from workflow.judge.closeness import TITLE
from workflow.judge.outcomes import LATE
from workflow.judge.seed_table import SAMPLES
from workflow.plan import reader
from workflow.plan.exhibits import Exhibit, lines_of
from workflow.plan.expand import load
from workflow.plan.lines import ExhibitLine
from workflow.plan.paper import Paper
from workflow.plan.reads import written
from workflow.site.claim_pages import Claim, Entry
from workflow.site.markdown import mathematics
from workflow.site.markdown import render as rendered
from workflow.trace.curves import PUBLISHED, PlanError, parse_seeds

CLAIMS = "claims"  # of a paper's pages; a claim's address is PAPER/claims/ID.html for good


@dataclass(frozen=True)
class Shown:
    """A figure, picture or table: its words, the claims that it decides, the CPU seconds of its
    runs (0 where some are not in this report), and its files by their endings.
    """

    id: str
    kind: str
    title: str
    where: str
    note: str
    claims: Sequence[Claim]
    seconds: float
    files: Mapping[str, Path]

    @property
    def picture(self) -> str:
        """What its image is called in the site."""
        return shrink.named(self.files["png"].name)

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of its image, in pixels."""
        with Image.open(self.files["png"]) as shown:
            return shown.size

    @property
    def table(self) -> Markup:
        """Its rows, below the title."""
        _, _, sheet = self.files["md"].read_text("utf-8").partition("\n")
        return rendered(sheet, title=self.title).body

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
        return sorted(self._claims("claims"), key=lambda claim: not claim.line.get("headline"))

    @property
    def late(self) -> int:
        """How many claims have a check that was fixed after its first records."""
        return sum(LATE in claim.entry["qualifiers"] for claim in self.claims)

    @cached_property
    def appendix(self) -> list[Claim]:
        """What is judged and is no claim of the paper."""
        return self._claims("appendix")

    def _claims(self, section: str) -> list[Claim]:
        lines = {line["id"]: line for line in written(self.entry)}
        return [Claim(entry, lines.get(entry["id"], {})) for entry in self.verdicts[section]]

    @property
    def judged(self) -> list[Claim]:
        """All that has a page of its own: the claims, then the appendix."""
        return [*self.claims, *self.appendix]

    @cached_property
    def shown(self) -> list[Shown]:
        """Everything that the folder has of the figures, pictures and tables in the YAML, in its
        order.
        """
        plan = load(self.name, self.scale)
        return [
            self._shown(plan, kind, line, files)
            for kind, line in lines_of(self.entry)
            if (files := self._files(kind, line))
        ]

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """All comparisons under all settings: `judge.settings.frame`."""
        return pd.read_parquet(self.folder / "verdicts.parquet")

    @cached_property
    def sentences(self) -> dict[str, str]:
        """What each claim comes to as printed and under other settings, in one sentence."""
        return settings.sentences(self.comparisons)

    def by_setting(self, claim: Claim) -> list[dict[Hashable, Any]]:
        """What a claim comes to under every setting, the paper as printed first."""
        rows = self.comparisons[self.comparisons["claim"] == claim.id]
        return settings.by_setting(rows).to_dict("records")

    def robust(self, claim: Claim) -> str:
        """Whether other settings say of a claim what the paper as printed says: yes, no, or a dash
        where no other setting decides it or it is not decided itself.
        """
        rows = self.comparisons[self.comparisons["claim"] == claim.id]
        return {True: "yes", False: "no", None: "-"}[settings.is_robust(rows, claim.id)]

    def printed(self, claim: Claim) -> list[Entry]:
        """The runs that a claim reads beside published numbers: each a `closeness.Fit`."""
        check = claim.line.get("check", {})
        sides = [check.get(side) for side in ("left", "right", "curves")]
        curves = {name for side in sides if isinstance(side, list) for name in side}
        problems = check.get("problems", self.entry["problems"])
        return [
            fit
            for one in self.verdicts["published"].values()
            for fit in one["fits"][""]
            if fit["at"]
            and fit["metric"] == check.get("metric", fit["metric"])
            and fit["method"] in curves
            and fit["problem"] in problems
        ]

    @cached_property
    def seeds(self) -> pd.DataFrame:
        """The numbers behind the verdicts, a row a seed: `judge.seed_table.frame`."""
        return pd.read_parquet(self.folder / "seeds.parquet")

    def sample(self, claim: Claim) -> pd.DataFrame:
        """The numbers of the seeds of a claim's weakest comparison as printed: columns comparison,
        seed and those of SAMPLES that the check reads.
        """
        table = self.seeds
        rows = table[(table["claim"] == claim.id) & (table["setting"] == AS_PRINTED)]
        rows = rows[rows["comparison"] == rows["comparison"].iloc[0]] if len(rows) else rows
        return rows[["comparison", "seed", *SAMPLES]].dropna(axis=1, how="all")

    def runs(self, root: Path) -> list[dict[str, Any]]:
        """A line for each problem, the studies the last, each with its `curves`; `published` says
        whether the repository has the evaluations.
        """
        lines = []
        for problem, table in self.records.groupby("problem", sort=False):
            place = root / PUBLISHED / self.scale / self.name / str(problem)
            curves = [
                {**_cost(curve, rows), "published": (place / f"{curve}.parquet").exists()}
                for curve, rows in table.groupby("curve", sort=False)
            ]
            lines.append({**_cost(problem, table), "published": place.exists(), "curves": curves})
        return lines

    def made_by(self, commands: Iterable[str]) -> tuple[pd.DataFrame, bool]:
        """The records of the runs that some commands make, cheapest first, and whether they are all
        here: other papers' are not.
        """
        parts = [_parts(line) for line in commands]
        asked = {(run, seed) for run, seeds in parts for seed in parse_seeds(seeds)}
        runs = (_parts(line)[0] for line in self.records["rerun"])
        is_theirs = [one in asked for one in zip(runs, self.records["seed"], strict=True)]
        made = self.records.loc[is_theirs].sort_values("cpu_seconds", kind="stable")
        return made, len(made) == len(asked)

    @property
    def scores(self) -> Markup:
        """How near every reading comes to published numbers, as verdicts.md has it."""
        text = (self.folder / "verdicts.md").read_text("utf-8")
        return rendered(text.partition(f"\n## {TITLE}\n")[2].partition("\n## ")[0]).body

    @property
    def undrawn(self) -> list[ExhibitLine]:
        """The figures, pictures and tables of the YAML that the folder lacks."""
        return [line for kind, line in lines_of(self.entry) if not self._files(kind, line)]

    def _files(self, kind: Exhibit, line: ExhibitLine) -> dict[str, Path]:
        """What the folder has of an exhibit, by ending; {} where it lacks the first."""
        every = {ending: self.folder / f"{line.id}.{ending}" for ending in kind.shown}
        there = {ending: path for ending, path in every.items() if path.exists()}
        return there if kind.shown[0] in there else {}

    def _shown(
        self, plan: Paper, kind: Exhibit, line: ExhibitLine, files: Mapping[str, Path]
    ) -> Shown:
        made, is_whole = self.made_by(map(command, kind.runs(plan, line.id)))
        return Shown(
            id=line.id,
            kind=kind.section,
            title=mathematics(line.title or line.id.replace("-", " ")),
            where=line.where,
            note=mathematics(line.note),
            claims=[claim for claim in self.claims if claim.line.get("figure") == line.id],
            seconds=made["cpu_seconds"].sum() * is_whole,
            files=files,
        )


def _parts(line: str) -> tuple[str, str]:
    """The paper, problem and curve of a command, and its seeds."""
    paper, problem, curve, seeds = line.partition("workflow.run ")[2].split()[:4]
    return f"{paper} {problem} {curve}", seeds


def _cost(name: Hashable, table: pd.DataFrame) -> dict[str, Any]:
    """What some records are and what they took, in one line."""
    seeds = table.groupby("curve").size()
    return {
        "name": name,
        "seeds": " to ".join(dict.fromkeys([str(seeds.min()), str(seeds.max())])),
        "records": len(table),
        "seconds": float(table["cpu_seconds"].sum()),
        "peak_mib": int(table["peak_mib"].max()),
        "data": "; ".join(sorted(set(table["data"]))),
    }


def reports(root: Path, papers: Sequence[str] = ()) -> list[Report]:
    """The papers, some or all, that have verdicts below a folder.

    Raises PlanError where one that is asked for has none.
    """
    verdicts = {path.parent.name: path for path in sorted(root.glob("*/verdicts.json"))}
    lacking = sorted(set(papers) - verdicts.keys())
    if not verdicts or lacking:
        raise PlanError(
            f"expected {root}/<paper>/verdicts.json{' of ' if lacking else ''}{', '.join(lacking)},"
            " found none: run make reference first, or name another folder with --from"
        )
    return [
        Report(
            name,
            path.parent,
            reader.read(name),
            json.loads(path.read_text(encoding="utf-8")),
            pd.read_parquet(path.with_name("runs.parquet")),
        )
        for name, path in verdicts.items()
        if name in papers or not papers
    ]
