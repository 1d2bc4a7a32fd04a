"""What a copy of a method is told at pending points."""

import dataclasses
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from noregret.believer import believed, believer, means
from tests.noregret.own import TABLE, VALUES, begun, f, g


def taught(name):
    """The method behind an optimizer that has seen 30 points of the box, or 60 rows."""
    optimizer = begun(name)
    rng = np.random.default_rng(5)
    if optimizer.settings.method in ("bbkb", "gp-ucb", "bkb"):
        rows = rng.permutation(len(TABLE))[:60]
        optimizer.tell(rows, VALUES[rows])
    else:
        x = rng.random((30, 2)) * [8, 16] + [-5, 0]
        limits = [g(row) for row in x] if optimizer.settings.constraints else None
        optimizer.tell(x, [f(row) for row in x], limits)
    return optimizer, optimizer._taught()


@pytest.mark.parametrize("name", ["gp-ei", "epbo", "scbo"])
def test_it_is_what_a_model_predicts(name):
    _, method = taught(name)
    u = np.array([[0.3, 0.4], [0.55, 0.7], [0.8, 0.2]])
    x = u * [8, 16] + [-5, 0]
    seen = believed(method, u)
    assert_allclose(-seen.y, [f(row) for row in x], atol=0.4)
    if method.constrained:
        assert_allclose(seen.g, [g(row) for row in x], atol=0.3)
    else:
        assert seen.g.shape == (3, 0)
    nearest = ((u[:, None] - method.x) ** 2).sum(2).argmin(1)
    assert np.abs(seen.y - method.y[nearest]).min() > 1e-3


@pytest.mark.parametrize("name", ["gp-ucb", "bkb", "bbkb"])
def test_over_arms_it_is_the_posterior_mean(name):
    optimizer, method = taught(name)
    unseen = np.setdiff1d(np.arange(len(TABLE)), method.x)[:20]
    seen = believed(method, unseen)
    assert_array_equal(seen.y, method.posterior.mean[unseen])
    told = -(optimizer._units.centre + optimizer._units.spread * seen.y)
    assert np.corrcoef(told, VALUES[unseen])[0, 1] > 0.9


@pytest.mark.parametrize("name", ["dumbo", "lcbo", "linebo"])
def test_without_a_model_that_shows_means_it_is_what_the_nearest_point_has_shown(name):
    _, method = taught(name)
    u = method.x[[4, 9]] + 1e-4
    seen = believed(method, u)
    assert_array_equal(seen.y, method.y[[4, 9]])
    assert_array_equal(seen.g, method.g[[4, 9]])


def test_a_method_that_has_begun_anew_shows_no_model_of_what_was_before():
    optimizer, method = taught("turbo")
    assert means(method, method.x[:3]) is not None
    method.search = dataclasses.replace(method.search, since=20)
    assert means(method, method.x[:3]) is None
    optimizer._method = method
    assert optimizer.recommend().y == optimizer.best().y


@pytest.mark.parametrize("name", ["gp-ei", "cei", "dumbo", "bbkb"])
def test_the_method_itself_learns_nothing(name):
    _, method = taught(name)
    before = pickle.dumps({key: value for key, value in vars(method).items() if key != "rng"})
    pending = np.array([3, 5]) if name == "bbkb" else np.array([[0.25, 0.5], [0.75, 0.5]])
    other = believer(method, pending)
    assert len(other.y) == len(method.y) + 2 and other.domain is method.domain
    after = pickle.dumps({key: value for key, value in vars(method).items() if key != "rng"})
    assert after == before
