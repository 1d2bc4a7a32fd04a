"""The cells: number, hashes, parameters, edits, by brute force and published values."""

import csv
import hashlib
import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from workflow.data.nasbench import graphs

LISTED = Path(os.environ.get("NOREGRET_DATA", ""), "nasbench101_partial", "cells_6v_2ops.csv")
# sha256 of the sorted hashes, joined by newlines: those of an enumeration made independently of
# this code, not of the file.
HASHES = "c0aac37afa34c8d14d9971127526d535f9341d5a66e8beea1bf4fbe9fdfe803e"
PUBLISHED = [  # two cells with 7 vertices: hash, adjacency, operations, parameters
    (
        "00005c142e6f48ac74fdcf73e3439874",
        "0100110001000000010010000010000001000000010000000",
        "input,conv3x3-bn-relu,maxpool3x3,conv3x3-bn-relu,conv3x3-bn-relu,conv1x1-bn-relu,output",
        8_555_530,
    ),
    (
        "00019e2cbab0bc93ca1a7816a099b2bd",
        "0101000001011000000010000100000001000000010000000",
        "input,maxpool3x3,conv3x3-bn-relu,maxpool3x3,conv1x1-bn-relu,maxpool3x3,output",
        3_468_426,
    ),
]


def rows(adjacency):
    size = round(len(adjacency) ** 0.5)
    return [[int(digit) for digit in adjacency[size * x : size * (x + 1)]] for x in range(size)]


def code(*edges, pools=()):
    digits = "".join("1" if (x, y) in edges else "0" for x in range(6) for y in range(6))
    inner = [graphs.POOL if v in pools else graphs.CONV for v in range(1, 5)]
    return graphs.code_of(digits, ["input", *inner, "output"])


@pytest.fixture(scope="module")
def every():
    return graphs.every()


def reachable(edges):
    """Whether all 6 vertices lie on a way from 0 to 5, by walking."""
    forward, backward = {0}, {5}
    for _ in range(6):
        forward |= {y for x, y in edges if x in forward}
        backward |= {x for x, y in edges if y in backward}
    return forward == backward == set(range(6))


def test_there_are_12416_cells_with_the_hashes_of_another_enumeration(every):
    assert len(every.hashes) == len(set(every.hashes)) == 12416
    assert list(every.hashes) == sorted(every.hashes)
    assert hashlib.sha256("\n".join(every.hashes).encode()).hexdigest() == HASHES


def test_published_hashes_and_parameter_counts():
    for name, adjacency, operations, parameters in PUBLISHED:
        assert graphs.module_hash(rows(adjacency), operations.split(",")) == name
        assert graphs.parameter_count(rows(adjacency), operations.split(",")) == parameters


def test_parameters_by_hand():
    # A chain 0-1-2-3-4-5 of pools: each cell is a 1x1 projection cin -> cout with batch norm,
    # nothing else.
    chain = code(*itertools.pairwise(range(6)), pools=(1, 2, 3, 4))
    widths = [128, 128, 128, 128, 256, 256, 256, 512, 512, 512]
    sizes = itertools.pairwise(widths)
    stem, dense = 27 * 128 + 256, 512 * 10 + 10
    expected = stem + dense + sum(a * b + 2 * b for a, b in sizes)
    assert graphs.parameter_count(graphs.matrix(chain), graphs.operations(chain)) == expected


def test_channels_are_shared_among_what_feeds_the_output():
    # 3 vertices feed the output with 128 channels: 43, 43, 42; vertex 1 takes the most of its
    # successors.
    wide = graphs.matrix(code((0, 1), (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5)))
    assert graphs.channels(wide, 128) == [0, 43, 43, 43, 42, 128]


def test_the_first_of_each_class_is_kept():
    """Brute force over graphs of at most 6 edges, in the order of nasbench: bits, labellings."""
    found = {}
    for bits in range(1 << 15):
        edges = {(x, y) for x, y in graphs.PAIRS if bits >> x + y * (y - 1) // 2 & 1}
        if len(edges) > 6 or not reachable(edges):
            continue
        for pools in itertools.product((False, True), repeat=4):
            one = code(*edges, pools=tuple(v for v, pool in enumerate(pools, start=1) if pool))
            name = graphs.module_hash(graphs.matrix(one), graphs.operations(one))
            assert found.setdefault(name, one) == graphs.canonical()[one]
    kept = graphs.enumerate_codes()
    assert sorted(found.values()) == [c for c in kept.tolist() if (c >> 4).bit_count() <= 6]


def test_codes_and_names_agree_both_ways(every):
    for i in range(0, 12416, 97):
        one = int(every.codes[i])
        edges, names = graphs.matrix(one), graphs.operations(one)
        digits = "".join(str(entry) for row in edges for entry in row)
        assert graphs.code_of(digits, names) == one
        assert [edges[x][y] for x, y in graphs.PAIRS] == every.adjacency[i].tolist()
        assert [name == graphs.CONV for name in names[1:5]] == every.conv[i].astype(bool).tolist()
        assert graphs.module_hash(edges, names) == every.hashes[i]


def test_every_representative_has_the_hash_of_its_class(every):
    name = dict(zip(every.codes.tolist(), every.hashes, strict=True))
    known = np.flatnonzero(graphs.canonical() >= 0)
    drawn = np.random.default_rng(0).choice(known, 300, replace=False)
    for one in drawn.tolist():
        edges, names = graphs.matrix(one), graphs.operations(one)
        expected = name[int(graphs.canonical()[one])]
        assert graphs.module_hash(edges, names) == expected
        parameters = every.parameters[every.hashes.index(expected)]
        assert graphs.parameter_count(edges, names) == pytest.approx(parameters, rel=0.01)


def test_what_is_no_cell_of_this_kind_is_refused():
    for adjacency, names, message in [
        ("01" * 17, graphs.operations(0), "a strictly upper triangular matrix of 36 digits"),
        ("0" * 35 + "2", graphs.operations(0), "of 36 digits 0 or 1"),
        ("0" * 35 + "1", graphs.operations(0), "strictly upper triangular"),
        ("0" * 36, ("input", "output"), "expected input, 4 of"),
        ("0" * 36, ("input", *["conv1x1-bn-relu"] * 4, "output"), "expected input, 4 of"),
        ("0" * 36, ("output", *[graphs.CONV] * 4, "input"), "expected input, 4 of"),
    ]:
        with pytest.raises(ValueError, match=message):
            graphs.code_of(adjacency, names)


def test_edits_are_the_flips_that_stay_in_the_set(every):
    index = {name: i for i, name in enumerate(every.hashes)}
    for i in range(0, 12416, 331):
        expected = []
        for bit in range(19):
            other = int(every.codes[i]) ^ 1 << bit
            edges = {(x, y) for x, y in graphs.PAIRS if graphs.matrix(other)[x][y]}
            if len(edges) <= 9 and reachable(edges):
                name = graphs.module_hash(graphs.matrix(other), graphs.operations(other))
                expected.append(index[name])
        assert list(every.edits[i]) == expected


def test_a_subset_keeps_its_own_edits_alone(every):
    chosen = graphs.Cells.of(every.codes[[0, *every.edits[0]]])
    assert set(chosen.hashes) == {every.hashes[i] for i in (0, *every.edits[0])}
    middle = chosen.hashes.index(every.hashes[0])
    assert len(chosen.edits[middle]) == len(every.edits[0])
    assert all(0 <= j < len(chosen.hashes) for reached in chosen.edits for j in reached)


@pytest.mark.skipif(
    not LISTED.is_file(),
    reason="needs nasbench101_partial/cells_6v_2ops.csv, made independently, below NOREGRET_DATA",
)
def test_a_list_made_independently_is_the_same(every):
    with LISTED.open(newline="") as file:
        listed = sorted(
            (r["module_hash"], r["upper_triangle_15_rowmajor"], r["conv_bits_4"])
            for r in csv.DictReader(file)
        )
    texts = [
        ["".join(map(str, row)) for row in columns.tolist()]
        for columns in (every.adjacency, every.conv)
    ]
    assert listed == list(zip(every.hashes, *texts, strict=True))
