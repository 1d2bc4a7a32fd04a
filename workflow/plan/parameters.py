"""What constructors accept, read from syntax trees: names, types, and groups of settings.

A constructor takes keyword-only parameters. One whose annotation names a frozen dataclass is a
*group*: its value in a paper's YAML is a mapping of the dataclass's fields. Here a field is called
`group.field`; `flat` and `nested` translate between the two forms, so that readings, variants and
values by problem reach single fields.

Nothing is imported: a plan of thousands of runs must not load torch.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from workflow import ROOT
from workflow.plan.digest import module_file

PACKAGES = ("algorithms", "workflow.studies")  # where groups are defined
SEQUENCES = ("Sequence", "list", "tuple")
GIVEN = {"given"}  # the key of a value that the problem reveals


@dataclass(frozen=True)
class Parameter:
    """A parameter, or a field of a group: whether it has to be given, its annotation as text."""

    required: bool
    annotation: str


Signature = Mapping[str, Parameter]  # by flat names


@cache
def signature(name: str, package: str, *, root: Path = ROOT) -> Signature:
    """The keyword-only parameters of `module.Class` or `module.function` of a package; in the place
    of a group its fields.

    Raises LookupError where there is none.
    """
    module, _, wanted = name.partition(".")
    path = module_file(root, f"{package.replace('/', '.')}.{module}")
    if path is None:
        here = (root / package).glob("*.py")
        known = sorted(file.stem for file in here if file.stem != "api" and file.stem[0] != "_")
        raise LookupError(f"no file {package}/{module}.py; known: {', '.join(known)}")
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == wanted:
            return _keywords(node, tree, root)
        if isinstance(node, ast.ClassDef) and node.name == wanted:
            functions = [item for item in node.body if isinstance(item, ast.FunctionDef)]
            inits = [item for item in functions if item.name == "__init__"]
            return _keywords(inits[0], tree, root) if inits else {}
    raise LookupError(f"no {wanted} in {package}/{module}.py")


@cache
def draws_instance(name: str, *, root: Path = ROOT) -> bool:
    """Whether `module.function` of problems/ reads its first argument, the generator of an
    instance: then another seed is another problem.
    """
    module, _, wanted = name.partition(".")
    path = module_file(root, f"problems.{module}")
    tree = ast.parse(path.read_text(encoding="utf-8")) if path else ast.Module([], [])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == wanted and node.args.args:
            first = node.args.args[0].arg
            reads = (part for line in node.body for part in ast.walk(line))
            return any(
                isinstance(part, ast.Name) and part.id == first and isinstance(part.ctx, ast.Load)
                for part in reads
            )
    return False


def flat(values: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """The values with every group of `known` names taken apart.

    {"fit": {"steps": 3}} becomes {"fit.steps": 3} where "fit.steps" is known. A mapping that is no
    group, as values by problem are, stays whole.
    """
    groups = {name[:i] for name in known for i, letter in enumerate(name) if letter == "."}
    return _apart(values, lambda name, _: name in groups)


def dotted(values: Mapping[str, Any], problems: Iterable[str] = ()) -> dict[str, Any]:
    """The values with every mapping taken apart, whatever the constructor is.

    A mapping over some of `problems` holds values by problem and stays whole. In a curve these are
    looked up, so that what is still a mapping there is a group.
    """
    by_problem = set(problems)
    return _apart(values, lambda _, value: by_problem.isdisjoint(value))


def _apart(
    values: Mapping[str, Any], is_group: Callable[[str, Mapping], bool], above: str = ""
) -> dict[str, Any]:
    """The values by flat names, groups taken apart however deep they are."""
    apart: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping) and set(value) != GIVEN and is_group(name, value):
            apart |= _apart(value, is_group, f"{name}.")
        else:
            apart[name] = value
    return apart


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `flat`."""
    grouped: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        place = grouped
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = value
    return grouped


def wrong_type(value: Any, annotation: str) -> str:
    """What was expected instead of a value; "" where it fits, or the annotation says too little."""
    if isinstance(value, Mapping) and set(value) == GIVEN:
        return ""
    return "" if _fits(value, _parsed(annotation)) else annotation


@cache
def _parsed(annotation: str) -> ast.expr:
    return ast.parse(annotation, mode="eval").body


def _fits(value: Any, annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.BinOp):
        return _fits(value, annotation.left) or _fits(value, annotation.right)
    if isinstance(annotation, ast.Constant):
        return annotation.value is not None or value is None
    if isinstance(annotation, ast.Subscript):
        outer = ast.unparse(annotation.value)
        if outer == "Literal":
            return value in ast.literal_eval(ast.Tuple(_elements(annotation.slice), ast.Load()))
        if outer in SEQUENCES:
            inner = _elements(annotation.slice)
            if not isinstance(value, list | tuple):
                return False
            if outer == "tuple" and ast.unparse(inner[-1]) != "...":
                return len(value) == len(inner) and all(map(_fits, value, inner))
            return all(_fits(part, inner[0]) for part in value)
        return True
    plain = {
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool),
        "bool": isinstance(value, bool),
        "str": isinstance(value, str),
    }
    return plain.get(ast.unparse(annotation), True)


def _elements(inside: ast.expr) -> list[ast.expr]:
    return inside.elts if isinstance(inside, ast.Tuple) else [inside]


def _keywords(function: ast.FunctionDef, tree: ast.Module, root: Path) -> Signature:
    given = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    parameters: dict[str, Parameter] = {}
    for argument, default in given:
        parameters |= _parameter(argument.arg, default is None, argument.annotation, tree, root)
    return parameters


def _parameter(
    name: str, required: bool, annotation: ast.expr | None, tree: ast.Module, root: Path
) -> Signature:
    """One parameter; the fields of a group, which need a value only if the group does."""
    text = ast.unparse(annotation) if annotation else "Any"
    return {
        f"{name}.{field}": replace(one, required=required and one.required)
        for field, one in _fields(text, tree, root).items()
    } or {name: Parameter(required, text)}


def _fields(name: str, tree: ast.Module, root: Path) -> Signature:
    """The fields of a frozen dataclass that a module defines or imports by that name; {} if it has
    none.
    """
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            frozen = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
            lines = [item for item in node.body if frozen and isinstance(item, ast.AnnAssign)]
            parameters: dict[str, Parameter] = {}
            for line in lines:
                field, required = ast.unparse(line.target), line.value is None
                parameters |= _parameter(field, required, line.annotation, tree, root)
            return parameters
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGES):
            origin = {alias.asname or alias.name: alias.name for alias in node.names}.get(name)
            path = module_file(root, node.module) if origin and node.module else None
            if origin and path:
                source = ast.parse(path.read_text(encoding="utf-8"), str(path))
                return _fields(origin, source, root)
    return {}
