"""What this machine can do on one thread, and what it and the libraries are."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from scipy.linalg.blas import dgemm

from benchmarks.effort import DOUBLE
from workflow.trace import record

PEERS = ("botorch", "gpytorch", "optuna", "scikit-learn", "scikit-optimize")
OURS = ("noregret-bo", "numpy", "scipy", "torch", "jax", "numpyro")
SIDE = 2048  # of the matrices that are multiplied: 32 MiB each
# of each of the triad's three arrays: far beyond what a core has of its own, and in all beyond the
# shared cache of most machines
LONG = 32 * 2**20


@dataclass(frozen=True)
class Machine:
    """Rates of one thread, and names."""

    name: str
    commit: str
    threads: int | None  # the most that a library may use
    flops_per_second: float
    bytes_per_second: float
    versions: Mapping[str, str]


def measured(*, side: int = SIDE, length: int = LONG) -> Machine:
    """This machine: the best of a few products of matrices and of a few triads a = b + s c."""
    rng = np.random.default_rng(0)
    A, B = (np.asfortranarray(rng.random((side, side))) for _ in range(2))
    flops = 2 * side**3 / _least(lambda: dgemm(1.0, A, B))
    a, b, c = (rng.random(length) for _ in range(3))

    def triad() -> None:
        # two passes in NumPy: c is read and a written, then b and a read and a written
        np.multiply(c, 3.0, out=a)
        np.add(a, b, out=a)

    rate = 5 * DOUBLE * length / _least(triad)
    provenance = record.provenance()
    name = f"{provenance['machine']}, Python {platform.python_version()}"
    return Machine(name, provenance["commit"], provenance["threads"], flops, rate, _versions())


def _versions() -> dict[str, str]:
    """By distribution; what is not installed is left out."""
    found = {}
    for name in (*OURS, *PEERS):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _least(run: Callable[[], object], repeats: int = 5) -> float:
    run()
    return min(_seconds(run) for _ in range(repeats))


def _seconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began
