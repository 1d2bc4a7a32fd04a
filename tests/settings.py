"""Every method with small settings, each named once; test files change single ones of them."""

from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

import numpy as np
import pytest

import algorithms
from algorithms.api import Arms
from tests.algorithms.grouped import changed

# over arms

CONFIDENCE = {"xi": 0.1, "norm": 1.0, "delta": 0.01, "beta": "theorem"}
TABLE = {"bandwidth": 0.3, "lam": 0.01}
SKETCH = {"qbar": 2.0, "inclusion": "per-pull"}
GP_UCB = {**TABLE, **CONFIDENCE, "posterior": "distinct-arms"}
GP_BUCB = {**GP_UCB, "C": 3.0, "rule": "product"}
BATCH = {
    **TABLE,
    **CONFIDENCE,
    **SKETCH,
    "C": 2.0,
    "rule": "global",
    "parallelism": 0,
    "start": "resparsify",
}
EVOLUTION = {"population": 8, "tournament": 3, "replacement": "with"}

# networks

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

# one Gaussian process

GP = {"exploration": 0.01, "climb": {"raw": 32, "starts": 2, "steps": 8}}
GAMMA = {**GP, "surrogate": "gamma-priors", "repetitions": "repeat"}
PRINTED = {**GAMMA, "surrogate": "gamma-priors-raw", "inputs": {"low": -5.0, "high": 5.0}}
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

# a region around the best point

BOX = {
    "length": 0.8,
    "longest": 1.6,
    "shortest": 0.5**7,
    "fewest_successes": 3,
    "dims_per_success": inf,
    "patience": 2,
    "improvement": 1e-3,
}
TURBO = {
    "batch": 1,
    "region": BOX,
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
TURBO_CODE = {
    "batch": 3,
    "draws": "observed",
    "standard": "median",
    "fit": {"method": "adam", "steps": 10, "rate": 0.1},
}

# several Gaussian processes with RBF kernels

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
EPBO = {**CEI, "beta": 2.0, "width": "multiplier", "penalty": 10.0}
LOG_CEI = {
    "climb": {"raw": 16, "starts": 2, "steps": 4},
    "nearby": {"count": 8, "widest": 0.1, "narrowest": 0.001},
    "likelihood": "noisy",
}
REGION = {
    **RBF_FITS,
    "batch_per_dim": 0.5,
    "region": {**BOX, "dims_per_success": 10, "patience": 0},
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
LCBO = {
    "surrogate": RBF_FITS["surrogate"],
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
    "memory_per_dim": inf,
}

# sums of factors

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
ADD_GPUCB = {**ADDITIVE, "beta_dims": "factor", "grid": 20}
DECHBO = {**ADDITIVE, "partitions": PARTITIONS, "beta_dims": "factor", "grid": 5, "rounds": 3}
DUMBO = {
    **ADDITIVE,
    "partitions": {**PARTITIONS, "largest_factor": inf},
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
    "split": "reference-code",
    "acceptance": "predictive",
    "fit_start": "inherited",
    "rule": "theorem",
    "neighbours": "per-decomposition",
    "gram": "inverse",
    "exploration": "complete",
    "pick": "boltzmann",
    "method": "l-bfgs",
    "dual_residual": "variables",
    "mean": "fitted",
}
DUMBO_KNOWN = {"decomposition": [[0], [0, 1]], "models": 1}


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

    def __str__(self):
        return f"{self.name.partition('.')[2]}-{self.label}"


def several(name, parameters, changes, **kind):
    """A case for each label, with some of the parameters changed."""
    return [Case(name, label, changed(parameters, **one), **kind) for label, one in changes.items()]


ON_BOX = {"box": True}
CONSTRAINED = {"box": True, "constrained": True}
PER_ARM = {"beta": "reference-code", "inclusion": "per-arm"}
CASES = [
    Case("_template.MyMethod", "template", {"step": 0.2, "shrink": 0.9}, box=True),
    Case("random_search.RandomSearch", "arms", constrained=True),
    Case("random_search.RandomSearch", "box", box=True, constrained=True),
    *several(
        "eps_greedy.EpsGreedy",
        {**TABLE, "epsilon": 0.2, "model": "empirical-mean"},
        {"empirical": {}, "gp": {"model": "gaussian-process"}},
    ),
    *several(
        "gp_ucb.GPUCB",
        GP_UCB,
        {"distinct": {}, "textbook": {"posterior": "textbook"}, "code": {"beta": "reference-code"}},
    ),
    *several(
        "gp_bucb.GPBUCB",
        GP_BUCB,
        {"product": {}, "sum": {"rule": "sum"}, "textbook": {"posterior": "textbook"}},
    ),
    Case(
        "async_ts.AsyncTS",
        "ts",
        {**TABLE, **CONFIDENCE, "batch": 5, "shrink": 10.0, "tolerance": 1e-8},
    ),
    *several(
        "bkb.BKB",
        {**TABLE, **CONFIDENCE, **SKETCH, "epsilon": 0.5},
        {"theorem": {}, "code": PER_ARM},
    ),
    *several(
        "bbkb.BBKB",
        BATCH,
        {
            "global": {},
            "local": {"rule": "global-local"},
            "appendix": {"rule": "global-local-appendix", "C": 1.2},
            "code": PER_ARM,
            "uncertainty": {"parallelism": 4},
            "bless": {"start": "bless"},
            "bless-code": {"start": "bless", **PER_ARM},
        },
    ),
    *several(
        "regularized_evolution.RegularizedEvolution",
        EVOLUTION,
        {"with": {}, "without": {"tournament": 8, "replacement": "without"}},
    ),
    Case("average_of_k.AverageOfK", "five", {"k": 5}, box=True),
    Case("best_observed.BestObserved", "box", box=True),
    *several(
        "gp_ucb_box.GPUCBBox",
        BOUND,
        {"kandasamy": {}, "noise-free": {"gram": "noise-free"}},
        **ON_BOX,
    ),
    *several(
        "ms_ucb.MSUCB",
        SUBSPACES,
        {"first": {}, "drawn": {"block": "drawn", "alpha": 0.25, "incumbent": "left-out"}},
        **ON_BOX,
    ),
    *several(
        "linebo.LineBO",
        LINES,
        {
            "random": {},
            "coordinate": {"directions": "coordinate", "surrogate": "gamma-priors"},
            "ascent": {"directions": "ascent"},
        },
        **ON_BOX,
    ),
    *several(
        "dumbo.DuMBO",
        DUMBO,
        {
            "mcmc": {},
            "reading": DUMBO_READING,
            "random": {"decomposition": "random"},
            "known": DUMBO_KNOWN,
        },
        **ON_BOX,
    ),
    Case("saasbo.SAASBO", "official", SAASBO, box=True),
    Case("add_gpucb.ADDGPUCB", "factor", ADD_GPUCB, box=True),
    *several(
        "dec_hbo.DECHBO",
        DECHBO,
        {"factor": {}, "domain": {"beta_dims": "domain", "largest_factor": 1}},
        **ON_BOX,
    ),
    *several(
        "go_ucb.GOUCB",
        NETWORK,
        {
            "literal": {},
            "uniform": {"start": "uniform"},
            "trained": TRAINED,
            "retrained": {**TRAINED, "calls": "every-round"},
            "unit": {"space": "unit"},
        },
        **ON_BOX,
    ),
    *several(
        "gp_acquisition.GPAcquisition",
        {**GAMMA, "acquisition": "ei"},
        {
            "ei": {},
            "printed": PRINTED,
            "pi": {"acquisition": "pi", "repetitions": "replace"},
            "ucb": {"acquisition": "ucb", "exploration": 3.8416},
        },
        **ON_BOX,
    ),
    *several("turbo.TuRBO", TURBO, {"tutorial": {}, "code": TURBO_CODE}, **ON_BOX),
    *several(
        "lcbo.LCBO",
        LCBO,
        {"joint": {}, "code": LCBO_CODE, "growing": {"schedule": "growing"}, "theory": LCBO_THEORY},
        **CONSTRAINED,
    ),
    Case("cei.CEI", "fit", CEI, box=True, constrained=True),
    *several(
        "log_cei.LogCEI",
        LOG_CEI,
        {"noisy": {}, "noise-free": {"likelihood": "noise-free"}},
        **CONSTRAINED,
    ),
    *several(
        "epbo.EPBO", EPBO, {"fit": {}, "root": {"width": "root", "standard": "raw"}}, **CONSTRAINED
    ),
    *several("scbo.SCBO", SCBO, {"table": {}, "paper": SCBO_PAPER}, **CONSTRAINED),
    *several(
        "hdsafebo.HDsafeBO",
        HDSAFEBO,
        {"code": {}, "strict": {"standstill": "failure", "interval": 1.0}},
        **CONSTRAINED,
    ),
    Case("botorch_logei.BoTorchLogEI", "default", {"restarts": 1, "raw": 8}, **CONSTRAINED),
    *several(
        "optuna_sampler.OptunaSampler",
        {"sampler": "gp", "startup": 4},
        {"gp": {}, "tpe": {"sampler": "tpe"}},
        **CONSTRAINED,
    ),
    Case("pycma.PyCMA", "ipop", {"sigma": 0.3, "growth": 2.0}, **CONSTRAINED),
    *several(
        "nevergrad_ngopt.NevergradNGOpt",
        {"horizon": 20},
        {"cobyla": {}, "cma": {"horizon": 500}},
        **CONSTRAINED,
    ),
]

DEAR = ("BoTorchLogEI-default", "OptunaSampler-gp", "SAASBO-official")  # an ask takes seconds


def marked(cases):
    """The same for `parametrize`, in which the dear ones are slow."""
    slow = pytest.mark.slow
    return [pytest.param(one, marks=slow if str(one) in DEAR else ()) for one in cases]


def case(name):
    """The case of a name such as "CEI-fit"."""
    (found,) = (one for one in CASES if str(one) == name)
    return found
