"""Evaluations and parameters that go wrong end one seed, in a sentence, and no others."""

import pytest

from tests.faults import steep

pytestmark = pytest.mark.slow  # whole jobs, one after another

REMEDIES = ("look at", "correct its", "correct the", "give it more", "change its mode")
# what goes wrong in the first seeds of a job, and what is said of each
FAULTS = (
    {
        "nan": "expected a finite objective at query",
        "memory": "out of memory at",
        "segfault": "ended by SIGSEGV (Segmentation fault) during evaluation 4",
    },
    {
        "kill": "ended by SIGKILL (Killed) during evaluation 4: was it out of memory?",
        "os-exit": "ended by itself with exit status 0 during evaluation 4",
    },
)


def sentences(done):
    start = "error: steep/hill/uniform seed "
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    return {int(line.removeprefix(start).partition(":")[0]): line for line in lines}


def test_an_evaluation_that_goes_wrong_is_told_and_the_other_seeds_are_made(empty, expected):
    for faults in FAULTS:
        (empty / "fault").write_text(
            "\n".join(f"{fault} {seed}" for seed, fault in enumerate(faults))
        )
        failed = steep.run(empty)
        said = sentences(failed)
        assert failed.returncode == 1 and len(said) == len(faults)
        for seed, message in enumerate(faults.values()):
            assert message in said[seed] and any(remedy in said[seed] for remedy in REMEDIES)
        assert steep.traces(empty) == dict(list(expected.items())[len(faults) :])
        assert steep.beside(empty) == set()
    kept = steep.inodes(empty)
    (empty / "fault").unlink()
    steep.finish(empty, expected, kept)
