"""A paper's plan: its curves and studies at one scale, and what is drawn and claimed from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workflow.plan import costs
from workflow.plan.nearest import nearest, or_nearest
from workflow.trace.curves import STUDIES, AnyCurve, Curve, PlanError, Run, Study

Place = tuple[str, str]  # `problem[@reading]` and `algorithm[@reading][+variant]`
Reach = tuple[
    str, str, str
]  # a reading, `problems` or `algorithms`, and one whose parameter it sets


@dataclass(frozen=True)
class Paper:
    """One paper's YAML at one scale."""

    name: str
    scale: str
    entry: Mapping[str, Any] = field(hash=False)
    curves: tuple[Curve, ...]
    aliases: Mapping[Place, Curve] = field(hash=False)
    studies: Mapping[str, Study] = field(hash=False)
    reached: frozenset[Reach] = frozenset()
    not_made: frozenset[Run] = frozenset()  # by any job, since they are published
    uncut: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    borrowed: tuple[Curve, ...] = ()  # of other papers, whose plans make them: read here as well

    def planned(self, curve: AnyCurve) -> tuple[int, ...]:
        """The seeds of a curve as the YAML has them, whatever was cut by hand (`uncut`): they say
        how often a claim is looked at.
        """
        return self.uncut.get(curve.name, curve.seeds)

    def curve(self, problem: str, label: str) -> Curve:
        """The curve behind `algorithm[@reading][+variant]` on a problem.

        Raises PlanError naming what is known.
        """
        try:
            return self.aliases[problem, label]
        except KeyError:
            known = sorted(other for where, other in self.aliases if where == problem)
            if not known:
                raise PlanError(
                    f"papers/{self.name}.yaml: unknown problem {problem!r} at scale {self.scale}"
                    f"{or_nearest(problem, sorted({where for where, _ in self.aliases}))}"
                ) from None
            raise PlanError(
                f"papers/{self.name}.yaml: no run makes the curve {label!r} on {problem!r} at scale"
                f" {self.scale}{nearest(label, known) or ';'} known there: {', '.join(known)}"
            ) from None

    @property
    def is_whole(self) -> bool:
        """Whether it is of the published size, at which every run is planned that a paper names."""
        return self.scale == "paper"

    @property
    def every_curve(self) -> list[AnyCurve]:
        """All curves and studies."""
        return [*self.curves, *self.studies.values()]

    def to_make(self, curve: AnyCurve) -> list[int]:
        """The seeds of a curve or a study that jobs make: those that are not published."""
        name = curve.name
        return [seed for seed in curve.seeds if (name, seed) not in self.not_made]

    def records(self, curves: Iterable[AnyCurve]) -> list[str]:
        """The records of some curves and studies that jobs make: a report waits for them."""
        named = {curve.name: curve for curve in curves}
        return [
            f"{folder}/{seed}.parquet"
            for folder, curve in ((curve.folder, curve) for curve in named.values())
            for seed in self.to_make(curve)
        ]

    def published(self, curves: Iterable[AnyCurve]) -> list[str]:
        """The files of published records that a report on some curves and studies reads."""
        named = {curve.name: curve for curve in curves}
        read = {name for name, _ in self.not_made}
        return [str(curve.published) for name, curve in named.items() if name in read]

    def together(self) -> dict[tuple[int, ...], list[AnyCurve]]:
        """The curves and studies that one process makes with all their seeds, by these seeds.

        Starting a process takes seconds, so that short runs share one.
        """
        sharing: dict[tuple[int, ...], list[AnyCurve]] = {}
        for curve in self.every_curve:
            short = costs.seconds(curve) <= costs.TOGETHER_SECONDS
            if short and len(curve.seeds) > 1 and len(self.to_make(curve)) == len(curve.seeds):
                sharing.setdefault(curve.seeds, []).append(curve)
        return sharing

    def any_curve(self, problem: str, label: str) -> AnyCurve:
        """The curve or study in a folder `problem/curve` of results. Raises PlanError."""
        return self.study(label) if problem == STUDIES else self.curve(problem, label)

    def study(self, name: str) -> Study:
        """The study called `name`. Raises PlanError naming what is known."""
        if name not in self.studies:
            raise PlanError(
                f"papers/{self.name}.yaml: unknown study {name!r}{or_nearest(name, self.studies)}"
            )
        return self.studies[name]
