"""Steps along gradients against PyTorch's optimizers."""

import pytest
import torch
from numpy.testing import assert_allclose

from algorithms.parts.steps import Adam, Gradient


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
