"""The theory checks find what is true, and the counter-examples stay counter-examples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from algorithms.api import Arms, Box, Observation
from algorithms.parts.arms import ExactPosterior, GaussianTable, Pulls, SketchedPosterior
from problems.api import Evaluation, Problem
from workflow.studies import batching, lemma3, search_space, sketch_accuracy, step_seconds
from workflow.studies.paired import ConfidenceSettings, log_grid, table, tidy
from workflow.trace.seeds import rng

WIDTH = {"xi": 0.1, "norm": 1.0, "delta": 0.01, "beta": "theorem"}
CONFIDENCE = ConfidenceSettings(**WIDTH)
MODEL = {"bandwidth": 1.0, **WIDTH, "inclusion": "per-pull"}
SMALL = {"arms": [5, 20], "dimensions": [1, 4], "batch": [1, 8]}
SMALL |= {"bandwidth": [0.3, 3.0], "lam": [1e-3, 10.0]}


def problem(arms=120):
    """A smooth function on random points of the plane, with noise of deviation 0.1."""
    points = rng(7, "test", "arms").standard_normal((arms, 2))
    near, far = (((points - centre) ** 2).sum(axis=1) for centre in (0.5, -1.0))
    f = np.exp(-near) + 0.5 * np.exp(-far)

    def evaluate(query, noise):
        seen = f[query] + 0.1 * noise.standard_normal(len(query))
        return Evaluation(Observation.of(seen), Observation.of(f[query]), np.zeros(len(query)))

    return Problem(Arms(points), evaluate, best=float(f.max()))


def sketch(settings, T=60, seed=0):
    options = {"per_decade": 4, "epsilon": 0.5, "exact": "distinct-arms", **MODEL}
    return sketch_accuracy.run(seed, problem(), T=T, settings=settings, **options)


def batches(settings, rule="global", parallelism=0, T=150):
    options = {"C": 2, "rule": rule, "parallelism": parallelism, "inclusion": "per-pull"}
    options |= {"exact": "distinct-arms", "bandwidth": 1.0, "confidence": CONFIDENCE}
    return batching.run(0, problem(), T=T, settings=settings, **options)


def seconds(T=30):
    options = {"T_textbook": 20, "per_decade": 3, "repeats": 2, "bandwidth": 1.0, "lam": 0.01}
    options["arms"] = step_seconds.ArmsSettings(sizes=[40, 120], T=10)
    options["sketch"] = step_seconds.SketchSettings(qbar=2, epsilon=0.5, inclusion="per-pull")
    options["confidence"] = CONFIDENCE
    return step_seconds.run(0, problem(), T=T, C=2, **options)


def test_lemma_3_as_printed_has_counter_examples_and_the_other_two_forms_have_none():
    found = lemma3.run(0, problem(), instances=400, **SMALL)
    partial = found["full"] == 0
    assert 0.05 < found["printed_violated"][partial].mean() < 0.5
    assert found["printed_worst"][partial].max() > 1.03
    assert not found["appendix_violated"].any()
    assert not found["lemma1_violated"].any()


def test_lemma_3_as_printed_holds_when_the_dictionary_is_the_whole_table():
    found = lemma3.run(0, problem(), instances=400, **SMALL)
    full = found["full"] == 1
    assert (found["dictionary"] == found["arms"])[full].all()
    assert not found["printed_violated"][full].any()
    assert_allclose(found["printed_worst"][full], found["appendix_worst"][full], rtol=1e-6)


def test_the_fall_of_the_sketched_variance_is_that_of_a_fresh_fit_with_the_same_dictionary():
    kernel = GaussianTable(rng(1, "test").standard_normal((25, 2)), 0.8)
    pulls = Pulls()
    pulls.add(np.array([3, 3, 9, 14, 20]), np.zeros(5))
    included = np.array([True, False, True, True])
    batch = np.array([3, 11, 11, 24])
    fb = SketchedPosterior.fit(kernel, 0.05, pulls, included)
    found = lemma3.after(fb, batch)
    pulls.add(batch, np.zeros(4))
    fresh = SketchedPosterior.fit(kernel, 0.05, pulls, np.append(included, [False, False]))
    assert_allclose(found, fresh.variance, rtol=1e-9)


def test_a_dictionary_of_all_pulled_arms_reproduces_the_exact_variance():
    found = sketch([[1.0, 1e6]])
    assert_array_equal(found["dictionary"], found["distinct"])
    assert_allclose(found["ratio_min_so_far"], 1, atol=1e-6)
    assert_allclose(found["ratio_max_so_far"], 1, atol=1e-6)
    assert found["hypothesis_met"].all()


def test_a_small_dictionary_misses_the_band_and_is_smaller():
    found = sketch([[1.0, 1.0], [1.0, 1e6]])
    small, full = found["qbar"] == 1, found["qbar"] == 1e6
    assert found["ratio_max_so_far"][small].max() > 1.5
    assert found["dictionary"][small][-1] < found["dictionary"][full][-1]
    assert not found["hypothesis_met"][small].any()


def test_the_subset_of_regressors_starves_where_the_sketch_does_not():
    found = sketch([[1e-2, 1e6]])
    assert found["regressors_min"].min() < 1e-3
    assert found["regressors_starved"][0] > 0.5
    assert found["ratio_min_so_far"].min() > 0.999


def test_effective_dimension_and_log_det_are_those_of_dense_algebra():
    found = sketch([[1.0, 1e6]], T=12)
    # The log-determinant bounds the effective dimension (BKB Sec. 4); both by hand after one pull
    # at lambda = 1.
    assert (found["effective_dimension"] <= found["log_det"]).all()
    assert_allclose([found["effective_dimension"][0], found["log_det"][0]], [0.5, np.log(2)])


def test_regrets_are_paired_and_start_at_the_same_arm():
    found = sketch([[1.0, 2.0], [1.0, 1e6]])
    first = found["t"] == 1
    assert_array_equal(found["regret"][first], found["gpucb_regret"][first])
    assert len(set(found["gpucb_regret"][found["t"] == 60])) == 1


def test_a_shorter_run_has_the_rows_of_a_longer_one_up_to_its_end():
    short, long = sketch([[1.0, 2.0]], T=10), sketch([[1.0, 2.0]], T=60)
    of_the_end = {"qbar_needed", "hypothesis_met", "vacuous", "size_trivial", "trivial"}
    for name in set(short) - of_the_end:
        assert_array_equal(short[name], long[name][: len(short[name])], err_msg=name)


def test_lemma_1_bounds_the_fall_within_every_batch():
    for rule in ("global", "global-local"):
        found = batches([[1.0, 2.0], [0.01, 2.0]], rule)
        assert found["fall_over_lemma1"].max() <= 1 + 1e-9
        assert found["fall_over_lemma1"].max() > 0.5
    assert batches([[1.0, 2.0], [0.01, 2.0]])["fall_at_last"].max() <= 2 + 1e-9


def test_the_sum_rule_never_allows_a_smaller_batch_than_the_product_rule():
    found = batches([[1.0, 1e6], [1.0, 2.0], [0.01, 2.0]])
    assert (found["sum_size"] >= found["product_size"]).all()
    assert (found["sum_size"] > found["product_size"]).any()


def test_with_a_full_dictionary_the_batch_is_the_one_of_the_exact_sum_rule():
    found = batches([[1.0, 1e6]])
    assert_allclose(found["ratio_min"], 1, atol=1e-6)
    assert_array_equal(found["size"], found["sum_size"])
    assert (found["exact_fall_at_last"] <= 2 + 1e-6).all()


def test_uncertainty_sampling_guarantees_the_batch_size_when_the_sketch_is_good():
    found = batches([[1.0, 1e6]], parallelism=8)
    assert found["uncertainty_pulls"][0] > 0
    assert found["size_over_least"].min() >= 1
    assert np.isnan(batches([[1.0, 1e6]])["size_over_least"]).all()


def test_batches_cover_the_run_without_gaps():
    found = batches([[1.0, 10.0]])
    assert_array_equal(found["t"][1:], (found["t"] + found["size"])[:-1])
    assert (found["recomputed"] > 0).all()
    assert (found["recomputed"] < 1).all()


def test_seconds_are_measured_for_all_methods_in_both_sweeps():
    found = seconds()
    assert set(found["method"]) == set(range(len(step_seconds.METHODS)))
    assert (found["timing.seconds"] > 0).all()
    over_arms = found["sweep"] == step_seconds.OVER_A
    assert set(found["A"][over_arms]) == {40, 120}
    textbook = found["method"] == step_seconds.TEXTBOOK
    assert (found["t"][textbook].max(), found["t"][~textbook].max()) == (20, 30)
    assert (found["dictionary"][textbook] == 0).all()


def test_the_same_seed_gives_the_same_columns_and_all_are_equally_long_numbers():
    for study in [
        lambda: sketch([[1.0, 2.0], [0.01, 2.0]]),
        lambda: batches([[1.0, 2.0]], parallelism=4),
        lambda: lemma3.run(0, problem(), instances=20, **SMALL),
        lambda: seconds(T=12),
    ]:
        first = study()
        np.random.seed(3)  # noqa: NPY002 - nothing may depend on the global generator
        second = study()
        assert list(first) == list(second)
        assert len({len(column) for column in first.values()}) == 1
        assert {column.dtype.str for column in first.values()} <= {"<f8", "<i8"}
        for name in first:
            if not name.startswith("timing."):
                assert_array_equal(first[name], second[name], err_msg=name)


def test_another_seed_gives_another_run():
    one, other = (sketch([[1.0, 2.0]], seed=seed)["regret"] for seed in (0, 1))
    assert not np.array_equal(one, other)


def test_the_grid_is_even_in_the_logarithm_and_ends_at_T():
    assert log_grid(100, 2) == [1, 3, 10, 32, 100]
    assert log_grid(33, 2) == [1, 3, 10, 33]  # 32 lies within 10 % of the end
    assert log_grid(1, 2) == [1]


def test_wrong_problems_and_empty_studies_are_refused_with_a_sentence():
    with pytest.raises(TypeError, match="expected a problem on Arms, got Box"):
        table(Problem(Box(2), problem().evaluate))
    with pytest.raises(ValueError, match="T is too small"):
        tidy([])


def test_the_exact_posterior_alongside_is_conditioned_on_every_pull():
    found = batches([[0.5, 1e6]], T=40)
    exact = ExactPosterior(GaussianTable(problem().domain.points, 1.0), 0.5)
    exact.add(int(rng(0, "study", "init").integers(120, size=1)[0]), 0.0)
    assert_allclose(found["effective_dimension"][0], exact.effective_dimension())
    assert (np.diff(found["effective_dimension"]) > 0).all()


# 0-1-2 and 3-4-5, some both ways, some edits twice
EDITS = [[1, 1, 2], [0], [0, 1, 1], [4], [], [3, 4, 3, 4]]


def architectures(edits=EDITS):
    """Six arms on a line of which two are alike; nobody evaluates them."""
    points = np.array([[0.0], [1.0], [3.0], [3.0], [4.0], [7.0]])[: len(edits)]
    reached = [np.array(arms, dtype=np.int64) for arms in edits]
    arms = Arms(points, neighbours=reached.__getitem__)
    return Problem(arms, lambda query, draw: pytest.fail("evaluated"))


def test_a_search_space_is_counted_and_its_edits_joined():
    found = search_space.run(0, architectures(), bandwidths=[2.0, 10.0])
    once = {"candidates": 6, "features": 1, "distinct_features": 5, "components": 2}
    # an arm that two edits reach is one neighbour
    once |= {"neighbours_min": 0, "neighbours_mean": 8 / 6, "neighbours_max": 2}
    for name, value in once.items():
        assert_allclose(found[name], [value, value], err_msg=name)
    assert_array_equal(found["bandwidth"], [2, 10])
    assert_allclose(found["kernel_min"], np.exp([-49 / 8, -49 / 200]))
    assert set(found) == {*once, "bandwidth", "kernel_min"}


def test_components_are_those_of_a_slow_flood():
    draw = np.random.default_rng(0)
    for edges in (5, 20, 40):
        edits = [[] for _ in range(40)]
        for start, end in draw.integers(40, size=(edges, 2)):
            edits[start].append(end)
        parts = [{arm} for arm in range(40)]
        for start, reached in enumerate(edits):
            for end in reached:
                joined = [part for part in parts if start in part or end in part]
                parts = [part for part in parts if part not in joined] + [set.union(*joined)]
        arrays = [np.array(reached, dtype=np.int64) for reached in edits]
        assert search_space.components(arrays) == len(parts)
    often = [np.ones(256, dtype=np.int64), np.empty(0, dtype=np.int64)]
    assert search_space.components(often) == 1


def test_a_search_space_depends_on_no_seed_and_needs_neighbours():
    one, other = (search_space.run(seed, architectures(), bandwidths=[2.0]) for seed in (0, 1))
    assert_equal(one, other)
    assert {column.dtype.str for column in one.values()} <= {"<f8", "<i8"}
    with pytest.raises(ValueError, match="expected arms with neighbours, got none"):
        search_space.run(0, problem(), bandwidths=[2.0])


def test_the_smallest_kernel_value_of_a_large_table_is_nearly_that_of_all_pairs():
    points = np.random.default_rng(0).random((1000, 2))
    arms = Arms(points, neighbours=lambda arm: np.array([(arm + 1) % 1000]))
    large = Problem(arms, problem().evaluate)
    found = search_space.run(0, large, bandwidths=[1.0])
    least = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=-1).max() / 2)
    assert least <= found["kernel_min"][0] < 1.2 * least
    assert found["components"] == [1]
