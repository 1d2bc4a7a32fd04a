"""Draw and commit what has been run: `python -m workflow.reference [PAPERS] [--cores N]`, called by
`make reference`.

For each paper the largest scale that has records is drawn from whatever seeds are there, and
figures/reference/<paper>/ is replaced by its pictures, tables, verdicts and compact records; then
the tables of docs/which-method.md are written anew. `--check` draws nothing: it fails where these
do not say what figures/reference holds, and where the report of a paper lacks what others have.
`--agreement` compares reports that were drawn elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import joblib

from workflow.draw import report
from workflow.measure.store import Store
from workflow.operate import comparison
from workflow.plan.exhibits import LEDGER, REGISTRY, lines_of
from workflow.plan.expand import chosen_papers, load
from workflow.plan.paper import Paper
from workflow.plan.reader import read
from workflow.plan.resolve import lasting
from workflow.trace.curves import PUBLISHED, PlanError

REFERENCE = Path("figures", "reference")
PAGE = Path("docs", "which-method.md")  # whose tables are written anew
COMPARISON = "today"  # of the papers' methods with other libraries'
MOST = 5  # files that a sentence names


def draw(name: str, folder: Path) -> str:
    """Draw the report of one paper into a folder, from the records that are there; returns their
    scale. Raises PlanError.
    """
    paper = largest(name)
    store, kinds = Store(paper, partial=True), report.exhibits(paper)
    failed = report.complaints(store, report.everything(paper), folder)
    # one of no runs at all is left out
    blocking = [
        said for one, said in failed.items() if one not in kinds or not kinds[one].is_optional
    ]
    if blocking:
        raise PlanError(
            f"{name}: {len(blocking)} parts could not be made, so the committed report stays as it"
            f" was: {'; '.join(blocking[:3])}"
        )
    return paper.scale


def redrawn(name: str) -> tuple[bool, str]:
    """Put the report of one paper in the place of the committed one; whether that went well, and
    what is to be told.
    """
    try:
        with tempfile.TemporaryDirectory() as folder:
            scale = draw(name, Path(folder))
            return True, f"wrote {replace(name, Path(folder))}, scale {scale}"
    except PlanError as error:
        return False, f"error: {error}"


def largest(name: str) -> Paper:
    """The plan of a paper at the last of its scales that has records.

    Raises PlanError where none has.
    """
    for scale in reversed(list(read(name)["scales"])):
        places = (Path("results", scale, name), PUBLISHED / scale / name)
        if any(path for place in places for path in place.rglob("*.parquet")):
            return load(name, scale)
    raise PlanError(
        f"{name}: expected records in results/<scale>/{name}/ or published ones, found none: run"
        f" make figures SCALE=smoke PAPERS={name} first"
    )


def replace(name: str, drawn: Path) -> Path:
    """Put a drawn report in the place of the committed one; what shows nothing is left out.

    Raises PlanError where that would lose a figure or table that the paper's YAML still has.
    """
    kept = REFERENCE / name
    empty = {path.stem for path in drawn.glob("*.json") if _is_empty(path)}
    shown = {ending for kind in REGISTRY.values() for ending in kind.shown}
    new = [
        path
        for path in sorted(drawn.iterdir())
        if path.name in LEDGER
        or (path.suffix.removeprefix(".") in shown and path.stem not in empty)
    ]
    planned = {line.id for _, line in lines_of(read(name))}
    lost = sorted(planned & {path.stem for path in kept.glob("*.*")} - {path.stem for path in new})
    if lost:
        raise PlanError(
            f"{name}: expected what {kept} has, found no runs of {', '.join(lost)}, so the"
            f" committed report stays as it was: make them (`make figures SCALE=paper"
            f" PAPERS={name}`), or delete these files first, if they are to go"
        )
    made = drawn / "committed"  # whole before the old report goes
    made.mkdir()
    for path in new:
        path.rename(made / path.name)
    shutil.rmtree(kept, ignore_errors=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, kept)
    return kept


def tables() -> dict[str, list[str]]:
    """The generated parts of a page by their names."""
    return {
        "methods": comparison.table(REFERENCE / COMPARISON),
        "judged-again": comparison.judged_again(REFERENCE / COMPARISON),
    }


def lacking() -> list[str]:
    """What committed reports lack, in sentences: of the ledger what another one has, and of an
    exhibit that is there files that its kind has.
    """
    known = {path.parent.name for path in REFERENCE.glob("*/verdicts.json")}
    ledger = [name for name in LEDGER if any((REFERENCE / one / name).exists() for one in known)]
    sentences = []
    for paper in sorted(known):
        wanted = list(ledger)
        for kind, line in lines_of(read(paper)):
            files = [f"{line.id}.{end}" for end in kind.endings(line) if end in kind.shown]
            if any((REFERENCE / paper / name).exists() for name in files):
                wanted += files
        if missing := [name for name in wanted if not (REFERENCE / paper / name).exists()]:
            sentences.append(
                f"{REFERENCE / paper}: expected {', '.join(missing)} as in other reports, found"
                f" none: draw it anew (`make reference PAPERS={paper}`)"
            )
    return sentences


def agreement(drawn: Path) -> str:
    """How many files of reports below a folder are the committed ones, and which are not."""
    kept = {path: REFERENCE / path.relative_to(drawn) for path in sorted(drawn.rglob("*.*"))}
    both = {path: one for path, one in kept.items() if one.is_file()}
    unlike = [
        str(one.relative_to(REFERENCE))
        for path, one in both.items()
        if path.read_bytes() != one.read_bytes()
    ]
    more = f", and {len(unlike) - MOST} more" if len(unlike) > MOST else ""
    others = f"; unlike are {', '.join(unlike[:MOST])}{more}" if unlike else ""
    alike = f"{len(both) - len(unlike)} of {len(both)} drawn files"
    return f"{alike} are those of {REFERENCE}, bit for bit{others}"


def put(page: str, name: str, lines: Iterable[str]) -> str:
    """A page with one generated part written anew; one without its marks stays as it is."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    head, mark, rest = page.partition(begin)
    return "\n".join([head + begin, *lines, end + rest.partition(end)[2]]) if mark else page


def _is_empty(path: Path) -> bool:
    """Whether a figure shows nothing, since none of its runs was made."""
    panels = json.loads(path.read_text(encoding="utf-8")).get("panels")
    return panels is not None and not any(panel["lines"] or panel["dots"] for panel in panels)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.reference", description=__doc__)
    parser.add_argument("papers", nargs="?", default="", help="with commas; default: all")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--check",
        action="store_true",
        help="only check that the page is up to date and no report lacks what others have",
    )
    parser.add_argument(
        "--agreement",
        type=Path,
        metavar="FOLDER",
        help="only say how many files of reports drawn there are the committed ones",
    )
    options = parser.parse_args(arguments)
    if options.agreement:
        print(agreement(options.agreement))
        return 0
    status = 0
    try:
        names = [] if options.check else chosen_papers(options.papers or ",".join(lasting()))
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    # processes that are forked need not import again what this one has
    pool = joblib.Parallel(min(options.cores, len(names)) or 1, backend="multiprocessing")
    for is_drawn, sentence in pool(map(joblib.delayed(redrawn), names)):
        print(sentence, file=sys.stderr)
        status |= not is_drawn
    errors = lacking() if options.check else []
    before = after = PAGE.read_text(encoding="utf-8")
    for part, lines in tables().items():
        after = put(after, part, lines)
    if before != after and options.check:
        errors.append(
            f"{PAGE} is out of date with figures/reference: run python -m workflow.reference"
        )
    elif before != after:
        PAGE.write_text(after, encoding="utf-8")
    for sentence in errors:
        print(f"error: {sentence}", file=sys.stderr)
    return int(bool(errors)) or status
