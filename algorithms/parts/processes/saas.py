"""Gaussian processes under the SAAS prior, their parameters drawn by NUTS in JAX
(eriksson2021saasbo; phan2019numpyro).

k(a, b) = variance * corr(sum_i tau rho_i (a_i - b_i)^2) with tau ~ HalfCauchy(alpha), rho_i ~
HalfCauchy(1): unless data insist, most inputs hardly matter. A constant mean, where a prior has
one, is integrated out. The sampler moves in logarithms: z (p,) is ln variance, ln tau, ln rho_1..d
and, where it is learned, ln of the noise above its least value.

Data are padded to blocks of rows, so that one compiled program serves until the block is full; JAX
keeps programs by the value of the settings, and samplers that agree share them. Importing this
module switches JAX to float64, to the CPU and, unless JAX has computed before, to one thread: NPROC
is what sizes its pool, the flags of XLA do not.

Paper -> here:  sigma_k^2 -> variance,  rho_i -> tau rho_i,  sigma^2 -> noise
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log

os.environ["NPROC"] = "1"  # read once, when JAX first computes

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.linalg import cho_solve, solve_triangular
from numpyro.infer.hmc import HMCState, hmc

from algorithms.api import Array
from algorithms.parts.processes.nuts import NUTS

numpyro.enable_x64()
numpyro.set_platform("cpu")

# NumPyro's search for a step pulls towards so many times the first one: right where nothing is
# known
EAGER = 10.0


@jax.custom_jvp
def matern(square: jax.Array) -> jax.Array:
    """Matern-5/2 of squared distances, with a slope where they are 0."""
    r = jnp.sqrt(5.0 * square)
    return (1.0 + r + r * r / 3.0) * jnp.exp(-r)


@matern.defjvp
def _matern_slope(at: tuple[jax.Array], along: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    r = jnp.sqrt(5.0 * at[0])
    return matern(at[0]), -5.0 / 6.0 * (1.0 + r) * jnp.exp(-r) * along[0]


def rbf(square: jax.Array) -> jax.Array:
    """The squared exponential of squared distances."""
    return jnp.exp(-0.5 * square)


def squared(X: jax.Array, weights: jax.Array) -> jax.Array:
    """Weighted squared distances (N, N) of the rows of X (N, d), 0 on the diagonal.

    By one product with N N d operations; differences of all pairs would fill more than a cache.
    Near inputs lose digits, 1e-16 in units of the cube, where the noise is at least 1e-6.
    """
    norm = jnp.square(X) @ weights
    square = norm[:, None] + norm - 2.0 * ((X * weights) @ X.T)
    return jnp.where(jnp.eye(len(X), dtype=bool), 0.0, jnp.maximum(square, 0.0))


KERNELS: dict[str, Callable[[jax.Array], jax.Array]] = {"matern": matern, "rbf": rbf}


@dataclass(frozen=True)
class Prior:
    """Densities of variance and noise, variance of the constant mean, in standardised units."""

    variance: dist.Distribution
    noise: dist.Distribution
    mean: float


PRIORS = {
    "official": Prior(
        dist.LogNormal(0.0, 10.0), dist.LogNormal(0.0, 10.0), 0.0
    ),  # the paper's and its authors' code's
    "botorch": Prior(
        dist.Gamma(2.0, 0.15), dist.Gamma(0.9, 10.0), 1.0
    ),  # SaasFullyBayesianSingleTaskGP (balandat2020botorch)
}


@jax.custom_vjp
def log_gaussian(K: jax.Array, y: jax.Array) -> jax.Array:
    """ln N(y; 0, K) of y (n,) but for its constant; the gradient reuses the factor."""
    return _factored(K, y)[0]


def _factored(K: jax.Array, y: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    L = jnp.linalg.cholesky(K, symmetrize_input=False)
    a = cho_solve((L, True), y)
    return -0.5 * y @ a - jnp.log(jnp.diagonal(L)).sum(), (L, a)


def _slopes(known: tuple[jax.Array, jax.Array], gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    L, a = known
    root = solve_triangular(L, jnp.eye(len(a)), lower=True)
    inverse = root.T @ root  # a product is faster than a second solve
    return 0.5 * gradient * (jnp.outer(a, a) - inverse), -gradient * a


log_gaussian.defvjp(_factored, _slopes)


@dataclass(frozen=True, eq=False)
class Draws:
    """Parameters of s Gaussian processes: variance and noise (s,), inverse squared length-scales
    (s, d), variance of the mean.
    """

    variance: Array
    weights: Array
    noise: Array
    mean: float


@dataclass(frozen=True, eq=False)
class Chain:
    """Where a sampler stands: z (p,), step, inverse mass (p,) or (p, p); how its run went."""

    z: Array
    step: float
    inverse_mass: Array
    leapfrogs: int
    divergences: int
    acceptance: float


@dataclass(frozen=True, eq=False)
class Padded:
    """Data in N >= n rows: centred inputs X (N, d), y (N,), mask (N,), 1 where a row counts."""

    X: Array
    y: Array
    mask: Array

    @classmethod
    def of(cls, x: Array, y: Array, block: int) -> Padded:
        """y (n,) at x (n, d) in the least multiple of `block` rows."""
        n, d = x.shape
        rows = -(-n // block) * block
        return cls(
            np.concatenate([x - 0.5, np.zeros((rows - n, d))]),
            np.concatenate([y, np.zeros(rows - n)]),
            (np.arange(rows) < n).astype(np.float64),
        )


@dataclass(frozen=True)
class Sampler:
    """NUTS (hoffman2014nuts) on the posterior of z: after a full warm-up the first time, then from
    where it stood.

    The noise variance is `noise`, or at least that where it is `learned`.
    """

    kernel: str
    priors: str
    alpha: float
    noise: float
    learned: bool
    nuts: NUTS

    def draw(self, x: Array, y: Array, chain: Chain | None, seed: int) -> tuple[Draws, Chain]:
        """Every so many of the samples given y (n,) at x (n, d), from where `chain` stood."""
        z, later = self.run(x, y, chain, seed)
        return self.parameters(z[self.nuts.thinning - 1 :: self.nuts.thinning]), later

    def run(self, x: Array, y: Array, chain: Chain | None, seed: int) -> tuple[Array, Chain]:
        """All samples z (s, p), and where the sampler stands after them."""
        data, start = Padded.of(x, y, self.nuts.pad), self.start(x.shape[1])
        warm, from_where = self.nuts.readaptation, chain
        if from_where is None:
            eye = np.eye(len(start))
            warm, from_where = (
                self.nuts.warmup,
                Chain(start, 1.0, eye if self.nuts.dense else eye.diagonal(), 0, 0, 0.0),
            )
        last, trace = _run(
            self,
            warm,
            chain is None,
            data.X,
            data.y,
            data.mask,
            jax.random.key(seed),
            start,
            from_where.z,
            from_where.step,
            from_where.inverse_mass,
        )
        z, leapfrogs, diverging, acceptance = (np.array(column) for column in trace)
        z, adapted = z[warm:], last.adapt_state
        later = Chain(
            z[-1].copy(),
            float(adapted.step_size),
            self.pooled(np.array(adapted.inverse_mass_matrix), z),
            int(leapfrogs.sum()),
            int(diverging[warm:].sum()),
            float(acceptance[warm:].mean()),
        )
        return z, later

    def start(self, d: int) -> Array:
        """z (p,) of a cold start: unit variance, medians of tau and rho, noise of one per cent."""
        return np.array([0.0, log(self.alpha), *[0.0] * d, *[log(0.01)] * self.learned])

    def parameters(self, z: Array) -> Draws:
        """What z (s, p) stands for."""
        d = z.shape[1] - 2 - self.learned
        above = np.exp(z[:, -1]) if self.learned else np.zeros(len(z))
        return Draws(
            np.exp(z[:, 0]),
            np.exp(z[:, 1:2] + z[:, 2 : 2 + d]),
            self.noise + above,
            PRIORS[self.priors].mean,
        )

    def pooled(self, inverse_mass: Array, z: Array) -> Array:
        """The covariance of draws z (s, p), of weight s, and their inverse mass, of weight p."""
        s, p = z.shape
        centred = z - z.mean(0)
        spread = centred.T @ centred / s if self.nuts.dense else (centred**2).mean(0)
        return (p * inverse_mass + s * spread) / (p + s)

    def log_density(self, z: jax.Array, X: jax.Array, y: jax.Array, mask: jax.Array) -> jax.Array:
        """ln p(y, z) of padded data at z (p,), but for a constant."""
        d, prior = X.shape[1], PRIORS[self.priors]
        rho = z[2 : 2 + d]
        density = (
            _of_logarithm(prior.variance, z[0])
            + _of_logarithm(dist.HalfCauchy(self.alpha), z[1])
            + _of_logarithm(dist.HalfCauchy(1.0), rho)
            + (_of_logarithm(prior.noise, z[-1]) if self.learned else 0.0)
        )
        noise = self.noise + (jnp.exp(z[-1]) if self.learned else 0.0)
        K = jnp.exp(z[0]) * KERNELS[self.kernel](squared(X, jnp.exp(z[1] + rho))) + prior.mean
        # a row that does not count: 1 on the diagonal alone
        K = K * jnp.outer(mask, mask) + jnp.diag(noise * mask + 1.0 - mask)
        return density + log_gaussian(K, y)


def _of_logarithm(density: dist.Distribution, z: jax.Array) -> jax.Array:
    """ln density of the logarithms z, summed, of what has the given one."""
    return (density.log_prob(jnp.exp(z)) + z).sum()


@partial(jax.jit, static_argnums=(0, 1, 2))
def _run(
    sampler: Sampler,
    warm: int,
    cold: bool,
    X: jax.Array,
    y: jax.Array,
    mask: jax.Array,
    key: jax.Array,
    start: jax.Array,
    z: jax.Array,
    step: jax.Array,
    inverse_mass: jax.Array,
) -> tuple[HMCState, tuple[jax.Array, ...]]:
    """The state after `warm` transitions and all samples, and z, leapfrogs, divergence and
    acceptance of each transition.

    A cold start adapts mass and step, another one its step alone.
    """

    def potential(z: jax.Array) -> jax.Array:
        return -sampler.log_density(z, X, y, mask)

    def transition(state: HMCState, _: None) -> tuple[HMCState, tuple[jax.Array, ...]]:
        state = following(state)
        return state, (state.z, state.num_steps, state.diverging, state.accept_prob)

    z = jnp.where(jnp.isfinite(potential(z)), z, start)  # new data can rule out where it stood
    first, following = hmc(potential, algo="NUTS")
    state = first(
        z,
        warm,
        step if cold else step / EAGER,
        inverse_mass,
        adapt_mass_matrix=cold,
        dense_mass=sampler.nuts.dense,
        target_accept_prob=sampler.nuts.target,
        max_tree_depth=sampler.nuts.tree_depth,
        rng_key=key,
    )
    state = state._replace(adapt_state=state.adapt_state._replace(step_size=step))
    return jax.lax.scan(transition, state, None, length=warm + sampler.nuts.samples)
