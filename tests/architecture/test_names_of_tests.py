"""Tests have the same names in every process: pytest-xdist refuses to run what two workers collect
differently.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def collecting(hash_seed: int, folder: Path) -> subprocess.Popen[str]:
    """A process that lists all tests, one a line; `folder` is where its temporary files go."""
    folder.mkdir()
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "--quiet",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_no_name_depends_on_time_place_or_hash_seed(tmp_path):
    first = collecting(1, tmp_path / "a")
    time.sleep(1.1)  # gzip, among others, writes the current second
    second = collecting(2, tmp_path / "b")
    names = [process.communicate()[0].splitlines() for process in (first, second)]
    assert first.returncode == second.returncode == 0
    assert len(names[0]) > 1000
    different = [pair for pair in zip(*names, strict=True) if pair[0] != pair[1]]
    assert [pair for pair in different if " in " not in pair[0]] == []  # the last line has seconds
