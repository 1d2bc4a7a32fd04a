"""What optimizers and simulators may do that they should not, each with what may come of it.

The files of a checkout in which they do it import this one, and so does the test.
"""

import ctypes
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

SAME, SENTENCE, TIMEOUT = frozenset({"same"}), frozenset({"sentence"}), frozenset({"timeout"})
EITHER = SAME | SENTENCE
ASKED = Path("deeds.json").resolve()  # whatever becomes of the working directory
ELSEWHERE = Path("elsewhere").resolve()
LONG = 600  # seconds: longer than any test waits
KEPT = []  # what was handed over and is changed whenever there is an opportunity


@dataclass(frozen=True)
class Deed:
    """hook: when it is done; `any` means in every function of an optimizer or a simulator.

    outcomes: the record is that of a run without it, or there is a sentence, or a timeout. domains:
    on which it makes sense.
    """

    name: str
    hook: str
    outcomes: frozenset[str]
    do: Callable
    domains: tuple[str, ...]


DEEDS = {}


def each(hook, outcomes, domains="box arms", **values):
    """Registers one deed a value: what is answered instead, or a function that makes it."""
    for name, value in values.items():
        do = value if callable(value) else lambda *_, value=value: value
        called = f"{hook}: {name.replace('_', ' ')}"
        DEEDS[called] = Deed(called, hook, outcomes, do, tuple(domains.split()))


def asked(hook, seed, step):
    """What is to be done now; what was kept before is changed first."""
    for array in KEPT:
        overwrite(array)
    if not ASKED.exists():
        return
    for name, where, when, whose in json.loads(ASKED.read_text(encoding="utf-8")):
        found = DEEDS[name]
        if (when, whose) == (step, seed) and where == hook:
            yield found


def overwrite(array):
    """By whatever means there are."""
    for one in (array, array.base):
        if isinstance(one, np.ndarray):
            try:
                one.setflags(write=True)
                one[...] = 0
            except (ValueError, TypeError):
                pass


# anyone ------------------------------------------------------------------------------------------

HEEDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE)
NOWHERE = {"HOME": "/nowhere", "PATH": "/nowhere", "OMP_NUM_THREADS": "7"}
STREAMS = ("stdout", "stderr", "stdin")


def start_a_program_far_from_us():
    subprocess.run(
        ["/bin/sh", "-c", f"/bin/sleep {LONG} >/dev/null 2>&1 &"],
        start_new_session=True,
        check=True,
    )


def fork_and_fail():
    if os.fork() == 0:
        raise OSError("no such program")


each(
    "any",
    SAME,
    changes_the_working_directory=lambda: os.chdir(ELSEWHERE),
    changes_the_umask=lambda: os.umask(0o777),
    ignores_signals=lambda: [signal.signal(one, signal.SIG_IGN) for one in HEEDED],
    blocks_signals=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()),
    ends_itself_with_signals_that_are_heeded=lambda: [os.kill(os.getpid(), n) for n in HEEDED[:3]],
    makes_errors_of_rounding=lambda: np.seterr(all="raise"),
    makes_errors_of_warnings=lambda: warnings.simplefilter("error"),
    allows_hardly_any_recursion=lambda: sys.setrecursionlimit(len_of_stack() + 30),
    changes_the_environment=lambda: (os.environ.clear(), os.environ.update(NOWHERE)),
    takes_the_standard_streams_away=lambda: vars(sys).update(dict.fromkeys(STREAMS)),
    prints=lambda: (
        print("hello", flush=True),
        print("hello", file=sys.stderr),
        os.write(1, b"\xff\x00"),
    ),
    asks_torch_for_threads_and_another_type=lambda: (
        sys.modules["torch"].set_num_threads(3),
        sys.modules["torch"].set_default_dtype(sys.modules["torch"].float16),
    ),
    starts_a_thread=lambda: threading.Thread(target=time.sleep, args=(LONG,), daemon=True).start(),
    starts_a_thread_that_is_waited_for=lambda: threading.Thread(
        target=time.sleep, args=(LONG,)
    ).start(),
    starts_a_program=lambda: subprocess.Popen(["/bin/sleep", str(LONG)]),
    starts_a_program_far_from_us=start_a_program_far_from_us,
    closes_standard_input_output_and_errors=lambda: os.closerange(0, 3),
    opens_something_else_as_output_and_errors=lambda: [
        os.dup2(os.open(ELSEWHERE, os.O_RDONLY), stream) for stream in (1, 2)
    ],
    forks_and_both_go_on=os.fork,
    forks_and_one_of_them_fails=fork_and_fail,
)
each(
    "any",
    EITHER,
    # its own alarm may end a slow function; test_guard.py holds that later ones hear none of it
    sets_an_alarm=lambda: signal.setitimer(signal.ITIMER_REAL, 0.01),
    sets_alarms_of_cpu_time=lambda: [
        signal.setitimer(which, 0.01) for which in (signal.ITIMER_PROF, signal.ITIMER_VIRTUAL)
    ],
    closes_the_standard_streams=lambda: sys.stderr.close(),
    closes_what_is_open=lambda: os.closerange(3, 200),
)


def raising(error):
    def do(*_):
        raise error

    return do


class Ended(BaseException):
    """What nobody expects."""


class Silent(Exception):
    def __str__(self):
        raise ValueError("not even that")


each(
    "any",
    SENTENCE,
    raises_an_error_that_cannot_be_told=raising(Silent()),
    raises_an_error=raising(RuntimeError("the licence is gone")),
    raises_what_is_no_exception=raising(Ended("bye")),
    raises_an_interrupt=raising(KeyboardInterrupt()),
    raises_the_end_of_a_generator=raising(GeneratorExit()),
    raises_the_end_of_an_iteration=raising(StopIteration(3)),
    raises_a_warning=raising(UserWarning("look out")),
    raises_a_sentence_of_many_lines=raising(ValueError("a\nb\0\udcff\x1b[2J" * 20000)),
    raises_many_errors=raising(BaseExceptionGroup("two", [Ended("one"), ValueError("other")])),
    raises_the_end_of_input=raising(EOFError("of mine")),
    raises_a_broken_pipe=raising(BrokenPipeError("of mine")),
    raises_a_lack_of_memory=raising(MemoryError()),
    leaves=raising(SystemExit(0)),
    leaves_with_a_sentence=raising(SystemExit("bye")),
    ends_its_process=lambda *_: os._exit(0),
    ends_its_process_with_1=lambda *_: os._exit(1),
    ends_its_process_with_3=lambda *_: os._exit(3),
    aborts=lambda *_: os.abort(),
    reads_where_nothing_is=lambda *_: ctypes.string_at(0),
    kills_itself=lambda *_: os.kill(os.getpid(), signal.SIGKILL),
    kills_its_group=lambda *_: os.killpg(0, signal.SIGKILL),
)


def seed_the_global_generators(*_):
    """And draw from them."""
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    sys.modules["torch"].manual_seed(3)
    random.random(), np.random.random()  # noqa: NPY002


# what an optimizer draws before it answers may change its answer
each("evaluate", SAME, seeds_the_global_generators=seed_the_global_generators)
each("tell", SAME, seeds_the_global_generators=seed_the_global_generators)
each("recommend", SAME, seeds_the_global_generators=seed_the_global_generators)


# simulators --------------------------------------------------------------------------------------


def hang(*_):
    while True:
        try:
            time.sleep(LONG)
        except BaseException:
            continue


def hang_deaf(*_):
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(LONG)


each(
    "evaluate",
    TIMEOUT,
    hangs=hang,
    hangs_deaf=hang_deaf,
    hangs_with_the_lock=lambda *_: ctypes.PyDLL(None).sleep(LONG),
    hangs_in_a_regular_expression=lambda *_: re.match(r"(a+)+$", "a" * 60 + "b"),
    hangs_in_a_program=lambda *_: subprocess.run(["/bin/sleep", str(LONG)], check=False),
)
each(
    "evaluate",
    SENTENCE,
    answers_nothing=lambda *_: (None,),
    shows_nan=lambda shown, *_: (seen(shown, y=shown.seen.y * np.nan),),
    shows_nan_behind_a_mask=lambda shown, *_: (
        seen(shown, y=np.ma.array(shown.seen.y * np.nan, mask=[True])),
    ),
    shows_a_constraint_that_is_nan=lambda shown, *_: (seen(shown, g=shown.seen.g * np.nan),),
    hides_nan=lambda shown, *_: (
        replace(shown, true=replace(shown.true, y=shown.true.y * np.nan)),
    ),
    shows_two_values=lambda shown, *_: (seen(shown, y=np.zeros(2)),),
    shows_objects=lambda shown, *_: (seen(shown, y=shown.seen.y.astype(object)),),
    takes_another_number_of_seconds=lambda shown, *_: (replace(shown, seconds=np.zeros(2)),),
    writes_into_its_query=lambda shown, query, rng: query.fill(0),
)
each(
    "evaluate",
    SAME,
    overwrites_its_query=lambda shown, query, rng: overwrite(query),
    keeps_its_query=lambda shown, query, rng: KEPT.append(query),
    keeps_what_it_shows=lambda shown, *_: KEPT.extend(
        [shown.seen.y, shown.true.y, shown.seen.g, shown.true.g, shown.seconds]
    ),
    shows_one_array_as_seen_and_true=lambda shown, *_: (seen(shown, g=shown.true.g),),
    shows_another_order_of_bytes=lambda shown, *_: (seen(shown, y=shown.seen.y.astype(">f8")),),
    shows_longer_numbers=lambda shown, *_: (seen(shown, y=shown.seen.y.astype(np.longdouble)),),
    shows_an_array_of_its_own_kind=lambda shown, *_: (
        seen(shown, y=shown.seen.y.view(Liar), g=shown.seen.g.view(Liar)),
    ),
    draws_more_of_its_stream=lambda shown, query, rng: rng.random(100).sum() * 0,
)


def seen(shown, **changed):
    """What was shown, but for one part of what the optimizer may see."""
    return replace(shown, seen=replace(shown.seen, **changed))


class Liar(np.ndarray):
    """An array that says that all is well with it."""

    def min(self, *_, **__):
        return 0

    def max(self, *_, **__):
        return 0


# optimizers --------------------------------------------------------------------------------------

each(
    "tell",
    SENTENCE,
    writes_into_y=lambda optimizer, query, shown: shown.y.fill(0),
    writes_into_g=lambda optimizer, query, shown: np.negative(shown.g, out=shown.g),
    writes_into_x=lambda optimizer, query, shown: np.copyto(query, 0),
    writes_through_a_view=lambda optimizer, query, shown: shown.y[:].view().fill(0),
)
each(
    "tell",
    SAME,
    overwrites_all=lambda optimizer, query, shown: [
        overwrite(one) for one in (query, shown.y, shown.g, shown.factor_values)
    ],
    keeps_all=lambda optimizer, query, shown: KEPT.extend([query, shown.y, shown.g]),
)
each(
    "tell",
    EITHER,
    cannot_be_pickled=lambda optimizer, *_: setattr(optimizer, "key", lambda: 0),
    holds_a_generator=lambda optimizer, *_: setattr(optimizer, "key", (i for i in [])),
    holds_a_lock=lambda optimizer, *_: setattr(optimizer, "key", threading.Lock()),
    cannot_be_read_again=lambda optimizer, *_: setattr(optimizer, "key", Unreadable()),
    is_endless_when_pickled=lambda optimizer, *_: setattr(optimizer, "key", nested(10**5)),
    raises_when_pickled=lambda optimizer, *_: setattr(optimizer, "key", Unwritable()),
)
each("tell", EITHER, "arms", writes_into_the_arms=lambda o, *_: o.domain.points.fill(0))
each("tell", SAME, "arms", overwrites_the_arms=lambda o, *_: overwrite(o.domain.points))


class Unreadable:
    """What is written and cannot be read."""

    def __reduce__(self):
        return (int, ("no number",))


class Unwritable:
    """What ends whoever writes it."""

    def __reduce__(self):
        raise Ended("not me")


def nested(depth):
    whole = []
    for _ in range(depth):
        whole = [whole]
    return whole


def len_of_stack():
    """How deep the caller is."""
    frame, depth = sys._getframe(1), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


ANSWERS = ("ask", "recommend")
for where in ANSWERS:
    each(
        where,
        SENTENCE,
        answers_nothing=lambda answer, room: (None,),
        answers_none_of_its_queries=lambda answer, room: (answer[:0],),
        answers_too_many=lambda answer, room: (np.concatenate([answer[:1]] * (room + 1)),),
        raises_instead=raising(RuntimeError("I do not know")),
    )
    each(
        where,
        SENTENCE,
        "box",
        answers_nan=lambda answer, room: (answer * np.nan,),
        answers_more_than_1=lambda answer, room: (answer + 1.0001,),
        answers_nan_behind_a_mask=lambda answer, room: (
            np.ma.array(
                np.where(answer == answer[0, 0], np.nan, answer), mask=answer == answer[0, 0]
            ),
        ),
        answers_nan_and_says_that_it_is_0=lambda answer, room: ((answer * np.nan).view(Liar),),
    )
    each(
        where,
        SENTENCE,
        "arms",
        answers_no_arm=lambda answer, room: (answer * 0 - 1,),
        answers_beyond_it_and_denies_it=lambda answer, room: ((answer * 0 + 40).view(Liar),),
    )
    each(
        where,
        SAME,
        keeps_its_answer=lambda answer, room: KEPT.append(answer),
        answers_every_other_row=lambda answer, room: (np.repeat(answer, 2, axis=0)[::2],),
        answers_an_array_of_its_own_kind=lambda answer, room: (answer.view(Liar),),
        answers_another_order_of_bytes=lambda answer, room: (
            answer.astype(answer.dtype.newbyteorder(">")),
        ),
    )
    each(where, SAME, "arms", answers_small=lambda answer, room: (answer.astype(np.uint8),))
each("ask", EITHER, writes_into_what_is_pending=lambda answer, room, pending: pending.fill(0))
each("ask", SAME, overwrites_what_is_pending=lambda answer, room, pending: overwrite(pending))
each(
    "report",
    SENTENCE,
    reports_text={"gap": "large"},
    reports_nothing=lambda *_: (None,),
    reports_a_list=lambda *_: ([1.0],),
    reports_numbers_beyond_all={"gap": 10**400},
    reports_two_numbers={"gap": np.zeros(2)},
)
each(
    "report",
    SAME,
    reports_nan={"gap": float("nan")},
    reports_infinity={"gap": float("-inf")},
    reports_a_thousand_numbers={f"gap {i}": float(i) for i in range(1000)},
    reports_under_odd_names={"": 1.0, "a/b\n": 2.0, "timing.ask": 3.0, None: 4.0, "ä\0": 5.0},
)
