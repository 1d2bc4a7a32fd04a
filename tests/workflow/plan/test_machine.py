"""How slow this machine is: the probe's figure over the reference's, kept for each machine."""

import json

import pytest

from workflow.plan import costs, machine, show


@pytest.fixture(autouse=True)
def apart(monkeypatch, tmp_path):
    """A cache of our own, a reference that took two seconds, and a probe that counts its calls."""
    calls = []

    def probed():
        calls.append(1)
        return 3.0

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NOREGRET_PROBE", raising=False)
    monkeypatch.setattr(costs, "table", lambda: {"reference": {"probe": 2.0}})
    monkeypatch.setattr(machine, "probed", probed)
    machine._probe.cache_clear()
    yield calls
    machine._probe.cache_clear()


def test_a_machine_is_measured_once_and_compared_with_the_reference(apart):
    assert machine.slowness() == 1.5
    machine._probe.cache_clear()  # as another process
    assert machine.slowness() == 1.5
    assert len(apart) == 1
    assert list(json.loads(machine.kept().read_text()).values()) == [3.0]


def test_another_host_or_cpu_is_measured_for_itself(apart, monkeypatch):
    machine.slowness()
    machine._probe.cache_clear()
    monkeypatch.setattr(machine, "cpu", lambda: "another")
    machine.slowness()
    assert len(apart) == 2
    assert len(json.loads(machine.kept().read_text())) == 2


def test_it_is_measured_again_on_demand(apart, monkeypatch):
    machine.slowness()
    monkeypatch.setenv("NOREGRET_PROBE", "again")
    machine.slowness()
    assert len(apart) == 2


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"a": '])
def test_a_damaged_cache_is_written_anew(apart, text):
    machine.kept().parent.mkdir()
    machine.kept().write_text(text)
    assert machine.slowness() == 1.5
    assert len(json.loads(machine.kept().read_text())) == 1


def test_a_cache_that_cannot_be_written_keeps_nobody_from_planning(apart, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert machine.slowness() == 1.5


def test_nothing_is_measured_where_nobody_wants_it_or_nothing_can_be_compared(apart, monkeypatch):
    monkeypatch.setenv("NOREGRET_PROBE", "0")
    assert machine.slowness() == 1.0
    monkeypatch.delenv("NOREGRET_PROBE")
    monkeypatch.setattr(costs, "table", lambda: {"cells": {}})
    assert machine.slowness() == 1.0
    assert not apart


def test_the_plan_prints_hours_of_this_machine_and_jobs_are_those_of_all(
    apart, monkeypatch, capsys
):
    monkeypatch.undo()
    printed = {}
    for slowness in (1.0, 3.0):
        monkeypatch.setattr(machine, "slowness", lambda slowness=slowness: slowness)
        assert show.main(["bkb", "--scale", "smoke"]) == 0
        printed[slowness] = capsys.readouterr().out
    (one,), (three,) = (
        [line.split() for line in text.splitlines() if line.startswith("sum")]
        for text in printed.values()
    )
    for low, high in zip(one[3:], three[3:], strict=True):
        assert low == high == "-" or float(high) == pytest.approx(3 * float(low), abs=2e-3)
    assert "takes 3.00 seconds for each" in printed[3.0]
    assert "takes" not in printed[1.0]


@pytest.mark.parametrize("figure", [None, "fast", [], 0])
def test_a_figure_that_is_none_ends_no_plan(apart, figure):
    machine.kept().parent.mkdir(parents=True, exist_ok=True)
    here = f"{machine.platform.node()}: {machine.cpu()}"
    machine.kept().write_text(json.dumps({here: figure}))
    assert machine.slowness() == 1


def test_a_probe_that_fails_ends_no_plan(apart, monkeypatch):
    def fails():
        raise machine.subprocess.CalledProcessError(1, "probe")

    monkeypatch.setattr(machine, "probed", fails)
    assert machine.slowness() == 1
