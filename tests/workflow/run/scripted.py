"""Arms that are asked for one after another, with paired noise, for tests of both loops."""

import numpy as np

from algorithms.api import Arms, Box, Observation, Optimizer
from problems.api import Evaluation, Problem
from workflow.trace import record
from workflow.trace.seeds import rng


class Scripted(Optimizer):
    """Keeps the rooms that it heard of, and reports how many evaluations it knows."""

    domains = (Arms, Box)

    def __init__(self, domain, rng, *, width=1):
        super().__init__(domain, rng)
        self.width, self.rooms = width, []

    def report(self):
        return {"known": len(self.y)}


def noise(i):
    return rng(0, "noise", "toy", i)


def built(case, problem):
    return case.build(problem.domain, rng(0, "optimizer", case.label))


def problem(table, duration):
    """Arms (points and values) whose evaluations last `duration(query, draw)` seconds."""
    points, f = table

    def evaluate(query, draw):
        seen = f[query] + 0.1 * draw.standard_normal(len(query))
        return Evaluation(Observation.of(seen), Observation.of(f[query]), duration(query, draw))

    return Problem(Arms(points), evaluate, best=1.0)


def is_prefix(short, long):
    """Whether rows of a run are the first ones of a longer run, bit for bit."""
    first = {name: values[: len(short["y"])] for name, values in long.items()}
    return record.trace_hash(short) == record.trace_hash(first)


def alone(problem, queries, first):
    """What single evaluations show, with the noise of these numbers."""
    return [problem.evaluate(np.array([arm]), noise(first + arm)).seen.y[0] for arm in queries]
