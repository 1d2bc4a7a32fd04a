"""What several test files share: small tables of arms, and oracles written with other libraries."""

import tests.kernels  # noqa: F401  before NumPy

# isort: split
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg
from sklearn.gaussian_process.kernels import RBF

from algorithms.api import Arms, Box, Observation
from tests.settings import CASES, marked

# Why a test may be skipped even where NOREGRET_TESTS=whole has every other skip fail: what no
# package brings. A part of the reason that pytest prints.
INEVITABLE = (
    "root may write anywhere",  # of two tests, one wants root and one another user
    "only root gives files to other users",
    "nothing can be mounted here",  # rights that some containers withhold
    "`unshare --pid` is permitted",
    "kernels",  # processors without x86's, or without those of AVX-512
    "no features beyond the baseline",
    "long double is no wider than double",
)


def pytest_configure(config):
    """Whatever tests start keeps its checkpoints outside the home of whoever runs them."""
    state = tempfile.TemporaryDirectory(prefix="state-")
    config.add_cleanup(state.cleanup)
    os.environ["XDG_STATE_HOME"] = state.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return not_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return not_skipped((yield))


def not_skipped(report):
    """The report; where NOREGRET_TESTS=whole, a failed one if what could be had is skipped."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    _, _, reason = report.longrepr
    if os.environ.get("NOREGRET_TESTS") == "whole" and not any(
        part in reason for part in INEVITABLE
    ):
        report.outcome = "failed"
        report.longrepr = (
            f"{reason}: expected a machine that has it, since NOREGRET_TESTS is whole; install it,"
            " or add the reason to INEVITABLE in tests/conftest.py"
        )
    return report


def pytest_make_parametrize_id(config, val, argname):
    """The same names in every process: bytes may hold a time, a path is this machine's."""
    return argname if isinstance(val, bytes | Path) else None


def pytest_generate_tests(metafunc):
    """`case` runs over every optimizer, `arms_case` over those on arms."""
    for argument, chosen in (
        ("case", CASES),
        ("arms_case", [case for case in CASES if not case.box]),
    ):
        if argument in metafunc.fixturenames:
            metafunc.parametrize(argument, marked(chosen), ids=str)


@pytest.fixture
def smooth():
    """smooth(seed, A, d) -> points in the unit cube (A, d), a smooth function of them in [0,1]."""

    def build(seed=0, A=60, d=2):
        draw = np.random.default_rng(seed)
        points = draw.random((A, d))
        centres, weights = draw.random((6, d)), draw.standard_normal(6)
        f = RBF(0.3)(points, centres) @ weights
        return points, (f - f.min()) / np.ptp(f)

    return build


@pytest.fixture
def gram():
    """gram(points, bandwidth) -> the Gaussian kernel between all rows (A, A), by scikit-learn."""
    return lambda points, bandwidth: RBF(bandwidth)(points)


@pytest.fixture
def dense():
    """dense(K, lam, x, y) -> mean (A,), covariance/lam (A, A) given all pulls, factorised anew."""

    def condition(K, lam, x, y):
        factor = scipy.linalg.cho_factor(K[np.ix_(x, x)] + lam * np.eye(len(x)))
        mean = K[:, x] @ scipy.linalg.cho_solve(factor, np.asarray(y))
        return mean, (K - K[:, x] @ scipy.linalg.cho_solve(factor, K[x])) / lam

    return condition


@pytest.fixture
def literal():
    """literal(K, lam, dictionary, x, y): BBKB (1)-(3) and BKB (4) as printed, by numpy's pinv: mean
    and variance (A,), covariance and inside (A, A), and the embedding z (m, A) of a sketch.
    """

    def sketch(K, lam, dictionary, x, y):
        S, U = np.linalg.eigh(K[np.ix_(dictionary, dictionary)])
        z = (
            np.linalg.pinv(U @ np.diag(np.sqrt(np.maximum(S, 0))) @ U.T, rcond=1e-7, hermitian=True)
            @ K[dictionary]
        )
        Z = z[:, x].T  # (t, m)
        V = Z.T @ Z + lam * np.eye(len(dictionary))
        mean = z.T @ np.linalg.solve(V, Z.T @ np.asarray(y))  # BBKB eq. (1)
        inside = z.T @ np.linalg.solve(V, z)  # z' V^-1 z
        covariance = (K - z.T @ z) / lam + inside  # BBKB eq. (2)
        variance = (
            np.diag(K) - np.diag(z.T @ Z.T @ Z @ np.linalg.solve(V, z))
        ) / lam  # BKB eq. (4)
        return SimpleNamespace(
            mean=mean, covariance=covariance, variance=variance, z=z, inside=inside
        )

    return sketch


@pytest.fixture
def play():
    """play(optimizer, f, steps, room) -> all queries of rounds, noise paired by evaluation."""

    def rounds(optimizer, f, steps, room=1, noise=0.05, between=lambda: None):
        asked = []
        for _ in range(steps):
            query = optimizer.ask(room, optimizer.x[:0])
            between()
            told = [
                f(q) + noise * np.random.default_rng(len(optimizer.y) + i).standard_normal()
                for i, q in enumerate(query)
            ]
            optimizer.tell(query, Observation.of(np.array(told)))
            asked.append(query)
        return asked

    return rounds


@pytest.fixture
def begin(smooth):
    """begin(case, seed) -> an optimizer told one point, and the function that it maximises."""

    def start(case, seed=0, A=60, points=None):
        table, values = smooth(1, A)
        domain = Box(2) if case.box else Arms(table if points is None else points)
        optimizer = case.build(domain, np.random.default_rng(seed))
        first = np.array([[0.25, 0.75]]) if case.box else np.array([len(domain) // 2])

        def f(query):
            return -float(np.sum((query - 0.4) ** 2)) if case.box else float(values[query])

        optimizer.tell(first, Observation.of(np.array([f(first[0])])))
        return optimizer, f

    return start
