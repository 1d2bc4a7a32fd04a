"""LCBO: local constrained Bayesian optimization (jing2026lcbo, Alg. 1, Sec. 6.1 and App. D).

The paper minimises f = -y under c = 0. Of an inequality g <= 0 only max(g, 0) counts: that is its
slack variable minimised out, min_{s >= 0} (g + s)^2 = max(g, 0)^2.

`algorithm_1` has the paper's lines. Where an iteration evaluates does not depend on what it will
see, so that `tell` plans all of it, Z = [Z_1, Z_2], as soon as the iteration before is over. `ask`
hands out what is left of Z_1, then what is left of Z_2, never both at once.

In the authors' public code every observation changes the models. With `fit.learn: observations`,
`public_code` takes the place of `algorithm_1`: it plans Z_1, then one point of Z_2 after another.

Paper -> here:  x_k -> iterate,  Z -> plan,  b^(1) -> repeats, b^(2) -> exploration,
eta_k -> step.length k^step.power,  rho_k -> penalty.factor k^penalty.power, N_m -> memory,
f, c_1, ..., c_m -> y, g_1, ..., g_m: M = 1 + m models
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor, log

import numpy as np
import torch

from algorithms.api import Array, Box, Indices, Observation, Optimizer
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.feasibility import best
from algorithms.parts.numerics.steps import ascend
from algorithms.parts.processes import fitting
from algorithms.parts.processes.gradient_information import Design, GradientInformation, Kernels
from algorithms.parts.processes.outputs import OutputSettings, diagnostics
from algorithms.parts.processes.rbf import isotropic

INITIAL, REPEAT, EXPLORATION = 0, 1, 2  # roles in report()
OBSERVATIONS = "observations"  # what the public code learns from, one after another
FLAT = 1e-6  # a gradient no longer than this has no direction (the authors' public code)


@dataclass(frozen=True)
class BatchSettings:
    """How many points an iteration evaluates: the group `batch`.

    schedule: fixed (jing2026lcbo, Remark 6.1), growing (App. B.1) or theory (Cor. 5.6).
    repeats: b^(1), evaluations at the iterate, before the schedule (jing2026lcbo, Table 1).
    exploration, exploration_per_dim: b^(2) = ceil(exploration + exploration_per_dim d), evaluations
        around the iterate, before the schedule (jing2026lcbo, Table 1, App. B.1).
    """

    schedule: str
    repeats: int
    exploration: int
    exploration_per_dim: float

    def sizes(self, d: int) -> tuple[int, int]:
        """b^(1) and b^(2) before the schedule."""
        return self.repeats, ceil(self.exploration + self.exploration_per_dim * d)


@dataclass(frozen=True)
class AcquisitionSettings:
    """How Z_2 is chosen (jing2026lcbo, eqs. (12), (13)): the group `acquisition`.

    selection: joint (jing2026lcbo, Alg. 1 l. 6), or greedy, one point after another.
    condition: data, or data-and-repeats, what eq. (13) conditions on besides Z_2.
    measure: posterior-trace (eq. (13)), or less-prior-trace, what the data took off.
    temperature: of the smooth maximum over the models, in the units of the traces.
    delta: half the side of the box around the iterate, in units of the cube (Table 1).
    """

    selection: str
    condition: str
    measure: str
    temperature: float
    delta: float


@dataclass(frozen=True)
class DescentSettings:
    """How eq. (12) is minimised by Adam: the group `climb`.

    starts: batches from which descents begin (jing2026lcbo, Table 1: num_starts).
    steps: Adam's steps of each descent.
    rate: the length of Adam's first step, in units of the cube (jing2026lcbo, Table 1: lr).
    """

    starts: int
    steps: int
    rate: float


@dataclass(frozen=True)
class StepSettings:
    """The step of the iterate, eta_k = length k^power (jing2026lcbo, Alg. 1 l. 11): `step`.

    length: in units of the cube where the direction is normalised (jing2026lcbo, Table 1:
        step_size), else of the cube's square over the penalty's.
    power: of k (jing2026lcbo, Thm. 5.5: -1/2).
    direction: normalised (jing2026lcbo, Sec. 6.1), or plain, the gradient as it is.
    """

    length: float
    power: float
    direction: str


@dataclass(frozen=True)
class PenaltySettings:
    """The penalty of what is violated, rho_k = factor k^power (jing2026lcbo, Table 1): `penalty`.

    factor: units of y over squared units of g.
    power: of k.
    """

    factor: float
    power: float


@dataclass(frozen=True)
class UpdateSettings:
    """When and how the kernels are fitted by Adam, if they are: the group `fit`.

    every: iterations from one fit to the next (jing2026lcbo, App. D: five).
    learn: from what the models of an iteration learn: iterations, those before it, or observations,
        its own too, as in the authors' public code; where a fit is due it is then made after every
        one (repeats that are averaged are one).
    between_fits: keep the fitted values, or forget them, as the authors' public code does.
    mean: the prior mean of fitted models: zero, or constant, fitted with the kernel.
    scale: what Adam steps in: logarithm of the parameters, or softplus, numbers whose softplus they
        are.
    steps: Adam's steps of a fit (jing2026lcbo, the authors' public code).
    rate: the length of Adam's first step, in units of `scale` (the same).
    """

    every: int
    learn: str
    between_fits: str
    mean: str
    scale: str
    steps: int
    rate: float


class LCBO(Optimizer):
    """Learns the gradients at its iterate from evaluations around it, then steps down the penalised
    posterior mean (Alg. 1).

    Use it for tens to a hundred variables under constraints and about a thousand evaluations. The
    prior means of known kernels count in raw units only. `memory_per_dim` is N_m/d (Table 1).
    `repeated` says whether repeated evaluations are data like any other or are averaged into one.
    `constraints` are inequalities g <= 0 or equalities g = 0.
    """

    domains = (Box,)
    domain: Box
    constrained = True

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        surrogate: OutputSettings,
        fit: UpdateSettings,
        memory_per_dim: float,
        repeated: str,
        batch: BatchSettings,
        acquisition: AcquisitionSettings,
        climb: DescentSettings,
        step: StepSettings,
        penalty: PenaltySettings,
        constraints: str,
    ) -> None:
        super().__init__(domain, rng)
        sizes = batch.sizes(domain.d)
        counts = {"memory_per_dim": memory_per_dim, "repeats + exploration": sum(sizes)}
        for what, value in counts.items():
            if not value > 0:
                raise ValueError(f"{what}: expected a positive number, got {value}")
        self.surrogate = surrogate
        self.memory = memory_per_dim * domain.d
        self.averaged = chosen(REPEATED, repeated, "repeated")
        self.schedule, self.sizes = chosen(SCHEDULES, batch.schedule, "schedule"), sizes
        self.joint = chosen(SELECTIONS, acquisition.selection, "selection")
        self.counts_repeats = chosen(CONDITIONS, acquisition.condition, "condition")
        self.prior_share = chosen(MEASURES, acquisition.measure, "measure")
        self.temperature, self.delta = acquisition.temperature, acquisition.delta
        self.climb = climb
        self.violation = chosen(CONSTRAINTS, constraints, "constraints")
        self.direction = chosen(DIRECTIONS, step.direction, "direction")
        self.step, self.penalty = step, penalty
        scale = chosen(SCALES, fit.scale, "scale")
        self.fit_every, self.method = fit.every, fitting.Adam(fit.rate, fit.steps, scale)
        self.forgets = chosen(BETWEEN_FITS, fit.between_fits, "between_fits")
        self.fits_mean = chosen(MEANS, fit.mean, "mean")
        self.advance = chosen(LEARNS, fit.learn, "learn")
        one_by_one = not self.joint and self.counts_repeats and batch.repeats
        if fit.learn == OBSERVATIONS and not one_by_one:
            raise ValueError(
                "learn: expected iterations where the points of an iteration are planned together,"
                " got observations: set selection to greedy, condition to data-and-repeats and"
                " repeats to 1 or more"
            )
        self.k = 0
        self.iterate: Array = np.empty(domain.d)
        self.plan: Array = np.empty((0, domain.d))
        self.repeats = 0  # the first rows of the plan
        self.began = 0  # evaluations before this plan
        self.records: Indices = np.empty(0, dtype=np.int64)  # the first evaluation of each datum
        self.kernels = Kernels(np.empty((0, domain.d)), np.empty(0), np.empty(0))
        self.means: Array = np.empty(0)  # prior means in the units of the models
        self.noises: Array = np.empty(0)  # of the likelihoods, in squared units of observations
        self.trace = self.slope = 0.0

    def ask(self, room: int, pending: Array) -> Array:
        """What is left of Z_1, else of Z_2; a uniform query while there are no data."""
        if self.k == 0:
            return self.rng.random((1, self.domain.d))
        done = len(self.y) - self.began
        end = self.repeats if done < self.repeats else len(self.plan)
        return self.plan[done : min(end, done + room)].copy()

    def tell(self, query: Array, obs: Observation) -> None:
        """Line 8 of Algorithm 1; once all that was planned is observed, go on."""
        told = len(self.y)
        super().tell(query, obs)
        new = np.arange(told, len(self.y))
        merged = self.averaged & (new > self.began) & (new < self.began + self.repeats)
        self.records = np.concatenate([self.records, new[~merged]])
        if len(self.y) >= self.began + len(self.plan):
            self.advance(self)

    def algorithm_1(self) -> None:
        """Algorithm 1 from one evaluation of Z, line 8, to the next: the end of iteration k, then
        the beginning of iteration k + 1.

        The first call knows the initial design alone and enters at line 2.
        """
        data = self._recent()  # l. 8: D_k
        design = Design.of(self.kernels, data.X)
        if self.k == 0:
            self.iterate = self._best()  # l. 2: x_1
        else:  # l. 9: local exploitation
            gradient = self._gradient(design, data)  # l. 10
            self.iterate = self._projected(gradient)  # l. 11
        self.k += 1  # l. 3
        if self._fit(data):  # App. D
            design = Design.of(self.kernels, data.X)
        b1, b2 = self.schedule(self.k, *self.sizes)  # l. 4: local exploration
        Z1 = np.tile(self.iterate, (b1, 1))  # l. 5
        Z2, trace = self._most_informative(self._information(design, Z1), b2)  # l. 6
        self._begin(np.vstack([Z1, Z2]), b1, trace)  # l. 7

    def public_code(self) -> None:
        """The authors' public code in place of Algorithm 1: it learns every observation before the
        next query.

        A call follows Z_1, and another one each point of Z_2.
        """
        data = self._recent()
        if self.k > 0:
            self._fit(data)
        design = Design.of(self.kernels, data.X)
        if self.k > 0 and len(self.plan) < sum(self.schedule(self.k, *self.sizes)):
            z, self.trace = self._most_informative(design.at(self.iterate), 1)
            self.plan = np.vstack([self.plan, z])
            return
        if self.k == 0:
            self.iterate = self._best()
        else:
            self.iterate = self._projected(self._gradient(design, data))
        self.k += 1
        b1, _ = self.schedule(self.k, *self.sizes)
        Z1 = np.tile(self.iterate, (b1, 1))
        self._begin(Z1, b1, float(self._information(design, Z1).trace.max()))

    def recommend(self) -> Array:
        """The best observed feasible query; if none is, the one with the least violation."""
        return self._best()[None]

    def report(self) -> dict[str, float]:
        """Role and iteration of the next query, rho_k, eq. (12) at what is planned of Z_2, and the
        length of the last gradient, then length-scales, noise and feasible share.
        """
        role = REPEAT if len(self.y) - self.began < self.repeats else EXPLORATION
        models = (
            diagnostics(list(self.kernels.lengthscale), list(self.noises), self.g) if self.k else {}
        )
        return {
            "role": role if self.k else INITIAL,
            "iteration": self.k,
            "penalty": self._rho,
            "trace": self.trace,
            "slope": self.slope,
            **models,
        }

    def _begin(self, plan: Array, repeats: int, trace: float) -> None:
        """Hand out a plan from now on, whose first rows are repeats at the iterate."""
        self.plan, self.repeats, self.trace = plan, repeats, trace
        self.began = len(self.y)

    def _information(self, design: Design, Z1: Array) -> GradientInformation:
        """What eq. (13) conditions on: D_{k-1}, whose window of N_m loses nothing to the plan.

        The authors' public code adds Z_1.
        """
        information = design.at(self.iterate)
        if not self.counts_repeats:  # REFERENCE CODE: eq. (13) has D_{k-1} and Z_2 alone
            return information
        return information.extend(Z1[:1] if self.averaged else Z1)

    def _most_informative(self, information: GradientInformation, b: int) -> tuple[Array, float]:
        """The b points (b, d) near the iterate that minimise eq. (12), and what it is there."""
        batches = [np.empty((0, self.domain.d))]
        for size in [b] if self.joint else [1] * b:
            batches.append(self._minimiser(information, size))
            information = information.extend(batches[-1])
        return np.vstack(batches), float(information.trace.max())

    def _minimiser(self, information: GradientInformation, b: int) -> Array:
        """One batch (b, d) of eq. (12), its maximum smoothed, by Adam from several starts."""
        low, high = np.clip([self.iterate - self.delta, self.iterate + self.delta], 0.0, 1.0)
        starts = self.rng.uniform(low, high, (self.climb.starts, b, self.domain.d))
        starts[0, :1] = self.iterate
        trace = information.trace - self.prior_share * self.kernels.slope_variance

        def alpha(Z: Array) -> tuple[Array, Array]:
            reduction, slopes = information.reduction(Z)
            value, weights = smooth_maximum(trace[:, None] - reduction, self.temperature)
            return value, -np.einsum("ms,msbd->sbd", weights, slopes)

        ends = ascend(
            lambda Z: -alpha(Z)[1],
            starts,
            steps=self.climb.steps,
            rate=self.climb.rate,
            low=low,
            high=high,
        )
        return ends[np.argmin(alpha(ends)[0])]

    def _gradient(self, design: Design, data: Recent) -> Array:
        """Eq. (14) at the iterate, (d,)."""
        means, slopes = design.at(self.iterate).means(data.values - self.means)
        violation = self.violation(means - (data.zeros - self.means))[1:]
        gradient = self._rho * violation @ slopes[1:] - slopes[0]
        self.slope = float(np.linalg.norm(gradient))
        return gradient

    def _projected(self, gradient: Array) -> Array:
        """x_{k+1} = P(x_k - eta_k gradient), where P keeps to the cube."""
        eta = self.step.length * self.k**self.step.power
        return np.clip(self.iterate - eta * self.direction(gradient), 0.0, 1.0)

    @property
    def _rho(self) -> float:
        return float(self.penalty.factor * max(self.k, 1) ** self.penalty.power)

    def _best(self) -> Array:
        """The best feasible point so far; if none is, the one with the least sum of violations."""
        return self.x[best(self.y, np.abs(self.violation(self.g)))]

    def _recent(self) -> Recent:
        """The N_m most recent data in the units of the models, whose noise they set."""
        if self.k == 0:
            self.kernels, self.means = self._first_models()
        rows = self.records[floor(max(0.0, len(self.records) - self.memory)) :]
        totals = np.add.reduceat(np.column_stack([self.y, self.g]), rows)
        values = totals / np.diff(rows, append=len(self.y))[:, None]
        units = [self.surrogate.units(column) for column in values.T]
        centres = np.array([unit.centre for unit in units])
        spreads = np.array([unit.spread for unit in units])
        noise = np.array([self.surrogate.noise_in(unit) for unit in units])
        self.noises = noise * spreads**2
        self.kernels = replace(self.kernels, noise=noise)
        return Recent(self.x[rows], (values - centres) / spreads, -centres / spreads)

    def _first_models(self) -> tuple[Kernels, Array]:
        """Kernels without noise, and prior means (M,): the known ones, or those before a fit."""
        surrogate, M, d = self.surrogate, 1 + self.g.shape[1], self.domain.d
        if not surrogate.known:
            lengthscales = np.full((M, d), surrogate.lengthscale[-1])
            outputscales = np.full(M, surrogate.outputscale[-1])
            return Kernels(lengthscales, outputscales, np.empty(M)), np.zeros(M)
        known = surrogate.kernels_for(M)
        lengthscales = np.array(
            [np.broadcast_to(np.asarray(k["lengthscale"], dtype=np.float64), d) for k in known]
        )
        outputscales = np.array([k["outputscale"] for k in known], dtype=np.float64)
        means = [k["mean"] if surrogate.has_means else 0.0 for k in known]
        return Kernels(lengthscales, outputscales, np.empty(M)), np.array(means, dtype=np.float64)

    def _fit(self, data: Recent) -> bool:
        """Fit after every `fit_every` iterations, and say whether kernels may have changed."""
        if self.surrogate.known:
            return False
        noise = self.kernels.noise
        if self.forgets:
            first, self.means = self._first_models()
            self.kernels = replace(first, noise=noise)
        if self.k == 1 or (self.k - 1) % self.fit_every:
            return self.forgets
        X, scales = torch.from_numpy(data.X), []
        for i, values in enumerate(data.values.T):
            start = isotropic(
                lengthscale=self.kernels.lengthscale[i, 0],
                outputscale=self.kernels.outputscale[i],
                noise=noise[i],
                gamma=self.surrogate.lengthscale[:2],
                normal=self.surrogate.outputscale[:2],
                mean=self.means[i] if self.fits_mean else None,
            )
            model = fitting.fit(start, X, torch.from_numpy(values), self.method, self.rng)
            kernel, mean = model.kernel, model.mean(X[:1])
            scales.append(
                (kernel.base_kernel.lengthscale.item(), kernel.outputscale.item(), mean.item())
            )
        lengthscales, outputscales, self.means = np.array(scales).T
        lengthscales = np.tile(lengthscales[:, None], (1, self.domain.d))
        self.kernels = Kernels(lengthscales, outputscales, noise)
        return True


@dataclass(frozen=True, eq=False)
class Recent:
    """What the models learn from, each in its own units: n data of M functions."""

    X: Array  # (n, d)
    values: Array  # (n, M)
    zeros: Array  # (M,), where zero lies among them


def fixed(k: int, repeats: int, exploration: int) -> tuple[int, int]:
    """b^(1) and b^(2) that stay."""
    return repeats, exploration


def growing(k: int, repeats: int, exploration: int) -> tuple[int, int]:
    """App. B.1, where repeats = 1 and exploration = 5."""
    return floor(log(k + 1) + repeats), floor(0.5 * k + exploration)


def theory(k: int, repeats: int, exploration: int) -> tuple[int, int]:
    """Corollary 5.6, where repeats = 1 and exploration = d."""
    return k * repeats, k**2 * exploration


def smooth_maximum(values: Array, temperature: float) -> tuple[Array, Array]:
    """t ln sum_i exp(v_i / t) over rows of values (M, s), (s,), and its derivatives (M, s)."""
    largest = values.max(0)
    weights = np.exp((values - largest) / temperature)
    total = weights.sum(0)
    return largest + temperature * np.log(total), weights / total


def positive(g: Array) -> Array:
    """What violates g <= 0."""
    return np.maximum(g, 0.0)


def itself(g: Array) -> Array:
    """What violates g = 0."""
    return g


def normalised(gradient: Array) -> Array:
    """Its direction; zeros where it has none."""
    norm = np.linalg.norm(gradient)
    return gradient / norm if norm > FLAT else np.zeros_like(gradient)


SCHEDULES = {"fixed": fixed, "growing": growing, "theory": theory}
CONSTRAINTS = {"inequality": positive, "equality": itself}
DIRECTIONS = {"normalised": normalised, "plain": itself}
# share of the prior trace that is left out
MEASURES = {"posterior-trace": 0.0, "less-prior-trace": 1.0}
SELECTIONS = {"joint": True, "greedy": False}
REPEATED = {"separate": False, "averaged": True}
CONDITIONS = {"data": False, "data-and-repeats": True}
BETWEEN_FITS = {"keep": False, "forget": True}
# what goes on from one observation to the next query
LEARNS: dict[str, Callable[[LCBO], None]] = {
    "iterations": LCBO.algorithm_1,
    OBSERVATIONS: LCBO.public_code,
}
MEANS = {"zero": False, "constant": True}  # whether the prior mean is fitted
SCALES = {"logarithm": fitting.LOGARITHM, "softplus": fitting.SOFTPLUS}
