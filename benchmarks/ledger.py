"""What was measured, as rows: ratios, shares of the limit, exponents; CSV and Markdown of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import Machine
from benchmarks.race import Size, Spread, Task, Work
from benchmarks.steps import FAMILIES

LAST = 3  # points, from whose slope an exponent is fitted
HALF = 0.5


@dataclass(frozen=True)
class Row:
    """One work at one size. Seconds are CPU seconds on one thread; nan where there is no peer."""

    family: str
    work: str
    axis: str
    size: str
    value: float  # of the axis
    ours: float
    ours_low: float
    ours_high: float
    ours_turns: int
    peer: str
    theirs: float
    theirs_low: float
    theirs_high: float
    theirs_turns: int
    ratio: float  # theirs over ours
    flops: float
    bytes: float
    limit: float
    limit_share: float
    bound: str  # which of the two rates gives the limit

    @property
    def curve(self) -> tuple[str, str, str, str]:
        """The rows of one curve have this in common."""
        return self.family, self.work, self.peer, self.axis


@dataclass(frozen=True)
class Curve:
    """Exponents of one work along one axis, fitted at its last points: nan with fewer than two."""

    ours: float
    theirs: float
    limit: float  # of what was counted
    theory: float
    theory_of_peer: float


def row(work: Work, size: Size, task: Task, spreads: Sequence[Spread], machine: Machine) -> Row:
    """From the spreads of ours and, if it was there, the peer's."""
    nan = float("nan")
    ours, theirs = spreads[0], spreads[1] if len(spreads) > 1 else Spread(nan, nan, nan, 0)
    limit = task.effort.seconds(machine.flops_per_second, machine.bytes_per_second)
    by_flops = task.effort.flops / machine.flops_per_second >= limit
    return Row(
        work.family,
        work.name,
        work.axis,
        ", ".join(f"{letter} = {value}" for letter, value in size.items()),
        float(size[work.axis]),
        ours.median,
        ours.low,
        ours.high,
        ours.turns,
        work.peer,
        theirs.median,
        theirs.low,
        theirs.high,
        theirs.turns,
        theirs.median / ours.median,
        task.effort.flops,
        task.effort.bytes,
        limit,
        limit / ours.median,
        "flops" if by_flops else "bytes",
    )


def told(row: Row) -> str:
    """A line for who waits."""
    beside = f"{row.peer} {row.theirs:.4g} s, ratio {row.ratio:.2f}, " if row.theirs_turns else ""
    return (
        f"{row.family}: {row.work}, {row.size}: {row.ours:.4g} s, {beside}"
        f"{row.limit_share:.2f} of the limit"
    )


def exponent(x: Sequence[float], seconds: Sequence[float]) -> float:
    """The slope of ln seconds over ln x by least squares at the LAST largest x; nan for fewer than
    two points.
    """
    known = sorted((at, spent) for at, spent in zip(x, seconds, strict=True) if np.isfinite(spent))[
        -LAST:
    ]
    if len(known) < 2:
        return float("nan")
    logs = np.log(np.array(known))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def curve(rows: Sequence[Row], work: Work) -> Curve:
    """Of the rows of one work along its axis."""
    x = [each.value for each in rows]
    ours, theirs = work.exponents
    return Curve(
        exponent(x, [each.ours for each in rows]),
        exponent(x, [each.theirs for each in rows]),
        exponent(x, [each.limit for each in rows]),
        ours,
        float("nan") if theirs is None else theirs,
    )


def write_csv(path: Path, rows: Iterable[Row]) -> None:
    """All rows; columns are the fields of Row."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [each.name for each in fields(Row)], lineterminator="\n")
        table.writeheader()
        for each in rows:
            table.writerow({name: _number(value) for name, value in asdict(each).items()})


def read_csv(path: Path) -> list[Row]:
    """What `write_csv` wrote."""
    kinds: Mapping[str, Any] = {"str": str, "float": float, "int": int}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Row(**{each.name: kinds[str(each.type)](line[each.name]) for each in fields(Row)})
            for line in csv.DictReader(file)
        ]


def markdown(
    rows: Sequence[Row],
    works: Sequence[Work],
    machine: Machine,
    missing: Mapping[str, str],
    note: str,
) -> str:
    """The page: machine, one table and one list of words a family. `missing` says of peers that
    are not installed how to install them.
    """
    parts = [
        "# Our steps beside those of other libraries",
        "",
        *([f"**{note}**", ""] if note else []),
        "Written by `make bench`. Seconds are CPU seconds of one thread, the median of turns in"
        " which the two sides alternate in one process, with the least and the largest. The ratio"
        " is theirs over ours: more than 1 means that ours is faster. The limit is what counted"
        " flops and bytes would take at this machine's rates; the share is the limit over our"
        " median. Formulas and what they leave out: `benchmarks/effort.py`.",
        "",
        f"Machine: {machine.name}, commit {machine.commit}, at most {machine.threads} thread."
        f" One thread multiplies matrices at {machine.flops_per_second / 1e9:.0f} Gflop/s and moves"
        f" {machine.bytes_per_second / 1e9:.1f} GB/s in a triad beyond its caches.",
        "",
        "Versions: "
        + ", ".join(f"{name} {number}" for name, number in machine.versions.items())
        + ".",
        *(["", *(f"- {peer}: {words}" for peer, words in missing.items())] if missing else []),
    ]
    for family, heading in FAMILIES.items():
        own = [work for work in works if work.family == family]
        if any(each.family == family for each in rows):
            parts += ["", f"## {heading}", "", f"![{heading}]({family}.png)"]
            parts += _tables(rows, own)
    return "\n".join(parts) + "\n"


def _tables(rows: Sequence[Row], works: Sequence[Work]) -> list[str]:
    """One table a work and peer, its axes one after another, and what there is to say about it."""
    parts: list[str] = []
    for key in dict.fromkeys((work.name, work.peer) for work in works):
        own = [work for work in works if (work.name, work.peer) == key]
        beside = f" beside {key[1]}" if key[1] else ""
        lines, exponents, shares = [], [], []
        for work in own:
            of_axis = [
                each
                for each in rows
                if each.curve == (work.family, work.name, work.peer, work.axis)
            ]
            lines += [_line(each) for each in of_axis]
            shares += [each.limit_share for each in of_axis]
            if len(of_axis) > 1:
                exponents.append(_exponents(work.axis, curve(of_axis, work)))
        if not lines:
            continue
        parts += [
            "",
            f"### {key[0]}{beside}",
            "",
            "| size | ours s | theirs s | ratio | Gflop | GB | limit s | limit share |",
            "|---|---|---|---|---|---|---|---|",
            *lines,
            "",
            *exponents,
            f"- The same work? {_sentence(own[0].same)}",
            f"- {_reached(shares, own[0].below)}",
        ]
    return parts


def _reached(shares: Sequence[float], below: str) -> str:
    """Whether half of the limit was reached, and why not."""
    reached = sum(share >= HALF for share in shares)
    said = f"At {reached} of {len(shares)} sizes we reach half of the limit or more."
    return said if reached == len(shares) else f"{said} Where not: {_sentence(below)}"


def _exponents(axis: str, found: Curve) -> str:
    theirs = (
        f"; theirs {found.theirs:.1f}, in theory {found.theory_of_peer:.0f}"
        if np.isfinite(found.theirs)
        else ""
    )
    return (
        f"- Exponent in {axis} at the last points: ours {found.ours:.1f}, in theory"
        f" {found.theory:.0f}, of what was counted {found.limit:.1f}{theirs}."
    )


def _line(row: Row) -> str:
    theirs = _spread(row.theirs, row.theirs_low, row.theirs_high) if row.theirs_turns else "-"
    ratio = f"{row.ratio:.2f}" if row.theirs_turns else "-"
    ours = _spread(row.ours, row.ours_low, row.ours_high)
    return (
        f"| {row.size} | {ours} | {theirs} | {ratio} | {row.flops / 1e9:.3g}"
        f" | {row.bytes / 1e9:.3g} | {row.limit:.2g} | {row.limit_share:.2f}, {row.bound} |"
    )


def _spread(middle: float, low: float, high: float) -> str:
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _number(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value
