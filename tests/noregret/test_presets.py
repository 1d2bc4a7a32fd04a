"""Presets are what papers/*.yaml says, but for what depends on one's own problem."""

from functools import cache

import numpy as np
import pytest

import noregret
from noregret import asking, presets
from noregret.catalogue import METHODS, PAPER, PUBLIC, RECOMMENDED
from tests.noregret.own import BOUNDS, NAMES, TABLE, VALUES, begun, line
from workflow.plan import expand, parameters

OWN = {  # parameters that do not come from the paper's run alone, by what they depend on
    "inputs.low": "bounds",
    "inputs.high": "bounds",
    "surrogate.noise_units": "noise",
}


@cache
def planned(paper):
    return expand.load(paper, "paper")


def chosen(name, **options):
    where = {"arms": TABLE} if line(name).domain == "arms" else {"bounds": BOUNDS}
    return parameters.dotted(dict(noregret.optimizer(name, **where, **options).settings.parameters))


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        (name, preset)
        for name in NAMES
        for preset in (PAPER, PUBLIC)
        if preset in line(name).presets
    ],
)
def test_a_preset_is_the_papers_own_run(name, preset):
    """The workflow's curve of the same algorithm, problem and reading has the same parameters."""
    one = line(name)
    reading = one.public if preset == PUBLIC else ""
    plan = planned(one.paper)
    curve = one.algorithm + (f"@{reading}" if reading else "")
    if (one.like, curve) not in plan.aliases:  # a reading that is not run on this problem
        problem = next(where for where, what in plan.aliases if what == curve)
    else:
        problem = one.like
    entry = plan.curve(problem, curve).algorithm_entry
    mine = chosen(name, preset=preset, like=problem)
    theirs = {key: value for key, value in parameters.dotted(dict(entry)).items() if key in mine}
    assert set(theirs) == set(mine)
    differ = {
        key
        for key in mine
        if mine[key] != theirs[key] and not isinstance(theirs[key], dict)  # given by the problem
    }
    assert differ <= set(OWN)


def test_recommended_differs_where_a_reason_is_given():
    for one in METHODS:
        same = chosen(one.name, preset=RECOMMENDED) == chosen(one.name, preset=PAPER)
        assert same == (one.why == ""), one.name


def test_the_horizon_is_the_number_of_evaluations():
    assert chosen("bbkb", evaluations=50)["delta"] == 1 / 50
    assert chosen("bbkb")["delta"] == 1 / 10_000
    assert chosen("go-ucb", evaluations=30)["horizon"] == 30


def test_raw_inputs_are_ones_own_box_where_it_is_one_for_all():
    cube = noregret.optimizer("gp-ei", bounds=[(-2, 4)] * 3, preset=PAPER).settings.parameters
    assert cube["inputs"] == {"low": -2.0, "high": 4.0}
    assert chosen("gp-ei", preset=PAPER)["inputs.high"] == 1.0


def test_noise_reaches_what_a_method_has_for_it():
    assert chosen("lcbo")["surrogate.noise_units"] == "models"
    told = chosen("lcbo", noise=0.5)
    assert (told["surrogate.noise"], told["surrogate.noise_units"]) == (0.25, "observed")
    assert chosen("dumbo")["gram"] == chosen("dumbo", noise=0)["gram"] == "noise-free"
    assert chosen("dumbo", noise=1.0)["gram"] == "noisy"
    assert chosen("dumbo", preset=PUBLIC, noise=0)["gram"] == "inverse"
    assert chosen("saasbo", noise=1.0)["surrogate.noise_as"] == "learned"
    assert "xi" in chosen("bbkb", noise=1.0)
    assert chosen("cei")["likelihood"] == chosen("cei", noise=0.5)["likelihood"] == "noisy"
    assert chosen("cei", noise=0)["likelihood"] == "noise-free"
    assert chosen("cei", preset=PAPER, noise=0.5)["surrogate.noise"] == 0.25


def test_noise_over_arms_is_in_ones_own_units():
    optimizer = begun("gp-ucb", noise=0.5, initial=3)
    for row, y in ((0, 10.0), (1, 20.0), (2, 15.0)):
        optimizer.tell(row, y)
    optimizer.ask()
    assert optimizer._method.confidence.xi == 0.05
    assert optimizer._method.confidence.lam == pytest.approx(0.0025)
    np.testing.assert_array_equal(optimizer._method.y, [1.0, 0.0, 0.5])


def test_what_is_overridden_wins():
    told = chosen("lcbo", noise=0.5, surrogate={"noise": 0.125}, penalty={"factor": 3})
    names = ("surrogate.noise", "penalty.factor", "penalty.power")
    assert [told[name] for name in names] == [0.125, 3, 0.25]


def test_like_takes_the_values_of_another_problem():
    assert chosen("bbkb", preset=PAPER)["bandwidth"] == 12.5
    assert chosen("bbkb", preset=PAPER, like="abalone")["bandwidth"] == 17.5
    assert chosen("bbkb", like="nas", noise=0.5)["lam"] == 0.25
    assert chosen("lcbo", like="beam")["batch.exploration"] == 1


def test_the_median_distance_is_that_between_arms():
    bandwidth = chosen("bbkb")["bandwidth"]
    points = (TABLE - TABLE.mean(0)) / TABLE.std(0)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert bandwidth == pytest.approx(np.median(apart[apart > 1e-4]))


def test_data_that_exist_take_the_place_of_the_design():
    optimizer = begun("gp-ei", initial=5)
    x = np.random.default_rng(0).random((3, 2)) * [8, 16] + [-5, 0]
    optimizer.tell(x, x.sum(1))
    assert optimizer._asks == 0
    optimizer.ask(2)
    assert optimizer._asks == 0  # two points of the design were lacking
    optimizer.ask()
    assert optimizer._asks == 1


def test_points_of_the_design_do_not_depend_on_how_many_are_asked():
    one, other = begun("gp-ei", initial=9), begun("turbo", initial=9)
    together = one.ask(9)
    np.testing.assert_array_equal(
        together, [begun("gp-ei", initial=9).ask(k)[-1] for k in range(1, 10)]
    )
    assert not np.array_equal(together, other.ask(9))


def test_a_method_by_its_number_and_by_its_name():
    listed = noregret.methods()
    assert "GP-EI" in listed and listed[0] in listed and "gp_ei" not in listed
    assert listed[0] is listed["lcbo"] and len(listed) == len(METHODS)
    assert repr(listed).splitlines()[0].startswith("name ")
    assert len(repr(listed).splitlines()) == len(METHODS) + 1
    assert presets.target(listed["lcbo"]) == "lcbo.LCBO"


@pytest.mark.parametrize("name", ["bbkb", "gp-bucb"])
def test_a_method_with_batches_says_how_many_it_wants(name):
    optimizer, other = (begun(name, initial=2, lam=1.0) for _ in range(2))
    for one in (optimizer, other):
        one.tell([0, 60, 120], [1.0, 2.0, 4.0])
    own = optimizer.ask(60, whole=False)
    assert 1 < len(own) < 60
    np.testing.assert_array_equal(own, other.ask(60)[: len(own)])
    assert len(optimizer.pending) == len(own)


def test_a_method_without_its_libraries_says_so(monkeypatch):
    monkeypatch.setattr(presets, "find_spec", lambda library: None)
    with pytest.raises(ValueError, match=r"saasbo: expected jax and numpyro, .* extra 'saasbo'"):
        begun("saasbo")
    begun("gp-ei")


def test_a_parameter_with_the_name_of_an_argument_is_reached_by_parameters():
    """LCBO has parameters `constraints`, GO-UCB has `method`."""
    lcbo = noregret.optimizer(
        "lcbo", bounds=BOUNDS, constraints=1, parameters={"constraints": "equality"}
    )
    assert lcbo.settings.parameters["constraints"] == "equality"
    assert lcbo.settings.constraints == 1
    goucb = noregret.optimizer(
        "go-ucb", bounds=BOUNDS, evaluations=9, parameters={"method": "adam"}, units="standardised"
    )
    assert goucb.settings.parameters["method"] == "adam"
    assert goucb.settings.parameters["units"] == "standardised"


@pytest.mark.parametrize(("rows", "is_median"), [(40, True), (2001, False)])
def test_async_ts_takes_the_median_distance_where_the_table_is_small(rows, is_median):
    """A draw over all rows of a large one would take minutes."""
    table = np.random.default_rng(0).uniform(-1, 1, (rows, 3))
    parameters_ = noregret.optimizer("async-ts", arms=table).settings.parameters
    assert (parameters_["bandwidth"] != 10) == is_median


def bandwidth(optimizer):
    return optimizer._method.posterior.kernel.bandwidth


def test_a_bandwidth_is_learnt_from_what_was_told():
    """A function that varies fast along a table gets a short bandwidth, a slow one a long one."""
    found = []
    for rate in (0.5, 8.0):
        optimizer = begun("gp-ucb")
        first = optimizer.settings.parameters["bandwidth"]
        rows = np.random.default_rng(0).permutation(len(TABLE))[:100]
        optimizer.tell(rows, np.sin(rate * TABLE[rows]).sum(1))
        optimizer.ask()
        found.append(bandwidth(optimizer) / first)
    assert found[0] > 1 > found[1]
    own = begun("gp-ucb", bandwidth=0.7)
    own.tell(rows, TABLE[rows].sum(1))
    own.ask()
    assert bandwidth(own) == 0.7 and own.settings.learnt == ()


def test_a_bandwidth_is_learnt_anew_when_there_is_more(monkeypatch):
    rows, real = [], asking.by_evidence
    monkeypatch.setattr(asking, "by_evidence", lambda X, *a: rows.append(len(X)) or real(X, *a))
    optimizer = begun("gp-ucb", initial=4)
    for _ in range(12):
        row = optimizer.ask()
        optimizer.tell(row, VALUES[row])
    assert rows == [4, 5, 7, 9]
    other = begun("gp-ucb", preset=PAPER)
    other.tell([0, 1], [1.0, 2.0])
    other.ask()
    assert len(rows) == 4


@pytest.mark.parametrize("name", ["gp-ucb", "bkb", "bbkb"])
def test_methods_over_four_columns_beat_random_search(name):
    """Under the median distance the best visited row of this table is about the 120th of 5000."""
    rng = np.random.default_rng(100)
    table = rng.uniform(-1, 1, (5000, 4))
    value, noise = (table**2).sum(1), iter(rng.normal(0, 0.05, 60))
    found = noregret.minimize(
        lambda row: value[row] + next(noise), arms=table, method=name, evaluations=60, seed=0
    )
    assert (value < value[found.history.x].min()).sum() <= 5
