"""Minimise or maximise one's own function: ask, evaluate and tell as often as is allowed."""

from __future__ import annotations

import concurrent.futures as futures
import copy
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from algorithms.api import Array
from noregret.asking import History, Optimizer, Point, check_whole, optimizer
from noregret.variables import converted, numbers, shortened

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FAILURES = ("stop", "skip")
MANY = 10**9


class EvaluationFailed(RuntimeError):
    """A function raised an error or showed no number, or what it showed could not be kept; `result`
    has what was evaluated before, None if nothing was.
    """

    def __init__(self, words: str, result: Result | None = None) -> None:
        super().__init__(words)
        self.result = result


class Interrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C; `result` as in EvaluationFailed."""

    def __init__(self, result: Result | None) -> None:
        super().__init__("interrupted: `result` of this error has what was evaluated")
        self.result = result


@dataclass(frozen=True)
class Result:
    """The best point, all evaluations, and the optimizer, which could go on.

    x is (d,) in one's own units, the number of a row, or a dict of named variables; y is what it
    showed; g is (m,); feasible says whether all g are at most 0. If `noise` above 0 was said, the
    point is `recommended`, and y the model's mean there: the best of noisy values is a lucky one.
    """

    x: Any
    y: float
    g: Array
    feasible: bool
    history: History = field(repr=False)
    optimizer: Optimizer = field(repr=False)

    @classmethod
    def of(cls, search: Optimizer) -> Result:
        """Of what an optimizer was told."""
        best = search.recommend() if search.settings.noise else search.best()
        return cls(*best, history=search.history, optimizer=search)

    @cached_property
    def recommended(self) -> Point:
        """The best point by the method's model: see `Optimizer.recommend`."""
        return self.optimizer.recommend()

    def to_frame(self) -> pd.DataFrame:
        """See `History.to_frame`, with a column `best`: the best feasible y until then."""
        frame = self.history.to_frame()
        kept = frame["y"].where(frame["feasible"])
        frame["best"] = kept.cummin() if self.optimizer.settings.minimize else kept.cummax()
        frame["best"] = frame["best"].ffill()
        return frame

    def plot(self, axes: Axes | None = None) -> Axes:
        """Values and the best feasible one over evaluations. Needs matplotlib and pandas."""
        import matplotlib.pyplot as plt

        axes = plt.gca() if axes is None else axes
        frame = self.to_frame()
        number = frame.index + 1
        for feasible, marker in ((True, "o"), (False, "x")):
            chosen = frame["feasible"] == feasible
            if chosen.any():
                label = "feasible" if feasible else "infeasible"
                axes.plot(number[chosen], frame["y"][chosen], marker, color="0.6", label=label)
        axes.step(number, frame["best"], where="post", label=self.optimizer.settings.method)
        axes.set_xlabel("evaluations")
        axes.set_ylabel("y")
        axes.legend()
        return axes


def minimize(
    f: Callable[[Any], Any],
    bounds: Any = None,
    *,
    evaluations: int = 50,
    callback: Callable[[Point], object] | None = None,
    failures: str = "stop",
    n_jobs: int = 1,
    executor: Any = None,
    x0: Any = None,
    history: Any = None,
    resume: Result | Optimizer | str | Path | None = None,
    progress: bool = False,
    _is_least: bool = True,
    **options: Any,
) -> Result:
    """The smallest value of f within `bounds`, or over the rows of `arms`.

    f: takes a point (d,), a dict if variables are named, or the number of a row. It returns y, or
        (y, g) with constraints: g (m,) are at most 0 where the point is feasible.
    bounds: as `optimizer` takes them.
    evaluations: of f, the initial design among them.
    callback: is called with every Point; where it returns something true, no other evaluation
        begins, and those that have ended beside it are kept.
    failures: what becomes of an evaluation that raises an error or shows no finite number. "stop"
        raises EvaluationFailed, whose `result` has all evaluations before; "skip" leaves the point
        out of the history and goes on, and the evaluation counts. No such point is asked for again.
    n_jobs: how many evaluations run at the same time; who is ready gets the next point at once.
    executor: where they run: anything with `submit` as concurrent.futures has it. By default
        processes of joblib, if that is installed, else threads.
    x0: a point, or several, that are evaluated first.
    history: (X, y) or (X, y, g) that are known already, and count as no evaluation.
    resume: an earlier result, or a file. Then `evaluations` counts all that was told before, but
        for the `history` of this call, and what has failed. A result stays as it is. A file is
        written before and after every evaluation, and read if it is there: the same call goes on,
        and its `x0` and `history` are in the file already.
    progress: whether a line on standard error says how far it is; tqdm's, if that is installed.
    options: method, arms, constraints, noise, seed, initial, preset, like and parameters of the
        method: see `optimizer`.

    Raises ValueError for mistakes in the arguments, OSError where the file cannot be written,
    EvaluationFailed, and on Ctrl-C Interrupted.
    """
    if not callable(f):
        raise ValueError(f"f: expected a function of a point, got {f!r:.80}")
    if "minimize" in options:
        raise ValueError(
            f"minimize: expected no such option, got {options['minimize']!r}: call"
            " noregret.minimize or noregret.maximize"
        )
    if failures not in FAILURES:
        raise ValueError(f"failures: expected {' or '.join(FAILURES)}, got {failures!r:.80}")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback: expected a function of a point, got {callback!r:.80}")
    if executor is not None and not hasattr(executor, "submit"):
        raise ValueError(
            "executor: expected one that has `submit`, as those of concurrent.futures, got"
            f" {executor!r:.80}"
        )
    check_whole("evaluations", evaluations, 1, MANY)
    check_whole("n_jobs", n_jobs, 1, MANY)
    if history is not None and not (isinstance(history, tuple) and len(history) in (2, 3)):
        raise ValueError(f"history: expected (X, y) or (X, y, g), got {history!r:.80}")
    file = resume if isinstance(resume, str | Path) else None
    is_in_file = file is not None and Path(file).exists()
    search = _search(bounds, resume, _is_least, {**options, "evaluations": evaluations})
    known = np.empty(0) if history is None else numbers(history[1], "y").reshape(-1)
    if history is not None and not is_in_file:
        search.tell(*history)
    elif not np.array_equal(known, search.history.y[: len(known)]):
        raise ValueError(
            f"history: expected the values with which {file} begins, got others: leave `history`"
            " out, or begin another file"
        )
    if x0 is not None and not is_in_file:
        search.enqueue(x0)
    run = Run(search, evaluations, callback, failures, bool(progress), file)
    if resume is not None:
        run.number = run.begun = len(search.history.y) + search.failures - len(known)
    if file is not None:
        search.save(file)  # what cannot be written is found out before an evaluation
    pool = _pool(n_jobs) if executor is None else executor
    try:
        run.evaluate(f, pool, n_jobs)
    except KeyboardInterrupt:
        raise Interrupted(_so_far(search)) from None
    except EvaluationFailed as error:
        error.result = _so_far(search)
        raise
    finally:
        if executor is None and isinstance(pool, futures.ThreadPoolExecutor):
            pool.shutdown(wait=False)
    result = _so_far(search)
    if result is None:
        raise EvaluationFailed(f"f: all of {evaluations} evaluations failed")
    return result


def maximize(f: Callable[[Any], Any], bounds: Any = None, **options: Any) -> Result:
    """The largest value of f; all else is as `minimize` has it."""
    return minimize(f, bounds, _is_least=False, **options)


def _search(
    bounds: Any,
    resume: Result | Optimizer | str | Path | None,
    is_least: bool,
    options: Mapping[str, Any],
) -> Optimizer:
    """A new optimizer, or the one to go on with, a copy of a result's. Raises ValueError where what
    is said of this one differs.
    """
    old = copy.deepcopy(resume.optimizer) if isinstance(resume, Result) else resume
    if isinstance(old, str | Path):
        old = Optimizer.load(old) if Path(old).exists() else None
    if not isinstance(old, Optimizer | None):
        raise ValueError(f"resume: expected a result or the name of a file, got {resume!r:.80}")
    if old is not None and bounds is None and not {*options} - {"evaluations"}:
        if old.settings.minimize != is_least:
            raise ValueError("resume: expected the same sense, got minimize for maximize, or back")
        return old
    if old is not None and "seed" in options and options["seed"] is None:
        options = {**options, "seed": old.settings.seed}
    new = optimizer(bounds=bounds, minimize=is_least, **options)
    if old is not None and not old.is_like(new):
        raise ValueError(
            f"resume: expected the settings of {old!r}, got those of {new!r}, or other bounds or"
            " parameters: leave them out, or begin anew"
        )
    return new if old is None else old


class Here(futures.Executor):
    """Calls at once what others would call in another thread or process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> futures.Future:
        future: futures.Future = futures.Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # whatever it is, what was evaluated before must not be lost
            future.set_exception(error)
        return future


def _pool(n_jobs: int) -> futures.Executor:
    """Where evaluations run if nobody says it."""
    if n_jobs == 1:
        return Here()
    try:
        return Processes(n_jobs)
    except ImportError:
        return futures.ThreadPoolExecutor(n_jobs)


class Processes(futures.Executor):
    """Those of joblib, which are kept between calls: new ones where one of them has died."""

    def __init__(self, n_jobs: int) -> None:
        from joblib.externals.loky import get_reusable_executor

        self._there = partial(get_reusable_executor, max_workers=n_jobs)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> futures.Future:
        future: futures.Future = self._there().submit(fn, *args, **kwargs)
        return future


@dataclass
class Run:
    """One call of `minimize`: what was begun and what has ended."""

    search: Optimizer
    evaluations: int
    callback: Callable[[Point], object] | None
    failures: str
    progress: bool
    file: str | Path | None = None
    number: int = 0  # evaluations that have ended
    begun: int = 0

    def evaluate(self, f: Callable[[Any], Any], pool: Any, n_jobs: int) -> None:
        """Ask, evaluate and tell until the end. Raises EvaluationFailed."""
        running: dict[futures.Future, Any] = {}
        waiting = list(self.search.pending)  # asked for by a run that was cut off
        line = Line(self.evaluations, self.number) if self.progress else None
        try:
            while True:
                while len(running) < n_jobs and self.begun < self.evaluations:
                    x = waiting.pop(0) if waiting else self.search.ask()
                    self._submit(pool, f, x, running)
                    self.begun += 1
                if not running:
                    return
                ended, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
                for future in [one for one in running if one in ended]:
                    if self._is_over(running.pop(future), future, line):
                        return
        finally:
            self._leave(running)
            if line:
                line.close()

    def _submit(
        self, pool: Any, f: Callable[[Any], Any], x: Any, running: dict[futures.Future, Any]
    ) -> None:
        """Begin one evaluation. Raises EvaluationFailed where nothing can run any more."""
        try:
            future = pool.submit(f, _own(x))  # f may change what it is given
        except Exception as error:
            running[futures.Future()] = x  # which never ends
            raise EvaluationFailed(f"executor: takes no evaluation: {_said(error)}") from error
        running[future] = x

    def _leave(self, running: Mapping[futures.Future, Any]) -> None:
        """Keep what has ended by now, whatever ends the run; nothing else is pending any more."""
        left = []
        for future, x in running.items():
            future.cancel()
            why: Exception | None = None
            if is_over := future.done() and not future.cancelled():
                try:
                    _, why = _told(future, x, self.search)
                except ValueError as error:  # what ends the run is told, and this is not
                    why = error
            if is_over and why is not None and self.failures == "skip":
                self.search.forget(x, failed=True)
            elif not is_over or why is not None:
                left.append(x)
        if len(left) < len(running):
            self._save()  # with what is pending, for whoever goes on
        for x in left:
            self.search.forget(x)

    def _save(self) -> None:
        try:
            if self.file is not None:
                self.search.save(self.file)
        except OSError as error:
            words = f"resume: {self.file} cannot be written: {_said(error)}"
            raise EvaluationFailed(words) from error

    def _is_over(self, x: Any, future: futures.Future, line: Line | None) -> bool:
        """Tells what one evaluation has shown; whether it was the last one."""
        search, self.number = self.search, self.number + 1
        point, why = _told(future, x, search)
        if why is not None:
            words = (
                f"f: evaluation {self.number} of {self.evaluations} failed at {x!r:.200}:"
                f" {_said(why)}"
            )
            if self.failures == "stop":
                raise EvaluationFailed(words) from why
            search.forget(x, failed=True)
            if line:
                line.say(f"{words}; it is left out")
        self._save()
        if line:
            line.show(self.number, _best(search))
        if point is None or self.callback is None:
            return False
        try:
            return bool(self.callback(point))
        except Exception as error:
            words = (
                f"callback: failed after evaluation {self.number} of {self.evaluations}:"
                f" {_said(error)}"
            )
            raise EvaluationFailed(words) from error


class Line:
    """Says on standard error how far a run is, by tqdm if that is installed."""

    def __init__(self, total: int, done: int) -> None:
        self.total, self.began = total, time.monotonic()
        try:
            from tqdm import tqdm
        except ImportError:
            self.bar = None
        else:
            self.bar = tqdm(total=total, initial=done, file=sys.stderr)

    def say(self, words: str) -> None:
        """A line of its own."""
        if self.bar is None:
            sys.stderr.write(f"{words}\n")
        else:
            self.bar.write(words, file=sys.stderr)

    def show(self, number: int, words: str) -> None:
        """After one evaluation."""
        if self.bar is None:
            self.say(f"{number}/{self.total}: {words}, {time.monotonic() - self.began:.1f} s")
        else:
            self.bar.set_postfix_str(words, refresh=False)
            self.bar.update()

    def close(self) -> None:
        """After the last one."""
        if self.bar is not None:
            self.bar.close()


def _told(
    future: futures.Future, x: Any, search: Optimizer
) -> tuple[Point | None, Exception | None]:
    """The point that was told, or why there is none. Raises ValueError where the first that f shows
    is of another kind than it should: later on that is a failure as any other.
    """
    try:
        shown = future.result()
    except Exception as error:
        return None, error
    try:
        y, g = _parts(shown, search.settings.constraints)
        for values in (y, g):
            array = None if values is None else converted(values)
            if array is not None and not np.isfinite(array).all():
                return None, ValueError(f"expected finite numbers, got {shortened(shown)}")
        search.tell(x, y, g)
    except Exception as error:
        if isinstance(error, ValueError) and not len(search.history.y):
            raise
        return None, error
    return search.last(), None


def _parts(shown: Any, constraints: int) -> tuple[Any, Any]:
    """y and g of what f showed. Raises ValueError where it is of another kind than it should."""
    if constraints and not (isinstance(shown, tuple) and len(shown) == 2):
        raise ValueError(
            f"f: expected (y, g) with {constraints} constraints, got {shortened(shown)}"
        )
    if not constraints and isinstance(shown, tuple):
        raise ValueError(
            f"f: expected a number, got {shortened(shown)}: say constraints=..., if it shows (y, g)"
        )
    return shown if constraints else (shown, None)


def _own(x: Any) -> Any:
    """A copy of a point."""
    return x.copy() if isinstance(x, np.ndarray | dict) else x


def _best(search: Optimizer) -> str:
    best = search.best() if len(search.history.y) else None
    return f"best {best.y:.6g}" if best and best.feasible else "nothing feasible yet"


def _said(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # its own words may fail
        return type(error).__name__


def _so_far(search: Optimizer) -> Result | None:
    """What was evaluated; None if nothing was."""
    return Result.of(search) if len(search.history.y) else None
