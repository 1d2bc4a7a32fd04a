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
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

from workflow import ROOT

PACKAGES = ("algorithms", "problems", "workflow")
DOMAINS = {"Box", "Arms"}  # those of algorithms/api.py
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")  # where statements stand


def digest(modules: Collection[str], parameters: Mapping[str, object], *, root: Path = ROOT) -> str:
    """sha256 over the parameters and the contents of all repository modules that `modules` reach.

    Raises LookupError where there is no such module, or where some import each other in a circle.
    """
    if missing := sorted(module for module in modules if module_file(root, module) is None):
        raise LookupError(f"expected a module {missing[0]} below {root}, found none")
    total = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    reached = sorted(reach(modules, root=root))
    for content in sorted({_content(root, module) for module in reached}):
        total.update(content)
    return total.hexdigest()


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
        known = module.split(".")[0] in PACKAGES and module_file(root, module) is not None
        if module in seen or not known:
            continue
        seen.add(module)
        waiting.extend(_with_packages(module))
        waiting.extend(target for _, _, target in _tree(root, module)[1])
    return frozenset(seen)


@cache
def module_file(root: Path, module: str) -> Path | None:
    """The file of a module of this repository, or of a package's `__init__`; None without one."""
    stem = root.joinpath(*module.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.exists():
            return path
    return None


def _with_packages(module: str) -> list[str]:
    """a.b.c and the packages a and a.b, whose `__init__` runs when it is imported."""
    parts = module.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


# The modules whose content is being computed, each imported by the one before it.
_under_way: list[str] = []


@cache
def _content(root: Path, module: str) -> bytes:
    """The digest of a module's content and of all that it imports, but for packages around it."""
    if module in _under_way:
        circle = " -> ".join([*_under_way[_under_way.index(module) :], module])
        raise LookupError(f"expected imports that go down, got a circle: {circle}")
    tree, imports = _tree(root, module)
    _under_way.append(module)
    try:
        lines = sorted((bound, name, _content(root, place)) for bound, name, place in imports)
    finally:
        _under_way.pop()
    return hashlib.sha256(tree + repr(lines).encode()).digest()


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
            place = ("", inner) if module_file(self.root, inner) else (alias.name, node.module)
            self.found.add((alias.asname or alias.name, *place))
        return None

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:]
        for name in BODIES:
            if isinstance(inside := getattr(node, name, None), list):
                setattr(node, name, [kept for one in inside if (kept := self.visit(one))])
        return node


@cache
def _tree(root: Path, module: str) -> tuple[bytes, frozenset[tuple[str, str, str]]]:
    """The rest of a module's syntax tree, dumped, and its imports of this repository, as `_Imports`
    has them.
    """
    path = module_file(root, module)
    if path is None:
        raise LookupError(f"expected a module {module} below {root}, found none")
    imports = _Imports(root)
    # its own: it is changed
    tree = imports.visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return ast.dump(tree).encode(), frozenset(imports.found)


def domains_of(name: str, *, root: Path = ROOT) -> set[str]:
    """The names in `domains = (...)` of the classes in the file of an optimizer, from its syntax
    tree.
    """
    path = module_file(root, f"algorithms.{name.partition('.')[0]}")
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path else ()
    lines = [ast.unparse(node) for node in nodes if isinstance(node, ast.Assign | ast.AnnAssign)]
    said = [line.partition("=")[2] for line in lines if re.match(r"domains\b", line)]
    return DOMAINS.intersection(re.findall(r"\w+", " ".join(said)))


@cache
def domains_of_problems(name: str, *, root: Path = ROOT) -> set[str]:
    """The names of the domains that the problems of a file have: of whatever it calls and passes as
    `domain=`.
    """
    given = _passed(root, f"problems.{name.partition('.')[0]}", "domain")
    calls = [value.func for value in given if isinstance(value, ast.Call)]
    return {ast.unparse(called).rpartition(".")[2] for called in calls}


@cache
def reveals_of(name: str, *, root: Path = ROOT) -> set[str]:
    """What the problems of a file reveal: the keys of every dict literal that it passes as
    `reveals=`.
    """
    given = _passed(root, f"problems.{name.partition('.')[0]}", "reveals")
    dicts = [value for value in given if isinstance(value, ast.Dict)]
    return {str(ast.literal_eval(key)) for value in dicts for key in value.keys if key}


def _passed(root: Path, module: str, keyword: str) -> list[ast.expr]:
    """What the calls in a module pass by some keyword; nothing where there is no such module."""
    path = module_file(root, module)
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path else ()
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return [one.value for call in calls for one in call.keywords if one.arg == keyword]
