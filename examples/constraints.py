"""A design as light as possible, within limits: g is kept where it is at most 0."""

import noregret


def beam(x):
    width, height = x
    weight = width * height
    return weight, [20 - width * height**2, height - 3 * width]


found = noregret.minimize(beam, [(0.5, 10), (0.5, 10)], constraints=2, evaluations=40, seed=0)
print("weight", found.y, "at", found.x, "feasible:", found.feasible)  # the lightest has 5.109
