"""Carry published records over a change of code: `python -m workflow.carry [PAPERS] [--scale
paper]`, called by `make carry`.

Code that a run reaches has changed when the digest of its published records is not today's. Of each
group of such records a random sample, 5 % and at least 3, is made again. Where all of it has the
same trace, the group gets today's digest, and keeps in `carried` the old one, the commit that made
the record, and which were made again. Where one differs, or a run fails, nothing is written: the
records are of other code, as reports say, until they are made anew. `--check`, called by `make
check`, makes nothing and fails where a published record has no readable header, is of other code
than today's or belongs to no planned run.

A group is what a sample can speak for: records of one paper and scale, of one algorithm class under
one reading at one problem function under one reading, that run in the same way (in batches or with
workers), whose parameters differ in numbers alone (so that the same branches of the code are
chosen by name: most sweeps are one group), that one commit made and that were carried together ever
since, so that their old code was one, too. Of a study it is all that one commit made of it. A
commit with changes that were not committed counts as one.

Where runs of the old and of the new code were compared beforehand (`python -m benchmarks.bits` at
either commit, say), `--equal WHY` carries every group without a run, and `carried` has the reason.

Records with other parameters than today's are no matter of code and never carried. Those that timed
out belong to their group, and none is made again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workflow.measure.published_records import PublishedRecords
from workflow.operate import verify
from workflow.operate.verify import AGREES, DIFFERS, Candidate, Judged
from workflow.plan.expand import chosen_papers
from workflow.plan.parameters import GIVEN, dotted
from workflow.trace import curve_file
from workflow.trace.curve_file import CARRIED, Header, TooLarge
from workflow.trace.curves import PlanError, Study
from workflow.trace.record import BadRecord

FEWEST, SHARE = 3, 0.05  # of a group are made again
CARRY, KEEP, OPEN = "carried", "of other code", "undecided"


@dataclass
class Survey:
    """What is published: records of other code than today's (`stale`), how many are of today's, and
    what is wrong, in sentences.
    """

    stale: list[Candidate] = field(default_factory=list)
    current: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Group:
    """Stale records that one sample speaks for, and that sample."""

    name: str
    records: tuple[Candidate, ...]
    drawn: tuple[Candidate, ...]


def survey(root: Path, scale: str = "", papers: Sequence[str] = ()) -> Survey:
    """Sort what is published below `root`: of some papers and one scale, or of all.

    Raises PlanError for a mistake in a paper's YAML.
    """
    surveyed, records = Survey(), PublishedRecords(root)
    for folder, here in verify.published(root, scale, papers):
        planned = {curve.published: curve for curve in here}
        for file in sorted(folder.rglob("*.parquet")):
            path = file.relative_to(root)
            if path not in planned:
                surveyed.wrong.append(f"{path}: expected a run of the plan, found none: remove it")
                continue
            run = planned[path]
            try:
                headers = records.headers(run)
            except BadRecord as error:
                surveyed.wrong.append(str(error))
                continue
            for seed, header in headers.items():
                if seed not in run.seeds:
                    surveyed.wrong.append(
                        f"{path}: expected a seed of {run.seeds}, found {seed}: plan or remove it"
                    )
                    continue
                one = Candidate(run, seed, header, is_published=True)
                if header.get("digest") == one.today:
                    surveyed.current += 1
                else:
                    surveyed.stale.append(one)
    return surveyed


def groups(stale: Iterable[Candidate], *, seed: int) -> list[Group]:
    """Stale records in groups, each with its sample, which is the same for the same `seed`."""
    together: dict[tuple[str, ...], list[Candidate]] = {}
    for one in stale:
        together.setdefault(_key(one), []).append(one)
    grouped = []
    for (what, commit, *_), records in sorted(together.items()):
        whole = [one for one in records if one.header.get("status", "complete") == "complete"]
        many = max(FEWEST, math.ceil(SHARE * len(records)))
        drawn = verify.sample(whole, seed=seed, many=many)
        grouped.append(Group(f"{what}, made by {commit[:12]}", tuple(records), tuple(drawn)))
    return grouped


def _key(one: Candidate) -> tuple[str, ...]:
    """What all records of a group have in common: what was run, the commit that made them, what
    they were carried over, and the kinds of their parameters.
    """
    curve, how = one.curve, ""
    if isinstance(curve, Study):
        what = f"studies {curve.id} {curve.function} {curve.problem_entry['is']}"
    else:
        sides = (
            (curve.algorithm_entry["is"], curve.algorithm_reading),
            (curve.problem_entry["is"], curve.problem_reading),
        )
        what = " at ".join("@".join(filter(None, side)) for side in sides)
        kinds = [_kinds(curve.algorithm_entry), _kinds(curve.problem_entry), curve.is_async]
        how = json.dumps(kinds, sort_keys=True)
    history = [[each["commit"], each["checked"]] for each in one.header.get(CARRIED, [])]
    return f"{curve.paper} {curve.scale} {what}", _commit(one.header), json.dumps(history), how


def _kinds(value: Any) -> Any:
    """A parameter without its numbers: which parameters there are, and what is chosen by name."""
    if isinstance(value, Mapping):
        return {name: _kinds(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_kinds(inner) for inner in value]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else value


def other_parameters(one: Candidate) -> list[str]:
    """The parameters of a record that are not today's, by name."""
    curve, header = one.curve, one.header
    if isinstance(curve, Study):
        pairs = [(header.get("parameters", curve.parameters), curve.parameters)]
    else:
        pairs = [
            (header.get("algorithm_parameters", curve.algorithm_entry), curve.algorithm_entry),
            (header.get("problem_parameters", curve.problem_entry), curve.problem_entry),
            ({"budget": header.get("budget", curve.budget)}, {"budget": curve.budget}),
        ]
    names = []
    for pair in pairs:
        was, now = (dotted(json.loads(json.dumps(dict(side)))) for side in pair)
        for name in sorted(was.keys() | now.keys()):
            value = now.get(name)
            is_given = isinstance(value, Mapping) and value.keys() == GIVEN and name in was
            if was.get(name) != value and not is_given:
                names.append(name)
    return names


def decided(group: Group, judged: Sequence[Judged]) -> tuple[str, str]:
    """What becomes of a group, and why."""
    pairs = list(zip(group.drawn, judged, strict=True))
    for one, became in pairs:
        if became.outcome == DIFFERS and not became.is_elsewhere:
            return KEEP, f"{one.place} {became.why}"
    for one, became in pairs:
        if became.outcome != AGREES:
            return OPEN, f"{one.place} {became.outcome}: {became.why}"
    if not pairs:
        return OPEN, f"none of {len(group.records)} is complete"
    return CARRY, f"{len(pairs)} were made again with the same traces"


def write(root: Path, changes: Iterable[tuple[Candidate, Header]]) -> None:
    """Put fields into the headers of records. Raises BadRecord, TooLarge."""
    files: dict[Path, tuple[Any, dict[int, Header]]] = {}
    for one, fields in changes:
        _, seeds = files.setdefault(one.curve.published, (one.curve.columns, {}))
        seeds[one.seed] = fields
    for path, (labels, seeds) in files.items():
        curve_file.amend(root / path, labels, seeds)


def stamped(group: Group, one: Candidate, because: str = "") -> Header:
    """The fields of a record of a group whose sample has the same traces, or of which somebody says
    why all have.
    """
    checked = [] if because else [drawn.place for drawn in group.drawn]
    audit = {"from": one.header["digest"], "commit": _commit(one.header), "checked": checked}
    if because:
        audit["because"] = because
    history = [*one.header.get(CARRIED, []), audit]
    return {"digest": one.today, CARRIED: history}


def carry(root: Path, stale: Iterable[Candidate], options: argparse.Namespace) -> Counter[str]:
    """Make samples again and write what follows; how many records came to what."""
    counts, others, same = Counter[str](), Counter[str](), list[Candidate]()
    for one in stale:
        if names := other_parameters(one):
            others[", ".join(names)] += 1
        else:
            same.append(one)
    for named, count in others.most_common():
        counts[KEEP] += count
        print(f"{KEEP}: {count} records: parameters are others today: {named}")
    planned = groups(same, seed=options.seed)
    if options.equal:
        counts[CARRY] += len(same)
        print(f"{CARRY}: {len(same)} records in {len(planned)} groups: {options.equal}")
        if not options.dry_run:
            every = ((group, one) for group in planned for one in group.records)
            write(root, [(one, stamped(group, one, options.equal)) for group, one in every])
        return counts
    print("\n".join(_announced(planned, options)), flush=True)
    if options.dry_run:
        return counts
    pool = ThreadPoolExecutor(options.cores)
    try:
        waiting = [pool.map(lambda one: verify.judge(one, root), group.drawn) for group in planned]
        for group, judged in zip(planned, waiting, strict=True):
            outcome, because = decided(group, list(judged))
            if outcome == CARRY:
                write(root, [(one, stamped(group, one)) for one in group.records])
            counts[outcome] += len(group.records)
            print(f"{outcome}: {len(group.records)} of {group.name}: {because}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    return counts


def _announced(planned: Sequence[Group], options: argparse.Namespace) -> Iterator[str]:
    """Which records will be made again, and what they cost."""
    for group in planned:
        drawn = ", ".join(one.place for one in group.drawn) or "none"
        yield f"{len(group.records)} of {group.name}: makes again {drawn}"
    all_drawn = [one for group in planned for one in group.drawn]
    many, minutes = len(all_drawn), sum(one.seconds for one in all_drawn) / 60
    yield (
        f"{sum(len(group.records) for group in planned)} records of other code in"
        f" {len(planned)} groups; {many} are made again, chosen by seed {options.seed}: they"
        f" took {minutes:.1f} CPU minutes, and each start takes some seconds"
    )


def _commit(header: Header) -> str:
    return str(header.get("provenance", {}).get("commit", "unknown"))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.carry",
        description="Carry published records over a change of code that leaves them as they are.",
    )
    parser.add_argument("papers", nargs="?", default="", help="with commas; default: all")
    parser.add_argument("--scale", default="", help="default: all scales")
    parser.add_argument("--seed", type=int, default=1, help="decides which records are made again")
    parser.add_argument("--cores", type=int, default=1, help="how many are made at once")
    parser.add_argument(
        "--equal",
        default="",
        metavar="WHY",
        help="carry every group without a run: old and new code were compared, and how",
    )
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="say what would be made again, and stop"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="only check that each published record has a header, today's code and a planned run",
    )
    options = parser.parse_args(arguments)
    if options.cores < 1:
        parser.error(f"--cores: expected a positive number, got {options.cores}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    root = Path()
    try:
        papers = chosen_papers(options.papers) if options.papers else []
        surveyed = survey(root, options.scale, papers)
        errors = surveyed.wrong
        if options.check and surveyed.stale:
            errors.append(
                f"{len(surveyed.stale)} published records are of other code than today's, such as"
                f" {surveyed.stale[0].name}: `make carry` tells whether today's makes the same"
            )
        elif not options.check:
            print(f"{surveyed.current} published records are of today's code")
            counts = carry(root, surveyed.stale, options) if surveyed.stale else Counter[str]()
            if left := counts[KEEP] + counts[OPEN]:
                errors.append(
                    f"{left} records are of other code than today's, or may be, and stay as they"
                    " are: make them anew (FRESH=1), and publish these (`python -m workflow.publish"
                    " --replace`)"
                )
    except (PlanError, BadRecord, TooLarge) as error:
        errors = [str(error)]
    for sentence in errors:
        print(f"error: {sentence}", file=sys.stderr)
    return int(bool(errors))
