"""One seed, many independent streams: instance, initial design and noise are the same for every algorithm.

A stream is named by its components, so that adding an algorithm never moves another one's numbers, and the
noise of evaluation i is the same whatever batch or worker it was evaluated in.
"""

from __future__ import annotations

import hashlib

import numpy as np


def rng(seed: int, *components: str | int) -> np.random.Generator:
    """Return the generator of one named stream, e.g. rng(0, "noise", "abalone", 17)."""
    name = "\x1f".join([str(seed), *map(str, components)])
    digest = hashlib.sha256(name.encode()).digest()
    # Philox takes the hashed name as its 128-bit key directly: building one costs a quarter of a SeedSequence.
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
