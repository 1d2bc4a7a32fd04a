"""The models of exhibits' lines: a paper's YAML is checked against them, and who draws an exhibit
reads its line as one.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from annotated_types import Gt, Lt, MaxLen, MinLen
from pydantic import Discriminator, model_validator

from workflow.plan.vocabulary import (
    Algorithms,
    Column,
    Count,
    Errata,
    Expected,
    Flag,
    Id,
    Label,
    Labels,
    Metric,
    Named,
    Names,
    Number,
    Problem,
    Problems,
    Reading,
    Readings,
    Rows,
    Scales,
    Section,
    Target,
    Variant,
    Words,
    Yes,
    refusal,
    said,
)
from workflow.plan.vocabulary import Study as StudyName


class ExhibitLine(Section):
    """What every exhibit may say."""

    id: Id = said("its name, and that of its files")
    where: Words = said("where the paper shows it", default="it is an addition of ours", value="")
    title: Words = said("its title", default="its id", value="")
    note: Words = said(
        "what the reader has to know, in the small print", default="nothing is added", value=""
    )
    scales: Scales = said("only at these scales", default="at all", value=[])


class Window(Section):
    """Where a fit begins."""

    from_: Number = said("where the fit begins", key="from", unit="that of x")


class Stretch(Section):
    """A power law that is fitted and drawn beyond the data."""

    from_: Count = said("where the fit begins", key="from", unit="evaluations")
    to: Count = said("up to where it is drawn", unit="evaluations")

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.to <= self.from_:
            raise refusal(f"expected `to` above `from`, got {self.to} and {self.from_}")
        return self


class Level(Section):
    """A horizontal line at the median over seeds of a study's column."""

    study: StudyName = said("which study")
    column: Column = said("which column")


Range = Annotated[
    list[Number], MinLen(2), MaxLen(2), Expected("two numbers, the lower and the upper end")
]
Scaling = Annotated[Literal["linear", "log"], Expected("linear or log")]
Band = Literal["ci95", "ci95-log", "wald", "se", "iqr", "none"]


class Drawing(Section):
    """What a panel of a figure may say; what the figure says holds in all its panels."""

    metric: Metric = said("what is drawn of runs", default="columns of `study` are drawn", value="")
    relative_to: Label = said(
        "the metric is divided by that of this curve", default="it is divided by nothing", value=""
    )
    problem: Problem = said("whose runs", default="`study` is given", value="")
    curves: Labels = said("which curves", default="`study` is given", value=[])
    controls: Labels = said(
        "curves drawn from their default run, whatever the reading and the variant of the panel",
        value=[],
    )
    reading: Reading = said("the reading of curves that name none", default="the default", value="")
    variant: Variant = said("the variant of curves that name none", value="")
    band: Annotated[Band, Expected(f"one of {', '.join(get_args(Band))}")] = said(
        "the line and the band around it: mean with its 95 % t interval, the same in logarithms,"
        " mean with 1.96 or with 1 standard error, median with quartiles, or mean alone",
        value="ci95",
    )
    xlabel: Words = said("below the axis", default="what is drawn", value="")
    ylabel: Words = said("beside the axis", default="what is drawn", value="")
    xscale: Scaling = said("of the axis", value="linear")
    yscale: Scaling = said("of the axis", value="linear")
    ylim: Range = said("the ends of the axis", default="all data", value=[], unit="that of y")
    extrapolate: Stretch = said(
        "a power law through the measured end of curves, drawn up to `to`", default="none"
    )
    to: Count = said("draw the first evaluations only", default="all", unit="evaluations")
    shortest: Flag = said(
        "true: all curves end where the shortest one does", default="each at its own end"
    )
    known: Count = said(
        "evaluations before the first one of ours, with which the axis begins",
        value=0,
        unit="evaluations",
    )
    lines: dict[str, Annotated[float | Level, Expected("a number, or a study with a column")]] = (
        said("label: a horizontal line, at a number or at the median of a column", value={})
    )
    bars: Yes = said(
        "bands are not shaded, but stand as bars at the end alone", default="shaded", value=False
    )
    study: StudyName = said("whose columns are drawn", default="runs are drawn", value="")
    x: Column = said("study: the column along the axis", default="evaluations", value="")
    y: Annotated[Names | str, Expected("the name of a column, or a list of them, each once")] = (
        said("study: the columns that are drawn", default="the metric", value=[])
    )
    split: Column = said(
        "study: one line for each value of this column", default="one line a column", value=""
    )
    names: dict[str, Words] = said(
        "in the legend: the name of a curve, of a column of a study, or of a value of its split"
        " column",
        default="the curve, the column, or column = value",
        value={},
    )
    fit: Window = said(
        "study: the exponent of a power law from some x on is put into the legend", default="none"
    )
    rows: Rows = said("study: column: value, of the rows that are drawn", default="all", value={})


OF_STUDIES = {"x", "y", "split", "names", "fit", "rows"}
NOT_OF_DOTS = {"reading", "controls", "extrapolate"}
OF_CURVES = {"metric", "relative_to", "problem", "curves", "variant", "to", "shortest", "known"}
OF_CURVES |= NOT_OF_DOTS


class PanelLine(Drawing):
    """One panel of a figure."""

    title: Words = said("above the panel", default="nothing is shown", value="")


class FigureLine(Drawing, ExhibitLine):
    """A figure: curves over evaluations, dots at their ends, or columns of a study, in panels."""

    kind: Annotated[Literal["curves", "dots"], Expected("curves or dots")] = said(
        "curves over evaluations, or a dot for each seed at the end of each curve", value="curves"
    )
    readings: Readings = said(
        "dots: the readings side by side; `default` is the default one",
        default="the default one",
        value=["default"],
    )
    panels: Annotated[list[PanelLine], MinLen(1)] = said(
        "its panels; each says what differs from the figure"
    )

    @model_validator(mode="after")
    def _is_read(self) -> Self:
        mine = self.model_fields_set
        if "readings" in mine and self.kind != "dots":
            raise refusal(
                "expected `readings` beside `kind: dots` alone, got curves: leave them out"
            )
        for number, panel in enumerate(self.panels):
            own = panel.model_fields_set
            if self.kind == "dots" and (of_lines := sorted((mine | own) & NOT_OF_DOTS)):
                raise refusal(
                    f"expected keys that dots read, got {', '.join(of_lines)}: leave them out, or"
                    " list `readings`"
                )
            of_study = bool({"study"} & (mine | own))
            unread = own & (OF_CURVES if of_study else OF_STUDIES)
            if unread:
                raise refusal(
                    f"expected keys that a panel of {'a study' if of_study else 'runs'} reads, got"
                    f" {', '.join(sorted(unread))} in panel {number + 1}: leave them out"
                )
            wanted = {"x", "y"} if of_study else {"problem", "metric", "curves"}
            if lacks := sorted(wanted - mine - own):
                raise refusal(
                    f"expected {', '.join(lacks)} in panel {number + 1} or in the figure, got none"
                )
        return self

    def apart(self) -> list[FigureLine]:
        """Each panel as a figure of its own: what the panel says, else what the figure does."""
        alone = self.model_copy(update={"title": "", "panels": []})
        return [
            alone.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})
            for own in self.panels
        ]


class RanksLine(ExhibitLine):
    """Ranks: algorithms ranked on several problems, at the end of the shortest run there."""

    title: Words = said("its title")
    problems: Annotated[Problems, MinLen(2)] = said("on which problems")
    curves: Annotated[Labels, MinLen(2)] = said("which curves")
    metric: Metric = said("the smaller the better")


class ProfilePanel(Section):
    """One panel of a line of profiles."""

    title: Words = said("above the panel", default="nothing is shown", value="")
    problems: Problems = said("over which problems")
    curves: Labels = said("which curves", default="those of the line", value=[])


class ProfilesLine(ExhibitLine):
    """Data profiles: the share of targets that each curve has reached, over evaluations or over
    seconds. A target is a share of the way from the best point of the initial design to the best
    that any of the curves finds with that seed.
    """

    title: Words = said("its title")
    curves: Labels = said("which curves")
    targets: Annotated[
        list[Annotated[float, Gt(0), Lt(1)]], MinLen(1), Expected("numbers above 0 and below 1")
    ] = said("the shares of the way that are left")
    over: Annotated[Literal["evaluations", "seconds"], Expected("evaluations or seconds")] = said(
        "evaluations: as a share of the budget after the initial design; seconds: CPU time of the"
        " algorithm"
    )
    panels: Annotated[list[ProfilePanel], MinLen(1)] = said("its panels")


class PictureLine(ExhibitLine):
    """A picture: the best design that any of the curves has found, under any reading."""

    is_: Target = said("the function in workflow/draw/drawers/", key="is")
    problem: Problem = said("on which problem")
    curves: Labels = said("whose best design; of a curve that names no reading, under all of them")
    moves: Yes = said("whether there is a GIF beside the PNG", value=False)


class TableLine(ExhibitLine):
    """What every table may say."""

    errata: Errata = said("errata of the paper that are listed below the table", value=[])


class ParametersTable(TableLine):
    """`parameters`: one parameter of several algorithms on each problem, as published."""

    kind: Literal["parameters"] = said("which table")
    parameter: Words = said("which parameter")
    algorithms: Algorithms = said("of which algorithms")
    problems: Problems = said("on which problems", default="all of them", value=[])


class SettingsTable(TableLine):
    """`settings`: several parameters of each algorithm on each problem, as published."""

    kind: Literal["settings"] = said("which table")
    problems: Problems = said("on which problems")
    settings: Annotated[dict[Annotated[str, Named("algorithm")], Names], MinLen(1)] = said(
        "algorithm: its parameters"
    )


class DiagnosticsTable(TableLine):
    """`diagnostics`: where runs end, how long they take, and what the optimizers say."""

    kind: Literal["diagnostics"] = said("which table")
    problems: Problems = said("on which problems")
    curves: Labels = said("of which curves")
    readings: Readings = said("under which readings", default="the default one", value=["default"])
    relative_to: Label = said(
        "regret is divided by that of this curve", default="no such column", value=""
    )
    reports: Names = said("what the optimizers report at their end", default="nothing", value=[])


class FeasibleTable(TableLine):
    """`feasible`: the best feasible value of each run, and how many have one."""

    kind: Literal["feasible"] = said("which table")
    problems: Problems = said("on which problems")
    curves: Labels = said("of which curves")
    readings: Readings = said("under which readings", default="the default one", value=["default"])


class StudyTable(TableLine):
    """`study`: means of columns of a study."""

    kind: Literal["study"] = said("which table")
    study: StudyName = said("which study")
    columns: Names = said("the columns whose means are shown")
    by: Names = said("the columns whose values make a row")
    rows: Rows = said("column: value, of the rows that are read", default="all", value={})


class Growth(Section):
    """What the paper says of one solution, and the rows of the study that measure it."""

    solution: Words = said("what is compared")
    says: Annotated[dict[str, Words], MinLen(1)] = said("column of the table: what the paper says")
    rows: Rows = said(
        "column: value, of the rows that measure it", default="it is quoted alone", value={}
    )


class GrowthTable(TableLine):
    """`growth`: published orders of growth beside the exponents that a study measures."""

    kind: Literal["growth"] = said("which table")
    study: StudyName = said("which study")
    x: Column = said("the column over which the first of `columns` grows")
    columns: Names = said("the column that grows")
    from_: Number = said("from this x on", key="from", unit="that of x")
    lines: Annotated[list[Growth], MinLen(1)] = said("one row each")


class PublishedTable(TableLine):
    """`published`: our numbers beside those of the section `published`, in the paper's own layout:
    a row a method, a column a panel.
    """

    kind: Literal["published"] = said("which table")


AnyTable = Annotated[
    ParametersTable
    | SettingsTable
    | DiagnosticsTable
    | FeasibleTable
    | StudyTable
    | GrowthTable
    | PublishedTable,
    Discriminator("kind"),
]
