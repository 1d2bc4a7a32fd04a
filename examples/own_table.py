"""Find the best row of a table; optimizers choose rows and maximise noisy values."""

import numpy as np

from algorithms import api, build

rng = np.random.default_rng(0)
table = rng.uniform(-1, 1, (2000, 3))
value = np.cos(2 * table).prod(axis=1)
settings = {"bandwidth": 0.5, "lam": 0.01, "xi": 0.1, "norm": 1, "delta": 0.1, "beta": "theorem"}
optimizer = build("gp_ucb.GPUCB", api.Arms(table), rng, settings | {"posterior": "distinct-arms"})
for _ in range(150):
    row = optimizer.ask(room=1, pending=optimizer.x[:0])  # (1,); nothing else is under way
    optimizer.tell(row, api.Observation.of(value[row] + rng.normal(0, 0.1, 1)))
print("row", r := optimizer.recommend()[0], "of value", value[r], "where the best is", value.max())
