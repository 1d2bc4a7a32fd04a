"""Widths of upper confidence bounds over boxes, by hand with a pocket calculator."""

import math

import pytest

from algorithms.parts.search.exploration import Width


def width(**changes):
    return Width(
        **{"rule": "kandasamy", "share": 0.2, "delta": 0.1, "points_per_axis": 10, **changes}
    )


def test_a_grid_too_large_to_count_is_no_obstacle():
    wide = width(rule="theorem", share=1.0, points_per_axis=1e6)
    assert wide.beta(1, 1000) - wide.beta(1, 999) == pytest.approx(2 * math.log(1e6))


def test_a_constant_is_the_share_whatever_happens():
    assert (
        width(rule="constant", share=4).beta(1, 1)
        == width(rule="constant", share=4).beta(500, 60)
        == 4
    )
