"""Flops and bytes of what a step is made of, by formulas in its sizes.

A multiplication and an addition are one flop each; so is, for want of a better price, whatever is
done once to each number of a matrix (an exponential costs more, which is one reason to stay below
the limit). Bytes are those of float64 matrices that one operation after another reads and writes,
as if none stayed in a cache in between; where they do stay, a step can be faster than its limit.
Vectors are left out. n data, q points, d dimensions, A arms, u of them pulled.
"""

from __future__ import annotations

from dataclasses import dataclass

DOUBLE = 8  # bytes


@dataclass(frozen=True)
class Effort:
    """Floating-point operations, and bytes between memory and processor."""

    flops: float
    bytes: float

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.flops + other.flops, self.bytes + other.bytes)

    def __rmul__(self, times: float) -> Effort:
        return Effort(times * self.flops, times * self.bytes)

    def seconds(self, flops_per_second: float, bytes_per_second: float) -> float:
        """The least time that a machine of these two rates needs (a roofline)."""
        return max(self.flops / flops_per_second, self.bytes / bytes_per_second)


NOTHING = Effort(0.0, 0.0)


def product(a: float, b: float, c: float) -> Effort:
    """(a, b) times (b, c)."""
    return Effort(2 * a * b * c, DOUBLE * (a * b + b * c + a * c))


def elementwise(numbers: float, passes: float) -> Effort:
    """So many passes over a matrix, each reading and writing all of it."""
    return Effort(numbers * passes, 2 * DOUBLE * numbers * passes)


def cholesky(n: float) -> Effort:
    """The factor of (n, n): n^3/3."""
    return Effort(n**3 / 3, 2 * DOUBLE * n**2)


def inverse(n: float) -> Effort:
    """The inverse of (n, n) from its factor: 2 n^3/3."""
    return Effort(2 * n**3 / 3, 2 * DOUBLE * n**2)


def triangular(n: float, q: float) -> Effort:
    """A triangular system (n, n) for q right sides: n^2 q."""
    return Effort(n**2 * q, DOUBLE * (n**2 / 2 + 2 * n * q))


def eigenvectors(n: float) -> Effort:
    """All eigenvectors of a symmetric (n, n), about 9 n^3 by divide and conquer (LAPACK's own
    count: 4/3 to make it tridiagonal, up to 8 for the vectors).
    """
    return Effort(9 * n**3, 6 * DOUBLE * n**2)


def matern(a: float, b: float, d: float) -> Effort:
    """Matern-5/2 covariances (a, b): the product that gives squared distances, and eight passes
    over blocks that stay in a cache, so that memory sees the result once.
    """
    return Effort(2 * a * b * (d + 2) + 8 * a * b, DOUBLE * (a * (d + 2) + b * (d + 2) + a * b))


def evidence(n: float, d: float) -> Effort:
    """ln p(y) under Matern-5/2 and its gradient over d + 3 parameters: half of the covariances and
    their mirror image, one factor, one inverse, and W A (n, n) (n, d) for the length-scales.

    About ten passes over (n, n) remain: alpha alpha' - K^-1, the trace, the product with K, the
    product with the slopes of the kernel.
    """
    half = 0.5 * matern(n, n, d)
    return half + cholesky(n) + inverse(n) + product(n, n, d) + elementwise(n * n, 10)


def moments(n: float, q: float, d: float) -> Effort:
    """Mean and variance at q points: covariances with the data, one triangular system."""
    return matern(n, q, d) + triangular(n, q) + elementwise(n * q, 2)


def slopes(n: float, q: float, d: float) -> Effort:
    """What the gradients of both add: a second triangular system, and back through the kernel."""
    return triangular(n, q) + product(q, n, d) + elementwise(n * q, 4)


def joint_draws(n: float, q: float, d: float, count: float) -> Effort:
    """`count` joint draws at q points by their covariance: q^2 n and q^3/3."""
    whitened = matern(n, q, d) + triangular(n, q)
    residual = 0.5 * matern(q, q, d) + 0.5 * product(q, n, q) + cholesky(q)
    return whitened + residual + product(count, q, q)


def path_draws(n: float, q: float, d: float, count: float, features: float) -> Effort:
    """`count` draws along paths: features/2 frequencies, each a sine and a cosine at the data and
    at q points, and the correction by the data.
    """
    prior = [
        product(m, d, features / 2)
        + elementwise(m * features, 1)
        + 2 * product(m, features / 2, count)
        for m in (n, q)
    ]
    correction = 2 * triangular(n, count) + matern(q, n, d) + product(q, n, count)
    return prior[0] + prior[1] + correction


def sampled_density(n: float, d: float) -> Effort:
    """The density of SAAS's parameters with its gradient: a factor, the inverse of the factor, the
    inverse itself by a full product, covariances and their slopes by three products with d.
    """
    return (
        cholesky(n)
        + triangular(n, n)
        + product(n, n, n)
        + 3 * product(n, d, n)
        + elementwise(n * n, 15)
    )


def joint_moments(outputs: float, n: float, q: float, d: float) -> Effort:
    """Means and variances of several outputs at q points under RBF kernels."""
    one = product(q, d, n) + elementwise(q * n, 3) + triangular(n, q)
    return outputs * one


def joint_slopes(outputs: float, n: float, q: float, d: float) -> Effort:
    """What their slopes over the points add."""
    return outputs * (triangular(n, q) + product(q, n, d) + elementwise(q * n, 4))


def reduction(outputs: float, s: float, b: float, n: float, d: float) -> Effort:
    """LCBO's eq. (13) and its slopes for s batches of b points: M s b n (2 n + 8 d + 6 b)."""
    rows = s * b
    one = (
        4 * product(rows, d, n)  # k(Z, X), k P, W P', q times the offsets
        + product(rows, n, n)  # C = k H
        + 3 * product(rows, n, b)  # V, A C and the sums
        + elementwise(rows * n, 5)
    )
    return outputs * one


def design(outputs: float, n: float, d: float) -> Effort:
    """LCBO's H of every output: a factor, and a solve with the unit matrix; then P = H G."""
    return outputs * (product(n, d, n) + cholesky(n) + 2 * triangular(n, n) + product(n, n, d))


def additive_evidence(n: float, factors: float) -> Effort:
    """Evidence and gradient of an additive process, distances known: some eight passes over the
    n^2/2 pairs of each factor, a factor and an inverse of (n, n).
    """
    return cholesky(n) + inverse(n) + elementwise(factors * n * n / 2, 8) + elementwise(n * n, 6)


def pull(arms: float, u: float, d: float) -> Effort:
    """One more arm in an exact posterior: its column, one row times the columns of u arms, five
    products of (u, u) with a vector, and both matrices copied into larger ones.
    """
    column = Effort(arms * (3 * d + 2), DOUBLE * arms * (d + 1))
    row = Effort(2 * arms * u, DOUBLE * arms * u)
    known = Effort(12 * u * u, DOUBLE * 10 * u * u)
    return column + row + known + elementwise(arms, 4)


def sketch(arms: float, u: float, members: float, rank: float) -> Effort:
    """A refit of BKB with so many members of the dictionary: two eigendecompositions, the features
    of u pulled arms, and those of all arms block by block, so that memory sees the columns once.
    """
    pulled = product(rank, members, u) + product(rank, u, rank) + product(members, rank, rank)
    everyone = Effort(2 * members * rank * arms + 6 * rank * arms, DOUBLE * members * arms)
    return eigenvectors(members) + eigenvectors(rank) + pulled + everyone
