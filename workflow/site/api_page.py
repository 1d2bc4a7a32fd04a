"""The reference of the library in Markdown: each public name of `noregret`, how it is called, and
its docstring.

The sources are parsed and not imported, so that pages are made without any numerical library.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = "noregret/__init__.py"  # names everything public, and the module that has it
ARGUMENT = re.compile(r"^(\w+(?:, \w+)*): ", re.MULTILINE)
PRIVATE = re.compile(r"\bself(, )?|\b_\w+: \w+=\w+, ")  # of arguments: what no caller gives
NEXT = re.compile(r", (?=\*,|\**\w+: )")  # between two arguments
WIDTH = 80  # letters of a line of code
HEAD = """# Reference of the library

Every public name of `noregret`, with its docstring. [The library](../docs/library.md) says how they
work together.
"""


def text(root: Path) -> str:
    """The whole page, of the package below a root: functions, then what they return or raise."""
    package, nodes = ast.parse((root / SOURCE).read_text(encoding="utf-8")), []
    lists = [line for line in package.body if isinstance(line, ast.Assign)]
    (public,) = [line.value for line in lists if ast.unparse(line.targets[0]) == "__all__"]
    names = ast.literal_eval(public)
    for line in ast.walk(package):
        if isinstance(line, ast.ImportFrom) and (line.module or "").startswith("noregret."):
            home = root.joinpath(*str(line.module).split(".")).with_suffix(".py")
            for node in ast.parse(home.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
                    nodes.append(node)
    nodes.sort(key=lambda node: isinstance(node, ast.ClassDef))
    return "\n".join([HEAD, *(part for node in nodes for part in _parts(node, node.name, "##"))])


def _parts(node: ast.FunctionDef | ast.ClassDef, name: str, level: str) -> Iterator[str]:
    """A function; a class, then what it offers."""
    said = ARGUMENT.sub(r"- `\1`: ", ast.get_docstring(node) or "")
    yield f"{level} {name}\n\n{_called(node, name)}{said}\n"
    for member in node.body if isinstance(node, ast.ClassDef) else ():
        if not isinstance(member, ast.FunctionDef) or member.name.startswith("_"):
            continue
        if ast.get_docstring(member):
            yield from _parts(member, f"{name}.{member.name}", f"{level}#")


def _called(node: ast.FunctionDef | ast.ClassDef, name: str) -> str:
    """The arguments of a function and their defaults, as code."""
    if isinstance(node, ast.ClassDef) or "property" in map(ast.unparse, node.decorator_list):
        return ""
    arguments = PRIVATE.sub("", ast.unparse(node.args)).replace("=", " = ")
    if len(name) + len(arguments) > WIDTH:
        arguments = "\n    " + NEXT.sub(",\n    ", arguments) + ",\n"
    return f"```python\n{name}({arguments})\n```\n\n"
