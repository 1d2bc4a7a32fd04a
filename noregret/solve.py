"""Minimise or maximise one's own function: ask, evaluate and tell as often as is allowed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from algorithms.api import Array
from noregret.asking import History, Optimizer, Point, optimizer

UNCONSTRAINED, CONSTRAINED, OVER_ARMS = "gp-ei", "cei", "gp-ucb"


@dataclass(frozen=True)
class Result:
    """The best point, all evaluations, and the optimizer, which could go on.

    x is (d,) in one's own units, or the number of a row; g is (m,); feasible says whether all g
    are at most 0.
    """

    x: Any
    y: float
    g: Array
    feasible: bool
    history: History = field(repr=False)
    optimizer: Optimizer = field(repr=False)


def minimize(
    f: Callable[[Any], Any],
    bounds: Any = None,
    *,
    arms: Any = None,
    method: str | None = None,
    evaluations: int = 50,
    constraints: int = 0,
    callback: Callable[[Point], object] | None = None,
    progress: bool = False,
    **options: Any,
) -> Result:
    """The smallest value of f within `bounds`, or over the rows of `arms`.

    f: takes a point (d,), or the number of a row. It returns y, or (y, g) where there are
        constraints: g (m,) are at most 0 where the point is feasible.
    method: "gp-ei" where nothing is said; with constraints "cei", over arms "gp-ucb".
    evaluations: of f, the initial design among them.
    callback: is called with every Point; where it returns True, that was the last one.
    progress: whether to write a line to standard error after every evaluation.
    options: seed, preset, initial, noise, like and parameters of the method: see `optimizer`.

    Raises ValueError.
    """
    return _solve(
        f,
        bounds,
        arms=arms,
        method=method,
        evaluations=evaluations,
        constraints=constraints,
        callback=callback,
        progress=progress,
        is_least=True,
        options=options,
    )


def maximize(
    f: Callable[[Any], Any],
    bounds: Any = None,
    *,
    arms: Any = None,
    method: str | None = None,
    evaluations: int = 50,
    constraints: int = 0,
    callback: Callable[[Point], object] | None = None,
    progress: bool = False,
    **options: Any,
) -> Result:
    """The largest value of f; all else is as `minimize` has it."""
    return _solve(
        f,
        bounds,
        arms=arms,
        method=method,
        evaluations=evaluations,
        constraints=constraints,
        callback=callback,
        progress=progress,
        is_least=False,
        options=options,
    )


def _solve(
    f: Callable[[Any], Any],
    bounds: Any,
    *,
    arms: Any,
    method: str | None,
    evaluations: int,
    constraints: int,
    callback: Callable[[Point], object] | None,
    progress: bool,
    is_least: bool,
    options: Mapping[str, Any],
) -> Result:
    if not callable(f):
        raise ValueError(f"f: expected a function of a point, got {f!r:.80}")
    if "minimize" in options:
        raise ValueError(
            f"minimize: expected no such option, got {options['minimize']!r}: call"
            " noregret.minimize or noregret.maximize"
        )
    usual = OVER_ARMS if bounds is None else CONSTRAINED if constraints else UNCONSTRAINED
    search = optimizer(
        usual if method is None else method,
        bounds=bounds,
        arms=arms,
        constraints=constraints,
        evaluations=evaluations,
        minimize=is_least,
        **options,
    )
    began = time.monotonic()
    for number in range(1, evaluations + 1):
        x = search.ask()
        shown = f(x)
        if constraints and not (isinstance(shown, tuple) and len(shown) == 2):
            raise ValueError(
                f"f: expected (y, g) with {constraints} constraints, got {shown!r:.80}"
            )
        if not constraints and isinstance(shown, tuple):
            raise ValueError(
                f"f: expected a number, got {shown!r:.80}: say constraints=..., if it shows (y, g)"
            )
        y, g = shown if constraints else (shown, None)
        search.tell(x, y, g)
        history = search.history
        point = Point(history.x[-1], history.y[-1], history.g[-1], bool((history.g[-1] <= 0).all()))
        if progress:
            best = search.best()
            said = f"{best.y:.6g}" if best.feasible else "nothing feasible"
            sys.stderr.write(
                f"{number}/{evaluations}: {point.y:.6g}, best {said},"
                f" {time.monotonic() - began:.1f} s\n"
            )
        if callback is not None and callback(point) is True:
            break
    return Result(*search.best(), history=search.history, optimizer=search)
