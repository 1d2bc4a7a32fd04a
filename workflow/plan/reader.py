"""A paper's YAML, read and checked against its typed model. Each mistake is one sentence: file,
line, place, what was expected, what was found, and the nearest known name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from workflow import ROOT
from workflow.plan.exhibits import REGISTRY
from workflow.plan.model import Paper, known_names
from workflow.plan.nearest import nearest, or_nearest
from workflow.plan.resolve import papers, planned
from workflow.trace.curves import PlanError

Steps = Sequence[str | int]  # keys and positions from the whole file to a value
YAML_TAG = "tag:yaml.org,2002:"
PLAIN = ("str", "int", "float", "bool", "null", "map", "seq", "merge")  # what JSON can say, too
MOST_VALUES = 1_000_000  # in one file, its aliases written out
# what the parser in C would follow until the process is ended
TOO_DEEP = re.compile(r"(?:[\[{]\s*){100}|(?:[-?]\s+){100}")
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
    "withdrawn": "line of withdrawn claims",
    "assumptions": "assumption",
    "deviations": "deviation",
    "errata": "erratum",
} | {name: kind.one for name, kind in REGISTRY.items()}
EXPECTED = {  # what pydantic calls what is wrong: what was expected
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "dict_type": "keys with values",
    "list_type": "a list",
    "string_type": "words",
}


def line_of(source: yaml.Node | None, path: Steps) -> int:
    """The line, from 1, of a key or a value; of the nearest thing around it that there is.

    What an alias or a merge brings in stands where the anchor is.
    """
    node, nearest = source, source
    for step in path:
        if isinstance(node, yaml.MappingNode):
            # the last one wins: what a merge brings in comes first
            keys = [pair for pair in node.value if pair[0].value == step]
            if not keys:
                break
            nearest, node = keys[-1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            if step >= len(node.value):
                break
            nearest = node = node.value[step]
        else:
            break
    return 1 if nearest is None else int(nearest.start_mark.line) + 1


@dataclass(frozen=True)
class Document:
    """What a paper's YAML says, as it stands there, and on which lines; of a comparison also what
    the papers say that it borrows from, each read once.
    """

    name: str
    entry: dict[str, Any]
    source: yaml.Node | None
    lenders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def where(self, *path: str | int) -> str:
        """File, line and place of something, as errors begin."""
        file = f"papers/{self.name}.yaml"
        if not path:
            return file
        return f"{file}, line {line_of(self.source, path)}, {place(self.entry, path)}"


def read(name: str, root: Path = ROOT) -> dict[str, Any]:
    """One paper's YAML, checked. Raises PlanError."""
    return document(name, root).entry


def document(name: str, root: Path = ROOT) -> Document:
    """One paper's YAML with its lines, checked. Raises PlanError."""
    path = root / "papers" / f"{name}.yaml"
    if name not in (known := planned(root)):
        raise PlanError(f"unknown paper {name!r}{or_nearest(name, known)}")
    file = f"papers/{name}.yaml"
    try:
        entry, source = load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise PlanError(f"{file} is no valid YAML: {error}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = error.object[error.start]
        raise PlanError(
            f"{file} is no valid YAML: line {line}: expected text in UTF-8, got the byte"
            f" {byte:#04x}: save the file as UTF-8"
        ) from None
    check(file, entry, source)
    whole = Document(name, entry, source)
    return _with_borrowed(whole, root) if "borrows" in entry else whole


def _with_borrowed(document: Document, root: Path) -> Document:
    """A comparison with the problems that it borrows, as they stand in their papers. Raises
    PlanError.
    """
    entry, problems = document.entry, dict(document.entry.get("problems", {}))
    lenders: dict[str, dict[str, Any]] = {}
    for lender, line in entry["borrows"].items():
        where = document.where("borrows", lender)
        if lender not in (known := papers(root)):
            raise PlanError(f"{where}: unknown paper {lender!r}{or_nearest(lender, known)}")
        lenders[lender] = read(lender, root)
        there = lenders[lender]["problems"]
        for name in line["problems"]:
            if name not in there:
                raise PlanError(f"{where}: unknown problem {name!r}{or_nearest(name, there)}")
            if name in problems:
                raise PlanError(f"{where}: expected every problem once, got {name!r} twice")
            problems[name] = there[name]
    return replace(document, entry={**entry, "problems": problems}, lenders=lenders)


# YAML that is JSON


def load(text: str) -> tuple[Any, yaml.Node | None]:
    """What a file says, and where: no key given twice (a merge, <<, may repeat one), no dates or
    bytes, nothing that contains itself. Raises yaml.YAMLError.
    """
    loader = yaml.CSafeLoader(text)
    try:
        if TOO_DEEP.search(text):
            raise RecursionError
        document = loader.get_single_node()
        if document is None:
            return None, None
        _check_node(document, frozenset(), {})
        return loader.construct_document(document), document
    except RecursionError:
        raise yaml.YAMLError("expected a few levels, got brackets nested too deep") from None
    finally:
        loader.dispose()


def _check_node(node: yaml.Node, within: frozenset[int], sizes: dict[int, int]) -> int:
    """How many values a node stands for, every alias written out. Raises ConstructorError."""
    if id(node) in sizes:
        return sizes[id(node)]
    if (kind := node.tag.removeprefix(YAML_TAG)) not in PLAIN:
        raise _refusal(
            f"expected text, a number, a list or a mapping, got a {kind}: quote it", node
        )
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    keys = set[str]()
    for key, _ in pairs:
        if (kind := key.tag.removeprefix(YAML_TAG)) not in ("str", "merge"):
            is_text = isinstance(key.value, str)
            shown = f"{key.value} ({kind})" if is_text else "a list or a mapping"
            raise _refusal(f"expected a name as key, got {shown}: quote it", key)
        if kind == "str" and key.value in keys:
            raise _refusal(f"key given twice: {key.value}", key)
        keys.add(key.value)
    parts = node.value if isinstance(node, yaml.SequenceNode) else [value for _, value in pairs]
    inside = within | {id(node)}
    if any(id(part) in inside for part in parts):
        raise _refusal("expected an alias of something else, got one of what contains it", node)
    sizes[id(node)] = size = 1 + sum(_check_node(part, inside, sizes) for part in parts)
    if size > MOST_VALUES:
        raise _refusal(
            f"expected at most {MOST_VALUES} values, got aliases of aliases that stand for more",
            node,
        )
    return size


def _refusal(says: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, says, node.start_mark)


# One sentence a mistake


def check(file: str, entry: object, source: yaml.Node | None) -> None:
    """Refuse what the model does not know. Raises PlanError of at most ten sentences."""
    if not isinstance(entry, Mapping):
        said = "nothing" if entry is None else f"a {type(entry).__name__}"
        raise PlanError(f"{file}, line 1: expected keys such as paper, scales and runs, got {said}")
    try:
        Paper.model_validate(entry, context=known_names(entry))
    except ValidationError as error:
        mistakes = [_told(entry, each) for each in error.errors()]
        sentences = dict.fromkeys(
            f"{file}, line {line_of(source, path)}, {place(entry, path)}: {words}"
            for path, words in mistakes
        )
        more = [f"{file}: {len(sentences) - MOST} more mistakes"] * (len(sentences) > MOST)
        raise PlanError("\n".join([*list(sentences)[:MOST], *more])) from None


def place(entry: object, path: Steps) -> str:
    """Where something stands, for people: `figure fig1, panels[0].metric`."""
    if not path:
        return "the whole file"
    section, rest = str(path[0]), list(path[1:])
    one = SINGULAR.get(section)
    if one is None or not rest:
        return _dotted(path)
    lines = entry.get(section) if isinstance(entry, Mapping) else None
    name = str(rest[0])
    if isinstance(rest[0], int):
        line = lines[rest[0]] if isinstance(lines, list) and rest[0] < len(lines) else None
        named = line.get("id") if isinstance(line, Mapping) else None
        name = str(named) if isinstance(named, str) else f"number {rest[0] + 1}"
    return f"{one} {name}" + (f", {_dotted(rest[1:])}" if rest[1:] else "")


def _dotted(path: Steps) -> str:
    said = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return said.removeprefix(".")


def _told(entry: object, error: ErrorDetails) -> tuple[Steps, str]:
    """Where a mistake is, and what pydantic says of it in our words."""
    path, value, kind = _path(entry, error["loc"]), error["input"], error["type"]
    context: Mapping[str, Any] = error.get("ctx", {})
    match kind:
        case "missing":
            return path, f"expected a key `{error['loc'][-1]}`, got none"
        case "unknown_key":
            return (*path, context["key"]), context["words"]
        case "unknown_name":
            return path[:2], context["words"]
        case "refused":
            return path, context["words"]
        case "union_tag_not_found":
            return path, f"expected a key `{context['discriminator'].strip(chr(39))}`, got none"
        case "union_tag_invalid":
            key, wrong = context["discriminator"].strip("'"), context["tag"]
            tags = [tag.strip("' ") for tag in context["expected_tags"].split(",")]
            sentence = f"expected one of {', '.join(tags)}, got {_shown(wrong)}"
            return (*path, key), sentence + nearest(wrong, tags)
        case "too_short":
            least = context["min_length"]
            many = "one entry" if least == 1 else f"{least} entries"
            return path, f"expected at least {many}, got {_shown(value)}"
    expected = str(EXPECTED.get(kind) or context.get("words") or error["msg"])
    words = [word.strip("., ") for word in expected.removeprefix("one of ").split()]
    known = context.get("known") or [word for word in words if len(word) > 2]
    near = nearest(value, known) if isinstance(value, str) else ""
    return path, f"expected {expected}, got {_shown(value)}{near}"


def _path(entry: object, steps: Steps) -> tuple[str | int, ...]:
    """The keys and positions in the document of what pydantic has come to: it also names types on
    the way. The kind of a table may be the name of one of its keys.
    """
    path: list[str | int] = []
    value: Any = entry
    for step in (*steps[:2], *steps[3:]) if steps[:1] == ("tables",) else steps:
        is_key = isinstance(value, Mapping) and step in value
        if is_key or (isinstance(value, list) and isinstance(step, int)):
            value = value[step]
            path.append(step)
    return tuple(path)


def _shown(value: object) -> str:
    """A value as YAML has it, cut where it is long."""
    if value is None:
        return "nothing"
    said = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return said if len(said) <= LONG else f"{said[: LONG - 4]} ..."
