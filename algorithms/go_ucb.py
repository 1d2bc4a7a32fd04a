"""GO-UCB: global optimization with a parametric function approximation (liu2023goucb, Sec. 4 and
App. D.1, Alg. 1).

The model is a network with one hidden layer of sigmoids, f_x(w) = w2' sigmoid(W1 x + b1) + b2,
whose d_w parameters lie in one vector w = (W1 row by row, b1, w2, b2). It acts on x in the box of
the paper, [low, high]^d, not on the unit cube. Phase I is whatever it did not ask for, in however
many tells it comes; what is told after an ask is a round t = 1..T of Phase II. The sums of eqs. (3)
and (5) run over these rounds alone (there is no x_0), so that Sigma_1 = lambda I and w^_1 = w^_0.

Paper -> here:  grad f_{x_i}(w^_i) -> g,  w^_0 -> w0,  w^_t -> w,  Sigma_t -> Sigma,  F -> norm,
lambda -> lam,  T -> horizon
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.special import expit

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.linalg import safe_cholesky
from algorithms.parts.numerics.sampling import position
from algorithms.parts.numerics.steps import Adam, Gradient

BEST, UNIFORM, ZEROS, UNIT_CUBE = "best-observed", "uniform", "zeros", "unit-cube"
STARTS = {name: name for name in (BEST, UNIFORM, ZEROS, UNIT_CUBE)}
ONCE, EVERY_ROUND = "once", "every-round"
ORACLES = {name: name for name in (ONCE, EVERY_ROUND)}
PAPER, STANDARDISED = "paper", "standardised"
UNITS = {name: name for name in (PAPER, STANDARDISED)}
UNBOUNDED, UNIT = "unbounded", "unit"
SPACES = {name: name for name in (UNBOUNDED, UNIT)}


@dataclass(frozen=True)
class OracleSettings:
    """The regression oracle of eq. (2), full-batch descent on the mean squared error: `oracle`.

    App. D.1 has stochastic descent, without the size of a batch (assumption `oracle-steps`).

    calls: once, after Phase I (liu2023goucb, Alg. 1, Phase I l. 5), or every-round.
    rate: length of a step, in the units of the weights (liu2023goucb, App. D.1: 1e-11).
    steps: of each descent (liu2023goucb, App. D.1: 2000).
    """

    calls: str
    rate: float
    steps: int

    def __post_init__(self) -> None:
        chosen(ORACLES, self.calls, "calls")


@dataclass(frozen=True)
class AscentSettings:
    """The joint ascent over points and parameters (liu2023goucb, Alg. 1, Phase II l. 5): `ascent`.

    start: where it begins: best-observed, uniform, zeros or unit-cube (the paper does not say).
    starts: ascents of a round, of which the best end is taken.
    rate: length of a step, in the units of the paper's box and of the weights (liu2023goucb, App.
        D.1: 1e-4).
    steps: of each ascent (liu2023goucb, App. D.1: 2000).
    """

    start: str
    starts: int
    rate: float
    steps: int

    def __post_init__(self) -> None:
        chosen(STARTS, self.start, "start")


class GOUCB(Optimizer):
    """Fits a network to uniform points, then climbs jointly over points and parameters within a
    ball (Alg. 1).

    Use it to study its paper: as printed it repeats the best initial point (docs/results.md).
    `space` is W: unbounded, or unit for [0,1]^d_w (Assumption 3.1), from which the parameters are
    drawn and at whose faces they are cut off.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        hidden: int,
        low: float,
        high: float,
        horizon: int,
        norm: float,
        units: str,
        method: str,
        space: str,
        oracle: OracleSettings,
        ascent: AscentSettings,
    ) -> None:
        super().__init__(domain, rng)
        if not low < high:
            raise ValueError(f"expected low < high, got [{low}, {high}]")
        if horizon < 2:
            raise ValueError(
                "horizon: expected T >= 2, for lambda = sqrt(T) log^2 T must be positive; got"
                f" {horizon}"
            )
        self.network = Network(domain.d, hidden)
        # the box that the network acts on
        self.low, self.high = (low, high) if units == PAPER else (-1.0, 1.0)
        self.horizon = horizon
        self.norm = norm
        self.lam = sqrt(horizon) * log(horizon) ** 2  # App. D.1
        self.method = chosen(METHODS, method, "method")
        self.oracle, self.ascent = oracle, ascent
        self.units = chosen(UNITS, units, "units")
        self.space = chosen(SPACES, space, "space")
        self.shift, self.scale = 0.0, 1.0  # of y, where it is standardised
        self.initial = self.network.initial(rng)
        if self.space == UNIT:
            self.initial = rng.random(self.network.size)  # Assumption 3.1: W in [0,1]^d_w
        self.w0 = self.w = self.initial
        self.asked: NDArray[np.bool_] = np.zeros(0, dtype=bool)  # which evaluations are rounds
        self.Sigma: Array = self.lam * np.eye(self.network.size)
        self.moment: Array = np.zeros(self.network.size)  # what rounds add to Sigma w^ of eq. (5)
        self.rest = position(rng)  # of the generator, after the last tell

    def ask(self, room: int, pending: Array) -> Array:
        """The best end of the ascents over x and w, one from each start (Phase II, l. 5).

        It always draws, so that `tell` knows that it was asked.
        """
        if len(self.y) == 0:
            return self.rng.random((1, self.domain.d))
        ball = Ball(self.w, self.Sigma, self.beta)  # l. 4
        x, w = self._starts(), np.tile(self.w, (self.ascent.starts, 1))
        climb_x, climb_w = self.method(self.ascent.rate), self.method(self.ascent.rate)
        for _ in range(self.ascent.steps):
            along_x, along_w = self.network.gradients(x, w)
            x = np.minimum(np.maximum(x + climb_x.step(along_x), self.low), self.high)
            w = self._within(ball.project(w + climb_w.step(along_w)))
        best = int(np.argmax(self.network(x, w)))
        return np.clip((x[[best]] - self.low) / (self.high - self.low), 0.0, 1.0)

    def tell(self, query: Array, obs: Observation) -> None:
        """Phase I: the oracle fits w^_0. Phase II: Sigma_t and w^_t learn each evaluation."""
        round_told = len(self.y) > 0 and position(self.rng) != self.rest  # somebody has asked
        super().tell(query, obs)
        self.asked = np.append(self.asked, np.full(len(query), round_told))
        if round_told:
            self._learn(self._to_paper(query), self._standard(obs.y))
        else:
            self.w0 = self._consult(~self.asked)  # l. 5 of Phase I
            self._estimate()
        if self.oracle.calls == EVERY_ROUND and self.asked.any():
            self.w = self._consult(np.ones(len(self.y), dtype=bool))
        self.rest = position(self.rng)

    def recommend(self) -> Array:
        """A uniform query of Phase II (output of Alg. 1); before there is one, the best seen."""
        if not self.asked.any():
            return super().recommend()
        # the run's own generator stays where it is
        return deepcopy(self.rng).choice(self.x[self.asked], size=1)

    def report(self) -> dict[str, float]:
        """beta of the next round, how far oracle and rounds have moved the parameters, d_w."""
        return {
            "beta": self.beta,
            "oracle_moved": float(np.abs(self.w0 - self.initial).max()),
            "rounds_moved": float(np.abs(self.w - self.w0).max()),
            "parameters": self.network.size,
        }

    @property
    def beta(self) -> float:
        """d_w^3 F^4 t/T, squared radius of the ball in round t (App. D.1)."""
        t = int(self.asked.sum()) + 1
        return self.network.size**3 * self.norm**4 * t / self.horizon

    def _learn(self, x: Array, y: Array) -> None:
        """Rounds one by one, eqs. (3) and (5): x (q, d) and y (q,) in the network's units."""
        for point, value in zip(x[:, None], y, strict=True):
            f = self.network(point, self.w[None])[0]
            g = self.network.gradients(point, self.w[None])[1][0]
            self.Sigma += np.outer(g, g)  # eq. (3)
            self.moment += g * (g @ self.w + value - f)
            if self.oracle.calls == ONCE:
                self._estimate()

    def _estimate(self) -> None:
        """w^_t by eq. (5), which is w^_0 before the first round."""
        self.w = self.w0
        if self.asked.any():
            moment = self.moment + self.lam * self.w0
            self.w = self._within(cho_solve((safe_cholesky(self.Sigma), True), moment))  # eq. (5)

    def _within(self, w: Array) -> Array:
        """The nearest parameters (..., d_w) of W."""
        return w if self.space == UNBOUNDED else np.minimum(np.maximum(w, 0.0), 1.0)

    def _consult(self, rows: NDArray[np.bool_]) -> Array:
        """Regression oracle, eq. (2): full-batch descent on the squared error of some rows (n,)."""
        x, y = self.x[rows], self.y[rows]
        # where rounds learn one by one, their units stay those of the fit that they began with
        begins = self.oracle.calls == EVERY_ROUND or not self.asked.any()
        if self.units == STANDARDISED and begins:
            self.shift, self.scale = float(y.mean()), float(y.std()) or 1.0
        x, y = self._to_paper(x), self._standard(y)
        w, descend = self.initial, self.method(self.oracle.rate)
        for _ in range(self.oracle.steps):
            every = np.broadcast_to(w, (len(x), len(w)))
            error = self.network(x, every) - y
            slope = 2 * (error @ self.network.gradients(x, every)[1]) / len(x)
            w = self._within(w - descend.step(slope))
        if not np.isfinite(w).all():
            raise ArithmeticError(
                f"the regression oracle diverged at rate {self.oracle.rate:g}: choose a smaller"
                " oracle.rate"
            )
        return w

    def _starts(self) -> Array:
        """Where the ascents begin, (starts, d) in the network's units; the paper does not say."""
        starts, start = self.ascent.starts, self.ascent.start
        shape = (starts, self.domain.d)
        if start == UNIT_CUBE:
            return self.rng.random(shape)
        drawn = self.rng.uniform(self.low, self.high, shape)
        if start == UNIFORM:
            return drawn
        if start == ZEROS:
            return np.zeros(shape)
        best = np.argsort(-self.y, kind="stable")[:starts]
        return np.vstack([self._to_paper(self.x[best]), drawn[len(best) :]])

    def _standard(self, y: Array) -> Array:
        return (y - self.shift) / self.scale

    def _to_paper(self, u: Array) -> Array:
        """Points of the unit cube in the box of the network."""
        return self.low + (self.high - self.low) * u


class Ball:
    """Parameters within sqrt(beta) of the centre w^_t in the norm of Sigma_t, eq. (6)."""

    def __init__(self, centre: Array, Sigma: Array, beta: float) -> None:
        self.centre, self.Sigma, self.beta = centre, Sigma, beta
        # |away|^2 below this is inside: Frobenius bounds the spectral norm
        self.surely = beta / float(np.linalg.norm(Sigma))

    def project(self, w: Array) -> Array:
        """The nearest point of the ball, in the norm of Sigma_t, to each of w (s, d_w)."""
        away = w - self.centre
        if np.vdot(away, away) <= self.surely:
            return w
        distance = np.einsum("ij,ij->i", away @ self.Sigma, away)  # squared, (s,)
        shrink = np.sqrt(self.beta / np.maximum(distance, self.beta))
        return np.where((shrink < 1.0)[:, None], self.centre + away * shrink[:, None], w)


@dataclass(frozen=True)
class Network:
    """Two linear layers with sigmoids between them: `hidden` units over d inputs."""

    d: int
    hidden: int

    @property
    def size(self) -> int:
        """d_w = hidden (d + 2) + 1."""
        return self.hidden * (self.d + 2) + 1

    def initial(self, rng: np.random.Generator) -> Array:
        """Uniform weights and biases within 1/sqrt(number of inputs), layer by layer, (d_w,)."""
        first, second = 1 / sqrt(self.d), 1 / sqrt(self.hidden)
        inner = self.hidden * (self.d + 1)
        return np.concatenate(
            [rng.uniform(-first, first, inner), rng.uniform(-second, second, self.hidden + 1)]
        )

    def __call__(self, x: Array, w: Array) -> Array:
        """Value of each of s networks w (s, d_w) at its own point x (s, d), shape (s,)."""
        W1, b1, w2, b2 = self._layers(w)
        value: Array = np.einsum("sh,sh->s", w2, _activations(x, W1, b1)) + b2
        return value

    def gradients(self, x: Array, w: Array) -> tuple[Array, Array]:
        """Gradients over x (s, d) and over w (s, d_w)."""
        W1, b1, w2, _ = self._layers(w)
        a = _activations(x, W1, b1)  # (s, h)
        back = w2 * a * (1 - a)  # (s, h)
        over_w = np.empty((len(x), self.size))
        over_W1, over_b1, over_w2, over_b2 = self._layers(over_w)
        np.multiply(back[:, :, None], x[:, None, :], out=over_W1)
        over_b1[:], over_w2[:], over_b2[:] = back, a, 1.0
        return np.einsum("sh,shd->sd", back, W1), over_w

    def _layers(self, w: Array) -> tuple[Array, Array, Array, Array]:
        """Views of W1 (s, h, d), b1 (s, h), w2 (s, h), b2 (s,)."""
        h, inner = self.hidden, self.hidden * self.d
        W1 = w[:, :inner].reshape(len(w), h, self.d)
        return W1, w[:, inner : inner + h], w[:, inner + h : inner + 2 * h], w[:, -1]


def _activations(x: Array, W1: Array, b1: Array) -> Array:
    activations: Array = expit(np.einsum("shd,sd->sh", W1, x) + b1)
    return activations


METHODS: dict[str, type[Gradient] | type[Adam]] = {"gradient": Gradient, "adam": Adam}
