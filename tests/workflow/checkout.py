"""A small copy of the repository with one tiny paper, to run the workflow as a user would."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from tests import programs

ROOT = Path(__file__).resolve().parents[2]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["snakemake.cli"])
MINI = """
paper: {key: mini, title: A tiny paper, venue: nowhere}
scales: {smoke: {seeds: 2, budget: 30}, short: {seeds: 2, budget: 60}, paper: {}}
seeds: 2
problems:
  abalone: {is: tables.abalone, data: abalone, noise: 0.01, features: z-scored,
    target: unit-interval, budget: 120,
            room: unlimited, init: {design: uniform, n: 1}}
algorithms:
  BKB: {is: bkb.BKB, bandwidth: 5, lam: 1.0e-4, xi: 0.01, norm: 1, delta: 1/T, qbar: 2,
    epsilon: 0.5, beta: theorem,
        inclusion: per-pull}
  GP-UCB: {is: gp_ucb.GPUCB, bandwidth: 5, lam: 1.0e-4, xi: 0.01, norm: 1, delta: 1/T,
    beta: theorem, posterior: distinct-arms}
  uniform: {is: random_search.RandomSearch}
runs: [{}]
figures:
  - {id: regret, title: Regret, metric: cumulative_regret, curves: [BKB, GP-UCB, uniform],
       panels: [{problem: abalone, title: A}]}
claims:
  - {id: better, where: nowhere, says: BKB beats uniform search,
     check: {test: less, metric: cumulative_regret, left: [BKB], right: [uniform]}}
"""


def make(folder):
    """Copy the code, not the results, and replace the papers by the tiny one."""
    copy = folder / "checkout"
    copy.mkdir()
    for name in ("algorithms", "problems", "workflow", "profiles", "envs", "config"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Snakefile", copy)
    (copy / "data").mkdir()
    shutil.copy(ROOT / "data" / "manifest.yaml", copy / "data")
    (copy / "papers").mkdir()
    (copy / "papers" / "mini.yaml").write_text(MINI)
    return copy


def linked(folder):
    """A folder with the code and the data as they are, in which `write` writes papers."""
    for name in ("algorithms", "problems", "workflow", "data"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "papers").mkdir()
    return folder


def write(root, name, entry):
    text = yaml.safe_dump(dict(entry), sort_keys=False)
    (root / "papers" / f"{name}.yaml").write_text(text, encoding="utf-8")


def contents(folder):
    """{path below a folder: bytes} of all files."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def edit(path, old, new):
    """Replace what has to be in a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def another(copy, folder):
    """The same checkout once more, with what was made in it, time stamps and hard links kept."""
    subprocess.run(["cp", "--archive", str(copy), str(folder / "checkout")], check=True)
    return folder / "checkout"


def offline(copy):
    """An environment in which every download fails at once and the copy's packages come first."""
    dead = "http://127.0.0.1:9"
    proxies = {
        name: dead
        for kind in ("http", "https", "all")
        for name in (f"{kind}_proxy", f"{kind.upper()}_PROXY")
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NOREGRET_DATA", "no_proxy", "NO_PROXY")
    }
    return {**kept, **proxies, "PYTHONPATH": str(copy), "PATH": path}


def run(copy, *arguments):
    """`python -m ARGUMENTS` in the copy."""
    return programs.python("-m", *arguments, cwd=copy, env=offline(copy))


def succeed(copy, *arguments):
    """The same, which has to end well."""
    done = run(copy, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def snakemake(copy, *arguments, cores=2, scale="smoke", config=()):
    """`snakemake ARGUMENTS` in the copy, in a process forked from one that has loaded Snakemake's
    libraries: starting it takes longer than what a dry run does.
    """
    words = ["--cores", str(cores), *arguments, "--config", f"scale={scale}", *config]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("stdout", "stderr")]
        process = FORKS.Process(target=_snakemake, args=(copy, offline(copy), words, files))
        process.start()
        process.join()
        said = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    return subprocess.CompletedProcess(words, process.exitcode, *said)


def made(copy, *arguments, **how):
    """The same, which has to end well."""
    done = snakemake(copy, *arguments, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def _snakemake(copy, environment, words, said):
    for number, path in enumerate(said, 1):
        os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY), number)
    os.chdir(copy)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = [str(copy), *(path for path in sys.path if Path(path).resolve() != ROOT)]
    from snakemake.cli import main

    sys.argv = ["snakemake", *words]
    main(words)  # exits
