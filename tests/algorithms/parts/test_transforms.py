"""Units of y against the libraries whose rules they are."""

import numpy as np
import pytest
import torch
from botorch.utils.transforms import standardize
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler

from algorithms.parts.numerics.transforms import (
    STANDARDS,
    about_zero,
    median,
    population,
    sample,
    standardised,
)

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


def test_units_about_zero_keep_zero_and_signs():
    g = np.array([-3.0, 0.0, 4.0])
    units = about_zero(g)
    assert units.centre == 0.0 and units.spread == pytest.approx(np.sqrt(25 / 3))
    assert_allclose(np.mean(units(g) ** 2), 1.0)
    assert about_zero(np.zeros(3)).spread == 1.0
    assert_allclose(about_zero(1e200 * g)(1e200 * g), units(g), rtol=1e-14)  # squares overflow


def test_columns_that_a_library_sees():
    g = np.column_stack([Y - 3, 1e-6 * (Y - 3), np.zeros(4)])
    columns = standardised(Y, g)
    assert_allclose(columns[:, 0], sample(Y)(Y))
    assert_allclose(columns[:, 1], columns[:, 2], rtol=1e-12)
    assert_allclose(columns[:, 1], (Y - 3) / np.sqrt(np.mean((Y - 3) ** 2)))
    assert not columns[:, 3].any()
    assert standardised(Y, g[:, :0]).shape == (4, 1)
