"""Minimise your own function of x and y in [-5, 5]: an optimizer asks for points of [0, 1]^2 and
maximises what it is told.
"""

import numpy as np

from algorithms.api import Box, Observation
from algorithms.gp_acquisition import GPAcquisition

settings = {
    "raw": 100,
    "starts": 4,
    "steps": 50,
    "repetitions": "repeat",
    "surrogate": "gamma-priors",
}
optimizer = GPAcquisition(
    Box(2), np.random.default_rng(0), acquisition="ei", exploration=0.0, **settings
)
for _ in range(20):
    # (1, 2); no other evaluation is under way
    point = optimizer.ask(room=1, pending=optimizer.x[:0])
    x, y = (10 * point - 5).T
    optimizer.tell(point, Observation.of(-((x - 1) ** 2) - 3 * (y + 2) ** 2))
print("lowest", -optimizer.y.max(), "at", 10 * optimizer.recommend()[0] - 5)
