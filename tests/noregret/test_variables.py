"""Variables of every kind: where they lie in the cube, and that nothing that was asked is lost."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
import torch
from numpy.testing import assert_allclose, assert_array_equal

import noregret
from noregret.space import Bounds
from noregret.variables import choice, integer, numbers, real

MIXED = {
    "rate": real(1e-4, 1.0, log=True),
    "layers": integer(1, 5),
    "width": integer(8, 512, log=True),
    "unit": choice(["relu", "tanh", "elu"]),
    "bias": choice([True, False]),
    "shape": choice([(64,), (64, 32), None]),
    "decay": (0.0, 0.5),
}


def loss(setting):
    off = abs(setting["layers"] - 3) + (setting["unit"] != "tanh") + (not setting["bias"])
    return off + (np.log10(setting["rate"]) + 2) ** 2 + setting["decay"]


def test_every_value_has_a_place_and_comes_back():
    space = Bounds.of(MIXED)
    u = np.random.default_rng(0).random((200, space.domain.d))
    x = space.outside(u)
    again = space.inside(x)
    assert_allclose(space.outside(again), x, rtol=1e-12)
    assert_allclose(space.rounded(u), np.where(space.rounded(u) == u, u, again), atol=1e-12)
    points = space.shown(x)
    assert_allclose(space.read(points)[0], x, rtol=1e-12)
    assert {type(point["layers"]) for point in points} == {int}
    assert {point["layers"] for point in points} == {1, 2, 3, 4, 5}
    assert {point["shape"] for point in points} == {(64,), (64, 32), None}
    assert {point["bias"] for point in points} == {True, False}


def test_a_logarithmic_scale_has_its_middle_at_the_geometric_mean():
    middle = real(1e-4, 1.0, log=True).number(np.array([[0.5]]))
    assert_allclose(middle, 1e-2)
    assert_allclose(real(2.0, 8.0).number(np.array([[0.0], [0.5], [1.0]])), [2, 5, 8])


def test_whole_numbers_have_intervals_of_equal_width():
    u = np.linspace(0, 1, 4001)[:, None]
    _, counts = np.unique(integer(3, 6).number(u), return_counts=True)
    assert np.ptp(counts) <= 2 and len(counts) == 4


@pytest.mark.parametrize("method", ["cei", "gp-ei", "turbo", "cma-es", "lcbo", "random"])
def test_nothing_stays_pending_and_a_run_goes_on_from_a_file(method, tmp_path):
    optimizer = noregret.optimizer(method, bounds=MIXED, initial=6, seed=1)
    for _ in range(9):
        points = optimizer.ask(2)
        optimizer.tell(points, [loss(point) for point in points])
        assert len(optimizer.pending) == 0
    optimizer.save(tmp_path / "state")
    loaded = noregret.Optimizer.load(tmp_path / "state")
    assert loaded.history.x == optimizer.history.x and loaded.is_like(optimizer)
    assert loaded.ask() == optimizer.ask()


def test_whole_numbers_of_a_wide_range_are_different_points():
    optimizer = noregret.optimizer("gp-ei", bounds=[integer(0, 3000)], noise=0, initial=2)
    rows = np.array([0, 500, 1000, 1199, 1201, 1500, 2000, 3000])
    optimizer.tell(rows[:, None], (rows - 1200.0) ** 2)
    assert min(abs(int(optimizer.ask()[0]) - 1200) for _ in range(6)) <= 2
    other = noregret.optimizer("random", bounds=[integer(0, 1000)], initial=1)
    other.enqueue([57])
    x = other.ask()
    other.tell([61], 1.0)
    assert_array_equal(other.pending, [x])


def test_what_takes_the_place_of_a_known_whole_number_is_not_beside_a_failed_one():
    for seed in range(40):
        optimizer = noregret.optimizer("cei", bounds=[integer(0, 5000)], seed=seed)
        optimizer._u = optimizer._space.inside(np.array([[2500.0]]))
        optimizer._failed = optimizer._space.inside(2500.0 + 50 * np.arange(-6, 7)[:, None])
        assert not optimizer._has_failed(optimizer._fresh(optimizer._u)).any()


def test_variables_may_have_the_names_of_other_columns():
    box = dict.fromkeys(("x", "y", "best", "g0"), (0, 1))
    run = noregret.minimize(
        lambda x: (x["y"], [x["x"] - 1]), box, constraints=1, method="random", evaluations=5
    )
    frame = run.to_frame()
    names = ["x", "x.y", "x.best", "x.g0", "y", "g0", "feasible", "best"]
    assert list(frame.columns) == names
    assert_array_equal(frame[names[:4]], [list(point.values()) for point in run.history.x])


@pytest.mark.parametrize("method", [None, "gp-ei"])
def test_no_point_of_few_is_evaluated_twice(method):
    seen = []

    def f(x):
        seen.append((x["a"], x["b"]))
        return (x["a"] - 1) ** 2 + (x["b"] == "no")

    noregret.minimize(
        f, {"a": integer(0, 4), "b": choice(["yes", "no"])}, method=method, evaluations=10
    )
    assert len(set(seen)) == 10


def test_under_noise_a_point_may_come_again():
    rng = np.random.default_rng(0)
    found = noregret.minimize(
        lambda x: float(x[0]) + rng.normal(0, 0.1), [integer(0, 3)], noise=0.1, evaluations=8
    )
    assert len(found.history.y) == 8 and found.x[0] == 0


def test_choices_are_found_with_the_usual_method():
    """Random search ends at 0.2 to 1.2."""
    variables = {name: one for name, one in MIXED.items() if name not in ("shape", "width")}
    found = noregret.minimize(loss, variables, evaluations=40, seed=0)
    assert found.x["unit"] == "tanh" and found.x["layers"] == 3 and found.x["bias"] is True
    assert list(found.to_frame().columns) == [*variables, "y", "feasible", "best"]


def test_numbers_of_a_list_come_as_an_array():
    optimizer = noregret.optimizer("random", bounds=[integer(0, 9), real(1, 100, log=True), (0, 1)])
    x = optimizer.ask(5)
    assert x.shape == (5, 3) and (x[:, 0] == np.round(x[:, 0])).all()
    with pytest.raises(ValueError, match=r"x: expected a whole number of variable 0, got 0\.5"):
        optimizer.tell([0.5, 2.0, 0.5], 1.0)


def test_bounds_of_scipy_are_bounds():
    theirs = scipy.optimize.Bounds([-5.0, 0.0], [3.0, 16.0])
    one = noregret.optimizer("random", bounds=theirs)
    other = noregret.optimizer("random", bounds=[(-5, 3), (0, 16)])
    assert one.is_like(other)
    assert_array_equal(one.ask(3), other.ask(3))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: real(0, 1, log=True), "expected a bound above 0 for log=True"),
        (lambda: real(2, 1), r"expected finite low < high, got \(2.0, 1.0\)"),
        (lambda: real(0, 10**400), "expected numbers low < high"),
        (lambda: integer(0.5, 3), "expected whole numbers"),
        (lambda: choice("abc"), "choice: expected a list of values"),
        (lambda: choice([1, 1.0]), "choice: expected different values, two or more"),
        (lambda: choice(["a"]), "choice: expected different values, two or more"),
        (lambda: Bounds.of([choice(["a", "b"])]), "bounds: expected a mapping of names"),
        (lambda: Bounds.of({1: (0, 1)}), "bounds: expected texts as names"),
        (lambda: Bounds.of({"a": (0, 1), "b": 3}), "bounds: expected a pair .* for variable 'b'"),
        (lambda: Bounds.of(MIXED).read({"rate": 1}), "x: expected a mapping of rate, layers"),
        (
            lambda: Bounds.of({"a": choice(["x", "y"])}).read({"a": "z"}),
            r"x: expected one of \('x', 'y'\), got 'z' for variable 'a'",
        ),
        (
            lambda: Bounds.of({"a": integer(1, 3)}).read({"a": 7}),
            "x: expected points inside the bounds, got 7.0 for variable 'a'",
        ),
    ],
)
def test_a_wrong_variable(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_a_choice_that_no_file_can_hold_is_told(tmp_path):
    optimizer = noregret.optimizer("random", bounds={"f": choice([np.sin, np.cos])})
    assert optimizer.ask()["f"] in (np.sin, np.cos)
    with pytest.raises(ValueError, match="save: expected texts, numbers and tuples"):
        optimizer.save(tmp_path / "state")


class Odd:
    def __float__(self):
        raise RuntimeError("device lost")

    def __repr__(self):
        raise RuntimeError("device lost")


NOT_REAL = [np.ma.masked, np.ma.array([1.0, 999.0], mask=[False, True]), [1.0, np.ma.masked]]
NOT_REAL += [np.complex128(1 + 5j), [np.complex128(1)], "1.5", np.array(["1.5"]), 10**400, Odd()]
NOT_REAL += [np.datetime64("2020-01-01"), np.timedelta64(5)]


@pytest.mark.parametrize("value", NOT_REAL)
def test_what_is_no_real_number_is_refused(value):
    with pytest.raises(ValueError, match="y: expected numbers, got"):
        numbers(value, "y")


@pytest.mark.parametrize(
    ("value", "is_"),
    [
        (torch.tensor(2.5, requires_grad=True), 2.5),
        (np.float32(0.5), 0.5),
        (Fraction(1, 4), 0.25),
        (True, 1.0),
        ([1, Fraction(1, 2)], [1.0, 0.5]),
        (np.ma.array([1.0, 2.0], mask=[False, False]), [1.0, 2.0]),
    ],
)
def test_what_is_a_real_number_is_one(value, is_, recwarn):
    assert_array_equal(numbers(value, "y"), is_)
    assert not recwarn.list
