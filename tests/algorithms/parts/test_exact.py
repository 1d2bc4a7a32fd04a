"""The exact posterior over distinct arms against conditioning on all pulls, even 10,000."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from algorithms.parts.arms import ExactPosterior, GaussianTable, TextbookPosterior

BANDWIDTH = 0.3


def pulled(posterior, x, y):
    for arm, value in zip(x, y, strict=True):
        posterior.add(arm, value)
    return posterior


def exact(points, lam, x, y, kind=ExactPosterior):
    return pulled(kind(GaussianTable(points, BANDWIDTH), lam), x, y)


def pulls(seed, A, t, few=8):
    """Arms and rewards of t pulls, with many repeats, some of them at once."""
    draw = np.random.default_rng(seed)
    x = np.repeat(draw.choice(A, size=t), draw.integers(1, 4, size=t))[:t]
    x[t // 2 :] = draw.choice(x[:few], size=t - t // 2)
    return x, draw.standard_normal(t)


@pytest.mark.parametrize("kind", [ExactPosterior, TextbookPosterior])
@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_it_equals_conditioning_on_all_pulls(smooth, gram, dense, seed, lam, kind):
    points, _ = smooth(seed)
    x, y = pulls(seed, len(points), t=80)
    posterior = exact(points, lam, x, y, kind)
    mean, covariance = dense(gram(points, BANDWIDTH), lam, x, y)
    # 1e-12 / lam: the condition number of K_t + lam I is at most 80 / lam
    assert_allclose(posterior.mean, mean, atol=1e-12 / lam, rtol=0)
    assert_allclose(posterior.variance, np.diag(covariance), atol=1e-13 / lam**2, rtol=1e-9)
    assert posterior.distinct == len(set(x.tolist()))
    assert posterior.variance_of(3) == posterior.variance[3]


def solve(K, B):
    """K^-1 B by elimination in any precision; K (n, n) is positive definite."""
    K, B = K.copy(), B.copy()
    for i in range(len(K)):
        factor = K[i + 1 :, i : i + 1] / K[i, i]
        B[i + 1 :] -= factor * B[i]
        K[i + 1 :] -= factor * K[i]
    for i in range(len(K))[::-1]:
        B[i] = (B[i] - K[i, i + 1 :] @ B[i + 1 :]) / K[i, i]
    return B


def collapsed(K, lam, arms, n, sums):
    """Mean and variance/lam of all arms from u distinct ones, S = K_D + lam/n, in extended
    precision: 64 bits of mantissa leave 11 of them to check a double by.
    """
    wide = np.longdouble
    S = K[np.ix_(arms, arms)].astype(wide) + np.diag(lam / n.astype(wide))
    k = K[arms].astype(wide)
    solved = solve(S, np.column_stack([sums.astype(wide) / n, k]))  # (u, 1 + A)
    return k.T @ solved[:, 0], (1 - np.sum(k * solved[:, 1:], axis=0)) / wide(lam)


def runs(draw, A, t):
    """Few arms, each pulled thousands of times in a row."""
    return np.repeat(draw.choice(A, size=25, replace=False), t // 25)


def alternating(draw, A, t):
    """Three close arms in turn, for ever; a new arm every two hundred pulls."""
    x = np.tile(draw.choice(A, size=3, replace=False), t // 3 + 1)[:t]
    x[::200] = draw.choice(A, size=len(x[::200]))
    return x


def skewed(draw, A, t):
    """120 distinct arms, never long in a row; the first is pulled 1000 times as often as others."""
    weights = 1 / np.arange(1, 121) ** 1.5
    return draw.choice(draw.permutation(A)[:120], p=weights / weights.sum(), size=t)


def cycling(draw, A, t):
    """120 distinct arms in turn, for ever."""
    return np.tile(draw.permutation(A)[:120], t // 120 + 1)[:t]


# The bandwidth makes the table nearly low-rank, which is what a plain rank-one inverse does not
# survive. The mean is held to 1e-9 (1e-8 is wanted): beyond that lies an inverse that is not
# refined. In a full cycle, 120 new arms each leave a rounding error of 1e-15 in variances of 5e-8,
# so 1e-7 is just missed there. Skewed pulls miss it under Haswell's kernels (1.5e-7).
@pytest.mark.parametrize(
    ("regime", "bandwidth", "rtol"),
    [
        (runs, 0.5, 1e-7),
        (alternating, 0.5, 1e-7),
        (alternating, 4.0, 1e-7),
        (skewed, 4.0, 3e-7),
        (cycling, 1.5, 3e-7),
    ],
)
def test_after_ten_thousand_pulls_it_has_not_drifted(regime, bandwidth, rtol):
    lam, t, draw = 1e-4, 10_000, np.random.default_rng(7)
    centres = draw.random((12, 3))
    # moderately clustered
    points = centres[draw.integers(12, size=200)] + 0.05 * draw.standard_normal((200, 3))
    kernel = GaussianTable(points, bandwidth)
    posterior, x = ExactPosterior(kernel, lam), regime(draw, 200, t)
    y = np.sin(5 * points.sum(axis=1))[x] + 0.01 * draw.standard_normal(t)
    for step, (arm, value) in enumerate(zip(x, y, strict=True), start=1):
        posterior.add(arm, value)
        if step not in (100, 1000, t):
            continue
        arms = np.unique(x[:step])
        n, sums = np.bincount(x[:step])[arms], np.bincount(x[:step], weights=y[:step])[arms]
        mean, variance = collapsed(kernel.columns(np.arange(200)), lam, arms, n, sums)
        assert_allclose(posterior.mean, mean.astype(float), atol=1e-9, rtol=0)
        assert_allclose(posterior.variance, variance.astype(float), rtol=rtol, atol=0)
        best = np.argmax(mean + 0.1 * np.sqrt(variance))
        assert np.argmax(posterior.mean + 0.1 * np.sqrt(posterior.variance)) == best


@pytest.mark.parametrize("lam", [1e-4, 1.0])
def test_log_determinant_and_effective_dimension(smooth, gram, lam):
    points, _ = smooth(0)
    x, y = pulls(1, len(points), t=80)
    K = gram(points, BANDWIDTH)[np.ix_(x, x)]
    textbook = exact(points, lam, x, y, TextbookPosterior)
    posterior, chain = exact(points, lam, [], []), 0.0
    assert posterior.log_det() == posterior.information == 0.0
    for arm, value in zip(x, y, strict=True):
        chain += np.log1p(posterior.variance_of(arm))
        posterior.add(arm, value)
    log_det = np.linalg.slogdet(K / lam + np.eye(80))[1]
    for found in (posterior.log_det(), posterior.information, textbook.information, chain):
        # also the sum of ln(1 + sigma_{s-1}^2(x_s))
        assert found == pytest.approx(log_det, rel=1e-8)
    effective = np.trace(np.linalg.solve(K + lam * np.eye(80), K))
    assert posterior.effective_dimension() == pytest.approx(effective, rel=1e-7)


@pytest.mark.parametrize("kind", [ExactPosterior, TextbookPosterior])
def test_a_batch_told_at_once_is_its_pulls_one_by_one(smooth, kind):
    points, _ = smooth(0)
    x, y = pulls(1, len(points), t=40)
    one, whole = exact(points, 1e-2, x, y, kind), kind(GaussianTable(points, BANDWIDTH), 1e-2)
    for start, stop in ((0, 1), (1, 25), (25, 40)):
        whole.extend(x[start:stop], y[start:stop])
    assert_array_equal(whole.mean, one.mean)
    assert_array_equal(whole.variance, one.variance)
    assert whole.information == one.information
    assert whole.distinct == one.distinct


@pytest.mark.parametrize("kind", [ExactPosterior, TextbookPosterior])
def test_before_any_pull_it_is_the_prior(smooth, kind):
    posterior = exact(smooth(0)[0], 0.25, [], [], kind)
    assert_array_equal(posterior.mean, np.zeros(60))
    assert_array_equal(posterior.variance, np.full(60, 4.0))  # k(x,x) / lambda
    assert posterior.distinct == 0


def test_a_draft_leaves_the_original_alone_and_shrinks_as_the_real_thing_does(smooth):
    points, _ = smooth(0)
    x, y = pulls(0, len(points), t=40)
    for kind in (ExactPosterior, TextbookPosterior):
        original, twin = exact(points, 1e-3, x, y, kind), exact(points, 1e-3, x, y, kind)
        draft = original.draft()
        # starts with the arm pulled last
        batch = [int(x[-1]), int(x[-1]), 59, 3, 59, 3, int(x[0]), 17]
        for arm in batch:
            draft.add(arm, float(draft.mean[arm]))
        assert_array_equal(original.mean, twin.mean)
        assert_array_equal(original.variance, twin.variance)
        assert original.distinct == twin.distinct
        assert_allclose(draft.mean, original.mean, atol=1e-9)  # hallucinated means move nothing
        reached = draft.variance.copy()
        for arm in batch:  # a draft has not spoilt what comes after it
            original.add(arm, 1.0)
            twin.add(arm, 1.0)
        assert_array_equal(original.mean, twin.mean)
        assert_array_equal(original.variance, twin.variance)
        assert_array_equal(draft.variance, reached)
        assert_allclose(reached, original.variance, rtol=1e-9)


def test_duplicated_rows_are_one_arm_to_the_posterior(smooth):
    points, _ = smooth(0, A=20)
    twice = np.vstack([points, points])
    x, y = pulls(2, 20, t=60)
    x[::2] += 20
    posterior, plain = exact(twice, 1e-4, x, y), exact(points, 1e-4, x % 20, y)
    for half in (slice(0, 20), slice(20, 40)):
        assert_allclose(posterior.mean[half], plain.mean, atol=1e-9)
        assert_allclose(posterior.variance[half], plain.variance, rtol=1e-7)
