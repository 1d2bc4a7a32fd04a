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
from importlib.util import spec_from_loader
from pathlib import Path

import tests.kernels  # noqa: F401  before NumPy

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 300  # seconds for the tests of a mutant; one that takes longer is noticed
PAIRS = "Add Sub, Mult Div, Lt LtE, Gt GtE, Eq NotEq, And Or"
SWAPS = {getattr(ast, a): getattr(ast, b) for a, b in map(str.split, PAIRS.split(", "))}
SWAPS |= {b: a for a, b in SWAPS.items()}


def mistaken(node):
    """The expression with one mistake, or None where there is none to make."""
    match node:
        case ast.BinOp() | ast.BoolOp() if type(node.op) in SWAPS:
            node.op = SWAPS[type(node.op)]()
        case ast.Compare() if type(node.ops[0]) in SWAPS:
            node.ops[0] = SWAPS[type(node.ops[0])]()
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            node.value = 2 * node.value + 1
        case ast.UnaryOp(op=ast.USub()):
            return node.operand
        case _:
            return None
    return node


class Mistakes(ast.NodeTransformer):
    """Counts the mistakes that can be made in functions, but for their words, and makes one."""

    def __init__(self, chosen=-1):
        self.chosen, self.count, self.line, self.inside = chosen, 0, "", False

    def visit(self, node):
        if isinstance(node, ast.Raise | ast.JoinedStr):
            return node
        outer, self.inside = self.inside, self.inside or isinstance(node, ast.FunctionDef)
        if self.inside and (new := mistaken(copy.deepcopy(node))) is not None:
            self.count += 1
            if self.count - 1 == self.chosen:
                self.line = f"{node.lineno}: {ast.unparse(node)} -> {ast.unparse(new)}"
                node = new
        self.generic_visit(node)
        self.inside = outer
        return node


class Planted(SourceFileLoader):
    """Finds one module alone, and gives it a mutated tree."""

    tree: ast.Module

    def find_spec(self, name, path=None, target=None):
        return spec_from_loader(name, self) if name == self.name else None

    def get_code(self, name):
        return compile(ast.fix_missing_locations(self.tree), self.path, "exec")


def dotted(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def tests_of(path):
    """Test files: of the module, of what names it or its class, and of refusals."""
    names = re.compile(rf"\b{re.escape(dotted(path))}\b|[\"'./ ]{path.stem}\.[A-Z]")
    found = [
        file
        for room in ("algorithms", "problems", "parity")
        for file in sorted((ROOT / "tests" / room).rglob("test_*.py"))
        if names.search(file.read_text()) or file.stem == "test_refusals"
    ]
    return sorted(found, key=lambda file: file.stem != f"test_{path.stem}")


def killed(path, tree):
    """Whether a test fails with this tree in place of the module's."""
    if not (child := os.fork()):
        signal.alarm(LONGEST)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        sys.meta_path.insert(0, planted := Planted(dotted(path), str(path)))
        planted.tree = tree
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
        os._exit(pytest.main([*options, *map(str, tests_of(path))]))
    return os.waitpid(child, 0)[1] != 0


def main(seed, number, *names):
    draw, survived = random.Random(seed), 0
    rooms = [file for room in ("algorithms", "problems") for file in (ROOT / room).rglob("*.py")]
    paths = [ROOT / name for name in names] or sorted(set(rooms) - set(ROOT.rglob("_*.py")))
    for _ in range(number):
        path, every = draw.choice(paths), Mistakes()
        every.visit(ast.parse(path.read_text()))
        mistake = Mistakes(draw.randrange(every.count))
        noticed = killed(path, mistake.visit(ast.parse(path.read_text())))
        survived += not noticed
        fate = "killed" if noticed else "SURVIVED"
        print(f"| {path.relative_to(ROOT)}:{mistake.line} | {fate} |", flush=True)
    print(f"{survived} of {number} survived")


if __name__ == "__main__":
    import gpytorch  # noqa: F401  once for all mutants
    import hypothesis  # noqa: F401
    import pytest

    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
