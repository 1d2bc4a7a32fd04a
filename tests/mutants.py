"""Plants bugs of one line, one at a time, and says which of them no test notices:
`python -m tests.mutants 1 8 algorithms/bbkb.py problems/rover.py` plants 8 by seed 1, in any module
of algorithms/ and problems/ where none is named. Nothing is written: a mutant lives in a forked
process, which runs the test files that name its module, its own first, until one fails.
"""

import ast
import copy
import os
import random
import re
import signal
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import tests.kernels  # noqa: F401  before NumPy

# isort: split
import gpytorch  # noqa: F401  once for all mutants
import pytest

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 300  # seconds for the tests of a mutant; one that takes longer is noticed
PAIRS = "Add Sub, Mult Div, Lt LtE, Gt GtE, Eq NotEq, And Or"
SWAPS = {getattr(ast, a): getattr(ast, b) for a, b in map(str.split, PAIRS.split(", "))}
SWAPS |= {b: a for a, b in SWAPS.items()}


def mistaken(node):
    """The node, now with a mistake; None where there is none to make."""
    match node:
        case ast.BinOp() | ast.BoolOp() if type(node.op) in SWAPS:
            node.op = SWAPS[type(node.op)]()
        case ast.Compare() if type(node.ops[0]) in SWAPS:
            node.ops[0] = SWAPS[type(node.ops[0])]()
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            node.value = 2 * node.value + 1
        case ast.UnaryOp(op=ast.USub()):
            node.op = ast.UAdd()
        case _:
            return None
    return node


def places(tree):
    """The expressions in functions, but for those of messages, in which a mistake can be made."""
    messages = [node for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.JoinedStr)]
    words = {id(inner) for node in messages for inner in ast.walk(node)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = [node for function in functions for line in function.body for node in ast.walk(line)]
    return [node for node in inner if id(node) not in words and mistaken(copy.deepcopy(node))]


def tests_of(path, name):
    """Test files: of the module, of what names it or its classes, of refusals and the contract."""
    tree = ast.parse(path.read_text())
    ours = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    words = "|".join([re.escape(name), *ours])
    named = rf"\b({words})\b|import [^\n]*\b{path.stem}\b|[\"'./ ]{path.stem}\.[A-Z]"
    own, shared = f"test_{path.stem}.py", ("test_refusals.py", "test_contract.py")
    rooms = [ROOT / "tests" / room for room in ("algorithms", "problems", "parity")]
    files = [file for room in rooms for file in sorted(room.rglob("test_*.py"))]
    found = [f for f in files if str(f).endswith((own, *shared)) or re.search(named, f.read_text())]
    return sorted(found, key=lambda file: file.name != own)


def killed(path, tree):
    """Whether a test fails with this tree in place of the module's."""
    if not (child := os.fork()):
        signal.alarm(LONGEST)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        code, known = compile(tree, str(path), "exec"), SourceFileLoader.get_code
        SourceFileLoader.get_code = lambda self, of: code if of == name else known(self, of)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
        os._exit(pytest.main([*options, *map(str, tests_of(path, name))]))
    return os.waitpid(child, 0)[1] != 0


def main(seed, number, *names):
    draw, survived = random.Random(seed), 0
    rooms = ROOT / "algorithms", ROOT / "problems"
    every = sorted(file for room in rooms for file in room.rglob("[!_]*.py"))
    paths = [ROOT / name for name in names] or every
    paths = [path for path in paths if places(ast.parse(path.read_text()))]
    for _ in range(number):
        tree = ast.parse((path := draw.choice(paths)).read_text())
        place = draw.choice(places(tree))
        before = ast.unparse(place)
        said = (
            f"{path.relative_to(ROOT)}:{place.lineno}: {before} -> {ast.unparse(mistaken(place))}"
        )
        noticed = killed(path, tree)
        survived += not noticed
        print(f"| {said} | {'killed' if noticed else 'SURVIVED'} |", flush=True)
    print(f"{survived} of {number} survived")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
