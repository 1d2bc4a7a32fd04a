"""What a report folder holds of one paper, ready for its pages."""

from __future__ import annotations

import json
import struct
import textwrap
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from workflow.judge import ledger, outcomes, render, settings
from workflow.judge.fixed import Fixed
from workflow.judge.outcomes import GROUPS, HOLDS, NOT_RUN, ORDER, UNDECIDED
from workflow.plan import reader
from workflow.plan.exhibits import (
    IMAGE,
    INTERACTIVE,
    MOVING,
    SHEET,
    Exhibit,
    lines_of,
)
from workflow.site import shrink, text
from workflow.site.text import Sheet
from workflow.trace.cells import PlanError
from workflow.trace.record import TIMEOUT

Entry = Mapping[str, Any]
WIDE = 1.6
BRIEF = 64  # letters of the reasons of a claim that is not decided, beside others


@dataclass(frozen=True)
class Effect:
    """One comparison of a claim in words: what was compared, the effect with its interval, the
    smallest one that could have been seen, p-values for the claim and against it, seeds.
    """

    what: str
    effect: str
    seen: str
    holds: bool
    p: str
    p_flip: str
    p_against: str
    p_flip_against: str
    seeds: int


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
    def effects(self) -> list[Effect]:
        """All comparisons, the weakest first."""
        found = [ledger.comparison(entry) for entry in self.entry["comparisons"]]
        return [
            Effect(
                one.what,
                "not run"
                if one.missing
                else render.effect(one.kind, one.effect, one.low, one.high),
                render.seen(one),
                one.holds,
                render.number(one.p),
                render.number(one.p_flip),
                render.number(one.p_against),
                render.number(one.p_flip_against),
                one.n,
            )
            for one in sorted(found, key=lambda one: one.weakness)
        ]

    @property
    def nearest(self) -> Entry | None:
        """What it comes to in the nearest setting; None where that is the default one."""
        found: Entry | None = self.entry.get("nearest")
        return found

    @property
    def q(self) -> str:
        """p adjusted over the claims that are counted with it; "" where there is none."""
        q = self.entry["q"]
        return "" if q is None else render.number(q)

    @property
    def is_refuted(self) -> bool:
        """Whether it is contradicted, so that p and q are those against it."""
        return self.verdict == outcomes.CONTRADICTED

    @property
    def groups(self) -> list[str]:
        """The group that it is counted in, if it is counted apart."""
        name = outcomes.group(self.qualifiers)
        return [name] if name else []

    @property
    def why(self) -> str:
        """Why it is not decided, in short; "" where it is."""
        return textwrap.shorten("; ".join(self.entry["reasons"]), BRIEF, placeholder=" ...")

    @property
    def fixed(self) -> str:
        """When its check and the defaults were fixed, in words; "" where nobody asked."""
        said = self.entry["fixed"]
        return str(Fixed(**said)) if said else ""

    @property
    def qualifiers(self) -> Sequence[str]:
        """What its outcome is worth."""
        return list(self.entry["qualifiers"])

    @property
    def outcome(self) -> str:
        """That of a line of the appendix."""
        told = self.entry
        return render.outcome_of(told["verdict"], told["reasons"], told["observed"])

    @property
    def why_apart(self) -> str:
        """Why it stands in the appendix."""
        return outcomes.why_apart(self.entry["kind"], self.qualifiers, self.entry["observed"])


@dataclass(frozen=True)
class Shown:
    """A figure, picture or table: its file, its words, and the claims that it decides."""

    id: str
    kind: str
    title: str
    where: str
    note: str
    claims: Sequence[Claim]
    image: str = ""
    size: tuple[int, int] = (0, 0)  # of the image, in pixels
    moving: str = ""
    interactive: str = ""
    sheet: Sheet | None = None

    @property
    def picture(self) -> str:
        """What the image is called in the site."""
        return shrink.named(self.image)

    @property
    def is_wide(self) -> bool:
        """Whether there is no room for words beside it: a table, or an image wider than 1.6 times
        its height.
        """
        return not self.image or self.size[0] > WIDE * self.size[1]

    @property
    def alt(self) -> str:
        """What the picture shows, for those who cannot see it."""
        heading = f"{self.title} ({self.where})" if self.where else self.title
        panels = f": {self.note}" if self.note else ""
        return f"{heading}{panels}"


@dataclass(frozen=True)
class Report:
    """One paper: what its YAML registers, its verdicts, and the files of its folder."""

    name: str
    folder: Path
    entry: Entry
    verdicts: Entry
    record_table: pd.DataFrame  # `judge.record_table.frame`

    @property
    def head(self) -> Entry:
        return self.entry["paper"]

    @property
    def label(self) -> str:
        """What people call the paper."""
        return str(self.head.get("label", self.name))

    @property
    def is_comparison(self) -> bool:
        """Whether it is no paper: its YAML borrows problems and runs of papers, to compare them."""
        return "borrows" in self.entry

    @property
    def scale(self) -> str:
        return str(self.verdicts["scale"])

    @cached_property
    def claims(self) -> list[Claim]:
        return [Claim(entry) for entry in self.verdicts["claims"]]

    @cached_property
    def appendix(self) -> list[Claim]:
        """What is judged and is no claim of the paper."""
        return [Claim(entry) for entry in self.verdicts["appendix"]]

    @property
    def judged(self) -> list[Claim]:
        """All that has a page of its own: the claims, then the appendix."""
        return [*self.claims, *self.appendix]

    @cached_property
    def headlines(self) -> list[Claim]:
        """The claims that the paper is known for, as far as the report has them; the first claim of
        a paper that marks none.
        """
        marked = self._marked
        return [claim for claim in self.claims if claim.id in marked] if marked else self.claims[:1]

    @property
    def is_marked(self) -> bool:
        """Whether the YAML says which claims the paper is known for."""
        return bool(self._marked)

    @property
    def _marked(self) -> set[str]:
        return {str(claim["id"]) for claim in self.entry.get("claims", []) if claim.get("headline")}

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many claims without a qualifier have each verdict, in the order of the ledger."""
        tally = outcomes.tally(self.verdicts["claims"])
        return {verdict: tally[""][verdict] for verdict in ORDER}

    @cached_property
    def apart(self) -> dict[str, str]:
        """The claims that are counted apart, in words, by their qualifier."""
        tally = outcomes.tally(self.verdicts["claims"])
        return {name: outcomes.counted(tally[name]) for name in GROUPS}

    @cached_property
    def shown(self) -> list[Shown]:
        """Everything that the folder has of the figures, pictures and tables in the YAML, in its
        order.
        """
        return [
            self._shown(kind, line) for kind, line in lines_of(self.entry) if self._has(kind, line)
        ]

    @cached_property
    def claims_alone(self) -> list[Claim]:
        """The claims that no figure, picture or table of the folder decides."""
        placed = {claim.id for each in self.shown for claim in each.claims}
        return [claim for claim in self.claims if claim.id not in placed]

    @property
    def settings_map(self) -> tuple[int, int] | None:
        """The size of the picture of claims under all settings, if the report has one."""
        picture = self.folder / "claims-by-settings.png"
        return _size(picture) if picture.exists() else None

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """All comparisons under all settings: `judge.settings.frame`."""
        return pd.read_parquet(self.folder / "verdicts.parquet")

    @cached_property
    def by_setting(self) -> dict[str, list[dict[Hashable, Any]]]:
        """What each claim comes to under every setting, the paper as printed first."""
        table = settings.by_setting(self.comparisons)
        return {
            str(claim): rows.assign(mark=rows.apply(settings.mark, axis=1)).to_dict("records")
            for claim, rows in table.groupby("claim", sort=False)
        }

    @cached_property
    def sentences(self) -> dict[str, str]:
        """What each claim comes to as printed and under other settings, in one sentence."""
        return settings.sentences(self.comparisons)

    @property
    def _plain(self) -> list[Claim]:
        return [claim for claim in self.claims if not claim.groups]

    @property
    def held(self) -> dict[str, tuple[int, int, int]]:
        """How many of the plain claims hold, how many are decided, and how many are not, in each
        way that says something of one.
        """
        found = {}
        for way, count in settings.counts(one.entry["ways"] for one in self._plain).items():
            unknown = count[UNDECIDED] + count[NOT_RUN]
            found[way] = sum(count[kind] for kind in HOLDS), count.total() - unknown, unknown
        return found

    @property
    def firm(self) -> tuple[int, int, int]:
        """Of the plain claims that are decided: how many no other setting turns, how many another
        setting decides, and how many none does.
        """
        return settings.firm(self.comparisons, [claim.id for claim in self._plain])

    @cached_property
    def seeds_of_claims(self) -> pd.DataFrame:
        """The numbers behind the verdicts, a row a seed: `judge.seed_table.frame`."""
        return pd.read_parquet(self.folder / "seeds.parquet")

    @property
    def fits(self) -> list[Entry]:
        """The published numbers beside ours as printed, a line a method and panel, as far as it was
        run.
        """
        found = self.verdicts["published"].values()
        return [fit for one in found for fit in one["fits"][""] if fit["at"]]

    @property
    def undrawn(self) -> list[Entry]:
        """The figures, pictures and tables of the YAML that the folder lacks."""
        return [line for kind, line in lines_of(self.entry) if not self._has(kind, line)]

    @property
    def cpu_seconds(self) -> float:
        return float(sum(run["cpu_seconds"] for run in self.runs))

    @property
    def seeds(self) -> list[int]:
        """The smallest and the largest number of seeds that a run has."""
        numbers = [len(run["trace_sha256"]) for run in self.runs]
        return [min(numbers), max(numbers)] if numbers else []

    @property
    def records(self) -> int:
        return sum(len(run["trace_sha256"]) for run in self.runs)

    @property
    def data(self) -> list[str]:
        """What the runs were made of: `real`, substitutes by name; `none` where a problem needs no
        data.
        """
        said = self.record_table["data"].unique()
        return sorted({part for status in said for part in status.split("; ") if part})

    @property
    def data_in_words(self) -> str:
        """The same for people."""
        read = [said for said in self.data if said != "none"]
        return "; ".join(read) if read else "none needed: every problem is computed"

    @cached_property
    def runs(self) -> list[Entry]:
        """What the records of each run say, cells before studies."""
        groups = self.record_table.groupby(["problem", "curve"], sort=False)
        return [_run(rows) for _, rows in groups]

    @property
    def problems(self) -> list[str]:
        """The names of the run-sets: all runs on one problem, under one reading of it."""
        return list(dict.fromkeys(run["problem"] for run in self.runs))

    def on(self, problem: str) -> list[Entry]:
        return [run for run in self.runs if run["problem"] == problem]

    def is_same_run(self, run: Entry) -> bool:
        """Whether a run under a reading has the traces of the default run, diagnostics included, in
        all seeds that both have.
        """
        head, plus, variant = str(run["curve"]).partition("+")
        usual = str(run["problem"]).split("@")[0], head.split("@")[0] + plus + variant
        if usual == (run["problem"], run["curve"]):
            return False
        mine = set(run["trace_sha256"].items())
        for other in self.runs:
            if (other["problem"], other["curve"]) == usual:
                common = run["trace_sha256"].keys() & other["trace_sha256"].keys()
                both = mine & set(other["trace_sha256"].items())
                return bool(common) and len(both) == len(common)
        return False

    def _has(self, kind: Exhibit, line: Entry) -> bool:
        """Whether the folder has the first of the files by which the site shows it."""
        return (self.folder / f"{line['id']}.{next(iter(kind.shown.values()))}").exists()

    def _shown(self, kind: Exhibit, line: Entry) -> Shown:
        name = str(line["id"])
        told = {
            claim["id"] for claim in self.entry.get("claims", []) if claim.get("figure") == name
        }
        claims = [claim for claim in self.claims if claim.id in told]
        files = {
            role: f"{name}.{ending}"
            for role, ending in kind.shown.items()
            if (self.folder / f"{name}.{ending}").exists()
        }
        image = files.get(IMAGE, "")
        there = (self.folder / files[SHEET]).read_text(encoding="utf-8") if SHEET in files else None
        sheet = None if there is None else text.sheet(there)
        title = text.mathematics(line.get("title", name.replace("-", " ")))
        return Shown(
            id=name,
            kind=kind.section,
            title=title,
            where=line.get("where", ""),
            note=text.mathematics(line.get("note", "")),
            claims=claims,
            image=image,
            size=_size(self.folder / image) if image else (0, 0),
            moving=files.get(MOVING, ""),
            interactive=files.get(INTERACTIVE, ""),
            sheet=sheet,
        )


def _run(rows: pd.DataFrame) -> Entry:
    """The records of a run, those that timed out apart."""
    ended = rows["status"] == TIMEOUT
    kept, first = rows[~ended], rows.iloc[0]
    return {
        **{name: first[name] for name in ("problem", "curve", "algorithm", "budget", "digest")},
        **{name: first[name] for name in ("data", "rerun")},
        "names": first["names"].split(", "),
        "trace_sha256": dict(zip(kept["seed"].astype(str), kept["trace_sha256"], strict=True)),
        "timeouts": rows.loc[ended, "seed"].tolist(),
        "cpu_seconds": float(kept["cpu_seconds"].sum()),
        "peak_mib": int(kept["peak_mib"].max()) if len(kept) else 0,
        "commits": sorted(rows["commit"].unique()),
        "machines": sorted(rows["machine"].unique()),
        "code_paths": sorted(rows["code_path"].unique()),
        "libraries": sorted({one for made in rows["libraries"] for one in made.split(", ")}),
    }


def _size(picture: Path) -> tuple[int, int]:
    """Width and height of a PNG: its first chunk says both."""
    with picture.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    return width, height


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
