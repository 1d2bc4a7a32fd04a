"""The words that a paper's YAML is written in: what counts as a name, a number of evaluations, a
curve; how a property is documented; how a name of something else in the paper is marked.

The models of the sections are made of these. They read nothing and know no plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from workflow.plan.nearest import or_nearest

NEVER_NAMES = ("store", "studies", "default")  # they are folders or mean something else
METRICS = (
    "cumulative_regret",
    "simple_regret",
    "mean_regret",
    "final_regret",
    "recommendation_regret",
    "mean_objective",
    "best_feasible",
    "best_feasible_iterate",
    "best_feasible_by_iteration",
    "feasible_evaluations",
    "search_for_feasible",
    "centre_distance",
    "late_descent",
    "stuck",
    "seconds",
    "total_seconds",
    "given_seconds",
    "batch_size",
    "batches",
)


class Section(BaseModel):
    """A mapping of the YAML in which every key is known."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, populate_by_name=False, allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _knows_its_keys(cls, values: Any) -> Any:
        """One mistake: that what was meant is missing, too, needs no sentence."""
        if isinstance(values, Mapping) and cls.model_config["extra"] == "forbid":
            known = [info.alias or name for name, info in cls.model_fields.items()]
            for key in values:
                if key not in known:
                    words = f"unknown key {key!r}{or_nearest(key, known)}"
                    context = {"key": key, "words": words}
                    raise PydanticCustomError("unknown_key", "{words}", context)
        return values


class OpenSection(Section):
    """A mapping of the YAML that may have other keys: what they mean, and an example, is said in
    `others`.
    """

    others: ClassVar = ("a parameter of the constructor", "`bandwidth: 5`")
    model_config = ConfigDict(extra="allow")


def said(
    meaning: str, *, default: str = "", value: Any = None, unit: str = "", key: str | None = None
) -> Any:
    """A property: what it means, in which unit, and in words what holds where it is left out.

    A property without a default has to be given. `value` is what a model then has; it stands for
    itself where there are no words. `key` is its name in the YAML where Python does not allow it.
    """
    words = "none" if value in ("", [], {}) else str(value).lower()
    default = default or ("" if value is None else words)
    extra: dict[str, Any] = {
        name: text for name, text in (("unit", unit), ("default", default)) if text
    }
    held = value if default else ...
    return Field(default=held, alias=key, description=meaning, json_schema_extra=extra)


def refusal(words: str) -> PydanticCustomError:
    """A mistake that is no wrong type: the sentence says what was expected and what was found."""
    return PydanticCustomError("refused", "{words}", {"words": words})


def Named(kind: str) -> AfterValidator:
    """The texts of a property are names of something else in the same paper. They are looked up in
    the context of a validation, if it has names of that kind.

    `kind` is algorithm, problem, reading, variant, study, scale, claim, exhibit or erratum. A name
    of an algorithm may be that of a curve, `algorithm[@reading][+variant]`, one of a problem
    `problem[@reading]`.
    """

    def known(value: str, info: ValidationInfo) -> str:
        for each, name in parts(value, kind):
            names = (info.context or {}).get(each, [name])
            if name not in names and (each, name) != ("reading", "default"):
                words = unknown(each, name, names)
                raise PydanticCustomError("unknown_name", "{words}", {"words": words})
        return value

    return AfterValidator(known)


def parts(name: str, kind: str = "algorithm") -> list[tuple[str, str]]:
    """What `algorithm[@reading][+variant]`, `problem[@reading]` or a plain name names."""
    if kind not in ("algorithm", "problem"):
        return [(kind, name)]
    head, plus, variant = name.partition("+")
    plain, at, reading = head.partition("@")
    named = (kind, plain), *[("reading", reading)] * bool(at), *[("variant", variant)] * bool(plus)
    return list(named)


def unknown(kind: str, name: str, known: Sequence[str]) -> str:
    """A sentence about a name that nothing has."""
    return f"unknown {kind} {name!r}{or_nearest(name, known)}"


def Expected(words: str, pattern: str = "", known: tuple[str, ...] = ()) -> WrapValidator:
    """What a value has to be, in words for people: the sentence says so, whatever is wrong with the
    value. With a pattern, what a text has to match; `known` are names that somebody may have meant.
    """

    def judged(value: object, validate: Callable[[object], object]) -> object:
        try:
            valid = validate(value)
        except ValidationError as error:
            for each in error.errors():
                if each["type"] == "unknown_name":
                    raise PydanticCustomError("unknown_name", "{words}", each["ctx"]) from None
            valid = None
        if valid is None or (pattern and re.fullmatch(pattern, str(valid)) is None):
            said = {"words": words, "known": known}
            raise PydanticCustomError("expected", "{words}", said)
        return valid

    return WrapValidator(judged)


def _distinct(values: list[str]) -> list[str]:
    twice = [value for number, value in enumerate(values) if value in values[:number]]
    if twice:
        raise refusal(f"expected every name once, got {twice[0]!r} twice")
    return values


DISTINCT = AfterValidator(_distinct)
Words = Annotated[str, Expected("words")]
Sentence = Annotated[str, MinLen(10), Expected("a sentence of at least ten letters")]
Column = Annotated[str, Expected("the name of a column")]
Number = Annotated[float, Expected("a number")]
Positive = Annotated[float, Gt(0), Expected("a number above 0")]
Yes = Annotated[bool, Expected("true or false")]
Flag = Annotated[bool, Expected("true, or no such line", "True")]
Count = Annotated[int, Ge(1), Le(10**9), Expected("a whole number from 1 to 1000000000")]
Seeds = Annotated[int, Ge(1), Le(10**6), Expected("a whole number from 1 to 1000000")]
Id = Annotated[
    str,
    Expected(
        "an id of at most 64 letters, digits, dots, dashes or underscores",
        r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}",
    ),
]
Name = Annotated[
    str,
    Expected(
        "a name of at most 64 letters, digits, dots, dashes or underscores, which is none of"
        f" {', '.join(NEVER_NAMES)}",
        rf"(?!(?:{'|'.join(NEVER_NAMES)})$)[A-Za-z0-9][A-Za-z0-9_.\-]{{0,63}}",
    ),
]
Target = Annotated[
    str, Expected("module.Class or module.function", r"(?!api\.)[a-z0-9_]+\.[A-Za-z0-9_]+")
]
Metric = Annotated[
    str,
    Expected(
        "one of the metrics that papers/README.md lists, or report.NAME",
        rf"{'|'.join(METRICS)}|report\.[A-Za-z0-9_]+",
        METRICS,
    ),
]
Label = Annotated[
    str,
    Expected("a curve, algorithm[@reading][+variant]", r"[^@+]+(?:@[^@+]+)?(?:\+[^@+]+)?"),
    Named("algorithm"),
]
Labels = Annotated[list[Label], MinLen(1), DISTINCT]
Names = Annotated[list[Words], MinLen(1), DISTINCT]
Problem = Annotated[Words, Named("problem")]
Problems = Annotated[list[Problem], MinLen(1), DISTINCT]
Algorithms = Annotated[list[Annotated[Words, Named("algorithm")]], MinLen(1), DISTINCT]
Reading = Annotated[Words, Named("reading")]
Readings = Annotated[list[Reading], MinLen(1), DISTINCT]
Variant = Annotated[Words, Named("variant")]
Variants = Annotated[list[Variant], MinLen(1), DISTINCT]
Scales = Annotated[list[Annotated[Words, Named("scale")]], MinLen(1), DISTINCT]
Study = Annotated[Words, Named("study")]
ClaimName = Annotated[Words, Named("claim")]
ExhibitName = Annotated[Words, Named("exhibit")]
Errata = Annotated[list[Annotated[Words, Named("erratum")]], MinLen(1), DISTINCT]
Rows = Annotated[dict[str, Annotated[float | str, Expected("a number or words")]], MinLen(1)]
