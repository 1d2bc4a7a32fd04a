"""Whether records of several kernels of the CPU, or of several versions of the libraries that
compute, are shown together.

Such records are equal up to rounding, not bit for bit. That is no reason to refuse them, and it is
named wherever they are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from workflow.trace import one_path

COMPARED = ("numpy", "scipy", "torch", "gpytorch")  # pyarrow decides the format alone
END = "bits may differ: `make verify` says by how much."


def kernels(made: Mapping[str, Any]) -> str:
    """Which kernels made a record, by its provenance."""
    return str(made.get("kernels", f"unnamed, before {one_path.LEVEL}"))


def sentences(headers: Iterable[Mapping[str, Any]]) -> list[str]:
    """At most one sentence: which kernels, and which versions of libraries, differ between records.
    A record names the libraries alone that its run has loaded.
    """
    counts: dict[str, Counter[str]] = {}
    for header in headers:
        made = header.get("provenance", {})
        versions = {
            name: one for name, one in made.get("libraries", {}).items() if name in COMPARED
        }
        for name, value in {"kernels": kernels(made), **versions}.items():
            counts.setdefault(name, Counter())[value] += 1
    several = [f"{name} {_counted(each)}" for name, each in counts.items() if len(each) > 1]
    if not several:
        return []
    return [
        "Records of several code paths of the CPU, or of several versions of libraries, are mixed"
        f" here: {'; '.join(several)}; {END}"
    ]


def _counted(counts: Counter[str]) -> str:
    counted = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{value} ({count} record{'s' * (count != 1)})" for value, count in counted)
