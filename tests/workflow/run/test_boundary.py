"""What an optimizer or a simulator does to the arrays in its hands never reaches the record."""

from dataclasses import replace

import numpy as np
import pytest

from algorithms.api import Arms, Box, Observation
from algorithms.random_search import RandomSearch
from problems.api import Evaluation, Problem
from workflow.run import async_loop, boundary, loop
from workflow.run.boundary import BadAnswer
from workflow.trace.seeds import rng


def noise(i):
    return rng(0, "noise", i)


def simple(query, draw):
    y = query.sum(axis=1)
    seen = Observation(y, -query, np.empty((len(y), 0)))
    return Evaluation(seen, seen, np.ones(len(y)))


CUBE = Problem(Box(2), simple)


def search(kind=RandomSearch):
    return kind(Box(2), rng(0, "a name"))


def columns(problem, optimizer, *, how="batches"):
    """The record of four steps, of two queries each or of two workers."""
    design = np.full((2, 2), 0.5)
    shown = loop.evaluate(problem, design, noise, first=0)
    module = loop if how == "batches" else async_loop
    progress = module.started(optimizer, design, shown, counted=True)
    for _ in range(4):
        if how == "batches":
            loop.step(problem, progress, budget=100, room=2, noise=noise)
        else:
            async_loop.step(problem, progress, room=2, noise=noise)
    found = progress.columns()
    return {name: values for name, values in found.items() if not name.startswith("timing.")}


class Greedy(RandomSearch):
    """Changes in place what it is told, whatever it takes, and later what it had answered."""

    def ask(self, room, pending):
        self.answered = super().ask(room, pending)
        force(pending)
        return self.answered

    def tell(self, query, obs):
        super().tell(query, obs)
        for values in (query, obs.y, obs.g, obs.factor_values):
            force(values)
        if hasattr(self, "answered"):
            self.answered[:] = 0.25


def force(values):
    """Write into an array that says that it is read-only."""
    values.setflags(write=True)
    values[...] = 0.125


def test_an_optimizer_that_changes_what_it_was_told_by_force_changes_no_record():
    for how in ["batches", "workers"]:
        found = columns(CUBE, search(Greedy), how=how)
        np.testing.assert_equal(found, columns(CUBE, search(), how=how))
        assert (found["y"] == found["query"].sum(axis=1)).all()


@pytest.mark.parametrize("what", ["query", "y", "g", "pending"])
def test_an_optimizer_that_changes_it_without_force_is_stopped(what):
    class Careless(RandomSearch):
        def ask(self, room, pending):
            if what == "pending":
                pending -= 1
            return super().ask(room, pending)

        def tell(self, query, obs):
            super().tell(query, obs)
            if what != "pending":
                values = query if what == "query" else getattr(obs, what)
                values -= values.mean()

    with pytest.raises(ValueError, match="read-only"):
        columns(CUBE, search(Careless), how="workers")


def test_a_simulator_that_changes_its_query_is_stopped_or_changes_nothing():
    def careless(query, draw):
        query *= 2
        return simple(query, draw)

    def forceful(query, draw):
        shown = simple(query, draw)
        force(query)
        return shown

    with pytest.raises(ValueError, match="read-only"):
        columns(replace(CUBE, evaluate=careless), search())
    found = columns(replace(CUBE, evaluate=forceful), search())
    np.testing.assert_equal(found, columns(CUBE, search()))


def test_a_simulator_that_uses_its_arrays_again_changes_no_earlier_row():
    y, g = np.empty(1), np.empty((1, 2))

    def again(query, draw):
        y[:], g[:] = query.sum(axis=1), -query
        seen = Observation(y, g, np.empty((1, 0)))
        return Evaluation(seen, seen, np.ones(1))

    found = columns(replace(CUBE, evaluate=again), search())
    np.testing.assert_equal(found, columns(CUBE, search()))


def test_nobody_changes_the_points_of_a_table():
    arms = Arms(np.eye(3))
    shown = boundary.domain(arms)
    with pytest.raises(ValueError, match="read-only"):
        shown.points[0] = 0
    force(shown.points)  # its own
    np.testing.assert_array_equal(arms.points, np.eye(3))
    assert boundary.domain(Box(3)) == Box(3)
    assert arms.points.flags.writeable  # of whoever made it
    assert shown.neighbours is arms.neighbours


def test_an_answer_outside_the_box_is_refused():
    for answer, what in [
        ([[0.5, 0.5]], "an array of queries, got list"),
        (np.float64(0.5), "got float64"),
        (np.array(0.5), r"shape \(\)"),
        (np.empty((0, 2)), r"1 to 3 queries, got an array of shape \(0, 2\)"),
        (np.zeros((4, 2)), "1 to 3 queries"),
        (np.array([[0.5, 1.1]]), "inside the domain, numbers"),
        (np.array([[-0.1, 0.5]]), "inside the domain"),
        (np.array([[0.5, np.nan]]), "nan"),
        (np.array([[0.5, np.inf]]), "inf"),
        (np.array([[0.5]]), r"shape \(1, 1\)"),
        (np.array([0.5, 0.5]), r"shape \(2,\)"),
        (np.array([[0.5, 0.5, 0.5]]), r"shape \(1, 3\)"),
        (np.array([[0.5, 0.5 + 0j]]), "complex128"),
        (np.array([[0.5, None]], dtype=object), "object"),
        (np.array([["0.5", "0.5"]]), "<U3"),
        (np.array([[[0.5, 0.5]]]), r"shape \(1, 1, 2\)"),
    ]:
        with pytest.raises(BadAnswer, match=rf"^someone\.ask: expected .*{what}.*: correct it$"):
            boundary.query(Box(2), answer, 3, "someone.ask")


def test_an_answer_that_names_no_arm_is_refused():
    for answer, what in [
        (np.array([4]), "queries inside the domain, whole numbers .* from 0 to 3"),
        (np.array([-1]), "queries inside the domain"),
        (np.array([1.0]), "got float64"),
        (np.array([True]), "got bool"),
        (np.array([[1]]), r"got int64 of shape \(1, 1\)"),
    ]:
        with pytest.raises(BadAnswer, match=rf"^someone\.ask: expected .*{what}"):
            boundary.query(Arms(np.eye(4)), answer, 3, "someone.ask")


def test_an_answer_inside_is_copied_to_plain_numbers():
    for kind in (np.float32, np.int64, np.float64):
        answer = np.array([[0, 1]], dtype=kind)
        found = boundary.query(Box(2), answer, 1, "someone.ask")
        assert found.dtype == np.float64 and not np.shares_memory(found, answer)
        np.testing.assert_array_equal(found, [[0.0, 1.0]])
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 0
    assert boundary.query(Arms(np.eye(3)), np.array([2], np.uint8), 1, "x").dtype == np.int64


def observed(y, *, g=0, n=1):
    return Observation(y, np.zeros((n, g)), np.empty((n, 0)))


def test_what_an_evaluation_shows_is_one_row_of_numbers():
    for seen, true, what in [
        (np.zeros((1, 3)), np.zeros(1), r"seen.y: .*\(1,\), got float64 of shape \(1, 3\)"),
        (np.zeros(2), np.zeros(1), r"seen.y: .*shape \(2,\)"),
        (0.5, np.zeros(1), r"seen.y: .*got float 0.5"),
        (np.zeros(1), np.array(["low"]), "true.y: .*<U3"),
        ([1.0], np.zeros(1), "seen.y: .*list"),
        (np.zeros(1) + 0j, np.zeros(1), "seen.y: .*complex128"),
        (np.zeros(1, dtype=object), np.zeros(1), "seen.y: .*object"),
        (np.zeros(1), None, "true.y: .*NoneType"),
    ]:
        shown = Evaluation(observed(seen), observed(true), np.zeros(1))
        said = f"evaluation 7: {what}.*correct the problem's `evaluate`"
        with pytest.raises(BadAnswer, match=said):
            boundary.evaluation(shown, 7)


def test_as_many_constraints_are_seen_as_are_true():
    good = observed(np.zeros(1))
    with pytest.raises(BadAnswer, match=r"as many constraints .* got 2 and 0"):
        boundary.evaluation(Evaluation(observed(np.zeros(1), g=2), good, np.zeros(1)), 0)
    with pytest.raises(BadAnswer, match=r"seen.g: .*shape \(3, 0\)"):
        boundary.evaluation(Evaluation(observed(np.zeros(1), n=3), good, np.zeros(1)), 0)
    with pytest.raises(BadAnswer, match=r"seconds: .*shape \(\)"):
        boundary.evaluation(Evaluation(good, good, np.array(1.0)), 0)
    with pytest.raises(BadAnswer, match="expected an Evaluation, got tuple"):
        boundary.evaluation((good, good), 0)
