"""What is wrong with a paper's YAML, in sentences: file, line, place, what was expected, what was
found, and the nearest known name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import Discriminator, ValidationError
from pydantic_core import ErrorDetails

from workflow.plan.exhibits import REGISTRY
from workflow.plan.model import Paper, hints, member_of, unwrapped
from workflow.plan.nearest import nearest, or_nearest
from workflow.plan.strict_yaml import Source

MOST = 10  # sentences
LONG = 60  # letters of a value that a sentence shows
SINGULAR = {
    "scales": "scale",
    "problems": "problem",
    "algorithms": "algorithm",
    "variants": "variant",
    "readings": "reading",
    "runs": "run",
    "studies": "study",
    "claims": "claim",
    "appendix": "line of the appendix",
    "withdrawn": "withdrawn claim",
    "assumptions": "assumption",
    "deviations": "deviation",
    "errata": "erratum",
}
Steps = tuple[str | int, ...]


@dataclass(frozen=True)
class Mistake:
    """One mistake: where, in words, and how much it matters (the least first)."""

    path: Steps
    words: str
    rank: int


def sentences(file: str, entry: object, source: Source, error: ValidationError) -> list[str]:
    """At most ten sentences, the most important first: what is missing or unknown, from the outside
    in, before what has a wrong value.
    """
    found = _without_echoes([_mistake(entry, each) for each in error.errors()])
    found.sort(key=lambda one: (one.rank, len(one.path), source.line(one.path)))
    said = [
        f"{file}, line {source.line(one.path)}, {place(entry, one.path)}: {one.words}"
        for one in found[:MOST]
    ]
    return [*said, *[f"{file}: {len(found) - MOST} more mistakes"] * (len(found) > MOST)]


def place(entry: object, path: Sequence[str | int]) -> str:
    """Where something stands, for people: `figure fig1, panels[0].metric`."""
    if not path:
        return "the whole file"
    section, rest = str(path[0]), list(path[1:])
    one = {**SINGULAR, **{name: kind.one for name, kind in REGISTRY.items()}}.get(section)
    if one is None or not rest:
        return _dotted(path)
    lines = entry.get(section) if isinstance(entry, Mapping) else None
    name = str(rest[0])
    if isinstance(rest[0], int):
        line = lines[rest[0]] if isinstance(lines, list) and rest[0] < len(lines) else None
        named = line.get("id") if isinstance(line, Mapping) else None
        name = str(named) if isinstance(named, str) else f"number {rest[0] + 1}"
    return f"{one} {name}" + (f", {_dotted(rest[1:])}" if rest[1:] else "")


def _dotted(path: Sequence[str | int]) -> str:
    said = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return said.removeprefix(".")


def _mistake(entry: object, error: ErrorDetails) -> Mistake:
    """One sentence from what pydantic says."""
    path, found, kind = _real(entry, error["loc"]), error["input"], error["type"]
    context: Mapping[str, Any] = error.get("ctx", {})
    if kind == "missing":
        key = str(error["loc"][-1])
        return Mistake(path, f"expected a key `{key}`, got none", 0)
    if kind == "extra_forbidden":
        known = _known(entry, path[:-1])
        key = str(path[-1])
        return Mistake(path, f"unknown key {key!r}{or_nearest(key, known)}", 0)
    if kind == "refused":
        return Mistake(path, str(context["words"]), 1)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        key = str(context["discriminator"]).strip("'")
        known = [tag.strip("' ") for tag in str(context.get("expected_tags", "")).split(",")]
        if kind == "union_tag_not_found":
            return Mistake(path, f"expected a key `{key}`, got none", 0)
        wrong = found.get(key) if isinstance(found, Mapping) else found
        words = f"expected one of {', '.join(known)}, got {_shown(wrong)}"
        return Mistake((*path, key), words + nearest(str(wrong), known), 1)
    if kind == "too_short":
        least = context["min_length"]
        many = "one entry" if least == 1 else f"{least} entries"
        return Mistake(path, f"expected at least {many}, got {_shown(found)}", 1)
    expected = EXPECTED.get(kind, str(context.get("words", "")) or error["msg"])
    words = f"expected {expected}, got {_shown(found)}"
    known = context.get("known") or _words(expected)
    near = nearest(found, known) if isinstance(found, str) else ""
    return Mistake(path, words + near, 2)


EXPECTED = {  # what pydantic calls what is wrong: what was expected
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "dict_type": "keys with values",
    "list_type": "a list",
    "string_type": "words",
}


def _words(expected: str) -> list[str]:
    """The words that a sentence offers."""
    words = [word.strip("., ") for word in expected.removeprefix("one of ").split()]
    return [word for word in words if len(word) > 2]


def _shown(value: object) -> str:
    """A value as YAML has it, cut where it is long."""
    if value is None:
        return "nothing"
    said = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return said if len(said) <= LONG else f"{said[: LONG - 4]} ..."


def _real(entry: object, location: Sequence[str | int]) -> Steps:
    """The place of an error in the YAML, without the tags of models that pydantic puts in between.

    Where a key is missing, the place is what lacks it.
    """
    path: list[str | int] = []
    value: Any = entry
    kind: Any = Paper
    is_chosen = False  # whether the tag of a union has been passed
    for step in location:
        marks, plain = unwrapped(kind)
        if not is_chosen and any(isinstance(mark, Discriminator) for mark in marks):
            is_chosen = True
            continue
        inside = isinstance(value, Mapping) and step in value
        if not inside and not (isinstance(value, list) and isinstance(step, int)):
            break
        model = member_of(kind, value)
        known = hints(model) if model else {}
        kind = known[str(step)][1] if step in known else (Any, *get_args(plain))[-1]
        value, is_chosen = value[step], False
        path.append(step)
    return tuple(path)


def _known(entry: object, path: Steps) -> list[str]:
    """The keys that the model at a place knows."""
    kind: Any = Paper
    value: Any = entry
    for step in path:
        model = member_of(kind, value)
        kind = hints(model)[str(step)][1] if model else (Any, *get_args(unwrapped(kind)[1]))[-1]
        value = value[step]
    model = member_of(kind, value)
    return [] if model is None else list(hints(model))


def _without_echoes(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """A key that is spelt wrong is one mistake: that the right one is missing needs no sentence."""
    meant = {
        (one.path[:-1], one.words.partition("did you mean '")[2].partition("'")[0])
        for one in mistakes
        if "did you mean" in one.words and one.words.startswith("unknown key")
    }
    return [
        one
        for one in dict.fromkeys(mistakes)
        if not any(
            one.path == where and one.words == f"expected a key `{key}`, got none"
            for where, key in meant
        )
    ]
