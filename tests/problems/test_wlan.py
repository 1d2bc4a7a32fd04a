"""The wireless network: SINRs by hand and by loops, factors, units, and ns-3 where it is."""

import math
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from problems import wlan
from problems.topologies import TOPOLOGIES, Topology
from tests.problems import asked
from tests.problems.asked import rng, true
from workflow.data import simulators

ROOT = Path(__file__).resolve().parents[2]
ONE = Topology(((0.0, 0.0),), (((10.0, 0.0),),))
TWO = Topology(((0.0, 0.0), (80.0, 0.0)), (((10.0, 0.0),), ((60.0, 0.0), (80.5, 0.0))))
BOTH = [(name, interference) for name in ("twelve", "T12") for interference in wlan.INTERFERENCE]


problem = partial(asked.problem, "wlan.shannon_capacity")


def network(name="twelve", interference="neighbours"):
    return wlan.network(TOPOLOGIES[name], interference=interference)


def decibels(ratio):
    return 10 * np.log10(ratio)


def obvious(topology, sent, interference):
    """S of every user, pair after pair, its neighbours by what they receive at 25 dBm."""

    def loss(a, b):
        return 46.6777 + 30 * math.log10(max(1, math.dist(a, b)))  # dB

    thermal, found = 1e3 * 1.3803e-23 * 290 * 20e6 * 10**0.7, []
    for i, group in enumerate(topology.users):
        heard = [25 - loss(place, topology.nodes[i]) >= -82 for place in topology.nodes]
        others = [k for k in range(len(heard)) if k != i and (interference == "all" or heard[k])]
        for user in group:
            gains = [10 ** (-loss(place, user) / 10) for place in topology.nodes]
            received = np.multiply(gains, sent)
            found.append(received[i] / (thermal + sum(received[k] for k in others)))
    return np.array(found)


# values


def test_one_node_and_one_user_by_hand():
    """20 - 46.6777 - 30 = -56.6777 dBm, 37.28829 dB above noise; 3.728829/0.3010300 + 0.000269."""
    made = wlan.network(ONE, interference="neighbours")
    sinr = made.sinr(np.array([[100.0]]))
    assert_allclose(decibels(sinr), [[37.28829]], atol=5e-6)
    assert_allclose(made.capacities(sinr, 1), [[12.38717]], atol=2e-5)
    assert_allclose(made.capacities(sinr, 20e6), [[247743400]], rtol=2e-6)


def test_two_nodes_by_hand():
    """100 and 10 mW. At the first user 20 - 76.6777 dBm, and from 70 m 10 - 46.6777 - 55.3529 =
    -92.0306 dBm.

    Noise and that are 4.0124e-10 + 6.2653e-10 mW, -89.8811 dBm: 33.2034 dB. The user half a metre
    from its node loses 46.6777 dB; from 80.5 m away come 20 - 46.6777 - 57.1739 = -83.8516 dBm,
    4.1194e-9 mW, with the noise -83.4479 dBm.
    """
    for interference in wlan.INTERFERENCE:
        sinr = wlan.network(TWO, interference=interference).sinr(np.array([[100.0, 10.0]]))
        assert_allclose(decibels(sinr)[0, [0, 2]], [33.2034, 46.7702], atol=3e-4)


@pytest.mark.parametrize(("name", "interference"), BOTH)
def test_it_agrees_with_the_obvious_way(name, interference):
    made = network(name, interference)
    sent = wlan.powers(rng(1).random((5, len(made.heard))), scale="dBm")
    expected = np.array([obvious(TOPOLOGIES[name], one, interference) for one in sent.tolist()])
    assert_allclose(made.sinr(sent), expected, rtol=1e-12)
    same = problem(topology=name, interference=interference, scale="dBm")
    found = true(same, rng(1).random((5, len(made.heard))))
    first = np.cumsum([0, *map(len, TOPOLOGIES[name].users)])[:-1]  # users of each node
    summed = np.add.reduceat(np.log2(1 + expected), first, axis=1)
    assert_allclose(found.factor_values, summed, rtol=1e-12)
    assert_allclose(found.y, summed.sum(axis=1), rtol=1e-12)


def test_published_capacities_lie_between_uniform_powers_and_the_optimum():
    found = problem(interference="all")
    assert -true(found, rng(2).random((2000, 12))).y.mean() == pytest.approx(-114.5, abs=0.2)
    ends = [
        minimize(lambda x: -true(found, x).y[0], start, bounds=[(0, 1)] * 12).fun
        for start in rng(2).random((10, 12))
    ]
    assert min(ends) == pytest.approx(-123.75, abs=0.01)


# units


def test_both_scales_reach_the_same_ends():
    ends = np.array([[0.0], [1.0]])
    for scale in wlan.SCALES:
        assert_allclose(wlan.powers(ends, scale=scale), [[10**0.1], [10**2.5]], rtol=1e-14)
    for scale, middle in (("linear", (10**0.1 + 10**2.5) / 2), ("dBm", 10**1.3)):
        assert_allclose(wlan.powers(np.array([0.5]), scale=scale), [middle], rtol=1e-14)
    corners = rng(10).integers(0, 2, (5, 12)).astype(float)
    one, other = (true(problem(scale=scale), corners).factor_values for scale in wlan.SCALES)
    assert_allclose(one, other, rtol=1e-12)


def test_bandwidth_is_a_unit():
    query = rng(11).random((3, 12))
    wide = problem(bandwidth=20e6)
    assert_allclose(true(wide, query).y, 20e6 * true(problem(), query).y, rtol=1e-12)
    assert (wide.display.unit, problem().display.unit) == ("bit/s", "bit/s/Hz")


# a simulator that misbehaves


@pytest.fixture
def pretended(tmp_path):
    """pretended(words) -> a program that says its version, and else runs words of the shell."""

    def write(words):
        path = tmp_path / "ns3_wlan"
        path.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && echo ns-0 && exit 0\ncat >'
            f" {tmp_path}/given\n{words}\n"
        )
        path.chmod(0o755)
        return path

    return write


def test_a_simulator_that_is_not_there_is_named_with_how_to_build_it(tmp_path):
    said = r"ns3_wlan, cannot run .*: build it by `python -m workflow.simulators ns3_wlan`"
    with pytest.raises(FileNotFoundError, match=said):
        problem(backend="ns3", simulator=tmp_path / "ns3_wlan")


def test_another_version_is_another_run(pretended):
    path = pretended("exit 0")
    found = problem(backend="ns3", simulator=path).data_sha256
    assert found == simulators.version_sha256(path) and len(found) == 64
    path.write_text(path.read_text().replace("ns-0", "ns-1"))
    assert problem(backend="ns3", simulator=path).data_sha256 not in (found, "")


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ("echo 'no power' >&2; exit 2", ChildProcessError, "got 2, which says no power"),
        ("exit 3", ChildProcessError, "got 3, which says nothing"),
        ("echo 1 2 3", ArithmeticError, "expected 1 lines of 36 SINRs from .*, got '1 2 3"),
        ("seq -s ' ' 36; seq -s ' ' 36", ArithmeticError, "expected 1 lines of 36 SINRs"),
        ("echo nan `seq -s ' ' 35`", ArithmeticError, "expected finite SINRs in dB"),
        ("echo inf `seq -s ' ' 35`", ArithmeticError, "expected finite SINRs in dB"),
    ],
)
@pytest.mark.parametrize("backend", ["ns3", "csma"])
def test_a_simulator_that_fails_is_quoted(pretended, backend, words, error, message):
    with pytest.raises(error, match=message):
        true(problem(backend=backend, simulator=pretended(words)), np.full(12, 0.5))


def test_a_user_that_decodes_nothing_has_no_capacity(pretended):
    path = pretended("echo -inf `seq -s ' ' 35`")
    found = true(problem(backend="csma", simulator=path), np.full(12, 0.5))
    expected = np.log2(1 + 10 ** (np.arange(36) / 10)).reshape(12, 3)
    expected[0, 0] = 0
    assert_allclose(found.factor_values, [expected.sum(axis=1)], rtol=1e-14)
    with pytest.raises(ArithmeticError, match="expected finite SINRs in dB"):
        true(problem(backend="ns3", simulator=path), np.full(12, 0.5))


def test_what_a_simulator_is_told(pretended, tmp_path):
    path = pretended("seq -s ' ' 36; seq -s ' ' 36")
    query = rng(15).random((2, 12))
    problem(backend="csma", simulator=path).evaluate(query, rng(16))
    mode, *words = (tmp_path / "given").read_text().split()
    numbers = np.array(words, dtype=float)
    assert (mode, *numbers[:3]) == ("csma", 12, 36, 2)
    assert_array_equal(numbers[3:27].reshape(12, 2), TOPOLOGIES["twelve"].nodes)
    assert_array_equal(numbers[27:135].reshape(36, 3)[:, :2], TOPOLOGIES["twelve"].user_places)
    assert_array_equal(numbers[27:135].reshape(36, 3)[:, 2], np.repeat(np.arange(12), 3))
    assert_array_equal(numbers[135:279].reshape(12, 12), network().heard)
    sent = numbers[279:].reshape(2, 13)
    assert_array_equal(sent[:, 0], rng(16).integers(1, wlan.RUNS, size=2))
    assert_allclose(10 ** (sent[:, 1:] / 10), wlan.powers(query, scale="linear"), rtol=1e-14)


# ns-3


@pytest.fixture(scope="module")
def ns3(tmp_path_factory):
    """The program, built here; a machine without compiler or headers has nothing to build."""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        pytest.skip(f"no C++ compiler {compiler}")
    command, header = [compiler, "-E", "-x", "c++", "-"], "#include <ns3/version.h>"
    tried = subprocess.run(command, input=header, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip("no headers of ns-3 (Debian: libns3-dev)")
    output = tmp_path_factory.mktemp("simulators") / "ns3_wlan"
    simulators.build("ns3_wlan", output, root=ROOT)
    return output


def test_ns3_says_its_version(ns3):
    assert wlan.version(ns3).startswith("ns-3.")


@pytest.mark.parametrize(("name", "interference"), BOTH)
def test_the_chain_of_ns3_gives_the_same_sinrs(ns3, name, interference):
    made = network(name, interference)
    n = len(made.heard)
    query = np.vstack([rng(17).random((3, n)), np.zeros(n), np.ones(n)])
    sent = wlan.powers(query, scale="linear")
    found = wlan.simulated(ns3, "chain", made, sent, rng())
    assert_allclose(decibels(found), decibels(made.sinr(sent)), rtol=0, atol=1e-9)
    options = {"topology": name, "interference": interference}
    one, other = problem(**options), problem(**options, backend="ns3", simulator=ns3)
    assert_allclose(true(other, query).factor_values, true(one, query).factor_values, rtol=1e-11)
    seen = [chosen.evaluate(query, rng(18)).seen.y for chosen in (one, other)]
    assert_allclose(*seen, rtol=1e-11)  # noise is paired


@pytest.mark.parametrize("interference", wlan.INTERFERENCE)
def test_frames_that_the_phy_of_ns3_decodes_have_the_same_sinrs(ns3, interference):
    made = network(interference=interference)
    sent = wlan.powers(rng(19).random((3, 12)), scale="linear")
    found, expected = wlan.simulated(ns3, "sniffer", made, sent, rng()), made.sinr(sent)
    decoded = found > 0
    assert_allclose(decibels(found[decoded]), decibels(expected[decoded]), rtol=0, atol=1e-9)
    assert decibels(expected[decoded]).min() < 2 and decoded.mean() > 0.75
    assert decibels(expected[~decoded]).max(initial=-99) < 2  # 6 Mb/s needs about as much


@pytest.mark.slow
def test_csma_is_decided_by_the_number_of_the_run(ns3):
    found = problem(backend="csma", simulator=ns3)
    query = rng(20).random((1, 12))
    first, again, other = (found.evaluate(query, rng(seed)) for seed in (21, 21, 22))
    assert_array_equal(first.true.factor_values, again.true.factor_values)
    assert_array_equal(first.seen.y, again.seen.y)
    assert (first.true.factor_values != other.true.factor_values).any()
    made, sent = network(), wlan.powers(np.vstack([query, query]), scale="linear")
    both = wlan.simulated(ns3, "csma", made, sent, rng(21))
    # others in a call do not matter
    assert_allclose(made.capacities(both, 1)[:1], first.true.factor_values, rtol=1e-13)
    assert (both[0] != both[1]).any()


def test_csma_avoids_most_interference(ns3):
    """Mean SINRs of frames lie between those with all others on the air and those with none."""
    made = network()
    sent = wlan.powers(rng(23).random((1, 12)), scale="linear")
    found = wlan.simulated(ns3, "csma", made, sent, rng())
    alone = sent[:, made.topology.owners] * made.signal / wlan.THERMAL
    assert (found <= alone * (1 + 1e-9)).all()
    decoded = found > 0
    assert decoded.mean() > 0.7
    assert np.mean(found[decoded] > made.sinr(sent)[decoded]) > 0.9


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("", "expected chain, csma or sniffer"),
        ("loud 1 1 1", "got loud"),
        ("chain 1 1", "expected the number of queries"),
        ("chain 1 1 1 0 0 1 0 1 1 1 20", "expected a node from 0 to 0, got 1"),
        ("chain 1 1 1 0 0 1 0 0 1 1", "expected a power"),
    ],
)
def test_the_program_says_what_it_misses(ns3, given, complaint):
    done = subprocess.run([ns3], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and complaint in done.stderr and done.stdout == ""


def test_the_program_itself_by_hand(ns3):
    """One node, one user 10 m away, 20 dBm; and a user within a metre of its node."""
    made, sent = wlan.network(TWO, interference="all"), np.array([[100.0, 10.0]])
    near = wlan.simulated(ns3, "chain", made, sent, rng())
    assert_allclose(decibels(near), decibels(made.sinr(sent)), rtol=0, atol=1e-9)
    for mode in ("chain", "sniffer", "csma"):
        given = f"{mode} 1 1 1\n0 0\n10 0 0\n1\n1 20\n"
        done = subprocess.run([ns3], input=given, capture_output=True, text=True, check=True)
        assert float(done.stdout) == pytest.approx(37.28829, abs=5e-6)
