"""The lowest point of a function, and how the search came there."""

import noregret


def camel(x):
    a, b = x
    return (4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2


found = noregret.minimize(camel, [(-3, 3), (-2, 2)], evaluations=30, seed=0)
print("lowest", found.y, "at", found.x)  # the least value is -1.0316
print(found.to_frame().tail(3))  # found.plot() draws the values over evaluations
