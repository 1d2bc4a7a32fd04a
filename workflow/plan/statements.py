"""The typed models of what a paper states: claims with their checks and cases, the appendix,
claims that were withdrawn, assumptions, deviations, errata and findings.

Each check is judged by the model of its own `test:`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from annotated_types import MinLen
from pydantic import Discriminator, TypeAdapter, ValidationError, ValidationInfo, model_validator

from workflow.plan.vocabulary import (
    DISTINCT,
    ClaimName,
    Column,
    Count,
    Errata,
    ExhibitName,
    Expected,
    Flag,
    Id,
    Label,
    Labels,
    Metric,
    Names,
    Number,
    OpenSection,
    Positive,
    Problem,
    Problems,
    Readings,
    Rows,
    Section,
    Sentence,
    Study,
    Variants,
    Words,
    refusal,
    said,
)

At = Annotated[
    Count | Literal["end", "mean", "median", "max", "min"],
    Expected("a number of evaluations, or one of end, mean, median, max, min"),
]
Across = Annotated[str, Expected("one of max, min, mean", "max|min|mean")]
MOST_HEADLINES = 3  # claims of a paper: what an abstract claims is short
OF_RUNS = {  # what a check of a study does not read
    "metric",
    "relative_to",
    "problems",
    "against",
    "variants",
    "across",
    "minus",
    "where_defined",
    "known",
}
Side = Annotated[
    Labels | str | float,
    Expected("a list of curves, each once, a column of the study, or a number"),
]


class Check(Section):
    """What every check of a claim may say: which records it reads."""

    study: Study = said(
        "the study whose columns are read", default="runs are read, on `problems`", value=""
    )
    rows: Rows = said(
        "column: value, of the rows of the study that are read", default="all rows", value={}
    )
    metric: Metric = said(
        "which number of a run is read",
        default="none: columns of `study` are read",
        value="",
        unit="that of the metric",
    )
    relative_to: Label = said(
        "the metric is divided by that of this curve", default="it is divided by nothing", value=""
    )
    problems: Problems = said("on which problems", default="all of them", value=[])

    @model_validator(mode="after")
    def _reads_one_thing(self) -> Self:
        given = self.model_fields_set
        if "study" in given:
            if unread := sorted(given & OF_RUNS):
                raise refusal(
                    f"expected keys that a check of a study reads, got {', '.join(unread)}: leave"
                    " them out, or leave out `study`"
                )
        elif "metric" not in given:
            raise refusal("expected a `metric` of runs, or a `study`, got neither")
        elif "rows" in given:
            raise refusal("expected `rows` beside a `study`, got no study: leave them out")
        return self

    def listed(self, side: str) -> list[str]:
        """The labels under `left`, `right`, `curves` or `minus`; none where it is no list."""
        value = getattr(self, side, None)
        return value if isinstance(value, list) else []

    @property
    def opposite(self) -> str:
        """The problem on which the right side is read; "" where it is the left side's own."""
        return str(getattr(self, "against", ""))


class Summarised(Check):
    """One number for each seed: a metric at a point, then over variants."""

    at: At = said(
        "where the metric, or the column, is read: after so many evaluations, at the end, or"
        " summarised over the run",
        value="end",
        unit="evaluations",
    )
    variants: Annotated[
        Literal["all"] | Variants, Expected("all, or a list of variants, each once")
    ] = said("at several variants, whose numbers `across` makes one", default="at one", value=[])
    across: Across = said(
        "what becomes of the numbers at several variants: their extremes, or their mean",
        default="there is one variant",
        value="",
    )

    @model_validator(mode="after")
    def _is_one_number(self) -> Self:
        given = self.model_fields_set
        if ("variants" in given) != ("across" in given):
            raise refusal("expected `variants` and `across` together, got one of them")
        return self


class Sides(Section):
    """A check that compares a left side with a right one."""

    left: Side = said(
        "the left side: curves, each of them compared with each of the right side; or a column of"
        " the study; or a number"
    )
    right: Side = said("the right side, as the left one")

    @model_validator(mode="after")
    def _compares_two_things(self) -> Self:
        sides = [self.left, self.right]
        if getattr(self, "study", ""):
            if curves := [side for side in sides if isinstance(side, list)]:
                raise refusal(
                    f"expected a column of the study or a number, got the curves"
                    f" {', '.join(curves[0])}"
                )
            if self.left == self.right:
                raise refusal(f"expected two things to compare, got {self.left} on both sides")
            return self
        if columns := [side for side in sides if isinstance(side, str)]:
            raise refusal(
                f"expected a list of curves or a number, got {columns[0]!r}: a column needs a"
                " `study`"
            )
        if not isinstance(self.left, list):
            raise refusal(f"expected a list of curves as `left`, got {self.left:g}")
        other = self.right if isinstance(self.right, list) else []
        both = [curve for curve in self.left if curve in other]
        if both and not getattr(self, "against", ""):
            raise refusal(
                f"expected two different curves to compare, got {both[0]} on both sides: a curve is"
                " not compared with itself"
            )
        return self


class Opposite(Section):
    """A check whose right side may be read on another problem."""

    against: Problem = said(
        "the problem on which the right side is read", default="the left side's own", value=""
    )


class Ordered(Sides, Opposite, Summarised):
    """What `less` and `more` share."""

    factor: Positive = said("the right side is multiplied by it", default="1", value=1.0)
    compare: Annotated[Literal["difference", "ratio"], Expected("difference or ratio")] = said(
        "what is tested over seeds: the difference, or the logarithm of the ratio",
        value="difference",
    )
    minus: Labels = said(
        "the smallest of these curves is taken from both sides, each on its problem",
        default="nothing is taken off",
        value=[],
    )
    where_defined: Flag = said(
        "true: seeds in which neither side has a number are left out",
        default="a seed without a number leaves the claim not decided",
        value=False,
    )


class Less(Ordered):
    """`less`: left < factor * right, paired over seeds."""

    test: Literal["less"] = said("which test")


class More(Ordered):
    """`more`: left > factor * right, paired over seeds."""

    test: Literal["more"] = said("which test")


class Passes(Sides, Check):
    """`passes`: the left curve is no worse than the right one's end from some evaluation on."""

    test: Literal["passes"] = said("which test")
    at_most: Number = said("the largest evaluation at which the claim holds", unit="evaluations")


class Equivalent(Sides, Opposite, Summarised):
    """`equivalent`: the means of both sides differ by less than a tolerance, by two one-sided
    tests.
    """

    test: Literal["equivalent"] = said("which test")
    tolerance: Positive = said(
        "the tolerance as a share of the right side", default="`absolute` is given", value=0.0
    )
    absolute: Positive = said(
        "the tolerance itself", default="`tolerance` is given", value=0.0, unit="that of the metric"
    )

    @model_validator(mode="after")
    def _has_one_tolerance(self) -> Self:
        if len(self.model_fields_set & {"tolerance", "absolute"}) != 1:
            raise refusal("expected one of `tolerance` and `absolute`, got both or neither")
        return self


class Bounds(Section):
    """Bounds of a number, one or both."""

    at_least: Number = said(
        "the number is at least this", default="no lower bound", value=-math.inf
    )
    at_most: Number = said("the number is at most this", default="no upper bound", value=math.inf)

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        if not self.model_fields_set & {"at_least", "at_most"}:
            raise refusal("expected `at_least`, `at_most` or both, got neither")
        return self


class Lines(Check):
    """A check that looks at whole curves, or at a column of a study."""

    curves: Labels = said("whose runs", default="a column of `study` is read", value=[])
    column: Column = said(
        "which column of the study", default="the metric of `curves` is read", value=""
    )

    @model_validator(mode="after")
    def _looks_at_one_thing(self) -> Self:
        given = self.model_fields_set & {"curves", "column"}
        wanted = {"column"} if "study" in self.model_fields_set else {"curves"}
        if given != wanted:
            raise refusal(
                "expected `column` beside a `study` and `curves` beside a `metric`, got"
                f" {' and '.join(sorted(given)) or 'neither'}"
            )
        if "x" in self.model_fields_set and "study" not in self.model_fields_set:
            raise refusal("expected `x` beside a `study`, got no study: leave it out")
        return self


class Over(Section):
    """The abscissa of a column of a study."""

    x: Column = said(
        "the column of the study over which it grows", default="evaluations of a run", value=""
    )


class Exponent(Bounds, Over, Lines):
    """`exponent`: the slope of a metric, or of a column, in log-log over a window."""

    test: Literal["exponent"] = said("which test")
    from_: Number = said("where the window begins", key="from", unit="evaluations, or x")
    known: Count = said(
        "evaluations before the first one, which count in t", value=0, unit="evaluations"
    )


class Monotone(Over, Lines):
    """`monotone`: Kendall's tau between a metric and evaluations, or a column."""

    test: Literal["monotone"] = said("which test")
    direction: Annotated[
        Literal["increasing", "decreasing"], Expected("increasing or decreasing")
    ] = said("where it goes")


class Event(Bounds):
    """What has to happen in a seed."""


class Share(Bounds, Summarised):
    """`share`: in how many seeds a number lies within the event's bounds."""

    test: Literal["share"] = said("which test")
    curves: Labels = said("whose runs")
    event: Event = said("what has to happen in a seed")


class Spread(Sides, Summarised):
    """`spread`: the standard deviation over seeds of the left side is less than that of the right
    one.
    """

    test: Literal["spread"] = said("which test")


class Band(Bounds, Lines):
    """`band`: a metric, or a column, stays within constants in every row."""

    test: Literal["band"] = said("which test")


class Bound(Sides, Check):
    """`bound`: left <= factor * right + plus in every row."""

    test: Literal["bound"] = said("which test")
    factor: Positive = said("the right side is multiplied by it", default="1", value=1.0)
    plus: Number = said("what is added to the right side", default="0", value=0.0)


AnyCheck = Annotated[
    Less | More | Passes | Equivalent | Exponent | Monotone | Share | Spread | Band | Bound,
    Discriminator("test"),
]


class Requirement(Section):
    """A hypothesis of the statement: a claim is not decided where what was run does not meet it."""

    curve: Label = said(
        "the curve whose parameter is bounded", default="a study's number is bounded", value=""
    )
    problem: Problem = said("on which problem", default="needed beside `curve`", value="")
    parameter: Words = said("which parameter", default="`column` or `never` is given", value="")
    column: Column = said(
        "the column, of the study that the check reads, that is bounded",
        default="a parameter is bounded",
        value="",
    )
    at_least: Number = said(
        "the least value that meets it", default="no lower bound", value=-math.inf
    )
    at_most: Number = said(
        "the largest value that meets it", default="no upper bound", value=math.inf
    )
    never: Flag = said(
        "true: no run can meet it, and `because` says why", default="a run may meet it", value=False
    )
    always: Flag = said(
        "true: what is run is made to meet it, and `because` states it",
        default="it is checked",
        value=False,
    )
    because: Words = said(
        "where the hypothesis stands, or why", default="nothing is shown", value=""
    )

    @model_validator(mode="after")
    def _bounds_one_thing(self) -> Self:
        given = self.model_fields_set
        bounded = [set(kind) <= given for kind in KINDS_OF_REQUIREMENT]
        if sum(bounded) != 1:
            raise refusal(
                "expected one of: `never` and `because`; `always` and `because`; `column`; `curve`,"
                f" `problem` and `parameter`; got {', '.join(sorted(given))}"
            )
        if not given & {"never", "always", "at_least", "at_most"}:
            raise refusal("expected `at_least` or `at_most`, got neither")
        return self


KINDS_OF_REQUIREMENT = (
    ("never", "because"),
    ("always", "because"),
    ("column",),
    ("curve", "problem", "parameter"),
)


class NullModel(Section):
    """Something that knows nothing of the claim's method. Where it passes the check, the claim
    holds trivially; whether it does is computed from records, unless it is `always` so.
    """

    curve: Label = said(
        "a curve that searches at random: draws from its evaluations take the place of the claim's"
        " own curves",
        default="another kind is given",
        value="",
    )
    instead: Label = said(
        "a curve whose own runs take the place of the claim's own curves",
        default="another kind is given",
        value="",
    )
    column: Column = said(
        "the column of the study that takes the place of the left side, or of the column",
        default="another kind is given",
        value="",
    )
    where: Column = said(
        "the column of the study that is above 0 where the check cannot fail",
        default="another kind is given",
        value="",
    )
    at_least: Number = said(
        "the least value of `column` that passes",
        default="the bounds are the check's",
        value=-math.inf,
    )
    always: Flag = said(
        "true: nothing can fail the check, as `because` proves",
        default="another kind is given",
        value=False,
    )
    because: Words = said(
        "why it passes, which the verdict then says",
        default="the verdict says how often `curve` passes",
        value="",
    )

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        kinds = self.model_fields_set & {*KINDS_OF_NULL_MODEL}
        if len(kinds) != 1:
            raise refusal(
                "expected one of `curve`, `instead`, `column`, `where` and `always`, got"
                f" {', '.join(sorted(kinds)) or 'none of them'}"
            )
        if "column" not in kinds and "at_least" in self.model_fields_set:
            raise refusal(f"expected `column` beside 'at_least', got {kinds.pop()!r}")
        if ("because" in self.model_fields_set) == ("curve" in kinds):
            raise refusal("expected `because` beside every kind but `curve`")
        return self


KINDS_OF_NULL_MODEL = ("curve", "instead", "column", "where", "always")


class Case(OpenSection):
    """A case in which a claim is asked: what its check says otherwise there."""

    others: ClassVar = ("as in `check`", "`at: 1000`")
    name: Words = said("its name, for the table of cases")
    requires: Annotated[list[Requirement], MinLen(1)] = said(
        "hypotheses of the statement in this case", default="those of the claim", value=[]
    )
    null_model: Annotated[list[NullModel], MinLen(1)] = said(
        "what might pass the check by itself in this case",
        default="those of the claim",
        value=[],
    )
    implementation: Flag = said(
        "true: it compares seconds of methods that are not implemented alike, and decides nothing",
        default="the claim decides",
        value=False,
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_extra:
            raise refusal(
                "expected at least one key of `check` that this case changes, got only"
                f" {', '.join(sorted(self.model_fields_set))}: add it, or drop the case"
            )
        return self


_CHECKED: TypeAdapter[AnyCheck] = TypeAdapter(AnyCheck)


class Asked(NamedTuple):
    """A claim as it is asked in one case: check, hypotheses and null models of that one."""

    name: str  # "" of a claim that names no cases
    check: AnyCheck
    requires: list[Requirement]
    null_model: list[NullModel]
    implementation: bool


class ClaimEntry(Section):
    """A claim: one sentence of the paper, with the check that decides it."""

    id: Id = said("its name")
    where: Words = said("where the paper says it")
    figure: ExhibitName = said(
        "the figure, table or picture that shows what decides it, on pages of the site",
        default="none does",
        value="",
    )
    says: Sentence = said("what the paper says")
    check: AnyCheck = said("what is tested")
    cases: Annotated[list[Case], MinLen(1)] = said(
        "the cases in which the sentence is tested, each with the keys of `check` that it"
        " changes; one outside the hypotheses, about an implementation, or in which nothing can"
        " fail decides nothing",
        default="`check` is the only one",
        value=[],
    )
    data: Annotated[str, Expected("any, or no such line", "any")] = said(
        "any: decided on substituted data, too", default="decided on the real data alone", value=""
    )
    deterministic: Flag = said(
        "true: nothing is drawn, so that one seed decides without a test",
        default="a test over seeds decides",
        value=False,
    )
    scale: Annotated[str, Expected("any, or no such line", "any")] = said(
        "any: decided at every scale", default="decided at scale `paper` alone", value=""
    )
    implementation: Flag = said(
        "true: it compares seconds of methods that are not implemented alike, so that our code says"
        " nothing of the authors'; it is counted apart",
        default="seconds grow with the method, or are of methods that share their parts",
        value=False,
    )
    requires: Annotated[list[Requirement], MinLen(1)] = said(
        "hypotheses of the statement", default="there are none", value=[]
    )
    null_model: Annotated[list[NullModel], MinLen(1)] = said(
        "what might pass the check by itself, so that the claim would hold trivially",
        default="nothing that we know",
        value=[],
    )
    headline: Flag = said(
        "true: this claim carries a main statement of the paper, and comes first on its page; at"
        f" most {MOST_HEADLINES} of a paper",
        default="it comes after those",
        value=False,
    )
    readings: Readings = said(
        "judged under these readings, too, besides those that change one of its runs",
        default="those alone",
        value=[],
    )
    note: Words = said(
        "what a reader of the verdict has to know", default="nothing is shown", value=""
    )

    @cached_property
    def asked(self) -> list[Asked]:
        """The claim as it is asked in each of its cases, in its `check` where it names none."""
        whole = Asked("", self.check, self.requires, self.null_model, self.implementation)
        return self._asked(None) or [whole]

    @property
    def is_of_implementations(self) -> bool:
        """Whether all that it compares is seconds of methods that are not implemented alike."""
        return self.implementation or all(one.implementation for one in self.asked)

    def _asked(self, names: Mapping[str, Any] | None) -> list[Asked]:
        """The claim in each case, its checks judged against the `names` of the paper."""
        check, asked = self.check.model_dump(by_alias=True, exclude_unset=True), []
        for line in self.cases:
            mine = {**check, **(line.model_extra or {})}
            try:
                typed = _CHECKED.validate_python(mine, context=names)
            except ValidationError as error:
                raise refusal(f"case {line.name!r}: {error.errors()[0]['msg']}") from None
            requires, null = line.requires or self.requires, line.null_model or self.null_model
            asked.append(Asked(line.name, typed, requires, null, line.implementation))
        return asked

    @model_validator(mode="after")
    def _has_cases_that_fit(self, info: ValidationInfo) -> Self:
        names = [line.name for line in self.cases]
        if twice := [name for name in names if names.count(name) > 1]:
            raise refusal(f"expected every case once, got {twice[0]!r} twice: rename one")
        self._asked(info.context)
        return self

    @model_validator(mode="after")
    def _names_columns_of_its_study(self) -> Self:
        if self.check.study:
            for one in self.null_model:
                if given := one.model_fields_set & {"curve", "instead", "metric"}:
                    raise refusal(
                        f"expected `column` or `where` as the null model of a study, got"
                        f" {given.pop()}"
                    )
            return self
        named = [one.column for one in self.requires if one.column]
        named += [one.column or one.where for one in self.null_model if one.column or one.where]
        if named:
            raise refusal(
                f"expected a check of a study beside the required column {named[0]!r}, got one of"
                " runs"
            )
        return self


class AppendixEntry(ClaimEntry):
    """What is judged as a claim is and stands in no tally."""

    kind: Annotated[
        Literal["control", "trivial", "outside"], Expected("one of control, trivial, outside")
    ] = said(
        "why it is in the appendix: a control of ours; the check could not fail here; or the runs"
        " do not meet the hypotheses of the theorem"
    )

    @model_validator(mode="after")
    def _is_no_headline(self) -> Self:
        if "headline" in self.model_fields_set:
            raise refusal("expected no `headline` in the appendix, got one: leave it out")
        return self


class WithdrawnEntry(Section):
    """Claims of earlier reports that are not judged any more: their pages stay, and say why."""

    ids: Annotated[list[Id], MinLen(1), DISTINCT] = said("the names that they had")
    why: Sentence = said("why they are not judged any more")
    instead: ClaimName = said("the claim that is judged in their place", default="there is none")


class AssumptionEntry(Section):
    """An assumption: something that the paper leaves open, and what we chose."""

    id: Id = said("its name")
    what: Words = said("what we chose")
    alternatives: Annotated[list[Words], MinLen(1)] = said("what else the text admits")
    why: Words = said("why this one")
    reading: Words = said(
        "the readings that take an alternative, with commas", default="none was run"
    )


class DeviationEntry(Section):
    """A deviation: text and public code of the paper say different things."""

    id: Id = said("its name")
    paper: Words = said("what the text says")
    code: Words = said("what the public code does")
    default: Annotated[Literal["paper", "code"], Expected("paper or code")] = said(
        "which one runs under the default reading"
    )
    reading: Words = said("the readings that take the other one, with commas", default="none")
    why: Words = said("why this default")


class ErratumEntry(Section):
    """An erratum: a mistake in the paper itself."""

    id: Id = said("its name")
    where: Words = said("where it stands")
    says: Words = said("what stands there")
    instead: Words = said("what should stand there")
    evidence: Words = said("what shows it", default="what stands there contradicts itself")


class FindingEntry(Section):
    """A finding: what the replication found that the paper does not say. Its numbers are those of
    the claims that it names, on whose pages it stands.
    """

    id: Id = said("its name")
    title: Sentence = said("what was found, in one sentence")
    says: Sentence = said("the same at length")
    figure: ExhibitName = said("the figure, picture or table that shows it")
    claims: Annotated[list[ClaimName], MinLen(1), DISTINCT] = said("the claims that bear it out")
    errata: Errata = said("the errata that bear it out", default="none")
    runs: Names = said("commands beside those that the claims' own verdicts name", default="none")
