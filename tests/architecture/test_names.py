"""Rooms and modules have names of their own; `lint-imports` says which may import which."""

import re
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("algorithms", "noregret", "problems", "workflow")
    for path in sorted((ROOT / package).rglob("*.py"))
]
VAGUE = {"utils", "common", "base", "misc", "helpers"}
SAME = {  # names that several modules share, since they mean the same thing there
    "api",  # what a room promises to those above it
    "nasbench",  # the problem, and how its table is made
    "simulators",  # how they are built; the folder has their sources
    "__main__",
}


def test_there_are_few_rooms():
    rooms = [path for path in (ROOT / "workflow").iterdir() if path.is_dir()]
    tops = [
        path
        for path in ROOT.iterdir()
        if path.is_dir() and any(path.rglob("*.py")) and not path.name.startswith(".")
    ]
    assert len(rooms) <= 20 and len(tops) <= 20
    assert {path.name for path in ROOT.glob("workflow/*.py")} == {"__init__.py", "__main__.py"}


def test_a_name_has_one_meaning_and_no_plural_beside_it():
    by_stem = defaultdict(set)
    for module in MODULES:
        last = module.rpartition(".")[2]
        assert last not in VAGUE
        if last not in SAME and not module.startswith("workflow.commands."):
            by_stem[last.removesuffix("s")].add(module)
    assert {stem: modules for stem, modules in by_stem.items() if len(modules) > 1} == {}


def test_the_contract_of_methods_over_arms_names_all_of_them():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (named,) = (
        one["source_modules"] for one in contracts["contracts"] if "over arms" in one["name"]
    )
    files = (ROOT / "algorithms").glob("[!_]*.py")
    on_arms = {one.stem for one in files if re.search(r"domains = .*Arms", one.read_text())}
    assert {f"algorithms.{stem}" for stem in on_arms} == set(named)
