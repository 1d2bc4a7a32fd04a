"""A mistake is told in one sentence: what was expected, what was got, what to do."""

import numpy as np
import pytest

import noregret

BOX = [(0.0, 1.0), (0.0, 2.0)]
TABLE = np.arange(12.0).reshape(6, 2)
OVER_ARMS = {"method": "bbkb", "bounds": None, "arms": TABLE}


def on_box(method="gp-ei", **options):
    return noregret.optimizer(method, **{"bounds": BOX, **options})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "gp_ei"}, r"unknown method 'gp_ei'; did you mean 'gp-ei'\? known: lcbo,"),
        ({"method": 3}, "method: expected a name that noregret.methods"),
        ({"bounds": None}, "expected `bounds`, a pair .* or `arms`, a table .*; got neither"),
        ({"arms": TABLE}, "expected `bounds`, a pair .* or `arms`, a table .*; got both"),
        ({"bounds": [(0, 1, 2)]}, r"a pair \(low, high\) for each variable, .* \(0, 1, 2\) for"),
        ({"bounds": []}, r"a pair \(low, high\) for each variable"),
        ({"bounds": {"x": {"low": 0, "high": 1}}}, r"a pair \(low, high\) for each variable"),
        (
            {"method": "go-ucb", "like": "breast-cancer-forest"},
            "go-ucb: .*low, which the paper's problem",
        ),
        ({"bounds": "01"}, r"a pair \(low, high\) for each variable"),
        ({"bounds": [(0, 1), (3, 3)]}, r"finite low < high, got \(3.0, 3.0\) for variable 1"),
        ({"bounds": [(0, np.inf)]}, r"finite low < high, got \(0.0, inf\) for variable 0"),
        ({"bounds": [(0, np.nan)]}, "finite low < high"),
        ({"bounds": [(-1e308, 1e308)]}, "finite low < high"),
        ({"method": "bbkb"}, "bbkb: works on arms, expected `arms`; methods .*: lcbo"),
        ({"bounds": None, "arms": TABLE}, "gp-ei: works on box, .*: random, bbkb"),
        ({"method": "bbkb", "bounds": None, "arms": np.ones(3)}, r"\(rows, columns\), .* \(3,\)"),
        ({"method": "bbkb", "bounds": None, "arms": [[np.nan]]}, "arms: expected finite numbers"),
        ({"method": "bbkb", "bounds": None, "arms": [["a"]]}, "arms: expected numbers"),
        ({"constraints": 1}, "gp-ei: takes no constraints, .* methods that do: lcbo, cei"),
        ({"method": "cei", "constraints": -1}, "constraints: expected a whole number from 0"),
        ({"method": "cei", "constraints": 1.0}, "constraints: expected a whole number from 0"),
        ({"seed": -1}, "seed: expected a whole number from 0 .*, got -1"),
        ({"seed": "a"}, "seed: expected a whole number"),
        ({"initial": -1}, "initial: expected a whole number"),
        ({"evaluations": 0}, "evaluations: expected a whole number from 1"),
        ({"minimize": 1}, "minimize: expected True or False, got 1"),
        ({"preset": "papper"}, r"unknown preset 'papper'; did you mean 'paper'\?"),
        ({"preset": "public code"}, "unknown preset 'public code'.* known: paper, recommended"),
        ({"like": "f4"}, r"unknown problem like='f4'.* known: f1"),
        ({"noise": True, "method": "lcbo"}, "noise: expected a standard deviation, .* got True"),
        ({"noise": -0.1, "method": "lcbo"}, "noise: expected a standard deviation, 0 or more"),
        ({"climp": {}}, r"gp-ei: unknown parameter 'climp'; did you mean 'climb'\?"),
        ({"climb": {"start": 3}}, r"unknown parameter 'climb.start'; did you mean 'climb.starts'"),
        ({"climb": {"starts": 0}}, "gp-ei: climb.starts: expected at least 1, got 0"),
        ({"climb": {"starts": 2.5}}, "gp-ei: climb.starts: expected int, got 2.5"),
        ({"climb": 7}, r"gp-ei: climb: expected a mapping of climb.raw, .*climb.steps, got 7"),
        ({"exploration": -1.0}, "gp-ei: exploration: expected no negative number, got -1.0"),
        ({"method": "epbo", "beta": -2.0}, "epbo: beta: expected no negative number, got -2.0"),
        ({"exploration": np.nan}, "gp-ei: exploration: expected a number"),
        ({"exploration": np.inf}, "gp-ei: exploration: expected a finite number, got inf"),
        (
            {"method": "ngopt", "evaluations": 300},
            "^ngopt: NGOpt takes a meta-model for 2 variables and 300 evaluations, which Nevergrad"
            r" .* expected another number of `evaluations`, or another method$",
        ),
        (
            {"method": "ngopt", "bounds": BOX[:1]},
            r"another number of `evaluations` \(none was given: the paper's 72 count\), or",
        ),
        ({"method": "ngopt", "horizon": 300}, "^NGOpt .* 300 .* expected another horizon$"),
        ({"parameters": 3}, "parameters: expected a mapping of names to values, got 3"),
        (
            {"exploration": 0.1, "parameters": {"exploration": 0.2}},
            "gp-ei: expected exploration once, got it in `parameters` and beside it",
        ),
        ({"parameters": {"climp": {}}}, "gp-ei: unknown parameter 'climp'"),
        ({"surrogate": "x"}, "surrogate: expected gamma-priors or "),
        ({**OVER_ARMS, "delta": 2.0}, "bbkb: delta: expected a probability, got 2.0"),
        ({**OVER_ARMS, "C": 0.5}, "bbkb: C: expected at least 1, got 0.5"),
        ({**OVER_ARMS, "noise": 0.1, "xi": 0.5}, "either `noise`, which sets xi and lam, or xi"),
        ({**OVER_ARMS, "bandwidth": 0}, "bbkb: bandwidth: expected a number above 0"),
        ({**OVER_ARMS, "like": "nas"}, "a value of .*, which the paper's problem reveals"),
        ({"method": "logei", "parameters": {"restarts": 0}}, "restarts"),
        ({"method": "cma-es", "parameters": {"sigma": 0.0}}, "sigma"),
    ],
)
def test_a_wrong_choice(options, said):
    with pytest.raises(ValueError, match=said) as told:
        on_box(**options)
    assert len(str(told.value)) < 600 and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (([0.5, 2.5], 1.0), r"inside the bounds, got 2.5 for variable 1, .* \(0.0, 2.0\): leave"),
        (([-0.1, 1], 1.0), r"inside the bounds, got -0.1 for variable 0"),
        (([0.5], 1.0), r"x: expected a point of 2 numbers.* got shape \(1,\)"),
        ((0.5, 1.0), r"x: expected a point of 2 numbers.* got shape \(\)"),
        ((np.ones((1, 1, 2)), 1.0), "x: expected a point of 2 numbers"),
        ((np.empty((0, 2)), []), "x: expected at least one point, got none"),
        (([np.nan, 0], 1.0), "x: expected finite numbers"),
        (
            ([0.5, 1], np.nan),
            r"y: expected finite numbers, got nan: if an evaluation failed, leave",
        ),
        (([0.5, 1], "a"), "y: expected numbers, got 'a'"),
        (([0.5, 1], None), "y: expected"),
        (([0.5, 1], [1.0, 2.0]), r"y: expected a number, got shape \(2,\)"),
        (([[0.5, 1]], [[1.0]]), r"y: expected an array of shape \(1,\), .* got shape \(1, 1\)"),
        (([0.5, 1], 1.0, [0.0]), r"g: expected .* shape \(0,\), got shape \(1,\): make the opt"),
    ],
)
def test_a_wrong_observation_changes_nothing(told, said):
    optimizer = on_box()
    asked = optimizer.ask()
    with pytest.raises(ValueError, match=said):
        optimizer.tell(*told)
    assert len(optimizer.history.y) == 0 and len(optimizer.pending) == 1
    optimizer.tell(asked, 1.0)
    assert len(optimizer.pending) == 0


@pytest.mark.parametrize(
    ("g", "said"),
    [
        (None, "g: expected 2 values for each point, at most 0 where it is feasible, got none"),
        ([1.0], r"g: expected an array of shape \(2,\), got shape \(1,\)"),
        ([1.0, np.inf], "g: expected finite numbers"),
    ],
)
def test_wrong_constraints(g, said):
    with pytest.raises(ValueError, match=said):
        on_box("lcbo", constraints=2).tell([0.5, 1.0], 1.0, g)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (6, "numbers of rows from 0 to 5, got 6"),
        (-1, "numbers of rows from 0 to 5, got -1"),
        (1.0, "the number of a row of `arms`"),
        ([0.0, 1.0], "the number of a row of `arms`"),
    ],
)
def test_a_wrong_row(row, said):
    with pytest.raises(ValueError, match=said):
        noregret.optimizer("gp-ucb", arms=TABLE).tell(row, np.zeros(np.shape(row)))


def test_what_is_asked_too_early_or_in_wrong_numbers():
    optimizer = on_box()
    with pytest.raises(ValueError, match="expected something to be told before `best`"):
        optimizer.best()
    for count in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="count: expected a whole number from 1"):
            optimizer.ask(count)


def test_a_forgotten_point_is_not_pending_and_no_other_one_can_be_forgotten():
    optimizer = on_box()
    x = optimizer.ask(3)
    with pytest.raises(ValueError, match="expected a pending point"):
        optimizer.forget([x[0], [0.0, 0.0]])
    np.testing.assert_array_equal(optimizer.pending, x)
    optimizer.forget(x[1])
    np.testing.assert_array_equal(optimizer.pending, x[[0, 2]])


def test_a_point_on_a_face_may_be_told_in_single_precision(tmp_path):
    """0.1 is 0.10000000149 there; the method sees the face, and the history stays inside."""
    optimizer = noregret.optimizer("gp-ei", bounds=[(0, 0.1), (-3e6, 3e6 + 1)])
    optimizer.tell(np.float32([[0.1, 3e6 + 1], [0.0, -3e6]]), [1.0, 2.0])
    np.testing.assert_array_equal(optimizer._u, [[1.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(optimizer.history.x, [[0.1, 3e6 + 1], [0.0, -3e6]])
    optimizer.save(tmp_path / "state")
    assert len(noregret.Optimizer.load(tmp_path / "state").history.y) == 2
    for outside in (np.float64([np.float32(0.1), 0.0]), np.float32([0.1001, 0.0])):
        with pytest.raises(ValueError, match="expected points inside the bounds"):
            optimizer.tell(outside, 1.0)


@pytest.mark.parametrize("digits", [2, 3, 5])
def test_a_rounded_point_takes_the_place_of_the_one_that_was_asked(digits):
    optimizer = on_box()
    x = optimizer.ask(3)
    optimizer.tell(np.round(x[1], digits), 1.0)
    np.testing.assert_array_equal(optimizer.pending, x[[0, 2]])
    np.testing.assert_array_equal(optimizer.history.x, np.round(x[1:2], digits))
    optimizer.forget(np.round(x[2], digits))
    np.testing.assert_array_equal(optimizer.pending, x[:1])


@pytest.mark.parametrize(
    ("pending", "told", "left"),
    [
        ([(0.5, 1.0)], (0.509, 0.982), []),
        ([(0.5, 1.0)], (0.511, 1.0), [0]),
        ([(0.5, 1.0)], (0.5, 1.021), [0]),
        ([(0.5, 1.0), (0.504, 1.0)], (0.501, 1.0), [1]),
        ([(0.5, 1.0), (0.504, 1.0)], (0.502, 1.0), [0, 1]),  # in the middle: it may be either
        ([(0.5, 1.0), (0.504, 1.0)], (0.511, 1.0), [0, 1]),
        ([(0.5, 1.0), (0.504, 1.0)], (0.504, 1.0), [0]),
        ([(0.5, 1.0), (0.5, 1.0), (0.6, 1.0)], (0.503, 1.0), [1, 2]),  # asked for twice
    ],
)
def test_a_point_that_may_be_none_or_another_of_those_that_are_pending(pending, told, left):
    optimizer = on_box("lcbo")
    optimizer._pending = np.array(pending) / [1.0, 2.0]
    optimizer.tell(told, 1.0)
    np.testing.assert_allclose(optimizer.pending, np.reshape([pending[i] for i in left], (-1, 2)))
    np.testing.assert_array_equal(optimizer.history.x, [told])


@pytest.mark.parametrize(
    ("f", "options", "said"),
    [
        (np.sum, {"minimize": False}, "minimize: expected no such option, got False: call noregr"),
        (lambda x: (1.0, [0.0]), {}, r"f: expected a number, got \(1.0, \[0.0\]\): say"),
        (np.sum, {"constraints": 1}, r"f: expected \(y, g\) with 1 constraints, got"),
        (np.sum, {"failures": "go on"}, "failures: expected stop or skip, got 'go on'"),
        (3, {}, "f: expected a function of a point, got 3"),
    ],
)
def test_a_wrong_function_or_sense(f, options, said):
    for find in (noregret.minimize, noregret.maximize):
        with pytest.raises(ValueError, match=said):
            find(f, BOX, evaluations=3, **options)


def test_numbers_of_numpy_are_numbers(tmp_path):
    """Which a saved file can hold."""
    of_numpy = {"evaluations": np.int64(50), "seed": np.int64(2), "horizon": np.int64(9)}
    ours = on_box("go-ucb", **of_numpy)
    ours.save(tmp_path / "state.npz")
    plain = on_box("go-ucb", **{name: int(value) for name, value in of_numpy.items()})
    assert noregret.Optimizer.load(tmp_path / "state.npz").settings == plain.settings
    on_box("go-ucb", evaluations=np.int64(50)).save(tmp_path / "state.npz")
    silent = on_box("lcbo", noise=np.float32(0.25), batch={"repeats": np.int64(4)})
    silent.save(tmp_path / "state.npz")
    assert noregret.Optimizer.load(tmp_path / "state.npz").settings.noise == 0.25


@pytest.mark.parametrize("contents", [b"", b"no file of ours", b"PK\x03\x04broken"])
def test_a_file_of_others_is_refused(tmp_path, contents):
    path = tmp_path / "state.npz"
    path.write_bytes(contents)
    with pytest.raises(
        ValueError, match=r"state\.npz: expected a file that Optimizer.save has wri"
    ):
        noregret.Optimizer.load(path)


def test_a_file_with_a_pickle_is_refused(tmp_path):
    path = tmp_path / "state.npz"
    on_box().save(path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["x"] = np.array([{"a": 1}], dtype=object)
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match=r"expected a file that Optimizer.save.*allow_pickle"):
        noregret.Optimizer.load(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"ends": [3]', '"ends": [9]'),
        ('"gp-ei"', '"gp-ie"'),
        ('"seed": 0', '"seed": 0, "code": 1'),
        ('"starts": 5', '"starts": "five"'),
    ],
)
def test_a_changed_file_is_refused(tmp_path, old, new):
    path = tmp_path / "state.npz"
    optimizer = on_box(initial=3)
    for x in optimizer.ask(3):
        optimizer.tell(x, x.sum())
    optimizer.ask()
    optimizer.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    assert old in str(arrays["text"])
    arrays["text"] = np.array(str(arrays["text"]).replace(old, new))
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match=r"expected a file that Optimizer.save"):
        noregret.Optimizer.load(path).ask()
