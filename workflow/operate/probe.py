"""How fast this machine is at what runs do: `python -m workflow.probe` works for about two seconds
and prints the CPU seconds that the work took.

A third each is a loop of Python, operations on small arrays, and products and Cholesky factors of
matrices. All on one thread: the package sees to that before NumPy is loaded.
"""

from __future__ import annotations

import sys
import time

import numpy as np

REPEATS = 8  # of equal pieces of work, of which the middle one counts
SIZE = 320  # rows of the matrices


def _work(matrix: np.ndarray, small: np.ndarray) -> float:
    """A piece of work of about a quarter of a second; the sum keeps it from being left out."""
    total = 0.0
    for i in range(1_600_000):
        total += i % 7
    for _ in range(32_000):
        total += float((np.exp(-small) @ small).sum())
    for _ in range(42):
        factor = np.linalg.cholesky(matrix @ matrix.T)
        total += float(factor[-1, -1])
    return total


def seconds() -> float:
    """CPU seconds of all pieces, were each as fast as the middle one."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((SIZE, SIZE)) + SIZE * np.eye(SIZE)
    small = np.abs(rng.standard_normal((20, 20)))
    _work(matrix, small)
    spent = []
    for _ in range(REPEATS):
        began = time.process_time()
        _work(matrix, small)
        spent.append(time.process_time() - began)
    return REPEATS * float(np.median(spent))


def main() -> int:
    """Print the seconds."""
    print(f"{seconds():.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
