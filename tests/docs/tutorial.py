"""A page of docs/ as a list of steps, and what carries them out in a copy of the repository.

A page is carried out block by block, in its order:

- a `bash` block is run by bash, in the checkout, with `.venv` activated as the page says;
- a `text` block is part of what the last commands printed: each of its lines must be found there,
  in this order, where `...` stands for anything;
- a block after `<!-- file: PATH -->` is the whole text of that file;
- a `diff` block after `<!-- in: PATH -->` changes that file: what it keeps and removes must be
  there exactly once.

Any other block is a mistake of the page: nothing would show that it is right.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.workflow.checkout import offline

ROOT = Path(__file__).resolve().parents[2]
COPIED = (
    *("algorithms", "problems", "workflow", "papers", "profiles", "envs", "tests", "examples"),
    "snakemake_logger_plugin_noregret",
    *("data/README.md", "data/manifest.yaml", "Snakefile", "Makefile", "pyproject.toml"),
)
BLOCK = re.compile(
    r"(?:<!-- (?P<verb>file|in): (?P<path>\S+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
NAMED = re.compile(r"`((?:figures|results|report)/[\w./-]+\.\w+)`")  # a file that a page promises


class PageError(AssertionError):
    """A page that does not do what it says: which block, what was expected, what was found."""


def blocks(page):
    """All fenced blocks of a page, as matches of BLOCK, each after the line on which it begins.
    Raises PageError where one does not say what it is for.
    """
    text = page.read_text(encoding="utf-8")
    found = [(text[: one.start()].count("\n") + 1, one) for one in BLOCK.finditer(text)]
    if 2 * len(found) != len(re.findall("^```", text, re.MULTILINE)):
        raise PageError(f"{page.name}: expected every ``` to be closed by another")
    for line, block in found:
        told = (block["language"] in ("bash", "text")) != bool(block["verb"])
        if not told or (block["verb"] == "in") != (block["language"] == "diff"):
            raise PageError(
                f"{page.name}, line {line}: expected a block of bash or text, or a comment"
                " before it: `<!-- file: PATH -->` for a whole file, `<!-- in: PATH -->` for a diff"
            )
    return found


def checkout(folder):
    """A copy of what a clone has after `make env`: .venv leads to this process's environment."""
    copy = folder / "noregret"
    copy.mkdir()
    for name in COPIED:
        source, target = ROOT / name, copy / name
        target.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    venv = copy / ".venv"
    venv.mkdir()
    for part in Path(sys.prefix).iterdir():
        if part.name not in (".made", "bin"):
            (venv / part.name).symlink_to(part)
    (venv / "bin").mkdir()
    for program in (Path(sys.prefix) / "bin").iterdir():
        if program.name != "activate":
            (venv / "bin" / program.name).symlink_to(program)
    (venv / "bin" / "activate").write_text(f'PATH="{venv / "bin"}:$PATH"\n')
    (venv / ".made").touch()  # newer than the lock: `make` does not install anything
    return copy


def carry_out(page, copy):
    """Do what a page says. Raises PageError."""
    last = ""  # what the last commands have printed
    for line, block in blocks(page):
        where = f"{page.name}, line {line}"
        if block["verb"] == "file":
            (copy / block["path"]).write_text(block["text"], encoding="utf-8")
        elif block["verb"] == "in":
            _change(copy / block["path"], block["text"], where)
        elif block["language"] == "text":
            _compare(block["text"], last, where)
        else:
            last = _run(block["text"], copy, where)


def promised(page):
    """The files that a page names in its text, as results of its commands."""
    return sorted(set(NAMED.findall(page.read_text(encoding="utf-8"))))


def _run(script, copy, where):
    """What bash prints on both channels, all that it was told before being forgotten."""
    told = ("MAKEFLAGS", "SCALE")
    environment = {name: value for name, value in offline(copy).items() if name not in told}
    environment |= {"NOREGRET_SUBSTITUTES": "preferred", "OMP_NUM_THREADS": "1"}
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "check": False}
    command = ["bash", "-euo", "pipefail", "-c", f". .venv/bin/activate\n{script}"]
    done = subprocess.run(command, cwd=copy, env=environment, **how)
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-30:])
        raise PageError(f"{where}: expected these commands to succeed:\n{script}\ngot\n{tail}")
    return done.stdout


def _change(path, diff, where):
    lines = diff.splitlines()
    old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "-"))
    new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "+"))
    text = path.read_text(encoding="utf-8")
    if not old.strip() or text.count(old) != 1:
        raise PageError(
            f"{where}: expected these lines once in {path.name}, found them"
            f" {text.count(old)} times:\n{old}"
        )
    path.write_text(text.replace(old, new), encoding="utf-8")


def _compare(expected, printed, where):
    rest = " ".join(printed.split())
    for line in filter(None, map(str.strip, expected.splitlines())):
        parts = [re.escape(" ".join(part.split())) for part in line.split("...")]
        found = re.search(r".*?".join(parts), rest)
        if found is None:
            raise PageError(f"{where}: expected to be printed: {line!r}; got\n{printed[-3000:]}")
        rest = rest[found.end() :]
