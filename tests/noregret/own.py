"""Small problems and quick settings, with which every method is tried."""

import numpy as np
import pytest

import noregret
from noregret.catalogue import ARMS, METHODS

BOUNDS = [(-5.0, 3.0), (0.0, 16.0)]  # sides and edges are sums of few powers of two
BOX = [(-5, 5), (-5, 5)]
TABLE = np.random.default_rng(0).integers(-8, 9, (150, 3)) / 8.0
VALUES = ((TABLE - 0.25) ** 2).sum(1)
CLIMB = {"climb": {"raw": 64, "starts": 2, "steps": 30}}
SHORT = {"climb": {"raw": 64, "starts": 2, "steps": 10}}
PLAIN = {"climb": {"starts": 2, "steps": 30}}
DRAWS = {"candidates": 200, "features": 200}
BEGIN = {"startup": 4}
FITS = {"fit": {"steps": 20, "new_steps": 20}}
QUICK = {
    **dict.fromkeys(("gp-ei", "gp-pi", "gp-ucb-constant"), PLAIN),
    **dict.fromkeys(("gp-ucb-box", "ms-ucb"), CLIMB),
    **dict.fromkeys(("cei", "epbo"), SHORT),
    **dict.fromkeys(("scbo", "hdsafebo"), DRAWS),
    **dict.fromkeys(("optuna-gp", "optuna-tpe"), BEGIN),
    "lcbo": {"climb": {"starts": 2, "steps": 10}},
    "turbo": {"candidates": {"per_dim": 50}},
    "go-ucb": {"oracle": {"steps": 20}, "ascent": {"steps": 20}},
    "dumbo": {"climb": {"raw": 64, "starts": 4, "steps": 50}, **FITS},
    "dec-hbo": FITS,
    "add-gpucb": {"grid": 100, **FITS},
    "linebo": {"lines": {"grid": 100}},
    "saasbo": {
        "nuts": {"warmup": 16, "readaptation": 4, "samples": 8, "thinning": 4, "tree_depth": 3},
        **SHORT,
    },
    "logei": {"restarts": 1, "raw": 8},
}


def bowl(x):
    """Least at (1, -2) in BOX."""
    return float((x[0] - 1) ** 2 + 3 * (x[1] + 2) ** 2)


def f(x):
    """Least at (-1, 9), and there feasible."""
    return (x[0] + 1.0) ** 2 / 4 + (x[1] - 9.0) ** 2 / 16


def g(x):
    return [x[0] + (x[1] - 12.0) / 4]


def line(name):
    return noregret.methods()[name]


def over_arms(name):
    return line(name).domain == ARMS


def begun(name, **options):
    """An optimizer of the small problem of its kind."""
    where = {"arms": TABLE} if over_arms(name) else {"bounds": BOUNDS}
    constraints = {"constraints": 1} if line(name).constrained else {}
    return noregret.optimizer(
        name, **{"seed": 3, "initial": 4, **where, **constraints, **QUICK.get(name, {}), **options}
    )


def shown(name, x):
    """What a point shows: y, and g where the method takes constraints."""
    if over_arms(name):
        return VALUES[x], None
    return f(x), g(x) if line(name).constrained else None


def played(optimizer, name, steps, *, of=shown):
    """The points that it asks for, one after another, each told at once."""
    asked = []
    for _ in range(steps):
        x = optimizer.ask()
        optimizer.tell(x, *of(name, x))
        asked.append(x)
    return np.array(asked)


DEAR = ("logei", "optuna-gp", "saasbo")  # a step of theirs takes a second or more
NAMES = [one.name for one in METHODS]
ON_BOXES = [name for name in NAMES if not over_arms(name)]
OVER_ARMS = [name for name in NAMES if over_arms(name)]


def each(names):
    """A test for each method of the list, a slow one for those that are dear."""
    slow = dict.fromkeys(DEAR, pytest.mark.slow)
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=slow.get(name, ())) for name in names]
    )
