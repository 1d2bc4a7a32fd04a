"""The words of verdicts, in one place: outcomes, the qualifiers beside them, and their counts.

An outcome says what was found, a qualifier what that is worth. A claim with a qualifier is counted
apart from the paper's plain ones, once, in the first group of GROUPS that it belongs to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from workflow.data.places import SUBSTITUTE, UNVERIFIED

REPRODUCED = "reproduced"
DIRECTION = "direction only"
INCONCLUSIVE = "inconclusive"
CONTRADICTED = "contradicted"
UNDECIDED = "not decided"
ORDER = (REPRODUCED, DIRECTION, INCONCLUSIVE, CONTRADICTED, UNDECIDED)

NOT_RUN = "not run"
SAME_RUN = "same run"
NO_NUMBER = "no number"
NOTHING = "nothing to compare"
HOLDS = (REPRODUCED, DIRECTION)
KINDS = (*ORDER, NOT_RUN)  # what a claim counts as under a setting

OUTSIDE = "outside the theorem"
TRIVIAL = "holds trivially"
IMPLEMENTATION = "about an implementation"
ON_SUBSTITUTE = "on substitute data"
GROUPS = {
    OUTSIDE: (
        "the runs do not meet the hypotheses of the theorem, so that what was observed neither"
        " bears it out nor contradicts it"
    ),
    TRIVIAL: "the check could not fail here",
    IMPLEMENTATION: (
        "seconds of methods that are not implemented alike: our code says nothing of the authors'"
    ),
    ON_SUBSTITUTE: "decided on data that take the place of the paper's",
}
WHY_APART = {  # by the `kind` of a line of the appendix
    "control": "control of ours",
    "trivial": TRIVIAL,
    "outside": OUTSIDE,
}
# beside an outcome, and no group of their own: what a reader should know before relying on it
DISAGREE = "t and sign-flip tests disagree"
FADED = "significant at the first look"
OTHER_CODE = "on records of other code"
SEVERAL_PROCESSORS = "timed on several processors"
LATE = "check fixed after its first records"
CHANGED = "check changed"

SYMBOLS = {REPRODUCED: "✓", DIRECTION: "≈", INCONCLUSIVE: "±", CONTRADICTED: "✗", NOT_RUN: "·"}
MEANINGS = {
    REPRODUCED: "every comparison is significantly on the claimed side",
    DIRECTION: "every comparison is on the claimed side, not each significantly",
    INCONCLUSIVE: "some comparison is on the other side, none significantly",
    CONTRADICTED: "some comparison is significantly on the other side, or one run refutes a"
    " statement about all",
    UNDECIDED: "it cannot be judged, and the reason is stated",
}


def stood_in(data: str) -> str:
    """Of what runs say that they are made of, joined by "; " where these differ, that which takes
    the place of the paper's data; "" where nothing does.
    """
    return data.partition(SUBSTITUTE)[2].replace(f"; {SUBSTITUTE}", "; ")


def unverified(data: Iterable[str]) -> str:
    """Which tables no checksum confirms, of what runs say that they are made of; "" if none is."""
    tables = {one for said in data for one in said.split(", ") if one.startswith(UNVERIFIED)}
    names = ", ".join(one.removeprefix(UNVERIFIED) for one in sorted(tables))
    return f"UNVERIFIED DATA: {names}" if tables else ""


def group(qualifiers: Iterable[str]) -> str:
    """The group in which a claim with these qualifiers is counted; "" among the plain ones."""
    said = list(qualifiers)
    return next((name for name in GROUPS if any(one.startswith(name) for one in said)), "")


def why_apart(kind: str, qualifiers: Iterable[str], observed: str) -> str:
    """Why a line stands in the appendix, and whether its runs show it: with what was computed of a
    theorem or of a null model, or with a note where that says otherwise.
    """
    said = WHY_APART[kind]
    if kind == "control" or observed == NOT_RUN:
        return said
    computed = next((one for one in qualifiers if one.startswith(said)), "")
    return (
        computed.removesuffix(f": observed {observed}")
        or f"said beforehand to be so ({said}), which these runs do not show"
    )


def listed(verdicts: Iterable[str]) -> str:
    """Verdicts counted, in words: "11 reproduced, 2 contradicted"."""
    count = Counter(verdicts)
    return ", ".join(f"{count[name]} {name}" for name in ORDER if count[name])
