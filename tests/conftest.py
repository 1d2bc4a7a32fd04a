"""What several test files share: small tables of arms, oracles written with other libraries, and
every optimizer by name.
"""

import tests.kernels  # noqa: F401  before NumPy

# isort: split
import os
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from sklearn.gaussian_process.kernels import RBF

import algorithms
from algorithms.api import Arms, Box, Observation
from tests.algorithms.grouped import changed

CONFIDENCE = {"xi": 0.1, "norm": 1.0, "delta": 0.01, "beta": "theorem"}
TABLE = {"bandwidth": 0.3, "lam": 0.01}
SKETCH = {"qbar": 2.0, "inclusion": "per-pull"}
BATCH = {
    **TABLE,
    **CONFIDENCE,
    **SKETCH,
    "C": 2.0,
    "rule": "global",
    "parallelism": 0,
    "start": "resparsify",
}
NETWORK = {
    "hidden": 4,
    "low": -5.0,
    "high": 5.0,
    "horizon": 20,
    "norm": 1.0,
    "units": "paper",
    "method": "gradient",
    "space": "unbounded",
    "oracle": {"calls": "once", "rate": 1e-11, "steps": 10},
    "ascent": {"start": "best-observed", "starts": 1, "rate": 1e-4, "steps": 10},
}
TRAINED = {
    "method": "adam",
    "units": "standardised",
    "oracle_rate": 1e-2,
    "ascent_rate": 1e-2,
    "starts": 3,
}
GP = {"exploration": 0.01, "climb": {"raw": 32, "starts": 2, "steps": 8}}
GAMMA = {**GP, "surrogate": "gamma-priors", "repetitions": "repeat"}
PRINTED = {**GAMMA, "surrogate": "gamma-priors-raw", "inputs": {"low": -5.0, "high": 5.0}}
TURBO = {
    "batch": 1,
    "region": {
        "length": 0.8,
        "longest": 1.6,
        "shortest": 0.5**7,
        "fewest_successes": 3,
        "dims_per_success": float("inf"),
        "patience": 2,
        "improvement": 1e-3,
    },
    "candidates": {"per_dim": 50, "fewest": 0, "most": 100, "perturbed_dims": 20},
    "draws": "latent",
    "restart_per_dim": 2,
    "surrogate": {
        "standard": "sample",
        "lengthscale": [0.005, 2.0, 4.0],
        "outputscale": [1e-3, 0.7, 1e3],
        "noise": [1e-8, 5e-4, 1e-3],
    },
    "fit": {"method": "l-bfgs", "steps": 50, "rate": 0.0},
}
LCBO = {
    "surrogate": {
        "kernels": "fit",
        "noise": 0.01,
        "noise_units": "observed",
        "standard": "sample",
        "lengthscale": [3.0, 3.0, 1.0],
        "outputscale": [2.0, 1.0, 0.693],
    },
    "fit": {
        "every": 2,
        "learn": "iterations",
        "between_fits": "keep",
        "mean": "zero",
        "scale": "logarithm",
        "steps": 3,
        "rate": 0.1,
    },
    "memory_per_dim": 4,
    "repeated": "separate",
    "batch": {"schedule": "fixed", "repeats": 2, "exploration": 3, "exploration_per_dim": 0},
    "acquisition": {
        "selection": "joint",
        "condition": "data",
        "measure": "posterior-trace",
        "temperature": 1.0,
        "delta": 0.1,
    },
    "climb": {"starts": 2, "steps": 4, "rate": 0.01},
    "step": {"length": 0.1, "power": 0.0, "direction": "normalised"},
    "penalty": {"factor": 10.0, "power": 0.25},
    "constraints": "inequality",
}
LCBO_CODE = {
    "repeated": "averaged",
    "selection": "greedy",
    "condition": "data-and-repeats",
    "measure": "less-prior-trace",
    "climb_rate": 0.05,
    "noise_units": "models",
    "learn": "observations",
    "between_fits": "forget",
    "mean": "constant",
    "scale": "softplus",
}
LCBO_THEORY = {
    "standard": "raw",
    "schedule": "theory",
    "repeats": 1,
    "exploration": 0,
    "exploration_per_dim": 1,
    "direction": "plain",
    "step_length": 0.01,
    "step_power": -0.5,
    "penalty_factor": 1.0,
    "memory_per_dim": float("inf"),
}
RBF_FITS = {
    "surrogate": {
        "kernels": "fit",
        "noise": 0.01,
        "noise_units": "observed",
        "standard": "sample",
        "lengthscale": [3.0, 3.0, 1.0],
        "outputscale": [2.0, 1.0, 0.693],
    },
    "fit": {"every": 5, "steps": 5},
}
CEI = {**RBF_FITS, "climb": {"raw": 16, "starts": 2, "steps": 4, "rate": 0.01}}
LOG_CEI = {
    "climb": {"raw": 16, "starts": 2, "steps": 4},
    "nearby": {"count": 8, "widest": 0.1, "narrowest": 0.001},
    "likelihood": "noisy",
}
EPBO = {**CEI, "beta": 2.0, "width": "multiplier", "penalty": 10.0}
REGION = {
    **RBF_FITS,
    "batch_per_dim": 0.5,
    "region": {
        "length": 0.8,
        "longest": 1.6,
        "shortest": 0.5**7,
        "fewest_successes": 3,
        "dims_per_success": 10,
        "patience": 0,
        "improvement": 1e-3,
    },
    "candidates": 50,
    "draws": "paths",
    "features": 64,
}
SCBO = {
    **REGION,
    "centre": {"by": "observations", "after": "design", "design_per_dim": 1},
    "perturbed_dims": 20,
    "sides": "equal",
    "y_as": "observed",
    "g_as": "observed",
}
SCBO_PAPER = {
    "batch_per_dim": 1.5,
    "by": "means",
    "sides": "lengthscales",
    "draws": "factor",
    "y_as": "copula",
    "g_as": "bilog",
}
HDSAFEBO = {**REGION, "standstill": "nothing", "beta": 2.0, "interval": 2.0, "sigma": "observed"}
TURBO_CODE = {
    "batch": 3,
    "draws": "observed",
    "standard": "median",
    "fit": {"method": "adam", "steps": 10, "rate": 0.1},
}
WIDTH = {"rule": "kandasamy", "share": 0.2, "delta": 0.1, "points_per_axis": 100}
BOUND = {
    "surrogate": "gamma-priors",
    "gram": "noisy",
    "width": WIDTH,
    "climb": {"raw": 16, "starts": 1, "steps": 5},
}
SUBSPACES = {
    **BOUND,
    "low": 1,
    "block": "first",
    "subspaces": 1,
    "alpha": 0,
    "incumbent": "included",
}
LINES = {
    "directions": "random",
    "beta": 2.0,
    "lines": {"grid": 50, "fewest": 2, "most": 4, "tolerance": 0.01, "margin": 0.1},
    "ball": {"radius": 0.1, "per_dim": 1, "least_move": 0.02, "least_gain": 0.005},
    "surrogate": "known",
    "known": {"lengthscale": 0.2, "outputscale": 1.0, "noise": 0.04, "standard": "sample"},
    "gram": "noise-free",
}
ADDITIVE = {
    "width": WIDTH,
    "surrogate": {
        "outputscale": 0.69,
        "lengthscale": 0.69,
        "noise": 0.69,
        "least_noise": 1e-4,
        "mean": "zero",
    },
    "gram": "noise-free",
    "fit": {"rate": 0.1, "steps": 3, "new_steps": 3},
}
PARTITIONS = {
    "models": 2,
    "largest_factor": 3,
    "split": "exact",
    "acceptance": "total",
    "fit_start": "first-values",
}
DUMBO = {
    **ADDITIVE,
    "partitions": {**PARTITIONS, "largest_factor": float("inf")},
    "decomposition": "mcmc",
    "outputs": "sum",
    "neighbours": "stacked",
    "floor": 1e-5,
    "exploration": "frozen",
    "climb": {
        "raw": 16,
        "starts": 2,
        "fresh": 1,
        "pick": "best",
        "method": "adam",
        "steps": 4,
        "rate": 0.05,
    },
    "admm": {"rounds": 3, "tolerance": 0.05, "penalty": 1.0, "dual_residual": "edges"},
}
DUMBO_READING = {
    "partitions": {
        "models": 2,
        "largest_factor": float("inf"),
        "split": "reference-code",
        "acceptance": "predictive",
        "fit_start": "inherited",
    },
    "width": {**WIDTH, "rule": "theorem"},
    "neighbours": "per-decomposition",
    "gram": "inverse",
    "exploration": "complete",
    "climb": {**DUMBO["climb"], "pick": "boltzmann", "method": "l-bfgs"},
    "admm": {**DUMBO["admm"], "dual_residual": "variables"},
    "surrogate": {**ADDITIVE["surrogate"], "mean": "fitted"},
}
SAASBO = {
    "surrogate": {
        "kernel": "matern",
        "priors": "official",
        "alpha": 0.1,
        "noise": 1e-6,
        "noise_as": "fixed",
        "standard": "sample",
    },
    "nuts": {
        "warmup": 4,
        "readaptation": 2,
        "samples": 4,
        "thinning": 2,
        "tree_depth": 2,
        "target": 0.8,
        "mass": "diagonal",
        "pad": 64,
    },
    "nudge": 1e-3,
    "climb": {"raw": 32, "starts": 1, "steps": 3},
}
DECHBO = {**ADDITIVE, "partitions": PARTITIONS, "beta_dims": "factor", "grid": 5, "rounds": 3}


# Why a test may be skipped even where NOREGRET_TESTS=whole has every other skip fail: what no
# package brings. A part of the reason that pytest prints.
INEVITABLE = (
    "it is the control",  # random search beside itself
    "a known counter-example",  # of a rule that learns nothing
    "root may write anywhere",  # of two tests, one wants root and one another user
    "only root gives files to other users",
    "nothing can be mounted here",  # rights that some containers withhold
    "`unshare --pid` is permitted",
    "kernels",  # processors without x86's, or without those of AVX-512
    "no features beyond the baseline",
    "long double is no wider than double",
)


def nearest(points, arm):
    """The four other arms nearest to one, or the arm itself where it is alone."""
    order = np.argsort(np.linalg.norm(points - points[arm], axis=1), kind="stable")
    return order[order != arm][:4] if len(points) > 1 else order


@dataclass(frozen=True)
class Case:
    """One optimizer with parameters that make sense on the tables of these tests."""

    name: str
    label: str
    parameters: dict = field(default_factory=dict)
    box: bool = False
    constrained: bool = False

    def build(self, domain, rng):
        if isinstance(domain, Arms) and domain.neighbours is None:
            domain = replace(domain, neighbours=partial(nearest, domain.points))
        return algorithms.build(self.name, domain, rng, self.parameters)


CASES = [
    Case("_template.MyMethod", "template", {"step": 0.2, "shrink": 0.9}, box=True),
    Case("random_search.RandomSearch", "arms", constrained=True),
    Case("random_search.RandomSearch", "box", box=True, constrained=True),
    Case("eps_greedy.EpsGreedy", "empirical", {**TABLE, "epsilon": 0.2, "model": "empirical-mean"}),
    Case("eps_greedy.EpsGreedy", "gp", {**TABLE, "epsilon": 0.2, "model": "gaussian-process"}),
    Case("gp_ucb.GPUCB", "distinct", {**TABLE, **CONFIDENCE, "posterior": "distinct-arms"}),
    Case("gp_ucb.GPUCB", "textbook", {**TABLE, **CONFIDENCE, "posterior": "textbook"}),
    Case(
        "gp_ucb.GPUCB",
        "code",
        {**TABLE, **CONFIDENCE, "beta": "reference-code", "posterior": "distinct-arms"},
    ),
    Case(
        "gp_bucb.GPBUCB",
        "product",
        {**TABLE, **CONFIDENCE, "C": 3.0, "rule": "product", "posterior": "distinct-arms"},
    ),
    Case(
        "gp_bucb.GPBUCB",
        "sum",
        {**TABLE, **CONFIDENCE, "C": 3.0, "rule": "sum", "posterior": "distinct-arms"},
    ),
    Case(
        "gp_bucb.GPBUCB",
        "textbook",
        {**TABLE, **CONFIDENCE, "C": 3.0, "rule": "product", "posterior": "textbook"},
    ),
    Case(
        "async_ts.AsyncTS",
        "ts",
        {**TABLE, **CONFIDENCE, "batch": 5, "shrink": 10.0, "tolerance": 1e-8},
    ),
    Case("bkb.BKB", "theorem", {**TABLE, **CONFIDENCE, **SKETCH, "epsilon": 0.5}),
    Case(
        "bkb.BKB",
        "code",
        {
            **TABLE,
            **CONFIDENCE,
            "qbar": 2.0,
            "epsilon": 0.5,
            "beta": "reference-code",
            "inclusion": "per-arm",
        },
    ),
    Case("bbkb.BBKB", "global", BATCH),
    Case("bbkb.BBKB", "local", {**BATCH, "rule": "global-local"}),
    Case("bbkb.BBKB", "appendix", {**BATCH, "rule": "global-local-appendix", "C": 1.2}),
    Case("bbkb.BBKB", "code", {**BATCH, "beta": "reference-code", "inclusion": "per-arm"}),
    Case("bbkb.BBKB", "uncertainty", {**BATCH, "parallelism": 4}),
    Case("bbkb.BBKB", "bless", {**BATCH, "start": "bless"}),
    Case(
        "bbkb.BBKB",
        "bless-code",
        {**BATCH, "start": "bless", "beta": "reference-code", "inclusion": "per-arm"},
    ),
    Case(
        "regularized_evolution.RegularizedEvolution",
        "with",
        {"population": 8, "tournament": 3, "replacement": "with"},
    ),
    Case(
        "regularized_evolution.RegularizedEvolution",
        "without",
        {"population": 8, "tournament": 8, "replacement": "without"},
    ),
    Case("average_of_k.AverageOfK", "five", {"k": 5}, box=True),
    Case("gp_ucb_box.GPUCBBox", "kandasamy", BOUND, box=True),
    Case("gp_ucb_box.GPUCBBox", "noise-free", {**BOUND, "gram": "noise-free"}, box=True),
    Case("ms_ucb.MSUCB", "first", SUBSPACES, box=True),
    Case(
        "ms_ucb.MSUCB",
        "drawn",
        {**SUBSPACES, "block": "drawn", "alpha": 0.25, "incumbent": "left-out"},
        box=True,
    ),
    Case("linebo.LineBO", "random", LINES, box=True),
    Case(
        "linebo.LineBO",
        "coordinate",
        {**LINES, "directions": "coordinate", "surrogate": "gamma-priors"},
        box=True,
    ),
    Case("linebo.LineBO", "ascent", {**LINES, "directions": "ascent"}, box=True),
    Case("dumbo.DuMBO", "mcmc", DUMBO, box=True),
    Case("dumbo.DuMBO", "reading", {**DUMBO, **DUMBO_READING}, box=True),
    Case("dumbo.DuMBO", "random", {**DUMBO, "decomposition": "random"}, box=True),
    Case(
        "dumbo.DuMBO",
        "known",
        {
            **DUMBO,
            "decomposition": [[0], [0, 1]],
            "partitions": {**DUMBO["partitions"], "models": 1},
        },
        box=True,
    ),
    Case("saasbo.SAASBO", "official", SAASBO, box=True),
    Case(
        "add_gpucb.ADDGPUCB",
        "factor",
        {**ADDITIVE, "beta_dims": "factor", "grid": 20},
        box=True,
    ),
    Case("dec_hbo.DECHBO", "factor", DECHBO, box=True),
    Case(
        "dec_hbo.DECHBO",
        "domain",
        {**DECHBO, "beta_dims": "domain", "partitions": {**PARTITIONS, "largest_factor": 1}},
        box=True,
    ),
    Case("go_ucb.GOUCB", "literal", NETWORK, box=True),
    Case("go_ucb.GOUCB", "uniform", changed(NETWORK, start="uniform"), box=True),
    Case("go_ucb.GOUCB", "trained", changed(NETWORK, **TRAINED), box=True),
    Case("go_ucb.GOUCB", "retrained", changed(NETWORK, **TRAINED, calls="every-round"), box=True),
    Case("go_ucb.GOUCB", "unit", changed(NETWORK, space="unit"), box=True),
    Case("gp_acquisition.GPAcquisition", "ei", {**GAMMA, "acquisition": "ei"}, box=True),
    Case("gp_acquisition.GPAcquisition", "printed", {**PRINTED, "acquisition": "ei"}, box=True),
    Case(
        "gp_acquisition.GPAcquisition",
        "pi",
        {**GAMMA, "acquisition": "pi", "repetitions": "replace"},
        box=True,
    ),
    Case(
        "gp_acquisition.GPAcquisition",
        "ucb",
        {**GAMMA, "acquisition": "ucb", "exploration": 3.8416},
        box=True,
    ),
    Case("turbo.TuRBO", "tutorial", TURBO, box=True),
    Case("turbo.TuRBO", "code", changed(TURBO, **TURBO_CODE), box=True),
    Case("lcbo.LCBO", "joint", LCBO, box=True, constrained=True),
    Case("lcbo.LCBO", "code", changed(LCBO, **LCBO_CODE), box=True, constrained=True),
    Case("lcbo.LCBO", "growing", changed(LCBO, schedule="growing"), box=True, constrained=True),
    Case("lcbo.LCBO", "theory", changed(LCBO, **LCBO_THEORY), box=True, constrained=True),
    Case("cei.CEI", "fit", CEI, box=True, constrained=True),
    Case("log_cei.LogCEI", "noisy", LOG_CEI, box=True, constrained=True),
    Case(
        "log_cei.LogCEI",
        "noise-free",
        {**LOG_CEI, "likelihood": "noise-free"},
        box=True,
        constrained=True,
    ),
    Case("epbo.EPBO", "fit", EPBO, box=True, constrained=True),
    Case(
        "epbo.EPBO",
        "root",
        changed(EPBO, width="root", standard="raw"),
        box=True,
        constrained=True,
    ),
    Case("scbo.SCBO", "table", SCBO, box=True, constrained=True),
    Case("scbo.SCBO", "paper", changed(SCBO, **SCBO_PAPER), box=True, constrained=True),
    Case("hdsafebo.HDsafeBO", "code", HDSAFEBO, box=True, constrained=True),
    Case(
        "hdsafebo.HDsafeBO",
        "strict",
        {**HDSAFEBO, "standstill": "failure", "interval": 1.0},
        box=True,
        constrained=True,
    ),
    Case(
        "botorch_logei.BoTorchLogEI",
        "default",
        {"restarts": 1, "raw": 8},
        box=True,
        constrained=True,
    ),
    *(
        Case(
            "optuna_sampler.OptunaSampler",
            sampler,
            {"sampler": sampler, "startup": 4},
            box=True,
            constrained=True,
        )
        for sampler in ("gp", "tpe")
    ),
    Case("pycma.PyCMA", "ipop", {"sigma": 0.3, "growth": 2.0}, box=True, constrained=True),
    Case("nevergrad_ngopt.NevergradNGOpt", "cobyla", {"horizon": 20}, box=True, constrained=True),
    Case("nevergrad_ngopt.NevergradNGOpt", "cma", {"horizon": 500}, box=True, constrained=True),
]


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
    """The report; where NOREGRET_TESTS=whole, a failed one if something is skipped that could be
    had.
    """
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
    """Tests are named alike in every process that collects them: bytes may hold a time, a path is
    this machine's.
    """
    return argname if isinstance(val, bytes | Path) else None


def pytest_generate_tests(metafunc):
    """`case` runs over every optimizer, `arms_case` over those on arms, `[un]constrained_case` by
    who heeds constraints.
    """
    on_arms, constrained = (
        [case for case in CASES if not case.box],
        [case for case in CASES if case.constrained],
    )
    heedless = [case for case in CASES if not case.constrained]
    cases = {
        "case": CASES,
        "arms_case": on_arms,
        "constrained_case": constrained,
        "unconstrained_case": heedless,
    }
    for argument, chosen in cases.items():
        if argument in metafunc.fixturenames:
            metafunc.parametrize(
                argument, chosen, ids=lambda case: f"{case.name.partition('.')[2]}-{case.label}"
            )


@pytest.fixture
def cases():
    return CASES


@pytest.fixture
def smooth():
    """smooth(seed, A, d) -> points in the unit cube (A, d) and a smooth function of them in [0,1]
    (A,).
    """

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
    """dense(K, lam, x, y) -> mean (A,) and covariance/lam (A, A) given all t pulls, with K_t + lam
    I factorised anew.
    """

    def condition(K, lam, x, y):
        factor = scipy.linalg.cho_factor(K[np.ix_(x, x)] + lam * np.eye(len(x)))
        mean = K[:, x] @ scipy.linalg.cho_solve(factor, np.asarray(y))
        return mean, (K - K[:, x] @ scipy.linalg.cho_solve(factor, K[x])) / lam

    return condition


@dataclass(frozen=True)
class Literal:
    """Mean (A,), covariance (A, A) and embedding z (m, A) of a sketch."""

    mean: np.ndarray
    covariance: np.ndarray
    variance: np.ndarray
    z: np.ndarray
    inside: np.ndarray


@pytest.fixture
def literal():
    """literal(K, lam, dictionary, x, y): BBKB eqs. (1)-(3) and BKB eq.

    (4) as printed, with numpy.linalg.pinv.
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
        return Literal(mean, covariance, variance, z, inside)

    return sketch


@pytest.fixture
def play():
    """play(optimizer, f, steps, room) -> all queries of some ask/tell rounds, with noise paired by
    evaluation.
    """

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
    """begin(case, seed) -> an optimizer that was told one point, and the function that it
    maximises.
    """

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
