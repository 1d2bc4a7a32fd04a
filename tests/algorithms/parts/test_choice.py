"""A parameter that names one of several things."""

import pytest

from algorithms.parts.numerics.choice import chosen


def test_the_entry_of_that_name_or_a_list_of_names():
    assert chosen({"one": 1, "two": 2}, "two", "number") == 2
    with pytest.raises(ValueError, match="number: expected one or two, got 'three'"):
        chosen({"one": 1, "two": 2}, "three", "number")
