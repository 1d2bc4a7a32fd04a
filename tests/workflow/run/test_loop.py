"""The loop: exact budgets, paired noise, and refusals that say where it happened."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from algorithms.api import Observation
from problems.api import Evaluation, Problem
from tests.workflow.run.scripted import Scripted, built, is_prefix, noise, problem
from workflow.run import loop
from workflow.run.boundary import BadAnswer
from workflow.trace import record
from workflow.trace.curves import UNLIMITED
from workflow.trace.seeds import rng


class Script(Scripted):
    """Asks for the arms 0, 1, 2, ... in batches of a given width, whatever it is told."""

    def __init__(self, domain, rng, *, width):
        super().__init__(domain, rng, width=width)
        self.told = []

    def ask(self, room, pending):
        self.rooms.append(room)
        return (len(self.y) + np.arange(min(self.width, room))) % len(self.domain)

    def tell(self, query, obs):
        super().tell(query, obs)
        self.told.append(len(query))


@pytest.fixture
def toy(smooth):
    points, f = smooth(0, A=40)
    return problem((points, f), lambda query, draw: f[query] * 2)


def started(problem, optimizer, query=(7,)):
    query = np.array(query)
    progress = loop.Progress(optimizer)
    loop.start(progress, query, loop.evaluate(problem, query, noise, first=0))
    return progress


def finished(problem, progress, budget, room=UNLIMITED):
    while progress.rows < budget:
        loop.step(problem, progress, budget=budget, room=room, noise=noise)
    return progress


def script(problem, width, budget, room=UNLIMITED):
    progress = started(problem, Script(problem.domain, rng(0), width=width))
    return finished(problem, progress, budget, room)


def test_the_budget_is_exact_and_the_last_batch_truncated(toy):
    for width in [1, 3, 7, 1000]:
        for budget in [1, 2, 20, 22]:
            progress = script(toy, width, budget)
            columns = progress.columns()
            assert progress.rows == len(columns["y"]) == len(progress.optimizer.y) == budget
            assert sum(progress.optimizer.told) == budget
            assert_array_equal(columns["evaluation"], np.arange(budget))
            sizes = np.bincount(columns["batch"])
            assert sizes[0] == 1
            assert (sizes[1:-1] == width).all()
            assert (sizes[1:] <= width).all()
            assert_array_equal(columns["query"][1:], (1 + np.arange(budget - 1)) % 40)
            assert_array_equal(columns["y"], progress.optimizer.y)


def test_an_optimizer_hears_of_the_room_and_never_of_the_budget(toy):
    progress = script(toy, width=1000, budget=23, room=5)
    assert progress.optimizer.rooms == [5] * 5
    assert progress.optimizer.told == [1, 5, 5, 5, 5, 2]


def test_the_noise_of_an_evaluation_is_its_own_whatever_the_batches(toy):
    one, *others = (script(toy, width, budget=30).columns() for width in (1, 3, 7, 1000))
    for other in others:
        for name in ("query", "y", "true", "seconds"):
            assert_array_equal(other[name], one[name])
    residual = one["y"] - one["true"]
    own = [noise(i).standard_normal() for i in range(30)]
    assert_array_equal(np.argsort(residual), np.argsort(own))
    assert len(set(residual.tolist())) == 30


def test_rows_say_what_was_seen_what_was_true_and_what_the_optimizer_reported(toy):
    columns = script(toy, width=3, budget=8).columns()
    assert_array_equal(columns["batch"], [0, 1, 1, 1, 2, 2, 2, 3])
    # of the state that chose the batch
    assert_array_equal(columns["report.known"], [np.nan, 1, 1, 1, 4, 4, 4, 7])
    assert_array_equal(columns["seconds"], 2 * columns["true"])
    for name in ("timing.ask", "timing.tell", "timing.evaluate"):
        assert columns[name].shape == (8,)
        assert (columns[name] >= 0).all()
        # the seconds of a batch stand in its first row
        assert_array_equal(columns[name][[2, 3, 5, 6]], 0)


def known(problem, optimizer, query):
    """A run that was told evaluations which existed before it."""
    query, progress = np.array(query), loop.Progress(optimizer)
    loop.start_from_data(progress, query, loop.evaluate(problem, query, noise, first=0))
    return progress


@pytest.mark.parametrize("room", [1, 4])
def test_existing_data_and_a_counted_design_differ_only_in_what_counts(arms_case, toy, room):
    query, columns = [3, 9, 3, 27, 38], []
    for start, budget in ((known, 15), (started, 20)):
        run = start(toy, built(arms_case, toy), query)
        columns.append(finished(toy, run, budget, room).columns())
    data, counted = columns
    assert_array_equal(data.pop("evaluation"), counted.pop("evaluation")[5:] - 5)
    assert set(data) == set(counted)
    later = {name: values[5:] for name, values in counted.items()}
    assert record.trace_hash(data) == record.trace_hash(later)


def test_the_seconds_of_learning_from_existing_data_stand_beside_the_rows(toy, monkeypatch):
    clock = [0.0]

    class Slow(Script):
        def tell(self, query, obs):
            clock[0] += 2.0 * len(query)
            super().tell(query, obs)

    monkeypatch.setattr(loop.time, "process_time", lambda: clock[0])
    progress = known(toy, Slow(toy.domain, rng(0), width=3), [30, 31, 32, 33, 34])
    finished(toy, progress, budget=6)
    assert progress.given_seconds == 10.0
    assert_array_equal(progress.columns()["timing.tell"], [6, 0, 0, 6, 0, 0])
    assert started(toy, Slow(toy.domain, rng(0), width=3)).given_seconds == 0.0


def test_constraints_are_recorded(toy):
    def evaluate(query, draw):
        found = toy.evaluate(query, draw)
        g = np.column_stack([found.true.y - 0.5, -found.true.y])
        seen = Observation(found.seen.y, g + 1, g[:, :0])
        return Evaluation(seen, Observation(found.true.y, g, g[:, :0]), found.seconds)

    columns = script(Problem(toy.domain, evaluate), width=4, budget=10).columns()
    expected = np.column_stack([columns["true"] - 0.5, -columns["true"]])
    assert_array_equal(columns["true_g"], expected)
    assert_array_equal(columns["g"], columns["true_g"] + 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", ["seen", "true"])
def test_a_non_finite_objective_is_refused_with_its_index_and_query(toy, bad, side):
    def evaluate(query, draw):
        found = toy.evaluate(query, draw)
        getattr(found, side).y[query == 13] = bad
        return found

    spoiled = Problem(toy.domain, evaluate)
    progress = started(spoiled, Script(toy.domain, rng(0), width=5))
    said = f"evaluation 13: expected a finite objective at query 13, got {bad}: look at"
    with pytest.raises(ArithmeticError, match=said):
        finished(spoiled, progress, budget=30)
    assert progress.rows == 11  # whole batches only: 1 + 5 + 5
    with pytest.raises(ArithmeticError, match="evaluation 0: "):
        started(spoiled, Script(toy.domain, rng(0), width=5), query=[13])


@pytest.mark.parametrize("side", ["seen", "true"])
def test_a_non_finite_constraint_is_refused_too(toy, side):
    def evaluate(query, draw):
        found = toy.evaluate(query, draw)
        shown = {
            name: Observation(of.y, np.zeros((len(query), 2)), of.factor_values)
            for name, of in vars(found).items()
            if name != "seconds"
        }
        shown[side].g[query == 13, 1] = np.nan
        return Evaluation(**shown, seconds=found.seconds)

    said = r"evaluation 0: expected finite constraints at query 13, got \[ 0\. nan\]"
    with pytest.raises(ArithmeticError, match=said):
        started(Problem(toy.domain, evaluate), Script(toy.domain, rng(0), width=5), query=[13])


def test_an_answer_beyond_the_room_is_refused(toy):
    """What else is no answer, test_boundary.py asks."""
    optimizer = Script(toy.domain, rng(0), width=1)
    progress = started(toy, optimizer)
    optimizer.ask = lambda room, pending: np.arange(4)
    with pytest.raises(BadAnswer, match=r"Script\.ask: expected 1 to 3 queries, got"):
        loop.step(toy, progress, budget=100, room=3, noise=noise)
    assert progress.rows == 1


@pytest.mark.parametrize("room", [1, UNLIMITED])
def test_a_shorter_run_is_a_bit_exact_prefix_of_a_longer_one(arms_case, toy, room):
    def columns(budget):
        return finished(toy, started(toy, built(arms_case, toy)), budget, room).columns()

    long = columns(60)
    assert all(is_prefix(columns(budget), long) for budget in (2, 13, 37))
