"""The methods of five Bayesian-optimization papers, for problems of your own.

>>> import noregret
>>> found = noregret.minimize(lambda x: (x[0] - 1) ** 2 + (x[1] + 2) ** 2, [(-5, 5), (-5, 5)])
>>> found.x, found.y

In your own units and sense: `optimizer` hands out points and is told what they showed, `minimize`
and `maximize` do both, `methods` lists what there is. docs/library.md says how presets are
resolved. Constraints are g <= 0 where a point is feasible.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noregret.shadowing import check_packages

check_packages(Path(__file__).parents[1])  # before the import below, and those of `_HOME`

import workflow.trace  # noqa: E402, F401  one thread for each library, before it is loaded

if TYPE_CHECKING:
    from noregret.asking import History, Optimizer, Point, optimizer
    from noregret.catalogue import Method, Methods, methods
    from noregret.solve import EvaluationFailed, Interrupted, Result, maximize, minimize
    from noregret.testbed import Testbed, load, problem
    from noregret.variables import choice, integer, real

__all__ = [
    "EvaluationFailed",
    "History",
    "Interrupted",
    "Method",
    "Methods",
    "Optimizer",
    "Point",
    "Result",
    "Testbed",
    "choice",
    "integer",
    "load",
    "maximize",
    "methods",
    "minimize",
    "optimizer",
    "problem",
    "real",
]
_HOME = {
    **dict.fromkeys(("History", "Optimizer", "Point", "optimizer"), "asking"),
    **dict.fromkeys(("Method", "Methods", "methods"), "catalogue"),
    **dict.fromkeys(("EvaluationFailed", "Interrupted", "Result"), "solve"),
    **dict.fromkeys(("maximize", "minimize"), "solve"),
    **dict.fromkeys(("Testbed", "load", "problem"), "testbed"),
    **dict.fromkeys(("choice", "integer", "real"), "variables"),
}


def __getattr__(name: str) -> Any:
    """What is used first loads what it needs: importing the package takes no second."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
