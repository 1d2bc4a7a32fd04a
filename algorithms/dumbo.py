"""DuMBO: decentralised additive Bayesian optimization by message passing (bardou2024dumbo, Sec. 3
and 4, Alg. 1, App. B and C).

Several decompositions are sampled, and the factors of all of them stacked in one graph whose
variable nodes make them agree on a query. ADD-DuMBO is the same class given the decomposition and
the observed outputs of its factors (App. C). The query is planned in `tell`, so that `report` can
say how well the factors agreed on it; `ask` hands it out.

Paper -> here:  A_1, ..., A_k -> models, phi^(i) -> Local,  c_i -> others,  lambda -> dual,
x-bar -> centre, eta -> penalty,  beta_t^(1/2) -> width
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from algorithms.api import Array, Box, Indices, Observation, Optimizer
from algorithms.parts.additive_process import (
    GRAMS,
    Bucket,
    Distances,
    Factors,
    Fit,
    Scales,
    Solved,
)
from algorithms.parts.choice import chosen
from algorithms.parts.decomposition import Decomposition, check
from algorithms.parts.exploration import Width
from algorithms.parts.factor_graph import FactorGraph
from algorithms.parts.interactions import Chain, Fits, Model, Partitions, random_models
from algorithms.parts.sampling import sobol
from algorithms.parts.steps import Adam
from algorithms.parts.transforms import ROUNDING, Units, sample

MCMC, RANDOM = "mcmc", "random"
NEIGHBOURS = {"stacked": False, "per-decomposition": True}
EXPLORATIONS = {"frozen": False, "complete": True}
OUTPUTS = {"sum": False, "factors": True}
RESIDUALS = {"edges": False, "variables": True}


@dataclass(frozen=True)
class Ascent:
    """How a factor looks for its candidate (15) from several starts.

    raw: Sobol points that are scored where a factor starts afresh.
    starts: how many of them are climbed from in the first round.
    fresh: how many in later ones, beside the last candidate.
    pick: which of them: the "best", or "boltzmann", a draw without replacement by exp(z) of their
        values' z-scores, with the best among them (balandat2020botorch, eta = 1).
    method: "adam" (kingma2015adam), or "l-bfgs" of SciPy, one climb over the sum of all starts as
        in balandat2020botorch, here of all factors of one size.
    steps: of every climb: Adam's exactly, each one evaluation of the gradient, or L-BFGS's at most.
    rate: Adam's, in units of the box; read by no other.

    Alg. 1 l. 13 says "by gradient ascent (e.g. with ADAM)" alone. The public code has 512 points,
    20 starts and 1, boltzmann and l-bfgs.
    """

    raw: int
    starts: int
    fresh: int
    pick: str
    method: str
    steps: int
    rate: float

    def __post_init__(self) -> None:
        if not (self.raw >= 1 and self.starts >= 1 and self.fresh >= 0):
            raise ValueError(
                "expected raw and starts of at least 1 and fresh >= 0, got"
                f" {self.raw}, {self.starts} and {self.fresh}"
            )
        chosen(PICKS, self.pick, "pick")
        chosen(CLIMBS, self.method, "method")


@dataclass(frozen=True)
class ADMM:
    """When the factors have agreed (Alg. 1; boyd2011admm).

    rounds: of candidates, averages and dual steps at most.
    tolerance: the largest |x^(i) - x-bar| that counts as agreement, in units of the box.
    penalty: the first eta, in standardised units of y; later ones follow the residuals
        (boyd2011admm, Sec. 3.4.1).
    dual_residual: over what the norm of eta times the last move of x-bar is taken: over the
        "edges" of the graph, where every copy of a variable counts (boyd2011admm, Sec. 7.1), or
        over the "variables", as in the public code.

    The paper leaves all four open; the values of the public code are 10, 0.05, 1 and variables.
    """

    rounds: int
    tolerance: float
    penalty: float
    dual_residual: str

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds: expected at least 1, got {self.rounds}")
        chosen(RESIDUALS, self.dual_residual, "dual_residual")


@dataclass(frozen=True)
class Search:
    """How a factor looks for its candidate, when the factors have agreed, and what they count."""

    climb: Ascent
    admm: ADMM
    complete: bool  # whether a factor counts its variance in its neighbours' terms, too
    floor: float  # of a posterior variance


@dataclass(frozen=True, eq=False)
class Agreement:
    """What the factors agreed on: x-bar (d,), the largest |x^(i) - x-bar|,
    rounds and the last eta.
    """

    x: Array
    residual: float
    rounds: int
    penalty: float


class DuMBO(Optimizer):
    """Queries where ADMM takes the factors of an additive upper confidence bound, eqs. (8) and (9).

    `decomposition` is the known one, or `mcmc` or `random` to sample as many as `partitions` says;
    `outputs` says whether factors are learnt from their sum or each from its own observed outputs.
    `neighbours` are counted in the graph of all sampled decompositions (stacked) or within each of
    them. `gram` says how factors are predicted: with the fitted noise (noisy), without any
    (noise-free), or by the plain inverse of the public code (inverse). `exploration` says whether a
    factor counts its variance in its own root of (8) alone (frozen, Alg. 1 l. 11 and 13) or in all
    that hold it. `floor` is the least posterior variance, in standardised units.
    """

    domains = (Box,)
    domain: Box

    def __init__(
        self,
        domain: Box,
        rng: np.random.Generator,
        *,
        decomposition: str | Sequence[Sequence[int]],
        outputs: str,
        partitions: Partitions,
        neighbours: str,
        gram: str,
        floor: float,
        exploration: str,
        width: Width,
        climb: Ascent,
        admm: ADMM,
        surrogate: Scales,
        fit: Fit,
    ) -> None:
        super().__init__(domain, rng)
        if not floor > 0:
            raise ValueError(f"floor: expected a variance above 0, got {floor}")
        self.sampled = decomposition if isinstance(decomposition, str) else ""
        if self.sampled:
            chosen({MCMC: True, RANDOM: True}, self.sampled, "decomposition")
        self.known: Decomposition = ()
        if not isinstance(decomposition, str):
            # in the order of their outputs
            self.known = tuple(tuple(int(j) for j in factor) for factor in decomposition)
            check(self.known, domain.d)
        self.observed = chosen(OUTPUTS, outputs, "outputs")
        if self.observed and self.sampled:
            raise ValueError(
                f"outputs: expected sum where the decomposition is {self.sampled}, got {outputs}"
            )
        self.partitions = partitions
        self.separate = chosen(NEIGHBOURS, neighbours, "neighbours")
        self.gram = chosen(GRAMS, gram, "gram")
        self.width = width
        complete = chosen(EXPLORATIONS, exploration, "exploration")
        self.search = Search(climb, admm, complete, floor)
        self.fits = Fits(surrogate, fit, partitions.fit_start)
        self.chain: Chain | None = None
        if self.sampled == MCMC:
            self.chain = partitions.chain(domain.d, rng, surrogate, fit)
        self.solved: tuple[
            Solved, ...
        ] = ()  # of the known decomposition: one model, or one for each observed factor
        self.plan: Array = np.empty((0, domain.d))
        self.diagnostics: dict[str, float] = {}

    def ask(self, room: int, pending: Array) -> Array:
        """Where the factors agreed; uniform while there are no data."""
        return self.plan.copy() if len(self.plan) else self.rng.random((1, self.domain.d))

    def tell(self, query: Array, obs: Observation) -> None:
        """Fit, sample decompositions, and make their factors agree on the next query."""
        super().tell(query, obs)
        distances, y = Distances(self.x), sample(self.y)(self.y)
        models = self._models(distances, y)
        factors = Factors.of(models, self.x)
        blocks = factors.model if self.separate and self.sampled else np.zeros_like(factors.model)
        graph = FactorGraph.of_blocks(factors.factors, self.domain.d, blocks)
        width = sqrt(self.width.beta(len(self.y), self.domain.d))
        agreement = agree(factors, graph, width, self.rng, self.search)
        self.plan = agreement.x[None]
        self.diagnostics = self._diagnosed(
            factors, graph, agreement, len(models) if self.sampled else 1
        )

    def report(self) -> dict[str, float]:
        """How the factors agreed on the next query, and how much exploration stands there under
        three rules.
        """
        return dict(self.diagnostics)

    def _models(self, distances: Distances, y: Array) -> list[Model]:
        """The decompositions and the models of standardised values y (n,) that predict by them."""
        if not self.sampled and self.observed:
            return self._models_of_outputs(distances)
        return [
            (own, self.gram(distances, own, solved, y))
            for own, solved in self._fitted(distances, y)
        ]

    def _fitted(self, distances: Distances, y: Array) -> list[Model]:
        """The decompositions and their fitted models of standardised values y (n,)."""
        if self.chain is not None:
            found, self.chain = self.chain.sample(
                distances, y, self.rng, count=self.partitions.models
            )
            return found
        if self.sampled:
            return random_models(
                distances,
                y,
                self.rng,
                self.fits,
                d=self.domain.d,
                largest=self.partitions.largest_factor,
                count=self.partitions.models,
            )
        self.solved = (self._refitted(distances, self.known, y, 0),)
        return [(self.known, self.solved[0])]

    def _models_of_outputs(self, distances: Distances) -> list[Model]:
        """One model for each factor, fitted to its own outputs in units of its own, eqs.

        (23) and (24).
        """
        if self.factor_values.shape[1] != len(self.known):
            raise ValueError(
                f"expected the outputs of {len(self.known)} factors, got"
                f" {self.factor_values.shape[1]}: choose outputs: sum, or a problem that shows its"
                " factors"
            )
        whole = sample(self.y)
        units = [_units(column, whole) for column in self.factor_values.T]
        outputs = [unit(column) for unit, column in zip(units, self.factor_values.T, strict=True)]
        self.solved = tuple(
            self._refitted(distances, (factor,), y, i)
            for i, (factor, y) in enumerate(zip(self.known, outputs, strict=True))
        )
        ratios = [unit.spread / whole.spread for unit in units]
        return [
            ((factor,), self.gram(distances, (factor,), solved, y).in_units(ratio))
            for factor, solved, y, ratio in zip(
                self.known, self.solved, outputs, ratios, strict=True
            )
        ]

    def _refitted(
        self, distances: Distances, factors: Sequence[tuple[int, ...]], y: Array, i: int
    ) -> Solved:
        """Model i of the known decomposition given y (n,) now."""
        if not self.solved:
            return self.fits.anew(distances, factors, y)
        return self.fits.again(distances, factors, y, self.solved[i].kernel)

    def _diagnosed(
        self, factors: Factors, graph: FactorGraph, agreement: Agreement, models: int
    ) -> dict[str, float]:
        variance = np.maximum(factors.moments(agreement.x)[1], self.search.floor)
        joint = [
            max(float(covariance.sum()), self.search.floor)
            for covariance in factors.covariances(agreement.x)
        ]
        deviation = sqrt(sum(joint)) if self.observed else sum(map(sqrt, joint)) / models
        messages = graph.messages
        return {
            "factors": len(graph.factors) / models,
            "largest_factor": max(map(len, graph.factors)),
            "neighbours": float(graph.sizes.mean()),
            "messages": messages.to_variables + messages.to_factors,  # in every round
            "residual": agreement.residual,
            "rounds": agreement.rounds,
            "penalty": agreement.penalty,
            "exploration": float(graph.exploration(variance)) / models,
            "sum_of_deviations": float(np.sqrt(variance).sum()) / models,
            "deviation": deviation,
        }


def _units(column: Array, whole: Units) -> Units:
    """The units of a factor's outputs (n,); as large as those of the sum where they do not vary."""
    own = sample(column)
    return (
        own
        if np.ptp(column) > ROUNDING * np.abs(column).max()
        else replace(own, spread=whole.spread)
    )


def agree(
    factors: Factors, graph: FactorGraph, width: float, rng: np.random.Generator, search: Search
) -> Agreement:
    """Algorithm 1, lines 4 to 21: rounds of candidates, averages and dual steps until all
    candidates agree.
    """
    buckets = factors.buckets()
    edges = [_edges(graph, bucket) for bucket in buckets]
    x, dual = np.empty(len(graph.edges)), np.zeros(len(graph.edges))  # on the edges: line 4
    variance = np.zeros(len(factors.factors))
    others, counted = _shared(graph, variance, search.complete)
    centre, penalty, residual = np.empty(graph.d), 0.0, np.inf
    for k in range(search.admm.rounds):
        for bucket, on in zip(buckets, edges, strict=True):
            local = Local(
                bucket,
                1.0 / graph.sizes[bucket.index],
                width,
                others[bucket.index],
                counted[bucket.index],
                dual[on],
                graph.spread(centre)[on] if k else np.zeros(on.shape),
                penalty,
                search.floor,
            )
            # l. 13
            x[on] = local.maximum(
                x[on][:, None, :] if k else np.empty((len(on), 0, on.shape[1])), rng, search.climb
            )
            variance[bucket.index] = np.maximum(bucket(x[on][:, None, :])[1][:, 0], search.floor)
        before, centre = centre, graph.consensus(x)  # l. 17, eq. (16)
        gap = x - graph.spread(centre)
        residual = float(np.abs(gap).max())
        if residual < search.admm.tolerance:
            break
        others, counted = _shared(graph, variance, search.complete)  # l. 11
        if k == 0:
            penalty = search.admm.penalty
        dual += penalty * gap  # l. 10, eq. (17)
        if k:
            move = centre - before
            copies = move if RESIDUALS[search.admm.dual_residual] else graph.spread(move)
            penalty *= _balance(gap, penalty * copies)
    return Agreement(centre, residual, k + 1, penalty)


def _edges(graph: FactorGraph, bucket: Bucket) -> Indices:
    """The edges of each factor of a bucket, (G, m)."""
    first = np.searchsorted(graph.edges[:, 0], bucket.index)
    return first[:, None] + np.arange(bucket.variables.shape[1])


def _shared(graph: FactorGraph, variance: Array, complete: bool) -> tuple[Array, NDArray[np.bool_]]:
    """What stands beside a factor's own term under each root that it counts, (F, M), and which of
    them there are.

    Frozen: its own root, c_i of eq. (9). Complete: those of all its neighbours, which hold its
        variance as well.
    """
    terms = graph.terms(variance)
    sums = graph.neighbour_sums(terms)
    if not complete:
        return sums[:, None], np.ones((len(terms), 1), dtype=bool)
    most = int(graph.sizes.max())
    heard = np.argsort(~graph.adjacency, axis=1, kind="stable")[:, :most]  # N_i first
    others = np.maximum((sums + terms)[heard] - terms[:, None], 0.0)
    return others, np.take_along_axis(graph.adjacency, heard, axis=1)


def _balance(primal: Array, dual: Array) -> float:
    """The factor by which eta changes to keep both residuals within a factor of ten (boyd2011admm,
    Sec. 3.4.1).
    """
    r, s = np.linalg.norm(primal), np.linalg.norm(dual)
    return 2.0 if r > 10 * s else 0.5 if s > 10 * r else 1.0


@dataclass(frozen=True, eq=False)
class Local:
    """The augmented Lagrangian (15) of every factor of a bucket, as a function of its own
    candidates (G, s, m).
    """

    bucket: Bucket
    shares: Array  # (G,): 1/|N_i|
    width: float
    others: Array  # (G, M)
    counted: NDArray[np.bool_]  # (G, M)
    dual: Array  # (G, m)
    centre: Array  # (G, m)
    penalty: float
    floor: float

    def __call__(self, u: Array) -> Array:
        """Values (G, s)."""
        mean, variance = self.bucket(u)
        return (
            mean
            + self.width * np.where(self.counted[:, None, :], self._roots(variance), 0.0).sum(2)
            - self._disagreement(u)
        )

    def slopes(self, u: Array) -> Array:
        """Gradients (G, s, m)."""
        return self.values_and_slopes(u)[1]

    def values_and_slopes(self, u: Array) -> tuple[Array, Array]:
        """Values (G, s), and gradients (G, s, m)."""
        mean, variance, over_mean, over_variance = self.bucket.slopes(u)
        roots = self._roots(variance)
        counted = self.counted[:, None, :]
        values = mean + self.width * np.where(counted, roots, 0.0).sum(2) - self._disagreement(u)
        steep = np.where(counted, 0.5 / roots, 0.0).sum(2)  # (G, s)
        steep *= self.width * (self.shares**2)[:, None] * (variance > self.floor)
        slope = over_mean + steep[:, :, None] * over_variance
        slope = slope - self.dual[:, None, :] - self.penalty * (u - self.centre[:, None, :])
        return values, slope

    def _roots(self, variance: Array) -> Array:
        """The roots of (8) that a factor counts (G, s, M), given its own variance (G, s)."""
        own = (self.shares**2)[:, None] * np.maximum(variance, self.floor)
        return np.sqrt(own[:, :, None] + self.others[:, None, :])

    def _disagreement(self, u: Array) -> Array:
        gap = u - self.centre[:, None, :]
        return (self.dual[:, None, :] * gap).sum(2) + self.penalty / 2 * (gap**2).sum(2)

    def maximum(self, last: Array, rng: np.random.Generator, climb: Ascent) -> Array:
        """The best candidates (G, m): climbs from the last ones (G, 0 or 1, m) and from the best of
        a Sobol sample.
        """
        G, _, m = last.shape
        fresh = climb.fresh if last.shape[1] else climb.starts
        starts = last
        if fresh:
            raw = np.broadcast_to(sobol(rng, climb.raw, m), (G, climb.raw, m))
            taken = PICKS[climb.pick](self(raw), fresh, rng)
            starts = np.concatenate(
                [last, np.take_along_axis(raw, taken[:, :, None], axis=1)], axis=1
            )
        u = CLIMBS[climb.method](self, starts, climb)
        # a fixed rate may overshoot: where it began counts, too
        ends = np.concatenate([starts, u], axis=1)
        return ends[np.arange(G), self(ends).argmax(1)]


def _best(values: Array, count: int, rng: np.random.Generator) -> Indices:
    """The `count` greatest of values (G, s), the greatest first, (G, count)."""
    return np.argsort(-values, axis=1, kind="stable")[:, :count]


def _boltzmann(values: Array, count: int, rng: np.random.Generator) -> Indices:
    """So many of values (G, s), drawn one after another by exp of their z-scores, (G, count); the
    last gives way to the greatest of all where that was not drawn.
    """
    spread = values.std(axis=1, ddof=1, keepdims=True)
    z = (values - values.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    # the largest of z + Gumbel noise are such a draw without replacement
    taken = np.argsort(-(z + rng.gumbel(size=z.shape)), axis=1, kind="stable")[:, :count]
    greatest = values.argmax(axis=1)
    missed = (taken != greatest[:, None]).all(axis=1)
    taken[missed, -1] = greatest[missed]
    return taken


def _by_adam(local: Local, starts: Array, climb: Ascent) -> Array:
    """Where Adam's steps end that begin at starts (G, s, m)."""
    u, adam = starts, Adam(climb.rate)
    for _ in range(climb.steps):
        u = np.clip(u + adam.step(local.slopes(u)), 0.0, 1.0)
    return u


def _by_lbfgs(local: Local, starts: Array, climb: Ascent) -> Array:
    """Where L-BFGS-B ends over the sum of all climbs that begin at starts (G, s, m)."""

    def loss(flat: Array) -> tuple[float, Array]:
        values, slopes = local.values_and_slopes(flat.reshape(starts.shape))
        return -float(values.sum()), -slopes.ravel()

    bounds = Bounds(np.zeros(starts.size), np.ones(starts.size))
    end = minimize(
        loss,
        starts.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": climb.steps},
    )
    return np.clip(end.x, 0.0, 1.0).reshape(starts.shape)


Pick = Callable[[Array, int, np.random.Generator], Indices]
PICKS: Mapping[str, Pick] = {"best": _best, "boltzmann": _boltzmann}
Climb = Callable[[Local, Array, Ascent], Array]
CLIMBS: Mapping[str, Climb] = {"adam": _by_adam, "l-bfgs": _by_lbfgs}
