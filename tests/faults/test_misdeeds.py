"""Whatever optimizers and simulators do, a record is that of a run without it, or there is none and
a sentence that says so; nobody else notices.

`HYPOTHESIS_PROFILE=long python -m pytest tests/faults/test_misdeeds.py` draws other examples every
time, for minutes.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from tests.faults import wicked
from tests.faults.wicked_deeds import DEEDS, SAME, TIMEOUT
from workflow.trace import record

pytestmark = pytest.mark.slow
SEEDS = range(wicked.SEEDS)
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
EXAMPLES = 400 if LONG else 40
# hook: the steps at which it is done in a run that begins, and in one that goes on after its first
# step; an optimizer that goes on counts on, a simulator begins anew
STEPS = {
    "evaluate": (range(8), range(5)),
    "ask": (range(3), range(1, 3)),
    "tell": (range(4), range(2, 4)),
    "report": (range(3), range(1, 3)),
    "recommend": (range(1), range(1)),
    "build": (range(1), range(1)),
}
ANYWHERE = [
    *(f"simulator: {hook}" for hook in ("build", "evaluate")),
    *(f"optimizer: {hook}" for hook in ("build", "ask", "tell", "report", "recommend")),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The checkout, and the records that nobody has disturbed."""
    with wicked.Wicked(tmp_path_factory.mktemp("wicked")) as made:
        yield made


@pytest.fixture(scope="module")
def expected(place):
    """kind -> the undisturbed record of each seed."""
    found = {}
    for kind in wicked.KINDS:
        told = place.run(kind)
        assert told.status == 0, told.err
        found[kind] = [record.read(place.path(kind, seed)) for seed in range(wicked.SEEDS)]
    return found


@st.composite
def deeds(draw, kind, begun):
    """Some deeds of the first two seeds: many that change nothing, few that may end a run, since
    what comes after those is not done. Nobody hangs who is given an hour.
    """
    domain, hurried = wicked.DOMAINS[kind.partition("-")[0]], kind.endswith("hurried")
    known = [
        name
        for name, deed in DEEDS.items()
        if domain in deed.domains and (hurried or deed.outcomes != TIMEOUT)
    ]
    harmless = [name for name in known if DEEDS[name].outcomes == SAME]
    others = [name for name in known if DEEDS[name].outcomes != SAME]
    names = draw(st.lists(st.sampled_from(harmless), min_size=2, max_size=9))
    names += draw(st.lists(st.sampled_from(others), max_size=3))
    found = []
    for name in names:
        hook = DEEDS[name].hook
        where = draw(st.sampled_from(ANYWHERE)) if hook == "any" else hook
        step = draw(st.sampled_from(STEPS[where.rpartition(" ")[2]][begun]))
        found.append((name, where, step, draw(st.sampled_from([0, 1]))))
    return found


def disturbed(place, expected, kind, done, *, begun=False, saving=False, tell=print):
    """All seeds with these deeds, then without: says what is wrong with what came of it."""
    place.clear()
    often = ("--checkpoint-every", "0")
    if begun:  # each ends in its second step
        place.ask([("any: raises an error", "simulator: evaluate", 4, seed) for seed in SEEDS])
        assert place.run(kind, *often).status == 1
    place.ask(done)
    first = place.run(kind, *(often if saving else ()))
    tell(first.err)
    assert wicked.state(first) == wicked.CLEAN
    failed = set()
    for seed, other in enumerate(expected[kind]):
        allowed = wicked.outcomes(done, seed)
        came = wicked.outcome(place, kind, seed, other, first.err)
        assert came in allowed, (seed, came, first.err)
        if came == "timeout":
            place.path(kind, seed).unlink()
        if came == "sentence":
            failed.add(seed)
    assert first.status == bool(failed), first.err
    assert place.beside(kind) == set()
    assert bool(place.saves()) <= (bool(failed) and (saving or begun))
    assert list((place.copy / "elsewhere").iterdir()) == []
    place.ask([])
    again = place.run(kind)
    assert again.status == 0, again.err
    assert wicked.state(again) == wicked.CLEAN
    assert place.beside(kind) == set() and place.saves() == []
    for seed, other in enumerate(expected[kind]):
        assert wicked.outcome(place, kind, seed, other, again.err) == "same"


@settings(
    max_examples=EXAMPLES,
    derandomize=not LONG,
    database=None,
    deadline=None,
    phases=[Phase.generate],  # what was drawn is told; to shrink it takes minutes
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
@given(data=st.data())
def test_a_record_is_that_of_a_run_without_misdeeds_or_there_is_none(place, expected, data):
    kind = data.draw(st.sampled_from(wicked.KINDS), label="kind")
    begun, saving = (
        data.draw(st.booleans(), label="begun"),
        data.draw(st.booleans(), label="saving"),
    )
    done = data.draw(deeds(kind, begun), label="deeds")
    disturbed(place, expected, kind, done, begun=begun, saving=saving, tell=note)


# what once went wrong
FOUND = [
    ("any: prints", "optimizer: tell", 2, "box", "begun"),
    ("any: prints", "optimizer: tell", 2, "workers", "begun"),
    ("any: changes the environment", "simulator: evaluate", 3, "box", "begun"),
    ("any: sets alarms of cpu time", "simulator: evaluate", 1, "box", ""),
    ("any: forks and both go on", "simulator: evaluate", 2, "box", ""),
    ("any: forks and both go on", "optimizer: ask", 1, "workers", ""),
    ("any: forks and one of them fails", "simulator: evaluate", 3, "arms", ""),
    ("any: forks and one of them fails", "optimizer: recommend", 0, "box", ""),
    ("any: raises a sentence of many lines", "simulator: evaluate", 2, "box", ""),
    ("recommend: answers nan and says that it is 0", "recommend", 0, "box", ""),
    ("evaluate: shows longer numbers", "evaluate", 3, "box", ""),
    ("tell: overwrites the arms", "tell", 1, "arms", ""),
    ("any: prints", "optimizer: tell", 2, "data", "begun"),
    ("evaluate: hangs", "evaluate", 2, "data-hurried", ""),
    ("tell: holds a lock", "tell", 1, "box", ""),  # which is known at the first step
    ("tell: cannot be read again", "tell", 1, "box", "saving fails"),
    ("tell: seeds the global generators", "tell", 1, "box", ""),
]


@pytest.mark.parametrize(("name", "where", "step", "kind", "how"), FOUND)
def test_what_went_wrong_once_goes_well(place, expected, name, where, step, kind, how):
    done = [(name, where, step, 0)]
    if "fails" in how:  # and goes on later from what it has saved
        done.append(("any: raises an error", "simulator: evaluate", 6, 0))
    disturbed(place, expected, kind, done, begun="begun" in how, saving="saving" in how)


SAID = {  # of what ends a run in its fifth evaluation
    "evaluate: shows nan": "expected a finite objective at query",
    "any: raises a lack of memory": "out of memory at",
    "any: reads where nothing is": "ended by SIGSEGV (Segmentation fault) during evaluation 4",
    "any: kills itself": "ended by SIGKILL (Killed) during evaluation 4: was it out of memory?",
    "any: ends its process": "ended by itself with exit status 0 during evaluation 4",
}


@pytest.mark.parametrize("name", SAID)
def test_what_ended_a_run_is_said(place, expected, name):
    where, told = name.partition(":")[0].replace("any", "simulator: evaluate"), []
    disturbed(place, expected, "box", [(name, where, 4, 0)], tell=told.append)
    assert SAID[name] in told[0]
