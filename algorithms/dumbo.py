"""DuMBO: decentralised additive Bayesian optimization by message passing (bardou2024dumbo, Sec. 3
and 4, Alg. 1, App. B and C).

The page follows Algorithm 1: the loop over queries is `DuMBO.tell`, the loop over rounds `agree`,
the problem of one factor `Local`. A reading of the text that changes a step stands behind them, and
settings stand last. parts/search/multistart climbs as the text says, or as the public code does.

The factors of all sampled decompositions are stacked in one graph, whose variable nodes make them
agree on a query. ADD-DuMBO is the same class, given the decomposition and the observed outputs of
its factors (App. C).

Paper -> here:  A_1, ..., A_k -> models, phi^(i) -> Local,  c_i -> c,  lambda -> dual,
x-bar -> centre,  beta_t^(1/2) -> width
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from algorithms.api import Array, Box, Observation, Optimizer
from algorithms.parts.factors.additive_process import (
    GRAMS,
    Bucket,
    Distances,
    Factors,
    Fit,
    Scales,
    Solved,
)
from algorithms.parts.factors.decomposition import Decomposition, check
from algorithms.parts.factors.factor_graph import FactorGraph
from algorithms.parts.factors.interactions import Chain, Fits, Model, Partitions
from algorithms.parts.numerics.choice import chosen
from algorithms.parts.numerics.transforms import ROUNDING, Units, sample
from algorithms.parts.search.exploration import Width
from algorithms.parts.search.multistart import Ascent, maximise_all

MCMC, RANDOM = "mcmc", "random"
NEIGHBOURS = {"stacked": False, "per-decomposition": True}
EXPLORATIONS = {"frozen": False, "complete": True}
OUTPUTS = {"sum": False, "factors": True}


class DuMBO(Optimizer):
    """Queries where ADMM takes the factors of an additive upper confidence bound, eqs. (8) and (9).

    Use DuMBO for a hundred evaluations of tens of variables, if a query may take a second.

    `decomposition` is the known one, or `mcmc` or `random` to sample as many as `partitions` says.
    `outputs` says whether factors are learnt from their sum, or each from its own observed outputs.
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
        self.known: Decomposition = ()
        if isinstance(decomposition, str):
            chosen({MCMC: True, RANDOM: True}, decomposition, "decomposition")
        else:  # in the order of the outputs
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
            self.chain = Chain.begin(domain.d, rng, self.fits, partitions)
        # of the known decomposition: one model, or one for each observed factor
        self.solved: list[Solved | None] = [None] * (len(self.known) if self.observed else 1)
        self.plan: Array = np.empty((0, domain.d))
        self.diagnostics: dict[str, float] = {}

    def ask(self, room: int, pending: Array) -> Array:
        """The point that factors agreed on, or a uniform one while there are no data."""
        return self.plan.copy() if len(self.plan) else self.rng.random((1, self.domain.d))

    def tell(self, query: Array, obs: Observation) -> None:
        """Learn what was observed (Alg. 1 l. 22), fit, and let factors agree on the next query.

        The query is planned here and not in `ask`, so that `report` can say how far factors agreed.
        """
        super().tell(query, obs)
        distances, y = Distances(self.x), sample(self.y)(self.y)
        models = self._models(distances, y)
        factors = Factors.of(models, self.x)
        blocks = factors.model if self.separate and self.sampled else None
        graph = FactorGraph.of(factors.factors, self.domain.d, blocks)
        width = sqrt(self.width.beta(len(self.y), self.domain.d))
        agreement = agree(factors, graph, width, self.rng, self.search)  # l. 4 to 21
        self.plan = agreement.x[None]
        self.diagnostics = self._diagnosed(
            factors, graph, agreement, len(models) if self.sampled else 1
        )

    def report(self) -> dict[str, float]:
        """How factors agreed on the next query, and how much three rules would explore there."""
        return dict(self.diagnostics)

    def _models(self, distances: Distances, y: Array) -> list[Model]:
        """The decompositions, and models that predict standardised values y (n,) by them."""
        if self.observed:
            return self._models_of_outputs(distances)  # App. C
        return [
            (own, self.gram(distances, own, solved, y))  # eqs. (4) and (5)
            for own, solved in self._fitted(distances, y)
        ]

    def _fitted(self, distances: Distances, y: Array) -> list[Model]:
        """The decompositions and their fitted models of standardised values y (n,)."""
        if self.chain is not None:  # App. B
            models, self.chain = self.chain.sample(
                distances, y, self.rng, count=self.partitions.models
            )
            return models
        if self.sampled:
            drawn = self.partitions.drawn(self.domain.d, self.rng)
            return [(own, self.fits.anew(distances, own, y)) for own in drawn]
        solved = self.fits.now(distances, self.known, y, self.solved[0])
        self.solved = [solved]
        return [(self.known, solved)]

    def _models_of_outputs(self, distances: Distances) -> list[Model]:
        """Each factor's model of its own outputs, in units of y: eqs. (23) and (24)."""
        if self.factor_values.shape[1] != len(self.known):
            raise ValueError(
                f"expected the outputs of {len(self.known)} factors, got"
                f" {self.factor_values.shape[1]}: choose outputs: sum, or a problem that shows its"
                " factors"
            )
        whole, models = sample(self.y), list[Model]()
        for i, (factor, column) in enumerate(zip(self.known, self.factor_values.T, strict=True)):
            units = _units(column, whole)
            y = units(column)
            solved = self.fits.now(distances, (factor,), y, self.solved[i])
            self.solved[i] = solved
            predicting = self.gram(distances, (factor,), solved, y)
            models.append(((factor,), predicting.in_units(units.spread / whole.spread)))
        return models

    def _diagnosed(
        self, factors: Factors, graph: FactorGraph, agreement: Agreement, models: int
    ) -> dict[str, float]:
        """What `report` says; exploration is that of one decomposition in the mean."""
        variance = np.maximum(factors.moments(agreement.x)[1], self.search.floor)
        joint = [
            max(float(covariance.sum()), self.search.floor)
            for covariance in factors.covariances(agreement.x)
        ]
        deviation = sqrt(sum(joint)) if self.observed else sum(map(sqrt, joint)) / models
        return {
            "factors": len(graph.factors) / models,
            "largest_factor": max(map(len, graph.factors)),
            "neighbours": float(graph.sizes.mean()),
            "messages": 2 * len(graph.edges),  # in every round, up (l. 14) and down (l. 18)
            "residual": agreement.residual,
            "rounds": agreement.rounds,
            "penalty": agreement.penalty,
            "exploration": float(graph.exploration(variance)) / models,
            "sum_of_deviations": float(np.sqrt(variance).sum()) / models,
            "deviation": deviation,
        }


def _units(column: Array, whole: Units) -> Units:
    """The units of a factor's outputs (n,), with the spread of the sum if outputs do not vary."""
    own = sample(column)
    varies = np.ptp(column) > ROUNDING * np.abs(column).max()
    return own if varies else replace(own, spread=whole.spread)


@dataclass(frozen=True, eq=False)
class Agreement:
    """What factors agreed on: x-bar (d,), the largest |x^(i) - x-bar|, rounds, and the last eta."""

    x: Array
    residual: float
    rounds: int
    penalty: float


def agree(
    factors: Factors, graph: FactorGraph, width: float, rng: np.random.Generator, search: Search
) -> Agreement:
    """Algorithm 1, lines 4 to 21: rounds of messages until all factors propose the same point."""
    admm, kind = search.admm, Complete if search.complete else Local
    buckets = factors.buckets()
    edges = [graph.edges_of(bucket.index) for bucket in buckets]
    x, variance = np.empty(len(graph.edges)), np.zeros(len(factors.factors))
    dual, step, copies = np.zeros((3, len(graph.edges)))  # l. 4
    centre, eta = np.zeros(graph.d), 0.0  # the first round has no x-bar to keep to
    for k in range(admm.rounds):  # l. 6, 7 and 20
        dual += step  # l. 9 and 10, eq. (17)
        c = kind.heard(graph, graph.terms(variance))  # l. 9 and 11
        for bucket, on in zip(buckets, edges, strict=True):  # l. 8, all factors of one size at once
            i = bucket.index
            local = kind(  # eq. (15)
                bucket, 1.0 / graph.sizes[i], width, c[i], dual[on], copies[on], eta, search.floor
            )
            last = x[on][:, None, :][:, :k]  # (G, 1, m), in the first round (G, 0, m)
            x[on] = local.maximum(last, rng, search.climb)  # l. 13; climbs draw x_0 of l. 5
            variance[i] = np.maximum(bucket(x[on][:, None, :])[1][:, 0], search.floor)  # l. 14
        before, centre = centre, graph.consensus(x)  # l. 17, eq. (16)
        copies = graph.spread(centre)  # l. 18
        gap = x - copies
        residual = float(np.abs(gap).max())
        if residual < admm.tolerance:  # l. 7
            break
        eta = eta if k > 0 else admm.penalty
        step = eta * gap  # l. 10 of the next round takes the eta of this one
        if k > 0:
            eta *= _balance(gap, eta * RESIDUALS[admm.dual_residual](graph, centre - before))
    return Agreement(centre, residual, k + 1, eta)


def _balance(primal: Array, dual: Array) -> float:
    """The factor by which eta changes, to balance both residuals (boyd2011admm, Sec. 3.4.1)."""
    r, s = np.linalg.norm(primal), np.linalg.norm(dual)
    return 2.0 if r > 10 * s else 0.5 if s > 10 * r else 1.0


@dataclass(frozen=True, eq=False)
class Local:
    """The augmented Lagrangian (15) of G factors, each a function of its own candidates (G, s, m).

    `agree` uses `Local` where a factor counts its variance as in (9), with c_i held fixed.
    """

    bucket: Bucket
    shares: Array  # (G,): 1/|N_i|
    width: float
    c: Array  # (G,)
    dual: Array  # (G, m)
    centre: Array  # (G, m)
    eta: float
    floor: float  # of a posterior variance

    @staticmethod
    def heard(graph: FactorGraph, terms: Array) -> Array:
        """c_i of all factors (F,), from the terms (F,) that all of them sent."""
        return graph.neighbour_sums(terms)  # Alg. 1 l. 11

    def __call__(self, u: Array) -> Array:
        """Values (G, s)."""
        mean, variance = self.bucket(u)
        return mean + self.width * self._explored(variance)[0] - self._disagreement(u)

    def slopes(self, u: Array) -> tuple[Array, Array]:
        """Values (G, s), and gradients (G, s, m)."""
        mean, variance, over_mean, over_variance = self.bucket.slopes(u)
        explored, steep = self._explored(variance)
        values = mean + self.width * explored - self._disagreement(u)
        steep *= self.width * (self.shares**2)[:, None] * (variance > self.floor)
        slope = over_mean + steep[:, :, None] * over_variance
        slope = slope - self.dual[:, None, :] - self.eta * (u - self.centre[:, None, :])
        return values, slope

    def maximum(self, last: Array, rng: np.random.Generator, climb: Ascent) -> Array:
        """The best candidates (G, m) found, given the last ones (G, 0 or 1, m)."""
        return maximise_all(self, last, rng, climb)

    def _explored(self, variance: Array) -> tuple[Array, Array]:
        """The root in (9) given a factor's variance (G, s), and its derivative over `_term`."""
        root = np.sqrt(self._term(variance) + self.c[:, None])
        return root, 0.5 / root

    def _term(self, variance: Array) -> Array:
        """sigma_i^2 / |N_i|^2 (G, s)."""
        return (self.shares**2)[:, None] * np.maximum(variance, self.floor)

    def _disagreement(self, u: Array) -> Array:
        gap = u - self.centre[:, None, :]
        return (self.dual[:, None, :] * gap).sum(2) + self.eta / 2 * (gap**2).sum(2)


class Complete(Local):
    """(15) where a factor counts its variance in every root of (8) that holds it.

    `agree` uses `Complete` for `exploration: complete`. c is (G, M), with inf where a factor has
    fewer than M neighbours.
    """

    @staticmethod
    def heard(graph: FactorGraph, terms: Array) -> Array:
        """What stands beside each factor's term under the roots of its neighbours, (F, M)."""
        sums = graph.neighbour_sums(terms)
        # N_i first
        order = np.argsort(~graph.adjacency, axis=1, kind="stable")[:, : graph.sizes.max()]
        others = np.maximum((sums + terms)[order] - terms[:, None], 0.0)
        return np.where(np.take_along_axis(graph.adjacency, order, axis=1), others, np.inf)

    def _explored(self, variance: Array) -> tuple[Array, Array]:
        c = self.c[:, None, :]
        roots = np.sqrt(self._term(variance)[:, :, None] + c)
        return np.where(np.isinf(c), 0.0, roots).sum(2), (0.5 / roots).sum(2)


# over what the norm of the dual residual is taken: each copy of a variable, or each variable once
RESIDUALS: Mapping[str, Callable[[FactorGraph, Array], Array]] = {
    "edges": FactorGraph.spread,
    "variables": lambda graph, move: move,
}


@dataclass(frozen=True)
class ADMM:
    """When factors have agreed (Alg. 1; boyd2011admm): the group `admm`.

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
    """All that `agree` reads of DuMBO's parameters."""

    climb: Ascent
    admm: ADMM
    complete: bool  # whether a factor counts its variance in its neighbours' terms, too
    floor: float  # of a posterior variance
