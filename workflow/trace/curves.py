"""What a run is made from and where its record lies: data that plan, runner and reports share.

A curve is one algorithm on one problem under one setting, a study is a theory check; each has a run
for every seed. The plan makes them from a paper's YAML; a job of the workflow is given the one that
it makes (`as_json`), and needs nothing of the plan.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from workflow.trace.atomic import atomic

DEFAULT = ""  # the reading and the variant of a curve that has none
UNLIMITED = 1 << 30  # of parallel evaluations
STUDIES = "studies"  # the folder of all studies, in the place of a problem
PUBLISHED = Path("figures", "reference", "records")  # the published records of all scales
MISSING = "none"  # the version of a library that is not installed
# of an entry of papers/*.yaml: no parameters of a constructor
RESERVED = frozenset(
    {
        *("is", "budget", "data", "execution", "given", "init", "libraries", "optimum"),
        *("room", "seeds", "simulator", "substitute", "timeout"),
    }
)
Run = tuple[str, int]  # the name of a curve or a study, and a seed


class PlanError(ValueError):
    """A mistake in papers/*.yaml or on the command line: the message says where, expected,
    and got.
    """


class Seeded(ABC):
    """What has one record for each of its seeds."""

    paper: str
    scale: str
    seeds: tuple[int, ...]
    problem_entry: Mapping[str, Any]
    digest: str  # of the code that it reaches and its resolved parameters

    @property
    @abstractmethod
    def place(self) -> tuple[str, str]:
        """Problem and curve as a command line has them."""

    @property
    @abstractmethod
    def columns(self) -> dict[str, str]:
        """What tells its rows from others' in a table of published records."""

    @cached_property
    def name(self) -> str:
        """Paper, problem and curve, as people read them."""
        return "/".join((self.paper, *self.place))

    @property
    def folder(self) -> Path:
        """Where the records lie."""
        return Path("results", self.scale, self.paper, *self.place)

    def record(self, seed: int) -> Path:
        return self.folder / f"{seed}.parquet"

    @property
    def published(self) -> Path:
        """The file of all published records."""
        problem, label = self.place
        return PUBLISHED / self.scale / self.paper / problem / f"{label}.parquet"


@dataclass(frozen=True)
class Curve(Seeded):
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
    digest: str = ""

    @cached_property
    def problem_name(self) -> str:
        """`problem[@reading]`: the folder of everything that shares instance and initial design."""
        return problem_name(self.problem, self.problem_reading)

    @property
    def label(self) -> str:
        """`algorithm[@reading][+variant]`: how figures and claims name the curve on its problem."""
        return label_of(self.algorithm, self.algorithm_reading, self.variant)

    @property
    def place(self) -> tuple[str, str]:
        return self.problem_name, self.label

    @property
    def columns(self) -> dict[str, str]:
        return {
            "paper": self.paper,
            "problem": self.problem,
            "problem_reading": self.problem_reading,
            "algorithm": self.algorithm,
            "reading": self.algorithm_reading,
            "variant": self.variant,
        }

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
        return is_async(self.problem_entry, self.algorithm_entry)


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
    digest: str = ""

    @property
    def place(self) -> tuple[str, str]:
        return STUDIES, self.id

    @property
    def columns(self) -> dict[str, str]:
        return {"paper": self.paper, "study": self.id}


# A study counts as a curve of the problem `studies`
AnyCurve = Curve | Study


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds from "3" or "0-9". Raises PlanError."""
    match = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", str(text))
    if match is None:
        raise PlanError(
            f"seeds: expected a number or a range such as 0-9, of six digits at most, got {text!r}"
        )
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise PlanError(f"seeds: expected a rising range, got {text!r}")
    return tuple(range(first, last + 1))


def seed_range(seeds: Iterable[int]) -> str:
    """The inverse of parse_seeds for consecutive seeds."""
    ordered = sorted(seeds)
    return f"{ordered[0]}-{ordered[-1]}" if len(ordered) > 1 else str(ordered[0])


def is_async(problem: Mapping[str, Any], algorithm: Mapping[str, Any]) -> bool:
    """Whether the entries of a problem and an algorithm ask for asynchronous workers."""
    return bool(algorithm.get("execution", problem.get("execution")) == "async")


def own_parameters(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What an entry passes to its constructor."""
    return {key: value for key, value in entry.items() if key not in RESERVED}


def installed(library: str) -> str:
    """The version of a library here; MISSING where it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return MISSING


def with_data(code: str, data_sha256: str) -> str:
    """The digest of a run: code, parameters and data; other data make another run."""
    return hashlib.sha256(f"{code}{data_sha256}".encode()).hexdigest()


def problem_name(problem: str, reading: str) -> str:
    """`problem[@reading]`."""
    return f"{problem}@{reading}" if reading else problem


def label_of(algorithm: str, reading: str, variant: str) -> str:
    """`algorithm[@reading][+variant]`."""
    return algorithm + (f"@{reading}" if reading else "") + (f"+{variant}" if variant else "")


def algorithm_of(label: str) -> str:
    """The algorithm of `algorithm[@reading][+variant]`."""
    return label.partition("@")[0].partition("+")[0]


def as_json(curve: AnyCurve) -> str:
    """What decides the runs of a curve or a study, on one line: all but their seeds, of which each
    job is told some.
    """
    given = {one.name: getattr(curve, one.name) for one in fields(curve)}
    return json.dumps({**given, "seeds": []})


def hand_over(curve: AnyCurve, folder: Path, *, write: bool = True) -> str:
    """A file in a folder, named by its content, that says what decides the runs of a curve or a
    study. Without `write` it is only named.
    """
    text = as_json(curve)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
    if write and not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return str(path)


def from_json(text: str) -> AnyCurve:
    """The inverse of `as_json`: a curve or a study without seeds. Raises PlanError."""
    try:
        fields = json.loads(text)
        kind = Study if "function" in fields else Curve
        return kind(**{**fields, "seeds": ()})
    except (ValueError, TypeError) as error:
        raise PlanError(
            f"expected what the workflow gives to its jobs, got {text[:40]!r} ({error}): leave out"
            " --given, which is for its jobs alone"
        ) from None
