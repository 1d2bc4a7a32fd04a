"""What every optimizer promises, whatever it does inside."""

import inspect
import pickle
import random
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import algorithms
from algorithms.api import Arms, Box, Observation, Optimizer
from tests import settings
from tests.settings import CASES, marked

FOLDER = Path(algorithms.__file__).parent


def state(optimizer):
    """All of an optimizer but its generator; memos of pure functions leave themselves out."""
    return pickle.dumps({name: value for name, value in vars(optimizer).items() if name != "rng"})


def scramble():
    random.seed(random.getrandbits(32))
    np.random.seed(np.random.randint(2**31))  # noqa: NPY002  what must not matter
    np.random.rand(3)  # noqa: NPY002


def inside(query, domain):
    if isinstance(domain, Box):
        shape, kind, low, high = (len(query), domain.d), np.float64, 0, 1
    else:
        shape, kind, low, high = (len(query),), np.int64, 0, len(domain) - 1
    return query.shape == shape and query.dtype == kind and ((query >= low) & (query <= high)).all()


def sound(optimizer, asked):
    """Whether it asked for points of its domain, and reports and recommends what may be."""
    return (
        all(inside(query, optimizer.domain) for query in asked)
        and all(np.isfinite(value) for value in optimizer.report().values())
        and len(optimizer.recommend()) == 1
        and inside(optimizer.recommend(), optimizer.domain)
    )


def on(case, smooth):
    """The domain of a case, and two queries of it."""
    domain = Box(2) if case.box else Arms(smooth(1)[0])
    return domain, np.array([[0.25, 0.75], [0.9, 0.1]]) if case.box else np.array([3, 30])


def test_every_algorithm_file_is_tested():
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "api"}
    classes = {
        f"{file}.{name}"
        for file in files
        for name, kind in inspect.getmembers(import_module(f"algorithms.{file}"), inspect.isclass)
        if issubclass(kind, Optimizer) and kind.__module__ == f"algorithms.{file}"
    }
    assert {name.partition(".")[0] for name in classes} == files, (
        "a file without an optimizer belongs into parts/"
    )
    assert {case.name for case in CASES} == classes, "add what is missing to tests/settings.yaml"
    for case in CASES:
        kind = algorithms.load(case.name)
        assert kind.__name__ == case.name.partition(".")[2]
        assert (Box if case.box else Arms) in kind.domains
        assert case.constrained == kind.constrained
    with pytest.raises(LookupError, match=r"expected a class 'BKBB' in algorithms/bkb.py"):
        algorithms.load("bkb.BKBB")


def test_it_asks_for_1_to_room_queries_inside_the_domain(case, begin, play):
    for room in (1, 1000):
        optimizer, f = begin(case)
        asked = play(optimizer, f, steps=8, room=room)
        assert all(1 <= len(query) <= room for query in asked) and sound(optimizer, asked)
        assert len(optimizer.x) == len(optimizer.y) == len(optimizer.g) > 8
        assert all(isinstance(name, str) for name in optimizer.report())
    if case.box:  # a method over arms may need a first pull
        fresh = case.build(optimizer.domain, np.random.default_rng(0))
        first = fresh.ask(1, fresh.x[:0])
        assert len(first) == 1 and inside(first, fresh.domain)


def test_ask_report_and_recommend_change_nothing_but_the_generator(case, begin, play):
    optimizer, f = begin(case)
    for told in (0, 1, 6):
        play(optimizer, f, steps=told, room=4)
        before, generator = state(optimizer), optimizer.rng.bit_generator.state
        first = optimizer.ask(20, optimizer.x[:0])
        assert state(optimizer) == before
        optimizer.rng.bit_generator.state = generator
        optimizer.report()
        optimizer.recommend()
        assert state(optimizer) == before
        assert optimizer.rng.bit_generator.state == generator
        assert_array_equal(optimizer.ask(20, optimizer.x[:0]), first)
        assert state(optimizer) == before


def test_tell_changes_the_state_and_keeps_no_hold_of_what_it_was_given(case, begin):
    begun, f = begin(case)
    for optimizer in (begun, case.build(begun.domain, np.random.default_rng(0))):
        before = state(optimizer)
        query = np.full((3, 2), 0.5) if case.box else np.array([5, 6, 5])
        y, g, factors = np.array([f(q) for q in query]), np.ones((3, 0)), np.ones((3, 0))
        if case.name == "random_search.RandomSearch" and optimizer is not begun:
            g, factors = np.ones((3, 2)), np.ones((3, 4))
        optimizer.tell(query, Observation(y, g, factors))
        kept, asked = state(optimizer), query.copy()
        assert kept != before
        query[:], y[:], g[:], factors[:] = 0, -7.0, 9.0, 9.0
        assert state(optimizer) == kept
        assert_array_equal(optimizer.x[-3:], asked)


def test_one_seed_gives_one_trace_whatever_the_global_generators_do(case, begin, play):
    python, numpy = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    traces = []
    for between in (lambda: None, scramble):
        optimizer, f = begin(case, seed=3)
        traces.append(np.concatenate(play(optimizer, f, steps=8, room=4, between=between)))
        if len(traces) == 1:  # it drew from none of them
            assert random.getstate() == python
            assert str(np.random.get_state()) == numpy  # noqa: NPY002
    assert_array_equal(*traces)


def test_a_pickle_in_the_middle_continues_with_the_identical_trace(case, begin, play):
    optimizer, f = begin(case, seed=1)
    play(optimizer, f, steps=6, room=3)
    twin = pickle.loads(pickle.dumps(optimizer))
    rest, again = (play(each, f, steps=6, room=3) for each in (optimizer, twin))
    assert_array_equal(np.concatenate(rest), np.concatenate(again))
    assert optimizer.report() == twin.report()
    assert_array_equal(optimizer.recommend(), twin.recommend())


class Sphere:
    """A domain that nobody knows."""


def test_a_wrong_domain_is_refused_with_a_sentence():
    for case in CASES:
        kind = algorithms.load(case.name)
        expected = " or ".join(domain.__name__ for domain in kind.domains)
        for stranger in (Sphere(), Box(2), Arms(np.zeros((3, 2)))):
            if not isinstance(stranger, kind.domains):
                said = f"{kind.__name__} works on {expected}, got {type(stranger).__name__}: choose"
                with pytest.raises(TypeError, match=f"{said} another"):
                    case.build(stranger, np.random.default_rng(0))


def test_it_survives_constant_huge_and_tiny_values(case, begin, play):
    for scale in (0.0, 1e-8, -1e8):
        optimizer, f = begin(case)

        def scaled(query, f=f, scale=scale):
            return scale * f(query) if scale else 5.0

        noise = 0.05 * abs(scale)
        assert sound(optimizer, play(optimizer, scaled, steps=6, room=4, noise=noise)), scale


def test_it_survives_values_that_are_equal_for_a_while_and_then_vary(case, smooth, play):
    """A floor at which most of a domain lies: the design and the first evaluations show it."""
    domain, first = on(case, smooth)
    optimizer = case.build(domain, np.random.default_rng(0))
    optimizer.tell(first, Observation.of(np.full(2, -60.0)))

    def rises(query):
        return -60.0 + 50 * float(query[0] if case.box else domain.points[query, 0])

    assert sound(optimizer, play(optimizer, lambda query: -60.0, steps=5, noise=0.0))
    assert sound(optimizer, play(optimizer, rises, steps=5, noise=0.0))


def test_constraints_that_it_does_not_heed_change_no_query(begin):
    """A problem may show where its simulator failed to an optimizer that has no use for it."""
    for case in CASES:
        if case.constrained or case.name == "saasbo.SAASBO":
            continue
        queries = []
        for m in (0, 1):
            optimizer, f = begin(case)
            optimizer = case.build(optimizer.domain, np.random.default_rng(4))
            told = np.array([[0.25, 0.75], [0.9, 0.1]]) if case.box else np.array([3, 30])
            for _ in range(4):
                y, g = np.array([f(one) for one in told]), np.ones((len(told), m))
                optimizer.tell(told, Observation(y, g, np.empty((len(told), 0))))
                told = optimizer.ask(2, optimizer.x[:0])
            queries.append(optimizer.x)
            assert optimizer.g.shape == (len(optimizer.x), m)
        assert_array_equal(*queries, err_msg=str(case))


def test_it_survives_duplicated_arms(arms_case, smooth, begin, play):
    points = smooth(1)[0]
    for table in (np.vstack([points[:30]] * 2), np.repeat(points[:1], 60, axis=0), points[:1]):
        optimizer, f = begin(arms_case, points=table)
        assert sound(optimizer, play(optimizer, f, steps=15, room=4))


def test_it_takes_an_initial_design_in_one_tell_and_a_prefix_of_what_it_asked_for(
    case, begin, play, smooth
):
    domain, _ = on(case, smooth)
    query = np.array([3, 9, 3, 27, 40, 40, 40])
    if case.box:
        query = np.random.default_rng(0).random((7, 2))
    optimizer = case.build(domain, np.random.default_rng(0))
    assert len(optimizer.x) == 0
    optimizer.tell(query, Observation.of(np.arange(7.0)))
    assert_array_equal(optimizer.x, query)
    assert_array_equal(optimizer.y, np.arange(7.0))
    assert optimizer.g.shape == optimizer.factor_values.shape == (7, 0)
    f = begin(case)[1]
    for _ in range(5):
        query = optimizer.ask(20, optimizer.x[:0])
        query = query[: (len(query) + 1) // 2]
        optimizer.tell(query, Observation.of(np.array([f(q) for q in query])))
    assert sound(optimizer, play(optimizer, f, steps=2, room=4))


@pytest.mark.parametrize("one", marked(case for case in CASES if case.constrained), ids=str)
def test_it_takes_constraints(one, smooth):
    """That are met nowhere, somewhere and everywhere."""
    domain, _ = on(one, smooth)
    first = np.random.default_rng(1).random((6, 2)) if one.box else np.arange(6)
    for slack in (-1.0, 0.0, 2.0):
        optimizer = one.build(domain, np.random.default_rng(0))

        def evaluate(query, slack=slack):
            points = query if one.box else domain.points[query]
            g = np.column_stack([points[:, 0] - 0.5, 0.25 - points[:, 1] ** 2]) - slack
            return Observation(-((points - 0.4) ** 2).sum(1), g, np.empty((len(query), 0)))

        optimizer.tell(first, evaluate(first))
        for _ in range(4):
            before = state(optimizer)
            query = optimizer.ask(3, optimizer.x[:0])
            assert state(optimizer) == before
            assert inside(query, domain)
            optimizer.tell(query, evaluate(query))
        assert optimizer.g.shape == (len(optimizer.x), 2)
        assert sound(optimizer, [])
        if (optimizer.g <= 0).all(axis=1).any():
            assert (evaluate(optimizer.recommend()).g <= 0).all()
        twin, nothing = pickle.loads(pickle.dumps(optimizer)), optimizer.x[:0]
        assert_array_equal(twin.ask(20, nothing), optimizer.ask(20, nothing))


def test_constraints_and_factor_values_are_kept_in_order():
    optimizer = algorithms.load("random_search.RandomSearch")(Box(1), np.random.default_rng(0))
    for step in range(3):
        y = np.array([step, step + 0.5])
        optimizer.tell(
            np.full((2, 1), y.mean()),
            Observation(y, np.column_stack([-y, y - 1.2]), np.column_stack([y, 2 * y, 3 * y])),
        )
    assert optimizer.g.shape == (6, 2)
    assert optimizer.factor_values.shape == (6, 3)
    assert_array_equal(optimizer.g[:, 0], -optimizer.y)
    assert_array_equal(optimizer.factor_values[:, 2], 3 * optimizer.y)
    assert_array_equal(optimizer.recommend(), [[1.25]])  # y = 1 is the best feasible one
    infeasible = algorithms.load("random_search.RandomSearch")(Box(1), np.random.default_rng(0))
    infeasible.tell(
        np.array([[0.1], [0.9]]),
        Observation(np.array([2.0, 3.0]), np.array([[0.1], [0.2]]), np.empty((2, 0))),
    )
    assert_array_equal(infeasible.recommend(), [[0.9]])


@pytest.mark.parametrize(
    "name",
    ["ADDGPUCB-factor", "GPAcquisition-ei", "GPUCBBox-kandasamy", "LineBO-random", "MSUCB-first"],
)
def test_before_any_observation_the_query_is_uniform(name):
    optimizer = settings.case(name).build(Box(4), np.random.default_rng(3))
    assert optimizer.report() == {} or name == "LineBO-random"
    assert_array_equal(optimizer.ask(5, optimizer.x), np.random.default_rng(3).random((1, 4)))


# of queries in units of the cube; what an improvement must exceed has a unit, and is none here
UNITS = {"DuMBO-mcmc": 1e-6, "LineBO-ascent": 1e-9, "LineBO-random": 1e-9, "LogCEI-noisy": 1e-4}
UNITS |= dict.fromkeys(("BoTorchLogEI-default", "GPAcquisition-ucb", "GPUCBBox-kandasamy"), 1e-3)
UNITS |= dict.fromkeys(("MSUCB-first", "OptunaSampler-gp", "OptunaSampler-tpe"), 1e-3)
UNITS |= dict.fromkeys(("SCBO-paper", "TuRBO-code"), 1e-3)


@pytest.mark.parametrize("name", UNITS)
def test_units_of_values_and_constraints_do_not_matter(name):
    one = settings.case(name)
    x = np.random.default_rng(7).random((12, 2))
    y, g = 2 + np.cos(5 * x[:, 0]) + x[:, 1], np.column_stack([x[:, 0] - 0.5, 0.2 - x[:, 1]])
    asked = []
    for scale, shift, constraints in ((1.0, 0.0, [1.0, 1.0]), (2.0**20, 1e8, [1e3, 2.0**-30])):
        optimizer = one.build(Box(2), np.random.default_rng(0))
        seen = g * constraints if one.constrained else g[:, :0]
        optimizer.tell(x, Observation(scale * y + shift, seen, np.empty((len(x), 0))))
        asked.append(optimizer.ask(1, x[:0]))
    assert_allclose(*asked, atol=UNITS[name])


@pytest.mark.parametrize("name", ["GPUCBBox-noise-free", "MSUCB-first", "LineBO-random"])
def test_without_noise_in_the_gram_matrix_predictions_go_through_the_data(name):
    import torch

    case, x = settings.case(name), np.random.default_rng(8).random((8, 2))
    for gram in ("noise-free", "noisy"):
        parameters = {**case.parameters, "gram": gram}
        optimizer = algorithms.build(case.name, Box(2), np.random.default_rng(0), parameters)
        optimizer.tell(x, Observation.of(10 + np.sin(6 * x).sum(1)))
        mean, variance = optimizer.posterior(torch.from_numpy(x))
        u = (optimizer.y - optimizer.y.mean()) / optimizer.y.std(ddof=1)
        assert (np.abs(mean.numpy() - u).max() < 1e-6) == (gram == "noise-free")
        assert (variance.max() < 1e-8) == (gram == "noise-free")
