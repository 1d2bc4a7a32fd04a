"""An optimizer for a problem of one's own: `ask` for points, `tell` what they showed.

Points, values and sense are one's own; the method behind it maximises on the unit cube or on rows
of a standardised table (ARCHITECTURE.md, "Five conventions"). What is told waits here until the
method is next asked and reaches it as one block, so that a history told point by point and one told
at once are the same, if nothing is asked in between. Whatever a method draws comes from streams
named by seed and count, and `ask` changes nothing but its generator, so that seed, settings and
history are the whole state.
"""

from __future__ import annotations

import copy
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

import algorithms
from algorithms.api import Arms, Array, Observation
from algorithms.api import Optimizer as Algorithm
from algorithms.parts.arms.bandwidth import by_evidence
from algorithms.parts.numerics.feasibility import best as best_row
from algorithms.parts.numerics.feasibility import violation
from algorithms.parts.numerics.transforms import Units
from noregret import presets, saved
from noregret.believer import believer, copied, means, predicted
from noregret.catalogue import ARMS, BATCHES, DRAWS, HEEDS, MEANS, METHODS, RECOMMENDED, named
from noregret.presets import Settings
from noregret.space import WIDEST, Bounds, Space, Table
from noregret.torch_defaults import torch_defaults
from noregret.variables import numbers
from workflow.run import boundary
from workflow.trace import seeds

if TYPE_CHECKING:
    import pandas as pd

# the usual methods; the second one has a length-scale for each variable
UNCONSTRAINED, CONSTRAINED, OVER_ARMS = "gp-ei", "cei", "gp-ucb"
MOST_CONSTRAINTS = 1000
MOST_TRIED = 1000  # points of a design, of which one has not failed
# about a point that is known, in sides of the box: how far others lie, and how many are tried
WIDENING, TRIED = (0.05, 0.1, 0.2, 0.4, 1.0), 20
HORIZON, DELTA = "horizon", "delta"  # the parameters that `evaluations` sets, or may set
FEWEST = 2  # evaluations that a formula of T can hold
SAME = 1e-6  # of a side: closer to a pending point is that point
ROUNDED = 1e-2  # of a side: closer to a pending point may be that point, in fewer digits
MORE = 1.25  # times as many told values: parameters are learnt anew
# of the median distance between arms: bandwidths that may be learnt, the likeliest ones first
MULTIPLES = tuple(2.0 ** (half / 2) for half in sorted(range(-8, 5), key=abs))
NOISES = (1e-4, 1e-3, 1e-2, 0.1, 1.0)  # of the signal's variance, one of which is there
APART = 1e-3  # of a side of the box, in some variable: closer to a pending point is no new one


class Point(NamedTuple):
    """A point in one's own units, what it showed, and whether every g is at most 0.

    x is (d,), or the number of a row; g is (m,).
    """

    x: Any
    y: float
    g: Array
    feasible: bool


class History(NamedTuple):
    """All that was told, in order and in one's own units: x (n, d), numbers of rows (n,), or a list
    of n dicts of named variables; y (n,); g (n, m).
    """

    x: Any
    y: Array
    g: Array

    def to_frame(self) -> pd.DataFrame:
        """A row for each value that was told: names of variables (x0, x1, ...; over arms `row`), y,
        g0, g1, ..., and whether it is feasible. A variable of such a name, or `best`, is in a
        column `x.y`, say. Needs pandas.
        """
        import pandas as pd

        named = isinstance(self.x, list)
        points = np.empty((0, 0)) if named else self.x.reshape(len(self.y), -1)
        heads = [f"x{i}" for i in range(points.shape[1])] if np.ndim(self.x) == 2 else ["row"]
        frame = pd.DataFrame(self.x) if named else pd.DataFrame(points, columns=heads)
        taken = {"y", "feasible", "best", *(f"g{i}" for i in range(self.g.shape[1]))}
        frame = frame.rename(columns={name: f"x.{name}" for name in taken & {*frame.columns}})
        frame["y"] = self.y
        for i, column in enumerate(self.g.T):
            frame[f"g{i}"] = column
        frame["feasible"] = [bool((row <= 0).all()) for row in self.g]
        return frame


def optimizer(
    method: str | None = None,
    *,
    bounds: Any = None,
    arms: Any = None,
    constraints: int = 0,
    seed: int | None = 0,
    preset: str = RECOMMENDED,
    minimize: bool = True,
    initial: int | None = None,
    noise: float | None = None,
    like: str | None = None,
    evaluations: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    **overrides: Any,
) -> Optimizer:
    """An optimizer of one's own function on a box, or over the rows of a table.

    method: a name that `methods()` lists, in any case. Default: "gp-ei"; with constraints, whole
        numbers or choices "cei", which learns a scale for each variable; over arms "gp-ucb".
    bounds: for each variable a pair (low, high), `real`, `integer` or `choice`; in a mapping, by
        name.
    arms: instead of bounds a table (rows, columns), whose rows are the points that there are.
    constraints: how many values g there are; a point is feasible where all are at most 0.
    seed: whatever is drawn depends on it alone; None draws one, which `settings` shows.
    preset: "paper", the values of the paper's experiments; "public code", its authors' code where
        that differs and is known; "recommended", the paper's unless a better choice is known.
    minimize: whether small values are good; else large ones.
    initial: how many points of a design come first (a Sobol sequence; different rows). What was
        told before counts. Default: twice the number of variables, 20 at most.
    noise: the standard deviation of the noise of y (and g), in their units; 0 for none. Default:
        inferred where the method does that, else the preset's. A method that always infers it, or
        has no model, ignores it.
    like: the problem of the method's paper whose values are taken where they differ by problem.
    evaluations: how many there will be, for a method that depends on it (T of the papers).
    parameters: of the method, as papers/*.yaml names them, groups as mappings.
    overrides: the same as keywords, where no argument above has the name.

    Raises ValueError.
    """
    if (bounds is None) == (arms is None):
        said = "got neither" if bounds is None else "got both"
        raise ValueError(
            "expected `bounds`, a pair (low, high) for each variable, or `arms`, a table whose rows"
            f" are the points that there are; {said}"
        )
    space: Space = Table.of(arms) if bounds is None else Bounds.of(bounds)
    if method is None:
        scaled = CONSTRAINED if constraints or space.is_rounded else UNCONSTRAINED
        method = OVER_ARMS if isinstance(space, Table) else scaled
    if not isinstance(method, str):
        raise ValueError(f"method: expected a name that noregret.methods() lists, got {method!r}")
    line = named(method, preset)
    method = line.name
    fitting = [one for one in METHODS if space.kind in one.domain]
    if space.kind not in line.domain:
        wanted = "arms" if line.domain == ARMS else "bounds"
        raise ValueError(
            f"{method}: works on {line.domain}, expected `{wanted}`; methods for what was given:"
            f" {', '.join(one.name for one in fitting)}"
        )
    check_whole("constraints", constraints, 0, MOST_CONSTRAINTS)
    if constraints and not line.constrained:
        others = [one.name for one in fitting if one.constrained]
        raise ValueError(
            f"{method}: takes no constraints, got constraints={constraints}; methods that do:"
            f" {', '.join(others)}"
        )
    if not isinstance(parameters, Mapping | None):
        raise ValueError(
            f"parameters: expected a mapping of names to values, got {parameters!r:.80}"
        )
    if twice := sorted({*(parameters or {})} & {*overrides}):
        raise ValueError(
            f"{method}: expected {twice[0]} once, got it in `parameters` and beside it"
        )
    overrides = {**(parameters or {}), **overrides}
    if seed is None:
        seed = secrets.randbelow(2**63)
    check_whole("seed", seed, 0, 2**63 - 1)
    check_whole("initial", 0 if initial is None else initial, 0, 10**9)
    check_whole("evaluations", 1 if evaluations is None else evaluations, 1, 10**9)
    is_number = isinstance(noise, int | float | np.integer | np.floating) and not isinstance(
        noise, bool
    )
    if noise is not None and not (is_number and 0 <= noise < np.inf):
        raise ValueError(f"noise: expected a standard deviation, 0 or more, got {noise!r}")
    if not isinstance(minimize, bool):
        raise ValueError(f"minimize: expected True or False, got {minimize!r}")
    like = like or line.like
    presets.check(line, preset, like)
    values, learnt = presets.resolved(
        line,
        space,
        preset=preset,
        like=like,
        evaluations=None if evaluations is None else max(int(evaluations), FEWEST),
        noise=None if noise is None else float(noise),
        overrides=overrides,
    )
    settings = Settings(
        method=method,
        preset=preset,
        like=like,
        parameters=values,
        seed=int(seed),
        minimize=minimize,
        constraints=int(constraints),
        initial=presets.default_initial(space) if initial is None else int(initial),
        noise=None if noise is None else float(noise),
        learnt=learnt,
    )
    try:
        return Optimizer(space, settings)
    except ValueError as error:
        if HORIZON not in str(error) or HORIZON not in settings.parameters.keys() - overrides:
            raise
        raise ValueError(_of_evaluations(str(error), settings, evaluations)) from None


class Optimizer:
    """Hands out points (`ask`) and learns from what they showed (`tell`); `optimizer` makes one.

    What is asked for and not yet told is pending, and the next points are chosen with it in mind.
    """

    def __init__(self, space: Space, settings: Settings) -> None:
        self._space, self._settings = space, settings
        self._line = named(settings.method, settings.preset)
        self._domain = space.domain
        self._u = space.empty()  # what was told, in the cube
        self._x = space.outside(self._u)  # and in one's own units, as numbers
        self._y: Array = np.empty(0)
        self._g: Array = np.empty((0, settings.constraints))
        self._pending = space.empty()
        self._failed = space.empty()  # what was asked for and has no value, in the cube
        self._queue = space.empty()  # what `ask` hands out first
        # of the blocks that the method is told: how many values, and how many failed points
        self._ends: list[int] = []
        self._failures: list[int] = []
        self._designed = self._asks = 0
        self._learnt = 0  # blocks that this process has told the method
        self._rows = 0  # told values that its parameters were learnt from
        self._units = Units(0.0, 1.0)
        self._method = self._new(1.0)  # tells mistakes in parameters at once

    def __repr__(self) -> str:
        one = self._settings
        return (
            f"<noregret optimizer {one.method} ({one.preset}), {self._space.d} variables,"
            f" {one.constraints} constraints, seed {one.seed}: {len(self._y)} told,"
            f" {len(self._pending)} pending>"
        )

    @property
    def settings(self) -> Settings:
        """Method, preset, resolved parameters and whatever else was chosen."""
        return self._settings

    @property
    def pending(self) -> NDArray:
        """What was asked for and not yet told, as `ask` gave it."""
        return self._space.shown(self._space.outside(self._pending))

    @property
    def failures(self) -> int:
        """How many points had no value."""
        return len(self._failed)

    def is_like(self, other: Optimizer) -> bool:
        """Whether another one has the same space and settings, whatever number of evaluations these
        were made for.
        """
        one, another = (_without_t(each.settings) for each in (self, other))
        mine, theirs = self._space, other._space
        if isinstance(mine, Table) and isinstance(theirs, Table):
            return one == another and np.array_equal(mine.points, theirs.points)
        return one == another and mine == theirs

    def last(self) -> Point:
        """What was told last. Raises ValueError before anything was told."""
        self._check_told("last")
        return self._point(len(self._y) - 1)

    @property
    def history(self) -> History:
        """All that was told."""
        return History(self._space.shown(self._x), self._y.copy(), self._g.copy())

    @overload
    def ask(self) -> Any: ...
    @overload
    def ask(self, count: int, *, whole: bool = ...) -> NDArray: ...
    def ask(self, count: int | None = None, *, whole: bool = True) -> Any:
        """The next point (d,), or the number of the next row; `ask(4)` gives 4 of them, (4, d) or
        (4,), to be evaluated at the same time.

        With `whole=False` it is at most 4, as many as the method's own rule for batches allows.
        """
        wanted = 1 if count is None else count
        check_whole("count", wanted, 1, 10**6)
        first = len(self._pending)
        while len(self._pending) < first + wanted:
            left = first + wanted - len(self._pending)
            self._pending = np.concatenate([self._pending, self._next(left)])
            if not whole:
                break
        points = self._space.outside(self._pending[first:])
        return self._space.shown_one(points[0]) if count is None else self._space.shown(points)

    def enqueue(self, x: Any) -> None:
        """Points of one's own (d,) or (n, d), or rows, that `ask` hands out before any other.

        Raises ValueError.
        """
        rows, _ = self._space.read(x)
        self._queue = np.concatenate([self._queue, self._space.inside(rows)])

    def tell(self, x: Any, y: Any, g: Any = None) -> None:
        """What points showed: x (d,), y a number and g (m,), or x (n, d), y (n,) and g (n, m).

        Whether they were asked for does not matter. A told point takes the place of a pending one
        that it is in fewer digits: no variable differs by more than a hundredth of the width of
        its bounds, and any other pending point is at least twice as far away. The history has the
        point that was told. Raises ValueError.
        """
        rows, single = self._space.read(x)
        u = self._space.inside(rows).copy()
        n, m = len(u), self._settings.constraints
        if n == 0:
            raise ValueError("x: expected at least one point, got none")
        values = numbers(y, "y")
        if values.shape not in ([(), (1,)] if single else [(n,)]):
            expected = "a number" if single else f"an array of shape ({n},), a value for each point"
            raise ValueError(f"y: expected {expected}, got shape {values.shape}")
        if g is None and m:
            raise ValueError(
                f"g: expected {m} values for each point, at most 0 where it is feasible, got none:"
                " tell(x, y, g)"
            )
        limits = numbers(() if g is None and single else np.empty((n, 0)) if g is None else g, "g")
        expected_shape: tuple[int, ...] = (m,) if single else (n, m)
        if m == 1 and limits.shape == expected_shape[:-1]:
            limits = limits[..., None]
        if limits.shape != expected_shape:
            hint = "" if m else ": make the optimizer with constraints=..."
            raise ValueError(
                f"g: expected an array of shape {expected_shape}, got shape {limits.shape}{hint}"
            )
        for what, told in (("y", values), ("g", limits)):
            if (np.abs(told) > WIDEST).any():
                raise ValueError(
                    f"{what}: expected numbers of at most {WIDEST:g}, got {np.abs(told).max():g}:"
                    " if it stands for a failure, say so instead (`forget(x, failed=True)`)"
                )
        for i in range(n):
            u[i] = self._settled(u[i])
        self._u = np.concatenate([self._u, u])
        self._x = np.concatenate([self._x, rows])
        self._y = np.concatenate([self._y, values.reshape(n)])
        self._g = np.concatenate([self._g, limits.reshape(n, m)])

    def forget(self, x: Any, *, failed: bool = False) -> None:
        """A pending point will not be told: another point was evaluated in its place, or its
        evaluation `failed`. It may be given in fewer digits, as for `tell`. Raises ValueError.

        No point that failed is asked for again, nor one within a thousandth of the width of its
        bounds. A method is told the worst values so far there; the history leaves the point out.
        """
        rows, _ = self._space.read(x)
        u, before = self._space.inside(rows), self._pending
        settled = np.array([self._settled(row) for row in u], dtype=u.dtype).reshape(u.shape)
        if len(self._pending) != len(before) - len(u):
            self._pending = before
            raise ValueError(
                f"x: expected a pending point, got {x!r:.80}: `pending` has all that there are"
            )
        if failed:
            self._failed = np.concatenate([self._failed, settled])

    def best(self) -> Point:
        """The best feasible point that was told; where none is, the one of least violation.

        Raises ValueError before anything was told.
        """
        self._check_told("best")
        return self._point(best_row(self._sign * self._y, self._g))

    @torch_defaults()
    def recommend(self) -> Point:
        """The point that is best by the method's model, and not by luck: under noise the largest of
        many values is a lucky one.

        Over arms it is any row. On a box it is a told point, of those whose constraints the model
        believes to be met. y is the model's mean, g is what was seen. It is `best()` if the method
        has no model that shows its means. Raises ValueError before anything was told.
        """
        self._check_told("recommend")
        other = self._up_to_date()
        method, units = other._method, other._units
        space, u = self._space, self._u
        shown = means(method, np.arange(len(space.points)) if isinstance(space, Table) else u)
        if shown is None:
            return self.best()
        row = best_row(shown[:, 0], shown[:, 1:])
        y = self._sign * float(units.centre + units.spread * shown[row, 0])
        if isinstance(space, Table):
            return Point(row, y, np.empty(0), True)
        return self._point(row)._replace(y=y, feasible=bool(violation(shown[row, 1:]) == 0))

    @torch_defaults()
    def predict(self, x: Any) -> tuple[Array, Array]:
        """Means and standard deviations (n,) of y without noise, by the method's model, at points
        (n, d), or at rows of the table (n,).

        Raises ValueError for a method that shows no model, and before anything was told.
        """
        self._check_told("predict")
        rows, _ = self._space.read(x)
        other = self._up_to_date()
        shown = predicted(other._method, self._space.inside(rows))
        if shown is None:
            raise ValueError(
                f"{self._settings.method}: shows no model that predicts: gp-ei, cei and gp-ucb do"
            )
        units = other._units
        return self._sign * (units.centre + units.spread * shown[0]), units.spread * shown[1]

    def save(self, path: str | Path) -> None:
        """Write settings and history, from which `Optimizer.load` goes on, to the same next point.

        The file is NumPy's .npz of numbers and one text; no code is in it.
        """
        state = {
            "asks": self._asks,
            "designed": self._designed,
            "ends": self._ends,
            "failures": self._failures,
        }
        space = self._space
        arms = {"arms": space.points} if isinstance(space, Table) else {}
        bounds = None if isinstance(space, Table) else asdict(space)
        said = {"settings": asdict(self._settings), "state": state, "bounds": bounds}
        try:
            text = json.dumps(said)
        except TypeError:
            raise ValueError(
                "save: expected texts, numbers and tuples of these as values of a choice, got"
                f" {space!r:.200}"
            ) from None
        arrays = {name: getattr(self, f"_{name}") for name in saved.ARRAYS}
        saved.write(Path(path), text=text, arrays={**arrays, **arms})

    @classmethod
    def load(cls, path: str | Path) -> Optimizer:
        """The optimizer that `save` wrote, with the parameters that it had. The method learns the
        history anew when it is next asked. Raises ValueError where the file is no such file.
        """
        text, arrays = saved.read(Path(path))
        with saved.complaining(Path(path)):
            said = json.loads(text)
            space: Space = (
                Table.of(arrays["arms"]) if "arms" in arrays else Bounds.saved(said["bounds"])
            )
            optimizer, state = cls(space, Settings.of(said["settings"])), said["state"]
            if len(arrays["y"]):
                optimizer.tell(space.shown(arrays["x"]), arrays["y"], arrays["g"])
            u = optimizer._u
            for name in saved.ARRAYS:
                setattr(optimizer, f"_{name}", arrays[name])
            optimizer._ends = [int(end) for end in state["ends"]]
            optimizer._failures = [int(end) for end in state["failures"]]
            optimizer._asks, optimizer._designed = int(state["asks"]), int(state["designed"])
            blocks = [(0, 0), *zip(optimizer._ends, optimizer._failures, strict=True)]
            shapes = optimizer._u.shape == u.shape and all(
                rows.shape[1:] == u.shape[1:]
                for rows in (optimizer._pending, optimizer._failed, optimizer._queue)
            )
            grows = all(
                one != other and one[0] <= other[0] and one[1] <= other[1]
                for one, other in pairwise(blocks)
            )
            last = blocks[-1]
            if not (shapes and grows and last[0] <= len(u) and last[1] <= len(optimizer._failed)):
                raise ValueError("expected a history that fits together")
        return optimizer

    def _check_told(self, what: str) -> None:
        if not len(self._y):
            raise ValueError(
                f"expected something to be told before `{what}`, got nothing: call tell"
            )

    def _point(self, row: int) -> Point:
        """What was told, by its number."""
        return Point(
            self._space.shown_one(self._x[row]),
            float(self._y[row]),
            self._g[row].copy(),
            bool(violation(self._g[row]) == 0),
        )

    def _up_to_date(self) -> Optimizer:
        """A copy whose method knows all that was told; what this one asks for next is the same."""
        other = copy.copy(self)
        other._ends, other._failures = [*self._ends], [*self._failures]
        known = self._ends[-1:] == [len(self._y)] and self._failures[-1:] == [len(self._failed)]
        if not known:
            other._method = copied(self._method)
        other._taught()
        return other

    @property
    def _sign(self) -> float:
        return -1.0 if self._settings.minimize else 1.0

    def _settled(self, row: NDArray) -> NDArray:
        """What the method is told of a told query, which is pending no longer if it was: itself;
        where it is a pending one in fewer digits, this one for a method that has to recognise what
        it asked for.
        """
        if not len(self._pending):
            return row
        pending = self._space.rounded(self._pending)
        off = np.abs(pending - row).reshape(len(pending), -1)
        off = np.where(self._space.whole & (off > SAME), np.inf, off).max(1)
        first = int(np.argmin(off))
        settled: NDArray = self._pending[first]
        if off[first] > SAME:
            others = np.abs(pending - pending[first]).reshape(len(off), -1).max(1) > SAME
            if off[first] > ROUNDED or (off[others] < 2 * off[first]).any():
                return row
            if not self._line.recognises:
                settled = row
        self._pending = np.delete(self._pending, first, axis=0)
        return settled

    def _next(self, room: int) -> NDArray:
        """1 to `room` queries more."""
        if len(self._queue):
            first, self._queue = self._queue[:room], self._queue[room:]
            return first
        told, known = len(self._y), len(self._y) + len(self._pending)
        if told == 0 or known < self._settings.initial:
            most = room if told == 0 else min(room, self._settings.initial - known)
            answer = self._design(1 if self._space.is_rounded else most)
        else:
            method = self._taught()
            self._asks += 1
            answer = self._chosen(method, room)
        left = answer[~self._has_failed(answer)]
        return self._fresh(left) if len(left) else self._unfailed()

    def _design(self, count: int) -> NDArray:
        """The next points of the design, whose first are the initial ones."""
        self._designed += count
        return self._space.design(self._stream("design"), self._designed)[-count:]

    def _has_failed(self, u: NDArray) -> NDArray:
        """Whether queries (k, d) or (k,) are as good as one that failed, (k,)."""
        if isinstance(self._space, Table):
            return np.isin(u, self._failed)
        u, failed = self._space.rounded(u), self._space.rounded(self._failed)
        return np.array([_is_near(row[None], failed) for row in u], dtype=bool)

    def _unfailed(self) -> NDArray:
        """The next point of the design that has not failed; any one if all of a table have."""
        rows = len(self._space.points) if isinstance(self._space, Table) else MOST_TRIED
        for _ in range(rows):
            point = self._design(1)
            if not self._has_failed(point).any():
                break
        return point

    def _fresh(self, u: NDArray) -> NDArray:
        """Queries, or in place of one (1, d) that was rounded to a known one another near it.

        Under noise a known one is fine, as for methods that repeat points, or wait for the very
        ones that they asked for.
        """
        fine = self._settings.noise or self._line.repeats or self._line.recognises
        if fine or not self._space.is_rounded or len(u) > 1:
            return u
        known = np.concatenate([self._u, self._pending, self._failed])
        if not self._is_same(u, known):
            return u
        rng = self._stream("fresh", len(known))
        for deviation in np.repeat(WIDENING, TRIED):
            near = np.clip(u + deviation * rng.standard_normal(u.shape), 0.0, 1.0)
            near = self._space.rounded(near)
            if not self._is_same(near, known) and not self._has_failed(near).any():
                return near
        return u

    @torch_defaults()
    def _chosen(self, method: Algorithm, room: int) -> NDArray:
        """1 to `room` queries of a method that knows all that was told."""
        pending, k = self._pending, self._asks
        if self._line.batch == BATCHES:  # the same batch again, and what comes behind it
            answer = self._asked(method, len(pending) + room, "batch", len(self._ends))
            if len(answer) > len(pending) and np.array_equal(answer[: len(pending)], pending):
                return answer[len(pending) :]
        elif self._line.batch in (DRAWS, HEEDS, MEANS) or not len(pending):
            answer = self._asked(method, room, "ask", k)
            if isinstance(self._space, Table) or not self._is_pending(answer):
                return answer
        if not len(pending):
            return self._asked(method, room, "ask", k)
        method.rng.bit_generator.state = self._stream("believe", k).bit_generator.state
        answer = self._asked(believer(method, pending), room, "ask", k)
        repeated = isinstance(self._space, Table) or self._line.repeats
        return answer if repeated or not self._is_pending(answer) else self._design(1)

    def _is_pending(self, u: NDArray) -> bool:
        """Whether one of the queries (q, d) is as good as a pending one."""
        return self._is_same(self._space.rounded(u), self._space.rounded(self._pending))

    def _is_same(self, some: NDArray, others: NDArray) -> bool:
        """Whether a point of some (q, d) is as good as one of others (k, d). Different whole
        numbers are different, but of a range of a million or more.
        """
        return _is_near(some, others, np.where(self._space.whole, SAME, APART))

    def _asked(self, method: Algorithm, room: int, name: str, number: int) -> NDArray:
        method.rng.bit_generator.state = self._stream(name, number).bit_generator.state
        answer = method.ask(room, self._pending)
        answer = boundary.query(self._domain, answer, room, self._settings.method)
        # a method that waits for what it asked for is told the value there
        return answer if self._line.recognises else self._space.rounded(answer)

    @torch_defaults()
    def _taught(self) -> Algorithm:
        """The method after all that was told, each block of it since the last ask as one."""
        if ([0, *self._ends][-1], [0, *self._failures][-1]) < (len(self._y), len(self._failed)):
            self._ends.append(len(self._y))
            self._failures.append(len(self._failed))
        rows = self._rows_learnt_from()
        if self._learnt == 0 or rows != self._rows:
            self._units = self._first_units(self._ends[0])
            self._method = self._new(self._units.spread, rows)
            self._rows, self._learnt = rows, 0
        for number in range(self._learnt, len(self._ends)):
            u, y, g = self._block(number)
            if number:  # somebody has asked: whatever was drawn, the generator stands elsewhere
                stream = self._stream("tell", number)
                self._method.rng.bit_generator.state = stream.bit_generator.state
            self._learnt = 0  # of a block that is cut off half may be known: all is told anew
            self._method.tell(u, Observation(self._units(y), g, np.empty((len(y), 0))))
            self._learnt = number + 1
        return self._method

    def _block(self, number: int) -> tuple[NDArray, Array, Array]:
        """Queries, y to maximise and g of a block: what was told, then what failed, where all are
        the worst that was told until then.
        """
        rows = slice([0, *self._ends][number], self._ends[number])
        failed = self._failed[[0, *self._failures][number] : self._failures[number]]
        y, g = self._sign * self._y[: rows.stop], self._g[: rows.stop]
        return (
            np.concatenate([self._u[rows], failed]),
            np.concatenate([y[rows], np.full(len(failed), y.min())]),
            np.concatenate([g[rows], np.tile(g.max(0), (len(failed), 1))]),
        )

    def _rows_learnt_from(self) -> int:
        """How many told values parameters are learnt from: those of the first block, then all
        whenever there are MORE. So parameters depend on the history alone.
        """
        rows = 0
        for end in self._ends if self._settings.learnt else ():
            rows = end if end >= MORE * rows else rows
        return rows

    def _first_units(self, end: int) -> Units:
        """In which units the method sees y: over arms, those in which the first block lies in
        [0, 1] (`target: unit-interval` of the papers' tables), else one's own.
        """
        if not isinstance(self._space, Table):
            return Units(0.0, 1.0)
        y = self._sign * self._y[:end]
        return Units(float(y.min()), float(np.ptp(y)) or max(abs(float(y[0])), 1.0))

    @torch_defaults()
    def _new(self, spread: float, rows: int = 0) -> Algorithm:
        """The method before it was told anything; noise is told in units of this spread, and
        parameters are learnt from the first `rows` that were told.
        """
        chosen = presets.with_noise(
            self._settings.parameters, self._line, self._settings.noise, spread
        )
        if rows and isinstance(self._domain, Arms):
            X, y = self._domain.points[self._u[:rows]], self._units(self._sign * self._y[:rows])
            for name in self._settings.learnt:
                bandwidths = [chosen[name] * multiple for multiple in MULTIPLES]
                chosen[name] = by_evidence(X, y, bandwidths, NOISES)
        return algorithms.build(
            presets.target(self._line), self._domain, self._stream("method"), chosen
        )

    def _stream(self, *names: str | int) -> np.random.Generator:
        return seeds.rng(self._settings.seed, "library", self._settings.method, *names)


def _is_near(some: NDArray, others: NDArray, apart: Any = APART) -> bool:
    """Whether a point of some (q, d) lies closer to one of others (k, d) in every column."""
    return bool((np.abs(some[:, None] - others[None]) < apart).all(axis=2).any())


def _of_evaluations(refusal: str, settings: Settings, evaluations: int | None) -> str:
    """A method's refusal of the horizon, a parameter that nobody named, in the words in which it
    was chosen.
    """
    said = refusal.replace(HORIZON, "number of `evaluations`")
    count = settings.parameters[HORIZON]
    usual = f" (none was given: the paper's {count} count)" if evaluations is None else ""
    return f"{settings.method}: {said}{usual}, or another method"


def _without_t(settings: Settings) -> Settings:
    """Settings but for parameters that depend on the number of evaluations."""
    left = {name: v for name, v in settings.parameters.items() if name not in (HORIZON, DELTA)}
    return replace(settings, parameters=left)


def check_whole(what: str, value: Any, least: int, most: int) -> None:
    """Refuse what is no whole number in a range. Raises ValueError."""
    fits = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not fits or not least <= value <= most:
        raise ValueError(
            f"{what}: expected a whole number from {least} to {most}, got {value!r:.80}"
        )
