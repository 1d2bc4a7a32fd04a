"""Which claims more runs could decide, what these cost, and how likely they are to.

A claim is decided when it is reproduced or contradicted. It is open as long as one of its
comparisons has a look to come and has not decided. What would decide it are the seeds that the next
look of these comparisons lacks, under the default reading. A statement about every run that is
reproduced stays a question: any later seed may refute it. Everything else is told apart: claims
whose last look was taken, and those that no run can decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

from workflow.data import fetch
from workflow.data.places import prepared_path, substitutes_allowed
from workflow.judge import chances
from workflow.judge.chances import Chance, Prior
from workflow.judge.checks import FOR, OF_ALL, Comparison, parts_of
from workflow.judge.claims import Claim, Verdict, by_default, outside
from workflow.judge.evidence import Compared, Evidence, runs_of_claim
from workflow.judge.outcomes import CONTRADICTED, REPRODUCED, STAND_IN
from workflow.measure.statistics import FULL, Look, looks
from workflow.measure.store import BadRecords, NotRun, Run, Store
from workflow.operate.tally import MADE, Results
from workflow.plan import costs, machine, show
from workflow.plan.cells import Paper, Seed
from workflow.plan.reads import Check, settings_of
from workflow.plan.resolve import PlanError

REFERENCE = Path("figures", "reference")
STARTING = 2.0  # CPU seconds of a process beside its runs, imports above all
GROWN = 10  # sets that are tried to be made larger, of each of two orders
Seeds = frozenset[Seed]


@dataclass(frozen=True)
class Part:
    """A comparison with a look to come: the seeds that this lacks, and its chance. One that has
    decided for its claim (`stands`) can only be refuted.
    """

    what: str
    look: int
    needs: Seeds
    chance: Chance
    stands: bool = False


@dataclass(frozen=True)
class Question:
    """A claim that runs may decide. It can only be contradicted any more, not reproduced, where one
    of its comparisons has had its last look without a decision (`is_stuck`).
    """

    paper: str
    claim: str
    now: str
    parts: tuple[Part, ...]
    is_stuck: bool = False

    @property
    def name(self) -> str:
        return f"{self.paper}/{self.claim}"

    @property
    def is_open(self) -> bool:
        """Whether it is not decided: else it is reproduced, and may be refuted."""
        return self.now != REPRODUCED

    @property
    def asked(self) -> tuple[Part, ...]:
        """The comparisons that have not decided; where all have, those that may be refuted."""
        return tuple(part for part in self.parts if not part.stands) or self.parts

    @property
    def needs(self) -> Seeds:
        return frozenset[Seed]().union(*(part.needs for part in self.asked))

    @property
    def is_seen(self) -> bool:
        """Whether seeds say something of all that is asked."""
        return all(part.chance.seen for part in self.asked)

    @property
    def chance(self) -> float:
        """That the next looks decide it."""
        return self.chance_of(self.asked)

    def chance_of(self, done: Collection[Part]) -> float:
        """That it is decided, and was not, when the looks at some of its parts are taken, which are
        taken for independent: all are for it, or one is against it.
        """
        if not self.is_open:
            return 0.0
        left = [part for part in self.parts if not part.stands]
        refuted = 1 - prod(1 - part.chance.against for part in done)
        is_shown = bool(left) and not self.is_stuck and all(part in done for part in left)
        return refuted + is_shown * prod(part.chance.favour for part in left)


@dataclass(frozen=True)
class Choice:
    """Runs that are worth making together: how many claims they decide, to be expected, and in how
    many CPU seconds.
    """

    questions: tuple[Question, ...]
    needs: Seeds
    value: float
    seconds: float

    @property
    def worth(self) -> float:
        return self.value / max(self.seconds, 1e-9)


@dataclass
class Survey:
    """All claims of some papers: the verdict of each, those that are open, and why no run decides
    the others (`apart`).
    """

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    apart: dict[str, str] = field(default_factory=dict)

    def keep(self, name: str, before: Survey) -> None:
        """Take a claim over as it was."""
        if name in before.verdicts:
            self.verdicts[name] = before.verdicts[name]
        if name in before.questions:
            self.questions[name] = before.questions[name]
        if name in before.apart:
            self.apart[name] = before.apart[name]

    @property
    def open(self) -> list[Question]:
        """The claims that runs may decide, without those that stand until they are refuted."""
        return [question for question in self.questions.values() if question.is_open]

    @property
    def decided(self) -> list[str]:
        """The claims that are reproduced or contradicted."""
        return [name for name, one in self.verdicts.items() if is_decided(one)]


def is_decided(verdict: Verdict) -> bool:
    return verdict.verdict in (REPRODUCED, CONTRADICTED)


class Board:
    """The claims of some papers at one scale, as the records below `root` have them, and what a
    seed of each of their runs costs.

    `barred` says why seeds cannot be made; who makes runs adds to it.
    """

    def __init__(self, papers: Sequence[Paper], root: Path = Path()) -> None:
        self.papers, self.root = papers, root
        self.barred: dict[Seed, str] = {}
        self.runs: dict[str, Run] = {run.name: run for paper in papers for run in paper.parts}
        self.seconds: dict[str, float] = {}  # of one seed, CPU
        self._known: set[str] = set()  # runs that have records
        self._states: dict[Seed, str] = {}
        self._prior = Prior()
        self.reopen()
        for paper in papers:
            report = root / REFERENCE / paper.name / "verdicts.json"
            chances.committed(report, paper.name, _claims(paper), self._prior)

    def reopen(self) -> None:
        """Look again at what is published, too, which else is looked up once."""
        self._results = Results(self.papers, self.root)

    def cost(self, needs: Iterable[Seed]) -> float:
        """CPU seconds of some seeds on this machine, with a process for each of their runs."""
        wanted = list(needs)
        started = STARTING * len({name for name, _ in wanted})
        return sum(self.seconds[name] for name, _ in wanted) + started

    def interval(self, needs: Iterable[Seed]) -> tuple[float, float]:
        """Within which CPU seconds some seeds lie in four of five times, by the plan's model; what
        cells that have records take is known.
        """
        counts = Counter(name for name, _ in needs)
        modelled = [name for name in counts if name not in self._known]
        known = [name for name in counts if name in self._known]
        sure = STARTING * len(counts) + sum(counts[name] * self.seconds[name] for name in known)
        low, _, high = costs.together(
            (show.method(self.runs[name]), counts[name], self.runs[name].cost) for name in modelled
        )
        slow = machine.slowness()
        return sure + slow * low, sure + slow * high

    def survey(self, before: Survey | None = None, changed: Collection[str] = ()) -> Survey:
        """Judge all claims, or again those alone that read one of the `changed` runs, by name."""
        self._look()
        found = Survey()
        for paper in self.papers:
            store = Store(paper, self.root, partial=True)
            for claim in _claims(paper):
                name = f"{paper.name}/{claim['id']}"
                if before is not None and not self._reads(paper, claim, changed):
                    found.keep(name, before)
                else:
                    self._judge(paper, store, claim, found)
        self._set_apart(found)
        return found

    def missing(self, needs: Iterable[Seed]) -> list[Seed]:
        """Which of some seeds have no record, as the last survey found them."""
        return [seed for seed in needs if self._states.get(seed) not in MADE]

    def still_missing(self, needs: Iterable[Seed]) -> list[Seed]:
        """Which of some seeds have no record now."""
        self._look()
        return self.missing(needs)

    def _look(self) -> None:
        slow = machine.slowness()
        spent: dict[str, list[float]] = {}
        for run in self._results.runs():
            self._states[run.part.name, run.seed] = run.state
            if run.state in ("done", "published"):
                spent.setdefault(run.part.name, []).append(run.spent)
        for name, part in self.runs.items():
            known = spent.get(name)
            self._known |= {name} if known else set()
            self.seconds[name] = sum(known) / len(known) if known else part.cost.seconds * slow

    def _reads(self, paper: Paper, claim: Claim, changed: Collection[str]) -> bool:
        try:
            return any(run.name in changed for run in runs_of_claim(paper, claim))
        except PlanError:
            return False

    def _judge(self, paper: Paper, store: Store, claim: Claim, found: Survey) -> None:
        """Sort one claim."""
        name = f"{paper.name}/{claim['id']}"
        evidence = Evidence(paper, store, first=FULL)
        try:
            wanted = {run.name: run for run in runs_of_claim(paper, claim)}
            parts = [
                (one["check"], part)
                for one in settings_of(claim)
                for part in parts_of(evidence, one["check"])
            ]
        except PlanError as error:
            found.apart[name] = str(error)
            return
        refused: list[str] = []
        for run in wanted.values():
            try:
                store.check([run])
            except BadRecords:
                refused.append(run.name)
        verdict = None if refused else by_default(paper, store, claim)
        if verdict is not None:
            found.verdicts[name] = verdict
            self._prior.add(paper.name, claim, verdict.comparisons)
            if verdict.verdict == CONTRADICTED:
                return
        if why := self._why_never(evidence, claim, wanted.values(), verdict, parts):
            found.apart[name] = why
            return
        question = self._question(paper, claim, parts, verdict, refused)
        if question.parts:
            found.questions[name] = question
        elif verdict is not None and not is_decided(verdict):
            said = "; ".join(verdict.reasons) or "all looks are taken"
            found.apart[name] = f"{verdict.verdict}: {said}"
        elif verdict is None:
            found.apart[name] = f"records of {', '.join(refused)} are refused: make status"

    def _why_never(
        self,
        evidence: Evidence,
        claim: Claim,
        wanted: Iterable[Run],
        verdict: Verdict | None,
        parts: Sequence[tuple[Check, Compared]],
    ) -> str:
        """Why no run of the plan decides a claim; "" if some may."""
        with suppress(NotRun):  # a hypothesis about a study is known when that was run
            if why := outside(evidence, claim):
                return why
        if not parts:
            return f"nothing to compare at scale {evidence.paper.scale}"
        if not evidence.paper.is_full_size and claim.get("scale") != "any":
            return f"scale {evidence.paper.scale}"
        if verdict is not None:
            late = [why for why in verdict.reasons if why.startswith("an evaluation took too long")]
            if late:
                return late[0]
        if claim.get("data") != "any" and (
            (verdict is not None and STAND_IN in verdict.qualifiers)
            or any(self._is_substituted(run) for run in wanted)
        ):
            return "substituted data"
        if claim.get("deterministic"):
            return ""
        for _, part in parts:
            for run in part.runs:
                planned = evidence.paper.planned(run)
                if len(planned) < looks(len(planned))[0].seeds:
                    few = f"{len(planned)} seed{'s' * (len(planned) != 1)}"
                    return f"the plan has {few} of {run.name}, {looks(0)[0].seeds} are needed"
        return ""

    def _is_substituted(self, run: Run) -> bool:
        """Whether the table that a run would read is a substitute, as far as it is there."""
        name = run.problem_entry.get("data")
        if name is None:
            return False
        path = prepared_path(name, root=self.root, substitutes=substitutes_allowed(run.scale))
        return path.exists() and str(fetch.provenance(path)["data"]).startswith("substitute")

    def _question(
        self,
        paper: Paper,
        claim: Claim,
        parts: Sequence[tuple[Check, Compared]],
        verdict: Verdict | None,
        refused: Collection[str],
    ) -> Question:
        open_parts, is_stuck = [], False
        for place, (check, part) in enumerate(parts):
            known = None if verdict is None else verdict.comparisons[place]
            stands = known is not None and known.decides == FOR
            if known is not None and known.apart:
                continue
            if stands and (check["test"] not in OF_ALL or claim.get("deterministic")):
                continue
            found = self._part(paper, {**claim, "check": check}, part, known, len(parts), refused)
            is_stuck |= found is None and not stands
            open_parts += [replace(found, stands=stands)] if found is not None else []
        now = "records are refused" if verdict is None else verdict.verdict
        return Question(paper.name, claim["id"], now, tuple(open_parts), is_stuck)

    def _part(
        self,
        paper: Paper,
        claim: Claim,
        part: Compared,
        known: Comparison | None,
        many: int,
        refused: Collection[str],
    ) -> Part | None:
        """The next look at a comparison; None where the last one was taken, or has no number."""
        least = min(len(paper.planned(run)) for run in part.runs)
        sure = bool(claim.get("deterministic"))
        plan = (Look(least, 1.0),) if sure else looks(least)
        again = {(run, seed) for run in refused for seed in paper.planned(self.runs[run])}
        for look in plan:
            needs = {
                (run.name, seed) for run in part.runs for seed in paper.planned(run)[: look.seeds]
            }
            needs |= {one for one in again if one[0] in {run.name for run in part.runs}}
            needs = set(self.missing(needs))
            if not needs:
                if known is not None and not known.missing and not known.has_number:
                    return None
                continue
            if sure:
                guess = Chance(0.5, 0.5)
            elif known is None:
                guess = self._prior.chance(claim["check"]["test"], many)
            else:
                lacking = max(
                    sum((run.name, seed) in needs for seed in paper.planned(run)[: look.seeds])
                    for run in part.runs
                )
                guess = chances.chance(
                    known,
                    claim["check"],
                    look,
                    lacking=lacking,
                    many=many,
                    prior=self._prior,
                )
            return Part(part.what, look.seeds, frozenset(needs), guess)
        return None

    def _set_apart(self, found: Survey) -> None:
        """Open claims of which a comparison needs runs that cannot be made."""
        for name, question in list(found.questions.items()):
            needs = frozenset[Seed]().union(*(part.needs for part in question.parts))
            barred = [self.barred[seed] for seed in needs if seed in self.barred]
            if not barred:
                continue
            left = tuple(part for part in question.parts if not self.barred.keys() & part.needs)
            lost = any(not part.stands for part in question.parts if part not in left)
            if left:
                found.questions[name] = replace(
                    question, parts=left, is_stuck=question.is_stuck or lost
                )
                continue
            del found.questions[name]
            if question.is_open:
                found.apart[name] = sorted(barred)[0]


def best(
    questions: Iterable[Question], cost: Callable[[Iterable[Seed]], float], most: float
) -> Choice | None:
    """The runs of at most so many seconds with the most decided claims per second, to be expected:
    those of a comparison, of a claim, or of several claims that share runs, each of which makes the
    set worth more. None where nothing costs so little.

    Every claim counts of which the runs settle something, whether or not it was thought of.
    """
    known = list(questions)
    wanted: dict[Seed, int] = {}
    for question in known:
        for seed in question.needs:
            wanted[seed] = wanted.get(seed, 0) + 1

    def made(needs: Seeds) -> Choice:
        value, served = 0.0, []
        for question in known:
            done = [part for part in question.parts if part.needs <= needs]
            if done:
                value += question.chance_of(done)
                served.append(question)
        return Choice(tuple(served), needs, value, cost(needs))

    starts = {part.needs for question in known for part in question.parts}
    starts |= {question.needs for question in known}
    choices = [one for one in map(made, starts) if one.seconds <= most]
    if not choices:
        return None

    def shared(one: Choice) -> float:
        """Its worth if runs that several claims need cost each of them a part."""
        return one.value / max(1e-9, sum(cost([seed]) / wanted[seed] for seed in one.needs))

    def order(one: Choice) -> tuple[float, list[Seed]]:
        return -one.worth, sorted(one.needs)  # the same whatever the order of a set

    promising = sorted(choices, key=order)[:GROWN]
    promising += sorted(choices, key=lambda one: (-shared(one), sorted(one.needs)))[:GROWN]
    grown = [_grown(one, known, cost, most, made) for one in promising]
    return min(grown, key=order)


def _grown(
    choice: Choice,
    questions: Sequence[Question],
    cost: Callable[[Iterable[Seed]], float],
    most: float,
    made: Callable[[Seeds], Choice],
) -> Choice:
    """A set with the claims added, one after another, that share its runs and raise its worth."""
    while True:
        near = [
            (question.chance / max(cost(question.needs - choice.needs), 1e-9), question)
            for question in questions
            if question.needs & choice.needs and not question.needs <= choice.needs
        ]
        if not near:
            return choice
        _, question = max(near, key=lambda pair: (pair[0], pair[1].name))
        larger = made(choice.needs | question.needs)
        if larger.seconds > most or larger.worth <= choice.worth:
            return choice
        choice = larger


def to_begin_with(
    questions: Iterable[Question],
    cost: Callable[[Iterable[Seed]], float],
    most: float,
    seconds: float,
) -> tuple[Seeds, list[Question]]:
    """Runs of about so many seconds, at most `most`, and the claims that they are for: the first
    ones of the best choice, then of the best one for the other claims, and so on.

    The first comparison of a choice is the one that is likeliest to end the hopes of its claim, per
    second: what is left of the claim is then judged again before it is paid for.
    """
    waiting = {question.name: question for question in questions}
    taken, served = frozenset[Seed](), list[Question]()

    def left(needs: Iterable[Seed]) -> float:
        return cost(seed for seed in needs if seed not in taken)

    while waiting and (not taken or cost(taken) < seconds):
        choice = best(waiting.values(), left, most - cost(taken))
        if choice is None:
            break
        found = _first_of(choice, left, seconds - cost(taken))
        taken |= frozenset[Seed]().union(*(part.needs for part, _ in found))
        for _, question in found:
            if waiting.pop(question.name, None):
                served.append(question)
    return taken, served


def _first_of(
    choice: Choice, cost: Callable[[Iterable[Seed]], float], seconds: float
) -> list[tuple[Part, Question]]:
    """The comparisons of a choice to begin with, of about so many seconds, and at least one."""
    waiting = [
        (part, question)
        for question in choice.questions
        for part in question.parts
        if part.needs <= choice.needs
    ]
    taken, found = frozenset[Seed](), list[tuple[Part, Question]]()
    while waiting and (not found or cost(taken) < seconds):

        def rank(pair: tuple[Part, Question], taken: Seeds = taken) -> tuple[float, str, str]:
            part, question = pair
            more = max(cost(part.needs - taken), 1e-9)
            return -(1 - part.chance.favour) / more, question.name, part.what

        first = min(waiting, key=rank)
        waiting.remove(first)
        taken |= first[0].needs
        found.append(first)
    return found


def ordered(
    questions: Mapping[str, Question], cost: Callable[[Iterable[Seed]], float]
) -> list[tuple[Question, float]]:
    """Open claims by chance per second of the runs that those before them have not paid for, and
    these seconds.
    """
    left, paid, found = dict(questions), frozenset[Seed](), []
    while left:

        def worth(question: Question, paid: Seeds = paid) -> tuple[float, str]:
            return -question.chance / max(cost(question.needs - paid), 1e-9), question.name

        question = min(left.values(), key=worth)
        found.append((question, cost(question.needs - paid)))
        paid |= question.needs
        del left[question.name]
    return found


def _claims(paper: Paper) -> list[Claim]:
    return list(paper.entry.get("claims", []))
