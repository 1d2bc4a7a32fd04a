"""Several Gaussian processes: dense conditioning, growth under changing units, times of fits."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from algorithms.parts.processes.fitting import Target
from algorithms.parts.processes.outputs import Outputs, OutputSettings, RefitSettings, zero
from tests.algorithms.grouped import changed
from tests.settings import RBF_FITS

KERNELS = [
    {"lengthscale": [0.3, 0.7, 2.0], "outputscale": 1.7, "mean": 0.0},
    {"lengthscale": [0.9], "outputscale": 0.6, "mean": 0.5},
    {"lengthscale": 0.4, "outputscale": 1.0, "mean": -2.0},
]
FITTED = changed(RBF_FITS, every=3)
RAW = changed(FITTED, kernels=KERNELS, standard="raw")


def data():
    rng = np.random.default_rng(0)
    x = rng.random((12, 3))
    values = np.column_stack([np.sin(5 * x[:, 0]), x.sum(1) - 1, 30 * x[:, 1] ** 2 - 100])
    return x, values + 0.1 * rng.standard_normal((12, 3))


def new(settings):
    return Outputs(OutputSettings(**settings["surrogate"]), RefitSettings(**settings["fit"]))


def told(blocks, settings):
    """The outputs after blocks of rows (stop_1, stop_2, ...) of the data were told."""
    outputs, (x, values) = new(settings), data()
    for stop in blocks:
        outputs = outputs.learn(x[:stop], values[:stop], np.random.default_rng(0))
    return outputs


def learnt(blocks, settings):
    return told(blocks, settings).models


def scales(models):
    kernels = [fitted.posterior.model.kernel for fitted in models]
    return [(k.base_kernel.lengthscale.item(), k.outputscale.item()) for k in kernels]


@pytest.mark.parametrize("settings", [RAW, changed(RAW, standard="sample"), FITTED])
@pytest.mark.parametrize("blocks", [[5], [5, 6, 9], [5, 6, 7, 8], [5, 6, 7, 8, 12]])
def test_noise_is_that_of_the_observations_after_every_block(settings, blocks):
    """Conditioned densely on the raw values: s^2 a k + 0.01 I, whatever s was at the last fit."""
    (x, values), n = data(), blocks[-1]
    Z = np.random.default_rng(1).random((7, 3))
    for column, fitted in zip(values[:n].T, learnt(blocks, settings), strict=True):
        model, units = fitted.posterior.model, fitted.units
        scale = units.spread**2 * model.kernel.outputscale.item()
        k = RBF(model.kernel.base_kernel.lengthscale.numpy()[0])
        prior = units.centre + units.spread * model.mean(torch.from_numpy(Z[:1])).item()
        gain = scale * k(Z, x[:n]) @ np.linalg.inv(scale * k(x[:n]) + 0.01 * np.eye(n))
        mean, variance = fitted.posterior(torch.from_numpy(Z))
        expected = prior + gain @ (column - prior)
        assert_allclose(units.centre + units.spread * mean.numpy(), expected, rtol=1e-6)
        left = scale - (gain * scale * k(Z, x[:n])).sum(1)
        assert_allclose(units.spread**2 * variance.numpy(), left, rtol=1e-5)


def test_what_is_reported_of_models():
    assert told([], FITTED).report(np.empty((0, 2))) == {}
    _, values = data()
    for units, noise in (("observed", np.full(3, 0.01)), ("models", 0.01 * values.var(0, ddof=1))):
        outputs = told([12], changed(RAW, standard="sample", noise_units=units))
        report = outputs.report(values[:, 1:])
        found = [report.pop(f"noise_{name}") for name in ("y", "g1", "g2")]
        assert_allclose(found, noise)
        feasible = report.pop("feasible")
        assert 0 < feasible == (values[:, 1:] <= 0).all(1).mean() < 1
        ell_y = (0.3 * 0.7 * 2.0) ** (1 / 3)
        expected = {"lengthscale_y": ell_y, "lengthscale_g1": 0.9, "lengthscale_g2": 0.4}
        assert report == pytest.approx(expected)


def test_standardised_values_know_where_zero_was_and_have_no_other_mean():
    _, values = data()
    for column, fitted in zip(values.T, learnt([12], changed(RAW, standard="sample")), strict=True):
        assert_allclose(zero(fitted), -column.mean() / column.std(ddof=1))
        assert fitted.posterior.model.mean.constant.item() == 0.0
    assert [zero(fitted) for fitted in learnt([12], RAW)] == [0.0] * 3


def test_kernels_are_fitted_in_the_first_round_and_in_every_third_after_it():
    found = [scales(learnt(list(range(5, 5 + k)), FITTED)) for k in range(1, 8)]
    refitted = [a != b for a, b in pairwise(found)]
    assert refitted == [False, False, True, False, False, True]
    assert all(first != (1.0, 0.693) for first in found[0])


def test_a_fit_starts_from_the_last_one_and_is_short(monkeypatch):
    starts, calls = [], []
    read, loss = Target.read, Target.loss
    monkeypatch.setattr(
        Target, "read", lambda self: starts.append(np.exp(read(self))) or read(self)
    )
    monkeypatch.setattr(Target, "loss", lambda self, theta: calls.append(self) or loss(self, theta))
    outputs, (x, values) = told([5, 6, 7], FITTED), data()
    assert len(calls) <= 10 * 3  # evaluations
    assert_allclose(np.sort(starts, axis=1), [[0.693, 1.0]] * 3)
    starts.clear()
    outputs.learn(x, values, np.random.default_rng(0))
    assert_allclose(np.sort(starts, axis=1), np.sort(scales(outputs.models), axis=1))
