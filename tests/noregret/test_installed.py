"""What a wheel holds is enough: no file of the checkout is needed."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("algorithms", "noregret", "papers", "problems", "workflow")
TRIED = """
import sys
import noregret
assert noregret.__file__.startswith(sys.argv[1]), noregret.__file__
bounds = [(-5, 5), (-5, 5)]
for method, preset in (("lcbo", "public code"), ("gp-ei", "recommended"), ("dumbo", "paper")):
    noregret.optimizer(method, bounds=bounds, preset=preset)
found = noregret.minimize(lambda row: (row - 7) ** 2, arms=[[i] for i in range(20)], evaluations=9)
print(found.x, noregret.problem("lcbo/truss").constraints, len(noregret.methods()[0].citation) > 9)
try:
    noregret.load("bkb")
except ValueError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder of what a wheel of today's files holds."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for part in PARTS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, source / part, ignore=ignored)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    options = ("--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(out), str(source))
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options], check=True, cwd=source)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(out)
    return out


def test_it_works_outside_the_checkout(installed, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", TRIED, str(installed)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert said[0] == "7 2 True"
    assert "no part of an installed package, so work in a checkout" in said[1]
    assert list(tmp_path.iterdir()) == []


def test_it_says_that_it_is_typed(installed):
    assert (installed / "noregret" / "py.typed").exists()


def test_importing_it_loads_no_numerical_library_but_numpy_and_scipy(tmp_path):
    code = "import noregret, sys; print(sorted({'torch', 'pandas', 'jax'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
