"""Whether records of several code paths of the CPU, or of several versions of the libraries that
compute, are shown together.

Such records are equal up to rounding, not bit for bit. That is no reason to refuse them, and it is
named wherever they are counted. A record of before the code path was written down counts as one of
an unnamed code path.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from workflow.trace import code_path
from workflow.trace.code_path import CodePath

COMPARED = ("numpy", "scipy", "torch", "gpytorch")  # pyarrow decides the format alone
END = "bits may differ: `make verify` says by how much."
UNNAMED = "null"


class Mixture:
    """What some records were made with, told by their headers."""

    def __init__(self) -> None:
        self._paths: dict[Hashable, str] = {}  # as JSON, by record
        self._versions: dict[Hashable, tuple[str | None, ...]] = {}

    def add(self, record: Hashable, header: Mapping[str, Any]) -> None:
        """Count a record, once whatever its name."""
        made = header.get("provenance", {})
        libraries = made.get("libraries", {})
        self._paths[record] = json.dumps(made.get("code_path"))
        self._versions[record] = tuple(map(libraries.get, COMPARED))

    def sentences(self) -> list[str]:
        """At most one on code paths and one on versions; [] where nothing is mixed."""
        groups = merged(Counter(self._paths.values()))
        found = []
        if len(groups) > 1:
            found.append(
                f"Records of {len(groups)} code paths of the CPU are mixed here:"
                f" {_counted(groups)}; {END}"
            )
        mixed = []
        for place, name in enumerate(COMPARED):
            versions = (made[place] for made in self._versions.values())
            counts = Counter(version for version in versions if version is not None)
            if len(counts) > 1:
                mixed.append(f"{name} {_counted(sorted(counts.items()))}")
        if mixed:
            found.append(
                f"Records of several versions of libraries are mixed here: {'; '.join(mixed)};"
                f" {END}"
            )
        return found


def merged(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Code paths in words with the number of their records, the most records first.

    A record names the libraries that its run has loaded: one that contradicts nothing in another
    is of the same path.
    """
    groups: list[tuple[dict[str, Any], list[int]]] = []
    known = {text: json.loads(text) for text in counts if text != UNNAMED}
    order = sorted(known, key=lambda text: (-len(code_path.parts(known[text])), text))
    for text in order:
        path = known[text]
        for whole, members in groups:
            if not code_path.differences(whole, path):
                whole.update(_union(whole, path))
                members.append(counts[text])
                break
        else:
            groups.append((dict(path), [counts[text]]))
    labels = _labels([whole for whole, _ in groups])
    found = [(label, sum(members)) for label, (_, members) in zip(labels, groups, strict=True)]
    found += [(code_path.words({}), counts[UNNAMED])] if UNNAMED in counts else []
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def _union(one: CodePath, other: CodePath) -> dict[str, Any]:
    """What two paths name that contradict each other in nothing."""
    named = {(blas["library"], blas["name"]) for blas in one.get("blas", [])}
    more = [b for b in other.get("blas", []) if (b["library"], b["name"]) not in named]
    return {**other, **one, "blas": [*one.get("blas", []), *more]}


def _labels(paths: Iterable[CodePath]) -> list[str]:
    """Paths in few words; where these are equal, with all in which the paths differ."""
    named = [(code_path.words(path), code_path.parts(path)) for path in paths]
    uses = Counter(words for words, _ in named)
    values: dict[str, set[str]] = {}
    for _, parts in named:
        for name, value in parts.items():
            values.setdefault(name, set()).add(value)
    labels = []
    for words, parts in named:
        more = [f"{name} {value}" for name, value in parts.items() if len(values[name]) > 1]
        labels.append(f"{words} with {', '.join(more)}" if uses[words] > 1 else words)
    return labels


def _counted(groups: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} ({count} record{'s' * (count != 1)})" for name, count in groups)
