"""What a run costs by the table of measured ones, and how seeds share jobs."""

from dataclasses import replace

import pytest

from workflow.operate import publish
from workflow.plan import costs, resolve
from workflow.plan.costs import Cost, Measured
from workflow.plan.expand import load
from workflow.trace.curves import Study

TABLE = (
    Measured("toy", "p", "A", 100, 40.0, 50.0, 300),
    Measured("toy", "p", "A@slow", 100, 80.0, 90.0, 400),
    Measured("toy", "q", "A", 50, 100.0, 120.0, 500),
    Measured("toy", "studies", "short", 1, 2.0, 3.0, 150),
    Measured("toy", "studies", "long", 1, 70.0, 75.0, 900),
)


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(costs, "table", lambda: TABLE)
    costs.estimate.cache_clear()
    yield
    costs.estimate.cache_clear()


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (("toy", "p", "A", 100), Cost(40.0, 50.0, 300)),
        (("toy", "p", "A", 10), Cost(4.0, 5.0, 300)),
        (("toy", "p", "A", 200), Cost(80.0, 100.0, 300)),  # longer than it was measured
        (("toy", "p", "A+wide", 100), Cost(80.0, 90.0, 400)),  # the dearest there
        (("toy", "p@harder", "A", 100), Cost(80.0, 90.0, 400)),
        (("toy", "r", "A", 50), Cost(100.0, 120.0, 500)),  # the dearest anywhere
        (("toy", "p", "B", 100), costs.UNKNOWN),
        (("other", "p", "A", 50), Cost(100.0, 120.0, 500)),  # as in the paper that has it
    ],
)
def test_a_run_costs_what_its_curve_took_or_the_dearest_that_resembles_it(run, expected):
    assert costs.estimate(*run) == expected


@pytest.mark.usefixtures("table")
def test_a_study_costs_what_was_measured_or_what_the_dearest_does():
    study = Study("toy", "paper", "short", (0,), "p", "f", {}, {})
    assert costs.of(study) == Cost(2.0, 3.0, 150)
    assert costs.of(replace(study, scale="smoke")).seconds == pytest.approx(0.2)
    assert costs.of(replace(study, id="new")) == Cost(70.0, 75.0, 900)
    assert costs.of(replace(study, paper="other")) == costs.UNKNOWN


def test_a_checkout_without_a_table_still_plans(monkeypatch, tmp_path):
    monkeypatch.setattr(costs, "ROOT", tmp_path)
    assert costs.table.__wrapped__() == ()


def test_the_table_is_that_of_the_published_records():
    assert list(costs.table()) == publish.measured(costs.ROOT)


def test_no_limit_of_a_job_is_below_what_its_published_runs_took():
    """In seconds of a job with as many seeds, and in MiB of each of them; of comparisons, too."""
    published = {line[:3]: line for line in costs.table()}
    for name in resolve.planned():
        for part in load(name, "paper").every_curve:
            if line := published.get((part.paper, *part.place)):
                for seeds in (1, len(part.seeds)):
                    assert 60 * costs.minutes(part, seeds) > seeds * line.most, part.name
                assert costs.memory_mb(part) > line.mib, part.name


def test_seconds_for_people():
    texts = {0.4: "0.4 s", 89: "89 s", 600: "10 min"}
    texts |= {7000: "1.9 h", 86400: "24.0 h", 500_000: "5.8 days"}
    assert {seconds: costs.duration(seconds) for seconds in texts} == texts
