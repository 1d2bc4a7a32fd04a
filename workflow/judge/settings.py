"""Verdicts under all settings, as one table, and what follows from the table.

`frame` has a row for each comparison of a claim under a setting: the paper as printed, or a reading
that changes a run of the claim. All else here is a group-by of the table: how many claims hold in
which way, the matrix of claims and settings, and one sentence a claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import pandas as pd

from workflow.judge import render
from workflow.judge.claims import AS_PRINTED, Outcome, Verdict
from workflow.judge.outcomes import (
    CONTRADICTED,
    DIRECTION,
    HOLDS,
    INCONCLUSIVE,
    KINDS,
    NOT_RUN,
    REPRODUCED,
    SYMBOLS,
    UNDECIDED,
    group,
)
from workflow.judge.render import quoted
from workflow.plan.paper import Paper
from workflow.plan.reads import known_readings, runs_of_claim
from workflow.plan.statements import ClaimEntry
from workflow.trace.curves import PlanError, algorithm_of

PUBLIC = "public code"
WAYS = (AS_PRINTED, "nearest", "as in the public code", "under any reading")
# of what a claim may come to; where one reading is not decided, it may still hold
BEST = (REPRODUCED, DIRECTION, INCONCLUSIVE, UNDECIDED, CONTRADICTED, NOT_RUN)
FEW = 4  # settings that a sentence names
NUMBERS = ["kind", "effect", "low", "high", "p", "p_flip", "n", "decides"]
COLUMNS = [
    *("claim", "setting", "comparison", *NUMBERS, "outcome", "observed", "reasons", "seeds"),
    *("runs", "same_runs", "control"),
]
CSV = [column for column in COLUMNS if column not in ("kind", "reasons", "runs", "same_runs")]
RULES = """\
*As printed* is the paper as printed, with the assumptions of verdicts.md. Another setting is a
*reading*: another answer to a question that the paper leaves open. *Under any reading*: the best
that one comes to, where *not decided* is better than *contradicted*. A *control* is an experiment
of ours, and counts for nothing. A sentence counts the settings that decide the claim.

✓ reproduced, ≈ direction only, ± inconclusive, ✗ contradicted, - no number, · not run. `?`: the
numbers show this and may not decide. = same run: the setting gives the default's runs, and is no
independent evidence. Blank: the setting changes no run of the claim, or the plan lacks a run."""
OF_NEAREST = """\
The column of the nearest reading rests on its own numbers, as any other. The row *nearest* asks
more: its runs must come near to the published numbers, too."""


def frame(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """All comparisons of all claims under all settings, with COLUMNS.

    The weakest comparison of a claim comes first; a claim without comparisons has one row.
    """
    rows = [
        {"claim": verdict.id, "setting": setting, **_of_outcome(outcome), **numbers}
        for verdict in verdicts
        for setting, outcome in verdict.settings.items()
        for numbers in _of_comparisons(outcome)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _of_outcome(outcome: Outcome) -> dict[str, object]:
    plain = {name: getattr(outcome, name) for name in ("observed", "seeds", "runs", "same_runs")}
    return {
        "outcome": outcome.counts_as,
        "reasons": "; ".join(outcome.reasons),
        "control": outcome.control,
        **plain,
    }


def _of_comparisons(outcome: Outcome) -> list[dict[str, object]]:
    return [
        {
            "comparison": one.what,
            "decides": one.decides,
            **{name: value for name, value in asdict(one).items() if name in NUMBERS},
        }
        for one in sorted(outcome.comparisons, key=lambda one: one.weakness)
    ] or [{"comparison": "", "kind": "", "n": 0, "decides": ""}]


def by_setting(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each claim and setting, with its weakest comparison."""
    weakest = table.drop_duplicates(["claim", "setting"])
    return weakest.assign(is_same=(weakest["runs"] > 0) & (weakest["runs"] == weakest["same_runs"]))


def others(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Of each claim the other settings that may say something else than the paper as printed."""
    weakest = by_setting(table)
    kept = (weakest["setting"] != AS_PRINTED) & ~weakest["is_same"] & ~weakest["control"]
    return {str(claim): rows for claim, rows in weakest[kept].groupby("claim", sort=False)}


def as_printed(table: pd.DataFrame) -> dict[str, str]:
    """The outcome of each claim as printed."""
    weakest = by_setting(table)
    usual = weakest[weakest["setting"] == AS_PRINTED]
    return dict(zip(usual["claim"], usual["outcome"], strict=True))


def mark(row: Mapping[str, object]) -> str:
    """The symbol of a row of `by_setting`."""
    if row["is_same"]:
        return "="
    may_not = row["observed"] != NOT_RUN and row["reasons"] != ""
    return SYMBOLS.get(str(row["observed"]), "-") + "?" * may_not


def matrix(table: pd.DataFrame) -> pd.DataFrame:
    """The marks of claims (rows) under settings (columns): the claims that a setting changes, and
    the settings under which something was run. Blank: the setting changes no run of the claim.
    """
    weakest = by_setting(table)
    changed = weakest.loc[weakest["setting"] != AS_PRINTED, "claim"].unique()
    there = weakest.loc[(weakest["observed"] != NOT_RUN) | weakest["is_same"], "setting"].unique()
    seen = [AS_PRINTED, *(name for name in there if name != AS_PRINTED)]
    marks = weakest.assign(mark=weakest.apply(mark, axis=1) if len(weakest) else "")
    wide = marks.pivot(index="claim", columns="setting", values="mark")
    return wide.reindex(index=changed, columns=seen).fillna("")


def sentences(table: pd.DataFrame) -> dict[str, str]:
    """What each claim comes to as printed, and under the other settings that decide it."""
    rivals = others(table)
    return {
        claim: _sentence(outcome, rivals.get(claim)) for claim, outcome in as_printed(table).items()
    }


def _sentence(usual: str, rivals: pd.DataFrame | None) -> str:
    head = f"{usual[0].upper()}{usual[1:]} as printed"
    if rivals is None:
        return f"{head}; no other setting that changes its runs was run."
    deciding = rivals[~rivals["outcome"].isin([NOT_RUN, UNDECIDED])]
    if deciding.empty:
        if len(rivals) == 1:
            return f"{head}; the one other setting does not decide it."
        return f"{head}; none of {len(rivals)} other settings decides it."
    differ = deciding[deciding["outcome"].isin(HOLDS) != (usual in HOLDS)]
    many = len(deciding)
    those = f"the {many} other settings that decide it"
    if many == 1:
        those = "the one other setting that decides it"
    holds = usual in HOLDS if differ.empty else usual not in HOLDS  # under these
    said = "holds" if holds else "does not hold"
    if differ.empty and many == 1:
        return f"{head}; {said} under {those}."
    if differ.empty:
        return f"{head}; holds under {'all' if holds else 'none'} of {those}."
    names = [f"{row.setting} ({row.outcome})" for row in differ.itertuples()]
    more = [f"{len(names) - FEW} more"] if len(names) > FEW else []
    of = those if many == 1 else f"{len(names)} of {those}"
    if len(names) == many > 1:
        of = f"all {many} other settings that decide it"
    return f"{head}; {said} under {', '.join([*names[:FEW], *more])}: {of}."


def is_robust(table: pd.DataFrame, claim: str) -> bool | None:
    """Whether every other setting that decides a claim says whether it holds as the paper as
    printed does; None where no other one decides, or the claim is not decided itself.
    """
    usual, rivals = as_printed(table)[claim], others(table)
    if usual in (NOT_RUN, UNDECIDED) or claim not in rivals:
        return None
    outcomes = rivals[claim]["outcome"]
    outcomes = outcomes[~outcomes.isin([NOT_RUN, UNDECIDED])]
    return bool((outcomes.isin(HOLDS) == (usual in HOLDS)).all()) if len(outcomes) else None


def ways(paper: Paper, claim: ClaimEntry, verdict: Verdict) -> dict[str, str]:
    """What a claim comes to in each of WAYS that says something of it."""
    kept = [one for one in verdict.settings.values() if not one.control]
    usual = kept[0].counts_as
    nearest = verdict.nearest.verdict if verdict.nearest else usual
    every = {
        AS_PRINTED: usual,
        "nearest": nearest if "published" in paper.entry else "",
        "as in the public code": _public(paper, claim, verdict),
        "under any reading": min((one.counts_as for one in kept), key=BEST.index),
    }
    return {way: outcome for way, outcome in every.items() if outcome}


def _public(paper: Paper, claim: ClaimEntry, verdict: Verdict) -> str:
    """What a claim comes to in the public code; "" where that sets no parameter of its methods.

    As printed where the public code changes none of its runs; where the plan lacks one, nobody has
    run the claim.
    """
    follows = [name for name, one in known_readings(paper).items() if one.follows == PUBLIC]
    sides = ("left", "right", "curves")
    methods = {algorithm_of(label) for side in sides for label in claim.check.listed(side)}
    if not any((name, "algorithms", who) in paper.reached for name in follows for who in methods):
        return ""
    for name in follows:
        if name in verdict.readings:
            return verdict.readings[name].counts_as
        try:
            runs_of_claim(paper, claim, name)
        except PlanError:
            return NOT_RUN
    return verdict.settings[AS_PRINTED].counts_as


def counts(ways_of_claims: Iterable[Mapping[str, str]]) -> dict[str, Counter[str]]:
    """How many claims come to what, in each way that says something of one."""
    tallies: dict[str, Counter[str]] = {}
    for of_claim in ways_of_claims:
        for way, outcome in of_claim.items():
            tallies.setdefault(way, Counter())[outcome] += 1
    return {way: tallies[way] for way in WAYS if way in tallies}


def as_markdown(
    paper: Paper,
    verdicts: Sequence[Verdict],
    table: pd.DataFrame,
    ways_of_claims: Mapping[str, Mapping[str, str]],
) -> str:
    """claims-by-settings.md, of the ways of each claim; `table` has comparisons of others, too."""
    table = table[table["claim"].isin([one.id for one in verdicts])]
    plain = [one for one in verdicts if not group(one.qualifiers)]
    rows = [
        [way, str(sum(count[kind] for kind in HOLDS)), *(str(count[kind]) for kind in KINDS)]
        for way, count in counts(ways_of_claims[one.id] for one in plain).items()
    ]
    marks, said = matrix(table), sentences(table)
    names = list(marks.columns[1:])
    shown = [
        [f"[{claim}](verdicts.md#{claim.lower()})", *cells, quoted(said[claim])]
        for claim, cells in zip(marks.index, marks.to_numpy().tolist(), strict=True)
    ]
    known = known_readings(paper)
    says = [
        [str(number), quoted(name), quoted(str(known[name]))]
        for number, name in enumerate(names, 1)
    ]
    head = ["claim", AS_PRINTED, *map(str, range(1, len(names) + 1)), ""]
    parts = [
        f"# Claims of {quoted(paper.name)} under all settings, scale {quoted(paper.scale)}",
        f"{len(plain)} claims; {len(verdicts) - len(plain)} that are counted apart, or not run at"
        " this scale, are not in the first table.",
        render.table(["", "hold", *KINDS], rows),
        RULES,
        OF_NEAREST if "published" in paper.entry else "",
        render.table(head, shown) if shown else "No setting changes a run of a claim.",
        render.table(["", "setting", "says"], says) if says else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
