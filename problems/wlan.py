"""The Shannon capacity of a wireless network whose nodes choose their transmission powers:
bardou2024dumbo, App. I.2.

The SINR of a user j of node i is S = P_i g_ij / (N + sum_k P_k g_kj) over the nodes k that disturb
it, with the gain g of ns-3's log-distance law at 5.15 GHz and its thermal noise N. The factors are
the capacities W log2(1 + S) of the users of one node. The decomposition that is given takes a
factor for a function of its node and of that node's neighbours, "the reasonable assumption" of
App. I.2; in ns-3 all other nodes disturb a user, so that the assumption nearly holds.

Where the SINRs come from, by `backend`:
closed-form   the formula.
ns3           the formula on powers from ns-3's chain of propagation models: the same numbers to
              1e-9 dB.
csma          one second of CSMA/CA in ns-3 (802.11a, 6 Mb/s, ad hoc, 1400 B to each user every
              4 ms): the mean over the frames that a user decodes; none is no capacity. Back-off
              times are drawn from the noise of the evaluation and remain in its true value;
              through carrier sensing a factor depends on nodes that are no neighbours, too.
The last two run `simulators/ns3_wlan.cc`; ns-3 is Debian's package libns3-dev.

Paper -> here:  C -> `Network.capacities`,  W -> bandwidth,  N_i -> `Topology.users`,  N -> THERMAL
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Box, Observation
from problems.api import Display, Evaluation, Problem
from problems.topologies import TOPOLOGIES, Topology

EXPONENT, REFERENCE = 3.0, 46.6777  # of the loss; in dB, up to a distance of 1 m
BOLTZMANN, TEMPERATURE, CHANNEL, FIGURE = 1.3803e-23, 290.0, 20e6, 7.0  # J/K as in ns-3, K, Hz, dB
THERMAL = 1e3 * BOLTZMANN * TEMPERATURE * CHANNEL * 10 ** (FIGURE / 10)  # mW
POWERS = (1.0, 25.0)  # dBm: 10^0.1 to 10^2.5 mW
SENSITIVITY = -82.0  # dBm, what a node receives of its neighbours at their greatest power
RANGE = 10 ** ((POWERS[1] - SENSITIVITY - REFERENCE) / (10 * EXPONENT))  # m, 102.5
INTERFERENCE = ("neighbours", "all")
SCALES = ("linear", "dBm")
MODES = {"closed-form": "", "ns3": "chain", "csma": "csma"}  # of the simulator, by backend
RUNS = 1 << 31  # ns-3's number of the run is drawn from 1 to this


@dataclass(frozen=True, eq=False)
class Network:
    """Gains between n nodes and u users, as ratios of powers, and who disturbs whom."""

    topology: Topology
    near: NDArray[np.bool_]  # (n, n) row i: node i and its neighbours
    heard: NDArray[np.bool_]  # (n, n) row i: whom the users of node i hear, i itself included
    signal: Array  # (u,) gain from a user's own node
    disturbing: Array  # (n, u) gain from every other node that it hears, else 0

    @property
    def decomposition(self) -> tuple[tuple[int, ...], ...]:
        """Each node with its neighbours, whose powers are assumed to decide its capacity."""
        return tuple(tuple(np.flatnonzero(row).tolist()) for row in self.near)

    def sinr(self, powers: Array) -> Array:
        """S (q, u) at powers (q, n) in mW."""
        found: Array = (
            powers[:, self.topology.owners] * self.signal / (THERMAL + powers @ self.disturbing)
        )
        return found

    def capacities(self, sinr: Array, bandwidth: float) -> Array:
        """The sums (q, n) of the capacities of the users of each node at S (q, u), in the unit of
        `bandwidth` times bit.
        """
        own = np.equal.outer(self.topology.owners, np.arange(len(self.heard)))  # (u, n)
        total: Array = bandwidth * np.log2(1 + sinr) @ own  # eq. (68)
        return total


def network(topology: Topology, *, interference: str) -> Network:
    """A topology on the air: `interference` is all (every other node disturbs a user) or
    neighbours (only nodes up to RANGE from its own).
    """
    near = topology.neighbours(RANGE) | np.eye(len(topology.nodes), dtype=np.bool_)
    heard = near if interference == "neighbours" else np.ones_like(near)
    loss = REFERENCE + 10 * EXPONENT * np.log10(np.maximum(topology.distances, 1))  # (n, u) dB
    gain = 10 ** (-loss / 10)
    own = topology.owners, np.arange(gain.shape[1])
    disturbing = gain * heard[topology.owners].T
    disturbing[own] = 0
    return Network(topology, near, heard, gain[own], disturbing)


def shannon_capacity(
    instance: np.random.Generator,
    *,
    topology: str,
    interference: str,
    scale: str,
    backend: str,
    bandwidth: float,
    noise: float,
    simulator: Path | None = None,
) -> Problem:
    """The greatest capacity of all users of a topology by name (the paper's: d = 12). `instance` is
    not used.

    `interference` is all, as in ns-3, or neighbours, under which the given decomposition is exact.
    `scale` is linear or dBm: in what a query runs through the powers in proportion. `bandwidth` is
    W in Hz; 1 gives bit/s/Hz, in which Table 2 seems to be. `simulator` is the program of the
    backends ns3 and csma. The optimum is unknown.
    """
    for option, value, choices in (
        ("topology", topology, TOPOLOGIES),
        ("interference", interference, INTERFERENCE),
        ("scale", scale, SCALES),
        ("backend", backend, MODES),
    ):
        _one_of(option, value, choices)
    if not 0 < bandwidth < np.inf:
        raise ValueError(
            f"expected a finite bandwidth > 0, got {bandwidth}: correct it in papers/*.yaml"
        )
    if not noise >= 0:
        raise ValueError(
            f"expected a standard deviation noise >= 0, got {noise}: correct it in papers/*.yaml"
        )
    if (simulator is None) != (backend == "closed-form"):
        raise ValueError(
            f"expected a simulator for the backends ns3 and csma alone, got {simulator} for"
            f" {backend}: correct the line `simulator: ns3_wlan` of the problem in papers/*.yaml"
        )
    made = network(TOPOLOGIES[topology], interference=interference)
    spread = noise / np.sqrt(len(made.heard))

    def evaluate(query: NDArray[np.float64], rng: np.random.Generator) -> Evaluation:
        sent = powers(query, scale=scale)
        sinr = (
            made.sinr(sent)
            if simulator is None
            else simulated(simulator, MODES[backend], made, sent, rng)
        )
        true = made.capacities(sinr, bandwidth)  # (q, n)
        seen = true + spread * rng.standard_normal(true.shape)
        return Evaluation(_observation(seen), _observation(true), np.zeros(len(query)))

    return Problem(
        domain=Box(len(made.heard)),
        evaluate=evaluate,
        best_kind="best-seen",
        reveals={"decomposition": made.decomposition},
        display=Display("negative capacity", "bit/s/Hz" if bandwidth == 1 else "bit/s", -1),
        # Numbers of another ns-3 are other numbers: as data they make another run, whose records do
        # not mix with these.
        data_sha256=(
            "" if simulator is None else hashlib.sha256(version(simulator).encode()).hexdigest()
        ),
    )


def powers(query: Array, *, scale: str) -> Array:
    """Transmission powers (..., n) in mW at queries (..., n)."""
    low, high = POWERS
    if scale == "dBm":
        return np.asarray(10 ** ((low + (high - low) * query) / 10), dtype=np.float64)
    least, most = 10 ** (low / 10), 10 ** (high / 10)
    return np.asarray(least + (most - least) * query, dtype=np.float64)


def version(simulator: Path) -> str:
    """The version of ns-3 that a program was built with."""
    return _output(simulator, ["--version"], "").strip()


def simulated(
    simulator: Path, mode: str, made: Network, powers: Array, rng: np.random.Generator
) -> Array:
    """S (q, u) at powers (q, n) in mW by a mode of the program; 0 for users that decode nothing.
    Raises ArithmeticError.

    `rng` decides what csma and sniffer draw.
    """
    topology, u = made.topology, len(made.signal)
    runs = (
        rng.integers(1, RUNS, size=len(powers))
        if mode != "chain"
        else np.ones(len(powers), dtype=np.int64)
    )
    rows = [[mode, len(topology.nodes), u, len(powers)], *topology.node_places.tolist()]
    rows += [
        [*place, owner]
        for place, owner in zip(
            topology.user_places.tolist(), topology.owners.tolist(), strict=True
        )
    ]
    rows += made.heard.astype(int).tolist()
    rows += [
        [run, *row]
        for run, row in zip(runs.tolist(), (10 * np.log10(powers)).tolist(), strict=True)
    ]
    printed = _output(simulator, [], "".join(" ".join(map(str, row)) + "\n" for row in rows))
    lines = [line.split() for line in printed.splitlines()]
    if [len(line) for line in lines] != [u] * len(powers):
        raise ArithmeticError(
            f"expected {len(powers)} lines of {u} SINRs from {simulator}, got {printed[:200]!r}:"
            " build it anew"
        )
    decibels = np.array(lines, dtype=np.float64).reshape(len(powers), u)
    if not (np.isfinite(decibels) | ((decibels == -np.inf) & (mode != "chain"))).all():
        raise ArithmeticError(
            f"expected finite SINRs in dB from {simulator}, got {decibels}: look at the positions"
            " and powers"
        )
    return np.asarray(10 ** (decibels / 10), dtype=np.float64)


def _output(simulator: Path, arguments: list[str], given: str) -> str:
    """What the program prints.

    Raises FileNotFoundError and ChildProcessError with what it complained of.
    """
    remedy = f"build it by `python -m workflow.simulators {simulator.name}`"
    try:
        done = subprocess.run(
            [simulator.absolute(), *arguments],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
        )
    except OSError as error:
        raise FileNotFoundError(
            f"expected the program {simulator}, cannot run it ({error}): {remedy}"
        ) from None
    if done.returncode:
        complaint = done.stderr.strip()[-500:] or "nothing"
        raise ChildProcessError(
            f"expected status 0 of {simulator}, got {done.returncode}, which says {complaint}:"
            f" {remedy} anew"
        )
    return done.stdout


def _observation(outputs: Array) -> Observation:
    """The outputs (q, n) of all factors and their sum."""
    return Observation(outputs.sum(axis=1), np.empty((len(outputs), 0)), outputs)


def _one_of(option: str, value: str, choices: Collection[str]) -> None:
    if value not in choices:
        raise ValueError(
            f"expected {option} to be {' or '.join(choices)}, got {value!r}: correct it in"
            " papers/*.yaml"
        )
