"""Make some records again and compare them: `python -m workflow.verify [--minutes 1] [--seed N]`,
called by `make verify` and `make figures`.

Reads all records of results/ in full, and of published ones what they say. Of each paper it draws
as many as were made in so many CPU minutes, or --many of all, or takes the runs of --only. It makes
each anew and compares the two bit for bit, but for measured times. What this machine cannot make in
the same way is left out and told: records of other code, kernels or library versions, or of data
that are not here. Ends with status 0 if all agree, 1 if one differs, is damaged or could not be
made again, 2 if there was nothing to compare.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from workflow.data import fetch
from workflow.data.places import (
    DataUnavailable,
    is_substitute,
    prepared_path,
    substitutes_allowed,
)
from workflow.data.simulators import built, version_sha256
from workflow.judge.claims import by_default
from workflow.measure import condense
from workflow.measure.condense import SPENT, condensed, restored
from workflow.measure.metrics import RECOMMENDATION
from workflow.measure.mixture import COMPARED, kernels
from workflow.measure.published_records import PublishedRecords, digest_today
from workflow.measure.store import Store
from workflow.plan import costs, reader, resolve
from workflow.plan.expand import chosen_papers, load
from workflow.plan.paper import Paper
from workflow.plan.reads import runs_of_claim, stated
from workflow.trace import curve_file, one_path, record, seeds
from workflow.trace.curve_file import Kept
from workflow.trace.curves import MISSING, PUBLISHED, AnyCurve, PlanError, installed
from workflow.trace.record import BadRecord, Columns, Header, Record

AGREES, DIFFERS, DAMAGED, FAILED = "agrees", "differs", "damaged", "failed"
OUTCOME = ("status", "best", RECOMMENDATION)  # of a run, in the header of its record
KEPT = ("trace_sha256", condense.TRACES, "status", "best")  # in that of a published one
MINUTES = 1.0  # CPU minutes of a paper's runs that are made again
START = 3.0  # CPU seconds that a process takes to start, about
OTHER_CODE = "other code, parameters or data than today's made them"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A record of a run that the present plan makes: in results/, or a published one."""

    curve: AnyCurve
    seed: int
    header: Header
    is_published: bool = False

    @property
    def path(self) -> Path:
        """Where the record lies, or would lie if it was made here."""
        return self.curve.record(self.seed)

    @property
    def place(self) -> str:
        """`problem/curve/seed`, or `studies/id/seed`."""
        return "/".join((*self.curve.place, str(self.seed)))

    @property
    def name(self) -> str:
        return f"{self.curve.published} seed {self.seed}" if self.is_published else str(self.path)

    @property
    def command(self) -> tuple[str, ...]:
        """What `workflow.run` is given to make it."""
        return (self.curve.paper, *self.curve.place, str(self.seed), "--scale", self.curve.scale)

    @property
    def seconds(self) -> float:
        """CPU seconds that it takes, about."""
        return float(self.header.get("cpu_seconds", costs.of(self.curve).seconds))

    @property
    def today(self) -> str:
        """The digest that it has if it is made today."""
        return digest_today(self.curve, self.header)


@dataclass(frozen=True)
class Survey:
    """The finished records by what can be done with them: made again; nothing, and why not; nothing
    since they are damaged, in words by their paths.
    """

    candidates: list[Candidate] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    damaged: dict[Path, str] = field(default_factory=dict)


class Judged(NamedTuple):
    """What became of a record that was made again, a sentence that says why, and whether a
    difference may be this machine's: it has other kernels or versions of libraries. Of one that
    differs, what it became.
    """

    outcome: str
    why: str = ""
    is_elsewhere: bool = False
    again: Record | None = None


def survey(root: Path, *, scale: str = "", papers: Sequence[str] = ()) -> Survey:
    """Sort the records below `root`: those of results/, and published ones of other seeds.

    Raises PlanError for a mistake in a paper's YAML.
    """
    surveyed = Survey()
    files = root.glob(f"results/{scale or '*'}/*/*/*/*.parquet")
    paths = sorted(file.relative_to(root) for file in files)
    paths = [path for path in paths if not papers or path.parts[2] in papers]
    planned = {
        curve.folder: curve
        for place in {path.parts[1:3] for path in paths}
        for curve in planned_curves(*place)
    }
    for path in paths:
        try:
            header = record.read(root / path).header
        except BadRecord as error:
            surveyed.damaged[path] = str(error)
            continue
        curve = planned.get(path.parent)
        if curve is None or not path.stem.isdecimal():
            surveyed.left_out[OTHER_CODE] += header.get("status", "complete") == "complete"
        else:
            _sort(surveyed, Candidate(curve, int(path.stem), header))
    there, records = set(paths), PublishedRecords(root)
    for _, here in published(root, scale, papers):
        for curve in here:
            try:
                headers = records.headers(curve)
            except BadRecord as error:
                surveyed.damaged[curve.published] = str(error)
                continue
            for seed, header in headers.items():
                one = Candidate(curve, seed, header, is_published=True)
                if one.path not in there:
                    _sort(surveyed, one)
    return surveyed


def _sort(surveyed: Survey, one: Candidate) -> None:
    if one.header.get("status", "complete") != "complete":
        return
    if one.header.get("digest") != one.today:
        surveyed.left_out[OTHER_CODE] += 1
    elif why := lacking(one.curve, one.header):
        surveyed.left_out[why] += 1
    else:
        surveyed.candidates.append(one)


def published(
    root: Path, scale: str, papers: Sequence[str]
) -> Iterator[tuple[Path, list[AnyCurve]]]:
    """The folders of published records, of some papers and one scale or of all, each with the runs
    of its plan.
    """
    for folder in sorted((root / PUBLISHED).glob(f"{scale or '*'}/*")):
        if not papers or folder.name in papers:
            yield folder, planned_curves(*folder.parts[-2:])


def planned_curves(scale: str, paper: str) -> list[AnyCurve]:
    """All curves of a plan; none where there is no such paper or scale."""
    if paper not in resolve.planned() or scale not in reader.read(paper)["scales"]:
        return []
    return load(paper, scale).every_curve


def lacking(curve: AnyCurve, header: Header) -> str:
    """Why this machine cannot make the bits of a record; "" if it can."""
    made, entry = header.get("provenance", {}), curve.problem_entry
    if (was := kernels(made)) != (ours := one_path.kernels_here()):
        return f"their kernels are {was}, runs here take {ours}"
    if unlike := _other_versions(made, {name: installed(name) for name in COMPARED}):
        return f"other versions made them: {', '.join(unlike)}"
    if missing := [one for one in entry.get("libraries", []) if installed(one) == MISSING]:
        return f"their problem needs {missing[0]}, which is not installed"
    name = entry.get("simulator", entry.get("data"))
    if name is None:
        return ""
    if "simulator" in entry:
        here = _simulator_here(name)
    else:
        wanted = is_substitute(header.get("data", "")) or substitutes_allowed(curve.scale)
        here = _table_here(name, substitutes=wanted)
    if here == header["data_sha256"]:
        return ""
    return f"{name} of that version is not on this machine (data/README.md)"


@cache
def _simulator_here(name: str) -> str:
    """The hash of the version of a simulator; "" where there is none."""
    try:
        return version_sha256(built(name, root=Path()))
    except DataUnavailable:
        return ""


@cache
def _table_here(name: str, *, substitutes: bool) -> str:
    """The hash of the table that runs read here, for which nothing is downloaded; "" where there
    is none.
    """
    root = Path()
    try:
        path = prepared_path(name, root=root, substitutes=substitutes)
        if not path.exists():
            fetch.prepare(name, root=root, substitutes=substitutes, download=False)
        return str(fetch.provenance(path)["content_sha256"])
    except DataUnavailable:
        return ""


def sample(candidates: Sequence[Candidate], *, seed: int, many: int) -> list[Candidate]:
    """`many` candidates, in their order; the same for equal candidates and seed, and more of them
    contain the fewer.
    """
    return [candidates[i] for i in sorted(_shuffled(candidates, seed)[:many])]


def affordable(candidates: Sequence[Candidate], *, seed: int, minutes: float) -> list[Candidate]:
    """Of each paper candidates that are made in so many CPU minutes together, drawn at random, in
    their order.
    """
    left, drawn = dict.fromkeys({one.curve.paper for one in candidates}, 60.0 * minutes), []
    for i in _shuffled(candidates, seed):
        price, paper = candidates[i].seconds + START, candidates[i].curve.paper
        if price <= left[paper]:
            left[paper] -= price
            drawn.append(i)
    return [candidates[i] for i in sorted(drawn)]


def is_named(one: Candidate, only: str) -> bool:
    """Whether PAPER/PROBLEM/CURVE/SEED, or a beginning of that, names a candidate."""
    return f"{one.curve.paper}/{one.place}/".startswith(f"{only.strip('/')}/")


def _shuffled(candidates: Sequence[Candidate], seed: int) -> list[int]:
    return seeds.rng(seed, "verify").permutation(len(candidates)).tolist()


def judge(candidate: Candidate, root: Path) -> Judged:
    """What becomes of a record that is made again; it has to have today's digest then."""
    recorded: Record | Kept
    try:
        if candidate.is_published:
            recorded = curve_file.read(root / candidate.curve.published)[candidate.seed]
        else:
            recorded = record.read(root / candidate.path)
    except BadRecord as error:
        return Judged(DAMAGED, str(error))
    try:
        with tempfile.TemporaryDirectory(prefix="noregret-verify-") as folder:
            again = rerun(candidate, Path(folder))
    except (ChildProcessError, BadRecord) as error:
        return Judged(FAILED, f"could not be made again: {error}")
    if again.header["digest"] != (expected := candidate.today):
        said = f"expected digest {expected[:12]}, got {again.header['digest'][:12]}"
        return Judged(FAILED, f"was made again by other code or data: {said}")
    if isinstance(recorded, Record):
        why = differences(recorded, again)
    else:
        why = from_kept(recorded, again)
    if not why:
        return Judged(AGREES)
    made, here = (one.header.get("provenance", {}) for one in (recorded, again))
    unlike = _other_versions(made, here.get("libraries", {}))
    is_elsewhere = bool(unlike) or made.get("kernels") != here.get("kernels")
    why += f"; made by {made.get('machine', 'an unnamed machine')}"
    return Judged(DIFFERS, why, is_elsewhere, again)


def rerun(candidate: Candidate, folder: Path) -> Record:
    """The record made anew below an empty folder. Raises ChildProcessError with the last words of a
    run that failed.

    A process of its own, as in the workflow: nothing that an earlier run has loaded or left in
    memory can matter. Data and simulators are shared, results are not, so that even the initial
    design is drawn again.
    """
    for shared in ("data", "simulators"):
        if Path(shared).exists():
            (folder / shared).symlink_to(Path(shared).resolve())
    done = subprocess.run(
        [sys.executable, "-m", "workflow.run", *candidate.command],
        cwd=folder,
        env=_environment(candidate),
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        said = [line.removeprefix("error: ") for line in done.stderr.splitlines() if line.strip()]
        raise ChildProcessError(" ".join(said[-3:]) or f"status {done.returncode}")
    return record.read(folder / candidate.path)


def _environment(candidate: Candidate) -> dict[str, str]:
    """That of this process, with relative places made absolute; a record of substituted data is
    made from such again.
    """
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(resolve.ROOT), environment.get("PYTHONPATH")])
    )
    if is_substitute(candidate.header.get("data", "")):
        environment.setdefault("NOREGRET_SUBSTITUTES", "preferred")
    if (mirror := environment.get("NOREGRET_DATA")) and Path(mirror).exists():
        environment["NOREGRET_DATA"] = str(Path(mirror).resolve())
    return environment


def differences(recorded: Record, again: Record) -> str:
    """Where two records of one run begin to differ, but for measured times; "" if they agree."""
    gap = _first_gap(recorded.columns, again.columns)
    return gap or _other_outcome(_unequal(OUTCOME, recorded.header, again.header))


def from_kept(kept: Kept, again: Record) -> str:
    """The same of a published record: of columns that are not kept the hash of the trace tells."""
    anew = condensed(again)
    unequal = _unequal(KEPT, kept.header, anew.header)
    if not unequal:
        return ""
    rows = {name: places for name, (places, _) in kept.some.items()}
    if gap := _first_gap(_shown(kept), _shown(anew), rows):
        return gap
    if "trace_sha256" in unequal:
        return "queries or observed values differ, which are not published"
    return _other_outcome(unequal)


def _unequal(names: Iterable[str], was: Header, now: Header) -> list[str]:
    """Those of some fields that a header has and another one has not, or has otherwise."""
    return [name for name in names if name in was and was[name] != now.get(name)]


def _other_outcome(unequal: Sequence[str]) -> str:
    """The same of fields of a header; "" where there are none."""
    said = f"the trace is the same, its outcome is not: {', '.join(unequal)} of the header"
    return said if unequal else ""


def _shown(kept: Kept) -> Columns:
    """The columns that are kept, at the rows where they are, but for measured times."""
    columns = {**kept.columns, **{name: values for name, (_, values) in kept.some.items()}}
    columns.pop(SPENT, None)
    return columns


def _first_gap(was: Columns, now: Columns, rows: Mapping[str, np.ndarray] | None = None) -> str:
    """The first row in which columns are not the same, by their bytes: NaN equals itself, -0.0 is
    not 0.0. `rows` has the numbers of the rows of those that are not there as a whole.
    """
    gaps = []
    for name in {**was, **now}:
        if name.startswith("timing."):
            continue
        one, other = (
            f"{of[name].dtype} {of[name].shape}" if name in of else "none" for of in (was, now)
        )
        if one != other:
            return f"{name}: expected {one}, got {other}"
        if (unequal := _bits(was[name]) != _bits(now[name])).any():
            at = np.unravel_index(unequal.argmax(), unequal.shape)
            row = int(at[0]) if rows is None or name not in rows else int(rows[name][at[0]])
            gaps.append((row, name, at))
    if not gaps:
        return ""
    row, name, at = min(gaps, key=lambda gap: gap[0])  # of several in one row the first column
    kind = "evaluation" if "evaluation" in was else "row"
    apart = _apart(float(was[name][at]), float(now[name][at]))
    return f"from {kind} {row} on: {name} {was[name][at]} became {now[name][at]}, {apart}"


def _bits(values: np.ndarray) -> np.ndarray:
    return values.view(f"u{values.itemsize}")


def _apart(one: float, other: float) -> str:
    """The absolute and the relative size of a difference."""
    absolute = abs(one - other)
    if not math.isfinite(absolute):
        return "not both finite"
    relative = absolute / max(abs(one), abs(other)) if absolute else 0.0
    return f"{absolute:.3g} apart (relative {relative:.3g})"


def _other_versions(made: Header, here: Mapping[str, str]) -> list[str]:
    """What libraries that compute made a record, in other versions than here, in words."""
    was = made.get("libraries", {})
    return [
        f"{name} {was[name]}, here {here[name]}"
        for name in COMPARED
        if name in was and was[name] != here.get(name, was[name])
    ]


def verify(root: Path, options: argparse.Namespace, papers: Sequence[str]) -> int:
    """Draw, make again, compare and say so; returns the exit status. Raises PlanError."""
    surveyed = survey(root, scale=options.scale, papers=papers)
    if options.only:
        drawn = [one for one in surveyed.candidates if is_named(one, options.only)]
    elif options.many:
        drawn = sample(surveyed.candidates, seed=options.seed, many=options.many)
    else:
        drawn = affordable(surveyed.candidates, seed=options.seed, minutes=options.minutes)
    for why, many in surveyed.left_out.most_common():
        print(f"left out: {many} records: {why}")
    seconds = sum(one.seconds + START for one in drawn)
    why = options.only or f"drawn by seed {options.seed}"
    print(
        f"making {len(drawn)} of {len(surveyed.candidates)} records again, {why}, in some"
        f" {seconds / 60:.1f} CPU minutes",
        flush=True,
    )
    outcomes = Counter({DAMAGED: len(surveyed.damaged)})
    for why in surveyed.damaged.values():  # begins with its path
        print(f"{DAMAGED}: {why}", flush=True)
    pool = ThreadPoolExecutor(options.cores)
    try:
        for one, judged in zip(drawn, pool.map(lambda each: judge(each, root), drawn), strict=True):
            outcomes[judged.outcome] += 1
            if judged.why:
                became = f"; {verdicts(one, judged.again, root)}" if judged.again else ""
                print(f"{judged.outcome}: {one.name}: {judged.why}{became}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    print(summary(outcomes))
    return status(outcomes)


class _Anew(Store):
    """The records that are there, with one that was made again in the place of its own."""

    def __init__(self, paper: Paper, root: Path, candidate: Candidate, again: Record) -> None:
        super().__init__(paper, root, partial=True)
        self._one = candidate.curve.name, candidate.seed
        # as the other seeds are read, so that what is not published makes no difference
        self._again = restored(condensed(again)) if candidate.is_published else again

    def _admitted(self, curve: AnyCurve, seed: int) -> Record | None:
        return self._again if (curve.name, seed) == self._one else super()._admitted(curve, seed)

    def _found(self, curve: AnyCurve, seed: int) -> Record:
        return self._again if (curve.name, seed) == self._one else super()._found(curve, seed)


def verdicts(candidate: Candidate, again: Record, root: Path) -> str:
    """What becomes of the verdicts that read a record with the one made again in its place."""
    curve, said = candidate.curve, list[str]()
    plan = load(curve.paper, curve.scale)
    before = Store(plan, root, partial=True)
    after = _Anew(plan, root, candidate, again)
    for claim in stated(plan):
        try:
            if curve.name not in {one.name for one in runs_of_claim(plan, claim)}:
                continue
            was, now = (by_default(plan, store, claim).verdict for store in (before, after))
            became = f"stays {now}" if now == was else f"becomes {now}, was {was}"
        except PlanError:  # what it reads is not planned at this scale
            continue
        except BadRecord as error:
            became = f"cannot be judged: {' '.join(str(error).split())}"
        said.append(f"{claim.id} {became}")
    return "; ".join(said) or "no verdict reads it"


def summary(outcomes: Mapping[str, int]) -> str:
    """The agreement in one line."""
    if not any(outcomes.values()):
        return "nothing to compare: run the workflow, give more --minutes, or another --only"
    agree, differ = outcomes.get(AGREES, 0), outcomes.get(DIFFERS, 0)
    said = {
        DIFFERS: f"differ{'s' * (differ == 1)}",
        DAMAGED: "damaged",
        FAILED: "could not be made again",
    }
    rest = [f"{outcomes[name]} {words}" for name, words in said.items() if outcomes.get(name)]
    return "; ".join([f"{agree} of {agree + differ} records agree bit for bit", *rest])


def status(outcomes: Mapping[str, int]) -> int:
    """0 if all agree, 1 if something is wrong, 2 if nothing was compared."""
    if any(outcomes.get(outcome) for outcome in (DIFFERS, DAMAGED, FAILED)):
        return 1
    return 0 if outcomes.get(AGREES) else 2


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m workflow.verify", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help="CPU minutes of runs that are made again, a paper (default: %(default)g; inf: all)",
    )
    size.add_argument(
        "--many",
        type=int,
        metavar="N",
        help="so many records of all papers together, whatever they take",
    )
    size.add_argument(
        "--only",
        default="",
        metavar="PAPER/PROBLEM/CURVE/SEED",
        help="these runs and no sample; a beginning such as PAPER/PROBLEM will do",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=int(datetime.datetime.now(datetime.UTC).strftime("%Y%m%d")),
        help="decides which records are made again (default: the day, %(default)s)",
    )
    parser.add_argument("--scale", default="", help="default: all scales")
    parser.add_argument("--papers", default="", help="some papers, with commas; default: all")
    parser.add_argument(
        "--cores",
        type=int,
        default=os.cpu_count() or 1,
        help="records made again at a time (default: all cores)",
    )
    options = parser.parse_args(arguments)
    if not options.minutes > 0 or options.cores < 1:
        parser.error(
            f"expected more than 0 minutes and at least one core, got {options.minutes} and"
            f" {options.cores}: correct it"
        )
    if options.many is not None and options.many < 1:
        parser.error(f"--many: expected a positive number, got {options.many}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        named = options.papers or options.only.partition("/")[0]
        papers = chosen_papers(named) if named else []
        return verify(Path(), options, papers)
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
