"""What a regression is asked in the comparisons with BoTorch and scikit-optimize: data on a printed
box, hyperparameters, points, and a list of candidates for each step of a run.

Nothing here imports either library: whoever lacks them still has the numbers that they gave.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from algorithms import gp_acquisition
from algorithms.api import Observation
from algorithms.parts.processes.fitting import Fitted
from algorithms.parts.processes.gp import Posterior
from tests.algorithms.grouped import builder

ORACLES = Path(__file__).parent / "oracles"
POINTS, CANDIDATES, STEPS = 100, 64, 25


def styblinski_tang(z):
    """The paper's f2 at points (n, d) of the printed box."""
    return -0.5 * (z**4 - 16 * z**2 + 5 * z).sum(1)


def accuracy(z):
    """Values as those of a classifier: near 0.95, with small differences, (n,)."""
    return 0.97 - 0.05 * (1 - np.exp(-((z - 6) ** 2).mean(1) / 8))


@dataclass(frozen=True)
class Hyperparameters:
    """Length-scales (d,) in the units of the inputs; outputscale and noise are variances and mean a
    value in the units of y."""

    lengthscale: tuple[float, ...]
    outputscale: float
    noise: float
    mean: float


@dataclass(frozen=True)
class Case:
    """n points of a box, their values with noise, and the hyperparameters that both sides are
    given."""

    f: Callable
    d: int
    low: float
    high: float
    n: int
    spread: float  # standard deviation of the noise
    given: Hyperparameters

    def printed(self, x):
        """Points of the unit cube (n, d) in the units of the printed box."""
        return self.low + (self.high - self.low) * x

    def data(self):
        """Points of the unit cube (n, d) and their values (n,)."""
        rng = np.random.default_rng([self.d, 0])
        x = rng.random((self.n, self.d))
        return x, self.f(self.printed(x)) + self.spread * rng.standard_normal(self.n)

    def points(self):
        """Where posteriors are compared, (POINTS, d): half of them are near a datum."""
        rng, (x, _) = np.random.default_rng([self.d, 1]), self.data()
        near = x[rng.integers(self.n, size=POINTS // 2)]
        near = np.clip(near + 0.03 * rng.standard_normal(near.shape), 0.0, 1.0)
        return np.vstack([near, rng.random((POINTS - len(near), self.d))])

    def candidates(self, step):
        """From which step 0, 1, ... of a run chooses, (CANDIDATES, d)."""
        return np.random.default_rng([self.d, 2, step]).random((CANDIDATES, self.d))

    def shows(self, x, step):
        """What the query x (d,) of a step shows."""
        noise = np.random.default_rng([self.d, 3, step]).standard_normal()
        return float(self.f(self.printed(x[None]))[0] + self.spread * noise)


VALLEY = Hyperparameters((1.6, 2.4, 1.9, 3.1), 4000.0, 400.0, -20.0)
F2 = Hyperparameters((0.5,) * 19 + (3.0,), 900.0, 3.0, 20.0)
ACCURACY = Hyperparameters((2.0,) * 7, 0.02, 2e-4, 0.9)
CASES = {
    # few inputs and long length-scales: the posterior differs from the prior everywhere
    "valley-4": Case(styblinski_tang, 4, -5.0, 5.0, 10, 20.0, VALLEY),
    # the published size of f2 after its initial design, with length-scales near their prior's mode
    "f2-20": Case(styblinski_tang, 20, -5.0, 5.0, 8, 0.01, F2),
    # a tuning task after its initial design and some rounds
    "accuracy-7": Case(accuracy, 7, 0.0, 10.0, 12, 0.002, ACCURACY),
}
RUN = "valley-4"  # whose runs are compared, evaluation by evaluation


def said(predicted, fitted, value, runs):
    """What a library says of every case, and which candidate each step of its runs takes: the one
    at which `value(case, name, x, y, candidates)` is greatest.
    """

    def chosen(name):
        case, path = CASES[RUN], []
        x, y = case.data()
        for step in range(STEPS):
            candidates = case.candidates(step)
            path.append(int(np.argmax(value(case, name, x, y, candidates))))
            query = candidates[path[-1]]
            x, y = np.vstack([x, query]), np.append(y, case.shows(query, step))
        return path

    cases = {name: {**predicted(case), "fit": fitted(case)} for name, case in CASES.items()}
    return {"cases": cases, "runs": {name: chosen(name) for name in runs}}


def write(library, made):
    file = ORACLES / f"{library}.json"
    file.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {file}")


WELL = {"climb": {"raw": 8, "starts": 1, "steps": 1}, "repetitions": "repeat"}


class Known:
    """A regression whose parameters are given, in the units that a case's own regression uses."""

    def __init__(self, model, standard):
        self.model, self.standard = model, standard

    def learn(self, x, y, rng):
        units = self.standard(y)
        data = torch.from_numpy(x), torch.from_numpy(units(y))
        return Fitted(units, Posterior.of(self.model, *data))


def scaled(case):
    """The given hyperparameters of a case in units of the cube and of y with variance 1."""
    given, variance = case.given, float(np.var(case.data()[1]))
    lengthscale = tuple(length / (case.high - case.low) for length in given.lengthscale)
    return Hyperparameters(lengthscale, given.outputscale / variance, given.noise / variance, 0.0)


def optimizer(case, surrogate, acquisition, exploration, **changes):
    """The method of a paper's line, told nothing yet; `surrogate` and `inputs` are the paper's."""
    own = {"surrogate": surrogate, "acquisition": acquisition, "exploration": exploration}
    return builder("gp_acquisition.GPAcquisition", {**own, **WELL, **changes}, case.d)()


def given(model, parameters):
    """The model with these values; `model` is changed."""
    with torch.no_grad():
        kernel = model.kernel
        kernel.base_kernel.lengthscale = torch.tensor(parameters.lengthscale, dtype=torch.float64)
        kernel.outputscale = torch.tensor(parameters.outputscale, dtype=torch.float64)
        model.likelihood.noise = torch.tensor([parameters.noise], dtype=torch.float64)
        if hasattr(model.mean, "constant"):
            model.mean.constant.fill_(parameters.mean)
    return model


def learns(method, model):
    """The method with a regression whose parameters are known; its units stay its own."""
    method.surrogate = Known(model, method.surrogate.standard)
    return method


def run(case, method, monkeypatch, steps=STEPS):
    """Which candidate each step of a run asks for, where the maximum is sought among the candidates
    alone."""
    chosen = []

    def best_candidate(promise, region, rng, **settings):
        candidates = case.candidates(len(chosen))
        with torch.no_grad():
            values = promise(torch.from_numpy(region.points(candidates))).numpy()
        chosen.append(int(np.argmax(values)))
        return candidates[chosen[-1]], float(values.max())

    monkeypatch.setattr(gp_acquisition, "maximise", best_candidate)
    method.tell(case.data()[0], Observation.of(case.data()[1]))
    for step in range(steps):
        query = method.ask(1, method.x[:0])
        method.tell(query, Observation.of(np.array([case.shows(query[0], step)])))
    return chosen
