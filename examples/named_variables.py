"""Variables with names: real numbers, one on a logarithmic scale, whole numbers and choices."""

import math

import noregret


def loss(setting):  # of a model that somebody tunes
    off = math.log10(setting["rate"]) + 2.5
    deep = abs(setting["layers"] - 4)
    return off**2 + 0.1 * deep + {"relu": 0, "tanh": 0.2, "sigmoid": 0.5}[setting["unit"]]


variables = {
    "rate": noregret.real(1e-5, 1, log=True),
    "layers": noregret.integer(1, 8),
    "unit": noregret.choice(["relu", "tanh", "sigmoid"]),
}
found = noregret.minimize(loss, variables, evaluations=30, seed=0)
print("loss", found.y, "with", found.x)
