"""A digest of the code that a run reaches: editing one algorithm reruns its runs, editing a comment none.

A process reads and parses a file once, since the plan of a large paper asks for the same few thousands of times; nobody changes
the sets that are returned.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("algorithms", "problems", "workflow")


def digest(modules: Iterable[str], parameters: Mapping[str, object], *, root: Path = ROOT) -> str:
    """sha256 over the parameters and the syntax trees of all repository modules that `modules` reach."""
    total = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    for module in sorted(reach(modules, root=root)):
        total.update(module.encode())
        total.update(_tree(root, module)[0])
    return total.hexdigest()


def with_data(code: str, data_sha256: str) -> str:
    """The digest of a run: code, parameters and data; other data make another run."""
    return hashlib.sha256(f"{code}{data_sha256}".encode()).hexdigest()


def reach(modules: Iterable[str], *, root: Path = ROOT) -> set[str]:
    """The repository modules imported, directly or not, by `modules`; packages count through their __init__."""
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
        waiting.extend(_tree(root, module)[1])
        parent = module.rpartition(".")[0]
        if parent:
            waiting.append(parent)
    return frozenset(seen)


@cache
def _file(root: Path, module: str) -> Path | None:
    stem = root.joinpath(*module.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.exists():
            return path
    return None


@cache
def _tree(root: Path, module: str) -> tuple[bytes, tuple[str, ...]]:
    """The syntax tree of a module without docstrings, dumped, and the names that it imports."""
    path = _file(root, module)
    if path is None:
        raise LookupError(f"expected a module {module} below {root}, found none")
    tree = ast.parse(path.read_text(), str(path))  # its own: docstrings are taken out below
    imports: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree).encode(), tuple(imports)


@cache
def parameters_of(name: str, package: str, *, root: Path = ROOT) -> tuple[set[str], set[str]]:
    """(required, all) keyword-only parameters of `module.Class` or `module.function`, from the syntax tree.

    Read without importing: a plan of thousands of runs must not load torch. Raises LookupError when there is none.
    """
    module, _, wanted = name.partition(".")
    path = _file(root, f"{package.replace('/', '.')}.{module}")
    if path is None:
        known = sorted(found.stem for found in (root / package).glob("*.py") if found.stem not in ("__init__", "api"))
        raise LookupError(f"no file {package}/{module}.py; known: {', '.join(known)}")
    for node in ast.parse(path.read_text(), str(path)).body:
        if isinstance(node, ast.FunctionDef) and node.name == wanted:
            return _keywords(node)
        if isinstance(node, ast.ClassDef) and node.name == wanted:
            inits = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
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
                    return {found.id for found in ast.walk(item.value) if isinstance(found, ast.Name)}
    raise LookupError(f"expected `domains = (...)` in class {wanted} of algorithms/{module}.py, found none")


@cache
def reveals_of(name: str, *, root: Path = ROOT) -> set[str]:
    """What the problems of a file reveal: the keys of every dict literal that it passes as `reveals=`."""
    path = _file(root, f"problems.{name.partition('.')[0]}")
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)] if path else []
    given = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "reveals"]
    dicts = [value for value in given if isinstance(value, ast.Dict)]
    return {str(ast.literal_eval(key)) for value in dicts for key in value.keys if key}


def _keywords(function: ast.FunctionDef) -> tuple[set[str], set[str]]:
    arguments = function.args
    names = {argument.arg for argument in arguments.kwonlyargs}
    required = {
        argument.arg for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    }
    return required, names
