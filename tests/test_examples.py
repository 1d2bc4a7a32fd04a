"""The examples run as they stand, are short, and find what they look for."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# one thread, as everything else here
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def numbers(name: str, folder: Path) -> list[float]:
    """What an example prints in a folder of its own, as numbers; it writes nothing there and warns
    of nothing.
    """
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.iterdir()) == []
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d*)?(?:e-?\d+)?", done.stdout)]


def test_every_example_is_run_here():
    assert [path.name for path in EXAMPLES] == ["own_function.py", "own_table.py"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_at_most_15_lines(path):
    assert len(path.read_text().splitlines()) <= 15


def test_the_guide_shows_an_example_as_it_stands():
    example = (ROOT / "examples" / "own_function.py").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert f"<<'END'\n{example}END\n" in page


def test_the_lowest_point_of_a_function_is_found(tmp_path):
    lowest, x, y = numbers("own_function.py", tmp_path)
    assert 0 <= lowest < 0.1
    assert (x - 1) ** 2 + 3 * (y + 2) ** 2 == pytest.approx(lowest, rel=1e-5)


def test_a_row_near_the_best_is_found(tmp_path):
    row, value, best = numbers("own_table.py", tmp_path)
    assert 0 <= row < 2000
    assert best - 0.05 < value <= best < 1
