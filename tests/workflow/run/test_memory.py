"""The memory of a run is its own."""

import resource
from pathlib import Path

import numpy as np
import pytest

from tests.workflow import supervised
from workflow.plan import expand
from workflow.run import make, memory
from workflow.trace import record

can_forget = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="needs Linux, which forgets a peak"
)
MIB = 2**20


@can_forget
def test_what_was_given_back_before_does_not_count():
    memory.forget()
    before = memory.peak_mib()
    block = np.ones(200 * MIB // 8)
    assert memory.peak_mib() > before + 190
    del block
    assert memory.peak_mib() > before + 190
    memory.forget()
    assert memory.peak_mib() < before + 100


@can_forget
def test_a_later_seed_of_the_same_process_does_not_inherit_the_first_ones_peak(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    cell = expand.load("dumbo", "smoke").cell("six-hump-camel", "random-search")
    real = make._step

    def step(cell, seed, *others):
        if seed == 0:
            np.ones(200 * MIB // 8)
        real(cell, seed, *others)

    monkeypatch.setattr(make, "_step", step)
    supervised.make(*(supervised.run(cell, seed) for seed in (0, 1)))
    first, second = (record.read(cell.record(seed)).header["peak_mib"] for seed in (0, 1))
    assert 0 < second < first - 100


def test_elsewhere_the_peak_of_the_process_is_what_is_known(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "OWN", tmp_path / "nothing")
    memory.forget()
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    assert memory.peak_mib() == own > 0
