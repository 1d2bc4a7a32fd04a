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

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

from workflow.data.nasbench.graphs import V, code_of

EPOCHS = 108
OTHER = b"conv1x1-bn-relu"
LAYOUT = (str, int, str, str, str)
ACCURACIES = ("validation_accuracy", "test_accuracy")
EVALUATION = {  # of a network while it was trained: at the start, halfway, at the end
    "current_epoch": 1,
    "training_time": 2,
    "train_accuracy": 3,
    "validation_accuracy": 4,
    "test_accuracy": 5,
}


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


def _metrics() -> Any:
    """The message class nasbench.ModelMetrics."""
    proto = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="model_metrics.proto", package="nasbench", syntax="proto2"
    )
    evaluation = file.message_type.add(name="EvaluationData")
    for name, number in EVALUATION.items():
        evaluation.field.add(
            name=name, number=number, type=proto.TYPE_DOUBLE, label=proto.LABEL_OPTIONAL
        )
    model = file.message_type.add(name="ModelMetrics")
    several = model.field.add(
        name="evaluation_data", number=1, type=proto.TYPE_MESSAGE, label=proto.LABEL_REPEATED
    )
    several.type_name = ".nasbench.EvaluationData"
    model.field.add(
        name="trainable_parameters", number=2, type=proto.TYPE_INT32, label=proto.LABEL_OPTIONAL
    )
    model.field.add(name="total_time", number=3, type=proto.TYPE_DOUBLE, label=proto.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("nasbench.ModelMetrics"))


METRICS = _metrics()
