"""What a run may begin with, where it runs, how it goes on, and what its result shows."""

import itertools
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import noregret
from noregret.catalogue import METHODS
from noregret.solve import Here
from tests.noregret import own


def found(f=own.bowl, **options):
    return noregret.minimize(f, own.BOX, **{"method": "random", "evaluations": 9, **options})


def test_points_of_ones_own_come_first():
    x0 = [[1.0, -2.0], [0.0, 0.0]]
    run = found(x0=x0)
    assert_array_equal(run.history.x[:2], x0)
    assert run.y == 0 and len(run.history.y) == 9
    assert_array_equal(found(x0=[1.0, -2.0], evaluations=1).x, [1.0, -2.0])


def test_what_is_known_is_told_and_counts_as_no_evaluation():
    X = np.array([[1.0, -1.0], [3.0, 3.0], [0.0, 0.0]])
    run = found(history=(X, [own.bowl(x) for x in X]), method="gp-ei", initial=3)
    assert len(run.history.y) == 12
    assert_array_equal(run.history.x[:3], X)
    other = noregret.optimizer("gp-ei", bounds=own.BOX, initial=3, evaluations=9)
    other.tell(X, [own.bowl(x) for x in X])
    assert_array_equal(run.history.x[3], other.ask())
    with pytest.raises(ValueError, match=r"history: expected \(X, y\) or \(X, y, g\), got 3"):
        found(history=3)


@pytest.mark.parametrize("method", ["gp-ei", "random"])
def test_a_run_goes_on_from_a_result_or_a_file(method, tmp_path):
    whole, file = found(method=method, evaluations=12), tmp_path / "run.npz"
    first = found(method=method, evaluations=8, resume=file)
    assert_array_equal(found(method=method, evaluations=12, resume=file).history.x, whole.history.x)
    assert_array_equal(
        noregret.minimize(own.bowl, evaluations=12, resume=first).history.x, whole.history.x
    )


def test_after_a_crash_the_same_program_goes_on(tmp_path):
    def crashes(x):
        seen.append(x)
        if len(seen) == 6:
            raise KeyboardInterrupt
        return own.bowl(x)

    seen, file = [], str(tmp_path / "run.npz")
    with pytest.raises(KeyboardInterrupt, match="has what was evaluated") as caught:
        found(crashes, resume=file)
    assert isinstance(caught.value, noregret.Interrupted)
    assert len(caught.value.result.history.y) == 5
    assert_array_equal(found(crashes, resume=file).history.x, found().history.x)


def test_the_same_call_goes_on_with_what_was_known_and_points_of_ones_own(tmp_path):
    X = np.random.default_rng(0).uniform(-5, 5, (20, 2))
    known, file = (X, [own.bowl(x) for x in X]), tmp_path / "known.npz"
    options = {"history": known, "x0": [[1.0, 1.0]], "seed": None, "resume": file}
    assert len(found(evaluations=5, **options).history.y) == 25
    run = found(evaluations=9, **options)
    assert len(run.history.y) == 29 == len(np.unique(run.history.x, axis=0))
    with pytest.raises(ValueError, match="history: expected the values with which"):
        found(**{**options, "history": (X, np.zeros(20))})


def test_a_result_stays_as_it_is_and_can_be_continued_twice():
    first = found(method="gp-ei", evaluations=6)
    one, other = (noregret.minimize(own.bowl, resume=first, evaluations=8) for _ in range(2))
    assert len(first.optimizer.history.y) == 6
    assert_array_equal(one.history.x, other.history.x)


def test_a_file_that_cannot_be_written_loses_nothing(tmp_path, monkeypatch):
    calls, no_folder = [], tmp_path / "file"
    no_folder.touch()
    with pytest.raises((FileExistsError, NotADirectoryError)):
        found(calls.append, resume=no_folder / "run.npz")
    assert calls == []

    def full(self, path):
        if len(self.history.y) == 3:
            raise OSError("no space left")

    monkeypatch.setattr(noregret.Optimizer, "save", full)
    with pytest.raises(noregret.EvaluationFailed, match="cannot be written: OSError: no") as caught:
        found(resume=tmp_path / "run.npz")
    assert len(caught.value.result.history.y) == 3


def test_a_method_that_was_interrupted_while_it_learnt_learns_anew(monkeypatch):
    whole = found(method="gp-ei", evaluations=9)
    kind = type(whole.optimizer._taught())
    tell = kind.tell

    def interrupted(self, x, observation):
        tell(self, x, observation)
        if len(self.y) == 7:
            monkeypatch.setattr(kind, "tell", tell)
            raise KeyboardInterrupt

    monkeypatch.setattr(kind, "tell", interrupted)
    with pytest.raises(noregret.Interrupted) as caught:
        found(method="gp-ei", evaluations=9)
    run = noregret.minimize(own.bowl, resume=caught.value.result, evaluations=9)
    assert_array_equal(run.history.x, whole.history.x)


def test_what_does_not_fit_an_earlier_run_is_refused(tmp_path):
    file = tmp_path / "run.npz"
    run = found(resume=file)
    for options in ({"seed": 1}, {"method": "gp-ei"}):
        with pytest.raises(ValueError, match="resume: expected the settings of <noregret optimiz"):
            found(resume=file, **options)
    with pytest.raises(ValueError, match="resume: expected the same sense"):
        noregret.maximize(own.bowl, resume=run)
    with pytest.raises(ValueError, match="resume: expected a result or the name of a file, got 3"):
        found(resume=3)


@pytest.mark.parametrize("method", ["gp-ei", "turbo", "random"])
def test_evaluations_run_at_the_same_time_and_who_is_ready_goes_on(method):
    """The first one ends when the fifth has begun, in the only other place that there is."""

    def f(x):
        number = next(numbers)
        if number == 0:
            assert fifth.wait(timeout=120)
        elif number == 4:
            fifth.set()
        return own.bowl(x)

    numbers, fifth = itertools.count(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        run = found(f, method=method, evaluations=8, n_jobs=2, executor=pool)
    assert len(run.history.y) == 8 and len(run.optimizer.pending) == 0
    assert len(np.unique(run.history.x, axis=0)) == 8


def test_processes_take_functions_that_no_pickle_holds():
    run = found(lambda x: own.bowl(x), n_jobs=2, evaluations=4)
    assert_allclose(np.sort(run.history.y), np.sort([own.bowl(x) for x in run.history.x]))


def test_a_failure_in_another_thread_loses_nothing():
    def fails(x):
        count.append(x)
        if len(count) == 6:
            raise ZeroDivisionError("no mass")
        return own.bowl(x)

    count = []
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(noregret.EvaluationFailed, match="no mass") as caught:
            found(fails, n_jobs=2, executor=pool)
        assert len(caught.value.result.history.y) >= 4
        assert len(caught.value.result.optimizer.pending) <= 1
        count.clear()
        run = found(fails, n_jobs=2, executor=pool, failures="skip")
    assert len(run.history.y) == 8 and run.optimizer.failures == 1
    with pytest.raises(ValueError, match="executor: expected one that has `submit`"):
        found(executor=3)


def test_what_has_ended_when_a_run_ends_is_kept():
    def fails(x):
        if next(number) == 1:
            raise ZeroDivisionError
        return own.bowl(x)

    number = itertools.count()
    with pytest.raises(noregret.EvaluationFailed) as caught:
        found(fails, n_jobs=4, executor=Here())
    assert len(caught.value.result.history.y) == 3
    run = found(n_jobs=4, executor=Here(), callback=lambda point: True)
    assert len(run.history.y) == 4 and len(run.optimizer.pending) == 0


class Refusing(Here):
    """Takes no evaluation at 2."""

    def submit(self, fn, /, *args, **kwargs):
        if args[0][0] == 2:
            raise RuntimeError("full")
        return super().submit(fn, *args, **kwargs)


def test_a_point_that_no_executor_takes_is_evaluated_by_the_next_call(tmp_path):
    options = {"x0": [[1.0, 1.0], [2.0, 2.0]], "resume": tmp_path / "run.npz", "n_jobs": 2}
    with pytest.raises(noregret.EvaluationFailed, match="takes no evaluation") as caught:
        found(executor=Refusing(), **options)
    assert len(caught.value.result.history.y) == 1
    run = found(evaluations=3, **{**options, "n_jobs": 1})
    assert_array_equal(run.history.x[:2], options["x0"])


def test_failures_that_have_ended_when_a_run_ends_are_no_points_to_ask_again(tmp_path):
    def fails(x):
        tried.append(x[0])
        if x[0] == 2:
            raise ZeroDivisionError
        return own.bowl(x)

    tried, points = [], [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    options = {"x0": points, "resume": tmp_path / "run.npz", "failures": "skip"}
    found(fails, n_jobs=3, executor=Here(), callback=lambda point: True, **options)
    run = found(fails, evaluations=4, **options)
    assert run.optimizer.failures == 1 and len(run.history.y) == 3
    assert tried[:3] == [1, 2, 3] and tried.count(2) == 1


def test_what_ends_a_run_is_told_and_not_what_ended_beside_it():
    def fails(x):
        if x[0] == 1:
            raise ZeroDivisionError("no mass")
        return 1.0, [1.0]

    with pytest.raises(noregret.EvaluationFailed, match="no mass"):
        found(fails, x0=[[1.0, 1.0], [2.0, 2.0]], n_jobs=2, executor=Here())


def test_a_process_that_dies_is_a_failed_evaluation_and_a_broken_pool_loses_nothing():
    def dies(x):
        if x[0] > 3:
            os._exit(1)
        return own.bowl(x)

    run = found(dies, n_jobs=2, failures="skip", evaluations=12)
    assert run.optimizer.failures and len(run.history.y) + run.optimizer.failures == 12
    pool = ThreadPoolExecutor(1)
    with pytest.raises(noregret.EvaluationFailed, match="executor: takes no evaluation") as caught:
        found(executor=pool, callback=lambda point: pool.shutdown())
    assert len(caught.value.result.history.y) == 1
    assert len(caught.value.result.optimizer.pending) == 0


def test_an_error_without_words_is_told():
    class Silent(Exception):
        def __str__(self):
            raise RuntimeError

    def fails(x):
        raise Silent

    with pytest.raises(noregret.EvaluationFailed, match="Silent"):
        found(fails)


@pytest.mark.parametrize("end", [1, np.True_, "yes", [0]])
def test_whatever_is_true_ends_a_run(end):
    assert len(found(callback=lambda point: end).history.y) == 1
    assert len(found(callback=lambda point: point.y > 1e9, evaluations=3).history.y) == 3


@pytest.mark.parametrize("method", ["gp-ucb", "bbkb", "bkb", "gp-bucb"])
def test_under_noise_the_model_recommends_and_luck_does_not(method):
    """Regrets of what is recommended and of the luckiest row, in the mean of five noises."""
    truth, regrets = -own.VALUES, []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        run = noregret.maximize(
            lambda row, rng=rng: truth[row] + rng.normal(0, 0.5),
            arms=own.TABLE,
            method=method,
            noise=0.5,
            evaluations=60,
            seed=seed,
        )
        lucky = run.optimizer.best()
        assert run.x == run.recommended.x
        regrets.append([truth.max() - truth[row] for row in (run.x, lucky.x)])
    recommended, luckiest = np.mean(regrets, axis=0)
    assert recommended < luckiest


def test_on_a_box_too_and_without_noise_the_best_value_stands():
    rng = np.random.default_rng(0)
    run = found(lambda x: own.bowl(x) + rng.normal(0, 5), method="gp-ei", noise=5, evaluations=30)
    assert_array_equal(run.x, run.recommended.x)
    mean, deviation = run.optimizer.predict(run.x)
    assert_allclose(run.y, mean[0])
    assert 0 < deviation[0] < 5
    exact = found(method="gp-ei", noise=0, evaluations=12)
    assert exact.y == exact.history.y.min() == own.bowl(exact.x)


@own.each(own.NAMES)
def test_to_recommend_changes_no_later_point(name):
    one, other = own.begun(name), own.begun(name)
    for optimizer in (one, other):
        own.played(optimizer, name, 6)
    assert one.recommend().x is not None
    assert_array_equal(own.played(one, name, 2), own.played(other, name, 2))


@pytest.mark.parametrize("name", ["gp-ei", "cei", "gp-ucb-box", "ms-ucb", "gp-ucb", "bbkb"])
def test_a_model_predicts_what_was_told_and_how_sure_it_is(name):
    optimizer = own.begun(name, noise=0.01 if name in own.OVER_ARMS else 0)
    rng = np.random.default_rng(1)
    x = (
        rng.permutation(len(own.TABLE))[:25]
        if name in own.OVER_ARMS
        else rng.random((25, 2)) * [8, 16]
    )
    x = x if name in own.OVER_ARMS else x + np.array(own.BOUNDS)[:, 0]
    shows = [own.shown(name, row) for row in x]
    limits = [limit for _, limit in shows] if optimizer.settings.constraints else None
    optimizer.tell(x, [y for y, _ in shows], limits)
    history = optimizer.history
    mean, deviation = optimizer.predict(history.x)
    assert mean.shape == deviation.shape == (25,)
    assert np.corrcoef(mean, history.y)[0, 1] > 0.95
    far = np.setdiff1d(np.arange(len(own.TABLE)), x) if name in own.OVER_ARMS else [[2.9, 0.1]]
    assert optimizer.predict(far)[1].max() > np.median(deviation)


def test_who_has_no_model_predicts_nothing():
    optimizer = own.begun("random")
    with pytest.raises(ValueError, match="expected something to be told before `predict`"):
        optimizer.predict([0, 1])
    own.played(optimizer, "random", 3)
    with pytest.raises(ValueError, match="random: shows no model that predicts"):
        optimizer.predict([0, 1])
    assert optimizer.recommend().y == optimizer.best().y


def test_a_result_is_a_table_and_a_picture():
    import matplotlib

    matplotlib.use("Agg")
    run = noregret.minimize(
        lambda x: (x.sum(), [1 - x[0]]), own.BOX, constraints=1, method="random", evaluations=12
    )
    frame = run.to_frame()
    assert list(frame.columns) == ["x0", "x1", "y", "g0", "feasible", "best"]
    assert_array_equal(frame["feasible"], frame["g0"] <= 0)
    assert frame["best"].iloc[-1] == run.y == frame["y"][frame["feasible"]].min()
    axes = run.plot()
    assert_array_equal(axes.lines[-1].get_ydata(), frame["best"])
    rows = noregret.minimize(lambda row: row, arms=own.TABLE, method="random", evaluations=3)
    assert list(rows.to_frame()["row"]) == list(rows.history.x)


def test_a_frame_of_named_variables_may_be_told():
    optimizer = noregret.optimizer("random", bounds={"a": (0, 1), "b": noregret.integer(1, 3)})
    optimizer.tell(pd.DataFrame({"b": [1, 3], "a": [0.25, 0.5]}), [1.0, 2.0])
    assert optimizer.history.x == [{"a": 0.25, "b": 1}, {"a": 0.5, "b": 3}]


@pytest.mark.parametrize("line", METHODS, ids=lambda line: line.name)
def test_noise_may_be_said_to_every_method(line):
    for noise in (0, 0.1):
        assert own.begun(line.name, noise=noise).settings.noise == noise


def test_names_of_methods_are_the_same_in_any_case():
    assert noregret.optimizer("TuRBO", bounds=own.BOX).settings.method == "turbo"
    assert noregret.optimizer("gp-ei", bounds=own.BOX).is_like(noregret.optimizer(bounds=own.BOX))


def test_a_seed_may_be_left_to_chance():
    one, other = (noregret.optimizer("random", bounds=own.BOX, seed=None) for _ in range(2))
    assert one.settings.seed != other.settings.seed
    again = noregret.optimizer("random", bounds=own.BOX, seed=one.settings.seed)
    assert_array_equal(again.ask(), one.ask())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_calls": 9}, "unknown argument 'n_calls': say evaluations="),
        ({"maxiter": 9}, "unknown argument 'maxiter': say evaluations="),
        ({"direction": "maximize"}, "say noregret.minimize or noregret.maximize"),
        ({"random_state": 0}, "unknown argument 'random_state': say seed="),
        ({"evaluation": 3}, r"unknown parameter 'evaluation'; did you mean 'evaluations'\?"),
        ({"calback": print}, r"unknown parameter 'calback'; did you mean 'callback'\?"),
    ],
)
def test_a_misspelt_argument_and_habits_of_others(options, said):
    with pytest.raises(ValueError, match=said) as told:
        found(**options)
    assert len(str(told.value)) < 600


@pytest.mark.parametrize("value", [1e200, -1e308, np.finfo(float).max])
def test_a_value_too_large_to_square_is_told(value):
    optimizer = noregret.optimizer("gp-ei", bounds=own.BOX)
    with pytest.raises(ValueError, match=r"y: expected numbers of at most 1e\+150, .*failed=True"):
        optimizer.tell([0, 0], value)
    with pytest.raises(ValueError, match=r"g: expected numbers of at most 1e\+150"):
        noregret.optimizer(bounds=own.BOX, constraints=1).tell([0, 0], 1.0, [value])


@pytest.mark.parametrize("scale", [1e200, 1e-170])
def test_a_column_too_large_or_small_to_square_is_told(scale):
    table = own.TABLE * [1, scale, 1]
    with pytest.raises(ValueError, match=r"arms: expected columns .* column 1 has others"):
        noregret.optimizer("random", arms=table)
