"""Objective and constraints drawn from Gaussian processes that the optimizers may know:
jing2026lcbo, Sec. 6.2.

Every function is sqrt(2/M) sum_j w_j cos(omega_j' x + b_j) with omega ~ N(0, diag(1/l^2)), b ~ U(0,
2 pi), w ~ N(0, 1) (rahimi2007random): for M random features a draw whose covariance is, in
expectation, the RBF kernel exp(-|(x - x')/l|^2/2). That paper minimises f under c_i + offset <= 0;
here y = -f, which has the same prior, and g_i = c_i + offset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import NonlinearConstraint, minimize

from algorithms.api import Array, Box
from problems.api import Display, Evaluation, Problem, constrained

SPREAD = 0.3  # length-scales are uniform within 30 % of twice the scale that belongs to d
TOLERANCE = 1e-6  # of the objective in best_feasible, the authors' public code
# by which its searches keep inside the constraints: more than their tolerance, so that they end
# feasible
MARGIN = 1e-5


@dataclass(frozen=True, eq=False)
class Functions:
    """k sums of M random features of d coordinates, each a draw from a Gaussian process of mean 0
    and variance 1.
    """

    frequencies: Array  # (k, M, d)
    phases: Array  # (k, M)
    weights: Array  # (k, M)

    def values(self, X: Array) -> Array:
        """All functions at X (n, d): (n, k)."""
        return np.stack(
            [self._scale * np.cos(X @ omega.T + b) @ w for omega, b, w in self._each()], axis=1
        )

    def gradients(self, x: Array) -> Array:
        """The derivatives of all functions at one point x (d,): (k, d)."""
        return np.stack(
            [-self._scale * (w * np.sin(omega @ x + b)) @ omega for omega, b, w in self._each()]
        )

    @property
    def _scale(self) -> float:
        return float(np.sqrt(2 / self.phases.shape[1]))

    def _each(self) -> zip[tuple[Array, Array, Array]]:
        return zip(self.frequencies, self.phases, self.weights, strict=True)


def within_model(
    instance: np.random.Generator,
    *,
    d: int,
    constraints: int,
    offset: float,
    features: int,
    noise: float,
    lengthscales: str,
) -> Problem:
    """Maximise y = -f under g_i = c_i + offset <= 0 with f and the c_i drawn from `instance`: g is
    (q, constraints).

    `lengthscales` is official-code (one for each function) or gibo (one for each function and
    coordinate). `kernels`, which is revealed, says for y and for every g what it was drawn from:
    `lengthscale` (1 or d numbers), `outputscale`, `mean`. The `functions` f, c_1, ..., c_m
    themselves and the `offset` are there for studies. The optimum is unknown, and an instance may
    have no feasible point: see `best_feasible`.
    """
    if min(d, features) < 1 or constraints < 0:
        found = f"d = {d}, features = {features}, constraints = {constraints}"
        raise ValueError(
            f"expected d >= 1, features >= 1 and constraints >= 0, got {found}: correct it in"
            " papers/*.yaml"
        )
    if not noise >= 0:
        raise ValueError(
            f"expected a standard deviation noise >= 0, got {noise}: correct it in papers/*.yaml"
        )
    scales = draw_lengthscales(instance, lengthscales, 1 + constraints, d)  # (1 + m, 1 or d)
    functions = draw_functions(instance, scales, d, features)

    def evaluate(query: NDArray[np.float64], rng: np.random.Generator) -> Evaluation:
        true = shown(functions.values(query), offset)  # (q, 1 + m)
        seen = true + noise * rng.standard_normal(true.shape)
        return Evaluation(constrained(seen), constrained(true), np.zeros(len(query)))

    kernels = [
        {
            "lengthscale": lengthscale.tolist(),
            "outputscale": 1.0,
            "mean": float(offset) if i else 0.0,
        }
        for i, lengthscale in enumerate(scales)
    ]
    return Problem(
        domain=Box(d),
        evaluate=evaluate,
        best_kind="best-known",
        reveals={"kernels": kernels, "functions": functions, "offset": offset},
        display=Display("objective", sign=-1),
    )


def draw_lengthscales(instance: np.random.Generator, rule: str, functions: int, d: int) -> Array:
    """Length-scales for so many functions on [0,1]^d: (functions, 1) where the rule is isotropic,
    else (functions, d).
    """
    if rule not in SCALES:
        raise ValueError(
            f"expected lengthscales to be {' or '.join(SCALES)}, got {rule!r}: correct it in"
            " papers/*.yaml"
        )
    scale, isotropic = SCALES[rule]
    middle = 2 * scale(d)
    return instance.uniform(
        middle * (1 - SPREAD), middle * (1 + SPREAD), (functions, 1 if isotropic else d)
    )


def draw_functions(
    instance: np.random.Generator, lengthscales: Array, d: int, features: int
) -> Functions:
    """One function on [0,1]^d for every row of `lengthscales` (k, 1 or d)."""
    k = len(lengthscales)
    return Functions(
        frequencies=instance.standard_normal((k, features, d)) / lengthscales[:, None, :],
        phases=instance.uniform(0, 2 * np.pi, (k, features)),
        weights=instance.standard_normal((k, features)),
    )


def shown(values: Array, offset: float) -> Array:
    """y and g, as columns, from the columns f, c_1, ..., c_m of `values` (n, 1 + m)."""
    return np.column_stack([-values[:, 0], values[:, 1:] + offset])


def best_feasible(
    functions: Functions, offset: float, rng: np.random.Generator, *, uniform: int, starts: int
) -> tuple[float, Array] | None:
    """The best y and its point (d,) that local searches find, or None where none of them ends at a
    feasible point.

    SLSQP with exact gradients from the best `starts` of `uniform` random points (the authors'
    public code: 10 of 1000): the feasible ones by y, then the others by the sum of their
    violations. `functions` are f, c_1, ..., c_m.
    """
    d = functions.frequencies.shape[2]
    X = rng.random((uniform, d))
    seen = shown(functions.values(X), offset)  # (uniform, 1 + m)
    violation = np.maximum(seen[:, 1:], 0).sum(axis=1)
    order = np.lexsort([-seen[:, 0], violation])[:starts]

    def objective(x: Array) -> tuple[float, Array]:
        return float(functions.values(x[None])[0, 0]), functions.gradients(x)[0]

    def g(x: Array) -> Array:
        return shown(functions.values(x[None]), offset)[0, 1:]

    def g_gradient(x: Array) -> Array:
        return functions.gradients(x)[1:]

    inside = [NonlinearConstraint(g, -np.inf, -MARGIN, jac=g_gradient)] if seen.shape[1] > 1 else []
    best: tuple[float, Array] | None = None
    for start in X[order]:
        end = minimize(
            objective,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * d,
            constraints=inside,
            options={"ftol": TOLERANCE, "maxiter": 1000},
        )
        x = np.clip(end.x, 0, 1)
        y = -objective(x)[0]
        if (g(x) <= 0).all() and (best is None or y > best[0]):
            best = y, x
    return best


def _gibo(d: int) -> float:
    """A tenth of the mean distance of two points of [0,1]^d, at its upper bound, relative to d = 2
    (muller2021gibo).
    """
    return 0.1 * _distance(d) / _distance(2)


def _distance(d: int) -> float:
    return float(np.sqrt(d / 6) * np.sqrt((1 + 2 * np.sqrt(1 - 3 / (5 * d))) / 3))


def _official_code(d: int) -> float:
    """REFERENCE CODE: there 1/3 is added and not multiplied, and 0.2 is not divided by the distance
    at d = 2.
    """
    return float(0.2 * np.sqrt(d / 6) * np.sqrt(1 / 3 + 1 + 2 * np.sqrt(1 - 3 / (5 * d))))


SCALES: Mapping[
    str, tuple[Callable[[int], float], bool]
] = {  # the scale that belongs to d; whether isotropic
    "official-code": (_official_code, True),
    "gibo": (_gibo, False),
}
