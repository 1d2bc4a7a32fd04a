"""Problems: physical units, file formats and simulators behind a Box or a table of Arms, one source
per file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from problems.api import Problem


def load(name: str) -> Callable[..., Problem]:
    """Return the factory called `module.function`; the registry is the file system."""
    module, _, factory = name.partition(".")
    found = getattr(importlib.import_module(f"problems.{module}"), factory, None)
    if found is None:
        raise LookupError(
            f"expected a function {factory!r} in problems/{module}.py, found none: check the `is:`"
            " line"
        )
    return found
