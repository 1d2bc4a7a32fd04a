"""Minimise a function of x and y in [-5, 5]; optimizers maximise on [0, 1]^2."""

import numpy as np

from algorithms import api, build

settings = {"acquisition": "ei", "exploration": 0.0, "surrogate": "gamma-priors"}
settings |= {"climb": {"raw": 100, "starts": 4, "steps": 50}, "repetitions": "repeat"}
optimizer = build("gp_acquisition.GPAcquisition", api.Box(2), np.random.default_rng(0), settings)
for _ in range(20):
    point = optimizer.ask(room=1, pending=optimizer.x[:0])  # (1, 2); nothing else is under way
    x, y = (10 * point - 5).T
    optimizer.tell(point, api.Observation.of(-((x - 1) ** 2) - 3 * (y + 2) ** 2))
print("lowest", -optimizer.y.max(), "at", 10 * optimizer.recommend()[0] - 5)
