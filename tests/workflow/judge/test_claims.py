"""Verdicts on synthetic curves with known answers."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.workflow.judge.claimed import LESS, claim, typed
from tests.workflow.synthetic import PROVENANCE, Toy, noisy
from workflow.judge import claims, evidence, ledger, outcomes, render, trivial
from workflow.judge.outcomes import CONTRADICTED, DIRECTION, INCONCLUSIVE, REPRODUCED, UNDECIDED
from workflow.measure import statistics
from workflow.measure.store import BadRecords
from workflow.plan import reads
from workflow.trace.curves import PlanError

INF, NAN = np.inf, np.nan
A_OF_P = {"problems": ["p"], "curves": ["A"]}
OF_A = {"metric": "cumulative_regret", **A_OF_P}  # of its runs


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path)


def judged(toy, check=LESS, *, partial=False, **more):
    return claims.judge(toy.paper, toy.store(partial=partial), typed(check, **more))


def names(runs):
    return {run.name.removeprefix("toy/") for run in runs}


def observed(verdict):
    """What is observed under each other reading."""
    return {name: outcome.observed for name, outcome in verdict.readings.items()}


def pair(root, a, b, spread=0.01, **options):
    """A toy with two curves of the given mean values of the pulled arms."""
    toy = Toy(root, **options)
    toy.add("A", noisy(a, spread, 1))
    toy.add("B", noisy(b, spread, 2))
    return toy


@pytest.mark.parametrize(
    ("a", "b", "spread", "verdict"),
    [
        (0.9, 0.5, 0.01, REPRODUCED),
        (0.501, 0.5, 0.0, REPRODUCED),  # without any spread the smallest difference decides
        (0.6, 0.5, 0.4, DIRECTION),
        (0.5, 0.9, 0.01, CONTRADICTED),
        (0.5, 0.5, 0.0, INCONCLUSIVE),
    ],
)
def test_less(tmp_path, a, b, spread, verdict):
    assert judged(pair(tmp_path, a, b, spread)).verdict == verdict


def test_effect_interval_and_both_p_values_are_reported(tmp_path):
    comparison = judged(pair(tmp_path, 0.9, 0.5)).comparisons[0]
    assert comparison.effect == pytest.approx(60 * -0.4, abs=1)
    assert comparison.low < comparison.effect < comparison.high < 0
    assert comparison.p < 1e-6
    assert comparison.p_flip == 1 / 1024
    assert comparison.n == 10


def test_a_ratio_is_compared_in_logarithms(tmp_path):
    toy = pair(tmp_path, 0.9, 0.5)
    for factor, verdict in ((0.5, REPRODUCED), (0.1, CONTRADICTED)):
        found = judged(toy, {**LESS, "compare": "ratio", "factor": factor})
        assert found.verdict == verdict
        assert found.comparisons[0].effect == pytest.approx(0.2, rel=0.1)


def paired(root, differences, seeds=10, **options):
    """A below B, C, ... by these differences, one for each seed and comparison (m, n)."""
    toy = Toy(root, budget=1, seeds=seeds, **options)
    toy.entry["algorithms"] |= {name: {"is": "random_search.RandomSearch"} for name in "DEFGH"}
    toy.add("A", lambda seed: {"true": 0.0})
    for name, row in zip("BCDEFGH", np.atleast_2d(differences), strict=False):
        toy.add(name, lambda seed, row=row: {"true": -row[seed]})
    return toy


def at_t(t, key=3, n=10):
    """n differences whose paired t statistic is t."""
    draws = np.random.default_rng(key).standard_normal(n)
    return (draws - draws.mean()) / draws.std(ddof=1) + t / np.sqrt(n)


MANY = {**LESS, "right": ["B", "C", "D", "E"]}


def test_a_claim_about_many_comparisons_is_reproduced_if_each_of_them_is(tmp_path):
    """Intersection-union: each at the level of one, without a correction."""
    weak = [at_t(2.4, key) for key in range(4)]  # p = 0.020 at ten seeds
    assert judged(paired(tmp_path / "four", weak), MANY).verdict == REPRODUCED
    weak[2] = at_t(2.0)  # p = 0.038
    assert judged(paired(tmp_path / "less", weak), MANY).verdict == DIRECTION


def test_a_claim_about_many_comparisons_is_contradicted_by_one_at_a_share_of_the_level(tmp_path):
    strong = [at_t(9.0, key) for key in range(3)]
    for t, verdict in ((-2.4, INCONCLUSIVE), (-4.0, CONTRADICTED)):  # p 0.020 and 0.0016, of 0.0065
        toy = paired(tmp_path / str(t), [*strong, at_t(t)])
        found = judged(toy, MANY)
        assert found.verdict == verdict
        assert [one.holds for one in found.comparisons] == [True, True, True, False]
        assert judged(toy, {**LESS, "right": ["E"]}).verdict == CONTRADICTED


def test_a_contradicted_claim_waits_for_no_other_run(tmp_path):
    toy = paired(tmp_path, [at_t(9.0), at_t(-9.0, 4)])
    toy.drop(toy.curves["p", "B"], range(10))
    both = {**LESS, "right": ["B", "C"]}
    found = judged(toy, both, partial=True)
    assert (found.verdict, found.reasons) == (CONTRADICTED, ())
    assert [bool(one.missing) for one in found.comparisons] == [True, False]
    missing = judged(toy, {**LESS, "right": ["B"]}, partial=True)
    assert (missing.verdict, missing.observed) == (UNDECIDED, "not run")
    toy.drop(toy.curves["p", "C"], range(4, 10))
    few = judged(toy, both, partial=True)
    assert (few.verdict, few.observed) == (UNDECIDED, CONTRADICTED)
    assert "4 seeds, 5 are needed" in few.reasons


def test_missing_runs_are_counted_and_few_seeds_make_no_disagreement(tmp_path):
    toy = paired(tmp_path, [at_t(9.0), at_t(9.0, 4), at_t(9.0, 5)])
    for name in "BCD":
        toy.drop(toy.curves["p", name], range(4 if name == "D" else 0, 10))
    found = judged(toy, {**LESS, "right": ["B", "C", "D"]}, partial=True)
    reasons = ("toy/p/B: not run at scale paper", "and 1 more", "4 seeds, 5 are needed")
    assert found.reasons == reasons
    assert found.comparisons[2].p < 0.05 < found.comparisons[2].p_flip
    assert found.qualifiers == ()


def seen_so_far(toy, seeds, check=LESS):
    """The verdict while only some seeds of B are there."""
    kept = {seed: toy.root / toy.curves["p", "B"].record(seed) for seed in range(10)}
    aside = {path: path.read_bytes() for seed, path in kept.items() if seed not in seeds}
    for path in aside:
        path.unlink()
    found = judged(toy, check, partial=True)
    for path, content in aside.items():
        path.write_bytes(content)
    return found


@pytest.mark.parametrize(
    ("first", "last", "verdicts"),
    [
        (6.0, 6.0, [REPRODUCED] * 6),
        (6.0, -1.0, [REPRODUCED] * 5 + [DIRECTION]),  # ten seeds no longer show it
        (-6.0, 9.0, [CONTRADICTED] * 5 + [INCONCLUSIVE]),
        (1.0, 9.0, [DIRECTION] * 5 + [REPRODUCED]),
        (-1.0, 9.0, [INCONCLUSIVE] * 5 + [REPRODUCED]),
        (1.0, -1.0, [DIRECTION] * 5 + [INCONCLUSIVE]),
    ],
)
def test_seeds_are_looked_at_when_five_are_there_and_when_ten_are(tmp_path, first, last, verdicts):
    """Whatever seeds 5 to 9 say, and however few of them: between the looks nothing changes."""
    toy = paired(tmp_path, np.concatenate([at_t(first, 1, 5), 3 * at_t(last, 2, 5)]))
    assert seen_so_far(toy, range(4)).verdict == UNDECIDED
    assert [seen_so_far(toy, range(n)).verdict for n in range(5, 11)] == verdicts
    assert seen_so_far(toy, [0, 1, 2, 3, 4, 9]).verdict == verdicts[0]
    hole = seen_so_far(toy, [0, 1, 2, 3, 5, 6, 7, 8, 9])
    assert (hole.verdict, hole.reasons) == (UNDECIDED, ("the first 5 seeds are not all there",))


def test_numbers_are_of_the_last_look_and_say_so_if_they_no_longer_decide(tmp_path):
    toy = paired(tmp_path, np.concatenate([at_t(6.0, 1, 5), 3 * at_t(-1.0, 2, 5)]))
    found = judged(toy)
    one = found.comparisons[0]
    assert (one.n, one.at, one.side, one.level) == (10, 5, "for", 0.026)
    assert one.p > one.level
    assert outcomes.FADED in found.qualifiers
    assert outcomes.FADED not in seen_so_far(toy, range(5)).qualifiers
    assert "0-4 --scale" in seen_so_far(toy, range(7)).rerun[0]
    assert "0-9 --scale" in found.rerun[0]


@pytest.mark.parametrize(
    ("last", "faded"), [([-9.0, -9.0], False), ([1.0, -9.0], False), ([1.0, 1.0], True)]
)
def test_a_contradiction_fades_with_the_last_comparison_that_refutes(tmp_path, last, faded):
    """However the other comparisons fare, as the first one does here."""
    rows = [(6.0, -1.0), *((-9.0, late) for late in last)]
    differences = [
        np.concatenate([at_t(early, key, 5), 3 * at_t(late, key + 1, 5)])
        for key, (early, late) in enumerate(rows)
    ]
    found = judged(paired(tmp_path, differences), {**LESS, "right": ["B", "C", "D"]})
    assert found.verdict == (INCONCLUSIVE if faded else CONTRADICTED)
    assert (outcomes.FADED in found.qualifiers) == faded
    assert not found.comparisons[-1].p <= found.comparisons[-1].level


def test_the_level_is_that_of_one_look_only_where_the_plan_has_fewer_than_ten_seeds(tmp_path):
    between = at_t(2.3, 1, 5)  # p = 0.041, above 1/32
    toy = paired(tmp_path / "ten", np.concatenate([between, between]))
    assert seen_so_far(toy, range(5)).verdict == DIRECTION
    five = paired(tmp_path / "five", between, seeds=5)
    assert judged(five).verdict == REPRODUCED
    cut = replace(five.paper, uncut={curve.name: tuple(range(10)) for curve in five.paper.curves})
    by_hand = claims.judge(cut, five.store(), typed())
    assert by_hand.verdict == DIRECTION  # chosen on the command line, of a plan of ten


def test_tests_that_disagree_are_told(tmp_path):
    skewed = np.array([0.1, 0.1, 0.1, 0.1, -0.02])  # t: p = 0.016; 2 of 32 patterns are as low
    found = judged(paired(tmp_path / "t", skewed, seeds=5))
    assert (found.verdict, found.qualifiers) == (REPRODUCED, (outcomes.DISAGREE,))
    assert judged(paired(tmp_path / "no", at_t(4.0, 1, 5), seeds=5)).qualifiers == ()


def test_a_comparison_says_what_it_could_have_seen(tmp_path):
    one = judged(paired(tmp_path, at_t(1.0))).comparisons[0]
    assert one.seen == pytest.approx(statistics.detectable(10, 0.026), rel=1e-9)  # a deviation of 1


def test_q_is_the_p_of_a_claim_among_all_of_the_ledger(tmp_path):
    toy = paired(tmp_path, [at_t(2.4), at_t(-9.0), at_t(9.0)])
    found = claims.with_q([judged(toy, {**LESS, "right": [name]}) for name in "BCD"])
    assert [one.p for one in found] == pytest.approx([2 * 0.0199, 1, 0], abs=2e-4)
    q = statistics.false_discovery([one.p for one in found])
    against = statistics.false_discovery([one.p_against for one in found])
    assert [one.q for one in found] == [q[0], against[1], q[2]]
    text = render.as_markdown(toy.paper, found)
    assert "2 of 3 claims that a test decided remain" in text


def test_claims_that_are_counted_apart_lend_no_small_p_to_the_others(tmp_path):
    toy = paired(tmp_path, [at_t(2.4), at_t(9.0), at_t(8.0)])
    null = [{"always": True, "because": "nothing can fail"}]
    plain = judged(toy, {**LESS, "right": ["B"]})
    apart = [judged(toy, {**LESS, "right": [name]}, null_model=null) for name in "CD"]
    found = claims.with_q([plain, *apart])
    assert found[0].q == found[0].p
    alone = statistics.false_discovery([one.p for one in apart])
    assert [one.q for one in found[1:]] == list(alone)
    assert "1 of 1 claims that a test decided" in render.as_markdown(toy.paper, found)


def test_a_statement_about_all_runs_is_refuted_by_one_whenever_it_comes(toy):
    toy.study("s", lambda seed: {"ratio": [1.0, 9.0 if seed == 7 else 2.0]})
    check = {"test": "band", "study": "s", "column": "ratio", "at_most": 3}
    found = judged(toy, check)
    one = found.comparisons[0]
    assert (found.verdict, one.p_against) == (CONTRADICTED, 0)
    assert one.what == "ratio of s: 9 of 10 seeds"
    toy.drop(toy.studies["s"], (7, 8))
    kept = judged(toy, check, partial=True).comparisons[0]
    assert (kept.side, kept.p, kept.n) == ("for", 1 / 32, 5)  # that half of all runs break it


def test_a_statement_about_all_rows_reads_those_that_only_longer_seeds_have(toy):
    """As of batches, whose number is that of the seed."""
    toy.study("s", lambda seed: {"ratio": [1.0, 1.0, 9.0][: 3 if seed == 7 else 2]})
    found = judged(toy, {"test": "band", "study": "s", "column": "ratio", "at_most": 3})
    assert found.verdict == CONTRADICTED
    assert found.comparisons[0].what == "ratio of s: 9 of 10 seeds"


def test_substitute_data_and_unmet_hypotheses_are_qualifiers(tmp_path):
    toy = pair(tmp_path, 0.9, 0.5, data="substitute: a synthetic table")
    never = [{"never": True, "because": "nobody knows the norm"}]
    found = judged(toy, data="any", requires=never)
    assert found.verdict == UNDECIDED
    assert found.qualifiers == ("outside the theorem: observed reproduced", outcomes.ON_SUBSTITUTE)
    assert outcomes.group(found.qualifiers) == outcomes.OUTSIDE
    always = [{"always": True, "because": "any kernel"}]
    found = judged(toy, data="any", requires=always)
    assert (found.verdict, found.qualifiers) == (REPRODUCED, (outcomes.ON_SUBSTITUTE,))


HIT = {"test": "share", "metric": "simple_regret", **A_OF_P, "at_least": 0.5}
HIT |= {"event": {"at_most": 0.1}}


def lucky(root, share):
    """A finds the optimum at once; a search at random hits it with this share of its points."""
    toy = Toy(root, budget=20)
    toy.add("A", lambda seed: {"true": 1.0})
    toy.add("uniform", lambda seed: {"true": np.where(np.arange(20) < 20 * share, 0.95, 0.0)})
    return toy


@pytest.mark.parametrize(("share", "is_trivial"), [(0.3, True), (0.05, False)])
def test_what_a_search_at_random_passes_holds_trivially(tmp_path, share, is_trivial):
    """A run of 20 draws hits with probability 0.999 or 0.64; ten do in five cases of ten."""
    found = judged(lucky(tmp_path, share), {**HIT, "at": 20}, null_model=[{"curve": "uniform"}])
    assert found.verdict == REPRODUCED
    assert any(one.startswith(outcomes.TRIVIAL) for one in found.qualifiers) is is_trivial


def test_a_null_model_passes_as_often_as_its_draws_do(tmp_path):
    """Ten seeds of three draws, each of them 0.3: all hit with probability (1 - 0.7^3)^10."""
    toy = lucky(tmp_path, 0.3)
    entry = typed({**HIT, "at": 3, "at_least": 1}, null_model=[{"curve": "uniform"}])
    seen = evidence.Evidence(toy.paper, toy.store(), first=10)
    share = trivial._share(seen, entry.check, entry.null_model[0])
    assert share == pytest.approx((1 - 0.7**3) ** 10, abs=4 * np.sqrt(0.015 / trivial.REPEATS))
    assert names(reads.null_runs(toy.paper, entry)) == {"p/uniform"}


def test_a_column_may_be_what_passes_by_itself(toy):
    toy.study("s", lambda seed: {"size": [2, 3], "most": [4, 5], "all": [1, seed > 0]})
    words = "all of them are that few"

    def why(check, **line):
        found = judged(toy, check, null_model=[{**line, "because": words}])
        return [one for one in found.qualifiers if one.startswith(outcomes.TRIVIAL)]

    study = {"test": "band", "study": "s", "column": "size"}
    assert why({**study, "at_most": 6}, column="most") == [f"holds trivially: {words}"]
    assert why({**study, "at_most": 4}, column="most") == []
    assert why({**study, "at_most": 4}, column="most", at_least=4) == [f"holds trivially: {words}"]
    assert why({**study, "at_most": 6}, column="most", at_least=4.5) == []
    assert why({**study, "at_most": 4}, where="all") == [f"holds trivially: {words}"]  # 9 of 10
    assert why({**study, "at_most": 2}, where="all") == []  # it does not hold
    assert why({**study, "at_most": 4}, always=True) == [f"holds trivially: {words}"]


def test_the_runs_of_another_method_may_be_what_passes_by_itself(tmp_path):
    toy = pair(tmp_path, 0.9, 0.8)
    toy.add("C", noisy(0.1))
    check = {**LESS, "right": 20.0}
    for curve, is_trivial in (("B", True), ("C", False)):
        found = judged(toy, check, null_model=[{"instead": curve, "because": "B keeps it, too"}])
        assert found.qualifiers == ("holds trivially: B keeps it, too",) * is_trivial


def test_other_data_or_another_scale_are_undecided_unless_the_claim_takes_any(tmp_path):
    for key, value, reason in (
        ("data", "substitute: a synthetic table", "substituted data"),
        ("scale", "short", "scale short"),
    ):
        toy = pair(tmp_path / key, 0.9, 0.5, **{key: value})
        assert judged(toy).reasons == (reason,)
        assert judged(toy, **{key: "any"}).verdict == REPRODUCED


def test_hypotheses_that_are_not_met_leave_a_claim_undecided(tmp_path):
    toy, of_a = pair(tmp_path, 0.9, 0.5), {"curve": "A", "problem": "p", "parameter": "qbar"}
    assert judged(toy, requires=[{**of_a, "at_least": 2}]).verdict == REPRODUCED
    for bound in ({"at_least": 158}, {"at_most": 1}):
        found = judged(toy, requires=[{**of_a, **bound}])
        assert found.verdict == UNDECIDED
        assert found.reasons[0].startswith("hypotheses not met: ")
    with pytest.raises(PlanError, match="no parameter 'qbra'"):
        judged(toy, requires=[{**of_a, "parameter": "qbra", "at_least": 1}])


@pytest.mark.parametrize(
    ("b", "spread", "verdict"),
    [(0.505, 0.005, REPRODUCED), (0.505, 0.25, DIRECTION), (0.7, 0.005, CONTRADICTED)],
)
def test_equivalence_needs_evidence(tmp_path, b, spread, verdict):
    toy = pair(tmp_path, 0.5, b, spread)
    assert judged(toy, {**LESS, "test": "equivalent", "tolerance": 0.1}).verdict == verdict


@pytest.mark.parametrize(
    ("absolute", "verdict"),
    # the means differ by 0.3, with an interval of 0.014 around
    [(0.5, REPRODUCED), (0.305, DIRECTION), (0.2, CONTRADICTED)],
)
def test_equivalence_within_an_absolute_tolerance(toy, absolute, verdict):
    """60 evaluations that differ by 0.005; the right mean is 0, whose shares are no tolerance."""
    draws = np.random.default_rng(0).standard_normal(10)
    draws = 0.02 * (draws - draws.mean()) / draws.std(ddof=1) / 60
    toy.add("A", lambda seed: {"true": 0.995 + draws[seed]})
    toy.add("B", lambda seed: {"true": 1.0})
    found = judged(toy, {**LESS, "test": "equivalent", "absolute": absolute})
    assert found.verdict == verdict
    assert found.comparisons[0].effect == pytest.approx(0.3)
    assert found.comparisons[0].what == f"A = B on p within {absolute:.3g}"
    assert judged(toy, {**LESS, "test": "equivalent", "tolerance": 0.5}).verdict == CONTRADICTED


def two_problems(root):
    """A is better than B on p, worse than it on q, and A on q is better than both on p."""
    toy = Toy(root)
    toy.entry["problems"]["q"] = toy.entry["problems"]["p"]
    for problem, a, b in (("p", 0.5, 0.3), ("q", 0.9, 0.95)):
        toy.add("A", noisy(a, 0.01, 1), problem=problem)
        toy.add("B", noisy(b, 0.01, 2), problem=problem)
    return toy


def test_a_check_may_read_its_right_side_on_another_problem(tmp_path):
    toy = two_problems(tmp_path)
    across = {**LESS, "against": "q"}
    assert judged(toy).verdict == judged(toy, {**across, "test": "more"}).verdict == REPRODUCED
    found = judged(toy, across)
    assert found.verdict == CONTRADICTED
    assert found.comparisons[0].what == "A on p < B on q"
    assert found.comparisons[0].effect == pytest.approx(60 * 0.45, abs=1.5)
    same = judged(toy, {**across, "right": ["A"], "test": "more"})
    assert (same.verdict, same.comparisons[0].what) == (REPRODUCED, "A on p > A on q")


def test_a_check_across_problems_reads_each_side_where_it_stands(tmp_path):
    toy = two_problems(tmp_path)
    assert names(reads.runs_of(toy.paper, typed({**LESS, "against": "q"}).check)) == {"p/A", "q/B"}
    plain = reads.runs_of(toy.paper, typed({**LESS, "problems": ["p", "q"]}).check)
    assert names(plain) == {"p/A", "p/B", "q/A", "q/B"}
    toy.add("uniform", noisy(0.1))
    toy.add("uniform", noisy(0.2), problem="q")
    check = typed({**LESS, "against": "q", "relative_to": "uniform"}).check
    assert names(reads.runs_of(toy.paper, check)) == {"p/A", "q/B", "p/uniform", "q/uniform"}
    ratios = {**LESS, "against": "q", "relative_to": "uniform", "compare": "ratio"}
    expected = (0.5 / 0.9) / (0.05 / 0.8)
    assert judged(toy, ratios).comparisons[0].effect == pytest.approx(expected, rel=0.1)
    del toy.curves["p", "B"]  # nothing reads it
    assert judged(toy, {**LESS, "against": "q"}).comparisons[0].n == 10


def test_a_ratio_under_a_reading_of_the_problem_has_its_base_there(toy):
    toy.entry["readings"]["raw"] = {"says": "as they are", "problems": {"p": {"features": "raw"}}}
    toy.add("A", lambda seed: {"true": 0.9})
    toy.add("uniform", lambda seed: {"true": 0.5})
    for name, level in (("A", 0.6), ("uniform", 0.2)):
        toy.add(name, lambda seed, level=level: {"true": level}, problem_reading="raw")
    check = {**LESS, "relative_to": "uniform", "right": 0.3}
    for reading, ratio, expected in (
        ("", 0.1 / 0.5, {"p/A", "p/uniform"}),
        ("raw", 0.4 / 0.8, {"p@raw/A", "p@raw/uniform"}),
    ):
        seen = evidence.Evidence(toy.paper, toy.store(), reading)
        _, values = seen.series(typed(check).check, "p", "A")
        assert values == pytest.approx(np.full((10, 60), ratio))
        assert names(reads.runs_of(toy.paper, typed(check).check, reading)) == expected
    found = judged(toy, check, readings=["raw"])
    assert (found.verdict, observed(found)) == (REPRODUCED, {"raw": CONTRADICTED})


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [
        ({"at_most": 1.8}, REPRODUCED),
        ({"at_most": 1.2}, CONTRADICTED),
        ({"at_least": 1.2}, REPRODUCED),
    ],
)
def test_exponent_over_a_window(tmp_path, bound, verdict):
    toy = Toy(tmp_path, budget=200)
    t = np.arange(1, 201)
    step = np.diff(t**1.5, prepend=0)
    spread = [1 + 0.05 * np.random.default_rng(seed).random() for seed in range(10)]
    toy.add("A", lambda seed: {"true": 1 - step * spread[seed]})
    found = judged(toy, {"test": "exponent", **OF_A, "from": 20, **bound})
    assert found.verdict == verdict
    assert found.comparisons[0].effect == pytest.approx(1.5, abs=0.01)


@pytest.mark.parametrize(
    ("hits", "verdict"), [(10, REPRODUCED), (7, DIRECTION), (4, INCONCLUSIVE), (0, CONTRADICTED)]
)
def test_share_of_seeds(toy, hits, verdict):
    toy.add("A", lambda seed: {"true": 0.5 if seed < hits else 1.0})
    found = judged(toy, {**HIT, "metric": "stuck", "event": {"at_least": 1}})
    assert found.verdict == verdict
    assert found.comparisons[0].effect == hits / 10


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [(range(1, 12), REPRODUCED), ([3, 3, 3, 3, 3], INCONCLUSIVE), (range(11, 0, -1), CONTRADICTED)],
)
def test_monotone_batches(tmp_path, sizes, verdict):
    toy = Toy(tmp_path, budget=1 + sum(sizes))
    batch = np.repeat(np.arange(1 + len(sizes)), [1, *sizes])
    toy.add("A", lambda seed: {"true": 0.5, "batch": batch})
    check = {"test": "monotone", "metric": "batch_size", **A_OF_P, "direction": "increasing"}
    assert judged(toy, check).verdict == verdict


def test_the_mean_batch_is_a_mean_over_batches(tmp_path):
    toy = Toy(tmp_path, budget=9)
    toy.add("A", lambda seed: {"true": 0.5, "batch": np.repeat([0, 1, 2, 3], [1, 1, 5, 2])})
    check = {**LESS, "metric": "batch_size", "at": "mean", "right": 3.0}
    assert judged(toy, check).comparisons[0].effect == pytest.approx(0.0)


@pytest.mark.parametrize(("across", "verdict"), [("max", REPRODUCED), ("min", CONTRADICTED)])
def test_range_over_variants(toy, across, verdict):
    """A is good everywhere, B very good at one variant and bad at the other."""
    for variant, a, b in (("b-1", 0.9, 0.95), ("b-2", 0.88, 0.2)):
        toy.add("A", noisy(a, 0.005, 1), variant=variant)
        toy.add("B", noisy(b, 0.005, 2), variant=variant)
    check = {**LESS, "variants": "all", "across": across}
    assert judged(toy, check).verdict == verdict


def test_a_scale_without_the_variants_has_nothing_to_compare(tmp_path):
    toy = Toy(tmp_path, scale="short")
    for name in "AB":
        toy.add(name, noisy(0.5), variant="b-1")
    found = judged(toy, {**LESS, "variants": ["b-2"], "across": "max"})
    assert "nothing to compare at this scale" in found.reasons
    assert judged(toy, {**LESS, "left": ["A+b-2"], "right": ["B+b-2"]}).comparisons == ()


@pytest.mark.parametrize(
    ("ratio", "expected"), [(0.1, REPRODUCED), (0.6, UNDECIDED), (5.0, CONTRADICTED)]
)
def test_spreads_within_a_factor_three_are_undecided(toy, ratio, expected):
    draw = np.random.default_rng(0).standard_normal(10)
    toy.add("A", lambda seed: {"true": 0.5 + 0.01 * ratio * draw[seed]})
    toy.add("B", lambda seed: {"true": 0.5 + 0.01 * draw[seed]})
    assert judged(toy, {**LESS, "test": "spread"}).verdict == expected


def study(root, low=0.5):
    toy = Toy(root)
    rows = {"q": [1, 1, 2, 2], "t": [1, 10, 1, 10], "ratio": [0.1, 0.2, low, 2.0]}
    toy.study("s", lambda seed: {**rows, "size": [1, 2, 3, 40], "met": [0, 0, 1, 1]})
    return toy


def test_rows_that_a_shorter_study_does_not_reach_have_no_number(tmp_path):
    level = {"test": "equivalent", "study": "s", "left": "ratio", "right": "met", "tolerance": 2.0}
    toy = study(tmp_path)
    assert judged(toy, {**level, "rows": {"q": 2, "t": 10}}).verdict == REPRODUCED
    found = judged(toy, {**level, "rows": {"q": 2, "t": 100}})
    assert found.verdict == UNDECIDED
    assert "a comparison has no number at this budget" in found.reasons
    assert found.comparisons[0].borders == ()
    assert "nan" not in found.comparisons[0].what


def test_band_and_bound_of_a_study(tmp_path):
    toy = study(tmp_path)
    band = {"test": "band", "study": "s", "column": "ratio", "at_least": 1 / 3, "at_most": 3}
    assert judged(toy, {**band, "rows": {"q": 2}}).verdict == REPRODUCED
    found = judged(toy, band)
    assert found.verdict == CONTRADICTED
    one = found.comparisons[0]
    assert (one.effect, one.low, one.high) == (0.5, 0.1, 2.0)
    bound = {"test": "bound", "study": "s", "left": "size", "right": "t"}
    assert judged(toy, bound).verdict == CONTRADICTED
    assert judged(toy, {**bound, "factor": 4}).verdict == REPRODUCED
    assert judged(toy, {**bound, "right": 40}).verdict == REPRODUCED


def test_one_seed_decides_where_nothing_is_drawn(toy):
    toy.study("s", lambda seed: {"count": [12]}, seeds=1)
    check = {"test": "band", "study": "s", "column": "count", "at_least": 12, "at_most": 12}
    assert judged(toy, check).verdict == UNDECIDED
    found = judged(toy, check, deterministic=True)
    assert (found.verdict, found.qualifiers, np.isnan(found.p)) == (REPRODUCED, (), True)
    other = {**check, "at_least": 13, "at_most": 13}
    assert judged(toy, other, deterministic=True).verdict == CONTRADICTED


def test_an_infinite_violation_is_a_violation(toy):
    rows = {"t": [1, 2, 3], "ratio": [1.0, INF, NAN], "left": [1, 5, 0], "right": [2, 0, 0]}
    toy.study("s", lambda seed: rows)
    assert judged(toy, BELOW_THREE).verdict == CONTRADICTED
    bound = {"test": "bound", "study": "s"}
    assert judged(toy, {**bound, "left": "left", "right": "right"}).verdict == CONTRADICTED
    assert judged(toy, {**bound, "left": "right", "right": 2}).verdict == REPRODUCED


def test_hypothesis_as_a_column_of_a_study(tmp_path):
    toy = study(tmp_path)
    inside, out = ({**BELOW_THREE, "rows": {"q": q}} for q in (2, 1))
    requires = [{"column": "met", "at_least": 1}]
    assert judged(toy, inside, requires=requires).verdict == REPRODUCED
    (why, *_) = judged(toy, out, requires=requires).reasons
    assert why.startswith("hypotheses not met: met of s is 0")


BELOW_THREE = {"test": "band", "study": "s", "column": "ratio", "at_most": 3}
MET = [{"column": "met", "at_least": 1, "because": "Lemma 2"}]
EVERY = [{"name": "q = 2", "rows": {"q": 2}}, {"name": "q = 3", "rows": {"q": 3}}]


def in_cases(root, ratio=2.0):
    """A study of three cases: the first is outside the hypothesis, and breaks the bound."""
    toy = Toy(root)
    toy.study("s", lambda seed: {"q": [1, 2, 3], "met": [0, 1, 1], "ratio": [9.0, 2.0, ratio]})
    return toy


def test_a_claim_in_several_cases_has_the_comparisons_of_all_and_one_verdict(tmp_path):
    settings = [{"name": "q = 1", "rows": {"q": 1}}, *EVERY]
    found = judged(in_cases(tmp_path), BELOW_THREE, cases=settings, requires=MET)
    assert (found.verdict, found.qualifiers) == (REPRODUCED, ())
    assert [one.what[:5] for one in found.comparisons] == ["q = 1", "q = 2", "q = 3"]
    assert [one.decides for one in found.comparisons] == ["", "for", "for"]
    why = "outside the theorem: hypotheses not met: no row of s meets (Lemma 2)"
    assert found.comparisons[0].apart == why
    text = render.as_markdown(Toy(tmp_path / "none").paper, [found])
    assert "| q = 1: ratio of s: 0 of 10 seeds |" in text
    wrong = in_cases(tmp_path / "wrong", ratio=4.0)
    assert judged(wrong, BELOW_THREE, cases=settings, requires=MET).verdict == CONTRADICTED
    found = judged(wrong, BELOW_THREE, cases=settings[:1], requires=MET)
    assert found.verdict == UNDECIDED  # no case is within the theorem
    assert found.qualifiers == ("outside the theorem: observed contradicted",)


def test_a_case_may_have_a_study_and_hypotheses_of_its_own(tmp_path):
    toy = in_cases(tmp_path)
    toy.study("other", lambda seed: {"ratio": [4.0], "met": [1]})
    other = {"name": "other", "study": "other", "requires": [{"column": "met", "at_least": 2}]}
    settings = [EVERY[0], other]
    assert judged(toy, BELOW_THREE, cases=settings, requires=MET).verdict == REPRODUCED
    settings = [EVERY[0], {**other, "requires": MET}]
    assert judged(toy, BELOW_THREE, cases=settings).verdict == CONTRADICTED


def test_a_case_in_which_nothing_can_fail_decides_nothing_while_others_do(toy):
    full = [{"where": "full", "because": "it holds every arm"}]
    level = {"test": "less", "study": "s", "left": "ratio", "right": 3}
    toy.study("s", lambda seed: {"q": [2, 3], "ratio": [2.9 + seed % 2, 1.0], "full": [0, 1]})
    found = judged(toy, level, cases=EVERY, null_model=full)
    assert found.verdict == INCONCLUSIVE  # q = 2 alone
    assert found.comparisons[1].apart == "holds trivially: it holds every arm"
    alone = judged(toy, level, cases=EVERY[1:], null_model=full)
    assert alone.verdict == REPRODUCED
    assert alone.qualifiers == ("holds trivially: it holds every arm",)


def test_the_level_at_which_one_case_refutes_is_shared_among_all(tmp_path):
    toy = paired(tmp_path, [at_t(-2.4), at_t(9.0)])  # p against = 0.020, of 0.026 or a share of it
    settings = [{"name": name, "right": [name]} for name in "BC"]
    assert judged(toy, {**LESS, "right": ["B"]}).verdict == CONTRADICTED
    assert judged(toy, cases=settings).verdict == INCONCLUSIVE
    assert judged(toy, {**LESS, "right": ["B", "C"]}).verdict == INCONCLUSIVE


def test_the_appendix_is_judged_and_in_no_tally(tmp_path):
    toy = in_cases(tmp_path)
    line = claim({**BELOW_THREE, "rows": {"q": 1}}, requires=MET, kind="outside")
    toy.entry["claims"] = [claim({**BELOW_THREE, "rows": {"q": 2}})]
    toy.entry["appendix"] = [{**line, "id": "a"}, {**line, "id": "b", "kind": "trivial"}]
    ledger.write(toy.store(), tmp_path / "out")
    told = json.loads((tmp_path / "out" / "verdicts.json").read_text())
    assert [one["id"] for one in told["claims"]] == ["c"]
    assert [one["kind"] for one in told["appendix"]] == ["outside", "trivial"]
    text = (tmp_path / "out" / "verdicts.md").read_text()
    assert "\n\n1 reproduced\n\n" in text
    assert '| <a id="a"></a>a | Fig. 1 | A has less regret than B |' in text
    assert "| **observed: contradicted** | out" in text
    assert "said beforehand to be so (holds trivially), which these runs do not show |" in text


def test_the_page_begins_with_one_short_line_for_each_claim(tmp_path):
    toy = pair(tmp_path, 0.9, 0.5)
    never = [{"never": True, "because": "nobody knows the norm"}]
    toy.entry["claims"] = [claim(id="plain"), claim(id="apart", requires=never)]
    ledger.write(toy.store(), tmp_path / "out")
    text = (tmp_path / "out" / "verdicts.md").read_text()
    head, *sections = text.split("\n## ")
    lines = [line for line in head.splitlines() if line.startswith("| ")]
    assert lines[0].count("|") == 7 and "nearest" not in lines[0]
    plain, apart = lines[2:]
    assert plain.startswith("| [plain](#plain) | A has less regret than B | **reproduced** |")
    assert "**not decided (observed: reproduced)**; outside the theorem |" in apart
    assert "nobody knows" not in head and "nobody knows" in sections[1]


def test_study_columns_compare_slope_and_order(tmp_path):
    toy = study(tmp_path)
    rows = {"rows": {"q": 2}}
    more = {"test": "more", "study": "s", "left": "size", "right": "t", "at": "end", **rows}
    assert judged(toy, more).verdict == REPRODUCED
    over_t = {"study": "s", "column": "size", "x": "t", **rows}
    slope = {"test": "exponent", **over_t, "from": 1, "at_least": 1}
    assert judged(toy, slope).comparisons[0].effect == pytest.approx(np.log10(40 / 3))
    rising = {"test": "monotone", **over_t, "direction": "increasing"}
    assert judged(toy, rising).verdict == REPRODUCED


def test_regret_bound_at_every_step(tmp_path):
    toy = pair(tmp_path, 0.9, 0.5)
    check = {**LESS, "test": "bound", "left": ["B"], "right": ["A"], "factor": 220}
    assert judged(toy, check).verdict == REPRODUCED
    assert judged(toy, {**check, "factor": 2}).verdict == CONTRADICTED


@pytest.mark.parametrize(
    ("check", "borders"),
    [
        (LESS, [0]),
        ({**LESS, "compare": "ratio", "factor": 2}, [2]),
        ({**LESS, "test": "equivalent", "absolute": 3.0}, [-3, 3]),
        ({**LESS, "test": "passes", "at_most": 7}, [7]),
        ({**LESS, "test": "spread"}, [1]),
        ({**LESS, "test": "bound", "factor": 2}, [1]),
        ({**OF_A, "test": "exponent", "from": 5, "at_most": 1.5}, [1.5]),
        ({**OF_A, "test": "monotone", "direction": "increasing"}, [0]),
        ({**OF_A, "test": "band", "at_least": 0, "at_most": 9}, [0, 9]),
        ({**OF_A, "test": "share", "event": {"at_most": 9}, "at_least": 0.5}, [0.5]),
    ],
)
def test_every_comparison_says_where_the_claimed_side_ends(tmp_path, check, borders):
    """The side of the border on which an effect lies is that on which the comparison says it is."""
    (found,) = judged(pair(tmp_path, 0.9, 0.5), check).comparisons
    assert found.borders == pytest.approx(borders)
    if len(borders) == 2 and "share of rows" not in found.kind:
        assert found.holds == (borders[0] < found.effect < borders[1])


def short(found):
    return replace(found, comparisons=())


def under_readings(root):
    """A beats B, under `code` loses; `first` changes A, `other` neither, `never` is unplanned."""
    toy = pair(root, 0.9, 0.5)
    for name, level in (("A", 0.4), ("B", 0.8)):
        toy.add(name, noisy(level), reading="code")
    toy.add("A", noisy(0.7), reading="first", seeds=4)
    toy.add("C", noisy(0.7), reading="other")
    toy.reading("first", A={"beta": 2})
    toy.reading("other", C={"beta": 2})
    toy.reading("never", **{"*": {"beta": 3}})
    return toy


def test_a_claim_is_judged_under_every_planned_reading_that_changes_one_of_its_runs(tmp_path):
    toy = under_readings(tmp_path)
    found = judged(toy)
    assert found.verdict == REPRODUCED
    assert {name: short(one) for name, one in found.readings.items()} == {
        "code": claims.Outcome(CONTRADICTED, CONTRADICTED, (), 10, runs=2),
        "first": claims.Outcome(
            UNDECIDED, REPRODUCED, ("4 seeds, 5 are needed",), 4, runs=1
        ),  # B keeps its default run
    }
    toy.entry["claims"] = [claim()]
    assert names(claims.runs(toy.paper)) == {"p/A", "p/B", "p/A@code", "p/B@code", "p/A@first"}


def test_a_reading_that_leaves_nothing_to_compare_affects_nothing(tmp_path):
    """Under `first` A is A@first, which is the other side of the claim already."""
    toy = under_readings(tmp_path)
    against_itself = {**claim()["check"], "left": ["A"], "right": ["A@first"]}
    assert set(judged(toy, against_itself).readings) == {"code"}
    everywhere = {key: value for key, value in against_itself.items() if key != "problems"}
    assert set(judged(toy, everywhere).readings) == {"code"}


def test_a_reading_that_a_claim_names_is_judged_even_where_it_is_not_planned(tmp_path):
    toy = under_readings(tmp_path)
    found = judged(toy, readings=["never", "other"])
    # `other` affects nothing here
    assert observed(found) == {"code": CONTRADICTED, "first": REPRODUCED, "never": "not run"}
    never = claims.Outcome("not run", "not run", ("not planned at scale paper",), 0)
    assert short(found.readings["never"]) == never
    said = "claim c: unknown reading cod; known: code, first, other, never"
    with pytest.raises(PlanError, match=said):
        judged(toy, readings=["cod"])


def test_a_reading_that_changes_nothing_where_regret_depends_on_all_runs_affects_nothing(toy):
    """Without a known optimum a check reads the runs under all readings, whichever it is about."""
    toy.reading("other", C={"beta": 2})
    for reading, levels in (("", {"A": 0.9, "B": 0.5}), ("code", {"A": 0.3, "B": 0.8})):
        for name, level in levels.items():
            toy.add(name, noisy(level), problem="open", reading=reading)
    toy.add("C", noisy(0.7), problem="open", reading="other")
    toy.entry["problems"]["open"] = toy.entry["problems"]["p"]
    assert observed(judged(toy, {**LESS, "problems": ["open"]})) == {"code": CONTRADICTED}


def test_a_claim_on_a_study_or_on_runs_of_one_reading_depends_on_no_other(tmp_path):
    toy = study(tmp_path)
    toy.add("A", noisy(0.9), reading="code")
    assert judged(toy, {"test": "band", "study": "s", "column": "q", "at_most": 2}).readings == {}
    assert judged(toy, {**LESS, "left": ["A@code"], "right": 40.0}).readings == {}


def test_a_reading_without_records_is_not_run_in_a_partial_report(tmp_path):
    toy = under_readings(tmp_path)
    toy.drop(toy.curves["p", "A@first"], range(4))
    found = judged(toy, partial=True).readings["first"]
    assert (found.verdict, found.observed, found.seeds) == ("not run", "not run", 0)
    assert "toy/p/A@first: not run" in found.reasons[0]
    with pytest.raises(BadRecords, match="4 records are refused"):
        judged(toy)


def test_what_the_runs_of_the_default_refute_says_nothing_of_a_reading_without_records(tmp_path):
    """A conjunction that one comparison refutes waits for no other run, but a reading none of
    whose own runs decides, and not all of whose runs are there, has not been tried.
    """
    toy = paired(tmp_path, [at_t(-9.0), at_t(9.0, 4)])
    toy.reading("other", C={"beta": 2})
    toy.add("C", noisy(0.0), reading="other")
    check = {**LESS, "right": ["B", "C"]}
    assert observed(judged(toy, check)) == {"other": CONTRADICTED}
    toy.drop(toy.curves["p", "C@other"], range(10))
    found = judged(toy, check, partial=True)
    assert (found.verdict, observed(found)) == (CONTRADICTED, {"other": "not run"})
    why = "toy/p/C@other: not run at scale paper; the default's runs decide"
    assert found.readings["other"].reasons == (why,)


def test_a_hypothesis_on_a_curve_without_a_run_under_a_reading_is_no_verdict(tmp_path):
    toy = under_readings(tmp_path)
    toy.add("C", noisy(0.7))
    needed = {"curve": "C", "problem": "p", "parameter": "qbar", "at_least": 2}
    found = judged(toy, requires=[needed])
    assert found.verdict == REPRODUCED
    assert observed(found) == {"code": "not run", "first": REPRODUCED}
    assert "no run makes the curve 'C@code'" in found.readings["code"].reasons[0]


def test_a_report_from_what_there_is_is_whole_where_nothing_is_missing(toy, tmp_path):
    toy.add("A", noisy(0.8))
    curve = toy.add("B", noisy(0.5))
    toy.entry["claims"] = [claim()]

    def told():
        ledger.write(toy.store(partial=True), tmp_path / "out")
        return json.loads((tmp_path / "out" / "verdicts.json").read_text())["partial"]

    assert told() is False
    (tmp_path / curve.record(9)).unlink()
    assert told() is True


def test_ledger_is_stable_and_names_everything(tmp_path):
    toy = pair(tmp_path, 0.9, 0.5, scale="short")
    toy.entry["errata"] = [{"id": "lemma-3", "where": "Sec. 4", "says": "a | b", "instead": "c"}]
    toy.entry["claims"] = [claim()]
    verdicts = [judged(toy)]
    text = render.as_markdown(toy.paper, verdicts)
    assert text == render.as_markdown(toy.paper, [judged(toy)])
    assert "python -m workflow.run toy p A 0-9 --scale short" in text
    for words in ("not decided: scale short", "observed: reproduced", "a \\| b"):
        assert words in text
    data = json.loads(ledger.as_json(toy.paper, verdicts))
    assert data["claims"][0]["comparisons"][0]["p"] < 1e-6


def test_numbers_are_short_but_not_misleading():
    values = [12416.0, 0.99988, -1.0, 0.0012345, 1.5e6, NAN, INF, -INF, np.float64("inf")]
    shown = ["12416", "0.99988", "-1", "0.00123", "1.5e+06", "-", "∞", "-∞", "∞"]
    assert [render.number(value) for value in values] == shown


def test_a_partial_report_does_without_runs_that_only_decide_an_optimum(toy):
    for name, level in (("A", 0.9), ("B", 0.5)):
        toy.add(name, noisy(level, 0.01, 1), problem="open")
    unfinished = toy.add("C", noisy(0.7, 0.01, 2), problem="open")
    toy.drop(unfinished)
    check = {**LESS, "problems": ["open"]}
    assert judged(toy, check, partial=True).verdict == REPRODUCED


BEST = {**LESS, "metric": "best_feasible"}


def ends(toy, name, values, **options):
    """Runs with this best feasible value from the start; infinite: nothing is feasible."""

    def columns(seed):
        found = np.isfinite(values[seed])
        g = np.full((toy.budget, 1), -1.0 if found else 1.0)
        return {"true": -float(values[seed]) if found else 0.0, "true_g": g}

    return toy.add(name, columns, seeds=len(values), **options)


def best(root, a, b):
    toy = Toy(root, budget=4)
    ends(toy, "A", a)
    ends(toy, "B", b)
    return toy


@pytest.mark.parametrize(
    ("a", "b", "effect", "p", "verdict"),
    [
        ([1, 1, 1, 1, 1], [2, 3, INF, INF, INF], (-INF, -INF, -2), 1 / 32, REPRODUCED),
        ([1, 1, 1, 1, 1], [2, 3, 4, 5, INF], (-4, -3, -2), 1 / 32, REPRODUCED),
        # W+ = 5, median of -4 .. -1, inf
        ([1, 1, 1, 1, INF], [2, 3, 4, 5, 6], (-3, -2, -1), 10 / 32, DIRECTION),
        # ranks 4, 4, -4; two equal infinities are 0
        ([INF, INF, 1, INF, INF], [2, 3, INF, INF, INF], (0, 0, INF), 7 / 8, INCONCLUSIVE),
        ([INF] * 5, [INF] * 5, (0, 0, 0), 1, INCONCLUSIVE),
        ([INF] * 5, [1, 2, 3, 4, 5], (INF, INF, INF), 1, CONTRADICTED),
    ],
)
def test_less_goes_by_rank_where_a_run_has_found_nothing_feasible(
    tmp_path, a, b, effect, p, verdict
):
    toy = best(tmp_path, a, b)
    found = judged(toy, BEST)
    comparison = found.comparisons[0]
    assert comparison.kind == "median difference by rank"
    assert (comparison.low, comparison.effect, comparison.high) == effect
    assert comparison.p == comparison.p_flip == pytest.approx(p, rel=1e-12)
    assert comparison.holds is (effect[1] < 0)
    assert comparison.has_number
    assert (found.verdict, found.observed, found.reasons) == (verdict, verdict, ())


def test_more_by_rank_is_the_mirror_image(tmp_path):
    a, b = [1, 1, 1, 1, INF], [2, 3, 4, 5, 7]
    toy = best(tmp_path, b, a)
    found = judged(toy, {**BEST, "test": "more"})
    mirrored = found.comparisons[0]
    assert (mirrored.low, mirrored.effect, mirrored.high) == (1, 2, 3)
    assert (mirrored.p, mirrored.holds, found.verdict) == (10 / 32, True, DIRECTION)
    assert mirrored.what == "A > B on p"
    other = judged(toy, BEST).comparisons[0]
    assert (other.low, other.effect, other.high, other.holds) == (1, 2, 3, False)
    assert other.p == 25 / 32  # W+ = 10 of 15


def test_as_many_seeds_above_as_below_are_on_one_side_at_most(tmp_path):
    toy = best(tmp_path, [1, 1, 1, 3, 3, INF], [2, 2, 2, 2, 2, 2])
    sides = [judged(toy, {**BEST, "test": test}).comparisons[0].holds for test in ("less", "more")]
    assert sum(sides) <= 1


def test_an_infinite_median_has_a_number_and_is_written_as_such(tmp_path):
    toy = best(tmp_path, [INF, INF, INF, INF, 2], [1] * 5)
    found = judged(toy, {**BEST, "test": "more"})
    assert (found.verdict, found.comparisons[0].effect) == (REPRODUCED, INF)
    line = "| A > B on p | median difference by rank ∞ [∞, ∞] | yes | - | 0.0312 | 0.0312 | 5 |"
    assert line in render.as_markdown(toy.paper, [found])
    less = judged(toy, {**BEST, "left": ["B"], "right": ["A"]})
    assert "median difference by rank -∞ [-∞, -∞]" in render.as_markdown(toy.paper, [less])
    data = json.loads(ledger.as_json(toy.paper, [found]))["claims"][0]
    assert (data["verdict"], data["comparisons"][0]["effect"]) == (REPRODUCED, "∞")


def test_only_an_effect_by_rank_may_be_infinite():
    plain = claims.Comparison("A < B", "difference", INF, NAN, NAN, True, 0.01, 0.01, 5)
    assert not plain.has_number
    ranked = replace(plain, kind="median difference by rank")
    assert ranked.has_number
    assert replace(ranked, effect=-INF).has_number and replace(ranked, effect=-1.0).has_number
    assert not replace(ranked, effect=NAN).has_number


def test_finite_values_are_compared_by_their_mean(tmp_path):
    comparison = judged(best(tmp_path, [1, 2, 3, 4, 5], [2, 4, 6, 8, 100]), BEST).comparisons[0]
    assert (comparison.kind, comparison.effect) == ("difference", (15 - 120) / 5)
    assert comparison.p != comparison.p_flip == 1 / 32


def test_by_rank_against_a_number_and_against_a_multiple(tmp_path):
    toy = best(tmp_path, [1, 2, 3, 4, INF], [1, 1, 1, 1, INF])
    against = judged(toy, {**BEST, "right": 4.5}).comparisons[0]
    assert (against.low, against.effect, against.high, against.p) == (-2.5, -1.5, -0.5, 10 / 32)
    # -4, -3, -2, -1 and two infinities
    multiple = judged(toy, {**BEST, "factor": 5}).comparisons[0]
    assert (multiple.low, multiple.effect, multiple.high) == (-3, -2, -1)
    assert multiple.what == "A < 5 x B on p"
    assert multiple.p == 1 / 16  # all four signs, whatever that of the zero


def searching(toy, name, first, **options):
    """Runs first feasible at this evaluation after a design of two, never (INF), or in it (NaN)."""

    def columns(seed):
        rows = np.arange(toy.budget)
        found = rows >= (0 if np.isnan(first[seed]) else 1 + first[seed])
        g = np.where(found, -1.0, 1.0)[:, None]
        return {"true": 0.5, "batch": np.maximum(rows - 1, 0), "true_g": g}

    return toy.add(name, columns, seeds=len(first), **options)


SEARCH = {**LESS, "metric": "search_for_feasible"}


def test_seeds_without_a_number_are_left_out_where_a_check_says_so(tmp_path):
    toy = Toy(tmp_path, budget=20)
    searching(toy, "A", [NAN, 1, 2, 3, NAN, 4, 5])
    searching(toy, "B", [NAN, 2, 4, 6, NAN, 8, INF])
    plain = judged(toy, SEARCH)
    assert (plain.verdict, plain.observed, plain.seeds) == (UNDECIDED, "no number", 7)
    assert "a comparison has no number at this budget" in plain.reasons
    found = judged(toy, {**SEARCH, "where_defined": True})
    comparison = found.comparisons[0]
    assert (comparison.n, comparison.low, comparison.effect, comparison.high) == (5, -4, -3, -2)
    assert (comparison.p, found.verdict) == (1 / 32, REPRODUCED)


def test_a_number_on_one_side_alone_leaves_no_seed_out(tmp_path):
    toy = Toy(tmp_path, budget=20)
    searching(toy, "A", [NAN, 1, 2, 3, 4, 5])
    searching(toy, "B", [2, 3, 4, 5, 6, 7])
    found = judged(toy, {**SEARCH, "where_defined": True})
    assert (found.verdict, found.observed, found.seeds) == (UNDECIDED, "no number", 6)
    # a number has one in every seed
    against = judged(toy, {**SEARCH, "where_defined": True, "right": 9.0})
    assert (against.observed, against.seeds) == ("no number", 6)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered")
def test_seeds_that_are_left_out_do_not_help_to_decide(tmp_path):
    toy = Toy(tmp_path, budget=20)
    searching(toy, "A", [1, 1, 1, 1, NAN, NAN])
    searching(toy, "B", [2, 3, 4, 5, NAN, NAN])
    found = judged(toy, {**SEARCH, "where_defined": True})
    assert (found.verdict, found.observed, found.seeds) == (UNDECIDED, REPRODUCED, 4)
    assert "4 seeds, 5 are needed" in found.reasons
    searching(toy, "A", [NAN] * 6)
    searching(toy, "B", [NAN] * 6)
    nowhere = judged(toy, {**SEARCH, "where_defined": True})
    assert (nowhere.verdict, nowhere.observed, nowhere.seeds) == (UNDECIDED, "no number", 0)


def leads(root):
    """A's lead over the better of C and D is 1, 3, 3, 10, 5 by seed on p, and 2 more on q."""
    toy = Toy(root, budget=4)
    toy.entry["problems"]["q"] = toy.entry["problems"]["p"]
    ends(toy, "A", [10, 20, 30, 40, 50])
    ends(toy, "C", [9, 18, 27, 36, 45])
    ends(toy, "D", [12, 17, 40, 30, 60])
    ends(toy, "A", [3, 5, 5, 12, 7], problem="q")
    ends(toy, "C", [0, 6, 0, 6, 0], problem="q")
    ends(toy, "D", [6, 0, 6, 0, 6], problem="q")
    return toy


LEAD = {**BEST, "right": ["A"], "against": "q", "minus": ["C", "D"]}


def test_a_lead_is_taken_seed_by_seed_from_the_best_of_the_others_on_each_problem(tmp_path):
    toy = leads(tmp_path)
    found = judged(toy, LEAD)
    comparison = found.comparisons[0]
    # each lead against its own
    assert (comparison.low, comparison.effect, comparison.high) == pytest.approx((-2, -2, -2))
    assert (found.verdict, comparison.n, comparison.p_flip) == (REPRODUCED, 5, 1 / 32)
    assert comparison.what == "A on p < A on q, less the best of C, D"
    one = judged(toy, {**LEAD, "minus": ["C"]}).comparisons[0]  # 1, 2, 3, 4, 5 and 3, -1, 5, 6, 7
    assert one.effect == pytest.approx(3 - 4)
    # a number is not diminished
    number = judged(toy, {**BEST, "right": 4.0, "minus": ["C", "D"]}).comparisons[0]
    assert number.effect == pytest.approx(22 / 5 - 4)
    assert read_sides(toy, LEAD) == ([1, 3, 3, 10, 5], [3, 5, 5, 12, 7])
    ends(toy, "D", [6, 0, 6], problem="q")  # a lead needs the seed of every curve
    assert read_sides(toy, LEAD) == ([1, 3, 3], [3, 5, 5])


def read_sides(toy, check):
    seen = evidence.Evidence(toy.paper, toy.store())
    (part,) = evidence.sides(seen, typed(check).check)
    left, right = part.read(seen)
    return left.tolist(), right.tolist()


def test_a_lead_over_others_that_have_found_nothing_is_infinite_or_nothing(tmp_path):
    toy = best(tmp_path, [1, 2, 3, 4, 5], [2, 3, 4, 5, 6])
    ends(toy, "C", [INF, INF, 3, 3, 3])
    one = judged(toy, {**BEST, "minus": ["C"]}).comparisons[0]  # two infinite leads
    assert (one.kind, one.effect, one.p) == ("median difference by rank", -1, 1 / 8)
    toy = best(tmp_path / "nobody", [INF, 2, 3, 4, 5], [INF, 3, 4, 5, 6])
    ends(toy, "C", [INF, 3, 3, 3, 3])
    one = judged(toy, {**BEST, "minus": ["C"]}).comparisons[0]
    assert (one.has_number, one.n) == (True, 5)  # two infinite values are equal, as of two sides


def test_a_lead_reads_the_curves_that_it_takes_off_on_both_problems(tmp_path):
    toy = leads(tmp_path)
    both = names(reads.runs_of(toy.paper, typed(LEAD).check))
    assert both == {"p/A", "p/C", "p/D", "q/A", "q/C", "q/D"}
    same = reads.runs_of(toy.paper, typed({**BEST, "right": ["D"], "minus": ["C"]}).check)
    assert names(same) == {"p/A", "p/C", "p/D"}
    del toy.curves["q", "C"]
    toy.entry["claims"] = [claim(LEAD)]
    with pytest.raises(PlanError, match="no run makes the curve 'C' on 'q'"):
        claims.runs(toy.paper)


def reaching(toy, name, when, end=1.0, **options):
    """Runs whose best feasible value falls from 10 to `end` at this evaluation, or never (INF)."""

    def columns(seed):
        return {"true": -np.where(np.arange(1, toy.budget + 1) >= when[seed], end, 10.0)}

    return toy.add(name, columns, seeds=len(when), **options)


PASSES = {**BEST, "test": "passes", "at_most": 3}


@pytest.mark.parametrize(
    ("when", "effect", "p", "verdict"),
    [
        ([3, 3, 3, 3, 3], (3, 3, 3), 1 / 32, REPRODUCED),  # the bound itself keeps it
        ([1, 2, 3, 3, 2], (2, 2, 3), 1 / 32, REPRODUCED),
        ([4, 4, 4, 4, 4], (4, 4, 4), 1, CONTRADICTED),
        ([1, 2, 3, INF, INF], (2, 3, INF), 21 / 32, DIRECTION),  # W+ = 9: 1, 2, 3, 4.5, 4.5
        ([1, 2, INF, INF, INF], (2, INF, INF), 29 / 32, INCONCLUSIVE),  # W+ = 12: 1, 2, 4, 4, 4
        ([INF] * 5, (INF, INF, INF), 1, CONTRADICTED),
    ],
)
def test_passes_asks_from_which_evaluation_on_one_is_as_good_as_another_at_its_end(
    tmp_path, when, effect, p, verdict
):
    toy = Toy(tmp_path, budget=6)
    reaching(toy, "A", when)
    reaching(toy, "B", [6] * 5)
    found = judged(toy, PASSES)
    comparison = found.comparisons[0]
    assert (comparison.low, comparison.effect, comparison.high) == effect
    assert comparison.p == comparison.p_flip == pytest.approx(p, rel=1e-12)
    assert (found.verdict, found.reasons, comparison.n) == (verdict, (), 5)
    assert comparison.what == "A reaches the end of B on p"
    assert comparison.kind == "median evaluation by rank"
    assert comparison.has_number
    assert ("∞" in render.as_markdown(toy.paper, [found])) is (INF in effect)
    assert names(reads.runs_of(toy.paper, typed(PASSES).check)) == {"p/A", "p/B"}


def test_passes_is_paired_and_counts_the_first_time(tmp_path):
    toy = Toy(tmp_path, budget=6)
    levels = [1.0, 2.0, 3.0, 4.0, 5.0]
    toy.add("A", lambda seed: {"true": -np.array([9, 9, levels[seed], 9, 0, 0])}, seeds=5)
    ends(toy, "B", levels)
    assert judged(toy, PASSES).comparisons[0].effect == 3
    ends(toy, "B", levels[::-1])  # seeds 3 and 4 get below the end of B at 0 alone
    comparison = judged(toy, PASSES).comparisons[0]
    assert (comparison.low, comparison.effect, comparison.high) == (3, 3, 5)
    ends(toy, "B", [INF] * 5)  # nobody can be worse
    assert judged(toy, PASSES).comparisons[0].effect == 1


def test_a_metric_by_iteration_is_read_at_an_iteration(tmp_path):
    toy = Toy(tmp_path, budget=5)
    a = {"true": [-9, -8, -7, -6, -5], "report.iteration": np.array([NAN, 1, 1, 2, 3])}
    b = {"true": [-9, -7, -6, -5, -4], "report.iteration": np.array([NAN, 1, 2, 2, 3])}
    toy.add("A", lambda seed: a, seeds=5)
    toy.add("B", lambda seed: b, seeds=5)
    check = {**LESS, "test": "more", "metric": "best_feasible_by_iteration"}
    for at, effect in ((1, 0), (2, 1), (3, 1), (40, 1), ("end", 1)):
        assert judged(toy, {**check, "at": at}).comparisons[0].effect == effect


def again(root, **of_a):
    """`code` gives A and B other parameters, which change no trace."""
    toy = pair(root, 0.9, 0.5)
    toy.add("A", noisy(0.9, 0.01, 1), reading="code", **of_a)
    toy.add("B", noisy(0.5, 0.01, 2), reading="code")
    return toy


def under_code(toy, check=LESS):
    return judged(toy, check).readings["code"]


def test_runs_with_the_same_traces_are_one_and_one_other_value_makes_another(tmp_path):
    toy = again(tmp_path)
    found = under_code(toy)
    assert (found.runs, found.same_runs, found.is_same_run) == (2, 2, True)
    default, code = toy.curves["p", "A"], toy.curves["p", "A@code"]
    toy.write(code, 4, dict(noisy(0.9, 0.01, 1)(4)), status="timeout")
    assert not toy.store().is_same(default, code)  # what it lacks may be anything
    toy.write(code, 4, dict(noisy(0.9, 0.01, 1)(4)))
    assert toy.store().is_same(default, code)
    toy.write(code, 7, {"true": [0.9] * 59 + [0.9 + 1e-12]})
    found = under_code(toy)
    assert (found.runs, found.same_runs, found.is_same_run) == (2, 1, False)


def test_seeds_that_both_have_decide(tmp_path):
    toy = again(tmp_path, seeds=3)
    found = under_code(toy)
    assert (found.seeds, found.is_same_run) == (3, True)
    toy.write(toy.curves["p", "A@code"], 2, {"true": 0.9})
    assert not under_code(toy).is_same_run


def test_without_a_common_seed_nothing_is_said_to_be_the_same(tmp_path):
    toy = again(tmp_path)
    for seed in range(10):
        odd = "A" if seed % 2 else "A@code"
        (tmp_path / toy.curves["p", odd].record(seed)).unlink()
    store = toy.store(partial=True)
    assert not store.is_same(toy.curves["p", "A"], toy.curves["p", "A@code"])
    assert store.is_same(toy.curves["p", "B"], toy.curves["p", "B@code"])


def reporting(root, code, **columns):
    """A and B report `width`; under `code` A has other columns."""
    toy = pair(root, 0.9, 0.5)
    width = {"report.width": np.ones(60)}
    for key, name in enumerate("AB", start=1):
        true = noisy({"A": 0.9, "B": 0.5}[name], 0.01, key)
        for reading, more in (("", {}), ("code", columns if name == "A" else {})):
            toy.add(name, lambda seed, t=true, m=more: {**t(seed), **width, **m}, reading=reading)
    for seed in range(10) if code else ():
        columns = dict(noisy(0.9, 0.01, 1)(seed)) | width
        toy.write(toy.curves["p", "A@code"], seed, columns, **code)
    return toy


WIDTH = {**LESS, "metric": "report.width"}


def test_diagnostics_count_where_the_metric_reads_them_and_times_are_always_others(tmp_path):
    toy = reporting(tmp_path, {}, **{"report.width": np.full(60, 2.0)})
    assert under_code(toy).is_same_run
    found = under_code(toy, WIDTH)
    assert (found.runs, found.same_runs) == (2, 1)
    assert under_code(toy, {**LESS, "metric": "total_seconds"}).same_runs == 0


@pytest.mark.parametrize(
    ("header", "metric", "same"),
    [
        ({"best": 2.0}, "cumulative_regret", 1),
        ({"recommendation": {"query": 3, "true": 0.1}}, "recommendation_regret", 1),
        ({"recommendation": {"query": 3, "true": 0.1}}, "cumulative_regret", 2),
    ],
)
def test_optimum_and_recommendation_count_where_they_are_read(tmp_path, header, metric, same):
    toy = reporting(tmp_path, header)
    assert under_code(toy, {**LESS, "metric": metric}).same_runs == same


def test_a_reading_of_the_problem_and_the_run_that_is_divided_by_are_compared_too(tmp_path):
    toy = pair(tmp_path, 0.9, 0.5)
    toy.add("uniform", noisy(0.2))
    toy.entry["readings"]["noise"] = {"says": "less noise", "problems": {"p": {"noise": 0}}}
    for name, level, key in (("A", 0.9, 1), ("B", 0.5, 2), ("uniform", 0.3, 0)):
        toy.add(name, noisy(level, 0.01, key), problem_reading="noise")
    found = judged(toy).readings["noise"]
    assert (found.runs, found.same_runs) == (2, 2)
    check = {**LESS, "relative_to": "uniform"}
    found = judged(toy, check).readings["noise"]
    assert (found.runs, found.same_runs) == (3, 2)


SIDES_OF_P = {"problems": ["p"], "left": ["B"], "right": ["A"]}


@pytest.mark.parametrize(
    "check",
    [
        {"test": "band", "metric": "report.z", **A_OF_P, "at_most": 1},
        {"test": "bound", "metric": "report.z", **SIDES_OF_P},
        {"test": "passes", "metric": "report.z", **SIDES_OF_P, "at_most": 5},
        {**HIT, "metric": "report.z", "event": {"at_most": 1}, "at_least": 1},
    ],
    ids=lambda check: check["test"],
)
@pytest.mark.parametrize("missing", [{3}, set(range(10))], ids=["one seed", "all seeds"])
def test_a_seed_without_a_number_refutes_nothing(tmp_path, check, missing):
    toy = Toy(tmp_path, seeds=10)
    for name, z in (("A", 0.5), ("B", 0.4)):
        gone = missing if name == "A" else ()
        values = [np.full(60, NAN if seed in gone else z) for seed in range(10)]
        toy.add(name, lambda seed, values=values: {"true": 0.5, "report.z": values[seed]})
    found = judged(toy, check)
    assert (found.verdict, found.observed) == (UNDECIDED, "no number")


@pytest.mark.parametrize("test", ["less", "passes", "bound"])
def test_sides_without_a_common_seed_are_not_run(tmp_path, test):
    toy = Toy(tmp_path, seeds=10)
    for name, only in (("A", 0), ("B", 1)):
        made = toy.add(name, noisy(0.5, 0.1, 1))
        toy.drop(made, set(range(10)) - {only})
    check = {"test": test, "metric": "simple_regret", **SIDES_OF_P}
    check |= {"at_most": 10} if test == "passes" else {}
    found = judged(toy, check, partial=True)
    assert (found.verdict, found.observed) == (UNDECIDED, "not run")
    assert "no seed was run on all sides" in found.reasons[0]


def test_first_seeds_that_all_took_too_long_decide_nothing(tmp_path):
    toy = Toy(tmp_path, seeds=10)
    made = toy.add("A", noisy(0.5, 0.1, 1))
    for seed in range(5):
        toy.write(made, seed, noisy(0.5, 0.1, 1)(seed), status="timeout")
    check = {"test": "band", "metric": "simple_regret", **A_OF_P, "at_most": 1}
    assert judged(toy, check).verdict != CONTRADICTED


def test_a_null_model_is_drawn_for_more_seeds_than_are_looked_at(tmp_path):
    toy = Toy(tmp_path, seeds=12)
    for name in ("A", "uniform"):
        toy.add(name, lambda seed: {"true": np.linspace(0, 0.9, 60) - 0.01 * seed})
    check = {"test": "share", "metric": "simple_regret", **A_OF_P, "event": {"at_most": 1}}
    found = judged(toy, {**check, "at_least": 0.5}, null_model=[{"curve": "uniform"}])
    assert found.qualifiers and found.qualifiers[0].startswith("holds trivially")


@pytest.mark.parametrize("level", [9.0, -9.0])
def test_seconds_of_our_own_code_decide_nothing(tmp_path, level):
    toy = paired(tmp_path, [at_t(level)])
    ours = {"name": "ours", "problems": ["p"], "implementation": True}
    for where in ({"implementation": True}, {"cases": [ours]}):
        found = judged(toy, **where)
        assert (found.verdict, found.reasons) == (UNDECIDED, ("seconds of our own code",))
        assert outcomes.group(found.qualifiers) == outcomes.IMPLEMENTATION
        assert found.observed in (REPRODUCED, CONTRADICTED)


def test_a_case_that_compares_seconds_of_our_own_code_decides_nothing_beside_others(tmp_path):
    ours = {"name": "ours", "rows": {"q": 1}, "implementation": True}
    found = judged(in_cases(tmp_path), BELOW_THREE, cases=[ours, *EVERY])
    assert (found.verdict, found.qualifiers) == (REPRODUCED, ())
    first = found.comparisons[0]
    assert (first.decides, first.apart) == ("", "about an implementation: seconds of our own code")
    alone = judged(in_cases(tmp_path / "alone"), BELOW_THREE, cases=[ours])
    assert (alone.verdict, alone.qualifiers) == (UNDECIDED, (outcomes.IMPLEMENTATION,))


def test_seconds_of_several_processors_are_told_where_they_are_compared(tmp_path):
    toy = pair(tmp_path, 0.9, 0.5)
    other = {**PROVENANCE, "machine": "N"}
    toy.write(toy.curves["p", "B"], 3, noisy(0.5, 0.1)(3), provenance=other)
    assert judged(toy, {**LESS, "metric": "seconds"}).qualifiers == (
        "timed on several processors: M; N",
    )
    assert judged(toy, LESS).qualifiers == ()
    assert (
        judged(toy, {"test": "band", "metric": "seconds", **A_OF_P, "at_most": 1}).qualifiers == ()
    )
