"""Widths of upper confidence bounds over boxes, by hand with a pocket calculator."""

import math

import pytest

from algorithms.parts.search.exploration import Width


def width(**changes):
    given = {"rule": "kandasamy", "share": 0.2, "delta": 0.1, "points_per_axis": 10}
    return Width(**{**given, **changes})


def test_a_grid_too_large_to_count_is_no_obstacle():
    wide = width(rule="theorem", share=1.0, points_per_axis=1e6)
    assert wide.beta(1, 1000) - wide.beta(1, 999) == pytest.approx(2 * math.log(1e6))


def test_a_constant_is_the_share_whatever_happens():
    constant = width(rule="constant", share=4)
    assert constant.beta(1, 1) == constant.beta(500, 60) == 4


def test_the_rule_of_the_additive_bandits():
    # 0.2 * 6 * ln 20 = 1.2 * 2.9957323
    assert width().beta(10, 6) == pytest.approx(3.5948787)
    assert width().beta(1, 1) == pytest.approx(0.1386294)  # 0.2 * ln 2


def test_the_rule_of_the_theorem():
    # |D| = 10^2: 2 ln(100 * 9.8696044 * 9/0.6) = 2 ln 14804.4066 = 2 * 9.6026800
    assert width(rule="theorem", share=1.0).beta(3, 2) == pytest.approx(19.2053600, abs=1e-6)
    assert width(rule="theorem", share=0.5).beta(3, 2) == pytest.approx(9.6026800, abs=1e-6)
