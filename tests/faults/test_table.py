"""The table of faults names tests that there are, and all tests of this folder."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
ROWS = [line for line in (HERE / "README.md").read_text().splitlines() if line.startswith("|")][2:]
NAMED = re.compile(r"`((?:\w+/)*test_\w+\.py)::(\w+)`")


def functions_of(path):
    """The names of the functions in a file."""
    return {
        node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
    }


def test_every_row_names_tests_that_there_are():
    for row in ROWS:
        fault, happens, remedy, tests = (cell.strip() for cell in row.strip("|").split(" | "))
        assert fault and happens and remedy and NAMED.findall(tests), row
        for file, name in NAMED.findall(tests):
            path = HERE.parent / file if "/" in file else HERE / file
            assert name in functions_of(path), f"{file}::{name}"


def test_every_test_of_this_folder_stands_in_the_table():
    """But for those that show that a test can pass, and this one."""
    named = {name for row in ROWS for _, name in NAMED.findall(row)}
    there = {
        name
        for path in HERE.glob("test_*.py")
        if path != Path(__file__)
        for name in functions_of(path)
    }
    plain = {"test_without_a_slip_it_is_a_plan", "test_a_table_says_what_it_contains"}
    assert {name for name in there if name.startswith("test_")} - named == plain
