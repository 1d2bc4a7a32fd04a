"""What noisy values tell about the gradients of Gaussian processes at one point, and what further
values would tell.

M processes with RBF kernels of their own are observed at the same inputs X (n, d). At x, with G =
d/dx k(X, x) (n, d), H = (k(X, X) + noise I)^-1 and P = H G, the covariance of the gradient has the
trace T = sum_j a/l_j^2 - sum(G o P). Values at b more points Z (b, d), whatever they turn out to
be, take J = tr(U' V^-1 U) off it, where U = d/dx k(Z, x) - k(Z, X) P (b, d) and V = k(Z, Z) - k(Z,
X) H k(X, Z) + noise I (b, b). One factorisation serves every x; rows are added by bordering.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from algorithms.api import Array
from algorithms.parts.numerics.linalg import safe_cholesky


@dataclass(frozen=True, eq=False)
class Kernels:
    """M kernels a exp(-sum_j ((x_j - x'_j)/l_j)^2 / 2), and the variances of the noise."""

    lengthscale: Array  # l (M, d)
    outputscale: Array  # a (M,)
    noise: Array  # (M,)

    def __call__(self, A: Array, B: Array) -> Array:
        """Covariances (M, ..., p, q) of points A (..., p, d) and B (..., q, d)."""
        every = (len(self.outputscale), *[1] * (A.ndim - 1), -1)
        A, B = A / self.lengthscale.reshape(every), B / self.lengthscale.reshape(every)
        K = A @ B.swapaxes(-1, -2)
        K -= 0.5 * (A * A).sum(-1)[..., :, None]
        K -= 0.5 * (B * B).sum(-1)[..., None, :]
        np.exp(np.minimum(K, 0.0, out=K), out=K)
        K *= self.outputscale.reshape(every)
        return K

    @property
    def slope_variance(self) -> Array:
        """Trace of the prior covariance of the gradient, (M,)."""
        return self.outputscale * (self.lengthscale**-2).sum(1)


@dataclass(frozen=True, eq=False)
class Design:
    """Where values were observed, X (n, d), and H = (k(X, X) + noise I)^-1 (M, n, n)."""

    kernels: Kernels
    X: Array
    H: Array

    @classmethod
    def of(cls, kernels: Kernels, X: Array) -> Design:
        """Factorises: O(M n^3)."""
        unit = np.eye(len(X))
        # small numbers lose fewer digits in squared distances
        middle = X.mean(0) if len(X) else 0.0
        K = kernels(X - middle, X - middle) + kernels.noise[:, None, None] * unit
        return cls(
            kernels, X, np.stack([cho_solve((safe_cholesky(each), True), unit) for each in K])
        )

    def at(self, x: Array) -> GradientInformation:
        """What values at X tell about the gradients at x (d,): O(M n^2 d)."""
        offsets = self.X - x
        k = self.kernels(offsets, np.zeros((1, len(x))))  # (M, n, 1)
        G = k * offsets / self.kernels.lengthscale[:, None, :] ** 2
        P = self.H @ G
        trace = self.kernels.slope_variance - (G * P).sum((1, 2))
        return GradientInformation(self.kernels, x, offsets, self.H, k[:, :, 0], P, trace)


@dataclass(frozen=True, eq=False)
class GradientInformation:
    """M processes around x (d,), given values at x + offsets (n, d)."""

    kernels: Kernels
    x: Array
    offsets: Array
    H: Array  # (M, n, n)
    k: Array  # k(X, x) (M, n)
    P: Array  # (M, n, d)
    trace: Array  # T (M,)

    def means(self, r: Array) -> tuple[Array, Array]:
        """Posterior means at x (M,) and their gradients (M, d), from values less prior means r (n,
        M).
        """
        r = r.T[:, :, None]  # (M, n, 1)
        return (self.k[:, None, :] @ self.H @ r)[:, 0, 0], (self.P.swapaxes(1, 2) @ r)[:, :, 0]

    def reduction(self, Z: Array) -> tuple[Array, Array]:
        """J of each of s batches Z (s, b, d), shape (M, s), and its derivatives (M, s, b, d): O(M s
        b n (n + 4 d)).

        With W = V^-1 U, A = W W', C = k(Z, X) H, q = k(Z, X) o (W P' - A C) and B = A o k(Z, Z),
        the derivative over the row z of Z is 2/l^2 times k(x, z) (w - (w . (z-x)/l^2) (z-x)) +
        sum_i q_i (z - X_i) + sum_j B_j (z - Z_j).
        """
        new = self._beside(Z)
        R = Z - self.x  # (s, b, d)
        W = np.asarray(np.linalg.solve(new.V, new.U), dtype=np.float64)  # (M, s, b, d)
        A = W @ W.swapaxes(2, 3)
        q = _rows(W) @ self.P.swapaxes(1, 2)  # (M, s b, n)
        q -= _rows(A @ _blocks(new.C, Z))
        q *= new.k
        B = A * new.corner
        pull = _blocks(q.sum(2, keepdims=True), Z) + B.sum(3, keepdims=True)
        pull -= new.kx * (W * new.toward).sum(3, keepdims=True)
        slopes = new.kx * W + pull * R - _blocks(q @ self.offsets, Z) - B @ R
        slopes *= 2 / self.kernels.lengthscale[:, None, None, :] ** 2
        return (new.U * W).sum((2, 3)), slopes

    def extend(self, Z: Array) -> GradientInformation:
        """The same with values at Z (b, d) too: O(M b n (n + d)), and no factorisation but of V."""
        new = self._beside(Z[None])
        U, V, n, b = new.U[:, 0], new.V[:, 0], len(self.offsets), len(Z)
        D, W = np.linalg.solve(V, new.C), np.linalg.solve(V, U)  # (M, b, n), (M, b, d)
        H = np.empty((len(V), n + b, n + b))
        H[:, :n, :n] = self.H + new.C.swapaxes(1, 2) @ D
        H[:, n:, :n], H[:, :n, n:] = -D, -D.swapaxes(1, 2)
        H[:, n:, n:] = np.linalg.solve(V, np.broadcast_to(np.eye(b), V.shape))
        return GradientInformation(
            self.kernels,
            self.x,
            np.concatenate([self.offsets, Z - self.x]),
            H,
            np.concatenate([self.k, new.kx[:, 0, :, 0]], axis=1),
            np.concatenate([self.P - new.C.swapaxes(1, 2) @ W, W], axis=1),
            self.trace - (U * W).sum((1, 2)),
        )

    def _beside(self, Z: Array) -> _Batches:
        R = Z - self.x
        k = self.kernels(_rows(R), self.offsets)
        C = k @ self.H
        kx = self.kernels(R, np.zeros((1, len(self.x))))
        toward = R / self.kernels.lengthscale[:, None, None, :] ** 2
        corner = self.kernels(R, R)
        U = kx * toward - _blocks(k @ self.P, Z)
        V = corner - _blocks(k, Z) @ _blocks(C, Z).swapaxes(2, 3)
        V += self.kernels.noise[:, None, None, None] * np.eye(Z.shape[1])
        return _Batches(k, C, kx, toward, corner, U, V)


@dataclass(frozen=True, eq=False)
class _Batches:
    """s batches of b points beside the data."""

    k: Array  # k(Z, X) (M, s b, n)
    C: Array  # k(Z, X) H (M, s b, n)
    kx: Array  # k(Z, x) (M, s, b, 1)
    toward: Array  # (Z - x)/l^2 (M, s, b, d)
    corner: Array  # k(Z, Z) (M, s, b, b)
    U: Array  # (M, s, b, d)
    V: Array  # (M, s, b, b)


def _rows(A: Array) -> Array:
    """(..., s, b, p) -> (..., s b, p)."""
    return A.reshape(*A.shape[:-3], A.shape[-3] * A.shape[-2], A.shape[-1])


def _blocks(A: Array, Z: Array) -> Array:
    """(M, s b, p) -> (M, s, b, p) for Z (s, b, d)."""
    return A.reshape(len(A), *Z.shape[:2], A.shape[-1])
