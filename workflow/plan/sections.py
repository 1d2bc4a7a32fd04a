"""The typed models of what a paper runs: its head, scales, problems, algorithms, variants,
readings, runs and studies.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from annotated_types import MinLen
from pydantic import Field, model_validator

from workflow.plan.vocabulary import (
    Algorithms,
    Count,
    Expected,
    Flag,
    Id,
    Label,
    Metric,
    Named,
    OpenSection,
    Positive,
    Problem,
    Problems,
    Readings,
    Scales,
    Section,
    Seeds,
    Sentence,
    Target,
    Variant,
    Variants,
    Words,
    refusal,
    said,
)

REQUIRED_SCALES = ("smoke", "paper")  # each is asked of all papers at once
ROOM = "a whole number from 1 on, or unlimited"
Room = Annotated[Count | Literal["unlimited"], Expected(ROOM)]
Execution = Annotated[Literal["batch", "async"], Expected("batch or async")]
Parameters = dict[str, Any]


class Head(Section):
    """The paper itself: how it is cited and what people call it."""

    key: Id = said("its key in papers/references.bib")
    label: Words = said("what people call the paper, in menus", default="the name of the YAML file")
    title: Words = said("its title", default="the key stands in its place")
    venue: Words = said("where and when it was published", default="nothing is shown")
    link: Annotated[
        str, Expected("an address that begins with https://"), Field(pattern="^https://")
    ] = said("where it can be read", default="nothing is shown")
    proposes: Words = said(
        "what it proposes and claims, in a few short sentences for who has not read it",
        default="nothing is shown",
    )
    note: Words = said("what a reader has to know before anything else", default="nothing is shown")


class Scale(Section):
    """What a scale makes smaller. A scale cuts, it never computes anything else."""

    seeds: Seeds = said(
        "repetitions at most", default="as many as `seeds` says", unit="seeds, from 0 on"
    )
    budget: Count = said(
        "evaluations of a run at most",
        default="the published budget",
        unit="evaluations, the counted initial design among them",
    )
    after_init: Count = said(
        "evaluations at most after the initial design, which grows with d on some problems",
        default="no such limit",
        unit="evaluations",
    )
    variants: list[Variant] = said("the only variants that this scale runs", default="all of them")


class Design(Section):
    """The evaluations before the first query of an algorithm: the same ones for all algorithms."""

    design: Annotated[
        Literal["uniform", "uniform-distinct"], Expected("uniform or uniform-distinct")
    ] = said("how the points are drawn; distinct ones differ from each other")
    n: Count = said("how many points", unit="evaluations")
    counted: Annotated[bool, Expected("true or false")] = said(
        "whether they count in the budget and in regret; false means data that existed before",
        default="true",
    )
    noise: Annotated[Literal[False], Expected("false, or no such line")] = said(
        "false means that the points are observed without noise",
        default="they are observed with the noise of the problem",
    )


class ProblemEntry(OpenSection):
    """One problem: what is maximised, how often, and how many evaluations may run at once. Every
    key that is not listed here is a parameter of the constructor that `is:` names.
    """

    is_: Target = said("the function in problems/ that makes it", key="is")
    data: Annotated[
        str, Expected("the name of a data set: small letters, digits, underscores", "[a-z0-9_]+")
    ] = said(
        "the data set that it reads, by its name in data/manifest.yaml", default="it reads none"
    )
    budget: Count = said("the published length of a run", unit="evaluations")
    room: Room = said("evaluations that may run at once", unit="evaluations")
    execution: Execution = said(
        "batch: the next queries wait for all running evaluations; async: a free worker is given"
        " one at once",
        default="batch",
    )
    init: Design = said("the initial design")
    given: dict[str, Words] = said(
        "parameter: what the problem reveals under that name, for every algorithm that has the"
        " parameter and no value of its own for this problem",
        default="the problem reveals nothing",
    )
    optimum: Annotated[Literal["best-seen"], Expected("best-seen, or no such line")] = said(
        "best-seen: the optimum is unknown, and regret is measured from the best value of all runs"
        " on the problem",
        default="the problem knows its optimum",
    )
    libraries: list[Words] = said(
        "packages whose version decides the values: records of another version are stale",
        default="none",
    )
    simulator: Id = said(
        "a program of simulators/*.cc that the problem runs: its source is part of the run",
        default="it runs none",
    )
    substitute: Annotated[Parameters, MinLen(1)] = said(
        "parameters instead of its own where one of `libraries` is not installed and the scale"
        " allows substitutes",
        default="it waits for its libraries",
    )
    timeout: Positive = said(
        "how long one evaluation may take; a longer one ends its run",
        default="3600",
        unit="seconds",
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if "substitute" in self.model_fields_set and "libraries" not in self.model_fields_set:
            raise refusal(
                "expected `libraries` beside `substitute`, got none: name the libraries that it"
                " stands in for"
            )
        return _without_unread(self, AlgorithmEntry)


class AlgorithmEntry(OpenSection):
    """One algorithm: the class that `is:` names, with its parameters as further keys. A value that
    differs between problems is a mapping over them; T and 1/T stand for the published budget.
    """

    is_: Target = said("the class in algorithms/", key="is")
    seeds: Seeds = said(
        "repetitions at most", default="as many as everything else", unit="seeds, from 0 on"
    )
    budget: Count = said(
        "length of its runs at most", default="the budget of the problem", unit="evaluations"
    )
    room: Annotated[
        Room | dict[str, Room], Expected(f"{ROOM}, or one of these for each problem")
    ] = said(
        "evaluations that it may run at once", default="that of the problem", unit="evaluations"
    )
    execution: Annotated[
        Execution | dict[str, Execution],
        Expected("batch or async, or one of these for each problem"),
    ] = said("as on a problem's line", default="that of the problem")
    libraries: list[Words] = said(
        "packages whose version decides what it asks: records of another version are stale",
        default="none",
    )

    @model_validator(mode="after")
    def _is_read(self) -> Self:
        return _without_unread(self, ProblemEntry)


class BorrowedEntry(Section):
    """What a comparison borrows from a paper: problems as they stand there, and the runs of some
    curves on them. The runs stay that paper's: its records are read, and its plan makes them.
    """

    problems: Annotated[list[Words], MinLen(1)] = said(
        "problems of that paper, with budget, initial design and noise"
    )
    curves: Annotated[list[Words], MinLen(1)] = said(
        "curves of that paper whose runs on these problems are compared; one that a problem lacks"
        " is left out there"
    )


class ReadingEntry(Section):
    """A reading: one answer to a question that the paper leaves open. It overrides parameters of
    problems and algorithms; `*` reaches whoever has the parameter, fields of groups among them, and
    has to reach somebody. So one line sets for all algorithms what they share:
    `algorithms: {"*": {surrogate: {noise_units: standardised}}}`. Who lacks the parameter, or has
    that value anyway, has no other run under the reading: figures, ranks and claims take its
    default run.
    """

    says: Sentence = said("what is read differently")
    follows: Annotated[str, Expected("public code", "public code")] = said(
        "that it is the authors' public code as a whole, so that claims are also counted under it",
        default="it answers one question",
        value="",
    )
    control: Flag = said(
        "that it is an experiment of ours and no answer that the paper leaves room for: its runs"
        " are judged and shown, and it has no vote",
        default="it is a reading of the paper",
        value=False,
    )
    problems: dict[str, Parameters] = said(
        "problem: its parameters under this reading", default="no change", value={}
    )
    algorithms: dict[str, Parameters] = said(
        "algorithm: its parameters under this reading", default="no change", value={}
    )

    def __str__(self) -> str:
        return f"a control: {self.says}" if self.control else self.says


class RunLine(Section):
    """Curves: each of the problems with each of the algorithms under each reading and variant."""

    problems: Problems = said("on which problems", default="all of them")
    algorithms: Algorithms = said(
        "which algorithms",
        default="all of them; beside `readings` those alone whose runs the reading changes",
    )
    readings: Readings = said("under which readings", default="the default one")
    variants: Annotated[
        Literal["all"] | Variants, Expected("all, or a list of variants, each once")
    ] = said("at which variants", default="none")
    scales: Scales = said("only at these scales", default="at all")
    seeds: Seeds = said(
        "repetitions at most", default="as many as everything else", unit="seeds, from 0 on"
    )
    budget: Count = said(
        "length of the runs at most", default="the budget of the problem", unit="evaluations"
    )


class PublishedPanel(Section):
    """Published numbers beside ours: a panel of papers/published/<paper>.csv, and what of our runs
    it is set beside.
    """

    panel: Words = said("the panel in the CSV file")
    label: Words = said("what tables call it", default="the name of the panel", value="")
    problem: Problem = said("on which problem")
    metric: Metric = said("which metric of ours")
    relative_to: Label = said(
        "the metric is divided by that of this curve, and so are the published numbers if the panel"
        " has that curve",
        default="it is divided by nothing",
        value="",
    )
    denominator: Annotated[Literal["mean", "same seed"], Expected("mean or same seed")] = said(
        "whether it is divided by the mean over seeds or by the run of the same seed",
        value="mean",
    )
    statistic: Annotated[Literal["mean", "spread"], Expected("mean or spread")] = said(
        "what is compared over seeds: the mean, or the standard deviation, which the published band"
        " of 1.96 standard errors has",
        value="mean",
    )
    seeds: Seeds = said(
        "repetitions behind the published band",
        default="needed by spread alone",
        value=0,
        unit="seeds",
    )
    shown: Annotated[list[Count], MinLen(1)] = said(
        "which of `at` the table of published numbers shows",
        default="the last one",
        value=[],
        unit="evaluations",
    )
    known: Count = said(
        "evaluations before the first one of ours, which the published x counts",
        value=0,
        unit="evaluations",
    )
    at: Annotated[list[Count], MinLen(1)] = said("where both are read", unit="evaluations")
    scored: Annotated[bool, Expected("false, or no such line", "False")] = said(
        "false: it has no part in the choice of the nearest setting, and tests it",
        default="it is scored",
        value=True,
    )

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.label or self.panel

    @model_validator(mode="after")
    def _has_a_band(self) -> Self:
        if (self.statistic == "spread") != ("seeds" in self.model_fields_set):
            raise refusal("expected `seeds` beside `statistic: spread` and nowhere else")
        return self


class ExperimentEntry(Section):
    """An experiment with published numbers: problems whose runs share their settings. Every reading
    of it is scored over all of its methods together, and the nearest one judges claims a second
    time.
    """

    problems: Problems = said("whose claims are judged under the nearest reading")
    panels: Annotated[list[PublishedPanel], MinLen(1)] = said("its published numbers")


class StudyEntry(Section):
    """A study: a computation that is no run of an algorithm, as the check of a theorem. It has one
    table of numbers for each seed.
    """

    id: Id = said("its name")
    is_: Target = said("the function in workflow/studies/", key="is")
    where: Words = said("which part of the paper it tests", default="nothing is shown")
    says: Words = said("what it computes", default="nothing is shown")
    problem: Problem = said("the problem on which it computes")
    seeds: Seeds = said(
        "repetitions at most",
        default="as many as everything else",
        unit="seeds, from `first_seed` on",
    )
    first_seed: Seeds = said(
        "the first of its seeds, for seeds that no choice of its constants has seen", default="0"
    )
    parameters: Parameters = said("what its function is given", default="nothing")
    cuts: dict[Annotated[Words, Named("scale")], Parameters] = said(
        "scale: the parameters that it makes smaller",
        default="a scale cuts T to its budget and changes nothing else",
    )


def _without_unread(entry: Any, other: type[Section]) -> Any:
    """Refuse a reserved key that means something on the other kind of entry alone."""
    keys = {info.alias or name for name, info in other.model_fields.items()}
    if unread := sorted(keys.intersection(entry.model_extra or {})):
        raise refusal(
            f"expected keys that something reads, got {', '.join(unread)}, which means nothing on"
            f" the line of {'a problem' if other is AlgorithmEntry else 'an algorithm'}: leave it"
            " out"
        )
    return entry
