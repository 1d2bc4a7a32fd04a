"""A simulation that fails somewhere: what failed is avoided, and nothing else is lost."""

import noregret


def simulated(x):
    if x[0] + x[1] > 1.5:
        raise RuntimeError("the mesh is too coarse")
    return (x[0] - 0.8) ** 2 + (x[1] - 0.9) ** 2


box = [(0, 1), (0, 1)]
try:
    noregret.minimize(simulated, box, evaluations=25)
except noregret.EvaluationFailed as error:
    print(error, "- kept:", len(error.result.history.y) if error.result else 0)
found = noregret.minimize(simulated, box, evaluations=25, failures="skip")
print("lowest", found.y, "with", found.optimizer.failures, "failures")  # the least is 0.02
