"""LineBO: one-dimensional searches through the best point, one after another (kirschner2019linebo
and its public code).

All lines share one Gaussian process over the box. A search starts from the best point and moves it
to wherever it found the largest posterior mean; then that point itself is evaluated, and the next
search starts there. Directions are random, the axes in turn, or ascents: there, every other search
is a ball that learns the slope which the next line follows. The authors' kernel is known, isotropic
and never fitted: an RBF. bardou2024dumbo has Matern-5/2 throughout.

Paper -> here:  x-hat -> best, beta -> beta, which multiplies sigma (it is no square),
l -> lengthscale
Code -> here:  points_per_dimension -> grid,  {min,max}_queries_line -> fewest, most,
line_boundary_margin -> margin, tr_radius -> radius,  max_queries_tr -> per_dim d
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.transforms import STANDARDS
from algorithms.parts.processes.fitting import SURROGATES, Fitted, Surrogate
from algorithms.parts.processes.gp import GRAMS, Posterior
from algorithms.parts.processes.kernels import Matern52, Model, double, positive
from algorithms.parts.search.maximise import line

RANDOM, COORDINATE, ASCENT = "random", "coordinate", "ascent"
DIRECTIONS = {name: name for name in (RANDOM, COORDINATE, ASCENT)}
KNOWN = "known"
POINT, LINE, BALL = 0, 1, 2  # what the next query is for, in report()
STEP = 0.01  # of the radius, over which a draw's slope is a difference (the authors' code)


@dataclass(frozen=True)
class Lines:
    """How one line is searched, and when it is over (kirschner2019linebo's public code).

    grid: points of the grid on a line, or on a radius.
    fewest: a line may end early after more queries than these.
    most: it ends after so many.
    tolerance: it ends early where no upper bound on it is further above the lower bound of the
        best point than so many times the mean there: in standardised units, where a mean below
        0 never ends a line early.
    margin: the share of the line at either end in which no best point is looked for.
    """

    grid: int
    fewest: int
    most: int
    tolerance: float
    margin: float

    def __post_init__(self) -> None:
        if not 0 <= self.fewest < self.most:
            raise ValueError(f"expected 0 <= fewest < most, got {self.fewest} and {self.most}")


@dataclass(frozen=True)
class Ball:
    """How an ascent learns its slope before each line (kirschner2019linebo's public code).

    radius: how far from the best point it is queried, in units of the box.
    per_dim: queries for each variable, rounded up in all.
    least_move: an ascent that moves less, in radii, gives way to a random direction.
    least_gain: so does one that gains less, as a share of the mean.
    """

    radius: float
    per_dim: float
    least_move: float
    least_gain: float

    def __post_init__(self) -> None:
        if not (self.radius > 0 and self.per_dim > 0):
            raise ValueError(
                f"expected radius > 0 and per_dim > 0, got {self.radius} and {self.per_dim}"
            )

    def queries(self, d: int) -> int:
        """Their number in d dimensions."""
        return ceil(self.per_dim * d)


@dataclass(frozen=True)
class Known:
    """A regression whose Matern-5/2 kernel is isotropic and known, never fitted.

    lengthscale: in units of the box.
    outputscale: the prior variance, in the units that `standard` gives y.
    noise: a variance in the same units.
    standard: "population", "sample" or "median".

    kirschner2019linebo's public code has values of its own for each problem.
    """

    lengthscale: float
    outputscale: float
    noise: float
    standard: str

    def __post_init__(self) -> None:
        if not (self.lengthscale > 0 and self.outputscale > 0 and self.noise > 0):
            raise ValueError(
                f"expected a lengthscale, an outputscale and a noise above 0, got {self}"
            )
        chosen(STANDARDS, self.standard, "standard")

    def learn(self, x: Array, y: Array, rng: np.random.Generator) -> Fitted:
        """What y (n,) at x (n, d) teaches."""
        units = STANDARDS[self.standard](y)
        return Fitted(
            units, Posterior.of(self._model(), torch.from_numpy(x), torch.from_numpy(units(y)))
        )

    def _model(self) -> Model:
        matern = Matern52(lengthscale_constraint=positive())
        kernel = ScaleKernel(matern, outputscale_constraint=positive())
        likelihood = GaussianLikelihood(noise_constraint=positive())
        model = Model(ZeroMean(), kernel, likelihood)
        matern.lengthscale, kernel.outputscale, likelihood.noise = (
            double([self.lengthscale]),
            double(self.outputscale),
            double([self.noise]),
        )
        return model


class LineBO(Optimizer):
    """Maximises the upper confidence bound on a grid of one line until that line is over.

    Use it as a baseline: here its mean mostly ends behind random search. `directions` are random,
    coordinate or ascent, and `beta` multiplies sigma. The `surrogate` is "known" or the name of one
    that is fitted, for which `known` counts for nothing. `gram` says with which noise it predicts:
    see `gp.GRAMS`.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        directions: str,
        beta: float,
        lines: Lines,
        ball: Ball,
        surrogate: str,
        known: Known,
        gram: str,
    ) -> None:
        super().__init__(domain, rng)
        self.directions = chosen(DIRECTIONS, directions, "directions")
        self.beta = beta
        self.lines, self.ball = lines, ball
        # along a line or a radius, (grid, 1)
        self.places = np.linspace(0.0, 1.0, lines.grid)[:, None]
        self.inner = ((self.places >= lines.margin) & (self.places <= 1 - lines.margin))[:, 0]
        if not self.inner.any():
            raise ValueError(
                "expected some of the grid further than margin from both ends of a line, got"
                f" {lines.grid} and {lines.margin}"
            )
        surrogates: dict[str, Known | Surrogate] = {KNOWN: known, **SURROGATES}
        self.surrogate = chosen(surrogates, surrogate, "surrogate")
        self.gram = chosen(GRAMS, gram, "gram")
        self.posterior: Posterior | None = None  # that predicts
        self.phase = POINT
        self.searches = self.told = 0  # searches begun, observations in this phase
        self.best, self.origin, self.direction = np.empty(0), np.empty(0), np.empty(0)

    def ask(self, room: int, pending: Array) -> Array:
        """The best point itself, the largest bound on the line, or a radius up a draw's slope."""
        if self.posterior is None:
            return self.rng.random((1, self.domain.d))
        posterior = self.posterior
        if self.phase == LINE:
            points = self._line()
            return points[[np.argmax(bound(posterior, points, self.beta))]]
        if self.phase == BALL:
            return self._radius(self._slope_of_draw(posterior))[[-1]]
        return self.best[None].copy()

    def tell(self, query: Array, obs: Observation) -> None:
        """Learn, move the best point, and go on to the next phase where this one is over.

        The first best point is the best of what is told first; as it was evaluated, a search
        follows at once.
        """
        first = self.posterior is None
        super().tell(query, obs)
        posterior = self.gram(self.surrogate.learn(self.x, self.y, self.rng).posterior)
        self.posterior, self.told = posterior, self.told + len(query)
        if first:
            self.best = query[np.argmax(obs.y)].copy()
        if self.phase == POINT:
            self._begin()
        elif self.phase == LINE:
            self.best = highest(posterior, self._line()[self.inner])
            self.phase = POINT if self._line_is_over(posterior) else LINE
        else:
            slope = posterior.slopes(torch.from_numpy(self.origin[None]))[0][0].numpy()
            self.best = highest(posterior, self._radius(slope))
            if self.told >= self.ball.queries(self.domain.d):
                self.phase, self.direction = POINT, self._ascent(posterior)

    def recommend(self) -> Array:
        """The best point."""
        return self.best[None].copy()

    def report(self) -> dict[str, float]:
        """What the next query is for, and the searches begun."""
        return {"phase": self.phase, "searches": self.searches}

    def _begin(self) -> None:
        """Begin a search from the best point: the ball before gave the direction of an ascent."""
        self.origin, self.told, self.phase = self.best, 0, LINE
        if self.directions == RANDOM:
            self.direction = self.rng.standard_normal(self.domain.d)
        elif self.directions == COORDINATE:
            self.direction = np.eye(self.domain.d)[self.searches % self.domain.d]
        elif self.searches % 2 == 0:
            self.phase = BALL
        self.searches += 1

    def _line(self) -> Array:
        """The grid (grid, d) on the line, from face to face of the box."""
        region = line(self.origin, self.direction)
        return region.points(region.low + (region.high - region.low) * self.places)

    def _line_is_over(self, posterior: Posterior) -> bool:
        if not self.lines.fewest < self.told < self.lines.most:
            return self.told >= self.lines.most
        best = self.best[None]
        gap = (
            bound(posterior, self._line(), self.beta).max() - bound(posterior, best, -self.beta)[0]
        )
        return bool(gap < self.lines.tolerance * bound(posterior, best, 0.0)[0])

    def _radius(self, slope: Array) -> Array:
        """The grid (grid, d) from the origin up a slope (d,), kept in the box; 0 leads nowhere."""
        length = float(np.linalg.norm(slope))
        return np.clip(
            self.origin + self.places * (self.ball.radius * slope / length if length else slope),
            0.0,
            1.0,
        )

    def _slope_of_draw(self, posterior: Posterior) -> Array:
        """The slope (d,) of a posterior draw at the origin, but for its length."""
        beside = self.origin + STEP * self.ball.radius * np.eye(self.domain.d)
        # (1 + d,)
        f = posterior.sample(torch.from_numpy(np.vstack([self.origin, beside])), self.rng, count=1)[
            0
        ]
        return f[1:] - f[0]

    def _ascent(self, posterior: Posterior) -> Array:
        """From the origin to the ball's best point (d,), or at random if that is no way up."""
        move = self.best - self.origin
        before, after = bound(posterior, np.stack([self.origin, self.best]), 0.0)
        # DEVIATES: the code takes the ratio of both means, which supposes that they are above 0.
        short = np.linalg.norm(move) < self.ball.least_move * self.ball.radius
        if short or after - before < self.ball.least_gain * abs(before):
            return self.rng.standard_normal(self.domain.d)
        return move


def bound(posterior: Posterior, points: Array, beta: float) -> Array:
    """mean + beta sigma (q,) at points (q, d)."""
    mean, variance = posterior(torch.from_numpy(points))
    return (mean + beta * variance.sqrt()).numpy()


def highest(posterior: Posterior, points: Array) -> Array:
    """The point (d,) of points (q, d) with the largest mean."""
    return points[np.argmax(posterior.mean(torch.from_numpy(points)).numpy())]
