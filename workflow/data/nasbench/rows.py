"""One record of NAS-Bench-101: a JSON list of hash, epochs, adjacency, operations and measurements,
the last in protobuf.

The measurements are base64 in the layout of MIME: a line break after every 76 characters and at the
end. Text without line breaks is read, too. The descriptor below names only the fields that are
read; protobuf skips all others.
"""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory, text_format

from workflow.data.nasbench.graphs import V, code_of

EPOCHS = 108
OTHER = b"conv1x1-bn-relu"
LAYOUT = (str, int, str, str, str)
ACCURACIES = ("validation_accuracy", "test_accuracy")
DESCRIPTOR = """
name: "model_metrics.proto" package: "nasbench" syntax: "proto2"
message_type {
  name: "EvaluationData"  # of a network while it was trained: at the start, halfway, at the end
  field { name: "training_time" number: 2 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "validation_accuracy" number: 4 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "test_accuracy" number: 5 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
}
message_type {
  name: "ModelMetrics"
  field {
    name: "evaluation_data" number: 1 type: TYPE_MESSAGE label: LABEL_REPEATED
    type_name: ".nasbench.EvaluationData"
  }
  field { name: "trainable_parameters" number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL }
}
"""
_pool = descriptor_pool.DescriptorPool()
_pool.Add(text_format.Parse(DESCRIPTOR, descriptor_pb2.FileDescriptorProto()))
METRICS: Any = message_factory.GetMessageClass(_pool.FindMessageTypeByName("nasbench.ModelMetrics"))


@dataclass(frozen=True)
class Row:
    """One training of one cell: final accuracies in [0,1] and the seconds that it took."""

    module_hash: str
    code: int
    trainable_parameters: int
    validation_accuracy: float
    test_accuracy: float
    training_seconds: float


def read(data: bytes) -> Row | None:
    """The row in a record, None if the cell has another size or a 1x1 convolution, or if it was
    trained for another number of epochs.

    Raises ValueError: expected, got.
    """
    # No base64, hash or matrix has a hyphen, so these bytes can only be an operation; most records
    # end here.
    if OTHER in data:
        return None
    module_hash, epochs, adjacency, operations, metrics = items(data)
    names = operations.split(",")
    if epochs != EPOCHS or len(adjacency) != V * V or OTHER.decode() in names:
        return None
    parameters, results = final(metrics)
    return Row(module_hash, code_of(adjacency, names), parameters, *results)


def items(data: bytes) -> tuple[str, int, str, str, str]:
    """The five items of a record."""
    try:
        values = json.loads(data)
    except ValueError as error:
        raise ValueError(f"expected JSON, got {data[:80]!r}... ({error})") from None
    if not isinstance(values, list) or tuple(map(type, values)) != LAYOUT:
        raise ValueError(
            f"expected [hash, epochs, adjacency, operations, measurements], got {data[:80]!r}..."
        )
    module_hash, epochs, adjacency, operations, metrics = values
    return module_hash, epochs, adjacency, operations, metrics


def final(metrics: str) -> tuple[int, tuple[float, float, float]]:
    """Trainable parameters, and validation accuracy, test accuracy, seconds at the end of a
    training.
    """
    decoded = METRICS()
    try:
        decoded.ParseFromString(base64.b64decode(metrics.replace("\n", ""), validate=True))
    except (ValueError, message.DecodeError) as error:
        raise ValueError(
            f"expected measurements as base64 of protobuf, got {metrics[:40]!r}... ({error})"
        ) from None
    if len(decoded.evaluation_data) != 3:
        raise ValueError(
            f"expected 3 evaluations (start, halfway, end), got {len(decoded.evaluation_data)}"
        )
    last = decoded.evaluation_data[2]
    missing = [name for name in ("training_time", *ACCURACIES) if not last.HasField(name)]
    if missing or not decoded.HasField("trainable_parameters"):
        raise ValueError(
            "expected measurements of the end, got none of"
            f" {', '.join(missing or ['trainable_parameters'])}"
        )
    for name in ACCURACIES:
        if not 0 <= getattr(last, name) <= 1:
            raise ValueError(f"expected {name} in [0,1], got {getattr(last, name)}")
    if not 0 < last.training_time < math.inf:
        raise ValueError(f"expected training_time > 0 s, got {last.training_time}")
    return decoded.trainable_parameters, (
        last.validation_accuracy,
        last.test_accuracy,
        last.training_time,
    )
