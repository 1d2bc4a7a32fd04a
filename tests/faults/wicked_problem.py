"""A hill with one constraint, on a box or on arms, whose simulator does what is asked for.

Its noise draws from its own stream and, as a library might, from the global generators.
"""

import random

import numpy as np
import wicked_deeds

from algorithms.api import Arms, Box, Observation
from problems.api import Evaluation, Problem

TABLE = np.random.default_rng(0).random((40, 2))  # of all seeds, as that of a data set would be


def hill(instance, *, domain, seed):
    """The top is where the seed says."""
    top = instance.random(2)
    number = [0]
    perform(seed, 0, "simulator: build")

    def evaluate(query, rng):
        # it copes with what it should never get
        x = TABLE[query % len(TABLE)] if domain == "arms" else np.nan_to_num(query)
        y = -np.sum((x - top) ** 2, axis=1)
        g, factors = x[:, :1] - 0.5, x * y[:, None]
        other = random.random() + np.random.random()  # noqa: NPY002
        noise = 0.1 * rng.standard_normal(len(y)) + 0.01 * other
        shown = Evaluation(
            Observation(y + noise, g, factors), Observation(y, g.copy(), factors.copy()), 1 + y**2
        )
        step, number[0] = number[0], number[0] + 1
        perform(seed, step, "simulator: evaluate")
        for deed in wicked_deeds.asked("evaluate", seed, step):
            shown = (deed.do(shown, query, rng) or (shown,))[0]
        return shown

    return Problem(
        domain=Arms(TABLE) if domain == "arms" else Box(2),
        evaluate=evaluate,
        best=0.0,
        reveals={"repetition": seed},
    )


def perform(seed, step, hook):
    """What anyone may do."""
    for deed in wicked_deeds.asked(hook, seed, step):
        deed.do()
