"""The reference page of a paper's YAML, papers/README.md, made from the typed model:
`python -m workflow.schema [--check]`.

`--check` writes nothing and fails where the page is not what the model says.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel

from workflow.plan.exhibits import REGISTRY
from workflow.plan.model import Paper, hints, tags
from workflow.plan.reader import read
from workflow.plan.resolve import ROOT, lasting
from workflow.plan.vocabulary import METRICS, OpenSection

PAGE = Path("papers", "README.md")
INTRODUCTION = """\
# A paper's YAML

This page is made by `python -m workflow.schema` from the models in `workflow/plan/`. Change those,
not this page.

One file `papers/NAME.yaml` says everything about one paper: what is run, what is drawn, and what
is claimed. A file whose name begins with `_` is a template and no paper. The file is read before
any job starts. A mistake in it is one sentence with its line.

The terms are those of the [glossary](../docs/glossary.md). Exhibits are {exhibits}.

A key that is not on this page is refused, except on the lines of problems and algorithms: there
it is a parameter of the constructor. *Required* in the column `default` means that the key has to
be given.

## Metrics

{metrics}"""


def page() -> str:
    """papers/README.md."""
    names = [kind.section for kind in REGISTRY.values()]
    kinds = f"{', '.join(names[:-1])} and {names[-1]}"
    metrics = ", ".join(f"`{name}`" for name in METRICS)
    metrics += ", and `report.NAME` for a number that the optimizer reports under that name."
    head = INTRODUCTION.format(exhibits=kinds, metrics=textwrap.fill(metrics, 98))
    return "\n\n".join([head, *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    """One part for the whole file, and one for every model that it is made of. A property that
    several models share is told once.
    """
    described: set[tuple[str, str]] = set()
    yield "## The file\n\n" + _table(Paper, described)
    seen: set[type[BaseModel]] = {Paper}
    for key, (_, kind) in hints(Paper).items():
        for model, place in _models(kind, key):
            if model not in seen:
                seen.add(model)
                says = " ".join((model.__doc__ or "").split())
                yield f"## {_heading(model, place)}\n\n{says}\n\n{_table(model, described)}"


def _models(kind: Any, place: str) -> Iterator[tuple[type[BaseModel], str]]:
    """Every model within a type, with where it stands, from the outside in."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind, place
        for key, (_, inner) in hints(kind).items():
            yield from _models(inner, f"{place}.{key}")
        return
    several = "[]" if get_origin(kind) is list else ""
    named = ".NAME" if get_origin(kind) is dict else ""
    for inner in get_args(kind):
        yield from _models(inner, place + several + named)


def _heading(model: type[BaseModel], place: str) -> str:
    """`claims[].check` with its tag, where the model has one."""
    for key in ("test", "kind"):
        if key in hints(model) and (tag := tags(model, key)):
            return f"`{place}` with `{key}: {tag[0]}`"
    return f"`{place}`"


def _table(model: type[BaseModel], described: set[tuple[str, str]]) -> str:
    """Each property: meaning, default, example; of those that were told, the names. A property with
    a part of its own has its examples there.
    """
    examples = _examples()
    lines, again = list[str](), list[str]()
    for key, (name, kind) in hints(model).items():
        info = model.model_fields[name]
        if (key, str(info.description)) in described:
            again.append(f"`{key}`")
            continue
        described.add((key, str(info.description)))
        extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        unit = f" ({extra['unit']})" if extra.get("unit") else ""
        cells = [
            f"`{key}`",
            f"{info.description}{unit}",
            "*required*" if info.is_required() else str(extra["default"]),
            "below" if any(_models(kind, key)) else examples.get((key, info.description), ""),
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    if issubclass(model, OpenSection):
        lines.append("| any other key | {} | | {} |".format(*model.others))
    head = ["| key | meaning | default | example |", "|---|---|---|---|"] if lines else []
    more = [*([""] if lines else []), f"As above: {', '.join(again)}."] if again else []
    return "\n".join([*head, *lines, *more])


@cache
def _examples() -> Mapping[tuple[str, str | None], str]:
    """By key and meaning, the shortest value that the first paper has which has some, as a line of
    YAML.
    """
    every: dict[tuple[str, str | None], str] = {}
    for name in lasting():
        here: dict[tuple[str, str | None], str] = {}
        for key, meaning, value in _said(Paper.model_validate(read(name))):
            line = f"`{key}: {_flow(value)}`"
            here[key, meaning] = min(here.get((key, meaning), line), line, key=len)
        every = {**here, **every}
    return every


def _said(value: object) -> Iterator[tuple[str, str | None, object]]:
    """Key, meaning and value of all that a part of a paper says."""
    if isinstance(value, BaseModel):
        plain = value.model_dump(by_alias=True, exclude_unset=True)
        for name, info in type(value).model_fields.items():
            if name not in value.model_fields_set:
                continue
            yield info.alias or name, info.description, plain[info.alias or name]
            yield from _said(getattr(value, name))
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _said(part)


def _flow(value: object) -> str:
    """A value as one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
    return text.removesuffix("...\n").strip()


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or say that it is stale."""
    parser = argparse.ArgumentParser(prog="python -m workflow.schema", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail where the page is stale"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="of the checkout")
    options = parser.parse_args(arguments)
    path = options.root / PAGE
    if not options.check:
        path.parent.mkdir(exist_ok=True)
        path.write_text(page(), encoding="utf-8")
        print(f"wrote {PAGE}", file=sys.stderr)
    elif not path.exists() or path.read_text(encoding="utf-8") != page():
        print(
            f"error: {PAGE} is not what the model in workflow/plan says: run python -m"
            " workflow.schema",
            file=sys.stderr,
        )
        return 1
    return 0
