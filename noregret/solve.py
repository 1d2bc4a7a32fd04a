"""Minimise or maximise one's own function: ask, evaluate and tell as often as is allowed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from algorithms.api import Array
from noregret.asking import History, Optimizer, Point, optimizer

UNCONSTRAINED, CONSTRAINED, OVER_ARMS = "gp-ei", "cei", "gp-ucb"


FAILURES = ("stop", "skip")


class EvaluationFailed(RuntimeError):
    """A function raised an error or showed no number; `result` has what was evaluated before, None
    where nothing was.
    """

    def __init__(self, words: str, result: Result | None) -> None:
        super().__init__(words)
        self.result = result


class Interrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C; `result` as in EvaluationFailed."""

    def __init__(self, result: Result | None) -> None:
        super().__init__()
        self.result = result


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
    failures: str = "stop",
    **options: Any,
) -> Result:
    """The smallest value of f within `bounds`, or over the rows of `arms`.

    f: takes a point (d,), or the number of a row. It returns y, or (y, g) where there are
        constraints: g (m,) are at most 0 where the point is feasible.
    method: "gp-ei" where nothing is said; with constraints "cei", over arms "gp-ucb".
    evaluations: of f, the initial design among them.
    callback: is called with every Point; where it returns True, that was the last one.
    progress: whether to write a line to standard error after every evaluation.
    failures: what becomes of an evaluation that raises an error or shows NaN or infinity. "stop"
        raises EvaluationFailed, whose `result` has all evaluations before; "skip" leaves the point
        out of the history and goes on, and the evaluation counts. No such point is asked for again.
    options: seed, preset, initial, noise, like and parameters of the method: see `optimizer`.

    Raises ValueError for mistakes in the arguments, EvaluationFailed, and on Ctrl-C Interrupted.
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
        failures=failures,
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
    failures: str = "stop",
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
        failures=failures,
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
    failures: str,
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
    if failures not in FAILURES:
        raise ValueError(f"failures: expected {' or '.join(FAILURES)}, got {failures!r:.80}")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback: expected a function of a point, got {callback!r:.80}")
    began = time.monotonic()
    for number in range(1, evaluations + 1):
        try:
            x = search.ask()
            point, why = _evaluated(f, x, search, constraints)
        except KeyboardInterrupt:
            raise Interrupted(_so_far(search)) from None
        if why is not None:
            words = f"f: evaluation {number} of {evaluations} failed at {x!r:.200}: {_said(why)}"
            if failures == "stop":
                raise EvaluationFailed(words, _so_far(search)) from why
            search.forget(x, failed=True)
            if progress:
                sys.stderr.write(f"{words}; it is left out\n")
        if point is None:
            continue
        if progress:
            best = search.best()
            said = f"{best.y:.6g}" if best.feasible else "nothing feasible"
            sys.stderr.write(
                f"{number}/{evaluations}: {point.y:.6g}, best {said},"
                f" {time.monotonic() - began:.1f} s\n"
            )
        try:
            if callback is not None and callback(point) is True:
                break
        except KeyboardInterrupt:
            raise Interrupted(_so_far(search)) from None
        except Exception as error:
            words = f"callback: failed after evaluation {number} of {evaluations}: {_said(error)}"
            raise EvaluationFailed(words, _so_far(search)) from error
    found = _so_far(search)
    if found is None:
        raise EvaluationFailed(f"f: all of {evaluations} evaluations failed", None)
    return found


def _evaluated(
    f: Callable[[Any], Any], x: Any, search: Optimizer, constraints: int
) -> tuple[Point | None, Exception | None]:
    """The point that was told, or why there is none. Raises ValueError where the first that f shows
    is of another kind than it should: later on that is a failure as any other.
    """
    try:
        shown = f(np.copy(x))  # f may change what it is given
    except Exception as error:  # whatever it is, what was evaluated before must not be lost
        return None, error
    try:
        return _told(shown, x, search, constraints)
    except ValueError as error:
        if not len(search.history.y):
            raise
        return None, error


def _told(
    shown: Any, x: Any, search: Optimizer, constraints: int
) -> tuple[Point | None, Exception | None]:
    """The same of what f showed. Raises ValueError where it is of another kind than it should."""
    if constraints and not (isinstance(shown, tuple) and len(shown) == 2):
        raise ValueError(f"f: expected (y, g) with {constraints} constraints, got {shown!r:.80}")
    if not constraints and isinstance(shown, tuple):
        raise ValueError(
            f"f: expected a number, got {shown!r:.80}: say constraints=..., if it shows (y, g)"
        )
    y, g = shown if constraints else (shown, None)
    if _is_broken(y) or (constraints and _is_broken(g)):
        return None, ValueError(f"expected finite numbers, got {shown!r:.80}")
    search.tell(x, y, g)
    history = search.history
    feasible = bool((history.g[-1] <= 0).all())
    return Point(history.x[-1], history.y[-1], history.g[-1], feasible), None


def _is_broken(shown: Any) -> bool:
    """Whether these are numbers, and NaN or infinite ones among them."""
    try:
        return not np.isfinite(np.asarray(shown, dtype=np.float64)).all()
    except (TypeError, ValueError):
        return False  # of what is no number, `tell` complains


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _so_far(search: Optimizer) -> Result | None:
    """What was evaluated; None where nothing was."""
    history = search.history
    if not len(history.y):
        return None
    return Result(*search.best(), history=history, optimizer=search)
