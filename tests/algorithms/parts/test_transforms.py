"""Units of y against the libraries whose rules they are."""

import numpy as np
import pytest
import torch
from botorch.utils.transforms import standardize
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler

from algorithms.parts.transforms import STANDARDS, median, population, sample

Y = np.array([1.0, 2.0, 4.0, 9.0])


def test_by_hand():
    assert (median(Y).centre, median(Y).spread) == (3.0, np.std(Y))
    assert population(Y).centre == sample(Y).centre == 4.0
    assert population(Y).spread == np.sqrt(9.5)
    assert sample(Y).spread == np.sqrt(38 / 3)
    assert_allclose(median(Y)(np.array([3.0, 3.0 + np.std(Y)])), [0.0, 1.0])


def test_as_the_libraries_do():
    assert_allclose(sample(Y)(Y), standardize(torch.from_numpy(Y)[:, None])[:, 0], rtol=1e-15)
    assert_allclose(population(Y)(Y), StandardScaler().fit_transform(Y[:, None])[:, 0], rtol=1e-15)


@pytest.mark.parametrize("standard", STANDARDS.values())
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_only_shape_remains(standard, scale):
    assert_allclose(
        standard(scale * Y + 3 * scale)(scale * Y + 3 * scale), standard(Y)(Y), rtol=1e-12
    )


@pytest.mark.parametrize("standard", STANDARDS.values())
@pytest.mark.parametrize("y", [[5.0], [0.0, 0.0], [0.1 + 0.2, 0.3, 0.3], [1e8, 1e8]])
def test_what_is_constant_but_for_rounding_keeps_its_scale(standard, y):
    assert standard(np.array(y)).spread == 1.0
    assert_allclose(standard(np.array(y))(np.array(y)), 0.0, atol=1e-15)
