"""What every optimizer promises, whatever it does inside."""

import inspect
import pickle
import random
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import algorithms
from algorithms.api import Arms, Box, Observation, Optimizer

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
        return (
            query.shape == (len(query), domain.d)
            and query.dtype == np.float64
            and ((query >= 0) & (query <= 1)).all()
        )
    return (
        query.shape == (len(query),)
        and query.dtype == np.int64
        and ((query >= 0) & (query < len(domain))).all()
    )


def test_every_algorithm_file_is_tested(cases):
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
    assert {case.name for case in cases} == classes, (
        "add the missing class to CASES in tests/conftest.py"
    )
    for case in cases:
        assert algorithms.load(case.name).__name__ == case.name.partition(".")[2]
        assert (Box if case.box else Arms) in algorithms.load(case.name).domains
        assert case.constrained == algorithms.load(case.name).constrained


def test_an_unknown_class_is_refused():
    with pytest.raises(LookupError, match=r"expected a class 'BKBB' in algorithms/bkb.py"):
        algorithms.load("bkb.BKBB")


@pytest.mark.parametrize("room", [1, 3, 1000])
def test_it_asks_for_1_to_room_queries_inside_the_domain(case, begin, play, room):
    optimizer, f = begin(case)
    for query in play(optimizer, f, steps=15, room=room):
        assert 1 <= len(query) <= room
        assert inside(query, optimizer.domain)
    assert len(optimizer.x) == len(optimizer.y) == len(optimizer.g) > 15
    assert inside(optimizer.recommend(), optimizer.domain)
    assert len(optimizer.recommend()) == 1
    assert all(
        isinstance(name, str) and np.isfinite(value) for name, value in optimizer.report().items()
    )


@pytest.mark.parametrize("told", [0, 1, 12])
def test_ask_report_and_recommend_change_nothing_but_the_generator(case, begin, play, told):
    optimizer, f = begin(case)
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


def test_tell_changes_the_state(case, begin, play):
    optimizer, f = begin(case)
    before = state(optimizer)
    play(optimizer, f, steps=1)
    assert state(optimizer) != before


@pytest.mark.parametrize("told", [0, 1])
def test_tell_keeps_no_hold_of_what_it_was_given(case, begin, told):
    optimizer, f = begin(case)
    if told == 0:
        optimizer = case.build(optimizer.domain, np.random.default_rng(0))
    query = np.full((3, 2), 0.5) if case.box else np.array([5, 6, 5])
    y, g, factors = np.array([f(q) for q in query]), np.ones((3, 0)), np.ones((3, 0))
    if case.name == "random_search.RandomSearch" and told == 0:
        g, factors = np.ones((3, 2)), np.ones((3, 4))
    optimizer.tell(query, Observation(y, g, factors))
    kept, asked = state(optimizer), query.copy()
    query[:], y[:], g[:], factors[:] = 0, -7.0, 9.0, 9.0
    assert state(optimizer) == kept
    assert_array_equal(optimizer.x[-3:], asked)


def test_one_seed_gives_one_trace_whatever_the_global_generators_do(case, begin, play):
    traces = []
    for between in (lambda: None, scramble):
        optimizer, f = begin(case, seed=3)
        traces.append(np.concatenate(play(optimizer, f, steps=25, room=4, between=between)))
    assert_array_equal(*traces)


def test_it_draws_from_no_global_generator(case, begin, play):
    python, numpy = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    optimizer, f = begin(case)
    play(optimizer, f, steps=5, room=4)
    assert random.getstate() == python
    assert str(np.random.get_state()) == numpy  # noqa: NPY002


def test_a_pickle_in_the_middle_continues_with_the_identical_trace(case, begin, play):
    optimizer, f = begin(case, seed=1)
    play(optimizer, f, steps=12, room=3)
    twin = pickle.loads(pickle.dumps(optimizer))
    rest, again = (play(each, f, steps=20, room=3) for each in (optimizer, twin))
    assert_array_equal(np.concatenate(rest), np.concatenate(again))
    assert optimizer.report() == twin.report()
    assert_array_equal(optimizer.recommend(), twin.recommend())


class Sphere:
    """A domain that nobody knows."""


def test_a_wrong_domain_is_refused_with_a_sentence(case):
    kind = algorithms.load(case.name)
    for stranger in (
        Sphere(),
        *[
            alien
            for alien in (Box(2), Arms(np.zeros((3, 2))))
            if not isinstance(alien, kind.domains)
        ],
    ):
        expected = " or ".join(domain.__name__ for domain in kind.domains)
        with pytest.raises(
            TypeError,
            match=(
                f"{kind.__name__} works on {expected}, got {type(stranger).__name__}: choose"
                " another"
            ),
        ):
            case.build(stranger, np.random.default_rng(0))


@pytest.mark.parametrize("scale", [0.0, 1e-8, 1e8, -1e8])
def test_it_survives_constant_huge_and_tiny_values(case, begin, play, scale):
    optimizer, f = begin(case)
    for query in play(
        optimizer,
        lambda q: scale * f(q) if scale else 5.0,
        steps=12,
        room=4,
        noise=0.05 * abs(scale),
    ):
        assert inside(query, optimizer.domain)
    assert all(np.isfinite(value) for value in optimizer.report().values())
    assert inside(optimizer.recommend(), optimizer.domain)


def test_it_survives_values_that_are_equal_for_a_while_and_then_vary(case, smooth, play):
    """A floor at which most of a domain lies: a design of two and the first evaluations all show
    it.
    """
    domain = Box(2) if case.box else Arms(smooth(1)[0])
    optimizer = case.build(domain, np.random.default_rng(0))
    first = np.array([[0.25, 0.75], [0.9, 0.1]]) if case.box else np.array([3, 30])
    optimizer.tell(first, Observation.of(np.full(2, -60.0)))

    def rises(query):
        return -60.0 + 50 * float(query[0] if case.box else domain.points[query, 0])

    asked = play(optimizer, lambda query: -60.0, steps=7, noise=0.0)
    assert all(np.isfinite(value) for value in optimizer.report().values())
    asked += play(optimizer, rises, steps=7, noise=0.0)
    assert all(inside(query, domain) for query in asked)
    assert all(np.isfinite(value) for value in optimizer.report().values())
    assert inside(optimizer.recommend(), domain)


def test_constraints_that_it_does_not_heed_change_no_query(unconstrained_case, begin):
    """A problem may show where its simulator failed to an optimizer that has no use for it."""
    case, queries = unconstrained_case, []
    for m in (0, 1):
        optimizer, f = begin(case)
        optimizer = case.build(optimizer.domain, np.random.default_rng(4))
        told = np.array([[0.25, 0.75], [0.9, 0.1]]) if case.box else np.array([3, 30])
        for _ in range(6):
            y, g = np.array([f(one) for one in told]), np.ones((len(told), m))
            optimizer.tell(told, Observation(y, g, np.empty((len(told), 0))))
            told = optimizer.ask(2, optimizer.x[:0])
        queries.append(optimizer.x)
        assert optimizer.g.shape == (len(optimizer.x), m)
    assert_array_equal(*queries)


@pytest.mark.parametrize("table", ["pairs", "one point", "one arm"])
def test_it_survives_duplicated_arms(arms_case, smooth, begin, play, table):
    points = smooth(1)[0]
    points = {
        "pairs": np.vstack([points[:30]] * 2),
        "one point": np.repeat(points[:1], 60, axis=0),
        "one arm": points[:1],
    }[table]
    optimizer, f = begin(arms_case, points=points)
    for query in play(optimizer, f, steps=20, room=4):
        assert inside(query, optimizer.domain)
    assert all(np.isfinite(value) for value in optimizer.report().values())


def test_it_takes_an_initial_design_in_one_tell(case, begin, play, smooth):
    domain = Box(2) if case.box else Arms(smooth(1)[0])
    query = (
        np.random.default_rng(0).random((7, 2)) if case.box else np.array([3, 9, 3, 27, 40, 40, 40])
    )
    optimizer = case.build(domain, np.random.default_rng(0))
    assert len(optimizer.x) == 0
    optimizer.tell(query, Observation.of(np.arange(7.0)))
    assert_array_equal(optimizer.x, query)
    assert_array_equal(optimizer.y, np.arange(7.0))
    assert optimizer.g.shape == optimizer.factor_values.shape == (7, 0)
    f = begin(case)[1]
    for asked in play(optimizer, f, steps=5, room=4):
        assert inside(asked, domain)


def test_it_takes_a_prefix_of_what_it_asked_for(case, begin, play):
    optimizer, f = begin(case)
    for _ in range(12):
        query = optimizer.ask(20, optimizer.x[:0])
        query = query[: (len(query) + 1) // 2]
        optimizer.tell(query, Observation.of(np.array([f(q) for q in query])))
    told = len(optimizer.y)
    for asked in play(optimizer, f, steps=5, room=4):
        assert inside(asked, optimizer.domain)
    assert len(optimizer.x) > told


@pytest.mark.parametrize(
    "slack", [-1.0, 0.0, 2.0], ids=["met nowhere", "met somewhere", "met everywhere"]
)
def test_it_takes_constraints(constrained_case, smooth, slack):
    domain = Box(2) if constrained_case.box else Arms(smooth(1)[0])
    optimizer = constrained_case.build(domain, np.random.default_rng(0))

    def evaluate(query):
        points = query if constrained_case.box else domain.points[query]
        g = np.column_stack([points[:, 0] - 0.5, 0.25 - points[:, 1] ** 2]) - slack
        return Observation(-((points - 0.4) ** 2).sum(1), g, np.empty((len(query), 0)))

    first = np.random.default_rng(1).random((6, 2)) if constrained_case.box else np.arange(6)
    optimizer.tell(first, evaluate(first))
    for _ in range(10):
        before = state(optimizer)
        query = optimizer.ask(3, optimizer.x[:0])
        assert state(optimizer) == before
        assert inside(query, domain)
        optimizer.tell(query, evaluate(query))
    assert optimizer.g.shape == (len(optimizer.x), 2)
    assert all(np.isfinite(value) for value in optimizer.report().values())
    assert inside(optimizer.recommend(), domain)
    if (optimizer.g <= 0).all(axis=1).any():
        assert (evaluate(optimizer.recommend()).g <= 0).all()
    twin = pickle.loads(pickle.dumps(optimizer))
    assert_array_equal(optimizer.ask(3, optimizer.x[:0]), twin.ask(3, optimizer.x[:0]))


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
    ("name", "change", "message"),
    [
        (
            "eps_greedy.EpsGreedy",
            {"model": "forest"},
            "model: expected empirical-mean or gaussian-process, got 'forest'",
        ),
        (
            "gp_ucb.GPUCB",
            {"posterior": "sparse"},
            "posterior: expected distinct-arms or textbook, got 'sparse'",
        ),
        ("gp_bucb.GPBUCB", {"rule": "mean"}, "rule: expected product or sum, got 'mean'"),
        (
            "bbkb.BBKB",
            {"rule": "local"},
            "rule: expected global or global-local or global-local-appendix, got 'local'",
        ),
        ("bbkb.BBKB", {"start": "uniform"}, "start: expected resparsify or bless, got 'uniform'"),
        (
            "regularized_evolution.RegularizedEvolution",
            {"replacement": "no"},
            "replacement: expected with or without, got 'no'",
        ),
        (
            "regularized_evolution.RegularizedEvolution",
            {"tournament": 9},
            "expected 1 <= tournament <= population, got tournament 9, population 8",
        ),
        (
            "regularized_evolution.RegularizedEvolution",
            {},
            "mutates an arm into a neighbour, and this problem's arms have none",
        ),
        ("bkb.BKB", {"beta": "big"}, "beta: expected theorem or reference-code, got 'big'"),
        ("bkb.BKB", {"bandwidth": 0.0}, "bandwidth: expected a positive number, got 0.0"),
    ],
)
def test_a_parameter_without_a_meaning_is_refused(cases, name, change, message):
    parameters = next(case.parameters for case in cases if case.name == name)
    with pytest.raises(ValueError, match=message):
        algorithms.load(name)(
            Arms(np.zeros((3, 2))), np.random.default_rng(0), **{**parameters, **change}
        )
