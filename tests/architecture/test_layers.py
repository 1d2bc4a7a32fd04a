"""Imports go down only, and what no file of a room may contain.

Read from syntax trees, nothing is imported.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("algorithms", "noregret", "problems", "workflow")
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
}
# Who may import what, the ground first. A room stands on all that it may import: itself, `workflow`
# and what is named here. `x.y` names one module of a room; a module that has a line of its own
# obeys that line, not its room's.
FLOORS: dict[str, set[str]] = {}
for line in """
algorithms.api:
# and its own floors, below
algorithms.parts: algorithms.api
algorithms: algorithms.api algorithms.parts
problems.api: algorithms.api
problems.prepared: algorithms.api
problems.topologies: algorithms.api
problems.feature_maps: algorithms.api
problems: algorithms.api problems.api problems.prepared problems.topologies problems.feature_maps
# the tables again, under other maps: a module of its own keeps the digests of their runs
problems.mapped_tables: algorithms.api problems
workflow.trace:
workflow.data: workflow.trace
workflow.plan: workflow.trace workflow.data.manifest
workflow.run: algorithms problems workflow.trace workflow.data workflow.plan
workflow.studies: algorithms problems workflow.trace workflow.run.loop
workflow.measure: workflow.trace workflow.data workflow.plan
workflow.judge: workflow.trace workflow.plan workflow.measure
workflow.draw.style:
workflow.draw.drawers: algorithms problems workflow.draw.style
workflow.draw: workflow.draw.style workflow.draw.drawers workflow.trace workflow.plan
workflow.draw: workflow.measure workflow.judge
workflow.operate: workflow.trace workflow.data workflow.plan workflow.run workflow.measure
workflow.operate: workflow.judge
workflow.site: workflow.trace workflow.plan workflow.measure.metrics workflow.judge workflow.draw
# draws a report before it is committed; no page reads records
workflow.operate.reference: workflow.trace workflow.plan workflow.measure workflow.judge
workflow.operate.reference: workflow.draw workflow.operate
workflow.commands: workflow.plan workflow.data workflow.judge workflow.draw workflow.operate
workflow.commands: workflow.site
noregret: algorithms algorithms.api algorithms.parts problems workflow.trace workflow.data
noregret: workflow.plan workflow.run workflow.measure
""".strip().splitlines():
    if not line.startswith("#"):
        room, below = line.split(":")
        FLOORS.setdefault(room, set()).update(below.split())
# of algorithms/parts; an import goes to the same floor or down
FLOOR = {"numerics": 0, "arms": 1, "processes": 1, "factors": 1, "search": 2}
HEAVY = {"torch", "gpytorch", "botorch", "linear_operator", "jax", "numpyro"}
VAGUE = {"utils", "common", "base", "misc", "helpers"}
SAME = {  # names that several modules share, since they mean the same thing there
    "api",  # what a room promises to those above it
    "nasbench",  # the problem, and how its table is made
    "simulators",  # how they are built; the folder has their sources
}


def imports(tree: ast.AST) -> set[str]:
    """Dotted names that a module imports anywhere, for type checkers too; `from a import b` gives
    a.b, whatever b is.
    """
    found = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names}
    return found


def within(name: str, place: str) -> bool:
    return f"{name}.".startswith(f"{place}.")


def room_of(module: str) -> str:
    """The line of FLOORS that a module obeys:
    the longest one that names it or a package around it.
    """
    return max((place for place in FLOORS if within(module, place)), key=len, default="")


def forbidden(module: str, name: str) -> bool:
    """Whether `module` may not import `name`."""
    if name.startswith("."):
        return True  # relative imports hide the direction
    if name.split(".")[0] not in PACKAGES:
        return module.split(".")[0] in ("algorithms", "problems") and name.split(".")[0] == "random"
    room = room_of(module)
    if room == "":
        return name != "workflow.ROOT" and not within(module, name)
    if name == "workflow.ROOT":
        return not module.startswith("workflow.")
    if room == "algorithms.parts" and within(name, room):
        own, target = module.split("."), name.split(".")
        return len(target) < 3 or (len(own) > 2 and FLOOR.get(target[2], 99) > FLOOR[own[2]])
    if room in ("algorithms", "problems"):  # neither methods nor problems import one another
        return not any(within(name, place) for place in FLOORS[room])
    return not any(within(name, place) for place in {room, *FLOORS[room]})


# answers for whatever a simulator may raise, `sys.exit()` among it
CATCHERS = ("workflow.run.child", "noregret.solve")  # of simulators, and of functions of users


def complaints(module: str, tree: ast.AST) -> list[str]:
    """What a file contains and should not."""
    found = [f"imports {name}" for name in sorted(imports(tree)) if forbidden(module, name)]
    found += [f"is named {part}" for part in module.split(".") if part in VAGUE]
    quiet = module.startswith(("algorithms", "problems"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            found.append(f"line {node.lineno}: assert")
        elif isinstance(node, ast.ExceptHandler) and (
            node.type is None
            or {"Exception", "BaseException"}
            & {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
        ):
            if module not in CATCHERS:
                found.append(f"line {node.lineno}: catches everything")
        elif quiet and isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            found.append(f"line {node.lineno}: print")
        elif (
            quiet
            and isinstance(node, ast.Attribute)
            and ast.unparse(node.value) in ("np.random", "numpy.random")
        ):
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


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """Some modules that import each other in a circle; [] where there is none."""
    done, path = set(), []

    def visit(module: str) -> list[str]:
        if module in path:
            return path[path.index(module) :]
        if module in done:
            return []
        path.append(module)
        for target in sorted(arrows.get(module, ())):
            if found := visit(target):
                return found
        done.add(path.pop())
        return []

    for module in sorted(arrows):
        if found := visit(module):
            return found
    return []


def arrows() -> dict[str, set[str]]:
    """Which module of this repository imports which; a package's `__init__` hands names on and is
    no arrow of its modules.
    """
    found = {}
    for module, path in FILES.items():
        names = imports(ast.parse(path.read_text()))
        targets = {name if name in FILES else name.rpartition(".")[0] for name in names}
        found[module] = {target for target in targets if target in FILES and target != module}
    return found


def test_a_file_keeps_to_its_room():
    found = {
        module: complaints(module, ast.parse(path.read_text())) for module, path in FILES.items()
    }
    assert {module: wrong for module, wrong in found.items() if wrong} == {}


def test_no_module_imports_itself_through_others():
    assert circle(arrows()) == []
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]


def test_a_room_imports_only_rooms_of_earlier_lines():
    places = list(FLOORS)
    for floor, (room, below) in enumerate(FLOORS.items()):
        assert all(room_of(name) in places[:floor] for name in below if room_of(name) != room)
    assert {module.rpartition(".")[0] for module in FILES if room_of(module) == ""} <= {
        "",
        "workflow",
    }


def test_the_house_has_few_rooms_at_the_top():
    rooms = [
        path for path in ROOT.glob("workflow/*") if path.is_dir() and path.name != "__pycache__"
    ]
    tops = [
        path
        for path in ROOT.iterdir()
        if path.is_dir() and any(path.rglob("*.py")) and not path.name.startswith(".")
    ]
    assert len(rooms) <= 20 and len(tops) <= 20
    assert {path.name for path in ROOT.glob("workflow/*.py")} == {"__init__.py", "__main__.py"}


def test_a_name_has_one_meaning_and_no_plural_beside_it():
    by_stem = defaultdict(set)
    for module in FILES:
        last = module.rpartition(".")[2]
        if last not in SAME and last != "__main__" and not within(module, "workflow.commands"):
            by_stem[last.removesuffix("s")].add(module)
    shared = {stem: modules for stem, modules in by_stem.items() if len(modules) > 1}
    assert shared == {}


def test_an_arms_algorithm_never_reaches_torch():
    methods = [name for name in FILES if name.startswith("algorithms.") and name.count(".") == 1]
    on_arms = [name for name in methods if re.search(r"domains = .*Arms", FILES[name].read_text())]
    assert len(on_arms) > 5
    for module in on_arms:
        assert {name.split(".")[0] for name in reach(module)}.isdisjoint(HEAVY), module


REFUSED = [
    ("algorithms.bkb", "from algorithms import gp_ucb"),
    ("algorithms.bkb", "import algorithms.gp_ucb"),
    ("algorithms.bkb", "import workflow.run.loop"),
    ("algorithms.bkb", "import problems.api"),
    ("algorithms.bkb", "import random"),
    ("algorithms.bkb", "from . import gp_ucb"),
    ("algorithms.parts.arms.exact", "from algorithms.bkb import BKB"),
    ("algorithms.parts.arms.exact", "from algorithms.parts.search.bounds import Confidence"),
    ("algorithms.parts.numerics.linalg", "from algorithms.parts.arms import Pulls"),
    ("problems.tables", "from algorithms.parts.numerics.linalg import safe_cholesky"),
    ("problems.tables", "from workflow.trace.seeds import rng"),
    ("problems.tables", "from problems.synthetic import branin"),
    ("workflow.run.loop", "from workflow.draw.plots import draw"),
    (
        "workflow.run.loop",
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from workflow.draw import"
            " plots"
        ),
    ),
    ("workflow.plan.expand", "from workflow.judge import claims"),
    ("workflow.plan.expand", "import workflow.run.loop"),
    ("workflow.trace.record", "from workflow.site.build import build"),
    ("workflow.trace.record", "def f():\n    from workflow.site.build import build"),
    ("workflow.measure.metrics", "from problems.api import Problem"),
    ("workflow.measure.store", "import algorithms"),
    ("workflow.draw.plots", "import algorithms"),
    ("workflow.judge.claims", "from algorithms.bkb import BKB"),
    ("workflow.site.build", "from algorithms.api import Optimizer"),
    ("workflow.studies.lemma3", "from workflow.run import make"),
    ("algorithms.bkb", "import noregret"),
    ("workflow.plan.expand", "from noregret.catalogue import METHODS"),
    ("noregret.presets", "from workflow.judge.claims import judge"),
    ("workflow.utils", ""),
    ("workflow.run.loop", "assert True"),
    ("workflow.run.loop", "try:\n    x = 1\nexcept:\n    pass"),
    ("workflow.run.loop", "try:\n    x = 1\nexcept (ValueError, Exception):\n    pass"),
    ("problems.tables", "print(1)"),
    ("problems.tables", "rng = np.random.default_rng(0)"),
    ("problems.tables", "from numpy.random import default_rng\nrng = default_rng(0)"),
    ("problems.tables", "x = np.random.rand(5)"),
]


def test_the_rules_refuse():
    accepted = [(name, code) for name, code in REFUSED if not complaints(name, ast.parse(code))]
    assert accepted == []


def test_torch_would_be_found_behind_a_part(tmp_path, monkeypatch):
    part = tmp_path / "linalg.py"
    part.write_text("def solve():\n    import torch.linalg\n")
    monkeypatch.setitem(FILES, "algorithms.parts.numerics.linalg", part)
    assert "torch" in reach("algorithms.gp_ucb")
