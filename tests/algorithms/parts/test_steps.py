"""An ascent in a box against PyTorch's Adam; test_go_ucb.py has descents."""

import numpy as np
import torch
from numpy.testing import assert_allclose

from algorithms.parts.numerics.steps import ascend


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
