"""A run that ends when it is good enough, and one that goes on from a file after a crash."""

import tempfile
from pathlib import Path

import noregret


def bowl(x):
    return float((x[0] - 1) ** 2 + 3 * (x[1] + 2) ** 2)


box = [(-5, 5), (-5, 5)]
found = noregret.minimize(bowl, box, evaluations=50, callback=lambda point: point.y < 0.1)
print("good enough:", found.y, "after", len(found.history.y))

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "run.npz")
    noregret.minimize(bowl, box, evaluations=8, resume=file)  # say that it crashes here
    found = noregret.minimize(bowl, box, evaluations=20, resume=file)  # the same program again
print("lowest", found.y, "after", len(found.history.y))
