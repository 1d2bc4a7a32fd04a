"""Maps from a table's columns to points, by hand, and the tables that use them."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from problems import mapped_tables, tables
from problems.feature_maps import FEATURE_MAPS, mapped
from tests.problems.asked import rng
from tests.problems.test_tables import OPTIONS, VALUES, prepared

COLUMNS = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 6.0]])


def under(path: Path, *features: str):
    return mapped_tables.abalone(rng(), data=path, **{**OPTIONS, "features": ", ".join(features)})


def test_maps_are_applied_in_the_order_given():
    # by hand: the means are 3 and 6, so the rows become (0, -2), (3, 2), (-3, 0)
    assert_allclose(mapped(COLUMNS, ["centred"]), [[0, -2], [3, 2], [-3, 0]], atol=1e-15)
    unit = mapped(COLUMNS, ["centred", "unit-rows"])
    assert_allclose(unit, [[0, -1], [3 / 13**0.5, 2 / 13**0.5], [-1, 0]], atol=1e-15)
    assert_allclose(mapped(COLUMNS, ["unit-rows"])[0], [0.6, 0.8], atol=1e-15)
    assert_allclose(mapped(COLUMNS, ["z-scored"]).std(axis=0), 1, rtol=1e-15)


def test_ratios_of_california_housing_are_per_household():
    # longitude, latitude, age, rooms, bedrooms, population, households, income
    row = np.array([[-122.0, 37.0, 41.0, 880.0, 129.0, 322.0, 126.0, 8.3]])
    wanted = [8.3, 41, 880 / 126, 129 / 126, 322, 322 / 126, 37, -122]  # scikit-learn's order
    assert_allclose(mapped(row, ["per-household"])[0], wanted, rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "columns", "said"),
    [
        ("z-scored", np.ones((3, 2)), "column 0 constant"),
        ("unit-rows", np.zeros((3, 2)), "row 0 zero"),
        ("per-household", np.ones((3, 2)), "eight columns"),
    ],
)
def test_columns_that_a_map_cannot_take_are_refused(name, columns, said):
    with pytest.raises(ValueError, match=said):
        FEATURE_MAPS[name](columns)


def test_a_mapped_table_differs_from_the_plain_one_in_its_points_alone(tmp_path):
    path = prepared(tmp_path)
    plain = tables.abalone(rng(), data=path, **{**OPTIONS, "features": "z-scored"})
    same, other = under(path, "z-scored"), under(path, "z-scored", "unit-rows")
    assert_array_equal(same.domain.points, plain.domain.points)
    assert_allclose(np.linalg.norm(other.domain.points, axis=1), 1, rtol=1e-12)
    query = np.arange(len(VALUES))
    seen = [one.evaluate(query, rng(1)).seen.y for one in (plain, other)]
    assert_array_equal(*seen)
    assert (other.best, other.data) == (plain.best, plain.data)


def test_an_unknown_map_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"expected features of .*, got log: correct"):
        under(prepared(tmp_path), "log")
