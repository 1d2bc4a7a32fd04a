"""The stand-in: reproducible, on the lattices of the file, shaped as the published numbers are."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import workflow.data.nasbench
from workflow.data.nasbench import graphs, prepare, stand_in
from workflow.data.places import DataUnavailable

CALIBRATION = Path(
    os.environ.get("NOREGRET_DATA", ""), "nasbench101_partial", "partial_6v_2ops.csv"
)
NAMES = ("validation_accuracy", "test_accuracy", "training_seconds")
measured_cells = pytest.mark.skipif(
    not CALIBRATION.is_file(),
    reason="needs nasbench101_partial/partial_6v_2ops.csv, the measured cells, below NOREGRET_DATA",
)


FAILED = 949 / 9984  # what the published file has for the validation accuracy of a failed training


def blocks(prepared):
    return [np.array(prepared.table[name].to_pylist()) for name in NAMES]


def sound(prepared):
    """The numbers of the cells of which no training failed."""
    validation, test, seconds = blocks(prepared)
    kept = (validation > 0.2).all(axis=1)
    return validation[kept], test[kept], seconds[kept]


@pytest.fixture(scope="module")
def published():
    return workflow.data.nasbench.substitute(None, None)


@pytest.fixture(scope="module")
def calibrated():
    return workflow.data.nasbench.substitute(None, CALIBRATION)


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    """A file of 914 cells as the published one has it,
    with the numbers of a model that is known.
    """
    accuracy, seconds = (-3.1, -0.1, 0.15, 0.2, -0.05, 0.1), (600.0, 70.0, 400.0, 1100.0, -250.0)
    model = stand_in.Model(accuracy, 0.17, seconds, 0.08, "", "")
    made = stand_in.draw(graphs.every(), model)
    validation, _, seconds = (np.array(made[name].to_pylist()) for name in NAMES)
    best = validation.argmax(axis=1)
    chosen = np.random.default_rng(0).choice(12416, 914, replace=False)
    lines = [
        f"{graphs.every().hashes[i]},{validation[i, best[i]]},{seconds[i, best[i]]}" for i in chosen
    ]
    path = tmp_path_factory.mktemp("calibration") / "measured.csv"
    path.write_text("\n".join([",".join(stand_in.COLUMNS), *lines]) + "\n")
    return model, path


def test_the_cells_are_the_real_ones(published):
    every = graphs.every()
    assert published.table.schema == prepare.SCHEMA
    assert published.table["module_hash"].to_pylist() == list(every.hashes)
    assert_array_equal(published.table["trainable_parameters"], every.parameters)


def test_it_says_what_it_is(published, invented):
    start = (
        "substitute: synthetic accuracies and training times on the 12,416 real NAS-Bench-101"
        " cells, "
    )
    assert published.data == start + "from published summary statistics"
    shaped = workflow.data.nasbench.substitute(None, invented[1])
    assert shaped.data == start + "calibrated on 914 measured cells"
    assert set(published.features) == set(published.table.column_names)


def test_the_bytes_are_always_the_same(published):
    assert workflow.data.nasbench.substitute(None, None).content_sha256 == published.content_sha256
    content = "691ebbf4c270095c5ef8915c51d81b7f6a44c444161773b1cb7d69e20c2758cb"
    assert published.content_sha256 == content


def test_numbers_lie_on_the_lattices_of_the_file_and_in_range(published):
    validation, test, seconds = blocks(published)
    for values, step in ((validation, 1 / 9984), (test, 1 / 9984), (seconds, 1e-3)):
        assert_array_equal(values, (np.rint(values / step) * step).astype(np.float32).astype(float))
    fails = validation < 0.2
    assert min(validation[~fails].min(), test[~fails].min()) > 0.7
    assert_array_equal(validation[fails], np.float32(FAILED))
    assert_allclose(test[fails], 0.1, atol=1e-4)  # one class of ten
    assert max(validation.max(), test.max()) < stand_in.CEILING
    assert seconds.min() > 300 and seconds.max() < 4 * 3600


def test_trainings_fail_in_the_share_of_the_published_table(published):
    """By hand: 0.908192 - 0.90243375 are lost, and each failed training loses 0.908192 - 0.09505.
    Of 30,001 published cells 34 have three that failed.
    """
    validation, _, seconds = blocks(published)
    fails = validation < 0.2
    assert fails.mean() == pytest.approx(0.005758 / 0.81314, abs=5e-5)  # 0.7 %
    assert (fails.sum(axis=1) == 3).sum() == round(12416 * 34 / 30001)
    assert (fails.sum(axis=0) > 60).all()  # any of the three may be one
    pace = seconds / np.median(seconds, axis=1, keepdims=True)
    one = fails.sum(axis=1) == 1
    assert_allclose(pace[one][fails[one]], 1, atol=0.01)  # they take as long


@pytest.mark.parametrize(
    ("which", "mean", "deviation"), [(0, 0.90243375, 0.05864741), (1, 0.8967984, 0.05799569)]
)
def test_means_over_all_trainings_are_those_stated_of_the_whole_table(
    published, which, mean, deviation
):
    """Validation accuracies were used, test accuracies were not."""
    found = blocks(published)[which].mean(axis=1)
    assert found.mean() == pytest.approx(mean, abs=0.001)
    assert found.std() == pytest.approx(deviation, abs=0.0015)


def test_shares_of_failures_give_back_what_they_are_made_from():
    """A population of cells with means drawn as stated, of which 0 to 3 trainings fail."""
    shares = stand_in.failures()
    assert shares.min() > 0.001 and shares.sum() == pytest.approx(1)
    draw = np.random.default_rng(0)
    level = draw.normal(0.908192, 0.023961, 10**6)
    many = draw.choice(4, 10**6, p=shares) / 3
    mean = (1 - many) * level + many * FAILED
    assert mean.mean() == pytest.approx(0.90243375, abs=2e-4)
    assert mean.std() == pytest.approx(0.05864741, abs=5e-4)


def test_cells_that_train_badly_fail_more_often():
    level = np.random.default_rng(1).normal(-3, 0.44, 300_000)
    fails = stand_in.failed(level, np.random.default_rng(0))
    many = fails.sum(axis=1)
    assert_allclose(np.bincount(many) / 300_000, stand_in.failures(), atol=3e-6)
    assert_allclose(fails.mean(axis=0), fails.mean(), rtol=0.1)
    worse = [(many[level > edge] > 0).mean() for edge in (-4, -3, -2.5, -2)]
    assert worse[0] < worse[1] < worse[2] < worse[3] and worse[3] > 10 * worse[0]
    sizes = [level[many == k].mean() for k in (1, 2, 3)]
    assert_allclose(sizes, np.mean(sizes), atol=0.05)  # how many of its trainings is drawn
    assert not stand_in.failed(level[:3], np.random.default_rng(0)).any()


def test_published_statistics_are_met(published):
    validation, test, _ = sound(published)
    mean = validation.mean(axis=1)
    assert mean.mean() == pytest.approx(0.908, abs=0.001)
    assert mean.std() == pytest.approx(0.024, abs=0.001)
    assert np.sort(mean)[-1] - np.sort(mean)[-2] > 1e-6  # one cell is the best
    # of the whole table, which has 34 times as many cells
    assert mean.max() == pytest.approx(0.9506, abs=0.005)
    assert test[mean.argmax()].mean() == pytest.approx(0.9432, abs=0.005)
    assert (validation - test).mean() == pytest.approx(0.0054, abs=0.0002)


@pytest.mark.parametrize(("mean", "deviation"), [(0.9264, 0.0035), (0.9016, 0.0061)])
def test_trainings_differ_as_those_of_the_two_published_cells(published, mean, deviation):
    validation, _, seconds = sound(published)
    near = np.abs(validation.mean(axis=1) - mean) < 0.001
    assert near.sum() > 200
    assert np.sqrt(validation[near].var(axis=1, ddof=1).mean()) == pytest.approx(deviation, rel=0.1)
    relative = seconds.std(axis=1, ddof=1) / seconds.mean(axis=1)
    assert 0.0008 < relative.mean() < 0.002


def test_noise_of_validation_and_test_goes_together(published):
    validation, test, _ = sound(published)
    together = [values - values.mean(axis=1, keepdims=True) for values in (validation, test)]
    assert np.corrcoef(together[0].ravel(), together[1].ravel())[0, 1] == pytest.approx(
        stand_in.SHARED, abs=0.03
    )


def test_ties_of_the_best_are_broken():
    counts = np.array([[3.0, 3, 2], [1, 1, 1], [2, 2, 4]])
    assert_array_equal(stand_in.one_best(counts), [[4, 3, 2], [1, 1, 1], [2, 2, 4]])
    assert_array_equal(counts[0], [3, 3, 2])
    assert_array_equal(stand_in.one_best(counts[:2]), counts[:2])


def test_cells_one_edit_apart_are_alike_beyond_their_properties():
    every = graphs.every()
    start = np.repeat(np.arange(12416), [len(reached) for reached in every.edits])
    end = np.concatenate([np.array(reached) for reached in every.edits])
    given = stand_in.properties(every)
    missed = stand_in.effects(every, "accuracy", given)
    assert missed.mean() == pytest.approx(0, abs=0.01) and missed.std() == pytest.approx(
        1, abs=0.02
    )
    assert 0.4 < np.mean(missed[start] * missed[end]) < 0.8
    assert_allclose(given.T @ missed / 12416, 0, atol=0.02)


def ways(code: int):
    """All ways from input to output, by walking."""
    edges = graphs.matrix(code)
    waiting = [(0,)]
    while waiting:
        way = waiting.pop()
        if way[-1] == 5:
            yield way
        else:
            waiting += [(*way, y) for y in range(6) if edges[way[-1]][y]]


def test_properties_and_words_by_walking():
    every = graphs.every()
    found, present = stand_in.properties(every), stand_in.words(every)
    kinds = [word for size in range(5) for word in itertools.product((0, 1), repeat=size)]
    raw, spelled = [], []
    for i in range(0, 12416, 61):
        names, edges = graphs.operations(int(every.codes[i])), graphs.matrix(int(every.codes[i]))
        pool = [name == graphs.POOL for name in names]
        all_ways = list(ways(int(every.codes[i])))
        chains = [
            len(list(run))
            for way in all_ways
            for is_pool, run in itertools.groupby(way, key=pool.__getitem__)
            if is_pool
        ]
        raw.append(
            [
                names.count(graphs.CONV),
                min(len(way) - 1 for way in all_ways),
                sum(edges[v][5] and pool[v] for v in range(1, 5)),
                sum(edges[0][1:5]),
                max(chains, default=0),
            ]
        )
        said = {tuple(int(not pool[v]) for v in way[1:-1]) for way in all_ways}
        spelled.append([word in said for word in kinds])
    chosen = found[::61]
    assert_array_equal(present[::61], spelled)
    assert_allclose(found[:, 1:].mean(axis=0), 0, atol=1e-12)
    assert_allclose(found[:, 1:].std(axis=0), 1)
    for k in range(5):  # standardised: the same up to scale and shift
        assert np.corrcoef(chosen[:, k + 1], np.array(raw)[:, k])[0, 1] == pytest.approx(1)


def test_what_takes_time_by_hand():
    # the input feeds 1, 2, 3 and the output; 1, 2 and 4 share the output's channels, 3 takes those
    # of 4
    code = graphs.code_of(
        "011101" + "000001" + "000001" + "000010" + "000001" + "000000", graphs.operations(0)
    )
    every = graphs.Cells.of(np.array([code]))
    width = (43 + 43 + 42) / 128
    expected = [1, every.parameters[0] / 1e6, width, 1, width]
    assert_allclose(stand_in.drivers(every), [expected])


def test_the_fit_finds_a_known_model(invented):
    model, path = invented
    every = graphs.every()
    found = stand_in.fit(every, stand_in.measured(path, every))
    assert_allclose(found.accuracy, model.accuracy, atol=0.04)
    assert found.missed == pytest.approx(model.missed, rel=0.1)
    level = stand_in.drivers(every) @ found.seconds / (stand_in.drivers(every) @ model.seconds)
    assert level.mean() == pytest.approx(1, abs=0.02) and level.std() < 0.03
    assert found.seconds_missed == pytest.approx(model.seconds_missed, rel=0.1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("val_acc_108ep", "accuracy"),
        lambda text: text.replace("\n", "\nffff,0.9,100\n", 1),
        lambda text: text.replace("0.9", "nan", 1),
        lambda text: text.replace("0.9", "1.9", 1),
        lambda text: text.replace("0.9", "x", 1),
        lambda text: "\n".join([*text.splitlines(), text.splitlines()[1]]),
        lambda text: "\n".join(text.splitlines()[:50]),
        lambda text: "\n".join([*text.splitlines(), graphs.every().hashes[0]]),
        lambda text: "",
    ],
)
def test_a_file_of_measured_cells_that_is_wrong_is_refused(tmp_path, invented, damage):
    path = tmp_path / "measured.csv"
    path.write_text(damage(invented[1].read_text()))
    message = r"measured\.csv: expected .*, got .*: restore the file"
    with pytest.raises(DataUnavailable, match=message):
        stand_in.measured(path, graphs.every())


def test_a_missing_file_of_measured_cells_is_named(tmp_path):
    message = r"gone\.csv: expected measured cells .* restore the file"
    with pytest.raises(DataUnavailable, match=message):
        workflow.data.nasbench.substitute(None, tmp_path / "gone.csv")


@measured_cells
def test_the_calibrated_table_resembles_the_measured_cells(calibrated):
    content = "078692d956379dee2f412039cde2eaccb3a17001188410a71fd52dc0cf15b6cc"
    assert calibrated.content_sha256 == content
    known = stand_in.measured(CALIBRATION, graphs.every())
    validation, test, seconds = blocks(calibrated)
    best = validation.max(axis=1)
    spent = seconds[np.arange(12416), validation.argmax(axis=1)]
    # none of the measured cells has three failed trainings
    rows, kept = np.flatnonzero(best > 0.2), best[known.index] > 0.2
    known = stand_in.Measured(known.index[kept], known.best[kept], known.seconds[kept])
    for chosen in (rows, known.index):  # a random sample and the very cells
        assert best[chosen].mean() == pytest.approx(0.91673, abs=0.001)
        assert best[chosen].std() == pytest.approx(0.01984, abs=0.001)
        assert spent[chosen].mean() == pytest.approx(1933, rel=0.02)
        assert spent[chosen].std() == pytest.approx(869, rel=0.05)
    assert best[known.index].min() == pytest.approx(0.8066, abs=0.01)
    assert best[known.index].max() == pytest.approx(0.9480, abs=0.002)
    assert spent[known.index].min() == pytest.approx(610, rel=0.2)
    assert spent[known.index].max() == pytest.approx(4678, rel=0.3)
    marks = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
    assert_allclose(
        np.quantile(best[known.index], marks), np.quantile(known.best, marks), atol=0.006
    )
    assert_allclose(
        np.quantile(best[known.index], marks[1:]), np.quantile(known.best, marks[1:]), atol=0.002
    )
    assert_allclose(
        np.quantile(spent[known.index], marks), np.quantile(known.seconds, marks), rtol=0.2
    )
    assert np.corrcoef(best[known.index], known.best)[0, 1] > 0.8
    assert np.corrcoef(spent[known.index], known.seconds)[0, 1] > 0.95
    mean = validation.mean(axis=1)
    # the best of the whole real table
    assert mean.max() < 0.9506 and validation.max() < 0.9519 and test.max() < 0.9467
    assert np.sort(mean)[-1] - np.sort(mean)[-2] > 1e-6


@measured_cells
def test_the_logarithm_makes_the_measured_cells_gaussian():
    known = stand_in.measured(CALIBRATION, graphs.every())
    level = np.log(stand_in.CEILING - known.best)
    skewness = np.mean(((level - level.mean()) / level.std()) ** 3)
    assert abs(skewness) < 0.05
    fitted = stand_in.fit(graphs.every(), known)
    explained = np.var(stand_in.properties(graphs.every())[known.index] @ fitted.accuracy) / np.var(
        level
    )
    assert explained == pytest.approx(0.82, abs=0.01)
