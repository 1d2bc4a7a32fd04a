"""The report of a paper: `python -m workflow.report PAPER [NAME ...] [--scale S] [-o DIR]`.

NAME is a figure, ranks, profile, picture or table of the paper's YAML, or `verdicts`: these, with
claims by settings, and tables of comparisons, seeds and runs. Without a name all is made, in one
process, so that each record is read once. What is asked for by name is drawn as PDF, too.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

from workflow.draw import settings_map
from workflow.judge import ledger
from workflow.measure.store import NotRun, Store
from workflow.plan.exhibits import Exhibit, lines_of
from workflow.plan.expand import load
from workflow.plan.nearest import or_nearest
from workflow.plan.paper import Paper
from workflow.trace.curves import PlanError
from workflow.trace.record import BadRecord

VERDICTS = "verdicts"


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    folder = options.output or Path("figures", options.scale, options.paper)
    # the workflow may put all folders elsewhere
    root = folder.parents[2] if options.rooted else Path()
    try:
        paper = load(options.paper, options.scale, seeds=options.seeds)
        store = Store(paper, root, published=Path(), partial=options.partial, fresh=options.fresh)
        known = everything(paper)
        names = options.names or known
        if wrong := [name for name in names if name not in known]:
            raise PlanError(
                f"papers/{paper.name}.yaml: no exhibit {wrong[0]!r} at scale"
                f" {paper.scale}{or_nearest(wrong[0], known)}"
            )
    except PlanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    failed = complaints(store, names, folder, printed=bool(options.names))
    for sentence in failed.values():
        print(f"error: {sentence}", file=sys.stderr)
    if made := [name for name in names if name not in failed]:
        print(f"wrote {', '.join(made)} to {folder}", file=sys.stderr)
    return 1 if failed else 0


def exhibits(paper: Paper) -> dict[str, Exhibit]:
    """The exhibits of a paper at its scale, by name."""
    return {line.id: kind for kind, line in lines_of(paper.entry)}


def everything(paper: Paper) -> list[str]:
    """All that a report of a paper has. Verdicts are first: they say what the records are like that
    they have read, which exhibits would add to.
    """
    return [VERDICTS, *exhibits(paper)]


def complaints(
    store: Store, names: Iterable[str], folder: Path, *, printed: bool = False
) -> dict[str, str]:
    """Make some exhibits, or `verdicts`, in a folder; why some could not be made, by name. Figures
    are drawn as PDF, too, where they are to be `printed`.
    """
    kinds, failed = exhibits(store.paper), dict[str, str]()
    for name in names:
        try:
            if name == VERDICTS:
                _judge(store, folder)
            else:
                # a picture needs libraries that no other exhibit does
                program = importlib.import_module(f"workflow.{kinds[name].program}")
                how = {"printed": True} if printed and kinds[name].has_print else {}
                program.draw(store.paper, store, name, folder, **how)
        except (PlanError, BadRecord, NotRun) as error:
            failed[name] = str(error)
        except OSError as error:
            failed[name] = f"{folder}: {error}: free space, or say another folder with -o"
    return failed


def _judge(store: Store, folder: Path) -> None:
    """Verdicts, and all that is made from them."""
    settings_map.write(store.paper, ledger.write(store, folder), folder)


def _parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="python -m workflow.report", description=__doc__)
    options.add_argument("paper")
    options.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    options.add_argument("--scale", default="paper")
    options.add_argument(
        "--rooted",
        action="store_true",
        help="read the results/ that lie beside the figures/ of -o .../figures/SCALE/PAPER",
    )
    options.add_argument(
        "--seeds", default="", help="report on these seeds alone: one, or a range such as 0-4"
    )
    options.add_argument(
        "--partial",
        action="store_true",
        help="report on the records that exist, and say which are missing or of other code",
    )
    options.add_argument(
        "--fresh",
        action="store_true",
        help="report on the records of results/ alone, not on published ones",
    )
    options.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="default: figures/SCALE/PAPER"
    )
    return options
