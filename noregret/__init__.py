"""The methods of five Bayesian-optimization papers, for problems of your own.

>>> import noregret
>>> found = noregret.minimize(lambda x: (x[0] - 1) ** 2 + (x[1] + 2) ** 2, [(-5, 5), (-5, 5)])
>>> found.x, found.y

In your own units and sense: `optimizer` hands out points and is told what they showed, `minimize`
and `maximize` do both, `methods` lists what there is. docs/library.md says how presets are
resolved. Constraints are g <= 0 where a point is feasible.
"""

from __future__ import annotations

from pathlib import Path

from noregret.shadowing import check_packages

check_packages(Path(__file__).parents[1])  # before the imports below, which import them

from noregret.asking import Optimizer, Point, optimizer  # noqa: E402
from noregret.catalogue import Method, Methods, methods  # noqa: E402
from noregret.solve import EvaluationFailed, Interrupted, Result, maximize, minimize  # noqa: E402
from noregret.testbed import Testbed, load, problem  # noqa: E402

__all__ = [
    "EvaluationFailed",
    "Interrupted",
    "Method",
    "Methods",
    "Optimizer",
    "Point",
    "Result",
    "Testbed",
    "load",
    "maximize",
    "methods",
    "minimize",
    "optimizer",
    "problem",
]
