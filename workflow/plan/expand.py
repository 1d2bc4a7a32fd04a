"""From a paper's YAML to the curves and studies that have to be run; every configuration error is
raised here.

The plan reads constructor signatures from syntax trees, so that planning thousands of runs imports
no numerical library.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from workflow import ROOT
from workflow.plan import costs, exhibits, names, parameters, published_numbers, reader, resolve
from workflow.plan.nearest import or_nearest
from workflow.plan.paper import Paper, Place
from workflow.plan.reader import Document
from workflow.plan.resolve import papers
from workflow.trace.curves import (
    DEFAULT,
    Curve,
    PlanError,
    Study,
    label_of,
    parse_seeds,
    problem_name,
    seed_range,
)

log = logging.getLogger("noregret.plan")
Values = dict[str, Any]  # of a problem's or an algorithm's entry


def chosen_papers(names: str, root: Path = ROOT) -> list[str]:
    """The papers in "bbkb,bkb", or all of them; comparisons only by name. Raises PlanError."""
    known = resolve.planned(root)
    chosen = [name.strip() for name in names.split(",") if name.strip()] or papers(root)
    if unknown := sorted(set(chosen) - set(known)):
        raise PlanError(f"unknown paper {unknown[0]!r}{or_nearest(unknown[0], known)}")
    return chosen


def lenders(papers: Iterable[str], root: Path = ROOT) -> list[str]:
    """The papers of which some papers and comparisons read runs, and which are not among them."""
    chosen = list(papers)
    borrowers = set(chosen) & set(resolve.comparisons(root))
    named = [name for one in borrowers for name in reader.read(one, root)["borrows"]]
    return sorted(set(named) - set(chosen))


def priorities(papers: Iterable[Paper]) -> dict[str, int]:
    """Which paper's jobs begin first, by its name, the higher the sooner: that which costs least,
    so that something is decided soon.
    """
    price = {paper.name: sum(map(costs.seconds, paper.every_curve)) for paper in papers}
    dearest_first = sorted(price, key=lambda name: (-price[name], name))
    return {name: 10 * (rank + 1) for rank, name in enumerate(dearest_first)}


def load(name: str, scale: str, *, seeds: str = "", root: Path = ROOT) -> Paper:
    """Read, check and expand one paper. `seeds` ("0-4" or "3") cuts the seeds by hand.

    Raises PlanError.
    """
    document = reader.document(name, root)
    if scale not in document.entry["scales"]:
        scales = list(document.entry["scales"])
        raise PlanError(
            f"papers/{document.name}.yaml: unknown scale {scale!r}{or_nearest(scale, scales)}"
        )
    names.check(document, root)
    _check_published(document, root)
    paper = _Expansion(document, scale, root).paper()
    return _cut(paper, parse_seeds(seeds)) if seeds else paper


def _cut(paper: Paper, wanted: tuple[int, ...]) -> Paper:
    """A plan of wanted seeds alone; of a curve without any the first is kept, so that none is
    lost. Seeds that no curve has are told. Raises PlanError where no curve has any.
    """
    cut: dict[str, Any] = {
        curve.name: replace(
            curve, seeds=tuple(seed for seed in curve.seeds if seed in wanted) or curve.seeds[:1]
        )
        for curve in (*paper.every_curve, *paper.borrowed)
    }
    known = {seed for curve in paper.every_curve for seed in curve.seeds}
    said = (
        f"papers/{paper.name}.yaml: expected some of the seeds {seed_range(known)} of scale"
        f" {paper.scale}, got {seed_range(wanted)}"
    )
    if not known & set(wanted):
        raise PlanError(said)
    if wanted[-1] > max(known):
        log.warning("%s: those beyond are not there", said)
    return replace(
        paper,
        curves=tuple(cut[curve.name] for curve in paper.curves),
        aliases={place: cut[curve.name] for place, curve in paper.aliases.items()},
        studies={name: cut[study.name] for name, study in paper.studies.items()},
        uncut={curve.name: curve.seeds for curve in paper.every_curve},
        borrowed=tuple(cut[curve.name] for curve in paper.borrowed),
    )


class _Expansion:
    """A paper's YAML at one scale, on its way to a plan. Every method may raise PlanError."""

    def __init__(self, document: Document, scale: str, root: Path) -> None:
        self.document, self.scale, self.root = document, scale, root
        self.entry = document.entry
        self.readings, self.variants = (
            self.entry.get(section, {}) for section in ("readings", "variants")
        )
        # how many seeds a run has at most
        self.most = _least("seeds", self.entry, self.entry["scales"][scale])
        # each reading with the problems and the algorithms of which it sets a parameter
        self.reached = frozenset(
            (reading, kind, key)
            for reading in self.readings
            for kind in ("problems", "algorithms")
            for key in self.entry[kind]
            if _set_by(document, reading, kind, key, root)
        )

    def paper(self) -> Paper:
        """The plan."""
        aliases = self.curves()
        curves = {curve.name: curve for curve in aliases.values()}
        aliases = {**self.unchanged(aliases), **aliases}
        borrowed = self.borrowed()
        if both := sorted(set(borrowed) & set(aliases)):
            problem, label = both[0]
            raise PlanError(
                f"{self.document.where('borrows')}: expected other curves than those that are run"
                f" here, got {label} on {problem}: rename one"
            )
        aliases |= borrowed
        studies = [self.study(number) for number, _ in enumerate(self.entry.get("studies", []))]
        paper = Paper(
            self.document.name,
            self.scale,
            self.entry,
            tuple(curves.values()),
            aliases,
            {study.id: study for study in studies},
            self.reached,
            borrowed=tuple({curve.name: curve for curve in borrowed.values()}.values()),
        )
        return replace(paper, entry=exhibits.offered(paper))

    def curves(self) -> dict[Place, Curve]:
        """The curves of all `runs:` lines by their names.

        A variant that equals the default is the same computation: it is run once and known by both
        names.
        """
        curves: dict[tuple[str, ...], Curve] = {}
        known: dict[Place, tuple[str, ...]] = {}
        lines = [
            line for line in self.entry["runs"] if self.scale in line.get("scales", [self.scale])
        ]
        for curve in (curve for line in lines for curve in self.select(line)):
            key = (curve.problem, curve.algorithm, curve.digest)
            first = curves.setdefault(key, curve)
            curves[key] = replace(first, seeds=max(first.seeds, curve.seeds, key=len))
            if known.setdefault(curve.place, key) != key:
                lengths = sorted({curve.budget, curves[known[curve.place]].budget})
                raise PlanError(
                    f"papers/{curve.paper}.yaml, runs: expected one run"
                    f" {curve.problem_name}/{curve.label} at scale {curve.scale}, got two, of"
                    f" {' and '.join(map(str, lengths))} evaluations; give their lines the same"
                    " `budget`"
                )
        return {place: curves[key] for place, key in known.items()}

    def select(self, line: Mapping) -> Iterable[Curve]:
        """All curves of one `runs:` line: without `algorithms` those alone that its readings
        change.
        """
        variants = line.get("variants", [DEFAULT])
        variants = list(self.variants) if variants == "all" else variants
        kept = {DEFAULT, *self.entry["scales"][self.scale].get("variants", variants)}
        for combination in product(
            line.get("problems", self.entry["problems"]),
            line.get("algorithms", self.entry["algorithms"]),
            line.get("readings", [DEFAULT]),
            [variant for variant in variants if variant in kept],
        ):
            *_, reading, _ = combination
            if not reading or "algorithms" in line or not self.is_unchanged(*combination):
                yield self.curve(line, *combination)

    def unchanged(self, aliases: Mapping[Place, Curve]) -> dict[Place, Curve]:
        """The names under a reading of default runs that it leaves as they are, though it sets some
        of their parameters: to the values that they have.
        """
        same: dict[Place, Curve] = {}
        for (problem, label), curve in aliases.items():
            algorithm, _, variant = label.partition("+")
            if "@" in problem + label:
                continue
            for reading in self.readings:
                on, by = self.sets(reading, problem, algorithm)
                place = problem_name(problem, on), label_of(algorithm, by, variant)
                combination = problem, algorithm, reading, variant
                if place != (problem, label) and self.is_unchanged(*combination):
                    same[place] = curve
        return same

    def is_unchanged(self, problem: str, algorithm: str, reading: str, variant: str) -> bool:
        """Whether a run has the same parameters under a reading as without it."""
        try:
            usual, other = (
                self.values(problem, algorithm, one, variant) for one in (DEFAULT, reading)
            )
        except PlanError:  # of a value that is missing whoever runs it there is told
            return False
        return usual == other

    def sets(self, reading: str, problem: str, algorithm: str) -> tuple[str, str]:
        """The reading as that of a problem and of an algorithm: the default one where it sets no
        parameter.
        """
        on, by = (
            reading if (reading, kind, key) in self.reached else DEFAULT
            for kind, key in (("problems", problem), ("algorithms", algorithm))
        )
        return on, by

    def values(
        self, problem: str, algorithm: str, reading: str, variant: str
    ) -> tuple[Values, Values]:
        """The parameters of the problem and of the algorithm of a run."""
        on = problem_values(self.document, problem, reading, root=self.root)
        given = on.get("given", {})
        return on, algorithm_values(
            self.document, problem, algorithm, reading, variant, root=self.root, given=given
        )

    def curve(
        self, line: Mapping, problem: str, algorithm: str, reading: str, variant: str
    ) -> Curve:
        """Resolve every parameter of one curve and check it against the constructors."""
        document = self.document
        where = f"{document.where('algorithms', algorithm)} on {problem}"
        of_problem, of_algorithm = self.values(problem, algorithm, reading, variant)
        problem_reading, algorithm_reading = self.sets(reading, problem, algorithm)
        accepted = resolve.accepted(of_algorithm["is"], "algorithms", where, self.root)
        resolve.check(of_algorithm, accepted, where)
        resolve.check_execution(of_algorithm, of_problem, where)
        cut, init = self.cuts(problem), of_problem["init"]
        budgets = [cut, line, of_algorithm]
        if "after_init" in cut:  # of what follows the initial design, which grows with d on some
            counted = init["n"] * init.get("counted", True)
            budgets.append({"budget": cut["after_init"] + counted})
        budget = _least("budget", self.entry["problems"][problem], *budgets)
        algorithm_entry = parameters.nested(
            {key: value for key, value in of_algorithm.items() if key not in ("seeds", "budget")}
        )
        return Curve(
            paper=document.name,
            scale=self.scale,
            problem=problem,
            algorithm=algorithm,
            seeds=tuple(range(_least("seeds", {"seeds": self.most}, line, of_algorithm))),
            budget=budget,
            problem_entry=of_problem,
            algorithm_entry=algorithm_entry,
            problem_reading=problem_reading,
            algorithm_reading=algorithm_reading,
            variant=variant,
            digest=resolve.curve_digest(of_problem, algorithm_entry, budget),
        )

    def cuts(self, problem: str) -> Mapping[str, Any]:
        """What the scale cuts of the runs on a problem: a borrowed one is cut as in its own
        paper.
        """
        lender = [
            self.document.lenders[name]
            for name, line in self.entry.get("borrows", {}).items()
            if problem in line["problems"]
        ]
        cut: Mapping[str, Any] = [*lender, self.entry][0]["scales"][self.scale]
        return cut

    def study(self, number: int) -> Study:
        """Resolve one `studies:` line; a scale's budget cuts its number of evaluations T."""
        line, cut = self.entry["studies"][number], self.entry["scales"][self.scale]
        where = self.document.where("studies", number)
        accepted = resolve.accepted(line["is"], "workflow/studies", where, self.root)
        chosen = {
            **parameters.flat(line.get("parameters", {}), accepted),
            **parameters.flat(line.get("cuts", {}).get(self.scale, {}), accepted),
        }
        resolve.check({"is": line["is"], **chosen}, accepted, where)
        if "T" in chosen and "budget" in cut:
            chosen["T"] = min(chosen["T"], cut["budget"])
        first = line.get("first_seed", 0)
        problem, given = self.entry["problems"][line["problem"]], parameters.nested(chosen)
        return Study(
            paper=self.document.name,
            scale=self.scale,
            id=line["id"],
            seeds=tuple(range(first, first + _least("seeds", {"seeds": self.most}, line))),
            problem=line["problem"],
            function=line["is"],
            problem_entry=problem,
            parameters=given,
            digest=resolve.study_digest(line["is"], problem, given),
        )

    def borrowed(self) -> dict[Place, Curve]:
        """The runs of other papers that a comparison reads: those of their own plans, with as many
        seeds as it has itself.
        """
        borrowed = dict[Place, Curve]()
        for lender, line in self.entry.get("borrows", {}).items():
            plan = load(lender, self.scale, root=self.root)
            for label in line["curves"]:
                places = [(problem, label) for problem in line["problems"]]
                curves = {place: plan.aliases[place] for place in places if place in plan.aliases}
                if not curves and plan.is_whole:
                    known = sorted(
                        {one for where, one in plan.aliases if where in line["problems"]}
                    )
                    raise PlanError(
                        f"{self.document.where('borrows', lender)}: no run of papers/{lender}.yaml"
                        f" makes the curve {label!r} on any of the problems at scale"
                        f" {self.scale}{or_nearest(label, known)}"
                    )
                for place, curve in curves.items():
                    borrowed[place] = replace(curve, seeds=curve.seeds[: self.most])
        return borrowed


def _least(key: str, *sources: Mapping[str, Any]) -> int:
    """The least number that any of several lines gives."""
    return min(source[key] for source in sources if key in source)


def _check_published(document: Document, root: Path) -> None:
    """Published numbers are of panels that the CSV has, and of algorithms that the paper has."""
    for name, experiment in document.entry.get("published", {}).items():
        for panel in experiment["panels"]:
            methods = published_numbers.panel(document.name, panel["panel"], root)
            if unknown := sorted(set(methods) - set(document.entry["algorithms"])):
                raise PlanError(
                    f"{document.where('published', name)}: panel {panel['panel']}: expected numbers"
                    f" of algorithms of this paper, got {', '.join(unknown)}: correct"
                    f" {published_numbers.FOLDER / f'{document.name}.csv'}"
                )


def _set_by(document: Document, reading: str, kind: str, key: str, root: Path) -> dict[str, Any]:
    """What a reading sets for a problem or an algorithm, by flat names."""
    changes = document.entry.get("readings", {}).get(reading, {}).get(kind, {})
    if "*" not in changes and key not in changes:
        return {}
    known = parameters.signature(document.entry[kind][key]["is"], kind, root=root)
    return resolve.overrides(changes, key, known, document.entry["problems"])


def problem_values(
    document: Document, problem: str, reading: str = DEFAULT, *, root: Path = ROOT
) -> Values:
    """A problem's entry under a reading, checked. Raises PlanError."""
    where, base = document.where("problems", problem), document.entry["problems"][problem]
    accepted = resolve.accepted(base["is"], "problems", where, root)
    of_reading = _set_by(document, reading, "problems", problem, root)
    flat = {**parameters.flat(base, accepted), **of_reading}
    resolve.check(flat, accepted, where)
    values = parameters.nested(flat)
    resolve.check_given(values, where, root)
    return values


def algorithm_values(
    document: Document,
    problem: str,
    algorithm: str,
    reading: str = DEFAULT,
    variant: str = DEFAULT,
    *,
    given: Mapping[str, str],
    horizon: int | None = None,
    root: Path = ROOT,
) -> Values:
    """An algorithm's entry by flat names, as it is on a problem under a reading and a variant.

    T is the problem's published number of evaluations, or `horizon`. What the problem gives is
    still named: `{given: ...}`. Raises PlanError where there is no value for the problem.
    """
    own, problems = document.entry["algorithms"][algorithm], document.entry["problems"]
    where = f"{document.where('algorithms', algorithm)} on {problem}"
    known = parameters.signature(own["is"], "algorithms", root=root)
    of_reading = _set_by(document, reading, "algorithms", algorithm, root)
    swept = {"*": document.entry.get("variants", {}).get(variant, {})}
    of_variant = resolve.overrides(swept, "", known, problems)
    raw = {**parameters.flat(own, known), **of_reading, **of_variant}
    raw = resolve.with_given(raw, given, problem, problems, known)
    T = problems[problem]["budget"] if horizon is None else horizon
    return {
        key: resolve.value_for(value, problem, problems, T, where) for key, value in raw.items()
    }
