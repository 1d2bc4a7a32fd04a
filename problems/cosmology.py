"""Nine cosmological constants and the clustering of galaxies, bardou2024dumbo, App. I.1: the BOSS
DR9 CMASS likelihood.

What chuang2013cmass measured at redshift 0.57 is v = [H, D_A, Omega_m h^2, b sigma8, f sigma8]: the
expansion rate, the angular diameter distance (physical), the density of matter, the spread of the
galaxies' density in spheres of 8 Mpc/h and of matter's growth. y is the log-likelihood as
CosmoSIS's module BOSS has it (zuntz2015cosmosis): -(v-d)' M (v-d)/2 without its constant, or a
Gaussian in f sigma8 with it. The paper names neither the constants nor their ranges. Those of `BOX`
are what CosmoSIS's own examples vary, "from the Hubble's constant to the mass of the neutrinos";
over them, for b = 1, the log-likelihood reaches -4.1 on five of the box's faces, where the paper's
methods end at -5.8 to -5.9. The optical depth tau changes nothing.

Constants that are inconsistent - less dark matter than none, or CAMB refuses them - give y = -60,
the paper's value, and violate a *hidden constraint*: g (q, 1) is 1 where the simulator fails and -1
where it runs, so that a record counts failures. Optimizers without constraints do not look at g.

v comes from CAMB (lewis2000camb) or, where that is not installed, from a stand-in: the expansion of
CAMB without the difference between heavy neutrinos and cold matter, linear growth, and the fitted
transfer functions of eisenstein1998baryonic and eisenstein1999variants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Box
from problems.api import Display, Evaluation, Problem, constrained

BOX: Mapping[str, tuple[float, float]] = {
    "h0": (0.55, 0.91),  # 100 km/s/Mpc
    "omega_m": (0.1, 0.9),  # all matter: baryons, cold matter, neutrinos
    "omega_b": (0.03, 0.07),
    "omega_k": (-0.1, 0.1),
    "n_s": (0.87, 1.07),
    "A_s": (0.5e-9, 5e-9),
    "tau": (0.04, 0.125),
    "w": (-2.0, -0.33),
    "mnu": (0.06, 0.6),  # eV, the sum of the masses
}
BIAS = (1.0, 3.0)  # of the galaxies where it is free, and then
TAU = 0.0697186  # CosmoSIS's
REDSHIFT, RADIUS, PIVOT = 0.57, 8.0, 0.05  # -, Mpc/h of the spheres, 1/Mpc
MEASURED = np.array([87.6, 1396.0, 0.126, 1.19, 0.428])  # km/s/Mpc, Mpc, -, -, -
# M; REFERENCE CODE: the file is called a covariance and is used as its inverse, which it is
PRECISION = np.array(
    [
        [0.03850, -0.001141, -13.53, 0.4007, -1.271],
        [-0.001141, 0.0008662, 3.354, -0.1598, -0.3059],
        [-13.53, 3.354, 19370.0, -987.8, -770.0],
        [0.4007, -0.1598, -987.8, 110.8, 78.67],
        [-1.271, -0.3059, -770.0, 78.67, 411.3],
    ]
)
GROWTH_RATE = (0.428, 0.066)  # mean and standard deviation of f sigma8
FAILED = -60.0  # y where the constants are inconsistent
KMAX = 2.0  # 1/Mpc in CAMB: from 5 the log-likelihood differs by 0.001

LIGHT = 299792.458  # km/s
TEMPERATURE = 2.7255  # K, of the microwave background
SPECIES = 3.046  # effective number of neutrinos, one of them heavy
PHOTONS = 2.4728e-5 * (TEMPERATURE / 2.7255) ** 4  # Omega h^2
RADIATION = PHOTONS * (1 + 7 / 8 * (4 / 11) ** (4 / 3) * SPECIES)  # Omega h^2, all neutrinos light
NEUTRINO = 93.04  # eV for Omega h^2 = 1
START, STEPS = 1e-3, 96  # first scale factor of the growth; steps of ln a
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
WAVES = np.geomspace(1e-4, 5.0, 240)  # 1/Mpc


class Inconsistent(ValueError):
    """Constants of which no universe is made."""


@dataclass(frozen=True)
class Constants:
    """What a universe is made of; omega are shares of the critical density today, mnu is in eV."""

    h0: float
    omega_m: float
    omega_b: float
    omega_k: float
    n_s: float
    A_s: float
    tau: float
    w: float
    mnu: float


def boss_likelihood(
    instance: np.random.Generator,
    *,
    mode: str,
    bias: str | float,
    floor: float,
    backend: str,
    noise: float,
) -> Problem:
    """The constants (d = 9) of greatest log-likelihood. `instance` is not used: the survey is the
    instance.

    `mode` is five-numbers (1 in CosmoSIS) or growth-rate (0, its default); `bias` is b, or free:
    then it takes tau's place. Values below `floor` (the paper: -60; -inf: none) are cut to it, not
    those of failures. `backend` is camb (0.6 s of CPU a query) or growth (0.4 ms). The optimum is
    unknown. Raises ImportError where CAMB is chosen and is not installed.
    """
    _one_of("mode", mode, MODES)
    _one_of("backend", backend, BACKENDS)
    if bias != "free" and (isinstance(bias, str) or not 0 < bias < math.inf):
        raise ValueError(
            f"expected bias to be free or a number > 0, got {bias!r}: correct it in papers/*.yaml"
        )
    if not floor < 0:
        raise ValueError(
            f"expected a floor < 0, -inf for none, got {floor}: correct it in papers/*.yaml"
        )
    if not noise >= 0:
        raise ValueError(
            f"expected a standard deviation noise >= 0, got {noise}: correct it in papers/*.yaml"
        )
    if backend == "camb":
        simulator()  # now, rather than at the first query
    likelihood, numbers = MODES[mode], BACKENDS[backend]

    def value(x: Array) -> tuple[float, float]:
        constants, b = at(x, bias)
        try:
            v = numbers(constants)
        except Inconsistent:
            return FAILED, 1.0
        return max(likelihood(v * [1, 1, 1, b, 1]), floor), -1.0

    def evaluate(query: NDArray[np.float64], rng: np.random.Generator) -> Evaluation:
        true = np.array([value(x) for x in query]).reshape(-1, 2)  # (q, 2)
        seen = true + np.column_stack(
            [noise * rng.standard_normal(len(query)), np.zeros(len(query))]
        )
        return Evaluation(constrained(seen), constrained(true), np.zeros(len(query)))

    return Problem(
        domain=Box(len(BOX)),
        evaluate=evaluate,
        best_kind="best-seen",
        display=Display("negative log-likelihood", sign=-1),
        data=DATA[backend],
    )


def at(x: Array, bias: str | float) -> tuple[Constants, float]:
    """The constants of a query (9,), and b."""
    box = {**BOX, "tau": BIAS} if bias == "free" else BOX
    values = {
        name: low + (high - low) * float(t)
        for (name, (low, high)), t in zip(box.items(), x, strict=True)
    }
    if bias == "free":
        return Constants(**{**values, "tau": TAU}), values["tau"]
    return Constants(**values), float(bias)


def five_numbers(v: Array) -> float:
    """The log-likelihood of v (5,), at most 0."""
    return -0.5 * float((v - MEASURED) @ PRECISION @ (v - MEASURED))


def growth_rate(v: Array) -> float:
    """The log-density of f sigma8 in v (5,)."""
    mean, spread = GROWTH_RATE
    return -0.5 * ((float(v[4]) - mean) / spread) ** 2 - 0.5 * math.log(2 * math.pi * spread**2)


def by_camb(constants: Constants) -> Array:
    """v (5,) for b = 1. Raises Inconsistent.

    One heavy neutrino in two light ones, a dark energy that may cross w = -1, linear matter power
    alone.
    """
    camb, h = simulator(), constants.h0
    parameters = camb.CAMBparams(WantCls=False)
    baryons = constants.omega_b * h**2
    parameters.set_cosmology(
        H0=100 * h,
        ombh2=baryons,
        omch2=0.0,
        omk=constants.omega_k,
        mnu=constants.mnu,
        nnu=SPECIES,
        tau=constants.tau,
    )
    parameters.omch2 = constants.omega_m * h**2 - baryons - parameters.omnuh2
    _positive("cold matter", parameters.omch2)  # CAMB itself does not mind
    parameters.set_dark_energy(w=constants.w, dark_energy_model="ppf")
    parameters.InitPower.set_params(As=constants.A_s, ns=constants.n_s, pivot_scalar=PIVOT)
    parameters.set_matter_power(redshifts=[REDSHIFT], kmax=KMAX)
    try:
        found = camb.get_results(parameters)
        H, distance = found.hubble_parameter(REDSHIFT), found.angular_diameter_distance(REDSHIFT)
        return np.array(
            [H, distance, constants.omega_m * h**2, found.get_sigma8()[0], found.get_fsigma8()[0]]
        )
    except camb.CAMBError as error:
        raise Inconsistent(str(error)) from None


def simulator() -> ModuleType:
    """CAMB, on one thread. Raises ImportError."""
    try:
        import camb
    except ModuleNotFoundError as missing:
        raise ImportError(
            "backend camb needs CAMB, which is not installed: pip install 'noregret-bo[cosmology]',"
            " or choose backend growth"
        ) from missing
    camb.config.ThreadNum = 1
    return camb


def by_growth(constants: Constants) -> Array:
    """v (5,) for b = 1 without CAMB. Raises Inconsistent.

    At 60 random points of the box it differs from CAMB 2.0.5 by 1e-5 (median; at most 4e-5) in H,
    5e-6 (2e-5) in D_A, 1.1 % (6.3 %) in sigma8 and 1.1 % (5.8 %) in f sigma8, five_numbers by 0.85
    (8.4 of -1395), 0.66 (2.1) where it is above -60; at the constants of a flat universe with h =
    0.69 and Omega_m = 0.3 by 2e-5, 7e-6, 0.4 % and 0.4 %, five_numbers by 0.23 of -22.
    """
    h, matter = constants.h0, constants.omega_m * constants.h0**2
    neutrinos = constants.mnu / NEUTRINO
    _positive("cold matter", matter - constants.omega_b * h**2 - neutrinos)
    z = REDSHIFT / 2 * (NODES + 1)
    # (17,) H/H0
    expansion = np.sqrt(squared_rate(constants, np.append(1 / (1 + z), 1 / (1 + REDSHIFT)))[0])
    chi = REDSHIFT / 2 * float(WEIGHTS @ (1 / expansion[:-1]))  # c/H0, comoving
    distance = LIGHT / (100 * h) * _bent(chi, constants.omega_k) / (1 + REDSHIFT)
    D, f = growth(constants)
    cold = 1 - neutrinos / matter
    lag, rate = infall(WAVES, matter, cold, D * (1 + matter / RADIATION))
    T = transfer(WAVES, matter, constants.omega_b * h**2) * lag
    # of matter, for a curvature of 1
    amplitude = 0.4 * (WAVES * LIGHT / (100 * h)) ** 2 / constants.omega_m * T * D
    power = (
        constants.A_s
        * (WAVES / PIVOT) ** (constants.n_s - 1)
        * amplitude**2
        * ball(WAVES * RADIUS / h) ** 2
    )
    step = math.log(WAVES[1] / WAVES[0])
    sigma8 = math.sqrt(step * power.sum())
    f_sigma8 = f * step * float(power @ rate) / sigma8
    return np.array([100 * h * expansion[-1], distance, matter, sigma8, f_sigma8])


def squared_rate(constants: Constants, a: Array) -> tuple[Array, Array, Array]:
    """(H/H0)^2 at scale factors a, its derivative by ln a, and matter's part of it. Raises
    Inconsistent where it is not positive.

    Heavy neutrinos count as cold matter, the light ones and their past as radiation.
    """
    radiation = RADIATION / constants.h0**2
    dark = 1 - constants.omega_m - constants.omega_k - radiation
    shares = np.array([radiation, constants.omega_m, constants.omega_k, dark])
    powers = np.array([-4.0, -3.0, -2.0, -3 * (1 + constants.w)])
    parts = shares * a[:, None] ** powers  # (n, 4)
    total = parts.sum(axis=1)
    _positive("expansion rate", float(total.min()))
    return total, parts @ powers, parts[:, 1]


def growth(constants: Constants) -> tuple[float, float]:
    """D, which is a while matter dominates, and f = d ln D/d ln a at redshift 0.57, by Runge and
    Kutta's method in ln a.

    D'' + (2 + d ln H/d ln a) D' = 3/2 Omega_m(a) D, from the growing mode under radiation and
    matter, a + 2/3 of equality's a.
    """
    x = np.linspace(math.log(START), -math.log(1 + REDSHIFT), 2 * STEPS + 1)
    total, slope, matter = squared_rate(constants, np.exp(x))
    drag, pull = (2 + 0.5 * slope / total).tolist(), (1.5 * matter / total).tolist()
    step = float(x[2] - x[0])
    D, D1 = START + 2 / 3 * RADIATION / constants.h0**2 / constants.omega_m, START
    for i in range(0, 2 * STEPS, 2):
        a1, b1 = D1, pull[i] * D - drag[i] * D1
        a2 = D1 + step / 2 * b1
        b2 = pull[i + 1] * (D + step / 2 * a1) - drag[i + 1] * a2
        a3 = D1 + step / 2 * b2
        b3 = pull[i + 1] * (D + step / 2 * a2) - drag[i + 1] * a3
        a4 = D1 + step * b3
        b4 = pull[i + 2] * (D + step * a3) - drag[i + 2] * a4
        D, D1 = (
            D + step / 6 * (a1 + 2 * a2 + 2 * a3 + a4),
            D1 + step / 6 * (b1 + 2 * b2 + 2 * b3 + b4),
        )
    return D, D1 / D


def infall(k: Array, matter: float, cold: float, D: float) -> tuple[Array, Array]:
    """By how much heavy neutrinos, which stream out of small structures, hold back matter at k (n,)
    in 1/Mpc.

    `matter` is Omega_m h^2, `cold` the share that is no neutrino, D the growth without them, 1 +
    z_eq at present if matter dominated. Returns D_cbnu/D, and the growth rate of cold matter over
    that without neutrinos times D_cb/D_cbnu: the velocity that CAMB correlates with all matter is
    the cold one's. eisenstein1999variants, eqs. (11)-(14), one heavy neutrino.
    """
    light = 1 - cold
    p = (5 - math.sqrt(1 + 24 * cold)) / 4  # eq. (11)
    q = k * (TEMPERATURE / 2.7) ** 2 / matter
    streaming = 17.2 * light * (1 + 0.488 * light ** (-7 / 6)) * (q / light) ** 2  # eq. (14)
    u = (D / (1 + streaming)) ** 0.7
    D_cb = (1 + u) ** (p / 0.7) * D ** (1 - p)  # eq. (12)
    D_cbnu = (cold ** (0.7 / p) + u) ** (p / 0.7) * D ** (1 - p)  # eq. (13)
    return D_cbnu / D, (1 - p + p * u / (1 + u)) * D_cb / D_cbnu


def transfer(k: Array, matter: float, baryons: float) -> Array:
    """What is left of a fluctuation of k (n,) in 1/Mpc at late times; densities are Omega h^2.
    eisenstein1998baryonic, Sec. 3.

    DEVIATES: z_eq and k_eq are those of RADIATION; eqs. (2) and (3) have three neutrinos exactly.
    """
    warm, f_b = TEMPERATURE / 2.7, baryons / matter
    z_eq = matter / RADIATION
    k_eq = math.sqrt(2 * matter * z_eq) * 100 / LIGHT
    b1 = 0.313 * matter**-0.419 * (1 + 0.607 * matter**0.674)
    # eq. (4)
    z_d = (
        1291
        * matter**0.251
        / (1 + 0.659 * matter**0.828)
        * (1 + b1 * baryons ** (0.238 * matter**0.223))
    )
    R_d, R_eq = (31.5 * baryons * warm**-4 * 1e3 / z for z in (z_d, z_eq))  # eq. (5)
    s = (
        2
        / (3 * k_eq)
        * math.sqrt(6 / R_eq)
        * math.log((math.sqrt(1 + R_d) + math.sqrt(R_d + R_eq)) / (1 + math.sqrt(R_eq)))
    )
    silk = 1.6 * baryons**0.52 * matter**0.73 * (1 + (10.4 * matter) ** -0.95)  # eq. (7)
    q = k / (13.41 * k_eq)  # eq. (10)
    a1 = (46.9 * matter) ** 0.670 * (1 + (32.1 * matter) ** -0.532)
    a2 = (12.0 * matter) ** 0.424 * (1 + (45.0 * matter) ** -0.582)
    alpha_c = a1**-f_b * a2 ** -(f_b**3)  # eq. (11)
    # eq. (12)
    beta_c = 1 / (
        1
        + 0.944 / (1 + (458 * matter) ** -0.708) * ((1 - f_b) ** ((0.395 * matter) ** -0.0266) - 1)
    )
    y = (1 + z_eq) / (1 + z_d)
    root = math.sqrt(1 + y)
    G = y * (-6 * root + (2 + 3 * y) * math.log((root + 1) / (root - 1)))  # eq. (15)
    alpha_b = 2.07 * k_eq * s * (1 + R_d) ** -0.75 * G  # eq. (14)
    beta_b = 0.5 + f_b + (3 - 2 * f_b) * math.sqrt((17.2 * matter) ** 2 + 1)  # eq. (24)
    node = 8.41 * matter**0.435  # eq. (23)

    def T0(alpha: float, beta: float) -> Array:  # eqs. (19), (20)
        L = np.log(math.e + 1.8 * beta * q)
        return np.asarray(L / (L + (14.2 / alpha + 386 / (1 + 69.9 * q**1.08)) * q**2))

    ks = k * s
    f = 1 / (1 + (ks / 5.4) ** 4)  # eq. (18)
    T_c = f * T0(1, beta_c) + (1 - f) * T0(alpha_c, beta_c)  # eq. (17)
    sound = np.sinc(ks / np.cbrt(1 + (node / ks) ** 3) / math.pi)  # eq. (22)
    T_b = (
        T0(1, 1) / (1 + (ks / 5.2) ** 2)
        + alpha_b / (1 + (beta_b / ks) ** 3) * np.exp(-((k / silk) ** 1.4))
    ) * sound
    total: Array = f_b * T_b + (1 - f_b) * T_c  # eq. (16), (21)
    return total


def ball(x: Array) -> Array:
    """The Fourier transform of a ball at radius times wave number x."""
    transformed: Array = 3 * (np.sin(x) - x * np.cos(x)) / x**3
    return transformed


def _bent(chi: float, omega_k: float) -> float:
    """The comoving distance across the line of sight of one along it, both in c/H0."""
    root = math.sqrt(abs(omega_k))
    if root * chi < 1e-6:
        return chi
    return math.sinh(root * chi) / root if omega_k > 0 else math.sin(root * chi) / root


def _positive(what: str, value: float) -> None:
    if not value > 0:
        raise Inconsistent(f"expected a positive {what}, got {value:g}")


def _one_of(option: str, value: str, choices: Collection[str]) -> None:
    if value not in choices:
        raise ValueError(
            f"expected {option} to be {' or '.join(choices)}, got {value!r}: correct it in"
            " papers/*.yaml"
        )


MODES: Mapping[str, Callable[[Array], float]] = {
    "five-numbers": five_numbers,
    "growth-rate": growth_rate,
}
BACKENDS: Mapping[str, Callable[[Constants], Array]] = {"camb": by_camb, "growth": by_growth}
DATA = {
    "camb": "real",  # the survey's measurements
    "growth": (
        "substitute: linear growth and fitted transfer functions instead of CAMB, log-likelihoods"
        " differ by 0.9 (median)"
    ),
}
