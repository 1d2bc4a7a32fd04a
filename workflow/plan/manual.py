"""The schema of a paper's YAML and its reference page, made from the typed model:
`python -m workflow.schema [--check]`.

workflow/schema.json is for editors, docs/paper-yaml.md for people. `--check` writes nothing and
fails where one of them is not what the model says.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from workflow.plan.exhibits import REGISTRY
from workflow.plan.model import Paper, hints, tags, unwrapped
from workflow.plan.resolve import ROOT
from workflow.plan.vocabulary import METRICS, OpenSection

SCHEMA = Path("workflow", "schema.json")
PAGE = Path("docs", "paper-yaml.md")
INTRODUCTION = """\
# A paper's YAML

This page is made by `python -m workflow.schema` from the models in `workflow/plan/`. Change those,
not this page.

One file `papers/NAME.yaml` says everything about one paper: what is run, what is drawn, and what
is claimed. A file whose name begins with `_` is a template and no paper. The file is read before
any job starts. A mistake in it is one sentence with its line.

The terms are those of the [glossary](glossary.md). Exhibits are {exhibits}.

A key that is not on this page is refused, except on the lines of problems and algorithms: there
it is a parameter of the constructor. *Required* in the column `default` means that the key has to
be given.

## Metrics

{metrics}"""


class _AsSchema(GenerateJsonSchema):
    """JSON Schema without the defaults that only mean that a key is not there."""

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        """The schema of the value alone."""
        return self.generate_inner(schema["schema"])

    def dict_schema(self, schema: Any) -> JsonSchemaValue:
        """What a name has to be, too."""
        found = super().dict_schema(schema)
        names = self.generate_inner(schema["keys_schema"]) if "keys_schema" in schema else {}
        return {**found, "propertyNames": names} if "pattern" in names else found


def schema() -> str:
    """workflow/schema.json."""
    found = Paper.model_json_schema(by_alias=True, schema_generator=_AsSchema)
    found = {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$comment": "written by python -m workflow.schema",
        **_said_once(found),
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _said_once(found: Any) -> Any:
    """A schema without the titles that pydantic makes of names, and with docstrings in one line."""
    if isinstance(found, list):
        return [_said_once(one) for one in found]
    if not isinstance(found, dict):
        return found
    kept = {
        key: _said_once(value)
        for key, value in found.items()
        if not (key == "title" and isinstance(value, str))
    }
    if isinstance(kept.get("description"), str):
        kept["description"] = " ".join(kept["description"].split())
    if isinstance(kept.get("default"), str):  # in words, for people
        kept["$comment"] = f"default: {kept.pop('default')}"
    return kept


def page() -> str:
    """docs/paper-yaml.md."""
    names = [kind.section for kind in REGISTRY.values()]
    kinds = f"{', '.join(names[:-1])} and {names[-1]}"
    parts = [INTRODUCTION.format(exhibits=kinds, metrics=_metrics()), *_sections()]
    return "\n\n".join(parts) + "\n"


def _metrics() -> str:
    """All metrics, in lines."""
    names = ", ".join(f"`{name}`" for name in METRICS)
    told = f"{names}, and `report.NAME` for a number that the optimizer reports under that name."
    return textwrap.fill(told, 98)


def _sections() -> Iterator[str]:
    """One part for the whole file, and one for every model that it is made of. A property that
    several models share is told once.
    """
    told: set[tuple[str, str]] = set()
    yield "## The file\n\n" + _table(Paper, told)
    seen: set[type[BaseModel]] = {Paper}
    for key, (_, kind) in hints(Paper).items():
        for model, place in _models(kind, key):
            if model not in seen:
                seen.add(model)
                yield f"## {_heading(model, place)}\n\n{_doc(model)}\n\n{_table(model, told)}"


def _models(kind: Any, place: str) -> Iterator[tuple[type[BaseModel], str]]:
    """Every model within a type, with where it stands, from the outside in."""
    _, plain = unwrapped(kind)
    if isinstance(plain, type) and issubclass(plain, BaseModel):
        yield plain, place
        for key, (_, inner) in hints(plain).items():
            yield from _models(inner, f"{place}.{key}")
        return
    several = "[]" if get_origin(plain) is list else ""
    named = ".NAME" if get_origin(plain) is dict else ""
    for inner in get_args(plain):
        yield from _models(inner, place + several + named)


def _heading(model: type[BaseModel], place: str) -> str:
    """`claims[].check` with its tag, where the model has one."""
    for key in ("test", "kind"):
        if key in hints(model) and (tag := tags(model, key)):
            return f"`{place}` with `{key}: {tag[0]}`"
    return f"`{place}`"


def _doc(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _table(model: type[BaseModel], told: set[tuple[str, str]]) -> str:
    """Each property: meaning, default, example; of those that were told, the names. A property with
    a part of its own has its examples there.
    """
    lines, again = list[str](), list[str]()
    for key, (name, kind) in hints(model).items():
        info = model.model_fields[name]
        if (key, str(info.description)) in told:
            again.append(f"`{key}`")
            continue
        told.add((key, str(info.description)))
        extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        unit = f" ({extra['unit']})" if extra.get("unit") else ""
        cells = [
            f"`{key}`",
            f"{info.description}{unit}",
            "*required*" if info.is_required() else str(extra["default"]),
            "below" if any(_models(kind, key)) else f"`{key}: {_flow(info.examples)}`",
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    if issubclass(model, OpenSection):
        lines.append("| any other key | a parameter of the constructor | | `bandwidth: 5` |")
    head = ["| key | meaning | default | example |", "|---|---|---|---|"] if lines else []
    more = [*([""] if lines else []), f"As above: {', '.join(again)}."] if again else []
    return "\n".join([*head, *lines, *more])


def _flow(examples: Sequence[Any] | None) -> str:
    """An example as one line of YAML."""
    text = yaml.safe_dump(
        (examples or [""])[0], default_flow_style=True, width=10_000, sort_keys=False
    )
    return text.removesuffix("...\n").strip()


def stale(root: Path) -> list[str]:
    """The files that are not what the model says."""
    return [
        str(path)
        for path, text in ((SCHEMA, schema()), (PAGE, page()))
        if not (root / path).exists() or (root / path).read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str] | None = None) -> int:
    """Write both files, or say which one is stale."""
    parser = argparse.ArgumentParser(prog="python -m workflow.schema", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail where a file is stale"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="of the checkout")
    options = parser.parse_args(arguments)
    if options.check:
        found = stale(options.root)
        for path in found:
            print(
                f"error: {path} is not what the model in workflow/plan says: run python -m"
                " workflow.schema",
                file=sys.stderr,
            )
        return 1 if found else 0
    for file, text in ((SCHEMA, schema()), (PAGE, page())):
        (options.root / file).parent.mkdir(exist_ok=True)
        (options.root / file).write_text(text, encoding="utf-8")
        print(f"wrote {file}", file=sys.stderr)
    return 0
