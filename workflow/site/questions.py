"""What the check of a claim asks, as a question in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workflow.judge.certificate import quantity_of
from workflow.judge.render import number

Check = Mapping[str, Any]
AT = {"end": "at the end", "mean": "in the mean over the run", "median": "in the median over it"}


def question(check: Check) -> str:
    """The check of a claim as a question, with `code` and *emphasis* of Markdown."""
    return f"{_place(check)}: {QUESTIONS[check['test']](check)}?"


def _ordered(check: Check, word: str) -> str:
    ratio = "by the mean ratio" if check.get("compare") == "ratio" else "in the mean"
    factor = f"{number(check['factor'])} times " if "factor" in check else ""
    return f"{ratio} over paired seeds, is {_left(check)} {word} {factor}{_right(check)}"


def _equivalent(check: Check) -> str:
    if "absolute" in check:
        within = f"within {number(check['absolute'])} of"
    else:
        within = f"within {number(100 * check['tolerance'])} % of"
    return f"in the mean over paired seeds, is {_left(check)} {within} {_right(check)}"


def _published(check: Check) -> str:
    value, within = number(check["value"]), number(check["tolerance"])
    return f"is the mean of {_lines(check)} within {within} times {value}, the published value"


def _spread(check: Check) -> str:
    return f"does {_left(check)} vary less from seed to seed than {_right(check)}"


def _passes(check: Check) -> str:
    most = number(check["at_most"])
    return f"has {_left(check)} come to the last value of {_right(check)} after {most} evaluations"


def _exponent(check: Check) -> str:
    start, end = number(check["from"]), f"to {number(check['to'])}" if "to" in check else "on"
    window = f"`{check['x']}` = {start} {end}" if "x" in check else f"evaluation {start} {end}"
    return (
        f"from {window}, is the mean exponent of a power law fitted to {_lines(check)}"
        f" {_bounds(check)}"
    )


def _monotone(check: Check) -> str:
    goes = "rise" if check["direction"] == "increasing" else "fall"
    along = "from variant to variant" if check.get("along") == "variants" else "along the run"
    return f"does {_lines(check)} {goes} {along} (Kendall's tau)"


def _share(check: Check) -> str:
    shares = {
        key: f"{number(100 * check[key])} %" for key in ("at_least", "at_most") if key in check
    }
    words = " and ".join(f"{key.replace('_', ' ')} {share}" for key, share in shares.items())
    return f"is {_lines(check)} {_bounds(check['event'])} in {words} of the seeds"


def _band(check: Check) -> str:
    return f"is {_lines(check)} {_bounds(check)} in {_rows(check)} of every seed"


def _bound(check: Check) -> str:
    factor = f"{number(check['factor'])} times " if "factor" in check else ""
    plus = f" plus {number(check['plus'])}" if "plus" in check else ""
    return (
        f"is {_left(check)} at most {factor}{_right(check)}{plus} in {_rows(check)} of every seed"
    )


QUESTIONS: Mapping[str, Callable[[Check], str]] = {
    "less": lambda check: _ordered(check, "below"),
    "more": lambda check: _ordered(check, "above"),
    "equivalent": _equivalent,
    "published": _published,
    "spread": _spread,
    "passes": _passes,
    "exponent": _exponent,
    "monotone": _monotone,
    "share": _share,
    "band": _band,
    "bound": _bound,
}


def _what(check: Check) -> str:
    """The quantity that is read, and where."""
    what = quantity_of(check)[0]
    at = check.get("at")
    if at in AT:
        return f"*{what}* {AT[at]}"
    return f"*{what}* after {at} evaluations" if isinstance(at, int) else f"*{what}*"


def _left(check: Check) -> str:
    if "study" not in check:
        return f"{_what(check)} of {_listed(check['left'])}"
    return f"{_side(check['left'])}{_at(check)}"


def _right(check: Check) -> str:
    """The right side: curves, each for itself, a column, or a number."""
    side = check["right"]
    if not isinstance(side, list):
        return _side(side)
    there = f" on {check['against']}" if "against" in check else ""
    return f"that of {'each of ' * (len(side) > 1)}{_listed(side)}{there}"


def _lines(check: Check) -> str:
    """The curves, or the column, that a check follows."""
    if "study" in check:
        return f"{_side(check['column'])}{_at(check)}"
    return f"{_what(check)} of {_listed(check['curves'])}"


def _at(check: Check) -> str:
    at = check.get("at")
    return f" {AT[at]}" if at in AT else f" ({at})" if at else ""


def _side(side: str | float) -> str:
    return f"`{side}`" if isinstance(side, str) else number(float(side))


def _place(check: Check) -> str:
    """The problems, or the study and its rows."""
    if "study" not in check:
        return f"On {_listed(check['problems'])}" if "problems" in check else "On all problems"
    rows = _listed([f"{key} = {value}" for key, value in check.get("rows", {}).items()])
    return f"In the study {check['study']}" + (f", {rows}" if rows else "")


def _bounds(bounds: Check) -> str:
    """Bounds of a number in words."""
    least, most = bounds.get("at_least"), bounds.get("at_most")
    if least is None:
        return f"at most {number(float(most or 0))}"
    if most is None:
        return f"at least {number(float(least))}"
    return f"between {number(float(least))} and {number(float(most))}"


def _rows(check: Check) -> str:
    share = check.get("share")
    return "every row" if share is None else f"{number(100 * share)} % of the rows"


def _listed(names: Sequence[str]) -> str:
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
