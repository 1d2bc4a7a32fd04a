"""Nothing is installed without a sum in a lock or from a second index, no image is made on a base
without a digest, and none runs as root.

`install.sh` is run with a pip that says what it is asked.
"""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests import programs

ROOT = Path(__file__).resolve().parents[2]
ENVS = ROOT / "envs"
LOCKS = sorted(ENVS.glob("*.lock"))
DOCKER = ENVS / "Dockerfile"
INDEX = "https://download.pytorch.org/whl/cpu"

MARKER = r"(?: ; [^\\]+?)?"
SUMS = r"(?: --hash=sha256:[0-9a-f]{64})+"
PINNED = re.compile(rf"[\w.-]+==[\w.+]+{MARKER}{SUMS}|[\w.-]+ @ https://\S+\.whl{MARKER}{SUMS}")
OURS = " --quiet --no-deps --no-build-isolation --editable ."


def read(path):
    return path.read_text(encoding="utf-8")


def lines_of(lock):
    """The lines of a requirements file: continued ones joined, no comments."""
    joined = re.sub(r" *\\\n *", " ", lock)
    return [line for line in joined.splitlines() if line and not line.startswith("#")]


def test_every_line_of_a_lock_has_one_version_and_sums():
    for path in LOCKS:
        lines = lines_of(read(path))
        assert any("==" in line for line in lines)
        others = [line for line in lines if not PINNED.fullmatch(line)]
        assert set(others) <= {"--only-binary :all:"}  # no other file, index or second version
        # a source archive is built with what pip fetches for it, of any version and without sums
        assert ("--only-binary :all:" in lines) == (path.name != "requirements-source.lock")


def test_make_and_the_image_install_alike():
    for path in [ROOT / "Makefile", DOCKER]:
        text = read(path).replace("$(BIN)/", "")
        step = r"\bsh envs/install\.sh python$|\bpython -m pip install[^\n]*"
        steps = re.findall(step, text, re.MULTILINE)
        assert steps == ["sh envs/install.sh python", f"python -m pip install{OURS}"]


def test_make_installs_anew_when_a_lock_or_the_script_changes():
    (needed,) = re.findall(r"^\.venv/\.made:(.*)$", read(ROOT / "Makefile"), re.MULTILINE)
    locks = [f"envs/{path.name}" for path in LOCKS]
    used = ["envs/install.sh", *locks, "pyproject.toml"]
    assert sorted(needed.split()) == sorted(used)
    (copied,) = re.findall(r"^COPY (envs/.*) envs/$", read(DOCKER), re.MULTILINE)
    assert sorted(copied.split()) == sorted(used[:-1])


def test_an_image_has_a_base_by_digest_and_a_user_without_privileges():
    docker = read(DOCKER)
    assert re.search(r"^ARG BASE=\S+@sha256:[0-9a-f]{64}$", docker, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", docker, re.MULTILINE) == ["${BASE}"]
    assert re.findall(r"^USER (\S+)", docker, re.MULTILINE)[-1] == "1000:1000"
    assert "OMP_NUM_THREADS=1" in read(DOCKER)


def test_the_recipe_refuses_a_base_without_a_digest():
    (line,) = re.findall(r"(case \".*BASE.*esac)", read(DOCKER))
    for base, code in [("python:3.11", 1), ("python@sha256:ab", 0)]:
        done = programs.run(["sh", "-c", line], env={"BASE": base})
        assert done.returncode == code
        assert done.stderr == (f"expected BASE=IMAGE@sha256:..., got {base}\n" if code else "")


PIP = """#!/bin/sh
# a Python whose pip writes down what it is asked, and finds torch where OWN and INDEX say
echo "$*" >> asked
case "$*" in
  *--index-url*) found=$INDEX ;;
  *torch*) found=$OWN ;;
  *source*) found=${SOURCE-yes} ;;
  *) found=yes ;;
esac
case $found in
  yes) exit 0 ;;
  no) echo "ERROR: No matching distribution found for torch==2.13.0+cpu" >&2 ;;
  other) echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES" >&2 ;;
esac
exit 1
"""


@pytest.fixture
def install(tmp_path):
    """Runs install.sh in a folder with such a Python: the end, what pip was asked, what it said."""
    (tmp_path / "envs").mkdir()
    shutil.copy(ENVS / "install.sh", tmp_path / "envs" / "install.sh")
    (tmp_path / "python").write_text(PIP, encoding="utf-8")
    (tmp_path / "python").chmod(0o755)

    def run(**served):
        environment = {"PATH": "/usr/bin:/bin", **served}
        done = programs.run(["sh", "envs/install.sh", "./python"], cwd=tmp_path, env=environment)
        asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
        start = "-m pip install --quiet --require-hashes --no-deps "
        assert all(line.startswith(start) for line in asked)
        return done.returncode, [line.removeprefix(start) for line in asked], done.stderr

    return run


LOCK, SOURCE, TORCH = (
    "-r envs/requirements.lock",
    "--no-build-isolation -r envs/requirements-source.lock",
    "-r envs/requirements-torch.lock",
)


def test_all_comes_from_the_index_that_pip_has(install):
    assert install(OWN="yes", INDEX="no") == (0, [LOCK, SOURCE, TORCH], "")


def test_torch_comes_from_its_own_index_alone_where_that_has_none(install):
    code, asked, said = install(OWN="no", INDEX="yes")
    assert (code, asked) == (0, [LOCK, SOURCE, TORCH, f"--index-url {INDEX} {TORCH}"])
    assert said == f"pip's own index has no CPU build of PyTorch: asking {INDEX}\n"


def test_a_file_with_another_sum_ends_it_and_no_other_index_is_asked(install):
    code, asked, said = install(OWN="other", INDEX="yes")
    assert (code, asked) == (1, [LOCK, SOURCE, TORCH])
    assert said.startswith("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES\nexpected one of the")


def test_torch_that_nobody_has_is_said_with_what_to_do(install):
    code, asked, said = install(OWN="no", INDEX="no")
    assert (code, len(asked)) == (1, 4)
    assert f"from pip's own index or from {INDEX};" in said
    assert "ERROR: No matching distribution found" in said
    for remedy in ("PIP_FIND_LINKS=DIR make env", "NOREGRET_TORCH_INDEX=URL make env"):
        assert remedy in said
        assert remedy in read(ENVS / "README.md")


def test_what_fails_before_torch_is_not_hidden(install):
    code, asked, said = install(OWN="yes", INDEX="yes", SOURCE="other")
    assert (code, asked) == (1, [LOCK, SOURCE])
    assert "DO NOT MATCH" in said


@pytest.mark.parametrize("version", ["3.10.1", "3.14.0"])
def test_make_refuses_a_python_that_the_locks_do_not_fit(version, tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path / "Makefile")
    (tmp_path / "envs").mkdir()
    for path in [ENVS / "install.sh", *LOCKS]:
        shutil.copy(path, tmp_path / "envs" / path.name)
    (tmp_path / "pyproject.toml").touch()
    told = tuple(int(part) for part in version.split("."))
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --version ] && {{ echo Python {version}; exit; }}\n'
        f'[ "$1" = -c ] && exec python3 -c "import sys; sys.version_info = {told}; $2"\n'
        "echo a venv was made; exit 1\n",
        encoding="utf-8",
    )
    python.chmod(0o755)
    # what the make that runs these tests was given is not for this one
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = programs.run(["make", "env", f"PYTHON={python}"], cwd=tmp_path, env=ours)
    assert done.returncode != 0
    assert f"expected Python 3.11, 3.12 or 3.13, got Python {version}: run make" in done.stderr
    assert "a venv was made" not in done.stdout
