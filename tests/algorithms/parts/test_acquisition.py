"""Acquisition values and slopes by high precision, graphs and differences; see tests/parity."""

import mpmath
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from algorithms.parts.search.acquisition import (
    log_ei,
    log_ei_with_slopes,
    log_feasibility,
    log_feasibility_slopes,
    log_pi,
)

IMPROVEMENTS = [log_ei, log_pi]
# (mean - best)/sigma
DEPTHS = [30.0, 5.0, 1.0, 0.0, -0.999, -1.001, -3.0, -10.0, -38.0, -99.0, -101.0, -1e3, -1e4]


def exact(z):
    """ln(phi(z) + z Phi(z)) and ln Phi(z), with all the digits that they need."""
    with mpmath.workdps(60):
        z = mpmath.mpf(z)
        gain = mpmath.log(mpmath.npdf(z) + z * mpmath.ncdf(z))
        tail = mpmath.log1p(-mpmath.ncdf(-z)) if z > 0 else mpmath.log(mpmath.ncdf(z))
        return float(gain), float(tail)


@pytest.mark.parametrize("sigma", [1e-6, 1.0, 1e3])
def test_logarithms_are_exact_into_far_tails(sigma):
    z = torch.tensor(DEPTHS, dtype=torch.float64)
    mean, variance = z * sigma, torch.full_like(z, sigma**2)
    gain, tail = np.array([exact(depth) for depth in DEPTHS]).T
    assert_allclose(log_ei(mean, variance, 0.0), gain + np.log(sigma), rtol=1e-14, atol=1e-12)
    assert_allclose(log_pi(mean, variance, 0.0), tail, rtol=1e-13)
    assert_allclose(log_feasibility(-mean, variance), tail, rtol=1e-13)


@pytest.mark.parametrize("sigma", [1e-6, 1.0, 1e3])
def test_slopes_in_closed_form_are_those_of_the_graph(sigma):
    z = torch.tensor(DEPTHS, dtype=torch.float64)
    mean, variance = (z * sigma).requires_grad_(), torch.full_like(z, sigma**2).requires_grad_()
    for value, slopes in (
        (log_ei(mean, variance, 0.3 * sigma), log_ei_with_slopes(mean, variance, 0.3 * sigma)[1:]),
        (log_feasibility(mean, variance), log_feasibility_slopes(mean, variance)),
    ):
        expected = torch.autograd.grad(value.sum(), [mean, variance])
        for ours, theirs in zip(slopes, expected, strict=True):
            assert_allclose(ours.detach(), theirs, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("acquisition", IMPROVEMENTS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_slopes_are_those_of_central_differences(acquisition, depth):
    moments = torch.tensor([[depth], [1.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda m: acquisition(*m, 0.0), moments, rtol=1e-4, atol=1e-8)
