"""Continuous integration skips nothing that it could have."""

import os
import re
import sys

from tests import programs
from workflow.plan.resolve import ROOT

TESTS = """
import pytest

def test_called(): pytest.skip("no such program")
@pytest.mark.skipif(True, reason="no such table")
def test_marked(): pass
def test_of_another_user(): pytest.skip("root may write anywhere")
@pytest.mark.xfail(reason="no such program")
def test_fails_as_expected(): assert False
"""
ABSENT = "import pytest\n\npytest.importorskip('no_such_package')\n"


def outcomes(folder, **whole):
    """What pytest says of TESTS and of a module that lacks a package."""
    (folder / "test_parts.py").write_text(TESTS)
    (folder / "test_absent.py").write_text(ABSENT)
    kept = {name: value for name, value in os.environ.items() if name != "NOREGRET_TESTS"}
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-ra", "--rootdir", folder]
    environment = {**kept, "PYTHONPATH": str(ROOT), **whole}
    command += ["--continue-on-collection-errors", folder]
    return programs.run(command, cwd=folder, env=environment).stdout


def test_a_skip_fails_where_tests_are_to_be_whole(tmp_path):
    said = outcomes(tmp_path, NOREGRET_TESTS="whole")
    assert "1 failed, 1 skipped, 1 xfailed, 2 errors in" in said
    for reason in ("no such program", "no such table", "'no_such_package'"):
        assert re.search(f"{reason}.*expected a machine that has it", said), reason
    assert "root may write anywhere" in said


def test_elsewhere_it_is_told(tmp_path):
    assert "4 skipped, 1 xfailed in" in outcomes(tmp_path)
