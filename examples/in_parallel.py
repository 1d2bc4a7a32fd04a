"""Two evaluations at the same time: who is ready gets the next point at once."""

import time
from concurrent.futures import ThreadPoolExecutor

import noregret


def simulated(x):
    time.sleep(0.02 * (1 + x[0]))
    return float((x[0] - 0.3) ** 2 + (x[1] - 0.6) ** 2)


with ThreadPoolExecutor(2) as pool:  # n_jobs=2 alone takes processes
    found = noregret.minimize(
        simulated, [(0, 1), (0, 1)], evaluations=24, n_jobs=2, executor=pool, seed=0
    )
print("lowest", found.y, "at", found.x, "after", len(found.history.y))
