"""What a wheel holds is enough: no file of the checkout is needed."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests import programs

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


def test_a_message_that_names_an_extra_names_this_distribution_and_an_extra_it_has():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    sources = [path for part in PARTS for path in (ROOT / part).rglob("*.py")]
    found = {
        named
        for path in sources
        for named in re.findall(r"pip install '(.+?)\[(.+?)\]'", path.read_text(encoding="utf-8"))
    }
    assert {extra for _, extra in found} >= {"cosmology", "saasbo", "today"}
    assert found <= {(project["name"], extra) for extra in project["optional-dependencies"]}


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
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = programs.python("-c", TRIED, installed, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert said[0] == "7 2 True"
    assert "no part of an installed package, so work in a checkout" in said[1]
    assert list(tmp_path.iterdir()) == []


def test_it_says_that_it_is_typed(installed):
    assert (installed / "noregret" / "py.typed").exists()


def test_importing_it_loads_no_numerical_library(tmp_path):
    loaded = "sorted({'numpy', 'scipy', 'torch', 'pydantic', 'pandas'} & set(sys.modules))"
    assert imported(tmp_path, f"import noregret, sys; print({loaded})", path=ROOT) == ["[]"]


CORE = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))  # as if they were not installed
import noregret
for method in ("gp-ei", "cei", "lcbo", "dumbo", "turbo"):
    noregret.minimize(sum, [(0, 1)] * 2, method=method, initial=4, evaluations=5)
found = noregret.minimize(lambda row: row, arms=[[i] for i in range(9)], evaluations=9, n_jobs=2)
print(found.x, noregret.methods()["bbkb"].name)
"""


def test_the_methods_need_no_library_of_an_extra(tmp_path):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    names = {re.split("[<>=]", line)[0] for lines in extras.values() for line in lines}
    module = {"scikit-learn": "sklearn", "pillow": "PIL"}
    modules = [module.get(name, name.replace("-", "_")) for name in names]
    assert imported(tmp_path, CORE, *modules, path=ROOT) == ["0 bbkb"]


def test_a_program_beside_the_clone_has_the_package_and_not_the_folder(tmp_path):
    """An empty namespace, else."""
    (tmp_path / "noregret").symlink_to(ROOT)
    code = "import noregret.asking; from noregret import minimize as search; print({})"
    used = "search(sum, [(0, 1)], method='random', evaluations=2).history.x.shape"
    assert imported(tmp_path, code.format(used)) == ["(2, 1)"]
    (tmp_path / "problems.py").touch()
    (said,) = imported(tmp_path, code.format(used))
    hiding = tmp_path / "problems.py"
    assert HIDING.format("problems", tmp_path / "noregret", hiding) in said


EDITABLE = """
import sys
from importlib.util import spec_from_file_location

class Finder:
    def find_spec(name, path=None, target=None):
        if name in ("algorithms", "noregret", "problems", "workflow"):
            return spec_from_file_location(name, f"{sys.argv[1]}/{name}/__init__.py")

sys.meta_path.append(Finder)  # as that of an editable install: asked after the folders of the path
import noregret
"""
BEFORE = "import problems, sys; sys.path.pop(0); import noregret"  # from one's own folder
HIDING = (
    "expected noregret's own package `{}` beside it in {}, got {}, which hides it: rename that, or"
)


def imported(folder, code, *arguments, path=""):
    """What becomes of some code in a folder: the last line that it writes."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    done = programs.python("-c", code, *arguments, cwd=folder, env=environment)
    return (done.stdout + done.stderr).splitlines()[-1:]


@pytest.mark.parametrize(
    ("kind", "name", "file"),
    [
        ("wheel", "problems", "problems/__init__.py"),
        ("clone", "problems", "problems.py"),
        ("clone", "algorithms", "algorithms/__init__.py"),
        ("editable", "workflow", "workflow.py"),
    ],
)
def test_what_hides_its_packages_is_told(kind, installed, tmp_path, name, file):
    site, code = installed if kind == "wheel" else ROOT, "import noregret"
    if kind == "editable":
        code = EDITABLE
    own = tmp_path / file
    own.parent.mkdir(exist_ok=True)
    own.touch()
    (said,) = imported(tmp_path, code, site, path="" if code == EDITABLE else site)
    hiding = own.parent if own.name == "__init__.py" else own
    assert said.startswith(f"ImportError: {HIDING.format(name, site, hiding)} start Python in")


def test_what_was_imported_before_is_told(tmp_path):
    """Though its folder is on the path no more."""
    own = tmp_path / "problems.py"
    own.touch()
    (said,) = imported(tmp_path, BEFORE, path=ROOT)
    assert HIDING.format("problems", ROOT, own) in said


def test_what_hides_nothing_is_no_matter(tmp_path):
    """A folder without __init__.py comes after packages, where both lie on the path, and papers/ is
    read as files; a finder of an editable install comes after such folders.
    """
    for name in ("problems", "papers"):
        (tmp_path / name).mkdir()
    (tmp_path / "papers" / "__init__.py").touch()
    assert imported(tmp_path, "import noregret", path=ROOT) == []
    (said,) = imported(tmp_path, EDITABLE, ROOT)
    assert HIDING.format("problems", ROOT, tmp_path / "problems") in said
