"""The works of `make bench`, one module a family; each imports what it times, and peers last."""

from __future__ import annotations

from importlib import import_module

from benchmarks.race import Work

# in the order of the report; what a family is about, for its heading
FAMILIES = {
    "arms": "Posteriors over arms",
    "evidence": "Evidence with its gradient",
    "posterior": "Posterior moments and their gradients",
    "boxes": "A whole step on a box",
    "thompson": "Thompson sampling among candidates",
    "constrained": "Steps under constraints",
    "saas": "Parameters drawn under the SAAS prior",
    "decentralised": "Steps of DuMBO",
}


def works(family: str) -> tuple[Work, ...]:
    """All works of a family. Raises KeyError on an unknown one."""
    if family not in FAMILIES:
        raise KeyError(f"unknown family {family!r}; known: {', '.join(FAMILIES)}")
    found: tuple[Work, ...] = import_module(f"benchmarks.steps.on_{family}").WORKS
    return found
