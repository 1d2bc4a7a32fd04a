"""Steps along gradients against PyTorch's optimizers."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from algorithms.parts.numerics.steps import Adam, Gradient, ascend


@pytest.mark.parametrize(
    ("ours", "theirs"), [(Gradient(0.1), torch.optim.SGD), (Adam(0.1), torch.optim.Adam)]
)
def test_a_descent_is_that_of_a_library(ours, theirs):
    w = torch.tensor([0.3, -2.0, 5.0], dtype=torch.float64, requires_grad=True)
    method, here = theirs([w], lr=0.1), w.detach().numpy().copy()
    for _ in range(20):
        method.zero_grad()
        (w**2 / 2).sum().backward()
        method.step()
        here = here - ours.step(here)
    assert_allclose(here, w.detach().numpy(), rtol=1e-12)
    assert abs(here).max() < 5.0


def test_an_ascent_is_torchs_adam_kept_in_a_box():
    low, high = np.array([-0.2, 0.0]), np.array([1.0, 0.3])
    start = np.array([[[0.9, 0.1]], [[0.3, 0.2]]])

    def slopes(x):
        return [1.0, 0.0] - 4 * (x - 0.5) ** 3

    ends = ascend(slopes, start, steps=7, rate=0.05, low=low, high=high)
    theta = torch.from_numpy(start.copy()).requires_grad_()
    adam = torch.optim.Adam([theta], lr=0.05)
    for _ in range(7):
        theta.grad = torch.from_numpy(-slopes(theta.detach().numpy()))
        adam.step()
        with torch.no_grad():
            theta.clamp_(torch.from_numpy(low), torch.from_numpy(high))
    assert_allclose(ends, theta.detach().numpy(), rtol=1e-10)
    assert (ends[0] == [1.0, 0.3]).any()  # a bound was met
