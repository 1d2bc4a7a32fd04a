"""Find the best row of your own table: an optimizer asks for indices of rows and maximises the
noisy values it is told.
"""

import numpy as np

from algorithms.api import Arms, Observation
from algorithms.gp_ucb import GPUCB

rng = np.random.default_rng(0)
table = rng.uniform(-1, 1, (2000, 3))
value = np.cos(2 * table).prod(axis=1)
optimizer = GPUCB(
    Arms(table),
    rng,
    bandwidth=0.5,
    lam=0.01,
    xi=0.1,
    norm=1,
    delta=0.1,
    beta="theorem",
    posterior="distinct-arms",
)
for _ in range(150):
    row = optimizer.ask(room=1, pending=optimizer.x[:0])  # (1,); no other evaluation is under way
    optimizer.tell(row, Observation.of(value[row] + rng.normal(0, 0.1, 1)))
print(
    "row",
    *optimizer.recommend(),
    "of value",
    *value[optimizer.recommend()],
    "where the best is",
    value.max(),
)
