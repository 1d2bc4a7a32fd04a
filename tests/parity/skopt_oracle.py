"""Writes oracles/skopt.json, what scikit-optimize says of `gp_cases`: `python -m
tests.parity.skopt_oracle`.

The library minimises: it is told -y. It scales inputs to the unit cube and y to mean 0 and variance
1 (divisor n), so that hyperparameters are those of `scaled`.
"""

import warnings

import numpy as np
from skopt import __version__
from skopt.acquisition import gaussian_ei, gaussian_lcb, gaussian_pi
from skopt.learning import GaussianProcessRegressor
from skopt.learning.gaussian_process.kernels import ConstantKernel, Matern
from skopt.utils import cook_estimator

from tests.parity import gp_cases
from tests.parity.gp_cases import scaled

XI, KAPPA = 0.01, 1.96


def given(parameters):
    """The library's regression with these values, which it keeps."""
    kernel = ConstantKernel(parameters.outputscale) * Matern(parameters.lengthscale, nu=2.5)
    return GaussianProcessRegressor(
        kernel, noise=parameters.noise, normalize_y=True, optimizer=None, alpha=0.0
    )


def acquisitions(regression, points, best):
    """What the library maximises at points (q, d) of the cube, each (q,); `best` is the largest
    y."""
    return {
        "ei": gaussian_ei(points, regression, y_opt=-best, xi=XI),
        "pi": gaussian_pi(points, regression, y_opt=-best, xi=XI),
        "ucb": -gaussian_lcb(points, regression, kappa=KAPPA),
    }


def predicted(case):
    """Posterior and acquisition values at the points of a case, given its hyperparameters."""
    x, y = case.data()
    regression = given(scaled(case)).fit(x, -y)
    mean, deviation = regression.predict(case.points(), return_std=True)
    found = {"mean": -mean, "deviation": deviation}
    found |= acquisitions(regression, case.points(), float(y.max()))
    return {name: np.asarray(values).tolist() for name, values in found.items()}


def fitted(case):
    """The log evidence after the library's own fit from its first values and two drawn ones."""
    x, y = case.data()
    regression = cook_estimator("GP", space=[(0.0, 1.0)] * case.d, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parameters at their bounds
        regression.fit(x, -y)
    return {"evidence": float(regression.log_marginal_likelihood_value_)}


def value(case, name, x, y, candidates):
    """An acquisition function at candidates (q, d), under given hyperparameters, (q,)."""
    regression = given(scaled(case)).fit(x, -y)
    return acquisitions(regression, candidates, float(y.max()))[name]


def made():
    runs = ("ei", "pi", "ucb")
    return {"scikit-optimize": __version__, **gp_cases.said(predicted, fitted, value, runs)}


if __name__ == "__main__":
    gp_cases.write("skopt", made())
