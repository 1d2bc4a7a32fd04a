"""Imports go down only, and what no file of a room may contain. Read from syntax trees, nothing is imported."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("algorithms", "problems", "workflow")
    for path in sorted((ROOT / package).rglob("*.py"))
}
FLOORS = [  # of algorithms/parts; an import goes to the same floor or down
    ("linalg", "cholesky", "choice", "sampling", "steps", "transforms", "feasibility"),
    (
        "arms",
        "kernels",
        "rbf",
        "gp",
        "fitting",
        "gradient_information",
        "outputs",
        "pathwise",
        "additive",
        "decomposition",
        "structure",
        "saas",
    ),
    ("bounds", "acquisition", "trust_region", "maximise", "adam", "factor_graph", "exploration"),
]
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}
READERS = tuple(
    f"workflow.{name}"
    for name in (
        "metrics",
        "store",
        "report",
        "selection",
        "statistics",
        "evidence",
        "checks",
        "claims",
        "sensitivity",
        "render",
        "panels",
        "plots",
        "ranks",
        "picture",
        "status",
        "tally",
        "style",
        "tables",
    )
)
HEAVY = {"torch", "gpytorch", "botorch", "linear_operator", "jax", "numpyro"}
VAGUE = {"utils", "common", "base", "misc", "helpers"}


def imports(tree: ast.AST) -> set[str]:
    """Dotted names that a module imports anywhere; `from a import b` gives a.b, whatever b is."""
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names}
    return found


def forbidden(module: str, name: str) -> bool:
    """Whether `module` may not import `name`."""
    room, target = module.split("."), name.split(".")
    if name.startswith("."):
        return True  # relative imports hide the direction
    if target[0] not in ("algorithms", "problems", "workflow"):
        return room[0] in ("algorithms", "problems") and target[0] == "random"
    if room[0] == "workflow":
        return module in READERS and target[0] != "workflow"
    if target[:2] == ["algorithms", "api"]:
        return False
    if room[0] == "problems":
        return target[:2] not in (["problems", "api"], ["problems", "prepared"], ["problems", "topologies"])
    if room[:2] == ["algorithms", "parts"]:
        below = target[:2] == ["algorithms", "parts"] and len(target) > 2
        return not below or (len(room) > 2 and FLOOR[target[2]] > FLOOR[room[2]])
    return target[:2] != ["algorithms", "parts"]  # algorithms do not import one another


def complaints(module: str, tree: ast.AST) -> list[str]:
    """What a file contains and should not."""
    found = [f"imports {name}" for name in sorted(imports(tree)) if forbidden(module, name)]
    found += [f"is named {part}" for part in module.split(".") if part in VAGUE]
    quiet = module.startswith(("algorithms", "problems"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            found.append(f"line {node.lineno}: assert")
        elif isinstance(node, ast.ExceptHandler) and (
            node.type is None or {"Exception", "BaseException"} & {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
        ):
            found.append(f"line {node.lineno}: catches everything")
        elif quiet and isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            found.append(f"line {node.lineno}: print")
        elif quiet and isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random"):
            if node.attr != "Generator":
                found.append(f"line {node.lineno}: np.random.{node.attr}")
        elif quiet and isinstance(node, ast.Name) and node.id == "default_rng":
            found.append(f"line {node.lineno}: default_rng")
    return found


def reach(module: str) -> set[str]:
    """All dotted names that a module imports, directly or through modules of this repository."""
    seen, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        while name and name not in seen:  # importing a.b.c runs a and a.b too
            seen.add(name)
            waiting += imports(ast.parse(FILES[name].read_text())) if name in FILES else []
            name = name.rpartition(".")[0]
    return seen


@pytest.mark.parametrize("module", FILES)
def test_a_file_keeps_to_its_room(module):
    assert complaints(module, ast.parse(FILES[module].read_text())) == []


@pytest.mark.parametrize("module", [name for name in FILES if name.startswith("algorithms.") and name.count(".") == 1])
def test_an_arms_algorithm_never_reaches_torch(module):
    text = FILES[module].read_text()
    serves = [
        ast.unparse(n.value) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Assign) and "domains" in ast.unparse(n)
    ]
    if any("Arms" in domains for domains in serves):
        assert {name.split(".")[0] for name in reach(module)}.isdisjoint(HEAVY)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("algorithms.bkb", "from algorithms import gp_ucb"),
        ("algorithms.bkb", "import algorithms.gp_ucb"),
        ("algorithms.bkb", "import workflow.loop"),
        ("algorithms.bkb", "import problems.api"),
        ("algorithms.bkb", "import random"),
        ("algorithms.bkb", "from . import gp_ucb"),
        ("algorithms.parts.arms.exact", "from algorithms.bkb import BKB"),
        ("algorithms.parts.arms.exact", "from algorithms.parts.bounds import Confidence"),
        ("algorithms.parts.linalg", "from algorithms.parts.arms import Pulls"),
        ("problems.tables", "from algorithms.parts.linalg import safe_cholesky"),
        ("problems.tables", "from workflow.seeds import rng"),
        ("problems.tables", "from problems.synthetic import branin"),
        ("workflow.metrics", "from problems.api import Problem"),
        ("workflow.plots", "import algorithms"),
        ("workflow.utils", ""),
        ("workflow.loop", "assert True"),
        ("workflow.loop", "try:\n    x = 1\nexcept:\n    pass"),
        ("workflow.loop", "try:\n    x = 1\nexcept (ValueError, Exception):\n    pass"),
        ("problems.tables", "print(1)"),
        ("problems.tables", "rng = np.random.default_rng(0)"),
        ("problems.tables", "from numpy.random import default_rng\nrng = default_rng(0)"),
        ("problems.tables", "x = np.random.rand(5)"),
    ],
)
def test_the_rules_refuse(module, source):
    assert complaints(module, ast.parse(source)) != []


def test_torch_would_be_found_behind_a_part(tmp_path, monkeypatch):
    part = tmp_path / "linalg.py"
    part.write_text("def solve():\n    import torch.linalg\n")
    monkeypatch.setitem(FILES, "algorithms.parts.linalg", part)
    assert "torch" in reach("algorithms.gp_ucb")
