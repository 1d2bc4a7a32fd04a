"""Writes oracles/botorch.json, what BoTorch says of `gp_cases`: `python -m
tests.parity.botorch_oracle`.

A model is `SingleTaskGP` as it was until 2024: Matern-5/2 with one length-scale an input and Gamma
priors, no transform of inputs or values.
"""

import warnings
from dataclasses import asdict

import torch
from botorch import __version__
from botorch.acquisition.analytic import (
    ExpectedImprovement,
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.utils.gpytorch_modules import (
    get_gaussian_likelihood_with_gamma_prior,
    get_matern_kernel_with_gamma_prior,
)
from gpytorch.mlls import ExactMarginalLogLikelihood

from tests.parity import gp_cases
from tests.parity.gp_cases import Hyperparameters

BETA = 0.1


def model_of(case, x, y):
    """BoTorch's model of points of the cube (n, d), on the printed box, and values (n,) as they
    are; parameters have their first values."""
    return SingleTaskGP(
        torch.from_numpy(case.printed(x)),
        torch.tensor(y, dtype=torch.float64)[:, None],
        covar_module=get_matern_kernel_with_gamma_prior(case.d),
        likelihood=get_gaussian_likelihood_with_gamma_prior(),
        outcome_transform=None,
    ).double()


def given(model, parameters):
    """The model with these values, ready to predict."""
    kernel = model.covar_module
    kernel.base_kernel.lengthscale = torch.tensor(parameters.lengthscale, dtype=torch.float64)
    kernel.outputscale = torch.tensor(parameters.outputscale, dtype=torch.float64)
    model.likelihood.noise = torch.tensor([parameters.noise], dtype=torch.float64)
    model.mean_module.constant.data.fill_(parameters.mean)
    return model.eval()


def acquisitions(model, best):
    """The three functions of the paper, and two logarithms; a plain number would be rounded to
    single precision."""
    aim, beta = torch.tensor([best, BETA], dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is a better function than EI
        ei = ExpectedImprovement(model, aim)
    return {
        "ei": ei,
        "pi": ProbabilityOfImprovement(model, aim),
        "ucb": UpperConfidenceBound(model, beta),
        "log_ei": LogExpectedImprovement(model, aim),
        "log_pi": LogProbabilityOfImprovement(model, aim),
    }


def density(model):
    """ln p(y | X) plus the log priors."""
    model.train()
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    (X,), y = model.train_inputs, model.train_targets
    with torch.no_grad():
        return len(y) * mll(model(X), y).item()


def fitted(case):
    """The log posterior density at the first values and after BoTorch's fit, with what it found."""
    model = model_of(case, *case.data())
    start = density(model)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    kernel = model.covar_module
    found = Hyperparameters(
        tuple(kernel.base_kernel.lengthscale[0].tolist()),
        kernel.outputscale.item(),
        model.likelihood.noise.item(),
        model.mean_module.constant.item(),
    )
    return {"start": start, "density": density(model), "found": asdict(found)}


def predicted(case):
    """Posterior and acquisition values at the points of a case, given its hyperparameters."""
    x, y = case.data()
    model, points = given(model_of(case, x, y), case.given), case.points()
    X = torch.from_numpy(case.printed(points))
    with torch.no_grad():
        posterior = model.posterior(X)
        found = {"mean": posterior.mean[:, 0], "variance": posterior.variance[:, 0]}
        for name, function in acquisitions(model, float(y.max())).items():
            found[name] = function(X[:, None])
    return {name: values.tolist() for name, values in found.items()}


def value(case, name, x, y, candidates):
    """An acquisition function at candidates (q, d), under given hyperparameters, (q,)."""
    model = given(model_of(case, x, y), case.given)
    with torch.no_grad():
        function = acquisitions(model, float(y.max()))[name]
        return function(torch.from_numpy(case.printed(candidates))[:, None]).numpy()


def made():
    runs = ("log_ei", "log_pi", "ucb")
    return {"botorch": __version__, **gp_cases.said(predicted, fitted, value, runs)}


if __name__ == "__main__":
    gp_cases.write("botorch", made())
