"""Bayesian-optimization algorithms, one file per method: their list is the figures' legend."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    import numpy as np

    from algorithms.api import Arms, Box, Optimizer


def load(name: str) -> type[Optimizer]:
    """Return the optimizer class called `module.Class`; the registry is the file system."""
    module, _, cls = name.partition(".")
    found = getattr(importlib.import_module(f"algorithms.{module}"), cls, None)
    if found is None:
        raise LookupError(
            f"expected a class {cls!r} in algorithms/{module}.py, found none: check the `is:` line"
        )
    return found


def build(
    name: str, domain: Box | Arms, rng: np.random.Generator, parameters: Mapping[str, Any]
) -> Optimizer:
    """The optimizer `module.Class` with parameters as a paper's YAML has them.

    Where the constructor takes a group of settings (a frozen dataclass), a mapping of its fields
    becomes that group. Raises TypeError where a field is unknown or missing.
    """
    kind = load(name)
    return kind(domain, rng, **grouped(kind.__init__, parameters))


def grouped(function: Callable[..., Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a function, mappings made into the groups that it is annotated with.

    Raises TypeError where a field of a group is unknown or missing.
    """
    hints = get_type_hints(function)
    return {name: _grouped(value, hints.get(name)) for name, value in parameters.items()}


def _grouped(value: Any, kind: Any) -> Any:
    """A mapping as the settings that a parameter is annotated with; any other value as it is."""
    if not isinstance(value, Mapping) or not (isinstance(kind, type) and is_dataclass(kind)):
        return value
    hints = get_type_hints(kind)
    inner = {field.name: hints[field.name] for field in fields(kind)}
    return kind(**{key: _grouped(part, inner.get(key)) for key, part in value.items()})
