"""What would have to be true: the smallest change of readings that turns a claim.

First one reading, then two. Two readings that change different runs of a claim can be composed of
records that were made one at a time; where they change the same run, nobody has run the two
together, and that pair is counted as never run. No record is made here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from workflow.judge.claims import Claim, composed
from workflow.judge.outcomes import CONTRADICTED, NOT_RUN, UNDECIDED
from workflow.judge.votes import HOLDS, Spec
from workflow.measure.store import Store
from workflow.plan.paper import Paper

HOLD, OVERTURN = "holds", "is contradicted"


@dataclass(frozen=True)
class Turn:
    """The smallest changes under which a claim comes to its `goal`: each is one reading, or else
    each is two; none where nothing tried does. `tried` and `never_run` count pairs, and `undecided`
    those tried that may not decide.
    """

    goal: str
    changes: tuple[tuple[str, ...], ...]
    singles: int
    tried: int = 0
    never_run: int = 0
    undecided: int = 0

    @property
    def is_composed(self) -> bool:
        """Whether it needs two readings."""
        return any(len(change) > 1 for change in self.changes)


def smallest(paper: Paper, store: Store, claim: Claim, specs: Sequence[Spec]) -> Turn:
    """What makes a claim hold that does not by default, or contradicts one that does."""
    default = specs[0]
    others = [spec for spec in specs[1:] if spec.outcome.was_run and not spec.is_control]
    goal, wanted = (OVERTURN, (CONTRADICTED,)) if default.holds else (HOLD, HOLDS)
    alone = [(spec.name,) for spec in _ordered(others, wanted)]
    if alone:
        return Turn(goal, tuple(alone), len(others))
    found, tried, never, undecided = list[tuple[str, str]](), 0, 0, 0
    for one, two in combinations(others, 2):
        verdict = composed(paper, store, claim, [one.name, two.name])
        if verdict is None or verdict.observed == NOT_RUN:
            never += 1
            continue
        tried += 1
        undecided += verdict.verdict == UNDECIDED
        if verdict.verdict in wanted:
            found.append((one.name, two.name))
    return Turn(goal, tuple(found), len(others), tried, never, undecided)


def _ordered(specs: Sequence[Spec], wanted: Collection[str]) -> Iterator[Spec]:
    """Those that come to a wanted verdict, in the order of these."""
    for verdict in wanted:
        yield from (spec for spec in specs if spec.counts_as == verdict)
