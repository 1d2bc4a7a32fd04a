"""Bayesian-optimization algorithms, one file per method:
the listing is the legend of the figures.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from algorithms.api import Optimizer


def load(name: str) -> type[Optimizer]:
    """Return the optimizer class called `module.Class`; the registry is the file system."""
    module, _, cls = name.partition(".")
    found = getattr(importlib.import_module(f"algorithms.{module}"), cls, None)
    if found is None:
        raise LookupError(
            f"expected a class {cls!r} in algorithms/{module}.py, found none: check the `is:` line"
        )
    return found
