"""A search that begins with measurements of before, and with a point that an expert proposes."""

import pandas as pd

import noregret


def cost(x):
    return float((x["heat"] - 140) ** 2 / 100 + (x["speed"] - 30) ** 2 / 25)


before = pd.DataFrame({"heat": [100, 120, 150, 180], "speed": [10, 50, 20, 40]})
costs = [cost(row) for row in before.to_dict("records")]
found = noregret.minimize(
    cost,
    {"heat": (80, 200), "speed": (5, 60)},
    history=(before, costs),
    x0={"heat": 145, "speed": 28},
    evaluations=15,
    seed=0,
)
print("cost", found.y, "at", found.x, "instead of", min(costs))
