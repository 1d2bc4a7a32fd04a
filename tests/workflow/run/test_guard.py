"""An evaluation leaves its surroundings as they were; its global draws are its own."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from algorithms.api import Box
from problems.api import Problem
from workflow.run.guard import Guard, TooLong
from workflow.run.surroundings import ALARMS
from workflow.run.target import Shared

QUERY = np.full((1, 2), 0.5)


def evaluated(does, *, times=1, guard=None):
    """What a problem gives that does something, through a guard."""
    problem = (guard or Guard(3)).guarded(Problem(Box(2), lambda query, draw: does()))
    return [problem.evaluate(QUERY, None) for _ in range(times)]


def state():
    """What belongs to the whole process."""
    umask = os.umask(0)
    os.umask(umask)
    return (
        Path.cwd(),
        umask,
        [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)],
        [signal.getitimer(alarm)[0] > 0 for alarm in ALARMS],
        (sys.stdout, sys.stderr),
        np.geterr(),
        torch.get_num_threads(),
        torch.get_default_dtype(),
    )


DEEDS = {
    "cwd": lambda: os.chdir("/"),
    "umask": lambda: os.umask(0o777),
    "signal": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "interrupt": lambda: signal.signal(signal.SIGINT, lambda *_: None),
    "alarm": lambda: signal.setitimer(signal.ITIMER_REAL, 0.05),
    "alarm of CPU time": lambda: signal.setitimer(signal.ITIMER_PROF, 0.05),
    "stdout": lambda: setattr(sys, "stdout", None),
    "stderr": lambda: setattr(sys, "stderr", open(os.devnull, "w")),  # noqa: PTH123, SIM115
    "errors": lambda: np.seterr(all="raise"),
    "threads": lambda: torch.set_num_threads(3),
    "type": lambda: torch.set_default_dtype(torch.float16),
}


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("fails", [False, True])
def test_surroundings_are_put_back(deed, fails):
    torch.set_num_threads(1)

    def does():
        DEEDS[deed]()
        if fails:
            raise RuntimeError("and then it failed")

    before = state()
    if fails:
        with pytest.raises(RuntimeError, match="and then"):
            evaluated(does)
    else:
        evaluated(does)
    time.sleep(0.1)  # an alarm would end this process
    assert state() == before


def test_a_constructor_of_a_problem_leaves_them_too(tmp_path):
    before = state()
    assert Guard(0).built(lambda: os.chdir(tmp_path) or "built") == "built"
    assert state() == before


def draws():
    return random.random(), np.random.random(), float(torch.rand(()))  # noqa: NPY002


def test_what_an_evaluation_draws_from_global_generators_is_its_own():
    """Whatever was drawn before, by whom, and where a run was resumed."""
    first = evaluated(draws, times=3)
    random.seed(1), np.random.seed(1), torch.manual_seed(1)  # noqa: NPY002
    assert evaluated(draws, times=3) == first
    assert len({*first}) == 3
    resumed = Guard(3)
    resumed.number = 2
    assert evaluated(draws, guard=resumed) == first[2:]
    assert evaluated(draws, guard=Guard(4)) != first[:1]


def test_what_is_drawn_after_it_does_not_depend_on_what_it_drew():
    """An optimizer of another library may draw from them."""

    def after(does):
        evaluated(does)
        return draws()

    assert after(draws) == after(lambda: None) == after(lambda: random.seed(5))


def test_evaluations_are_announced_with_their_numbers():
    shared, seen = Shared.new(), []
    guard = Guard(0, shared=shared)
    guard.number = 5
    evaluated(lambda: seen.append(shared.evaluation), times=2, guard=guard)
    assert seen == [6, 7]  # from 1, since 0 is none
    assert shared.evaluation == 0 and shared.began <= time.monotonic()
    with pytest.raises(ZeroDivisionError):
        evaluated(lambda: 1 / 0, guard=guard)
    assert shared.evaluation == 0


def test_an_evaluation_within_its_time_ends_nothing_later():
    evaluated(lambda: None, times=3, guard=Guard(0, timeout=2.0))
    time.sleep(2.2)


def test_a_limit_beyond_what_a_clock_can_count_is_none():
    assert evaluated(lambda: 1, guard=Guard(0, timeout=1e300)) == [1]


def test_an_evaluation_that_took_too_long_before_is_not_begun_again():
    done = []
    guard = Guard(0, stop=2)
    evaluated(lambda: done.append(1), times=2, guard=guard)
    for _ in range(2):
        with pytest.raises(TooLong) as caught:
            evaluated(lambda: done.append(1), guard=guard)
        np.testing.assert_array_equal(caught.value.query, QUERY)
    assert len(done) == 2


def test_a_folder_that_is_gone_is_told(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    guard = Guard(0)
    with pytest.raises(FileNotFoundError, match="gone"):
        evaluated(gone.rmdir, guard=guard)
    monkeypatch.chdir(tmp_path)
