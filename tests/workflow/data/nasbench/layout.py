"""Records in the layout of nasbench_only108.tfrecord, byte by byte; their numbers mean nothing."""

import base64
import json
import struct

import numpy as np

from workflow.data.nasbench import prepare
from workflow.data.nasbench.graphs import matrix, operations

BYTES = 522_767_376  # of the published file
# of all cells: those of the table, those with 6 vertices
KEPT, SIX = 12_416 / 423_624, 62_010 / 423_624
OPERATIONS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
START = (0.0, 0.0, 0.1, 0.1, 0.1)


def framed(data):
    """One record of a TFRecord file, with checksums of 0: nobody reads them."""
    return struct.pack("<Q4x", len(data)) + data + bytes(4)


def write(path, contents):
    """A TFRecord file of these records; its path."""
    path.write_bytes(b"".join(framed(data) for data in contents))
    return path


def metrics(evaluations, parameters):
    """A serialized ModelMetrics; evaluations: epoch, seconds, train, validation, test accuracy."""
    whole = b""
    for values in evaluations:
        fields = b"".join(
            struct.pack("<Bd", number << 3 | 1, value)
            for number, value in enumerate(values, start=1)
        )
        whole += b"\x0a" + _varint(len(fields)) + fields
    return whole + b"\x10" + _varint(parameters) + struct.pack("<Bd", 3 << 3 | 1, 2000.0)


def row(name, adjacency, names, measured, epochs=108):
    """The JSON of one training, its measurements with the line breaks of the published file."""
    encoded = base64.encodebytes(measured).decode()
    return json.dumps([name, epochs, adjacency, ",".join(names), encoded]).encode()


def digits(edges):
    return "".join(str(entry) for line in edges for entry in line)


def kept(cells, i, validation, test, seconds):
    """The JSON of one training of cell i."""
    code = int(cells.codes[i])
    half = (54.0, seconds / 2, 0.9, validation - 0.1, test - 0.1)
    end = (108.0, seconds, 1.0, validation, test)
    measured = metrics([START, half, end], int(cells.parameters[i]))
    return row(cells.hashes[i], digits(matrix(code)), operations(code), measured)


def others(rng):
    """Trainings of cells left out, of 7 vertices or 6 with a 1x1 convolution, without end."""
    while True:
        size = 6 if rng.random() < (SIX - KEPT) / (1 - KEPT) else 7
        edges = np.triu(rng.random((size, size)) < 0.4, 1).astype(int)
        edges[np.arange(size - 1), np.arange(1, size)] = 1
        inner = [OPERATIONS[k] for k in rng.integers(3, size=size - 2)]
        if size == 6:
            inner[0] = "conv1x1-bn-relu"
        names = ("input", *inner, "output")
        half, end = (54.0, 800.0, 0.8, 0.8, 0.8), (108.0, 1600.0, 1.0, 0.9, 0.9)
        measured = metrics([START, half, end], 8_555_530)
        name = rng.bytes(16).hex()
        for _ in range(prepare.REPEATS):
            yield row(name, digits(edges.tolist()), names, measured)


def _varint(number):
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
