"""How robust the claims of a paper are, from its verdicts.json.

For each claim: in which share of its admissible readings it holds (`votes` says what counts), one
sentence, and the smallest change of readings that would turn it; and how many claims hold as
printed, nearest to the published numbers, in the public code, and under any reading.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workflow.judge import render, sensitivity
from workflow.judge.changes import HOLD, Turn, smallest
from workflow.judge.evidence import runs_of_claim
from workflow.judge.ledger import plain
from workflow.judge.outcomes import (
    CONTRADICTED,
    DIRECTION,
    INCONCLUSIVE,
    NOT_RUN,
    OTHER_CODE,
    REPRODUCED,
    SIDES,
    UNDECIDED,
    group,
    stood_in,
    translated,
)
from workflow.judge.quoting import quoted
from workflow.judge.votes import HOLDS, KINDS, Spec, axes, shares, specifications
from workflow.measure.metrics import metric
from workflow.measure.store import Store
from workflow.plan.paper import Paper
from workflow.plan.selection import algorithm_of
from workflow.trace.atomic import atomic
from workflow.trace.cells import PlanError

PUBLIC = "public code"
WAYS = ("as printed", "nearest", "as in the public code", "under any reading")
HEAD = {
    REPRODUCED: "Holds",
    DIRECTION: "Holds in direction",
    INCONCLUSIVE: "Inconclusive",
    CONTRADICTED: "Contradicted",
    UNDECIDED: "Not decided",
    NOT_RUN: "Not run",
}
# of what a claim may come to; where one reading is not decided, it may still hold
BEST = (REPRODUCED, DIRECTION, INCONCLUSIVE, UNDECIDED, CONTRADICTED, NOT_RUN)
FEW = 4  # names that a sentence lists
OVER_VARIANTS = {
    "max": "largest {} of the variants",
    "min": "smallest {} of the variants",
    "mean": "mean {} of the variants",
    "ratio": "largest over smallest {} of the variants",
    "width": "number of variants with a {} near the best",
}
RULES = """\
*As printed* is the default reading: what the paper says, and where it is silent the answer that
verdicts.md lists under assumptions and deviations. Another *reading* is another answer to a
question that the paper leaves open. The settings that it changes in the runs of a claim are its
*axis*; readings with the same axis are alternatives on it. The paper as printed has one vote, each
axis has one, which its alternatives share equally; readings that come to the same runs count once,
those that change nothing count with the paper as printed. A share is one of all these votes: what
was not run, or may not decide, has a share of its own and is no evidence either way. A *control*
is an experiment of ours that answers no question of the paper; it has no vote.
docs/verdicts.md says more."""


@dataclass(frozen=True)
class Entry:
    """The certificate of one claim. `public` is what it comes to in the public code; "" where no
    reading follows one. `nearest` is what it comes to in the nearest setting; "" for a paper whose
    numbers are not published. `quantity` is what its effects are of, in `unit`. `stand_in` says
    which data take the place of the paper's; "" where none do.
    """

    id: str
    where: str
    says: str
    group: str
    specs: tuple[Spec, ...]
    turn: Turn
    follows: tuple[str, ...]
    public: str
    quantity: str
    unit: str
    stand_in: str = ""
    nearest: str = ""

    @property
    def default(self) -> Spec:
        return self.specs[0]

    @property
    def others(self) -> tuple[Spec, ...]:
        """The paper's other readings."""
        return tuple(spec for spec in self.specs[1:] if not spec.is_control)

    @property
    def controls(self) -> tuple[Spec, ...]:
        return tuple(spec for spec in self.specs if spec.is_control)

    @property
    def best(self) -> str:
        """The best that any of the paper's specifications comes to, in the order of BEST."""
        return min((spec.counts_as for spec in (self.default, *self.others)), key=BEST.index)

    @property
    def agrees(self) -> bool:
        """Whether the public code changes nothing in the runs of the claim, which were made."""
        is_apart = any(set(spec.names) & set(self.follows) for spec in self.others)
        was_run = self.default.outcome.was_run and self.public == self.default.counts_as
        return bool(self.follows) and was_run and not is_apart

    @property
    def sentence(self) -> str:
        """All of it in one sentence, and whether the public code says nothing of it."""
        is_silent = bool(self.follows) and not self.public
        return _sentence(self) + " The public code says nothing of it." * is_silent


def entries(paper: Paper, store: Store, verdicts: Mapping[str, Any]) -> list[Entry]:
    """The certificates of the claims of a verdicts.json that this scale runs.

    Raises PlanError, BadRecords.
    """
    lines = {claim["id"]: claim for claim in paper.entry.get("claims", [])}
    follows = tuple(
        name
        for name, reading in paper.entry.get("readings", {}).items()
        if reading.get("follows") == PUBLIC
    )
    found = []
    for judged in translated(verdicts)["claims"]:
        if judged["id"] not in lines:
            raise PlanError(
                f"claim {judged['id']}: expected it in papers/{paper.name}.yaml, found none: run"
                f" `python -m workflow.report {paper.name} verdicts --scale {paper.scale}`"
            )
        line, specs = lines[judged["id"]], tuple(specifications(judged))
        found.append(
            Entry(
                judged["id"],
                judged["where"],
                judged["says"],
                group(judged.get("qualifiers", ())),
                specs,
                smallest(paper, store, line, specs),
                follows,
                _public(paper, line, specs, follows),
                *quantity_of(line["check"]),
                stood_in(judged.get("data", "")),
                _nearest(paper, judged, specs[0]),
            )
        )
    return found


def counts(found: Iterable[Entry]) -> dict[str, Counter[str]]:
    """How many plain claims come to what, in each of WAYS."""
    kept = [entry for entry in found if not entry.group]
    looks: Sequence[Callable[[Entry], str]] = (
        lambda entry: entry.default.counts_as,
        lambda entry: entry.nearest,
        lambda entry: entry.public,
        lambda entry: entry.best,
    )
    return {
        way: Counter(filter(None, map(look, kept))) for way, look in zip(WAYS, looks, strict=True)
    }


def _nearest(paper: Paper, judged: Mapping[str, Any], default: Spec) -> str:
    """What a claim comes to in the nearest setting; "" where the paper publishes no numbers."""
    if "published" not in paper.entry:
        return ""
    found = judged.get("nearest")
    return str(found["verdict"]) if found else default.counts_as


def _public(
    paper: Paper, line: Mapping[str, Any], specs: Sequence[Spec], follows: Sequence[str]
) -> str:
    """What a claim comes to in the public code; "" if that has none of its methods. As by default
    where it changes none of their runs.

    Where the plan lacks a run of it, nobody has run it.
    """
    if not _can_make(paper, line, follows):
        return ""
    for name in follows:
        for spec in specs:
            if name in spec.names:
                return spec.counts_as
        try:
            runs_of_claim(paper, line, name)
        except PlanError:
            return NOT_RUN
    return specs[0].counts_as


def _can_make(paper: Paper, line: Mapping[str, Any], follows: Sequence[str]) -> bool:
    """Whether the public code has a method of the claim: one whose parameters it sets."""
    sides = [line["check"].get(side) for side in ("left", "right", "curves")]
    methods = {algorithm_of(curve) for side in sides if isinstance(side, list) for curve in side}
    return any(
        (name, "algorithms", method) in paper.reached for name in follows for method in methods
    )


def quantity_of(check: Mapping[str, Any]) -> tuple[str, str]:
    """What the effects of a claim are of, and its unit: its metric, or the column of its study;
    over several variants what these have together, where a ratio and a count have no unit.
    """
    if "metric" not in check:
        return str(check.get("column", check.get("left", ""))), ""
    read = metric(check["metric"])
    label, unit = read.label, read.unit
    if "relative_to" in check:
        label, unit = f"{label} over that of {check['relative_to']}", ""
    if "across" in check:
        label = OVER_VARIANTS[check["across"]].format(label)
        unit = "" if check["across"] in ("ratio", "width") else unit
    return label, unit


def _sentence(entry: Entry) -> str:
    default, others = entry.default, entry.others
    run, idle = _run(entry), _idle(entry)
    if run and len(idle) == len(run) and default.counts_as == UNDECIDED:
        return _nothing_decides(entry)
    is_partial = default.counts_as == NOT_RUN and default.weakest is not None
    head = f"{'Not run in full' if is_partial else HEAD[default.counts_as]} as printed"
    if entry.agrees:
        head += " and in the public code, which agree here"
    if default.counts_as == UNDECIDED and default.outcome.observed in SIDES:
        head += f" (observed: {default.outcome.observed})"
    if not others:
        again = "the readings of it come to the same runs" if default.names[1:] else ""
        return f"{head}; {again or 'no reading tried changes one of its runs'}."
    of = f"{len(run)} of {len(others)} other readings run"
    if not run:
        none = f"none of {len(others)} others was run"
        return f"{head}; {'the one other reading was not run' if len(others) == 1 else none}."
    # what may not decide is no evidence either way, whatever its numbers show
    if len(idle) == len(run):
        return f"{head}; no other reading run may decide it ({of}; observed: {_observed(idle)})."
    if idle:
        one = f"{idle[0].name} may not decide, observed: {idle[0].outcome.observed}"
        several = f"{len(idle)} of them may not decide, observed: {_observed(idle)}"
        of += f"; {one if len(idle) == 1 else several}"
    good = [spec for spec in run if spec.holds]
    public = [spec for spec in good if set(spec.names) & set(entry.follows)]
    rest = [spec for spec in good if spec not in public]
    if not default.holds:
        where = [f"in the public code ({spec.name})" for spec in public]
        if rest:
            where.append(f"under {_listed(rest)}")
        only = f"; holds only {' and '.join(where)}" if where else ""
        tried = "that may decide" if idle else "tried"
        return f"{head}{only or f', and holds under no other reading {tried}'} ({of})."
    if public:
        head += " and in the public code"
    if bad := [spec for spec in run if not spec.holds and spec not in idle]:
        listed = _listed(bad, lambda spec: f"{spec.name} ({spec.counts_as})")
        return f"{head}; not under {listed} ({of})."
    if rest:
        what = "every other reading" if len(rest) > 1 else f"{rest[0].name}, the other reading"
        head += f", and under {what} that was run" + " and may decide" * bool(idle)
    return f"{head} ({of})."


def _run(entry: Entry) -> list[Spec]:
    """The paper's other readings that were run."""
    return [spec for spec in entry.others if spec.outcome.was_run]


def _idle(entry: Entry) -> list[Spec]:
    """Those of them that may not decide."""
    return [spec for spec in _run(entry) if spec.counts_as == UNDECIDED]


def _nothing_decides(entry: Entry) -> str:
    """The sentence of a claim of which nothing that was run may decide: why, where that is the same
    everywhere, and what was observed.
    """
    run, first = _run(entry), entry.default.outcome.observed
    heads = [
        {reason.partition(":")[0] for reason in spec.outcome.reasons}
        for spec in (entry.default, *run)
    ]
    shared = set.intersection(*heads)
    reasons = [reason.partition(":")[0] for reason in entry.default.outcome.reasons]
    why = [reason for reason in dict.fromkeys(reasons) if reason in shared]
    because = f" ({'; '.join(why)})" if why else ""
    same = [spec for spec in run if spec.outcome.observed == first]
    agree = " and in the public code, which agree here," if entry.agrees else ""
    beside = _observed([spec for spec in run if spec not in same])
    untried = len(entry.others) - len(run)
    return (
        f"No reading may decide it{because}; observed: {first} as printed{agree} and under"
        f" {len(same) or 'none'} of {len(run)} other readings run"
        + (f", {beside}" if beside else "")
        + (f"; {untried} more not run" if untried else "")
        + "."
    )


def _observed(specs: Iterable[Spec]) -> str:
    """What was observed under how many readings, the most frequent first."""
    seen = Counter(spec.outcome.observed for spec in specs)
    return ", ".join(f"{kind} under {count}" for kind, count in seen.most_common())


def _listed(specs: Sequence[Spec], say: Callable[[Spec], str] = lambda spec: spec.name) -> str:
    """Some names, the first FEW of them."""
    names = [say(spec) for spec in specs[:FEW]]
    more = [f"{len(specs) - FEW} more"] if len(specs) > FEW else []
    *first, last = [*names, *more]
    return f"{', '.join(first)} and {last}" if first else last


def turned(entry: Entry) -> str:
    """What would have to be true, in one sentence; "" where nothing was tried."""
    turn = entry.turn
    if not turn.singles:
        return ""
    said = [" with ".join(change) for change in turn.changes]
    if not said:
        return _unturned(turn, len(_idle(entry)))
    listed = " or ".join(said[:FEW]) + (f" or {len(said) - FEW} more" if len(said) > FEW else "")
    how = ", composed of runs that were made one at a time" if turn.is_composed else ""
    alike = "; these runs cannot tell which" if len(said) > 1 and turn.goal == HOLD else ""
    return f"It {turn.goal} under {listed}{how}{alike}."


def _unturned(turn: Turn, idle: int) -> str:
    """That nothing tried turns a claim; `idle` of the readings, and some pairs, may not decide, and
    are no evidence that it does not turn.
    """
    is_barred = idle == turn.singles and turn.undecided == turn.tried
    if turn.singles == 1:
        does = "let it hold" if turn.goal == HOLD else "contradict it"
        does = "may not decide it" if is_barred else f"does not {does}"
        return f"The one reading that was run {does}."
    pairs = f", nor of {_many(turn.tried, 'pair')} of them," if turn.tried else ""
    turns = "lets it hold" if turn.goal == HOLD else "contradicts it"
    turns = "may decide it" if is_barred else turns
    barred = [_many(idle, "reading")] * bool(idle)
    barred += [_many(turn.undecided, "pair")] * bool(turn.undecided)
    said = f"; of these {' and '.join(barred)} may not decide" if barred and not is_barred else ""
    untried = (
        f"; {_many(turn.never_run, 'pair')} changing a run in common, or lacking one, never run"
        if turn.never_run
        else ""
    )
    return f"None of {turn.singles} readings run{pairs} {turns}{said}{untried}."


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def as_markdown(
    paper: Paper,
    found: Sequence[Entry],
    *,
    partial: bool,
    mixed: Sequence[str] = (),
) -> str:
    """The certificate for people; `mixed` as in the verdicts."""
    parts = [
        f"# How robust the claims of {quoted(paper.name)} are, scale {quoted(paper.scale)}",
        "A partial report, from the records that existed." if partial else "",
        *mixed,
        _counted(paper, found),
        RULES,
        _table([entry for entry in found if entry.others]),
        _unmoved([entry for entry in found if not entry.others]),
        *(_details(entry) for entry in found if entry.others),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _counted(paper: Paper, found: Sequence[Entry]) -> str:
    kept = [entry for entry in found if not entry.group]
    rows = [
        [way, str(sum(count[kind] for kind in HOLDS)), *(str(count[kind]) for kind in KINDS)]
        for way, count in counts(found).items()
        if count
    ]
    apart = len(found) - len(kept)
    said = f"{len(kept)} claims" + (f"; {apart} that are counted apart are not in it" * bool(apart))
    code = [entry for entry in kept if entry.follows]
    lacks = "" if code else " No reading of this paper is its public code as a whole."
    best = " *Under any reading*: the best that one comes to, where *not decided*"
    best += " is better than *contradicted*."
    return f"{said}.{best}{lacks}\n\n{render.table(['', 'hold', *KINDS], rows)}"


def _table(found: Sequence[Entry]) -> str:
    rows = []
    for entry in found:
        part = shares(entry.specs)
        holds = sum(part[kind] for kind in HOLDS)
        rows.append(
            [
                _link(entry),
                quoted(entry.sentence),
                *(_percent(value) for value in (holds, *part.values())),
                f"{1 + len(entry.others)} on {1 + len(axes(entry.specs))}",
            ]
        )
    columns = ["claim", "", "holds", *KINDS, "specifications on axes"]
    return render.table(columns, rows) if rows else "No reading changes a run of a claim."


def _link(entry: Entry) -> str:
    """A claim with where its verdict stands, and how it is counted where that is apart."""
    apart = f" ({entry.group})" if entry.group else ""
    return f"[{entry.id}](verdicts.md#{entry.id.lower()}){apart}"


def _unmoved(found: Sequence[Entry]) -> str:
    """The claims that no reading changes, by what they come to as printed."""
    lines = []
    for kind in KINDS:
        if links := [_link(entry) for entry in found if entry.default.counts_as == kind]:
            lines.append(f"* {HEAD[kind].lower()} as printed: {', '.join(links)}")
    head = "Claims that no reading changes, so that all of their votes are that of the paper:"
    return "\n".join([head, "", *lines]) if lines else ""


def _details(entry: Entry) -> str:
    """The axes of a claim, and what would turn it."""
    rows = [
        [
            quoted(_setting(axis)),
            "; ".join(quoted(_comes_to(spec)) for spec in alternatives),
        ]
        for axis, alternatives in axes(entry.specs).items()
    ]
    said = turned(entry)
    beside = "; ".join(quoted(_comes_to(spec)) for spec in entry.controls)
    parts = [
        f"## {entry.id}",
        quoted(f"{entry.where}: {entry.says}"),
        quoted(f"{entry.sentence} {said}".strip()),
        render.table(["axis: what its readings change", "readings"], rows),
        f"Controls, which have no vote: {beside}." if beside else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _setting(axis: Sequence[str]) -> str:
    """The first settings of an axis, by their owners; those of a reading are not known where its
    runs are not planned.
    """
    if axis[0].startswith("@"):
        return "not planned at this scale"
    found: dict[str, list[str]] = {}
    for setting in axis[:FEW]:
        owner, _, name = setting.partition(".")
        found.setdefault(owner, []).append(name)
    more = f" and {len(axis) - FEW} more" if len(axis) > FEW else ""
    return "; ".join(f"{owner}: {', '.join(names)}" for owner, names in found.items()) + more


def _names(spec: Spec) -> str:
    """A specification with the readings that are the same."""
    return spec.name + (f" (= {', '.join(spec.names[1:])})" if spec.names[1:] else "")


def _comes_to(spec: Spec) -> str:
    """What a specification comes to, and whether other code made records of it."""
    other = f" ({OTHER_CODE}: {spec.other_code})" if spec.other_code else ""
    return f"{_names(spec)}: {spec.counts_as}{other}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share else "-"


def as_json(paper: Paper, found: Sequence[Entry], *, partial: bool) -> str:
    """The whole certificate, with what a figure of it draws."""
    whole = {
        "paper": paper.name,
        "scale": paper.scale,
        "partial": partial,
        "plain": sum(not entry.group for entry in found),
        "counts": {
            way: {kind: count[kind] for kind in KINDS}
            for way, count in counts(found).items()
            if count
        },
        "claims": [_as_entry(entry) for entry in found],
    }
    return json.dumps(plain(whole), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _as_entry(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "where": entry.where,
        "says": entry.says,
        "group": entry.group,
        "sentence": entry.sentence,
        "turn": turned(entry),
        "changes": asdict(entry.turn),
        "public": entry.public,
        "nearest": entry.nearest,
        "shares": shares(entry.specs),
        "quantity": entry.quantity,
        "unit": entry.unit,
        "stand_in": entry.stand_in,
        "specifications": [
            {
                "names": spec.names,
                "axis": spec.axis,
                "vote": float(spec.vote),
                "control": spec.is_control,
                "counts_as": spec.counts_as,
                "observed": spec.outcome.observed,
                "seeds": spec.outcome.seeds,
                "other_code": spec.other_code,
                "weakest": None if spec.weakest is None else asdict(spec.weakest),
            }
            for spec in entry.specs
        ],
    }


def write(store: Store, folder: Path) -> None:
    """Write certificate.md and certificate.json beside verdicts.json, which is read.

    Raises PlanError, BadRecord.
    """
    paper = store.paper
    read = sensitivity.read(folder / "verdicts.json", paper, partial=store.partial)
    found = entries(paper, store, read)
    paths = [folder / "certificate.md", folder / "certificate.json"]
    partial, mixed = bool(read.get("partial")), read.get("mixed", [])
    texts = [
        as_markdown(paper, found, partial=partial, mixed=mixed),
        as_json(paper, found, partial=partial),
    ]
    for path, text in zip(paths, texts, strict=True):
        with atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
