"""What a run costs: a model fitted to records, in papers/costs.yaml, which `python -m
benchmarks.costs` writes.

A cost is CPU seconds of one thread on the reference machine, and peak memory. It decides how many
seeds share a job and what a cluster is asked for, the same on every machine; the core-hours that
the plan prints are those of this machine (workflow/plan/machine.py).

The seconds of a run that makes evaluations `first` to `last` are the sum over t of

    evaluation + step ((turn + t) / (turn + at))^growth  prod (feature/typical)^exponent

where evaluation belongs to the problem and everything else to the method: `step` is what a step
takes at `at` evaluations, features are dimension, constraints, arms and some of the method's
parameters; the problem, the algorithm's name, its reading and its variant have factors of their own
and add something to the growth. Of methods whose steps grow with the arms that they have pulled, or
with their dictionary, the step is (u/at)^growth, where u grows with t up to a size that bandwidth
and lambda decide, by a regression. Where the very cell was measured, up to some evaluation, the
measurement is taken and the model says only how it grows from there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import Any, TypeVar

import yaml

from workflow.plan.resolve import ROOT

JOB_SECONDS = 300  # seeds share a job up to about this long
PART_SECONDS = 100  # the same where a scale runs a small part of a plan: no core waits for long
SHORT_SECONDS = 30  # cells on one problem share a job up to about this long
PARAMETERS = ("bandwidth", "lam", "qbar")  # of a method, which decide the size of its dictionary
FAMILIES = ("posterior", "model", "surrogate", "draws")  # by name: as good as another method
SHAPES = ("d", "m", "arms")  # of a problem: dimension, constraints, rows of its table
UNKNOWN = (60.0, 1000.0)  # seconds of a seed and MiB, where nothing is known
LEVELS = ("measured", "known", "method", "none")  # how well a cell is known, best first
STUDY_SHARE = 0.1  # of a study's cost at scale paper, at smaller ones
ROUND = 1.01  # papers/costs.yaml has three digits
SIZE = "size"  # in the place of a turn: steps grow with the arms that were pulled
POINTS = 40  # of a numerical integral
LIMIT = 6.0  # of a power of growth, which extrapolates
T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """What one seed costs: CPU seconds, peak memory in MiB, whether that was measured on this very
    cell, and the factor within which four of five measurements lie.
    """

    seconds: float
    mib: float
    measured: bool
    within: float = 1.0

    @property
    def low(self) -> float:
        """The lower end of the 80 % interval, in seconds."""
        return self.seconds / self.within

    @property
    def high(self) -> float:
        """The upper end of the 80 % interval, in seconds."""
        return self.seconds * self.within


@dataclass(frozen=True)
class Run:
    """What the cost of a seed of a cell depends on.

    `problem` and `curve` carry their readings, `kind` is module.Class, `first` and `last` count
    evaluations: those that were told before the first step, and all at the end.
    """

    paper: str
    problem: str
    curve: str
    kind: str
    first: int
    last: int
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """What shares a growth: module.Class and what it has among FAMILIES."""
        chosen = [self.parameters.get(name) for name in FAMILIES]
        return " ".join([self.kind, *(value for value in chosen if isinstance(value, str))])

    @property
    def settings(self) -> list[str]:
        """The algorithm's name, `@reading` and `+variant`, but for those that a feature tells."""
        parts = re.split("(?=[@+])", self.curve)
        return [part for part in parts if not part[1:].startswith(PARAMETERS)]

    @property
    def base(self) -> str:
        """The problem without its reading."""
        return self.problem.split("@")[0]


def duration(seconds: float) -> str:
    """For people."""
    if seconds < 90:
        return f"{seconds:.3g} s"
    for unit, size, most in (("min", 60, 90), ("h", 3600, 48)):
        if seconds < most * size:
            return f"{seconds / size:.{0 if unit == 'min' else 1}f} {unit}"
    return f"{seconds / 86400:.1f} days"


@cache
def table() -> dict[str, Any]:
    """papers/costs.yaml, whose comments say what its blocks mean."""
    path = ROOT / "papers" / "costs.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}


def estimate(run: Run, model: Mapping[str, Any] | None = None) -> Cost:
    """The cost of one seed of a cell on the reference machine, by papers/costs.yaml or another
    model.
    """
    model = table() if model is None else model
    known = measured(model, run)
    level = known_as(model, run)
    within = _within(model, level)
    if known is None:
        whole = modelled(model, run)
        seconds = whole if whole is not None else _like_its_paper(model, run)
        return Cost(seconds, _mib(model, run), measured=False, within=within)
    spent, last, mib, more, _ = known
    whole, before = (modelled(model, some, more) for some in (run, _until(run, last)))
    reach = model.get("reach", 0.0) * math.log(max(1.0, steps(run) / steps(_until(run, last))))
    if before and whole is not None:
        seconds = whole * spent / before
        # the growth beyond what was measured is the method's, which a cell may miss
        reach *= 1 - _evaluation(model, run) * steps(run) / whole
    else:
        seconds = spent * steps(run) / steps(_until(run, last))
    within = math.exp(math.hypot(math.log(within), reach))
    is_whole = level == "measured" and steps(run) <= steps(_until(run, last))
    return Cost(seconds, mib, measured=is_whole, within=within)


def estimate_study(paper: str, study: str, *, is_cut: bool = False) -> Cost:
    """The cost of one seed of a study: its own, else the dearest of its paper's, of those whose
    names begin with the same word if there are any.
    """
    model = table()
    share = STUDY_SHARE if is_cut else 1.0
    here = model.get("studies", {}).get(paper, {})
    if study in here:
        seconds, mib = here[study]
        return Cost(seconds * share, mib, measured=True, within=_within(model, "measured"))
    alike = [cost for name, cost in here.items() if name.split("-")[0] == study.split("-")[0]]
    known = alike or list(here.values()) or [UNKNOWN]
    return Cost(
        max(seconds for seconds, _ in known) * share,
        max(mib for _, mib in known),
        measured=False,
        within=_within(model, "method" if alike else "none"),
    )


def steps(run: Run) -> int:
    """Evaluations that the run makes beside its initial design, at least one."""
    return max(1, run.last - run.first)


def growth(first: float, last: float, turn: float, at: float, power: float) -> float:
    """The sum over t from `first` to `last` of ((turn + t) / (turn + at))^power, as an integral."""
    low, high = ((turn + t) / (turn + at) for t in (first, max(last, first + 1)))
    if abs(power + 1) < 1e-9:
        return (turn + at) * math.log(high / low)
    return float((turn + at) / (power + 1) * (high ** (power + 1) - low ** (power + 1)))


def saturated(first: float, last: float, size: float, at: float, power: float) -> float:
    """The sum over t from `first` to `last` of (u/at)^power, where u is t as long as that is less
    than `size`, and `size` from there on.
    """
    low, high = math.log(max(first, 1.0)), math.log(max(last, first + 1, 2.0))
    step = (high - low) / POINTS
    total = 0.0
    for i in range(POINTS):  # the middles of equal parts of the logarithm
        t = math.exp(low + (i + 0.5) * step)
        total += t * (t * (1 + (t / size) ** 3) ** (-1 / 3) / at) ** power
    return total * step


def size(model: Mapping[str, Any], run: Run) -> float | None:
    """How many arms a run ends with among those that it has pulled, or in its dictionary: its own
    number, else that of a regression; None where the problem has no table or the method no kernel.
    """
    known = measured(model, run)
    if known is not None and known[4]:
        return known[4]
    found, sizes = features(model, run), model.get("sizes", {})
    if not sizes or "arms" not in found or "bandwidth" not in found:
        return None
    value = float(sizes["base"])
    for name, exponent in sizes["exponents"].items():
        value *= (found[name] / sizes["typical"][name]) ** exponent if name in found else 1.0
    for name in (run.method, run.base, *run.settings):
        value *= sizes["factors"].get(name, 1.0)
    return min(max(value, 2.0), found["arms"])


def features(model: Mapping[str, Any], run: Run) -> dict[str, float]:
    """What is known of a run among SHAPES and PARAMETERS, all of them positive."""
    shape = _problem(model, run)
    found = {name: float(shape[name]) for name in SHAPES if shape.get(name)}
    if "m" in shape:
        found["m"] = 1.0 + shape["m"]  # processes: the objective's and one for each constraint
    for name in PARAMETERS:
        value = run.parameters.get(name)
        if isinstance(value, int | float) and value > 0:
            found[name] = float(value)
    if "bandwidth" in found:  # a length in the problem's own units
        found["bandwidth"] /= shape.get("bandwidth", found["bandwidth"])
    return found


def measured(model: Mapping[str, Any], run: Run) -> tuple[float, int, float, float, float] | None:
    """Seconds, the last evaluation that they reach to, MiB, what is added to the growth, and the
    size or 0, of a seed of this cell or of the same curve on the problem without its reading; None
    where neither was measured.
    """
    cells = model.get("cells", {}).get(run.paper, {})
    for problem in (run.problem, run.base):
        if run.curve in cells.get(problem, {}):
            seconds, last, mib, more, arms = [*cells[problem][run.curve], 0, 0][:5]
            return float(seconds), int(last), float(mib), float(more), float(arms)
    return None


def known_as(model: Mapping[str, Any], run: Run) -> str:
    """How well a cell is known, one of LEVELS: measured itself; its method measured on its problem
    and its settings somewhere; its method measured; nothing. A parameter beyond all that were
    measured is a setting that was not.
    """
    cells = model.get("cells", {}).get(run.paper, {})
    if run.curve in cells.get(run.problem, {}):
        return "measured"
    if run.curve in cells.get(run.base, {}):
        return "known"
    method = model.get("methods", {}).get(run.method)
    if method is None:
        return "none"
    has_settings = all(name in method["settings"] for name in run.settings)
    found = features(model, run)
    is_within = all(
        low <= found.get(name, low) * ROUND and found.get(name, high) <= high * ROUND
        for name, (_, _, low, high) in method["features"].items()
        if name in PARAMETERS
    )
    is_known = has_settings and is_within and run.base in method["problems"]
    return "known" if is_known else "method"


def modelled(model: Mapping[str, Any], run: Run, more: float = 0.0) -> float | None:
    """Seconds by the model alone, `more` added to the growth; None where the method is unknown."""
    method = model.get("methods", {}).get(run.method)
    if method is None:
        return None
    found = features(model, run)
    step = float(method["step"])
    for name, (exponent, typical, *_) in method["features"].items():
        step *= (found.get(name, typical) / typical) ** exponent
    power = float(method["growth"]) + more
    effects = [method["problems"].get(run.base)]
    effects += [method["settings"].get(name) for name in run.settings]
    for factor, own in filter(None, effects):
        step, power = step * factor, power + own
    power = min(max(power, -LIMIT), LIMIT)
    if method["turn"] == SIZE:
        arms = size(model, run) or method["at"]
        work = saturated(run.first, run.last, arms, method["at"], power)
    else:
        work = growth(run.first, run.last, method["turn"], method["at"], power)
    return _evaluation(model, run) * steps(run) + step * work


def _problem(model: Mapping[str, Any], run: Run) -> Mapping[str, Any]:
    """Shape and seconds of an evaluation of a problem, else of the problem without its reading."""
    problems = model.get("problems", {}).get(run.paper, {})
    found: Mapping[str, Any] = problems.get(run.problem, problems.get(run.base, {}))
    return found


def _evaluation(model: Mapping[str, Any], run: Run) -> float:
    """Seconds of an evaluation: its problem's, else the median of its paper's problems."""
    known = model.get("problems", {}).get(run.paper, {}).values()
    usual = median(problem["evaluation"] for problem in known) if known else 0.0
    return float(_problem(model, run).get("evaluation", usual))


def _until(run: Run, last: int) -> Run:
    """The same run, shorter or longer."""
    return Run(run.paper, run.problem, run.curve, run.kind, run.first, last, run.parameters)


def _like_its_paper(model: Mapping[str, Any], run: Run) -> float:
    """Seconds of who knows what method: for an evaluation the median of its paper's cells."""
    cells = model.get("cells", {}).get(run.paper, {})
    rates = [seconds / last for here in cells.values() for seconds, last, *_ in here.values()]
    return float(median(rates)) * steps(run) if rates else UNKNOWN[0]


def _mib(model: Mapping[str, Any], run: Run) -> float:
    """The largest peak among cells of the algorithm on the problem, else of the algorithm, of the
    problem, of the paper.
    """
    cells = model.get("cells", {}).get(run.paper, {})
    algorithm = re.split("[@+]", run.curve)[0]

    def peaks(of: Iterable[str], alike: str) -> list[float]:
        return [
            mib
            for problem in of
            for curve, (_, _, mib, *_) in cells.get(problem, {}).items()
            if not alike or re.split("[@+]", curve)[0] == alike
        ]

    here = [problem for problem in cells if problem.split("@")[0] == run.base]
    known = (
        peaks(here, algorithm)
        or peaks(cells, algorithm)
        or peaks(here, "")
        or peaks(cells, "")
        or [UNKNOWN[1]]
    )
    return float(max(known))


def _within(model: Mapping[str, Any], level: str) -> float:
    """The factor within which four of five cells that are known so well were predicted."""
    return float(model.get("within", {}).get(level, 10.0))


def together(costs: Iterable[tuple[str, float, Cost]]) -> tuple[float, float, float]:
    """The sum of (method, number of seeds, cost), and its interval, in seconds.

    What is wrong about a method is wrong in all its cells: their errors are added. Those of
    different methods are independent: the roots of their squares are.
    """
    sums: dict[str, list[float]] = {}
    for method, count, cost in costs:
        found = sums.setdefault(method, [0.0, 0.0, 0.0])
        for i, seconds in enumerate((cost.low, cost.seconds, cost.high)):
            found[i] += count * seconds
    total = sum(seconds for _, seconds, _ in sums.values())
    below = math.hypot(*(seconds - low for low, seconds, _ in sums.values()))
    above = math.hypot(*(high - seconds for _, seconds, high in sums.values()))
    return max(total - below, 0.0), total, total + above


def chunks(
    seeds: tuple[int, ...], seconds: float, most: float = JOB_SECONDS
) -> list[tuple[int, ...]]:
    """Seeds by job: as many together as take about so many seconds."""
    many = max(1, int(most / max(seconds, 0.1)))
    return [seeds[start : start + many] for start in range(0, len(seeds), many)]


def packed(things: Sequence[T], seconds: Sequence[float]) -> list[list[T]]:
    """Neighbours together as long as they take no more than a short run may: starting a process
    costs seconds, too.
    """
    bins: list[list[T]] = []
    room = 0.0
    for thing, cost in zip(things, seconds, strict=True):
        if not bins or cost > room:
            bins.append([])
            room = SHORT_SECONDS
        bins[-1].append(thing)
        room -= cost
    return bins
