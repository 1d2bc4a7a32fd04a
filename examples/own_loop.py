"""The loop in your own hands: four experiments at a time, rounded to what can be set."""

import numpy as np

import noregret

optimizer = noregret.optimizer(bounds=[(20, 80), (1, 9)], minimize=False, seed=0)
for _ in range(6):
    points = np.round(optimizer.ask(4), 1)
    yields = 90 - (points[:, 0] - 55) ** 2 / 20 - (points[:, 1] - 4) ** 2
    optimizer.tell(points, yields)
best = optimizer.best()
mean, deviation = optimizer.predict([[60, 5]])
print("yield", best.y, "at", best.x)
print("a model expects", mean[0], "give or take", deviation[0], "at (60, 5), where it is 87.75")
