"""The theorems of BKB and BBKB on functions of known norm: what is measured is right, and the
papers' own checks can fail.

The checks are read from papers/*.yaml, so that a claim that nothing could break is found here.
"""

from types import SimpleNamespace

import numpy as np
import yaml
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from algorithms.bbkb import BBKB
from algorithms.parts.arms import ExactPosterior, GaussianTable
from problems import load
from workflow.judge import checks, trivial
from workflow.judge.claims import _unmet
from workflow.plan import reads
from workflow.plan.resolve import ROOT
from workflow.plan.statements import Asked
from workflow.studies import batch_regret, batching, exact_features, sketch_accuracy
from workflow.studies.paired import ConfidenceSettings, truth
from workflow.trace.seeds import instance

CONFIDENCE = ConfidenceSettings(xi=0.01, norm=1.0, delta=0.01, beta="theorem")
BBKB_OPTIONS = {"rule": "global", "inclusion": "per-pull", "confidence": CONFIDENCE}
ENDS = ("smallest", "largest")


def stated(paper):
    """What a paper's YAML has judged, by id, and in each of its settings by `id: setting`."""
    entry = yaml.safe_load((ROOT / f"papers/{paper}.yaml").read_text(encoding="utf-8"))
    return {
        f"{claim.id}: {one.name}" if one.name else claim.id: one
        for claim in reads.stated(SimpleNamespace(entry=entry))
        for one in (Asked("", claim.check, claim.requires, claim.null_model, False), *claim.asked)
    }


CLAIMS = {paper: stated(paper) for paper in ("bkb", "bbkb")}


class Rows:
    """Evidence whose studies are the columns of one run for each seed."""

    paper = SimpleNamespace(study=lambda name: name)

    def __init__(self, *runs):
        self.runs = runs

    def rows(self, study, rows):
        for found in self.runs:
            chosen = np.ones(len(next(iter(found.values()))), dtype=bool)
            for key, value in rows.items():
                chosen &= np.isclose(found[key], value)
            yield lambda name, found=found, chosen=chosen: found[name][chosen]


def asked(paper, claim, rows):
    """A claim in one of its settings, the `rows` of its check replaced by others."""
    found = CLAIMS[paper][claim]
    check = found.check.model_copy(update={"rows": {**found.check.rows, **rows}})
    return found._replace(check=check)


def holds(paper, claim, found, **rows):
    """Whether a claim's own check holds on columns."""
    return checks.holds(Rows(found), asked(paper, claim, rows).check)


def trivially(paper, claim, found, **rows):
    """Why a claim's check could not fail on columns; "" if it could."""
    return trivial.why(Rows(found), asked(paper, claim, rows))


def unmet(paper, claim, found, **rows):
    """The hypotheses of a claim that columns do not meet."""
    one = asked(paper, claim, rows)
    sentences = [_unmet(Rows(found), one.check, required) for required in one.requires]
    return [sentence for sentence in sentences if sentence]


def ring(seed=100, **changes):
    options = {"arms": 300, "d": 2, "bandwidth": 1.0, "centres": 8, "norm": 1.0, "noise": 0.01}
    return load("rkhs.sphere")(instance(seed, "ring"), **{**options, **changes})


def bkb(problem, settings, T=120, **changes):
    options = {"bandwidth": 1.0, "epsilon": 0.1, **vars(CONFIDENCE)}
    options |= {"inclusion": "per-pull", "exact": "features", "per_decade": 4, **changes}
    return sketch_accuracy.run(100, problem, T=T, settings=settings, **options)


def batches(problem, settings, T, bandwidth=1.0, exact="features"):
    options = {**BBKB_OPTIONS, "parallelism": 0, "bandwidth": bandwidth, "exact": exact}
    return batching.run(100, problem, T=T, settings=settings, C=2, **options)


def regrets(problem, qbar, T, bandwidth=1.0):
    options = {**BBKB_OPTIONS, "per_decade": 3, "bandwidth": bandwidth, "exact": "features"}
    return batch_regret.run(100, problem, T=T, lam=1.0, qbar=qbar, C=1.1, **options)


def test_features_give_the_exact_posterior():
    for lam in [1e-2, 1.0, 100.0]:
        kernel = GaussianTable(ring(arms=80).domain.points, 0.7)
        exact, found = ExactPosterior(kernel, lam), exact_features.FeaturePosterior(kernel, lam)
        pulls = np.random.default_rng(0).integers(80, size=60).tolist()
        for arm in pulls:
            assert_allclose(found.variance_of(arm), exact.variance_of(arm), rtol=1e-6)
            exact.add(arm, 0.0)
            found.add(arm, 0.0)
        assert_allclose(found.variance, exact.variance, rtol=1e-6)
        assert_allclose(found.effective_dimension(), exact.effective_dimension(), rtol=1e-6)
        assert_allclose(found.log_det(), exact.log_det(), rtol=1e-6)
        assert found.distinct == exact.distinct == len(set(pulls))


def test_a_draft_changes_nothing_of_what_it_was_drawn_from():
    found = exact_features.FeaturePosterior(GaussianTable(ring(arms=40).domain.points, 1.0), 1.0)
    found.add(3, 0.0)
    before, draft = found.variance, found.draft()
    draft.add(7, 0.0)
    assert_array_equal(found.variance, before)
    assert (found.distinct, draft.distinct) == (1, 2)
    assert draft.variance[7] < before[7]


def test_hypotheses_on_the_function_are_those_of_theorem_2():
    for changes, given, met in [
        ({}, {}, 1),
        ({"norm": 0.5}, {}, 1),
        ({"norm": 1.5}, {}, 0),
        ({"noise": 0.02}, {}, 0),
        ({}, {"bandwidth": 1.1}, 0),
        ({}, {"norm": 0.9}, 0),
        ({}, {"xi": 0.02}, 1),
    ]:
        told = {"bandwidth": 1.0, "xi": 0.01, "norm": 1.0, **given}
        assert exact_features.function_met(ring(**changes), **told) == met


def test_a_dictionary_of_nearly_all_arms_is_no_sketch():
    assert [exact_features.is_vacuous(m, 10) for m in (8, 9, 10)] == [0, 0, 1]


def test_on_a_function_of_norm_1_every_hypothesis_of_theorem_2_is_met_and_its_bound_kept():
    found = bkb(ring(), [[1, 12000], [1, 10], [1, 2]])
    top = found["qbar"] == 12000
    assert found["regret_hypothesis_met"][top].all()
    assert found["vacuous"][top].all()
    assert (found["vacuous"][~top] == 0).all()
    settings = {"thm2-bound": "lambda = 1, qbar = 10", "thm2-regret-ratio": "qbar = 10"}
    for claim, setting in settings.items():
        assert holds("bkb", claim, found) and holds("bkb", f"{claim}: {setting}", found)
    # 120 evaluations are too few for the bound to exclude anything, and the verdict says so.
    assert unmet("bkb", "thm2-bound", found) == unmet("bkb", "thm2-regret-ratio", found) == []
    assert trivially("bkb", "thm2-bound", found) == "no policy loses as much as the bound allows"
    assert "the worst policy passes it" in trivially("bkb", "thm2-regret-ratio", found)
    strict = {**found, "gpucb_regret": found["worst_regret"] / 13}
    assert trivially("bkb", "thm2-regret-ratio", strict) == ""


def test_an_inflated_function_breaks_the_bound_and_meets_no_hypothesis():
    found = bkb(ring(norm=200.0), [[1, 12000]])
    assert not holds("bkb", "thm2-bound", found)
    why = "; ".join(unmet("bkb", "thm2-bound", found))
    assert "no row of known-norm meets (Thm. 2: the norm" in why


def test_the_bound_of_theorem_2_falls_below_the_regret_with_lambda():
    changes = {"xi": 1e-4, "epsilon": 0.5, "exact": "distinct-arms"}
    found = bkb(ring(noise=1e-4), [[1e-8, 764]], T=100, **changes)
    assert unmet("bkb", "thm2-bound: lambda = xi^2 = 10^-8, qbar = 764", found) == []
    assert not holds("bkb", "thm2-bound: lambda = xi^2 = 10^-8, qbar = 764", found)
    # By hand at t = 2 and d_eff = 2: 2 6^1.5 sqrt(2) (xi 2 ln 2 + xi ln 100 + sqrt(lam 2 ln 2)).
    xi, at = 1e-4, found["t"] == 2
    by_hand = 2 * 6**1.5 * 2**0.5 * xi * (2 * np.log(2) + np.log(100) + np.sqrt(2 * np.log(2)))
    assert_allclose(found["effective_dimension"][at], 2, rtol=1e-3)
    assert_allclose(found["regret_bound"][at], by_hand, rtol=1e-3)
    assert np.isnan(found["regret_bound"][found["t"] == 1]).all()


def test_the_worst_policy_and_the_uniform_one_are_those_of_the_table():
    problem = ring()
    found, f = bkb(problem, [[1, 10]], T=20), truth(problem)
    assert_allclose(found["worst_regret"], found["t"] * (f.max() - f.min()))
    assert_allclose(found["uniform_regret"], found["t"] * (f.max() - f.mean()))
    assert (found["regret"] <= found["worst_regret"] + 1e-12).all()


def test_the_band_of_theorem_1_breaks_where_the_dictionary_is_tiny():
    found = bkb(ring(), [[1, 10], [1, 0.3]], T=200)
    assert holds("bkb", "no-variance-starvation: norm 1, qbar = 10", found)
    assert unmet("bkb", "no-variance-starvation: norm 1, qbar = 10", found)
    assert not holds("bkb", "no-variance-starvation: norm 1, qbar = 10", found, qbar=0.3)


FULL = "no-variance-starvation: Abalone, lambda = 1, qbar = 1427"


def test_with_a_full_dictionary_theorem_1_holds_trivially():
    found = bkb(ring(arms=30), [[1, 1427]], T=60, epsilon=0.5)
    assert holds("bkb", FULL, found)
    assert unmet("bkb", FULL, found) == []
    why = trivially("bkb", FULL, found)
    assert why == "a dictionary of (nearly) all distinct arms is no sketch"
    assert "all distinct arms" in trivially("bkb", "thm1b-qbar-1427", found)
    dropped = {**found, "vacuous": np.zeros_like(found["vacuous"])}
    assert trivially("bkb", FULL, dropped) == ""


def test_few_distinct_arms_make_a_small_dictionary_by_themselves():
    found = bkb(ring(arms=12), [[1, 10]], T=200)
    assert holds("bkb", "dictionary-smaller-than-t", found)
    assert "number of distinct arms" in trivially("bkb", "dictionary-smaller-than-t", found)
    many = {**found, "distinct": found["t"]}
    assert trivially("bkb", "dictionary-smaller-than-t", many) == ""


def test_lemma_2_holds_where_arms_drop_out_and_breaks_where_the_dictionary_is_tiny():
    problem = ring(arms=2000)
    found = batches(problem, [[1, 117], [1, 0.5]], T=2500)
    top = found["qbar"] == 117
    assert found["dictionary_share"][top][-1] < 0.9
    assert found["prior_over_exact"][top].max() > 3  # an empty dictionary would break the band
    lower, upper = (f"lemma2: {s} ratio, circle of 5000 arms, qbar = 117" for s in ENDS)
    for claim in (lower, upper):
        assert holds("bbkb", claim, found)
        assert unmet("bbkb", claim, found) == []
    # the variances of an empty dictionary are larger, too
    assert "an empty dictionary" in trivially("bbkb", lower, found)
    assert trivially("bbkb", upper, found) == ""
    assert not holds("bbkb", upper, found, qbar=0.5)


def test_the_dictionary_of_the_sphere_is_incomplete_and_its_sketch_not_exact():
    options = {"arms": 1500, "d": 12, "bandwidth": 1.5}
    found = batches(ring(**options), [[100, 109]], 1500, 1.5, "distinct-arms")
    assert found["vacuous"].max() == 0
    distance = max(found["ratio_max"].max() - 1, 1 - found["ratio_min"].min())
    assert 1e-5 < distance < 0.5
    for end in ENDS:
        assert holds("bbkb", f"lemma2: {end} ratio, sphere in 12 dimensions, qbar = 109", found)
    assert holds("bbkb", "lemma6: exact, sphere in 12 dimensions, qbar = 109", found)


def test_the_bound_on_the_dictionary_can_be_broken():
    # So poor a sketch takes known arms for unknown ones, and lets in far too many of them.
    found = batches(ring(arms=2000), [[1, 0.3]], T=3000)
    assert found["vacuous"].max() == found["size_trivial"].max() == 0
    assert not holds("bbkb", "thm1-dictionary: circle of 5000 arms, qbar = 2", found, qbar=0.3)


def test_bbkb_keeps_the_chain_of_theorem_2_and_one_that_never_learns_breaks_it(monkeypatch):
    # three arms that know little of each other: GP-BUCB soon pulls the best one only
    problem = ring(arms=3, centres=2, bandwidth=0.3)
    found = regrets(problem, [1200.0], T=6000, bandwidth=0.3)
    assert found["hypothesis_met"].all()
    assert (found["qbar_needed"] < 1200).all()
    assert holds("bbkb", "regret-of-gpbucb", found, qbar=1200)
    assert unmet("bbkb", "regret-of-gpbucb", found, qbar=1200) == []
    assert holds("bbkb", "thm2-bound", found, qbar=1200)
    worst = int(np.argmin(truth(problem)))
    monkeypatch.setattr(BBKB, "ask", lambda self, room, pending: np.full(room, worst))
    broken = regrets(problem, [1200.0], T=6000, bandwidth=0.3)
    assert not holds("bbkb", "regret-of-gpbucb", broken, qbar=1200)
    assert not holds("bbkb", "no-regret-known-norm", broken, qbar=1200)


def test_f_lies_within_proposition_5_and_a_function_of_larger_norm_does_not():
    found = regrets(ring(), [1200.0], T=100)
    assert found["outside"][found["t"] == 1] == 0  # no batch has begun
    assert 0 < found["outside"][-1] <= 1
    assert holds("bbkb", "confidence-at-batch-starts", found, qbar=1200)
    inflated = regrets(ring(norm=200.0), [1200.0], T=100)
    assert not holds("bbkb", "confidence-at-batch-starts", inflated, qbar=1200)


def test_regrets_are_paired_and_sums_of_variances_those_of_the_exact_posterior():
    problem = ring(arms=60)
    found = regrets(problem, [1e9, 2.0], T=60)
    first = found["t"] == 1
    assert len({*found["regret"][first], *found["gpucb_regret"][first]}) == 1
    assert_allclose(found["gpbucb_bound"], 55 * 1.1**2 * found["gpbucb_regret"])
    assert_allclose(found["gpucb_bound"], 55 * 1.1**3 * found["gpucb_regret"])
    # After one pull at lambda = 1 the sum of variances is 1, whatever the arm.
    by_hand = 55 * 1.1**3 * (0.01 * (1 + np.log(100)) + 1)
    assert_allclose(found["regret_bound"][first], by_hand, rtol=1e-9)


def test_a_study_of_regrets_repeats():
    one, other = (regrets(ring(arms=40), [5.0], T=40) for _ in range(2))
    assert_equal(one, other)
    assert {column.dtype.str for column in one.values()} <= {"<f8", "<i8"}
