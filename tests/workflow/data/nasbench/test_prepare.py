"""From records to the table: what is kept, what is computed, and that nothing wrong passes."""

import base64
import hashlib
import itertools
import json
import re
import struct
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import workflow.data.nasbench
from tests.workflow.data.nasbench.layout import (
    BYTES,
    OPERATIONS,
    START,
    framed,
    kept,
    metrics,
    others,
    row,
    write,
)
from workflow.data.nasbench import graphs, prepare, rows
from workflow.data.nasbench.tfrecord import records
from workflow.data.places import DataUnavailable

NAMES = ("validation_accuracy", "test_accuracy", "training_seconds")
ITEMS = ("name", "epochs", "adjacency", "operations", "encoded")
# a record of the full file, trained for 4 epochs, as quoted in sile/nasbench-rs, src/dataset.rs
REAL = (
    b'["00005c142e6f48ac74fdcf73e3439874", 4, "0100110001000000010010000010000001000000010000000",'
    b' "input,conv3x3-bn-relu,'
    b'maxpool3x3,conv3x3-bn-relu,conv3x3-bn-relu,conv1x1-bn-relu,output", "'
    rb"Ci0JAAAAAAAAAAARAAAAAAAAAAAZAAAAoKqquT8hAAAAYJAGuT8pAAAAAGmQuT8KLQkAAAAAAAAA\n"
    rb"QBEAAADAdJNGQBkAAABgkAa6PyEAAAAg3/K6PykAAACAy7e6PwotCQAAAAAAABBAEQAAACDbeVZA\n"
    rb"GQAAAEAaZNY/IQAAAGBVVdY/KQAAAODybdY/EIqYigQZAABAhznbeUA=\n"
    b'"]'
)
# cells by vertices, three operations: 423,624
CLASSES = {2: 1, 3: 6, 4: 84, 5: 2441, 6: 62010, 7: 359082}
HALF, END = (54.0, 850.0, 0.8, 0.8, 0.8), (108.0, 1700.5, 1.0, 0.92, 0.91)


def numbers(repeat, i):
    """Validation accuracy, test accuracy and seconds of one training, as no other has them."""
    own = 0.01 * repeat + 0.0001 * i
    return 0.9 + own, 0.8 + own, 1000.0 + 100 * repeat + i


@pytest.fixture(scope="module")
def few():
    """A cell and four that an edit of it reaches."""
    every = graphs.every()
    return graphs.Cells.of(every.codes[[40, *sorted(set(every.edits[40]))[:4]]])


@pytest.fixture(scope="module")
def two(few):
    return graphs.Cells.of(few.codes[:2])


def trainings(chosen, repeats=3):
    return [
        kept(chosen, i, *numbers(repeat, i))
        for repeat in range(repeats)
        for i in range(len(chosen.hashes))
    ]


def parsed(folder, contents, cells):
    """The table of some cells from a file of these records."""
    return prepare.read(write(folder / "f.tfrecord", contents), cells)


def refused(folder, contents, cells, message):
    """What is said where these records give no table."""
    with pytest.raises(DataUnavailable, match=message) as caught:
        parsed(folder, contents, cells)
    return str(caught.value)


def block(made, name):
    return np.array(made[name].to_pylist())


def offsets(contents):
    return np.cumsum([0, *(len(data) + 16 for data in contents)]).tolist()


def changed(chosen, **items):
    """A training of cell 0 in which some of the five items, or of the measurements, are others."""
    whole = dict(zip(ITEMS, json.loads(kept(chosen, 0, *numbers(0, 0))), strict=True))
    if "measured" in items:
        items["encoded"] = base64.encodebytes(items.pop("measured")).decode()
    return json.dumps(list({**whole, **items}.values())).encode()


def encoded(chosen):
    return json.loads(kept(chosen, 0, *numbers(0, 0)))[4]


def test_a_published_record_is_read(tmp_path):
    length = struct.pack("<Q", 401)
    (tmp_path / "f").write_bytes(length + b"\x98\x25\xed\x9b" + REAL + b"\x68\x16\x69\x03")
    assert list(records(tmp_path / "f")) == [(0, REAL)]
    name, epochs, adjacency, operations, encoded = rows.items(REAL)
    parameters, results = rows.final(encoded)
    edges = [[int(digit) for digit in adjacency[7 * x : 7 * x + 7]] for x in range(7)]
    names = operations.split(",")
    assert name == graphs.module_hash(edges, names)
    assert parameters == graphs.parameter_count(edges, names)
    assert results == (np.float32(3484 / 9984), np.float32(3499 / 9984), np.float32(89.904))
    # Taken apart by hand, and put together again as the generated records are, it is the same byte
    # for byte.
    measured = base64.b64decode(encoded)
    evaluations = [
        [value for (value,) in struct.iter_unpack("<xd", measured[at : at + 45])]
        for at in (2, 49, 96)
    ]
    assert [values[0] for values in evaluations] == [0, 2, 4]
    assert (evaluations[2][3], evaluations[2][4], evaluations[2][1]) == results
    assert metrics(evaluations, parameters)[:-8] == measured[:-8]  # all but the total time
    assert row(name, adjacency, names, measured, epochs=epochs) == REAL


def test_generated_records_make_files_of_the_published_sizes():
    """Each operation has as many classes, so that cells of one operation have the mean length."""
    for epochs, size in [((108,), BYTES), ((4, 12, 36, 108), 2_085_986_016)]:
        assert sum(CLASSES.values()) == 423_624
        measured, found = metrics([START, HALF, END], 8_555_530), 0
        for vertices, count in CLASSES.items():
            for operation, number in itertools.product(OPERATIONS, epochs):
                names = ("input", *[operation] * (vertices - 2), "output")
                data = row("ab" * 16, "0" * vertices**2, names, measured, number)
                found += count * len(framed(data))  # each is a third of the three repeats
        assert found == size


def test_documented_trainings_are_written_and_read():
    start = (0.0, 0.0, 0.1, 0.1, 0.1)
    half = (54.0, 883.4580078125, 0.8282251358032227, 0.7776442170143127, 0.7740384340286255)
    end = (108.0, 1769.1279296875, 1.0, 0.9241786599159241, 0.9211738705635071)
    inner = (graphs.CONV, graphs.POOL, graphs.CONV, graphs.CONV, "conv1x1-bn-relu")
    names = ["input", *inner, "output"]
    digits = "0100110001000000010010000010000001000000010000000"
    measured = metrics([start, half, end], 8_555_530)
    broken = row("00005c142e6f48ac74fdcf73e3439874", digits, names, measured)
    flat = broken.replace(rb"\n", b"")
    # But for the line breaks the documented record, byte for byte, whose measurements nasbench's
    # own descriptor wrote.
    documented = "bd657d4d5e5181e6fa49d349fe6ca1e1a2ae0c163521c04873a752abf54e6fd2"
    assert hashlib.sha256(flat).hexdigest() == documented
    for data in (broken, flat):
        _, epochs, adjacency, operations, encoded = rows.items(data)
        assert (epochs, adjacency, operations.split(",")) == (108, digits, names)
        assert encoded.count("\n") == (3 if data is broken else 0)
        assert rows.final(encoded) == (8_555_530, (end[3], end[4], end[1]))
        assert rows.read(data) is None  # 7 vertices and a 1x1 convolution


def test_a_table_of_few_cells_among_others_in_any_order(tmp_path, few):
    draw = np.random.default_rng(3)
    rest = others(draw)
    left_out = [next(rest) for _ in range(200)]
    names = ("input", graphs.CONV, graphs.CONV, graphs.POOL, "output")
    small = row("ab" * 16, "0" * 25, names, b"")
    seven = row("cd" * 16, "0" * 49, ("input", *[graphs.CONV] * 5, "output"), b"")
    mine = trainings(few)
    contents = [*mine, *left_out, small, seven]
    order = draw.permutation(len(contents))
    made = parsed(tmp_path, [contents[k] for k in order], few)
    made.validate(full=True)
    assert made.schema == prepare.SCHEMA
    assert made["module_hash"].to_pylist() == list(few.hashes)
    assert_array_equal(block(made, "adjacency"), few.adjacency)
    assert_array_equal(block(made, "conv"), few.conv)
    assert_array_equal(made["trainable_parameters"], few.parameters)
    assert [tuple(reached) for reached in made["edits"].to_pylist()] == list(few.edits)
    # cell, and which of its trainings, in the order of the file
    in_file = [(k % 5, k // 5) for k in order if k < 15]
    for i in range(5):
        expected = [numbers(repeat, i) for cell, repeat in in_file if cell == i]
        for column, values in zip(NAMES, zip(*expected, strict=True), strict=True):
            assert made[column][i].as_py() == list(values)


def test_trainings_of_other_epochs_are_skipped(tmp_path, two):
    """As in nasbench_full.tfrecord, which has each training for four numbers of epochs."""
    only = trainings(two)
    every = [
        json.dumps([name, epochs, *rest]).encode()
        for name, _, *rest in map(json.loads, only)
        for epochs in (4, 12, 36, 108)
    ]
    assert len(every) == 4 * len(only)
    assert parsed(tmp_path, every, two).equals(parsed(tmp_path, only, two))
    shorter = [data for data in every if b", 108," not in data]
    refused(tmp_path, shorter, two, "expected 3 repeats of 2 cells, got the end")


def test_the_representative_of_the_file_is_kept_and_decides_the_edits(tmp_path, few):
    members = [np.flatnonzero(graphs.canonical() == code) for code in few.codes]
    i = next(i for i, same in enumerate(members) if len(same) > 1)
    codes = few.codes.copy()
    codes[i] = members[i][-1]
    other = replace(few, codes=codes)  # as the file has it: hashes stay, and here parameters, too
    made = parsed(tmp_path, trainings(other), few)
    assert_array_equal(block(made, "adjacency"), graphs.Cells.of(codes).adjacency)
    assert [tuple(reached) for reached in made["edits"].to_pylist()] == list(graphs.edits(codes))
    mixed = [kept(few, i, *numbers(0, i)), kept(other, i, *numbers(1, i))]
    message = f"byte {len(mixed[0]) + 16}: expected the matrix and operations of the repeats"
    refused(tmp_path, mixed, few, message)


def test_parameters_are_those_of_the_representative_in_the_file(tmp_path):
    # 1, 2 and 4 feed the output, with 86, 85 and 85 of 256 channels; the only pool is 2, or 1.
    one, other = (graphs.Cells.of(np.array([code])) for code in (368820, 368824))
    assert one.hashes == other.hashes and one.parameters != other.parameters
    for file, expected in ((one, other), (other, one), (one, one)):
        made = parsed(tmp_path, trainings(file), expected)
        assert_array_equal(made["trainable_parameters"], file.parameters)
    wrong = trainings(replace(other, parameters=one.parameters))
    message = f"expected {other.parameters[0]} trainable_parameters, got {one.parameters[0]}"
    refused(tmp_path, wrong, one, message)


def without(number):
    """The last evaluation without one of its fields."""
    fields = b"".join(
        struct.pack("<Bd", n << 3 | 1, value) for n, value in enumerate(END, start=1) if n != number
    )
    return metrics([START, HALF], 1) + b"\x0a" + bytes([len(fields)]) + fields


def last(**values):
    names = ("epoch", "seconds", "train", "validation", "test")
    end = [values.get(name, value) for name, value in zip(names, END, strict=True)]
    return lambda few: {"measured": metrics([START, HALF, end], int(few.parameters[0]))}


def test_a_wrong_record_stops_the_parse_at_its_byte(tmp_path, few):
    for change, message in [
        (lambda few: {"epochs": "108"}, r"expected \[hash, epochs"),
        (lambda few: {"epochs": True}, r"expected \[hash, epochs"),
        (lambda few: {"name": "ab" * 16}, f"of its graph, got {'ab' * 16}"),
        (lambda few: {"name": few.hashes[1]}, "of its graph, got"),
        (lambda few: {"adjacency": "2" * 36}, "expected a strictly upper triangular matrix"),
        (lambda few: {"adjacency": "0" * 36}, "expected one of the 5 cells, got another"),
        (lambda few: {"operations": ",".join(["input"] * 6)}, "expected input, 4 of"),
        (lambda few: {"encoded": "Ci0J"}, "as base64 of protobuf, got"),
        (lambda few: {"encoded": encoded(few).replace("A", "!", 1)}, "as base64 of protobuf, got"),
        (lambda few: {"encoded": encoded(few).replace("\n", " ")}, "as base64 of protobuf, got"),
        (lambda few: {"measured": b""}, "expected 3 evaluations"),
        (lambda few: {"measured": metrics([START, END], 1)}, "expected 3 evaluations .* got 2"),
        (lambda few: {"measured": metrics([START, HALF, HALF, END], 1)}, "evaluations .* got 4"),
        (lambda few: {"measured": without(2)}, "got none of training_time"),
        (lambda few: {"measured": without(4)}, "got none of validation_accuracy"),
        (lambda few: {"measured": without(5)}, "got none of test_accuracy"),
        (lambda few: {"measured": metrics([START, HALF, END], 1)}, "trainable_parameters, got 1"),
        # neither these nor the time of the whole training
        (
            lambda few: {"measured": metrics([START, HALF, END], 0)[: -(1 + 8 + 2)]},
            "got none of trainable_parameters",
        ),
        (last(validation=1.5), r"expected validation_accuracy in \[0,1\], got 1.5"),
        (last(validation=float("nan")), "expected validation_accuracy in .* got nan"),
        (last(test=-0.1), "expected test_accuracy in .* got -0.1"),
        (last(seconds=0.0), "expected training_time > 0 s, got 0.0"),
        (last(seconds=float("inf")), "expected training_time > 0 s, got inf"),
        (last(seconds=float("nan")), "expected training_time > 0 s, got nan"),
    ]:
        good = trainings(few)
        contents = [good[0], changed(few, **change(few)), *good[1:]]
        said = refused(tmp_path, contents, few, message)
        start = rf"f\.tfrecord: the record at byte {len(good[0]) + 16}: "
        assert re.search(f"{start}.*: if its sha256 is not the", said)


def test_a_record_that_is_no_row_stops_the_parse(tmp_path, few):
    for data in [b"", b"{", b"[]", b'["a", 108]', b"{}", b"\xff\xfe", b"[1,2,3,4,5]"]:
        refused(tmp_path, [data, *trainings(few)], few, "at byte 0: expected")


def test_unknown_fields_and_another_order_of_fields_do_no_harm(few):
    fields = [struct.pack("<Bd", n << 3 | 1, value) for n, value in enumerate(END, start=1)]
    # checkpoint_path; fields 15 of three kinds
    path, unknown = b"\x32\x00", b"\x78\x05" + b"\x7a\x02ab" + b"\x7d" + bytes(4)
    end = b"".join(reversed(fields)) + path + unknown
    count = metrics([], int(few.parameters[0]))
    measured = (
        unknown + count + metrics([START, HALF], 7)[: 2 * 47] + b"\x0a" + bytes([len(end)]) + end
    )
    found = rows.read(changed(few, measured=measured))
    results = found.validation_accuracy, found.test_accuracy, found.training_seconds
    assert results == (0.92, 0.91, 1700.5)
    assert found.trainable_parameters == few.parameters[0]


def test_too_few_and_too_many_repeats(tmp_path, few):
    good = trainings(few)
    message = f"byte {offsets(good)[-1]}: expected 3 repeats of {few.hashes[0]}, got one more"
    refused(tmp_path, [*good, good[0]], few, message)
    start = f"byte {offsets(good[:-1])[-1]}: expected 3 repeats of 5 cells, got the end with fewer"
    refused(tmp_path, good[:-1], few, f"{start} for 1 of them, such as 2 of {few.hashes[-1]}")
    refused(tmp_path, [], few, "fewer for 5 of them")


def test_a_cell_of_another_table_is_refused(tmp_path, few, two):
    refused(tmp_path, trainings(few), two, "expected one of the 2 cells, got another")


def test_the_content_hash_is_over_names_and_little_endian_values(few):
    three = np.arange(15.0).reshape(5, 3)
    made = prepare.assemble(few, three, three + 1, three + 2)
    total = hashlib.sha256(b"module_hash\n" + "".join(f"{name}\n" for name in few.hashes).encode())
    total.update(b"adjacency\n" + few.adjacency.astype("i1").tobytes())
    total.update(b"conv\n" + few.conv.astype("i1").tobytes())
    for name, values in zip(NAMES, (three, three + 1, three + 2), strict=True):
        total.update(f"{name}\n".encode() + values.astype("<f8").tobytes())
    total.update(b"trainable_parameters\n" + few.parameters.astype("<i8").tobytes())
    lengths = [len(reached) for reached in few.edits]
    flat = [j for reached in few.edits for j in reached]
    total.update(b"edits\n" + np.array(lengths, "<i4").tobytes() + np.array(flat, "<i4").tobytes())
    assert prepare.content_sha256(made) == total.hexdigest()
    split = pa.concat_tables([made.slice(0, 2), made.slice(2)])  # chunks and offsets do not matter
    assert prepare.content_sha256(split) == total.hexdigest()


def test_the_whole_set_is_parsed(tmp_path):
    every = graphs.every()
    rest = others(np.random.default_rng(0))
    path = tmp_path / "nasbench_only108.tfrecord"
    with path.open("wb") as file:
        for i in np.random.default_rng(1).permutation(np.repeat(np.arange(12416), 3)).tolist():
            file.write(framed(kept(every, i, 0.9 + i / 1e6, 0.89 + i / 1e6, 1000.0 + i)))
            if i % 50 == 0:
                file.write(framed(next(rest)))
    made = workflow.data.nasbench.parse(None, path)
    assert (made.data, made.source, len(made.table)) == ("real", path.name, 12416)
    assert set(made.features) == set(made.table.column_names)
    assert made.content_sha256 == prepare.content_sha256(made.table)
    seconds = np.repeat(1000.0 + np.arange(12416)[:, None], 3, axis=1)
    assert_array_equal(block(made.table, "training_seconds"), seconds)
    assert [tuple(reached) for reached in made.table["edits"].to_pylist()] == list(every.edits)
