"""Run some records again: `python -m workflow.verify [--share 0.02] [--records N] [--seed 1]`,
called by `make verify`.

Reads all records of results/, or of an archive, in full, draws some that are whole, or published
where results/ has none of their seed, makes each anew and compares it bit for bit, but for measured
times. Where bits differ and variables of the environment take the code path of the CPU that the
record names, it is made once more under these. Where they differ still it says whether another code
path or other versions of libraries explain that. Ends with status 0 if all agree, 1 if one differs,
is damaged or could not be made again, 2 if there was nothing to compare.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workflow.measure import condense
from workflow.measure.condense import SPENT, condensed, condensed_study
from workflow.measure.mixture import COMPARED
from workflow.measure.shelf import Shelf
from workflow.operate.archive import SHOWN, BadArchive, record_paths, unpack
from workflow.plan import costs, reader, resolve
from workflow.plan.expand import chosen_papers, load
from workflow.trace import code_path, curve_file, record, seeds
from workflow.trace.cells import PUBLISHED, Cell, PlanError, Study, with_data
from workflow.trace.curve_file import Kept
from workflow.trace.record import BadRecord, Columns, Record

AGREES, DIFFERS, DAMAGED, FAILED, OTHER = "agrees", "differs", "damaged", "failed", "other"
KEPT = ("trace_sha256", condense.COMPARED, "status", "best")  # of an outcome, in a header
UNDER = "under"  # another code path of the CPU than that of this machine
USUAL_MOST = 60.0  # CPU seconds of a record that is drawn
OTHER_CODE = "made by other code, parameters, data or library versions"
Header = Mapping[str, Any]


@dataclass(frozen=True)
class Planned:
    """What the plan knows of the records of a folder: digest of code and parameters, command, CPU
    seconds of one.
    """

    digest: str
    command: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Candidate:
    """A record that the present plan makes, by `workflow.run COMMAND`, in about so many CPU
    seconds; `published` is the file that it was taken from if not from `path`.
    """

    path: Path
    command: tuple[str, ...]
    seconds: float
    substitute: bool
    published: Path | None = None

    @property
    def name(self) -> str:
        return f"{self.published} seed {self.path.stem}" if self.published else str(self.path)


@dataclass(frozen=True)
class Survey:
    """The finished records by what can be done with them; all are verified."""

    candidates: list[Candidate]
    other: list[Path]
    damaged: list[Candidate]


@dataclass(frozen=True)
class Gap:
    """Where a column begins to differ (row and what differs there), and where it differs most."""

    column: str
    row: int
    first: str
    largest: str


class Judged(NamedTuple):
    """What became of a record that was made again, lines that say why, and whether a difference may
    be this machine's: it has another code path of the CPU or other versions of libraries.
    """

    outcome: str
    lines: list[str]
    is_elsewhere: bool = False


def survey(root: Path, paths: Iterable[Path]) -> Survey:
    """Sort the records at `paths`, relative to `root`.

    Raises PlanError for a mistake in a paper's YAML.
    """
    headers = {path: _header(root / path) for path in paths}
    planned = {
        folder: run
        for place in {path.parts[1:3] for path in headers}
        for folder, run in _planned(*place).items()
    }
    found = Survey([], [], [])
    for path, header in headers.items():
        if not header:
            found.damaged.append(Candidate(path, (), 0.0, False))
        elif header.get("status", "complete") == "complete":
            candidate = _candidate(path, header, planned.get(path.parent))
            found.candidates.extend([candidate] if candidate else [])
            found.other.extend([] if candidate else [path])
    return found


def of_published(root: Path, scale: str, papers: Sequence[str], known: Survey) -> Survey:
    """The same survey, and with it the published records of seeds that it does not know.

    Raises PlanError for a mistake in a paper's YAML.
    """
    there = {candidate.path for candidate in [*known.candidates, *known.damaged]}
    candidates, other, shelf = list(known.candidates), list(known.other), Shelf(root)
    for folder in sorted((root / PUBLISHED).glob(f"{scale or '*'}/*")):
        place = folder.parts[-2:]
        if papers and place[1] not in papers:
            continue
        for run, planned in runs(*place):
            for seed, header in shelf.headers(run).items():
                path = run.record(seed)
                if path in there or header.get("status", "complete") != "complete":
                    continue
                found = _candidate(path, header, planned)
                if found:
                    candidates.append(replace(found, published=run.published))
                else:
                    other.append(run.published)
    return Survey(candidates, other, known.damaged)


def _header(path: Path) -> Header:
    """The header of a record that is verified and not kept; {} if it is damaged."""
    try:
        return record.read(path).header
    except BadRecord:
        return {}


def _candidate(path: Path, header: Header, run: Planned | None) -> Candidate | None:
    """A record of the present code and parameters, on the data that it names."""
    if run and header.get("digest") == with_data(run.digest, str(header.get("data_sha256", ""))):
        return candidate_of(path, header, run, str(header.get("data", "")))
    return None


def candidate_of(path: Path, header: Header, run: Planned, data: str) -> Candidate:
    """A record of a run that the plan knows; `data` is what it was made of."""
    command = (*run.command, path.stem, "--scale", path.parts[1])
    seconds = header.get("cpu_seconds", run.seconds)
    return Candidate(path, command, seconds, data.startswith("substitute"))


def _planned(scale: str, paper: str) -> dict[Path, Planned]:
    """What the plan makes, by folder; nothing where it does not know the paper or the scale."""
    return {run.folder: planned for run, planned in runs(scale, paper)}


def runs(scale: str, paper: str) -> list[tuple[Cell | Study, Planned]]:
    """The runs of a plan; none where there is no such paper or scale."""
    if paper not in resolve.planned() or scale not in reader.read(paper)["scales"]:
        return []
    return [
        (part, Planned(part.digest, (paper, *part.place), costs.of(part).seconds))
        for part in load(paper, scale).parts
    ]


def sample(candidates: Sequence[Candidate], *, seed: int, many: int) -> list[Candidate]:
    """`many` candidates, in their order; the same for equal candidates and seed, and more of them
    contain the fewer.
    """
    drawn = seeds.rng(seed, "verify").permutation(len(candidates))[:many]
    return [candidates[i] for i in sorted(drawn)]


def judge(candidate: Candidate, root: Path, expected: str = "") -> Judged:
    """What becomes of a record that is made again; it has to have the `expected` digest then, or
    that of the record where none is given.
    """
    try:
        recorded = _recorded(candidate, root)
    except BadRecord as error:
        return Judged(DAMAGED, [str(error)])
    expected = expected or recorded.header["digest"]
    try:
        with tempfile.TemporaryDirectory(prefix="noregret-verify-") as folder:
            again = rerun(candidate, Path(folder))
    except (ChildProcessError, BadRecord) as error:
        return Judged(FAILED, [f"could not be made again: {error}"])
    if again.header["digest"] != expected:
        said = f"expected digest {expected[:12]}, got {again.header['digest'][:12]}"
        return Judged(OTHER, [f"{OTHER_CODE}: {said}"])
    lines = _unlike(recorded, again)
    if not lines:
        return Judged(AGREES, [])
    made = recorded.header.get("provenance", {})
    here = again.header.get("provenance") or record.provenance()
    if asked := _its_path(made, here):
        try:
            with tempfile.TemporaryDirectory(prefix="noregret-verify-") as folder:
                there = rerun(candidate, Path(folder), asked)
        except (ChildProcessError, BadRecord):  # kernels that this processor has not
            return Judged(DIFFERS, lines, is_elsewhere=True)
        if there.header["digest"] == expected and not _unlike(recorded, there):
            return Judged(AGREES, [f"{UNDER} {code_path.as_words(asked)}, for its code path"])
    return Judged(DIFFERS, lines, is_elsewhere(made, here))


def _unlike(recorded: Record | Kept, again: Record) -> list[str]:
    """What differs between a record, kept in full or published, and the one made again."""
    if isinstance(recorded, Record):
        return differences(recorded, again)
    return from_kept(recorded, again)


def _its_path(made: Header, here: Header) -> dict[str, str]:
    """The environment that takes the code path of a record here, or one so near that its bits may
    be the same; {} where another processor or other versions would be needed, or nothing is.
    """
    if "code_path" not in made or _other_versions(made, here):
        return {}
    return code_path.variables(made["code_path"], here["code_path"])


def _recorded(candidate: Candidate, root: Path) -> Record | Kept:
    """What is to be made again. Raises BadRecord."""
    if candidate.published is None:
        return record.read(root / candidate.path)
    return curve_file.read(root / candidate.published)[int(candidate.path.stem)]


def from_kept(kept: Kept, again: Record) -> list[str]:
    """What differs between a published record and the one made again, as `differences` says it: of
    columns that are not kept the hash of the trace tells.
    """
    anew = (condensed_study if "study" in kept.header else condensed)(again)
    unequal = [n for n in KEPT if n in kept.header and kept.header[n] != anew.header.get(n)]
    if not unequal:
        return []
    if lines := differences(*(Record(one.header, _shown(one)) for one in (kept, anew))):
        return lines
    if "trace_sha256" not in unequal:
        return [f"the trace is the same, its outcome is not: {', '.join(unequal)} of the header"]
    return [
        "the trace differs in what is not published: queries or observed values; make the run again"
        " with the commit that the record names to compare them"
    ]


def _shown(kept: Kept) -> Columns:
    """The columns that are kept, at the rows where they are, but for measured times."""
    columns = {**kept.columns, **{name: values for name, (_, values) in kept.some.items()}}
    columns.pop(SPENT, None)
    return columns


def rerun(candidate: Candidate, folder: Path, asked: Mapping[str, str] | None = None) -> Record:
    """The record made anew below an empty folder, where variables of the environment are `asked`
    under these. Raises ChildProcessError with the last words of a run that failed.

    A process of its own, as in the workflow: nothing that an earlier run has loaded or left in
    memory can matter. Data and simulators are shared, results are not, so that even the initial
    design is drawn again.
    """
    for shared in ("data", "simulators"):
        if Path(shared).exists():
            (folder / shared).symlink_to(Path(shared).resolve())
    command = [sys.executable, "-m", "workflow.run", *candidate.command]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**_environment(candidate), **(asked or {})},
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
    code = os.pathsep.join(filter(None, [str(resolve.ROOT), os.environ.get("PYTHONPATH")]))
    substitutes = {"NOREGRET_SUBSTITUTES": "preferred"} if candidate.substitute else {}
    mirror = os.environ.get("NOREGRET_DATA", "")
    absolute = (
        {"NOREGRET_DATA": str(Path(mirror).resolve())} if mirror and Path(mirror).exists() else {}
    )
    return {**substitutes, **os.environ, **absolute, "PYTHONPATH": code}


def differences(recorded: Record, again: Record) -> list[str]:
    """What differs between two records of one run, but for measured times, on which machines, and
    whether these explain it; empty if they agree.
    """
    was, now = _outcome(recorded.header), _outcome(again.header)
    lines = _unequal("column", recorded.columns, again.columns)
    # an old one has less
    lines += _unequal("header", was, {name: values for name, values in now.items() if name in was})
    # an initial design does not say where it was made
    here = {"provenance": record.provenance(), **again.header}
    return lines and [
        *lines,
        f"recorded: {_made(recorded.header)}",
        f"now:      {_made(here)}",
        explained(recorded.header.get("provenance", {}), here["provenance"]),
    ]


def explained(made: Header, here: Header) -> str:
    """Whether two provenances explain that bits differ, and how to make the record again as it was
    made: a sentence.
    """
    if "code_path" not in made:
        return (
            "the record does not name the code path of its CPU: whether another one explains the"
            " difference cannot be told; make it again on the machine that it names to compare bits"
        )
    was, now = made["code_path"], here["code_path"]
    paths, versions = code_path.differences(was, now), _other_versions(made, here)
    if not paths and not versions:
        return (
            "code path of the CPU and versions of the libraries are the same: this run does not"
            " reproduce; look for what it reads beside its seed, parameters and data"
        )
    differs = "; ".join(f"{name} {one}, here {other}" for name, one, other in paths + versions)
    wanted = [f"with {' '.join(f'{name}=={one}' for name, one, _ in versions)}"] if versions else []
    remedy = " ".join(filter(None, [*wanted, code_path.remedy(was, now)]))
    return (
        f"made under {code_path.words(was)} with {_versions(made)}; here {code_path.words(now)} "
        f"with {_versions(here)} ({differs}): that explains last digits; make it again"
        f" {remedy or 'with the same builds of the libraries'} to compare bits"
    )


def is_elsewhere(made: Header, here: Header) -> bool:
    """Whether the code path or the versions of one provenance may explain that bits differ from
    another one's: they differ, or the first does not name its path.
    """
    if "code_path" not in made:
        return True
    paths = code_path.differences(made["code_path"], here["code_path"])
    return bool(paths or _other_versions(made, here))


def _other_versions(made: Header, here: Header) -> list[tuple[str, str, str]]:
    """Libraries that both provenances name in different versions, with these."""
    was, now = made["libraries"], here["libraries"]
    return [
        (name, was[name], now[name])
        for name in COMPARED
        if name in was and name in now and was[name] != now[name]
    ]


def _versions(made: Header) -> str:
    return ", ".join(
        f"{name} {made['libraries'][name]}" for name in COMPARED if name in made["libraries"]
    )


def _unequal(what: str, recorded: Columns, again: Columns) -> list[str]:
    """Which columns are not the same, where that begins, and how far each of them goes."""
    names = [name for name in {**recorded, **again} if not name.startswith("timing.")]
    both = {
        name: [
            f"{of[name].dtype} {of[name].shape}" if name in of else "none"
            for of in (recorded, again)
        ]
        for name in names
    }
    lines = [
        f"{what} {name}: expected {was}, got {now}"
        for name, (was, now) in both.items()
        if was != now
    ]
    alike = [name for name, (was, now) in both.items() if was == now]
    if gaps := [gap for name in alike if (gap := _gap(name, recorded[name], again[name]))]:
        first = min(gaps, key=lambda gap: gap.row)  # of several in one row the first column
        lines += [f"begins in {what} {first.column}, row {first.row}: {first.first}"]
        lines += [f"largest difference of {gap.column}: {gap.largest}" for gap in gaps]
    return lines


def _gap(name: str, recorded: np.ndarray, again: np.ndarray) -> Gap | None:
    """The difference of two columns of one type and shape, by their bytes: NaN equals itself, -0.0
    is not 0.0.
    """
    unequal = recorded.view(f"u{recorded.itemsize}") != again.view(f"u{again.itemsize}")
    if not unequal.any():
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(recorded.astype(np.float64) - again.astype(np.float64))
    apart = np.where(unequal, np.nan_to_num(apart, nan=np.inf), -1.0)
    first, most = (
        np.unravel_index(unequal.argmax(), unequal.shape),
        np.unravel_index(apart.argmax(), apart.shape),
    )
    said = [
        f"{recorded[at]!s} became {again[at]!s}, {_apart(float(recorded[at]), float(again[at]))}"
        for at in (first, most)
    ]
    return Gap(name, int(first[0]), said[0], f"row {most[0]}, {said[1]}")


def _apart(one: float, other: float) -> str:
    """The absolute and the relative size of a difference."""
    absolute = abs(one - other)
    if not math.isfinite(absolute):
        return "not both finite"
    return (
        f"{absolute:.3g} apart (relative"
        f" {absolute / max(abs(one), abs(other)) if absolute else 0.0:.3g})"
    )


def _outcome(header: Header) -> Columns:
    """What a header says of the outcome of a run, as columns."""
    said = {
        f"recommended {name}": value for name, value in header.get("recommendation", {}).items()
    }
    said["best"] = header.get("best")
    return {name: np.atleast_1d(value) for name, value in said.items() if value is not None}


def _made(header: Header) -> str:
    """Where and with what a record was made."""
    if not (made := header.get("provenance")):
        return "on a machine that the record does not name"
    versions = ", ".join(
        f"{name} {version}"
        for name, version in {"python": made["python"], **made["libraries"]}.items()
    )
    path = code_path.words(made.get("code_path", {}))
    return f"{made['machine']}; {path}; {versions}; commit {made['commit']}"


def verify(root: Path, options: argparse.Namespace, papers: Sequence[str]) -> int:
    """Draw, make again, compare and say so; returns the exit status. Raises PlanError."""
    found = survey(root, record_paths(root, scale=options.scale, papers=papers))
    found = of_published(root, options.scale, papers, found)
    kept = [
        candidate for candidate in found.candidates if candidate.seconds <= options.most_seconds
    ]
    drawn = sample(
        kept, seed=options.seed, many=options.records or max(1, round(options.share * len(kept)))
    )
    print("\n".join(_announced(found, kept, drawn, options)), flush=True)
    outcomes = Counter[str]()
    pool = ThreadPoolExecutor(options.cores)
    try:
        chosen = [*found.damaged, *drawn]
        timed = pool.map(lambda candidate: _timed(candidate, root), chosen)
        for candidate, ((outcome, lines, _), seconds) in zip(chosen, timed, strict=True):
            outcomes[outcome] += 1
            outcomes[UNDER] += outcome == AGREES and bool(lines)
            said = f"{outcome:8} {candidate.name} ({seconds:.1f} s)"
            print("\n         ".join([said, *lines]), flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    print(
        summary(outcomes)
        if outcomes
        else "nothing to compare: run the workflow, name an --archive, or exclude fewer records"
    )
    return status(outcomes)


def _timed(candidate: Candidate, root: Path) -> tuple[Judged, float]:
    """What becomes of a record that is made again, and the seconds that this took."""
    began = time.monotonic()
    return judge(candidate, root), time.monotonic() - began


def _announced(
    found: Survey,
    kept: Sequence[Candidate],
    drawn: Sequence[Candidate],
    options: argparse.Namespace,
) -> list[str]:
    """What will be made again, what it will cost, and what is left out."""
    lines = []
    if found.other:
        folders = Counter(path.parent.as_posix() for path in found.other)
        lines = [f"{len(found.other)} records were {OTHER_CODE}: not made again"]
        lines += [
            f"         {folder} ({count})" for folder, count in sorted(folders.items())[:SHOWN]
        ]
        lines += [f"         ... and {len(folders) - SHOWN} more folders"] * (len(folders) > SHOWN)
    if left := len(found.candidates) - len(kept):
        lines.append(
            f"left out: {left} records of more than {options.most_seconds:g} CPU seconds each"
            " (--most-seconds, MOST of make)"
        )
    cost = (
        f"they took {sum(candidate.seconds for candidate in drawn) / 60:.1f} CPU minutes, and each"
        " start takes some seconds"
    )
    return [
        *lines,
        f"checking {len(drawn)} of {len(kept)} records, chosen by seed {options.seed}: {cost}",
    ]


def summary(outcomes: Mapping[str, int]) -> str:
    """The agreement in one line."""
    agree, differ = outcomes.get(AGREES, 0), outcomes.get(DIFFERS, 0)
    said = {
        DIFFERS: f"differ{'s' * (differ == 1)}",
        DAMAGED: "damaged",
        FAILED: "could not be made again",
        OTHER: OTHER_CODE,
    }
    rest = [f"{outcomes[name]} {words}" for name, words in said.items() if outcomes.get(name)]
    there = f", {outcomes[UNDER]} of them {UNDER} the code path that made them"
    agreeing = f"{agree} of {agree + differ} records agree bit for bit"
    return "; ".join([agreeing + there * bool(outcomes.get(UNDER)), *rest])


def status(outcomes: Mapping[str, int]) -> int:
    """0 if all agree, 1 if something is wrong, 2 if nothing was compared."""
    if outcomes.get(DIFFERS) or outcomes.get(DAMAGED):
        return 1
    if not outcomes.get(AGREES):
        return 2
    return 1 if outcomes.get(FAILED) else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m workflow.verify", description=__doc__)
    parser.add_argument(
        "--share",
        type=float,
        default=0.02,
        help="the share of the records to check; at least one is checked",
    )
    parser.add_argument(
        "--records",
        type=int,
        metavar="N",
        help="the number of records to check, in the place of a share",
    )
    parser.add_argument("--seed", type=int, default=1, help="decides which records are checked")
    parser.add_argument("--scale", default="", help="default: all scales")
    parser.add_argument("--papers", default="", help="some papers, with commas; default: all")
    parser.add_argument(
        "--archive",
        type=Path,
        metavar="FILE",
        help="the records of an archive, instead of results/",
    )
    parser.add_argument(
        "--most-seconds",
        type=float,
        default=USUAL_MOST,
        metavar="S",
        help=f"check only records that cost at most this (default: {USUAL_MOST:g}; inf: all)",
    )
    parser.add_argument(
        "--cores",
        type=int,
        default=os.cpu_count() or 1,
        help="records made again at a time (default: all cores)",
    )
    options = parser.parse_args(arguments)
    if not 0 < options.share <= 1 or (options.records is not None and options.records < 1):
        parser.error(
            f"expected a share in (0, 1] and at least one record, got {options.share} and"
            f" {options.records}: correct it"
        )
    if options.cores < 1:
        parser.error(f"expected at least one core, got {options.cores}: correct it")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        papers = chosen_papers(options.papers) if options.papers else []
        if options.archive is None:
            return verify(Path(), options, papers)
        with tempfile.TemporaryDirectory(prefix="noregret-archive-") as folder:
            unpack(options.archive, Path(folder))
            return verify(Path(folder), options, papers)
    except (PlanError, BadArchive) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, BadArchive) else 2
