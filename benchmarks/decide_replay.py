"""Replay `make decide` on recorded runs: `python -m benchmarks.decide_replay [PAPERS]`.

The records that are published are all that can be run, and cost what they say that they have cost.
`decide` starts from nothing, sees only the seeds that it has asked for, and knows of their cost
what the plan's model says until it has some. Its verdicts are compared with those of all records.
It has no verdict that was committed to learn its priors from, since these are of the same runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from workflow.judge.claims import by_default
from workflow.measure.shelf import Shelf
from workflow.measure.store import Store, without_published
from workflow.operate.decide import HOUR, SCALE, decide
from workflow.operate.undecided import Board, Seeds, Survey
from workflow.plan.cells import PUBLISHED, Paper, Seed
from workflow.plan.expand import chosen_papers, load
from workflow.plan.reads import runs_of_claim
from workflow.plan.resolve import ROOT
from workflow.trace import curve_file


class Replay:
    """Makes runs by publishing recorded ones below `root`, for as many CPU seconds as they took."""

    def __init__(self, recorded: Path, root: Path) -> None:
        self.cores, self.is_stopped, self.spent = 1, False, 0.0
        self.root, self._shelf = root, Shelf(recorded)

    def make(self, board: Board, needs: Seeds, most: float) -> dict[Seed, str]:
        """Publish some seeds, one after another, while the time lasts."""
        limit = self.spent + most
        for name in sorted({name for name, _ in needs}):
            run = board.runs[name]
            kept = curve_file.read(self._shelf.place(run))
            asked = {}
            for seed in sorted(seed for other, seed in needs if other == name):
                seconds = float(kept[seed].header.get("cpu_seconds", 0.0))
                if self.spent + seconds > limit:
                    self.is_stopped = True
                    break
                self.spent += seconds
                asked[seed] = kept[seed]
            if asked:
                curve_file.merge(self.root / run.published, run.labels, asked)
        board.reopen()
        return {}


class Watched(Board):
    """Remembers what was spent when the last claim was decided."""

    maker: Replay
    decided, after = 0, 0.0

    def survey(self, before: Survey | None = None, changed: Collection[str] = ()) -> Survey:
        found = super().survey(before, changed)
        if len(found.decided) > self.decided:
            self.decided, self.after = len(found.decided), self.maker.spent
        return found


@dataclass(frozen=True)
class Outcome:
    """What a replay came to: verdicts by claim, and CPU seconds of what `decide` has run until the
    last claim was decided and until nothing was left, of all runs that claims read, and of
    everything that is recorded.
    """

    verdicts: Mapping[str, str]
    whole: Mapping[str, str]
    after: float
    spent: float
    read: float
    recorded: float

    @property
    def differing(self) -> list[str]:
        return [name for name, verdict in self.whole.items() if self.verdicts[name] != verdict]


def replayed(papers: list[Paper], checkout: Path, root: Path) -> Outcome:
    """Replay papers on the published records of a checkout, in the empty folder `root`."""
    published, recorded, root = checkout / PUBLISHED, root / "all", root / "part"
    (recorded / PUBLISHED.parent).mkdir(parents=True)
    (recorded / PUBLISHED).symlink_to(published.resolve())
    lent = {seed for paper in papers for seed in without_published(paper, recorded).lent}
    maker, board = Replay(recorded, root), Watched(papers, root)
    board.maker = maker
    seeds = {(name, seed) for name, run in board.runs.items() for seed in run.seeds}
    board.barred = {seed: f"{seed[0]} seed {seed[1]}: not recorded" for seed in seeds - lent}
    decide(board, maker, float("inf"), lambda line: None)
    verdicts, whole, read = {}, {}, set()
    for paper in papers:
        ours, theirs = (Store(paper, place, partial=True) for place in (root, recorded))
        for claim in paper.entry.get("claims", []):
            name = f"{paper.name}/{claim['id']}"
            verdicts[name] = by_default(paper, ours, claim).verdict
            whole[name] = by_default(paper, theirs, claim).verdict
            read |= {run.name for run in runs_of_claim(paper, claim)}
    shelf = Shelf(recorded)
    cost = {
        (name, seed): float(header.get("cpu_seconds", 0.0))
        for name, run in board.runs.items()
        for seed, header in shelf.headers(run).items()
        if (name, seed) in lent
    }
    return Outcome(
        verdicts,
        whole,
        board.after,
        maker.spent,
        sum(seconds for (name, _), seconds in cost.items() if name in read),
        sum(cost.values()),
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decide_replay", description=__doc__)
    parser.add_argument("papers", nargs="?", default="", help="with commas; default: all")
    options = parser.parse_args(arguments)
    heads = ["paper", "claims", "same verdict", "decided", "core-hours until then"]
    heads += ["until nothing is left", "of all runs that claims read", "of all records"]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    differing: list[str] = []
    for name in chosen_papers(options.papers):
        with tempfile.TemporaryDirectory() as folder:
            found = replayed([load(name, SCALE)], ROOT, Path(folder))
        differing += found.differing
        counts = Counter(found.whole.values())
        same = len(found.whole) - len(found.differing)
        decided = counts["reproduced"] + counts["contradicted"]
        hours = [
            f"{seconds / HOUR:.3f}"
            for seconds in (found.after, found.spent, found.read, found.recorded)
        ]
        print(f"| {name} | {len(found.whole)} | {same} | {decided} | {' | '.join(hours)} |")
    for name in differing:
        print(f"another verdict: {name}", file=sys.stderr)
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
