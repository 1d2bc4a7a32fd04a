"""Writes oracles/skopt.json, what scikit-optimize says of `gp_cases`: `python -m
tests.parity.skopt_oracle`.

The library minimises: it is told -y. It scales inputs to the unit cube and y to mean 0 and variance
1 (divisor n), so that hyperparameters are those of `scaled`.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from skopt import __version__
from skopt.acquisition import gaussian_ei, gaussian_lcb, gaussian_pi
from skopt.learning import GaussianProcessRegressor
from skopt.learning.gaussian_process.kernels import ConstantKernel, Matern
from skopt.utils import cook_estimator

from tests.parity.gp_cases import CASES, RUN, STEPS, Case, Hyperparameters, scaled

FILE = Path(__file__).parent / "oracles" / "skopt.json"
XI, KAPPA = 0.01, 1.96


def given(parameters: Hyperparameters) -> GaussianProcessRegressor:
    """The library's regression with these values, which it keeps."""
    kernel = ConstantKernel(parameters.outputscale) * Matern(parameters.lengthscale, nu=2.5)
    return GaussianProcessRegressor(
        kernel, noise=parameters.noise, normalize_y=True, optimizer=None, alpha=0.0
    )


def acquisitions(regression: GaussianProcessRegressor, points, best: float) -> dict[str, object]:
    """What the library maximises at points (q, d) of the cube, each (q,); `best` is the largest
    y."""
    return {
        "ei": gaussian_ei(points, regression, y_opt=-best, xi=XI),
        "pi": gaussian_pi(points, regression, y_opt=-best, xi=XI),
        "ucb": -gaussian_lcb(points, regression, kappa=KAPPA),
    }


def predicted(case: Case) -> dict[str, list[float]]:
    """Posterior and acquisition values at the points of a case, given its hyperparameters."""
    x, y = case.data()
    regression = given(scaled(case)).fit(x, -y)
    mean, deviation = regression.predict(case.points(), return_std=True)
    found = {"mean": -mean, "deviation": deviation}
    found |= acquisitions(regression, case.points(), float(y.max()))
    return {name: np.asarray(values).tolist() for name, values in found.items()}


def fitted(case: Case) -> dict[str, float]:
    """The log evidence after the library's own fit from its first values and two drawn ones."""
    x, y = case.data()
    regression = cook_estimator("GP", space=[(0.0, 1.0)] * case.d, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parameters at their bounds
        regression.fit(x, -y)
    return {"evidence": float(regression.log_marginal_likelihood_value_)}


def chosen(case: Case, name: str) -> list[int]:
    """Which candidate each step of a run takes, under given hyperparameters."""
    x, y, path = *case.data(), []
    for step in range(STEPS):
        regression = given(scaled(case)).fit(x, -y)
        candidates = case.candidates(step)
        values = acquisitions(regression, candidates, float(y.max()))[name]
        path.append(int(np.argmax(values)))
        query = candidates[path[-1]]
        x, y = np.vstack([x, query]), np.append(y, case.shows(query, step))
    return path


def made() -> dict[str, object]:
    """All of the file."""
    return {
        "scikit-optimize": __version__,
        "cases": {name: {**predicted(case), "fit": fitted(case)} for name, case in CASES.items()},
        "runs": {name: chosen(CASES[RUN], name) for name in ("ei", "pi", "ucb")},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(made(), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {FILE}")
