"""Draws of a posterior as functions, by Matheron's rule: a draw of the prior, corrected by what it
says wrongly at the data.

f(x) = m(x) + h(x) + k(x, X) (K + noise I)^-1 (y - m(X) - h(X) - e) with h from the prior and e from
the noise (wilson2020pathwise). Here h is a sum of random features (rahimi2007random) of an RBF or a
Matern kernel, whose frequencies have the kernel's spectral density: given those, the covariance of
h is k up to an error of order 1/sqrt(features); on average over them all first and second moments
of f are exact. q points cost O(q (n + features) (d + count)), where a joint Cholesky factor costs
O(q^3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from torch import Tensor

from algorithms.api import Array
from algorithms.parts.processes.gp import Posterior


@dataclass(frozen=True, eq=False)
class Paths:
    """`count` functions drawn from a posterior; their prior parts share F frequencies."""

    posterior: Posterior
    frequencies: Tensor  # (F, d)
    cosines: Tensor  # weights (F, count)
    sines: Tensor  # weights (F, count)
    correction: Tensor  # (K + noise I)^-1 (y - m(X) - h(X) - e) (n, count)

    @classmethod
    def of(
        cls, posterior: Posterior, rng: np.random.Generator, *, count: int, features: int
    ) -> Paths:
        """Draw them; `features` counts sines and cosines. TypeError if neither RBF nor Matern."""
        kernel, n = posterior.model.kernel, len(posterior.X)
        F = features // 2
        unit = _frequencies(kernel.base_kernel, rng, (F, posterior.X.shape[1]))
        frequencies = unit / kernel.base_kernel.lengthscale
        cosines, sines = (kernel.outputscale / F).sqrt() * torch.from_numpy(
            rng.standard_normal((2, F, count))
        )
        noise = posterior.model.noise.sqrt() * torch.from_numpy(rng.standard_normal((n, count)))
        wrong = _prior(frequencies, cosines, sines, posterior.X) + noise
        correction = posterior.alpha[:, None] - torch.cholesky_solve(wrong, posterior.L)
        return cls(posterior, frequencies, cosines, sines, correction)

    def __call__(self, X: Tensor) -> Tensor:
        """Values at X (q, d), shape (count, q)."""
        model = self.posterior.model
        f = _prior(self.frequencies, self.cosines, self.sines, X)
        return (f + model.covariance(X, self.posterior.X) @ self.correction).T + model.mean(X)


def by_paths(
    posterior: Posterior, X: Tensor, rng: np.random.Generator, *, count: int, features: int
) -> Array:
    """Joint draws (count, q) of f at X (q, d)."""
    return Paths.of(posterior, rng, count=count, features=features)(X).numpy()


def by_factor(
    posterior: Posterior, X: Tensor, rng: np.random.Generator, *, count: int, features: int
) -> Array:
    """The same from the joint covariance, without an approximation: O(q^3)."""
    return posterior.sample(X, rng, count=count)


DRAWN = {"paths": by_paths, "factor": by_factor}


def _frequencies(kernel: Kernel, rng: np.random.Generator, shape: tuple[int, int]) -> Tensor:
    """Draws (F, d) from the spectral density of a kernel with length-scales 1: normal, or
    Student's t with 2 nu degrees of freedom (rasmussen2006gaussian, Sec. 4.2.1).
    """
    if not isinstance(kernel, RBFKernel | MaternKernel):
        raise TypeError(
            f"expected an RBF or a Matern kernel, got {type(kernel).__name__}: draw by the factor"
            " instead"
        )
    normal = rng.standard_normal(shape)
    if isinstance(kernel, MaternKernel):
        freedom = 2 * kernel.nu
        normal *= np.sqrt(freedom / rng.chisquare(freedom, (shape[0], 1)))
    return torch.from_numpy(normal)


def _prior(frequencies: Tensor, cosines: Tensor, sines: Tensor, X: Tensor) -> Tensor:
    """h at X (q, d), shape (q, count)."""
    angles = X @ frequencies.T
    return angles.cos() @ cosines + angles.sin() @ sines
