"""The fit of costs to records: it finds what was planted, reads records as they are, and tells a
validation from a fit.
"""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import costs as fit
from workflow.measure.condense import condensed, restored
from workflow.plan import costs
from workflow.plan.costs import Run
from workflow.plan.digest import with_data
from workflow.trace import record

PROBLEMS = {name: round(3 * 1.5**i) for i, name in enumerate("abcefghijk")}  # dimensions
SHAPE = {"m": 0, "arms": 0}


def planted(problem, curve, bandwidth, last=400, noise=0.0, seed=0):
    """A sample of the law 0.02 (d/10)^1.5 (bandwidth/10)^-1 (1 + t/100)^2, three times that for
    @slow, beside 1 ms of each evaluation.
    """
    run = Run(
        "toy", problem, curve, "m.M", first=10, last=last, parameters={"bandwidth": bandwidth}
    )
    at = fit._checkpoints(10, last)
    factor = (
        0.02 * (PROBLEMS[problem] / 10) ** 1.5 * 10 / bandwidth * (3 if "@slow" in curve else 1)
    )
    factor *= np.exp(noise * np.random.default_rng(seed).standard_normal())
    spent = np.array([factor * (100 / 3) * ((1 + n / 100) ** 3 - 1.1**3) for n in at])
    return fit.Sample(
        run=run,
        seconds=spent[-1] + 0.001 * (last - 10),
        mib=100 + seed,
        complete=True,
        at=at,
        spent=spent,
        evaluation=0.001,
        shape={"d": PROBLEMS[problem], **SHAPE},
    )


@pytest.fixture(scope="module")
def samples():
    return [
        planted(problem, curve, bandwidth, noise=0.03, seed=number)
        for number, (problem, curve, bandwidth) in enumerate(
            (problem, f"{name}+{bandwidth}", bandwidth)
            for problem in PROBLEMS
            for name in ("M", "M@slow")
            for bandwidth in (2, 10, 40)
        )
    ]


def test_a_fit_finds_planted_exponents_and_factors(samples):
    method = fit.fitted(samples)["methods"]["m.M"]
    assert method["features"]["d"][0] == pytest.approx(1.5, abs=0.25)
    assert method["features"]["bandwidth"][0] == pytest.approx(-1, abs=0.2)
    assert method["settings"]["@slow"][0] == pytest.approx(3, rel=0.15)
    model = fit.fitted(samples)
    lasts = (50, 100, 200, 400)
    found = [costs.modelled(model, planted("b", "M", 10, last).run) for last in lasts]
    expected = [planted("b", "M", 10, last).seconds for last in lasts]
    assert found == pytest.approx(expected, rel=0.15)


def test_a_cell_that_was_left_out_is_predicted(samples):
    name = samples[4].name
    (found,) = fit.predicted(samples, [name])
    assert found.run.curve == samples[4].run.curve
    assert found.level == "known"
    assert found.measured == pytest.approx(samples[4].seconds)
    assert abs(found.error) < 0.15


def test_the_beginning_of_a_run_tells_its_end(samples):
    whole = planted("b", "M", 10, last=4000)
    begun = planted("b", "M", 10, last=400)
    model = fit.fitted([*samples, begun])
    assert model["cells"]["toy"]["b"]["M"][:3] == [pytest.approx(begun.seconds, rel=0.01), 400, 100]
    cost = costs.estimate(whole.run, {**model, "within": {"measured": 1.1}, "reach": 0.1})
    assert cost.seconds == pytest.approx(whole.seconds, rel=0.3)
    assert cost.within > 1.2
    assert whole.seconds > 100 * begun.seconds  # no share of its evaluations


def test_a_cell_is_measured_by_the_mean_of_its_longest_runs(samples):
    some = [planted("a", "M", 10, last=last, seed=last) for last in (100, 200, 200)]
    some[2] = replace(some[2], seconds=2 * some[1].seconds, mib=90)
    cell = fit.fitted([*samples, *some])["cells"]["toy"]["a"]["M"]
    assert cell[:3] == [pytest.approx(1.5 * some[1].seconds, rel=0.01), 200, 90]


def test_validation_takes_methods_in_turn_and_never_the_only_cell_of_one(samples):
    lone = planted("a", "L", 10)
    other = [
        replace(each, run=replace(each.run, kind="n.N", paper="other")) for each in samples[:3]
    ]
    mixed = [*samples, *other, replace(lone, run=replace(lone.run, kind="l.L"))]
    chosen = fit.left_out(mixed, 4, seed=1)
    assert sorted(paper for paper, _, _ in chosen) == ["other", "other", "toy", "toy"]
    assert chosen == fit.left_out(mixed, 4, seed=1)
    everything = fit.left_out(mixed, 1000, seed=1)
    assert len(everything) == len(samples) - 1 + 2
    assert ("toy", "a", "L") not in everything


def test_the_summary_counts_what_is_beyond_a_factor_of_two():
    run = Run("toy", "a", "M", "m.M", 0, 10)
    found = [fit.Predicted(run, "known", seconds, 10.0) for seconds in (9.0, 12.5, 30.0)]
    assert fit.summary(found) == {"cells": 3, "median": 0.25, "worst": 3.0, "beyond_2": 1}
    assert "| toy/a/M to 10 | known | 12.5 | 10 | 1.25 |" in fit.listed(found)


def test_intervals_widen_with_what_is_not_known(samples):
    within, reach = fit.spreads(
        [*samples, *(replace(each, seconds=1.1 * each.seconds) for each in samples)]
    )
    assert list(within) == list(costs.LEVELS)
    assert within["measured"] == pytest.approx(1.1, rel=0.01)
    assert 1.1 <= within["known"] <= within["method"] <= within["none"]
    assert 0 <= reach < 0.3


def made(digest, status="complete", rows=110):
    """A record of random search on the camel, each step of which has cost 0.02 seconds."""
    return record.Record(
        {
            "paper": "dumbo",
            "problem": "six-hump-camel",
            "curve": "random-search",
            "digest": digest,
            "data_sha256": "",
            "status": status,
            "cpu_seconds": 3.0,
            "setup_seconds": 0.5,
            "given_seconds": 0.0,
            "peak_mib": 200,
            "rows": rows,
        },
        {
            "evaluation": np.arange(rows),
            "query": np.zeros((rows, 2)),
            "batch": np.arange(rows),
            "true": np.linspace(0, 1, rows),
            "timing.ask": np.full(rows, 0.015),
            "timing.tell": np.full(rows, 0.005),
        },
    )


def test_a_record_tells_what_its_method_has_cost_so_far_and_an_evaluation():
    digest = with_data(fit._plan("dumbo").cell("six-hump-camel", "random-search").digest, "")
    found = fit.sample(made(digest), [])
    assert (found.run.first, found.run.last, found.complete) == (2, 110, True)
    assert found.spent == pytest.approx(0.5 + 0.02 * found.at)
    assert found.at[-1] == 110 and (np.diff(found.at) > 0).all()
    assert found.evaluation == pytest.approx((3.0 - 0.5 - 2.2) / 108)
    assert found.shape == {"d": 2, "m": 0, "arms": 0}
    begun = fit.sample(made(digest, "cutoff", 60), [])
    assert (begun.run.last, begun.complete) == (60, False)


def test_a_published_record_tells_the_same():
    found = made(with_data(fit._plan("dumbo").cell("six-hump-camel", "random-search").digest, ""))
    published, one = fit.sample(restored(condensed(found)), []), fit.sample(found, [])
    assert (published.run, published.shape) == (one.run, one.shape)
    assert published.spent == pytest.approx(one.spent)
    assert published.evaluation == pytest.approx(one.evaluation)


def test_a_run_that_is_local_and_published_counts_once(tmp_path):
    records = fit.costs.ROOT / "figures" / "reference" / "records" / "paper" / "dumbo"
    shutil.copytree(records / "six-hump-camel", tmp_path / "published" / "six-hump-camel")
    samples, _ = fit.read([tmp_path], [])
    assert {one.run.problem for one in samples} == {"six-hump-camel"}
    assert len(fit.read([tmp_path, tmp_path], [])[0]) == len(samples)


def test_a_record_of_other_code_counts_where_its_method_is_trusted_alone():
    assert fit.sample(made("old"), []) is None
    assert fit.sample(made("old"), ["random_search.RandomSearch"]) is not None
    stranger = made("old")
    stranger.header["curve"] = "nobody"
    assert fit.sample(stranger, ["random_search.RandomSearch"]) is None


def test_what_was_not_seen_stays_as_it_was():
    old = {"cells": {"p": {"x": [1], "y": [2]}}, "reach": 1.0, "studies": {"p": {"s": [3]}}}
    new = {"cells": {"p": {"x": [5]}, "q": {}}, "reach": 2.0}
    assert fit.merged(old, new) == {
        "cells": {"p": {"x": [5], "y": [2]}, "q": {}},
        "reach": 2.0,
        "studies": {"p": {"s": [3]}},
    }


def test_what_is_written_reads_as_it_was(samples):
    model = {"within": {"measured": 1.5}, "reach": 0.2, **fit.fitted(samples)}
    text = fit.written(model)
    assert fit.yaml.safe_load(text) == model
    assert "# A step of a method" in text
