"""One seed, many independent streams: instance, initial design and noise are the same for every
algorithm.

A stream is named by its components, so that adding an algorithm never moves another one's numbers,
and the noise of evaluation i is the same whatever batch or worker it was evaluated in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np


def rng(seed: int, *components: str | int) -> np.random.Generator:
    """Return the generator of one named stream, e.g. rng(0, "noise", "abalone", 17)."""
    name = "\x1f".join([str(seed), *map(str, components)])
    digest = hashlib.sha256(name.encode()).digest()
    # Philox takes the hashed name as its 128-bit key directly: building one costs a quarter of a
    # SeedSequence.
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))


def instance(seed: int, problem: str) -> np.random.Generator:
    """What a problem's instance is drawn from."""
    return rng(seed, "instance", problem)


def design(seed: int, problem: str) -> np.random.Generator:
    """What the shared initial design is drawn from."""
    return rng(seed, "init", problem)


def noise(seed: int, problem: str, i: int) -> np.random.Generator:
    """What evaluation i is observed with."""
    return rng(seed, "noise", problem, i)


def optimizer(seed: int, problem: str, algorithm: str) -> np.random.Generator:
    """What an algorithm draws from, under any of its readings and variants."""
    return rng(seed, "optimizer", problem, algorithm)


def recommendation(seed: int, problem: str) -> np.random.Generator:
    """What the evaluation of the final recommendation is observed with."""
    return rng(seed, "recommendation", problem)


def with_seed(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Parameters of a problem in which the value `seed` has become the number of the repetition."""
    return {name: seed if value == "seed" else value for name, value in parameters.items()}
