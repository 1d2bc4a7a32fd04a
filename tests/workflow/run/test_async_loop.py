"""Workers that never wait: list scheduling by a heap, who is told when, the one-worker limit."""

import heapq
import itertools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.workflow.run.scripted import Scripted, alone, built, noise, problem
from workflow.run import async_loop, loop
from workflow.trace import record
from workflow.trace.seeds import rng

A = 60
WORKERS = [1, 2, 3, 7]


class Script(Scripted):
    """Asks for the arms 0, 1, 2, ... in the order in which they begin, at most `width` at once."""

    def __init__(self, domain, rng, *, width=1):
        super().__init__(domain, rng, width=width)
        self.begun, self.missed = 0, []

    def ask(self, room, pending):
        known = np.array([arm for arm in range(self.begun) if arm not in self.x], dtype=np.int64)
        self.rooms.append(room)
        self.missed += [] if np.array_equal(pending, known) else [(pending, known)]
        query = self.begun + np.arange(min(self.width, room))
        self.begun += len(query)
        return query


@pytest.fixture
def toy(smooth):
    """Every evaluation takes a time of its own, some fifty times as long as others."""
    return problem(smooth(0, A=A), lambda query, draw: draw.lognormal(0.0, 1.0, size=len(query)))


@pytest.fixture
def ties(smooth):
    """1, 2 or 3 seconds by the arm, so that evaluations begun at different times end together."""
    seconds = np.random.default_rng(5).integers(1, 4, size=A).astype(float)
    return problem(smooth(0, A=A), lambda query, draw: seconds[query])


def finished(problem, progress, budget, workers):
    while progress.rows < budget:
        async_loop.step(problem, progress, room=workers, noise=noise)
    return progress


def script(problem, workers, budget=40, width=1):
    progress = async_loop.Progress(Script(problem.domain, rng(0), width=width))
    return finished(problem, progress, budget, workers)


def scheduled(lengths, workers):
    """Start and end of each job that takes the worker free first: Graham's list scheduling."""
    free, begins = [0.0] * workers, []
    for length in lengths:
        begins.append(heapq.heappop(free))
        heapq.heappush(free, begins[-1] + length)
    return np.array(begins), np.array(begins) + np.array(lengths)


def begun(problem, case):
    """A run of some optimizer that was told one arm."""
    progress = async_loop.Progress(built(case, problem))
    query = np.array([7])
    async_loop.start(progress, query, loop.evaluate(problem, query, noise, first=0))
    return progress


@pytest.mark.parametrize("counted", [True, False])
def test_one_worker_is_the_loop_of_batches_of_one(arms_case, toy, counted):
    query, columns = np.array([7, 3, 7]), []
    for module in (loop, async_loop):
        progress = module.Progress(built(arms_case, toy))
        start = module.start if counted else loop.start_from_data
        start(progress, query, loop.evaluate(toy, query, noise, first=0))
        while progress.rows < 22:
            if module is loop:
                loop.step(toy, progress, budget=22, room=1, noise=noise)
            else:
                async_loop.step(toy, progress, room=1, noise=noise)
        columns.append(progress.columns())
    batches, events = columns
    assert set(events) - set(batches) == {"started", "finished"}
    assert record.trace_hash({name: events[name] for name in batches}) == record.trace_hash(batches)
    design = 3 if counted else 0
    times = np.cumsum([events["seconds"][:design].max(initial=0.0), *events["seconds"][design:]])
    assert_array_equal(events["started"][design:], times[:-1])
    assert_array_equal(events["finished"][design:], times[1:])


def test_the_schedule_is_that_of_a_heap_of_free_workers(toy, ties):
    """However many are asked for: ties are told as they began, every worker is busy to the end."""
    for workers, width, chosen in itertools.product(WORKERS, [1, 2, 100], [toy, ties]):
        progress = script(chosen, workers, width=width)
        columns = progress.columns()
        assert progress.begun == 40 + workers - 1
        each = (chosen.evaluate(np.array([i]), noise(i)) for i in range(progress.begun))
        began, ended = scheduled([float(one.seconds[0]) for one in each], workers)
        order = np.argsort(ended, kind="stable")[:40]
        assert_array_equal(columns["query"], order)
        assert_array_equal(columns["started"], began[order])
        assert_array_equal(columns["finished"], ended[order])
        assert progress.now == ended[order[-1]]
        for event in progress.running:
            assert (event.started, event.finished) == (began[event.index], ended[event.index])
        is_tied = len(np.unique(columns["finished"])) < 40
        assert is_tied == (chosen is ties and workers > 1)


def test_free_workers_are_offered_until_none_is_left(toy):
    assert script(toy, 5, width=2).optimizer.rooms[:4] == [5, 3, 1, 1]
    assert script(toy, 5, width=100).optimizer.rooms == [5] + [1] * 39


def test_every_ask_sees_exactly_what_is_pending_in_the_order_in_which_it_began(toy):
    for workers in WORKERS:
        optimizer = script(toy, workers).optimizer
        assert optimizer.missed == []
        assert len(optimizer.rooms) == 40 + workers - 1


def test_a_row_reports_the_state_from_which_its_query_was_chosen(toy):
    for workers in WORKERS:
        columns = script(toy, workers).columns()
        # one told for one begun
        assert_array_equal(columns["report.known"], np.maximum(columns["query"] - workers + 1, 0))
        assert_array_equal(columns["evaluation"], np.arange(40))
        assert_array_equal(columns["batch"], np.arange(40))  # every event is told by itself


def test_evaluations_that_take_no_time_are_told_in_order(smooth):
    columns = script(problem(smooth(0, A=A), lambda query, draw: np.zeros(len(query))), 7).columns()
    assert_array_equal(columns["query"], np.arange(40))
    assert_array_equal(columns["finished"], np.zeros(40))


def test_the_noise_is_that_of_the_order_of_beginning(toy):
    for workers in WORKERS:
        columns = script(toy, workers).columns()
        assert_array_equal(columns["y"], alone(toy, columns["query"], first=0))
        # some ended before others that had begun earlier
        assert workers == 1 or (np.diff(columns["query"]) < 0).any()


def test_a_pickle_in_the_middle_continues_with_the_identical_trace(arms_case, toy):
    progress = finished(toy, begun(toy, arms_case), 12, workers=4)
    assert len(progress.running) == 3
    twin = pickle.loads(pickle.dumps(progress))
    one, other = (finished(toy, each, 30, workers=4).columns() for each in (progress, twin))
    assert record.trace_hash(one) == record.trace_hash(other)


def test_a_counted_design_is_evaluated_at_once_and_begins_the_rows(toy):
    query = np.array([50, 51, 52, 53, 54])
    evaluation = loop.evaluate(toy, query, noise, first=0)
    progress = async_loop.Progress(Script(toy.domain, rng(0)))
    async_loop.start(progress, query, evaluation)
    columns = finished(toy, progress, 20, workers=2).columns()
    together = evaluation.seconds.max()
    assert_array_equal(columns["query"][:5], query)
    assert_array_equal(columns["batch"], [*[0] * 5, *range(1, 16)])
    assert_array_equal(columns["started"][:5], np.zeros(5))
    assert_array_equal(columns["finished"][:5], np.full(5, together))
    assert_array_equal(np.sort(columns["started"][5:])[:2], [together, together])
    later = alone(toy, columns["query"][5:], first=5)
    assert_array_equal(columns["y"], [*evaluation.seen.y, *later])


def test_existing_data_stand_in_no_row_take_no_time_and_no_noise_of_the_run(toy):
    query = np.array([50, 51, 52, 53, 54])
    progress = async_loop.Progress(Script(toy.domain, rng(0)))
    loop.start_from_data(progress, query, loop.evaluate(toy, query, noise, first=0))
    columns = finished(toy, progress, 20, workers=2).columns()
    assert_array_equal(progress.optimizer.x, [*query, *columns["query"]])
    assert_array_equal(columns["evaluation"], np.arange(20))
    assert_array_equal(columns["batch"], np.arange(1, 21))
    assert_array_equal(np.sort(columns["started"])[:2], [0, 0])
    assert_array_equal(columns["y"], alone(toy, columns["query"], first=5))
    assert columns["query"].max() < 50


def test_an_answer_for_more_than_the_free_workers_is_refused(toy):
    optimizer = Script(toy.domain, rng(0))
    progress = finished(toy, async_loop.Progress(optimizer), 5, workers=3)
    optimizer.ask = lambda room, pending: np.arange(2)
    with pytest.raises(ValueError, match=r"Script\.ask: expected 1 to 1 queries, got an array"):
        async_loop.step(toy, progress, room=3, noise=noise)
    assert progress.rows == 5


def test_the_seconds_of_an_ask_stand_with_the_first_query_that_it_answered(toy, monkeypatch):
    clock = [0.0]

    class Slow(Script):
        def ask(self, room, pending):
            clock[0] += 5
            return super().ask(room, pending)

        def tell(self, query, obs):
            clock[0] += 2
            super().tell(query, obs)

    monkeypatch.setattr(loop.time, "process_time", lambda: clock[0])
    progress = async_loop.Progress(Slow(toy.domain, rng(0), width=3))
    columns = finished(toy, progress, 12, workers=3).columns()
    first = (columns["query"] == 0) | (columns["query"] > 2)
    assert_array_equal(columns["timing.ask"], 5.0 * first)
    assert first.sum() == 10  # the other two began with the first ask
    assert_array_equal(columns["timing.tell"], np.full(12, 2.0))
