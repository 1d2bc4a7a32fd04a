"""The command line that the programs of a report share: figures, ranks, pictures, tables, verdicts
and the list of runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from workflow.measure.store import NotRun, Store
from workflow.plan.cells import Paper
from workflow.plan.expand import load
from workflow.plan.resolve import PlanError
from workflow.trace.record import BadRecord

Maker = Callable[[Paper, Store, str, Path], Sequence[Path]]


def main(
    program: str, about: str | None, make: Maker, arguments: list[str] | None, *, what: str = ""
) -> int:
    """Let `make(paper, store, name, folder)` write files and say which; 1 and a sentence where it
    refuses to.

    `what` is the kind of thing in the paper's YAML that the command line names; without it the name
    is "".
    """
    options = _parser(program, about, what).parse_args(arguments)
    folder = options.output or Path("figures", options.scale, options.paper)
    try:
        paper = load(options.paper, options.scale, seeds=options.seeds)
        paths = make(
            paper,
            Store(
                paper,
                partial=options.partial,
                fresh=options.fresh,
                other_code=options.other_code,
            ),
            getattr(options, what) if what else "",
            folder,
        )
    except (PlanError, BadRecord, NotRun) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"wrote {', '.join(map(str, paths))}", file=sys.stderr)
    return 0


def _parser(program: str, about: str | None, what: str) -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog=f"python -m workflow.{program}", description=about)
    options.add_argument("paper")
    if what:
        options.add_argument(what)
    options.add_argument("--scale", default="quick")
    options.add_argument(
        "--seeds",
        default="",
        help="report on these seeds alone: one, or a range such as 0-4",
    )
    options.add_argument(
        "--partial",
        action="store_true",
        help="report on the records that exist, and say which are missing",
    )
    options.add_argument(
        "--fresh",
        action="store_true",
        help="report on the records of results/ alone, not on published ones",
    )
    options.add_argument(
        "--other-code",
        action="store_true",
        help="admit published records that other code made, where there are no others",
    )
    options.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="default: figures/SCALE/PAPER"
    )
    return options
