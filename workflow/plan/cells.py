"""What is planned: cells and studies, each with all its seeds, the jobs that make them, and a paper
that has them.

A cell is one algorithm on one problem under one reading and one variant. Everything here is data
about runs, which rules, runner and reports read; workflow/plan.py makes it from a paper's YAML.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from workflow.plan import costs, resolve
from workflow.plan import digest as code
from workflow.plan.costs import Cost
from workflow.plan.nearest import nearest, or_nearest
from workflow.plan.resolve import PlanError, seed_range

DEFAULT = ""  # the reading and the variant of a cell that has none
RUNNER = ("workflow.run.loop", "workflow.trace.seeds", "workflow.run.designs")
UNLIMITED = 1 << 30  # of parallel evaluations
PUBLISHED = Path("figures", "reference", "records")  # the published records of all scales
Seed = tuple[str, int]  # a run by its name, and one of its seeds
Place = tuple[str, str]  # `problem[@reading]` and `algorithm[@reading][+variant]`
Reach = tuple[
    str, str, str
]  # a reading, `problems` or `algorithms`, and one whose parameter it sets


class Seeded(ABC):
    """What has one record for each of its seeds: where they lie, and what a job that makes some of
    them asks for.
    """

    seeds: tuple[int, ...]

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Where the records lie."""

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """Seconds and MiB of one seed."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Of the plan's cell or study."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Of the code that it reaches and its resolved parameters."""

    @property
    @abstractmethod
    def labels(self) -> dict[str, str]:
        """What tells its rows from others' in a table of published records."""

    def record(self, seed: int) -> Path:
        return self.folder / f"{seed}.parquet"

    @property
    def published(self) -> Path:
        """The file of all published records."""
        above = PUBLISHED.joinpath(*self.folder.parent.parts[1:])
        return above / f"{self.folder.name}.parquet"

    @property
    def seconds(self) -> float:
        """All seeds."""
        return len(self.seeds) * self.cost.seconds


@dataclass(frozen=True)
class Job:
    """What one process makes: some seeds of a study or of a cell, or short runs of several studies
    or of cells on one problem.
    """

    parts: tuple[Seeded, ...]
    seeds: tuple[int, ...]

    @property
    def marker(self) -> str:
        """The list of finished records that Snakemake tracks."""
        return str(self.parts[0].folder / f"seeds-{seed_range(self.seeds)}.json")

    @property
    def minutes(self) -> int:
        """A generous time limit, for a cluster."""
        return 10 + round(3 * len(self.seeds) * sum(part.cost.most for part in self.parts) / 60)

    @property
    def memory_mb(self) -> int:
        """A generous memory limit, for a cluster."""
        return 500 + round(1.5 * max(part.cost.mib for part in self.parts))

    @cached_property
    def digest(self) -> str:
        """Of all that it makes."""
        return " ".join(part.digest for part in self.parts)


@dataclass(frozen=True)
class Cell(Seeded):
    """One algorithm x problem x reading x variant, all seeds; everything that decides its trace is
    in here.
    """

    paper: str
    scale: str
    problem: str
    algorithm: str
    seeds: tuple[int, ...]
    budget: int
    problem_entry: Mapping[str, Any] = field(hash=False)
    algorithm_entry: Mapping[str, Any] = field(hash=False)
    problem_reading: str = DEFAULT
    algorithm_reading: str = DEFAULT
    variant: str = DEFAULT

    @property
    def problem_name(self) -> str:
        """`problem[@reading]`: the folder of everything that shares instance and initial design."""
        return problem_name(self.problem, self.problem_reading)

    @property
    def curve(self) -> str:
        """`algorithm[@reading][+variant]`: how figures and claims name this cell on its problem."""
        return curve_name(self.algorithm, self.algorithm_reading, self.variant)

    @property
    def folder(self) -> Path:
        return Path("results", self.scale, self.paper, self.problem_name, self.curve)

    @property
    def initial_folder(self) -> Path:
        return self.folder.parent / "initial"

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.problem_name}/{self.curve}"

    @property
    def labels(self) -> dict[str, str]:
        return {
            "paper": self.paper,
            "problem": self.problem,
            "problem_reading": self.problem_reading,
            "algorithm": self.algorithm,
            "reading": self.algorithm_reading,
            "variant": self.variant,
        }

    @cached_property
    def cost(self) -> Cost:
        """Seconds and MiB of one seed."""
        return costs.estimate(self.paper, self.problem_name, self.curve, self.budget)

    @property
    def room(self) -> int:
        """How many evaluations may run at once: the algorithm's own number of workers, else the
        problem's.
        """
        room = self.algorithm_entry.get("room", self.problem_entry["room"])
        return UNLIMITED if room == "unlimited" else int(room)

    @property
    def is_async(self) -> bool:
        """Whether free workers are given something to do at once, instead of batch by batch."""
        return bool(
            self.algorithm_entry.get("execution", self.problem_entry.get("execution")) == "async"
        )

    @cached_property
    def digest(self) -> str:
        """Of the code that this run reaches and its resolved parameters; a record with another
        digest is stale.
        """
        engine = ["workflow.run.async_loop"] if self.is_async else []
        modules = [
            *self._beginning,
            *engine,
            *(
                f"{package}.{entry['is'].split('.')[0]}"
                for package, entry in (
                    ("problems", self.problem_entry),
                    ("algorithms", self.algorithm_entry),
                )
            ),
        ]
        identity = {
            **resolve.problem_identity(self.problem_entry),
            **resolve.algorithm_identity(self.algorithm_entry),
            "budget": self.budget,
        }
        return code.digest(modules, identity)

    @property
    def _beginning(self) -> tuple[str, ...]:
        """The runner's modules that decide the first rows."""
        return (
            RUNNER
            if self.problem_entry["init"].get("noise", True)
            else (*RUNNER, "workflow.run.exact_design")
        )

    @cached_property
    def initial_digest(self) -> str:
        """Of the problem and its initial design alone, which all algorithms share."""
        modules = [*self._beginning, f"problems.{self.problem_entry['is'].split('.')[0]}"]
        return code.digest(modules, resolve.problem_identity(self.problem_entry))


@dataclass(frozen=True)
class Study(Seeded):
    """A theory check that is no ask/tell run: one function of workflow/studies on one problem, all
    its seeds.
    """

    paper: str
    scale: str
    id: str
    seeds: tuple[int, ...]
    problem: str
    function: str
    problem_entry: Mapping[str, Any] = field(hash=False)
    parameters: Mapping[str, Any] = field(hash=False)
    is_cut: bool = False  # whether its scale may have made it smaller

    @property
    def name(self) -> str:
        return f"{self.paper}/studies/{self.id}"

    @property
    def labels(self) -> dict[str, str]:
        return {"paper": self.paper, "study": self.id}

    @property
    def folder(self) -> Path:
        return Path("results", self.scale, self.paper, "studies", self.id)

    @cached_property
    def cost(self) -> Cost:
        """Seconds and MiB of one seed."""
        return costs.estimate_study(self.paper, self.id, is_cut=self.is_cut)

    @cached_property
    def digest(self) -> str:
        """Of the code that this study reaches and its resolved parameters."""
        modules = [
            *RUNNER,
            f"problems.{self.problem_entry['is'].split('.')[0]}",
            f"workflow.studies.{self.function.split('.')[0]}",
            *(f"algorithms.{target.split('.')[0]}" for target in resolve.targets(self.parameters)),
        ]
        chosen = {"parameters": dict(self.parameters)}
        return code.digest(modules, {**resolve.problem_identity(self.problem_entry), **chosen})


@dataclass(frozen=True)
class Paper:
    """One paper's YAML at one scale: its cells and studies, and what is drawn and claimed from
    them.
    """

    name: str
    scale: str
    entry: Mapping[str, Any] = field(hash=False)
    cells: tuple[Cell, ...]
    aliases: Mapping[Place, Cell] = field(hash=False)
    studies: Mapping[str, Study] = field(hash=False)
    elsewhere: frozenset[Place] = frozenset()  # what only other scales run
    reached: frozenset[Reach] = frozenset()
    lent: frozenset[Seed] = frozenset()  # published: no job makes them
    uncut: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    borrowed: tuple[Cell, ...] = ()  # of other papers, whose plans make them: read here as well

    @property
    def is_full_size(self) -> bool:
        """Whether its runs are as long as the published ones, so that they may decide claims."""
        cut = self.entry.get("scales", {}).get(self.scale, {})
        return self.scale == "paper" or cut.get("size") == "published"

    def judges(self, claim: str) -> bool:
        """Whether this scale plans all runs of a claim: one of published size names those that it
        decides.
        """
        cut = self.entry.get("scales", {}).get(self.scale, {})
        return cut.get("size") != "published" or claim in cut.get("claims", [])

    def planned(self, run: Cell | Study) -> tuple[int, ...]:
        """The seeds of a run as the YAML has them, whatever was cut by hand or by a scale of
        published size (`uncut`): they say how often a claim is looked at.
        """
        return self.uncut.get(run.name, run.seeds)

    def cell(self, problem: str, curve: str) -> Cell:
        """The cell behind `algorithm[@reading][+variant]` on a problem.

        Raises PlanError naming what is known.
        """
        try:
            return self.aliases[problem, curve]
        except KeyError:
            known = sorted(other for where, other in self.aliases if where == problem)
            if not known and (problem, curve) not in self.elsewhere:
                raise PlanError(
                    f"papers/{self.name}.yaml: unknown problem {problem!r} at scale {self.scale}"
                    f"{or_nearest(problem, sorted({where for where, _ in self.aliases}))}"
                ) from None
            others = ", only at others" if (problem, curve) in self.elsewhere else ""
            hint = "" if others else nearest(curve, [*known, "initial"])
            raise PlanError(
                f"papers/{self.name}.yaml: no run makes the curve {curve!r} on {problem!r} at scale"
                f" {self.scale}{others}{hint or ';'} known there: {', '.join(known) or 'nothing'}"
            ) from None

    @property
    def parts(self) -> list[Cell | Study]:
        """All cells and studies."""
        return [*self.cells, *self.studies.values()]

    @cached_property
    def jobs(self) -> Mapping[str, Job]:
        """Every job by its marker."""
        alone: list[tuple[Seeded, tuple[int, ...]]] = []
        groups: dict[tuple[Path, tuple[int, ...]], list[Seeded]] = {}
        for part in self.parts:
            for seeds in self._to_make(part):
                if _is_short(part):
                    groups.setdefault((part.folder.parent, seeds), []).append(part)
                else:
                    alone.append((part, seeds))
        jobs = [
            Job(tuple(bundle), seeds)
            for (_, seeds), group in groups.items()
            for bundle in costs.packed(group, [part.seconds for part in group])
        ]
        is_part = self.is_full_size and self.scale != "paper"
        most = costs.PART_SECONDS if is_part else costs.JOB_SECONDS
        jobs += [
            Job((part,), seeds)
            for part, stretch in alone
            for seeds in costs.chunks(stretch, part.cost.seconds, most)
        ]
        return {job.marker: job for job in jobs}

    def _to_make(self, part: Seeded) -> list[tuple[int, ...]]:
        """The seeds of a run that jobs make: all, or what is not lent, by consecutive ones."""
        left = [seed for seed in part.seeds if (part.name, seed) not in self.lent]
        if len(left) == len(part.seeds):
            return [part.seeds]
        ends = [place for place, seed in enumerate(left) if place and seed != left[place - 1] + 1]
        edges = [0, *ends, len(left)]
        return [tuple(left[low:high]) for low, high in pairwise(edges) if low < high]

    def sources(self, runs: Iterable[Seeded]) -> list[str]:
        """What a report on some runs waits for: the markers of their jobs, and their files of
        published records.
        """
        named = {run.name: run for run in runs}
        lent = {name for name, _ in self.lent}
        files = [str(run.published) for name, run in named.items() if name in lent]
        return [*self.markers(named.values()), *files]

    def markers(self, runs: Iterable[Seeded]) -> list[str]:
        """The markers of the jobs that make some runs."""
        wanted = {
            marker for name in {run.name for run in runs} for marker in self._makers.get(name, [])
        }
        return [marker for marker in self.jobs if marker in wanted]

    @cached_property
    def _makers(self) -> Mapping[str, list[str]]:
        """The markers of the jobs that make some seeds of a run, by its name."""
        found: dict[str, list[str]] = {}
        for marker, job in self.jobs.items():
            for part in job.parts:
                found.setdefault(part.name, []).append(marker)
        return found

    def job(self, marker: str) -> Job:
        """The job that leaves a list of finished records.

        Raises PlanError, which names those that make these seeds, where the plan packs them
        otherwise.
        """
        if marker in self.jobs:
            return self.jobs[marker]
        place = Path(marker)
        folder, (low, high) = place.parent, _seeds_of(place)
        makers = [
            other
            for other, job in self.jobs.items()
            if any(part.folder == folder for part in job.parts)
            and (job.seeds[0] <= high and low <= job.seeds[-1])
        ]
        known = [part.folder for part in self.parts]
        if makers:
            remedy = f"ask for {' '.join(makers)}"
        elif folder in known:
            planned = seed_range(self.parts[known.index(folder)].seeds)
            remedy = f"seeds {planned} are planned there"
        else:
            names = ["/".join(other.parts[3:]) for other in known]
            wrong = "/".join(folder.parts[3:])
            remedy = f"no run has that folder{or_nearest(wrong, names)}"
        raise PlanError(
            f"{marker}: expected the list of a job of the plan of {self.name} at scale"
            f" {self.scale}, got one that no job writes: {remedy}"
        )

    def forget_lost(
        self, root: Path = Path(), *, damages: Callable[[Path], Sequence[str]] = lambda marker: ()
    ) -> list[str]:
        """Remove the markers of jobs, and of initial designs, of which a record is not there any
        more, and those of jobs of which one is damaged: Snakemake would take them for done.

        `damages` says in sentences what is wrong with the records that a marker lists; all of them
        are returned. Initial designs that are damaged are told, too, and their markers stay: no
        report reads them, and all runs on the problem would wait for new ones.
        """
        lists = {
            marker: [part.record(seed) for part in job.parts for seed in job.seeds]
            for marker, job in self.jobs.items()
        }
        designs = {
            self._initial_markers[problem]: [
                cells[0].initial_folder / f"{seed}.parquet"
                for seed in {seed for cell in cells for seed in cell.seeds}
            ]
            for problem, cells in self._by_problem.items()
        }
        told: list[str] = []
        for marker, made in {**lists, **designs}.items():
            if not (root / marker).exists():
                continue
            is_lost = not all((root / path).exists() for path in made)
            told += (wrong := damages(root / marker))
            if is_lost or (wrong and marker in lists):
                with suppress(
                    OSError
                ):  # where nobody can write, the report says which record it misses
                    (root / marker).unlink(missing_ok=True)
        return told

    def on(self, problem: str) -> list[Cell]:
        """All cells on `problem[@reading]`: they share instance and initial design.

        Raises PlanError where there is none.
        """
        if problem not in self._by_problem:
            known = sorted(self._by_problem)
            raise PlanError(
                f"papers/{self.name}.yaml: unknown problem {problem!r}{or_nearest(problem, known)}"
            )
        return self._by_problem[problem]

    @cached_property
    def _by_problem(self) -> Mapping[str, list[Cell]]:
        found: dict[str, list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(cell.problem_name, []).append(cell)
        return found

    def initial_marker(self, problem: str) -> str:
        """The list of the initial designs of all seeds that any cell on this problem needs."""
        return self._initial_markers[problem]

    @cached_property
    def _initial_markers(self) -> Mapping[str, str]:
        return {
            problem: str(
                cells[0].initial_folder
                / f"seeds-{seed_range({seed for cell in cells for seed in cell.seeds})}.json"
            )
            for problem, cells in self._by_problem.items()
        }

    def first_cell(self, problem: str) -> Cell:
        """Some cell on `problem[@reading]`. Raises PlanError."""
        return self.on(problem)[0]

    def study(self, name: str) -> Study:
        """The study called `name`. Raises PlanError naming what is known."""
        if name not in self.studies:
            raise PlanError(
                f"papers/{self.name}.yaml: unknown study {name!r}{or_nearest(name, self.studies)}"
            )
        return self.studies[name]


def _seeds_of(marker: Path) -> tuple[int, int]:
    """The first and the last seed in the name of a list of records."""
    low, _, high = marker.stem.removeprefix("seeds-").partition("-")
    return int(low), int(high or low)


def problem_name(problem: str, reading: str) -> str:
    """`problem[@reading]`."""
    return f"{problem}@{reading}" if reading else problem


def curve_name(algorithm: str, reading: str, variant: str) -> str:
    """`algorithm[@reading][+variant]`."""
    return algorithm + (f"@{reading}" if reading else "") + (f"+{variant}" if variant else "")


def _is_short(part: Seeded) -> bool:
    """Whether a run is worth no process of its own."""
    return part.seconds < costs.SHORT_SECONDS
