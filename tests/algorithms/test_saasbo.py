"""SAASBO's density, sampler and acquisition against SciPy, BoTorch, the prior, cold starts."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import logsumexp
from sklearn.gaussian_process.kernels import RBF, Matern

from algorithms import saasbo
from algorithms.api import Observation
from algorithms.saasbo import CORRELATIONS, Mixture, log_mean_ei
from tests import programs

pytest.importorskip("numpyro")

import jax
from numpyro.diagnostics import effective_sample_size
from numpyro.infer.util import log_density

from algorithms.parts.processes import saas
from algorithms.parts.processes.nuts import NUTS
from tests.algorithms.grouped import builder, changed
from tests.settings import SAASBO

ROOT = Path(saasbo.__file__).parents[1]
CHAINS = {"warmup": 60, "readaptation": 20, "samples": 32, "thinning": 8, "tree_depth": 5}
SETTINGS = changed(SAASBO, **CHAINS, noise=2e-6, pad=12, raw=256, starts=3, steps=20)
FULL = {"warmup": 512, "readaptation": 64, "samples": 256, "thinning": 16, "tree_depth": 6}
FULL |= {"pad": 32}
MODELS = [
    {},
    {"kernel": "rbf", "noise_as": "learned"},
    {"priors": "botorch"},
    {"priors": "botorch", "noise_as": "learned"},
]

new = builder("saasbo.SAASBO", SETTINGS, d=3)


def with_nuts(sampler, **changes):
    return replace(sampler, nuts=replace(sampler.nuts, **changes))


def told(optimizer, x, f):
    optimizer.tell(x, Observation.of(f(x)))
    return optimizer


def two_of_many(x):
    """A bowl in the first and the third coordinate."""
    return -((x[:, 0] - 0.3) ** 2) - (x[:, 2] - 0.6) ** 2


def data(n, d, seed=0, noise=0.01):
    """Points with a repeated one, and standardised values."""
    draw = np.random.default_rng(seed)
    x = draw.random((n, d))
    x[-1] = x[0]
    y = np.sin(5 * x[:, 0]) + x[:, 1] + noise * draw.standard_normal(n)
    return x, (y - y.mean()) / y.std(ddof=1)


def density(sampler, x, y, block):
    """z -> ln p(y, z) and its gradient, of padded data."""
    padded = saas.Padded.of(x, y, block)
    return jax.jit(
        jax.value_and_grad(lambda z: sampler.log_density(z, padded.X, padded.y, padded.mask))
    )


def positions(sampler, d, count=4):
    return np.random.default_rng(1).normal(sampler.start(d), 1.0, (count, len(sampler.start(d))))


def test_distances_by_a_product_keep_digits_where_points_cluster():
    """Against differences: neighbours at 1e-4, a repeated point, weights from 1e-3 to 1e3."""
    draw = np.random.default_rng(0)
    x = draw.random((12, 40))
    x[5:8] = x[4] + 1e-4 * draw.standard_normal((3, 40))
    x[-1] = x[0]
    weights = 10.0 ** draw.uniform(-3, 3, 40)
    exact = ((x[:, None] - x) ** 2) @ weights
    found = np.array(saas.squared(saas.Padded.of(x, draw.random(12), 12).X, weights))
    assert_allclose(found, exact, rtol=1e-13, atol=1e-15 * weights.sum())
    assert_array_equal(np.diag(found), np.zeros(12))
    assert found.min() >= 0


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_density_is_scipys(model):
    sampler, (x, y) = new(**{**model, "noise": 1e-3}).sampler, data(11, 3)
    ours = density(sampler, x, y, 32)  # padding changes nothing
    learned, official = sampler.learned, sampler.priors == "official"
    variance = stats.lognorm(10) if official else stats.gamma(2, scale=1 / 0.15)
    noise = stats.lognorm(10) if official else stats.gamma(0.9, scale=1 / 10)
    for z in positions(sampler, 3):
        v, tau, rho = np.exp(z[0]), np.exp(z[1]), np.exp(z[2:5])
        expected = variance.logpdf(v) + (noise.logpdf(np.exp(z[-1])) if learned else 0.0)
        expected += stats.halfcauchy(scale=0.1).logpdf(tau) + z.sum()
        expected += stats.halfcauchy.logpdf(rho).sum()
        length = 1 / np.sqrt(tau * rho)
        K = v * (Matern(length, nu=2.5) if sampler.kernel == "matern" else RBF(length))(x)
        K += (0.0 if official else 1.0) + (1e-3 + learned * np.exp(z[-1])) * np.eye(11)
        evidence = stats.multivariate_normal(np.zeros(11), K).logpdf(y)
        expected += evidence + 11 * np.log(2 * np.pi) / 2
        assert_allclose(ours(z)[0], expected, rtol=1e-9)


def test_the_gradient_is_that_of_central_differences():
    sampler, (x, y) = new(noise=1e-2, noise_as="learned").sampler, data(8, 3)
    ours = density(sampler, x, y, 32)
    for z in positions(sampler, 3):
        ends = [(ours(z + e)[0] - ours(z - e)[0]) / 2e-5 for e in 1e-5 * np.eye(len(z))]
        assert_allclose(ours(z)[1], ends, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("noise_as", ["fixed", "learned"])
def test_the_density_is_botorchs_with_its_mean_integrated_out(noise_as):
    from botorch.models.fully_bayesian import MIN_INFERRED_NOISE_LEVEL, SaasPyroModel

    least, (x, y) = MIN_INFERRED_NOISE_LEVEL, data(9, 3)
    sampler = new(priors="botorch", noise=least, noise_as=noise_as).sampler
    model = SaasPyroModel()
    X, Y = torch.from_numpy(x), torch.from_numpy(y)[:, None]
    model.set_inputs(X, Y, None if sampler.learned else torch.full_like(Y, least)[:, 0])
    ours, nodes = density(sampler, x, y, 9), np.linspace(-8, 8, 801)
    theirs = jax.jit(jax.vmap(lambda parameters: log_density(model.sample, (), {}, parameters)[0]))
    for z in positions(sampler, 3):
        values = {"outputscale": z[0], "kernel_tausq": z[1], "_kernel_inv_length_sq": z[2:5]}
        values |= {"noise": z[-1]} if sampler.learned else {}
        several = {
            name: np.repeat(np.exp(value)[None], len(nodes), 0) for name, value in values.items()
        }
        integrated = logsumexp(theirs({**several, "mean": nodes})) + np.log(nodes[1] - nodes[0])
        assert_allclose(ours(z)[0] - z.sum(), integrated + 9 * np.log(2 * np.pi) / 2, rtol=1e-6)


@pytest.fixture(scope="module")
def certain():
    """A sampler for one observation: tau and rho are independent of it."""
    long = {"warmup": 300, "samples": 3000, "tree_depth": 6, "pad": 1}
    return new(2, priors="botorch", noise=0.1, **long).sampler


def test_what_the_data_do_not_say_is_drawn_from_the_prior(certain):
    z, _ = certain.run(np.full((1, 2), 0.5), np.zeros(1), None, 0)
    for column, scale in ((1, 0.1), (2, 1.0), (3, 1.0)):
        u = stats.halfcauchy(scale=scale).cdf(np.exp(z[:, column]))
        ess = effective_sample_size(z[None, :, column])
        assert ess > 500
        assert stats.kstest(u, "uniform").statistic < 1.95 / np.sqrt(ess)  # 0.1 % level


def test_what_they_say_is_weighed_with_it(certain):
    z, _ = certain.run(np.full((1, 2), 0.5), np.array([1.5]), None, 1)
    v = np.linspace(1e-4, 120, 400_000)
    weight = stats.gamma(2, scale=1 / 0.15).pdf(v) * stats.norm(0, np.sqrt(v + 1.1)).pdf(1.5)
    draws = np.exp(z[:, 0])
    error = draws.std() / np.sqrt(effective_sample_size(draws[None]))
    assert abs(draws.mean() - (v * weight).sum() / weight.sum()) < 4 * error


def test_a_full_block_compiles_nothing_anew():
    short = {**SAASBO["nuts"], "pad": 12}
    optimizer = told(new(**short), np.random.default_rng(0).random((9, 3)), two_of_many)
    told(optimizer, optimizer.ask(1, optimizer.x[:0]), two_of_many)
    programs = saas._run._cache_size()
    while len(optimizer.y) < 12:
        told(optimizer, optimizer.ask(1, optimizer.x[:0]), two_of_many)
    # another optimizer, the same
    told(told(new(seed=5, **short), optimizer.x[:3], two_of_many), optimizer.x[3:5], two_of_many)
    assert saas._run._cache_size() == programs
    told(optimizer, optimizer.ask(1, optimizer.x[:0]), two_of_many)
    assert saas._run._cache_size() == programs + 1


def test_a_chain_keeps_its_mass_and_learns_from_its_draws():
    optimizer = told(new(), np.random.default_rng(0).random((6, 3)), two_of_many)
    x, y, first = optimizer.x, optimizer.standard(optimizer.y)(optimizer.y), optimizer.chain
    assert first.step != 1.0 and not np.allclose(first.inverse_mass, 1.0)
    z, later = optimizer.sampler.run(x, y, first, 0)
    assert_array_equal(later.z, z[-1])
    assert_allclose(later.inverse_mass, (5 * first.inverse_mass + 32 * z.var(0)) / 37)
    dense = with_nuts(optimizer.sampler, mass="dense").pooled(np.eye(5), z)
    assert_allclose(dense, (5 * np.eye(5) + 32 * np.cov(z.T, ddof=0)) / 37)


def test_a_chain_that_stands_where_nothing_is_possible_starts_afresh():
    optimizer = told(new(), np.random.default_rng(0).random((6, 3)), two_of_many)
    lost = replace(optimizer.chain, z=np.full(5, 800.0))  # exp overflows
    optimizer.chain = lost
    told(optimizer, np.full((1, 3), 0.5), two_of_many)
    assert np.isfinite(optimizer.chain.z).all() and np.abs(optimizer.chain.z).max() < 100


def mixed(draws, x, y, kernel="matern"):
    return Mixture.of(draws, CORRELATIONS[kernel], torch.from_numpy(x), torch.from_numpy(y))


@pytest.mark.parametrize("kernel", ["matern", "rbf"])
@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_the_mixture_is_dense_conditioning(kernel, mean):
    (x, y), draw = data(9, 3), np.random.default_rng(2)
    x[-1] = 0.5
    draws = saas.Draws(draw.random(4) + 0.5, draw.random((4, 3)) * 9, draw.random(4) / 10, mean)
    Z = torch.from_numpy(draw.random((6, 3)))
    means, variances = mixed(draws, x, y, kernel)(Z)
    for s in range(4):
        corr = {"matern": Matern(nu=2.5), "rbf": RBF()}[kernel]
        corr.set_params(length_scale=1 / np.sqrt(draws.weights[s]))
        k = draws.variance[s] * corr(x, Z) + mean
        K = draws.variance[s] * corr(x) + mean + draws.noise[s] * np.eye(9)
        assert_allclose(means[s], k.T @ np.linalg.solve(K, y), rtol=1e-8)
        left = draws.variance[s] + mean - (k * np.linalg.solve(K, k)).sum(0)
        assert_allclose(variances[s], left, rtol=1e-8)


def test_the_acquisition_is_the_mean_of_the_improvements():
    (x, y), draw = data(9, 3), np.random.default_rng(2)
    draws = saas.Draws(draw.random(5) + 0.5, draw.random((5, 3)) * 9, np.full(5, 0.01), 0.0)
    mixture = mixed(draws, x, y)
    Z = torch.from_numpy(draw.random((600, 3)))  # more than one portion of rows
    promise = log_mean_ei(mixture, Z, 0.5)
    assert promise.shape == (600,)
    mean, sigma = (moment.numpy()[..., :4] for moment in mixture(Z))
    f = mean + np.sqrt(sigma) * draw.standard_normal((400_000, 1, 1))
    gain = np.maximum(f - 0.5, 0).mean((0, 1))
    assert_allclose(promise[:4].exp(), gain, rtol=0.02, atol=1e-4)
    alone = torch.cat([log_mean_ei(mixture, row[None], 0.5) for row in Z[250:260]])
    assert_allclose(promise[250:260], alone, rtol=1e-10)


def test_its_promise_has_a_slope_everywhere():
    (x, y), draw = data(9, 3), np.random.default_rng(2)
    draws = saas.Draws(draw.random(5) + 0.5, draw.random((5, 3)) * 9, np.full(5, 0.01), 0.0)
    mixture = mixed(draws, x, y)
    X = torch.from_numpy(np.vstack([x[:3], draw.random((3, 3))])).requires_grad_()  # at data too
    (slopes,) = torch.autograd.grad(log_mean_ei(mixture, X, 1.0).sum(), X)
    for i, step in enumerate(1e-6 * torch.eye(3, dtype=torch.float64)):
        up, down = (log_mean_ei(mixture, X.detach() + s, 1.0) for s in (step, -step))
        assert_allclose(slopes[:, i], (up - down) / 2e-6, rtol=1e-4, atol=1e-4)


def test_the_best_observation_has_a_neighbour_among_the_candidates():
    optimizer = told(new(raw=1, steps=0), np.random.default_rng(0).random((6, 3)), two_of_many)
    (query,) = optimizer.ask(1, optimizer.x[:0])
    assert 0 < np.abs(query - optimizer.recommend()[0]).max() < 6e-3


def test_draws_are_spaced():
    optimizer = told(new(), np.random.default_rng(0).random((6, 3)), two_of_many)
    assert optimizer.draws.weights.shape == (4, 3)
    z, _ = optimizer.sampler.run(optimizer.x, optimizer.y, None, 7)
    draws, _ = optimizer.sampler.draw(optimizer.x, optimizer.y, None, 7)
    assert_allclose(np.log(draws.variance), z[7::8, 0])


def test_a_missing_dependency_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpyro", None)
    monkeypatch.delitem(sys.modules, "algorithms.parts.processes.saas")
    monkeypatch.delattr("algorithms.parts.processes.saas")
    with pytest.raises(ImportError, match=r"pip install 'noregret-bo\[saasbo\]'"):
        new()


SCRIPT = """
import sys, hashlib, workflow
import algorithms.saasbo
if {"jax", "numpyro"} & set(sys.modules): raise SystemExit("loaded too early")
import numpy as np
from algorithms.parts.processes import saas
from algorithms.parts.processes.nuts import NUTS

draw = np.random.default_rng(0)
x, y = draw.random((30, 6)), draw.standard_normal(30)
nuts = NUTS(20, 20, 20, 1, 5, 0.8, "diagonal", 30)
sampler = saas.Sampler("matern", "official", 0.1, 2e-6, False, nuts)
z, chain = sampler.run(x, y, None, 3)
print(hashlib.sha256(z.tobytes()).hexdigest(), chain.step)
"""


@pytest.mark.slow
def test_every_process_draws_the_same():
    seen = []
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        seen.append(programs.python("-c", SCRIPT, env=environment, check=True).stdout.splitlines())
    assert len(seen[0]) == 1 and seen[0] == seen[1]


@pytest.fixture(scope="module")
def late():
    """An optimizer after many steps, whose data cluster as in a run, and the chain before."""
    optimizer = told(new(6, **FULL), np.random.default_rng(3).random((5, 6)), two_of_many)
    for _ in range(35):
        chain = optimizer.chain
        told(optimizer, optimizer.ask(1, optimizer.x[:0]), two_of_many)
    return optimizer, chain


def means(sampler, z, x, y, Z):
    """Posterior mean of f at Z (q, d) under every sample, (s, q)."""
    mixture = mixed(sampler.parameters(z), x, y, sampler.kernel)
    return mixture(torch.from_numpy(Z))[0].numpy()


def scores(one, other):
    """Differences of two chains' means (s, k) in standard errors, by effective samples."""
    error = 0.0
    for values in (one, other):
        error += values.var(0) / np.maximum(effective_sample_size(values[None]), 1.0)
    return (one.mean(0) - other.mean(0)) / np.sqrt(error)


@pytest.mark.slow
def test_a_warm_chain_agrees_with_a_long_cold_one(late):
    optimizer, chain = late
    x, u, sampler = optimizer.x, optimizer.standard(optimizer.y)(optimizer.y), optimizer.sampler
    warm, _ = sampler.run(x, u, chain, 11)
    cold, _ = with_nuts(sampler, samples=2048).run(x, u, None, 12)
    Z = np.random.default_rng(5).random((40, 6))
    f = [means(sampler, z, x, u, Z) for z in (warm, cold)]
    seen = np.hstack([scores(*f), scores(warm, cold)])
    assert np.abs(seen).max() < 4.5 and np.mean(seen**2) < 2.0
    assert effective_sample_size(warm[None]).min() > 20


@pytest.mark.slow
def test_transitions_of_a_run_are_accepted(late):
    chain = late[0].chain
    assert chain.acceptance > 0.5 and chain.divergences <= 5


@pytest.mark.slow
@pytest.mark.parametrize(("noise_as", "noise"), [("fixed", 0.01), ("learned", 0.5)])
def test_the_posterior_mean_is_botorchs(noise_as, noise):
    """Learned noise must be large: BoTorch's sampler adds a least one, its loaded model none."""
    from botorch.fit import fit_fully_bayesian_model_nuts
    from botorch.models.fully_bayesian import (
        MIN_INFERRED_NOISE_LEVEL,
        SaasFullyBayesianSingleTaskGP,
    )

    (x, y), Z = data(25, 4, noise=noise), np.random.default_rng(5).random((30, 4))
    X, Y = torch.from_numpy(x), torch.from_numpy(y)[:, None]
    sampler = new(
        4, **FULL, priors="botorch", noise=MIN_INFERRED_NOISE_LEVEL, noise_as=noise_as
    ).sampler
    known = None if sampler.learned else torch.full_like(Y, MIN_INFERRED_NOISE_LEVEL)
    model = SaasFullyBayesianSingleTaskGP(X, Y, known)
    fit_fully_bayesian_model_nuts(
        model, warmup_steps=256, num_samples=512, thinning=1, disable_progbar=True
    )
    theirs = model.posterior(torch.from_numpy(Z)).mean.detach()[..., 0].numpy()  # (512, 30)
    z, _ = with_nuts(sampler, samples=1024).run(x, y, None, 0)
    seen = scores(means(sampler, z, x, y, Z), theirs)
    assert np.abs(seen).max() < 4.5 and np.mean(seen**2) < 2.0


def test_every_sample_or_one_alone_may_be_kept():
    for thinning in (1, SAASBO["nuts"]["samples"]):
        assert NUTS(**{**SAASBO["nuts"], "thinning": thinning}).thinning == thinning
