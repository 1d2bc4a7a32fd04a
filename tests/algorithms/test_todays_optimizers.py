"""Adapters ask what their libraries ask by hand, in their own sense, with their own constraints."""

import copy
from functools import partial

import botorch
import cma
import gpytorch
import nevergrad
import numpy as np
import optuna
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

import algorithms
from algorithms.api import Box, Observation
from tests.algorithms.grouped import played

DESIGN = np.random.default_rng(300).random((8, 2))
BEST = np.array([0.3, 0.6])
NAMES = {
    "logei": ("botorch_logei.BoTorchLogEI", {"restarts": 2, "raw": 16}),
    "gp": ("optuna_sampler.OptunaSampler", {"sampler": "gp", "startup": 4}),
    "tpe": ("optuna_sampler.OptunaSampler", {"sampler": "tpe", "startup": 4}),
    "cma": ("pycma.PyCMA", {"sigma": 0.3, "growth": 2}),
    "ngopt": ("nevergrad_ngopt.NevergradNGOpt", {"horizon": 60}),
}


def bowl(x):
    """Largest, 0, at BEST."""
    return -((x - BEST) ** 2).sum(-1)


def wall(x):
    """At most 0 right of 0.5, where the largest bowl is -0.04."""
    return 0.5 - x[..., 0]


def shown(query, constrained=False):
    g = wall(query)[:, None] if constrained else np.empty((len(query), 0))
    return Observation(bowl(query), g, np.empty((len(query), 0)))


def new(name, seed=300, **changes):
    kind, parameters = NAMES[name]
    return algorithms.build(kind, Box(2), np.random.default_rng(seed), {**parameters, **changes})


def told(name, constrained=False, **changes):
    optimizer = new(name, **changes)
    optimizer.tell(DESIGN, shown(DESIGN, constrained))
    return optimizer


def play(optimizer, steps, constrained=False):
    return played(optimizer, steps, partial(shown, constrained=constrained))


def seed_of(optimizer, top):
    """The draw from which the next query comes, of a copy of the generator."""
    return int(copy.deepcopy(optimizer.rng).integers(top))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "steps"), [("logei", 8), ("gp", 15), ("tpe", 80), ("cma", 90)])
def test_it_finds_the_best_feasible_point(name, steps):
    optimizer = play(told(name, constrained=True), steps, constrained=True)
    best = optimizer.recommend()
    assert wall(best)[0] <= 0
    assert bowl(best)[0] > -0.05
    later = optimizer.x[len(DESIGN) :]
    assert wall(later[-len(later) // 3 :]).max() < 0.3  # it does not stay at what is better outside


@pytest.mark.parametrize("constrained", [False, True])
def test_logei_is_what_botorch_suggests(constrained):
    optimizer = told("logei", constrained)
    torch.manual_seed(seed_of(optimizer, 2**63))
    X, y, g = torch.from_numpy(DESIGN), bowl(DESIGN), wall(DESIGN)
    outputs, given = (y - y.mean())[:, None] / y.std(ddof=1), {}
    if constrained:
        outputs = np.column_stack([outputs, g / np.sqrt(np.mean(g**2))])
        given["constraints"] = [lambda Z: Z[..., 1]]
        given["objective"] = botorch.acquisition.objective.LinearMCObjective(
            torch.tensor([1.0, 0.0], dtype=torch.float64)
        )
    model = botorch.models.SingleTaskGP(X, torch.from_numpy(outputs))
    botorch.fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    promise = botorch.acquisition.qLogNoisyExpectedImprovement(
        model, X, prune_baseline=True, **given
    )
    cube = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    theirs, _ = botorch.optim.optimize_acqf(promise, cube, q=1, num_restarts=2, raw_samples=16)
    assert_allclose(optimizer.ask(1, DESIGN[:0]), theirs.numpy(), atol=1e-6)


def test_logei_leaves_pytorchs_generator_alone():
    optimizer = told("logei")
    before = torch.random.get_rng_state()
    optimizer.ask(1, DESIGN[:0])
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize(("name", "sampler"), [("gp", "GPSampler"), ("tpe", "TPESampler")])
def test_a_sampler_asks_what_a_study_that_minimises_asks(name, sampler, constrained):
    optimizer = told(name, constrained)
    kind = getattr(optuna.samplers, sampler)
    seed = seed_of(optimizer, 2**31)
    study = optuna.create_study(sampler=kind(seed=seed, n_startup_trials=4))
    y, g = bowl(DESIGN), wall(DESIGN)
    for x, value, violation in zip(
        DESIGN, (y.mean() - y) / y.std(ddof=1), g / np.sqrt(np.mean(g**2)), strict=True
    ):
        study.enqueue_trial({"x0": x[0], "x1": x[1]})
        trial = study.ask()
        for axis in range(2):
            trial.suggest_float(f"x{axis}", 0.0, 1.0)
        if constrained:
            trial.set_constraint("g0", float(violation))
        study.tell(trial, float(value))
    # a fresh sampler: that of the study has drawn for each trial
    study.sampler = kind(seed=seed, n_startup_trials=4)
    space = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in ("x0", "x1")}
    theirs = study.ask(space).params
    assert_allclose(optimizer.ask(1, DESIGN[:0]), [[theirs["x0"], theirs["x1"]]], atol=1e-7)


@pytest.mark.parametrize("constrained", [False, True])
def test_cma_is_pycmas_loop_of_ask_and_tell(constrained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pycma writes there
    optimizer = new("cma")
    draws = copy.deepcopy(optimizer.rng)
    optimizer.tell(DESIGN, shown(DESIGN, constrained))
    play(optimizer, 30, constrained)
    numbers = []
    feasible = wall(DESIGN) <= 0 if constrained else np.ones(len(DESIGN), dtype=bool)
    best = DESIGN[np.argmax(np.where(feasible, bowl(DESIGN), -np.inf))]
    settings = {"bounds": [0, 1], "seed": np.nan, "verbose": -9}
    settings["randn"] = lambda *shape: numbers[-1].standard_normal(shape)
    strategy = cma.CMAEvolutionStrategy(best, 0.3, settings)
    theirs, value = [], lambda x: -bowl(x)
    if constrained:
        value = cma.ConstrainedFitnessAL(value, lambda x: [wall(x)])
    for _ in range(5):
        numbers.append(np.random.default_rng(int(draws.integers(2**63))))
        points = strategy.ask()
        theirs += points
        draws.random((len(points), 2))  # a draw for each ask
        strategy.tell(points, [value(x) for x in points])
        if constrained:
            value.update(strategy)
    assert strategy.popsize == 6 and len(theirs) == 30
    assert_array_equal(optimizer.x[len(DESIGN) :], theirs)


def test_cma_begins_anew_with_a_larger_population():
    optimizer = told("cma")
    assert optimizer.report() == {"sigma": 0.3, "population": 6.0, "restarts": 0.0}
    played(optimizer, 40, lambda query: np.zeros(1))
    assert optimizer.report()["restarts"] > 0
    assert optimizer.report()["population"] == 6 * 2 ** optimizer.report()["restarts"]


def test_cma_hands_out_a_generation_and_then_more_of_its_distribution():
    optimizer = told("cma")
    generation = optimizer.ask(10, DESIGN[:0])
    assert len(generation) == 6
    assert_array_equal(optimizer.ask(10, generation[:4]), generation[4:])
    beyond = optimizer.ask(10, generation)
    assert len(beyond) == 1 and not (generation == beyond).all(axis=1).any()
    optimizer.tell(beyond, shown(beyond))
    assert_array_equal(optimizer.ask(10, DESIGN[:0]), generation)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    play(told(name, constrained=True), 2, constrained=True)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("horizon", [60, 500])  # COBYLA, CMA-ES
def test_ngopt_is_nevergrads_loop_of_ask_and_tell(horizon, constrained):
    optimizer = told("ngopt", constrained, horizon=horizon)
    space = nevergrad.p.Array(shape=(2,), lower=0.0, upper=1.0)
    space.random_state = np.random.RandomState(optimizer.seed)
    np.random.seed(optimizer.seed)  # noqa: NPY002  of which its CMA-ES draws
    theirs = nevergrad.optimizers.NGOpt(space, budget=horizon, num_workers=1)

    def tell(candidate):
        violation = [wall(candidate.value)] if constrained else None
        theirs.tell(candidate, -bowl(candidate.value), violation)

    for x in DESIGN:
        tell(theirs.parametrization.spawn_child(new_value=x))
    points = []
    for _ in range(25):
        candidate = theirs.ask()
        points.append(candidate.value)
        tell(candidate)
    play(optimizer, 25, constrained)
    assert_allclose(optimizer.x[len(DESIGN) :], points, atol=1e-12)
    free = play(told("ngopt", horizon=horizon), 25)
    assert (free.x == optimizer.x).all() != constrained  # it hears of constraints


def test_ngopt_tells_the_best_before_its_first_answer_however_it_was_split():
    together, apart = told("ngopt"), new("ngopt")
    for row in range(len(DESIGN)):
        apart.tell(DESIGN[row : row + 1], shown(DESIGN[row : row + 1]))
    assert_array_equal(play(together, 5).x, play(apart, 5).x)
    assert_allclose(together.x[len(DESIGN)], DESIGN[np.argmax(bowl(DESIGN))])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_pending_is_not_asked_for_again(name):
    optimizer = told(name)
    pending = DESIGN[:0]
    for _ in range(3):
        generator = copy.deepcopy(optimizer.rng.bit_generator.state)
        query = optimizer.ask(1, pending)
        if name != "ngopt":  # the same draws: what is pending makes the difference
            optimizer.rng.bit_generator.state = generator
        assert (np.abs(pending - query).max(axis=1) > 1e-6).all()
        pending = np.concatenate([pending, query])
