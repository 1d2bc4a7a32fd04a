"""A digest of the code that a run reaches: editing one algorithm reruns its runs, editing a comment
none, nor moving a file.

A module counts by its content: its syntax tree without docstrings, in which the name of each module
of this repository that it imports is replaced by the digest of that module. So the names in a
digest are those of other libraries and what the parameters say (`is: bkb.BKB`). A process reads and
parses a file once, since the plan of a large paper asks for the same few thousands of times; nobody
changes the sets that are returned.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from workflow import ROOT

PACKAGES = ("algorithms", "problems", "workflow")


def digest(modules: Iterable[str], parameters: Mapping[str, object], *, root: Path = ROOT) -> str:
    """sha256 over the parameters and the contents of all repository modules that `modules` reach.

    Raises LookupError where there is no such module, or where modules import each other in a
    circle.
    """
    total = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    for content in sorted(
        {_content(root, part) for module in modules for part in _with_packages(module)}
    ):
        total.update(content)
    return total.hexdigest()


def with_data(code: str, data_sha256: str) -> str:
    """The digest of a run: code, parameters and data; other data make another run."""
    return hashlib.sha256(f"{code}{data_sha256}".encode()).hexdigest()


def reach(modules: Iterable[str], *, root: Path = ROOT) -> set[str]:
    """The repository modules imported, directly or not, by `modules`; packages count through their
    __init__.
    """
    return set().union(*(_reach(root, module) for module in modules))


@cache
def _reach(root: Path, module: str) -> frozenset[str]:
    """What one module reaches, itself among it."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        module = waiting.pop()
        if module in seen or module.split(".")[0] not in PACKAGES or _file(root, module) is None:
            continue
        seen.add(module)
        waiting.extend(_with_packages(module))
        waiting.extend(target for _, _, target in _tree(root, module)[1])
    return frozenset(seen)


@cache
def _file(root: Path, module: str) -> Path | None:
    stem = root.joinpath(*module.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.exists():
            return path
    return None


def _with_packages(module: str) -> list[str]:
    """a.b.c and the packages a and a.b, whose `__init__` runs when it is imported."""
    parts = module.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


_under_way: list[
    str
] = []  # the modules whose content is being computed, each imported by the one before it


@cache
def _content(root: Path, module: str) -> bytes:
    """The digest of a module's content and of all that it imports."""
    if module in _under_way:
        circle = " -> ".join([*_under_way[_under_way.index(module) :], module])
        raise LookupError(f"expected imports that go down, got a circle: {circle}")
    tree, imports = _tree(root, module)
    _under_way.append(module)
    try:
        lines = [
            (
                bound,
                name,
                [
                    _content(root, part)
                    for part in _with_packages(target)
                    if not f"{module}.".startswith(f"{part}.")
                ],
            )
            for bound, name, target in imports
        ]
    finally:
        _under_way.pop()
    return hashlib.sha256(tree + repr(sorted(lines)).encode()).digest()


class _Imports(ast.NodeTransformer):
    """Takes docstrings and imports of this repository out of a tree; keeps of each import (bound
    name, name, module).
    """

    def __init__(self, root: Path) -> None:
        self.root, self.found = root, set[tuple[str, str, str]]()

    def visit_Import(self, node: ast.Import) -> ast.Import | None:
        ours = [alias for alias in node.names if alias.name.split(".")[0] in PACKAGES]
        self.found |= {(alias.asname or alias.name, "", alias.name) for alias in ours}
        node.names = [alias for alias in node.names if alias not in ours]
        return node if node.names else None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        if not node.module or node.module.split(".")[0] not in PACKAGES:
            return node
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            place = ("", inner) if _file(self.root, inner) else (alias.name, node.module)
            self.found.add((alias.asname or alias.name, *place))
        return None

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:]
        return super().generic_visit(node)


@cache
def _tree(root: Path, module: str) -> tuple[bytes, frozenset[tuple[str, str, str]]]:
    """The rest of a module's syntax tree, dumped, and its imports of this repository, as `_Imports`
    has them.
    """
    path = _file(root, module)
    if path is None:
        raise LookupError(f"expected a module {module} below {root}, found none")
    imports = _Imports(root)
    # its own: it is changed
    tree = imports.visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return ast.dump(tree).encode(), frozenset(imports.found)


@cache
def parameters_of(name: str, package: str, *, root: Path = ROOT) -> tuple[set[str], set[str]]:
    """(required, all) keyword-only parameters of `module.Class` or `module.function`, from the
    syntax tree.

    Read without importing: a plan of thousands of runs must not load torch. Raises LookupError when
    there is none.
    """
    module, _, wanted = name.partition(".")
    path = _file(root, f"{package.replace('/', '.')}.{module}")
    if path is None:
        known = sorted(
            found.stem
            for found in (root / package).glob("*.py")
            if found.stem != "api" and not found.stem.startswith("_")
        )
        raise LookupError(f"no file {package}/{module}.py; known: {', '.join(known)}")
    for node in ast.parse(path.read_text(), str(path)).body:
        if isinstance(node, ast.FunctionDef) and node.name == wanted:
            return _keywords(node)
        if isinstance(node, ast.ClassDef) and node.name == wanted:
            inits = [
                item
                for item in node.body
                if isinstance(item, ast.FunctionDef) and item.name == "__init__"
            ]
            return _keywords(inits[0]) if inits else (set(), set())
    raise LookupError(f"no {wanted} in {package}/{module}.py")


def domains_of(name: str, *, root: Path = ROOT) -> set[str]:
    """The names in `domains = (...)` of an optimizer class, from the syntax tree."""
    module, _, wanted = name.partition(".")
    path = _file(root, f"algorithms.{module}")
    if path is None:
        raise LookupError(f"no file algorithms/{module}.py")
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name == wanted:
            for item in node.body:
                if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "domains":
                    return {
                        found.id for found in ast.walk(item.value) if isinstance(found, ast.Name)
                    }
    raise LookupError(
        f"expected `domains = (...)` in class {wanted} of algorithms/{module}.py, found none"
    )


@cache
def reveals_of(name: str, *, root: Path = ROOT) -> set[str]:
    """What the problems of a file reveal: the keys of every dict literal that it passes as
    `reveals=`.
    """
    path = _file(root, f"problems.{name.partition('.')[0]}")
    calls = (
        [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        if path
        else []
    )
    given = [
        keyword.value for call in calls for keyword in call.keywords if keyword.arg == "reveals"
    ]
    dicts = [value for value in given if isinstance(value, ast.Dict)]
    return {str(ast.literal_eval(key)) for value in dicts for key in value.keys if key}


def _keywords(function: ast.FunctionDef) -> tuple[set[str], set[str]]:
    arguments = function.args
    names = {argument.arg for argument in arguments.kwonlyargs}
    required = {
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    }
    return required, names
