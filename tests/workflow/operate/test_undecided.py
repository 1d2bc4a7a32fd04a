"""Which claims are open, what would decide them, and which runs are worth most."""

import shutil

import pytest

from tests.workflow.synthetic import Toy, noisy
from workflow.judge.chances import Chance
from workflow.operate.undecided import (
    STARTING,
    Board,
    Part,
    Question,
    best,
    ordered,
    to_begin_with,
)
from workflow.plan import machine

CHECK = {"test": "less", "metric": "simple_regret", "left": ["A"], "right": ["B"]}


@pytest.fixture(autouse=True)
def reference_machine(monkeypatch):
    monkeypatch.setattr(machine, "slowness", lambda: 1.0)


def claim(name="better", check=CHECK, **changes):
    return {"id": name, "where": "nowhere", "says": "", "check": check, **changes}


def toy(tmp_path, *claims, a=0.9, b=0.5, spread=0.01, **options):
    made = Toy(tmp_path, **options)
    made.add("A", noisy(a, spread, key=1))
    made.add("B", noisy(b, spread, key=2))
    made.entry["problems"]["p"]["budget"] = made.budget
    made.entry["claims"] = list(claims) or [claim()]
    return made


def forget(made, algorithm, seeds):
    for seed in seeds:
        (made.root / made.cells["p", algorithm].record(seed)).unlink()


def survey(made):
    return Board([made.paper], made.root).survey()


def test_what_was_not_run_needs_the_first_five_seeds_of_all_its_runs(tmp_path):
    made = toy(tmp_path)
    forget(made, "A", range(10))
    forget(made, "B", range(3, 10))
    found = survey(made)
    (question,) = found.open
    assert question.name == "toy/better" and question.now == "not decided"
    assert question.needs == {
        *(("toy/p/A", seed) for seed in range(5)),
        ("toy/p/B", 3),
        ("toy/p/B", 4),
    }
    assert [part.look for part in question.parts] == [5] and not question.is_seen
    assert found.decided == [] and found.apart == {}


def test_a_first_look_without_decision_leaves_the_second(tmp_path):
    made = toy(tmp_path, a=0.5, b=0.5)
    for name in "AB":
        forget(made, name, range(5, 10))
    (question,) = survey(made).open
    assert question.now in ("direction only", "inconclusive")
    assert question.needs == {(f"toy/p/{name}", seed) for name in "AB" for seed in range(5, 10)}
    assert question.is_seen and question.parts[0].look == 10


def test_what_five_seeds_have_decided_asks_for_nothing(tmp_path):
    made = toy(tmp_path)
    for name in "AB":
        forget(made, name, range(5, 10))
    found = survey(made)
    assert found.decided == ["toy/better"] and not found.questions and not found.apart
    assert found.verdicts["toy/better"].verdict == "reproduced"


def test_the_last_look_closes_a_claim(tmp_path):
    made = toy(tmp_path, a=0.5, b=0.5)
    found = survey(made)
    assert not found.questions and "all looks are taken" in found.apart["toy/better"]


def test_a_reproduced_statement_about_every_run_waits_for_what_may_refute_it(tmp_path):
    band = {"test": "band", "metric": "simple_regret", "curves": ["A"], "at_most": 0.5}
    made = toy(tmp_path, claim("never", band))
    forget(made, "A", range(5, 10))
    found = survey(made)
    assert found.decided == ["toy/never"] and found.open == []
    question = found.questions["toy/never"]
    assert question.chance == 0 and {seed for _, seed in question.needs} == set(range(5, 10))


@pytest.mark.parametrize(
    ("changes", "options", "why"),
    [
        ({"requires": [{"never": True, "because": "no such norm"}]}, {}, "no such norm"),
        ({}, {"data": "substitute: made up"}, "substituted data"),
        ({}, {"seeds": 3}, "the plan has 3 seeds of toy/p/A, 5 are needed"),
        ({}, {"scale": "quick"}, "scale quick"),
    ],
)
def test_claims_that_no_run_decides_are_told_apart(tmp_path, changes, options, why):
    made = toy(tmp_path, claim(**changes), **options)
    forget(made, "A", range(options.get("seeds", 10)))
    found = survey(made)
    assert not found.questions and why in found.apart["toy/better"]


def test_substitutes_decide_a_claim_about_any_data(tmp_path):
    made = toy(tmp_path, claim(data="any"), data="substitute: made up")
    forget(made, "A", range(10))
    assert survey(made).open


def test_seeds_that_cannot_be_made_set_their_claims_apart_alone(tmp_path):
    other = {**CHECK, "left": ["C"]}
    made = toy(tmp_path, claim(), claim("also", other))
    made.add("C", noisy(0.4, key=3))
    for name in "AC":
        forget(made, name, range(10))
    board = Board([made.paper], made.root)
    board.barred = {("toy/p/A", 2): "it crashes"}
    found = board.survey()
    assert list(found.questions) == ["toy/also"] and found.apart == {"toy/better": "it crashes"}


def test_stale_records_are_made_again(tmp_path):
    made = toy(tmp_path)
    made.write(made.cells["p", "A"], 3, {"true": 0.9}, digest="of other code")
    (question,) = survey(made).open
    assert question.needs == {("toy/p/A", 3)} and question.now == "records are refused"


def test_only_claims_that_read_what_has_changed_are_judged_again(tmp_path, monkeypatch):
    made = toy(tmp_path, claim(), claim("also", {**CHECK, "left": ["C"]}))
    made.add("C", noisy(0.4, key=3))
    board, judged = Board([made.paper], made.root), []
    before = board.survey()
    judge = board._judge
    monkeypatch.setattr(board, "_judge", lambda *args: (judged.append(args[2]["id"]), judge(*args)))
    after = board.survey(before, {"toy/p/C"})
    assert judged == ["also"] and after.verdicts.keys() == before.verdicts.keys()


def part(*names, favour=0.5, against=0.0, stands=False, seeds=(0,)):
    needs = frozenset((name, seed) for name in names for seed in seeds)
    return Part("+".join(names), 5, needs, Chance(favour, against), stands)


def question(name, *parts, **changes):
    return Question("toy", name, changes.pop("now", "not decided"), parts, **changes)


def costs(**seconds):
    return lambda needs: sum(seconds[name] for name, _ in needs)


def test_a_claim_is_decided_by_all_for_it_or_one_against_it():
    parts = part("a", favour=0.5, against=0.2), part("b", favour=0.8, against=0.1)
    both = question("x", *parts)
    assert both.chance == pytest.approx(0.4 + 1 - 0.8 * 0.9)
    assert both.chance_of(parts[:1]) == pytest.approx(0.2)
    assert question("x", *parts, is_stuck=True).chance == pytest.approx(1 - 0.8 * 0.9)
    assert question("x", *parts, now="reproduced").chance == 0


def test_runs_that_several_claims_share_are_paid_for_once():
    """Alone each claim is worth less than the cheap one, together they are worth more."""
    cost = costs(dear=10, a=1, b=1, c=1, cheap=4)
    claims = [question(name, part("dear", name)) for name in "abc"]
    chosen = best([*claims, question("alone", part("cheap"))], cost, 100)
    assert {name for name, _ in chosen.needs} == {"cheap"}  # 0.5 in 4 beats 1.5 in 13
    cost = costs(dear=10, a=1, b=1, c=1, cheap=5)
    chosen = best([*claims, question("alone", part("cheap"))], cost, 100)
    assert {name for name, _ in chosen.needs} == {"dear", "a", "b", "c"}  # 1.5 in 13
    assert chosen.seconds == 13 and chosen.value == pytest.approx(1.5)


def test_what_does_not_fit_is_not_chosen():
    cost = costs(dear=10, cheap=4)
    claims = [question("x", part("dear", favour=1.0)), question("y", part("cheap", favour=0.01))]
    assert {name for name, _ in best(claims, cost, 9).needs} == {"cheap"}
    assert best(claims, cost, 3) is None
    assert to_begin_with(claims, cost, 3, 60) == (frozenset(), [])


def test_a_round_begins_with_what_ends_a_hope_soonest_and_fills_up():
    cost = costs(a=10, b=10, other=1)
    likely, doubtful = part("a", favour=0.9), part("b", favour=0.6)
    claims = [question("x", likely, doubtful), question("y", part("other", favour=0.01))]
    needs, served = to_begin_with(claims, cost, 100, 5)
    assert needs == doubtful.needs and [one.name for one in served] == ["toy/x"]
    needs, served = to_begin_with(claims, cost, 100, 10.5)
    assert needs == doubtful.needs | likely.needs
    needs, served = to_begin_with(claims, cost, 21, 60)
    assert len(needs) == 3 and [one.name for one in served] == ["toy/x", "toy/y"]


def test_the_list_counts_shared_runs_once():
    cost = costs(shared=10, a=1, b=1)
    claims = [question("x", part("shared", "a")), question("y", part("shared", "b", favour=0.4))]
    found = ordered({one.name: one for one in claims}, cost)
    assert [(one.name, more) for one, more in found] == [("toy/x", 11), ("toy/y", 1)]


def test_the_order_of_the_claims_does_not_matter():
    cost = costs(a=2, b=2, c=2)
    claims = [question(name, part(name), part("a")) for name in "abc"]
    chosen = {best(order, cost, 100).needs for order in (claims, claims[::-1])}
    assert len(chosen) == 1


def test_costs_are_those_of_records_where_there_are_some(tmp_path):
    made = toy(tmp_path)
    made.write(made.cells["p", "A"], 0, {"true": 0.9}, cpu_seconds=7.0)
    for seed in range(1, 10):
        made.write(made.cells["p", "A"], seed, {"true": 0.9}, cpu_seconds=3.0)
    shutil.rmtree(made.root / made.cells["p", "B"].folder)
    board = Board([made.paper], made.root)
    board.survey()
    assert board.cost([("toy/p/A", 0)]) == pytest.approx(3.4 + STARTING)
    assert board.cost([("toy/p/A", 0), ("toy/p/A", 1)]) == pytest.approx(6.8 + STARTING)
    low, high = board.interval([("toy/p/B", 0)])
    assert low < board.cost([("toy/p/B", 0)]) < high
    assert board.interval([("toy/p/A", 0)]) == (pytest.approx(3.4 + STARTING),) * 2
