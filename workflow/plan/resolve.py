"""One entry of a paper's YAML, resolved and checked: every configuration error is raised here,
before any job.

Constructor signatures come from syntax trees, so that planning thousands of runs imports no
numerical library.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from workflow import ROOT
from workflow.plan import digest as code

MISSING = "none"  # the version of a library that is not installed
YAML_TAG = "tag:yaml.org,2002:"
PLAIN = ("str", "int", "float", "bool", "null", "map", "seq", "merge")  # what JSON can say, too
MOST_VALUES = 1_000_000  # in one paper's YAML, its aliases written out
# keys of an entry that are no parameter
RESERVED = {
    "is",
    "data",
    "budget",
    "seeds",
    "room",
    "init",
    "execution",
    "given",
    "optimum",
    "libraries",
    "simulator",
    "substitute",
    "timeout",
}


class PlanError(ValueError):
    """A mistake in papers/*.yaml or on the command line: the message says where, expected,
    and got.
    """


def read(name: str, root: Path = ROOT) -> dict[str, Any]:
    """One paper's YAML, checked against workflow/schema.json. Raises PlanError."""
    path = root / "papers" / f"{name}.yaml"
    if name not in papers(root):
        raise PlanError(f"unknown paper {name!r}; known: {', '.join(papers(root))}")
    try:
        entry = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except yaml.YAMLError as error:
        raise PlanError(f"papers/{name}.yaml is no valid YAML: {error}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        wrong = (
            f"line {line}: expected text in UTF-8, got the byte {error.object[error.start]:#04x}"
        )
        raise PlanError(
            f"papers/{name}.yaml is no valid YAML: {wrong}: save the file as UTF-8"
        ) from None
    except RecursionError:
        raise PlanError(
            f"papers/{name}.yaml is no valid YAML: expected a few levels, got brackets nested too"
            " deep"
        ) from None
    schema = json.loads((ROOT / "workflow" / "schema.json").read_text())
    mistakes = sorted(
        jsonschema.Draft202012Validator(schema).iter_errors(entry),
        key=lambda mistake: mistake.json_path,
    )
    if mistakes:
        lines = [f"  at {mistake.json_path}: {mistake.message}" for mistake in mistakes[:10]]
        raise PlanError(
            "\n".join([f"papers/{name}.yaml does not follow workflow/schema.json:", *lines])
        )
    return entry


def papers(root: Path = ROOT) -> list[str]:
    """The names of all papers that have a YAML; a file that begins with `_` is a template."""
    return sorted(
        path.stem
        for path in (root / "papers").glob("*.yaml")
        if path.stem not in ("costs", "findings") and not path.stem.startswith("_")
    )


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds from "3" or "0-9". Raises PlanError."""
    match = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", str(text))
    if match is None:
        raise PlanError(
            f"seeds: expected a number or a range such as 0-9, of six digits at most, got {text!r}"
        )
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise PlanError(f"seeds: expected a rising range, got {text!r}")
    return tuple(range(first, last + 1))


def seed_range(seeds: Iterable[int]) -> str:
    """The inverse of parse_seeds for consecutive seeds."""
    ordered = sorted(seeds)
    return f"{ordered[0]}-{ordered[-1]}" if len(ordered) > 1 else str(ordered[0])


def own_parameters(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What an entry passes to its constructor."""
    return {key: value for key, value in entry.items() if key not in RESERVED}


def targets(parameters: object) -> set[str]:
    """Every `is:` in the parameters of a study, however deep: the optimizers that it builds by
    name.
    """
    if not isinstance(parameters, Mapping):
        return set()
    own = {parameters["is"]} if "is" in parameters else set()
    return own.union(*(targets(value) for value in parameters.values()))


def problem_identity(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a problem contributes to a digest: its entry, and the versions of the libraries that its
    values belong to.
    """
    # it decides when to give up, no value
    values = {key: value for key, value in entry.items() if key != "timeout"}
    identity = {
        "problem": values,
        "libraries": {name: installed(name) for name in entry.get("libraries", [])},
    }
    return (
        {**identity, "simulator": source_sha256(entry["simulator"])}
        if "simulator" in entry
        else identity
    )


def source_sha256(simulator: str) -> str:
    """Of the source of a simulator. Raises PlanError."""
    path = ROOT / "simulators" / f"{simulator}.cc"
    if not path.exists():
        known = ", ".join(sorted(found.stem for found in path.parent.glob("*.cc"))) or "none"
        raise PlanError(f"unknown simulator {simulator!r}; known: {known}")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def installed(library: str) -> str:
    """The version of a library here; MISSING where it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return MISSING


def overrides(changes: Mapping[str, Mapping], key: str, known: set[str]) -> dict[str, Any]:
    """What a reading changes for one entry: "*" reaches whoever has the parameter, a name must have
    it.
    """
    everyone = {name: value for name, value in changes.get("*", {}).items() if name in known}
    return {**everyone, **changes.get(key, {})}


def value_for(value: Any, problem: str, problems: Mapping, published: int, where: str) -> Any:
    """One parameter for one problem: a mapping over problems is looked up, T and 1/T become the
    published horizon.
    """
    if isinstance(value, dict) and set(value) & set(problems):
        if problem not in value:
            raise PlanError(f"{where}: expected a value for problem {problem!r}, got {value}")
        value = value[problem]
    return (
        {"T": published, "1/T": 1 / published}.get(value, value)
        if isinstance(value, str)
        else value
    )


def with_given(
    raw: Mapping[str, Any],
    given: Mapping[str, str],
    problem: str,
    problems: Mapping,
    known: set[str],
) -> dict[str, Any]:
    """An algorithm's entry with what the problem gives to whoever has such a parameter and no own
    value for this problem.
    """

    def lacks(name: str) -> bool:
        value = raw.get(name)
        return name not in raw or (
            isinstance(value, dict) and bool(set(value) & set(problems)) and problem not in value
        )

    return {
        **raw,
        **{name: {"given": what} for name, what in given.items() if name in known and lacks(name)},
    }


def check_given(problem: Mapping[str, Any], where: str, root: Path) -> None:
    """Refuse a `given:` that names what the problem does not reveal."""
    if "given" not in problem:
        return
    known = code.reveals_of(problem["is"], root=root)
    if unknown := sorted(set(problem["given"].values()) - known):
        raise PlanError(
            f"{where}: `given` names {', '.join(unknown)}; {problem['is']} reveals"
            f" {', '.join(sorted(known)) or 'nothing'}"
        )


def check_execution(algorithm: Mapping[str, Any], problem: Mapping[str, Any], where: str) -> None:
    """Refuse an unknown way of execution, and workers without a number."""
    execution = algorithm.get("execution", problem.get("execution", "batch"))
    room = algorithm.get("room", problem["room"])
    if execution not in ("batch", "async"):
        raise PlanError(f"{where}: expected execution batch or async, got {execution!r}")
    if execution == "async" and room == "unlimited":
        raise PlanError(
            f"{where}: expected a number of workers as `room` of execution async, got unlimited"
        )


def parameters(target: str, package: str, where: str, root: Path) -> tuple[set[str], set[str]]:
    try:
        return code.parameters_of(target, package, root=root)
    except LookupError as error:
        raise PlanError(f"{where}: `is: {target}`: {error.args[0]}") from None


def check(entry: Mapping, known: tuple[set[str], set[str]], supplied: set[str], where: str) -> None:
    """Names of parameters against a constructor; `supplied` are filled in by the runner."""
    required, names = known
    given = set(entry) - RESERVED
    if unknown := (given | set(entry.get("substitute", {}))) - names:
        raise PlanError(
            f"{where}: unknown parameter {', '.join(sorted(unknown))} of {entry['is']}; "
            f"known: {', '.join(sorted(names)) or 'none'}"
        )
    if missing := required - given - supplied:
        raise PlanError(f"{where}: missing parameter {', '.join(sorted(missing))} of {entry['is']}")
    if "data" in names and "data" not in entry:
        raise PlanError(
            f"{where}: {entry['is']} reads a data set: add a line `data: NAME` (data/manifest.yaml"
            " lists the names)"
        )
    if "simulator" in entry and "simulator" not in names:
        raise PlanError(
            f"{where}: {entry['is']} runs no simulator: leave out `simulator: {entry['simulator']}`"
        )


def chosen(kind: str, names: Iterable[str], known: Mapping, paper: str) -> list[str]:
    for name in names:
        if name not in known:
            raise PlanError(
                f"papers/{paper}.yaml: unknown {kind} {name!r}; known: {', '.join(known)}"
            )
    return list(names)


def _refusal(says: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, says, node.start_mark)


def _shown(key: yaml.Node) -> str:
    """A key that is no name, for people."""
    return (
        f"{key.value} ({key.tag.removeprefix(YAML_TAG)})"
        if isinstance(key.value, str)
        else "a list or a mapping"
    )


class _StrictLoader(yaml.SafeLoader):
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
