"""YAML that is JSON, and the line on which each of its values stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

YAML_TAG = "tag:yaml.org,2002:"
PLAIN = ("str", "int", "float", "bool", "null", "map", "seq", "merge")  # what JSON can say, too
MOST_LEVELS = 100
MOST_VALUES = 1_000_000  # in one file, its aliases written out
Path = Sequence[str | int]  # keys and positions from the document to a value


@dataclass(frozen=True)
class Source:
    """A document as it stands in its file."""

    document: yaml.Node | None = None

    def line(self, path: Path) -> int:
        """The line, from 1, of a key or a value; of the nearest thing around it that there is.

        What an alias or a merge brings in stands where the anchor is.
        """
        node, found = self.document, self.document
        for step in path:
            if isinstance(node, yaml.MappingNode):
                # the last one wins: what a merge brings in comes first
                keys = [pair for pair in node.value if pair[0].value == step]
                if not keys:
                    break
                found, node = keys[-1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                if step >= len(node.value):
                    break
                found = node = node.value[step]
            else:
                break
        return 1 if found is None else int(found.start_mark.line) + 1


def load(text: str) -> tuple[Any, Source]:
    """What a file says, and where. Raises yaml.YAMLError."""
    try:
        _check_levels(text)
    except (yaml.reader.ReaderError, yaml.scanner.ScannerError, yaml.parser.ParserError):
        list(yaml.parse(text, yaml.SafeLoader))  # slower, and says more of what is wrong
        raise
    loader = StrictLoader(text)
    try:
        document = loader.get_single_node()
        entry = None if document is None else loader.construct_document(document)
    finally:
        loader.dispose()
    return entry, Source(document)


def _check_levels(text: str) -> None:
    """Raises ConstructorError for what the parser in C would follow until the process is ended."""
    levels = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        levels += isinstance(event, yaml.CollectionStartEvent)
        levels -= isinstance(event, yaml.CollectionEndEvent)
        if levels > MOST_LEVELS:
            raise _refusal("expected a few levels, got brackets nested too deep", event)


def _refusal(says: str, node: Any) -> yaml.constructor.ConstructorError:
    """What is wrong at a node or an event."""
    return yaml.constructor.ConstructorError(None, None, says, node.start_mark)


def _shown(key: yaml.Node) -> str:
    """A key that is no name, for people."""
    return (
        f"{key.value} ({key.tag.removeprefix(YAML_TAG)})"
        if isinstance(key.value, str)
        else "a list or a mapping"
    )


class StrictLoader(yaml.CSafeLoader):
    """YAML that is JSON: no key given twice (a merge, <<, may repeat one), no dates or bytes,
    nothing that contains itself.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.merged: set[int] = set()
        self.sizes: dict[int, int] = {}

    def get_single_node(self) -> yaml.Node | None:
        """The document, checked before anything is made of it."""
        document = super().get_single_node()
        if document is not None:
            self._size(document, frozenset())
        return document

    def _size(self, node: yaml.Node, within: frozenset[int]) -> int:
        """How many values a node stands for, every alias written out. Raises ConstructorError."""
        if id(node) in self.sizes:
            return self.sizes[id(node)]
        if node.tag.removeprefix(YAML_TAG) not in PLAIN:
            kind = node.tag.removeprefix(YAML_TAG)
            raise _refusal(
                f"expected text, a number, a list or a mapping, got a {kind}: quote it", node
            )
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        for key, _ in pairs:
            if key.tag.removeprefix(YAML_TAG) not in ("str", "merge"):
                raise _refusal(f"expected a name as key, got {_shown(key)}: quote it", key)
        parts = node.value if isinstance(node, yaml.SequenceNode) else [value for _, value in pairs]
        inside = within | {id(node)}
        if any(id(part) in inside for part in parts):
            raise _refusal("expected an alias of something else, got one of what contains it", node)
        self.sizes[id(node)] = size = 1 + sum(self._size(part, inside) for part in parts)
        if size > MOST_VALUES:
            raise _refusal(
                f"expected at most {MOST_VALUES} values, got aliases of aliases that stand for"
                " more",
                node,
            )
        return size

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [key.value for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1 and key != "<<"}
        if twice and id(node) not in self.merged:
            names = ", ".join(sorted(twice))
            raise _refusal(f"key given twice: {names}", node)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        self.merged.add(id(node))
