"""A large made-up paper, and what the workflow itself takes for it.

50 curves on each problem, 10 seeds each, with readings, variants, figures, tables, ranks and
claims; half of its problems have no known optimum, so that their regret is measured from the best
of all runs. `APART`: runs so dear that each seed is a job of Snakemake; `TOGETHER`: runs of seconds
that share jobs. Nothing is run, so that what is measured is the plan and Snakemake. Seconds are CPU
seconds of a process and its children.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml

from workflow.operate.publish import write_measured
from workflow.plan import costs
from workflow.plan.costs import Measured
from workflow.plan.expand import load
from workflow.plan.paper import Paper

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("algorithms", "problems", "workflow", "profiles", "envs", "config")
SEEDS = 10
METHODS = [f"method-{number}" for number in range(1, 10)]
CONTROLS = ["uniform", *(f"control-{number}" for number in range(1, 5))]
CURVES = len(METHODS) * 5 + len(CONTROLS)  # by default, under two readings, at two variants
APART, TOGETHER = 400.0, 0.2  # CPU seconds of a run
STAND_IN = """#!/bin/sh
name=$4 found=
case $2 in
  *report)
    cd figures/paper/large
    for ending in pdf png csv json md; do touch $name.$ending; done
    [ $name = verdicts ] || exit 0
    touch verdicts.parquet seeds.parquet runs.parquet
    touch claims-by-settings.md claims-by-settings.png ;;
  *)
    for one; do
      [ "$found" ] && touch "$one"
      [ "$one" = -o ] && found=1
    done ;;
esac
exit 0
"""


@dataclass(frozen=True)
class Spent:
    """What a command took."""

    seconds: float  # CPU, with its children
    mib: float  # the peak of the largest process
    printed: str


def paper(runs: int, rows: int = 1000) -> dict[str, Any]:
    """The YAML of a paper of about so many runs of so many evaluations."""
    problems = [f"task-{number}" for number in range(1, max(1, runs // (CURVES * SEEDS)) + 1)]
    task = {
        "is": "synthetic.styblinski_tang",
        "d": 2,
        "low": -5,
        "high": 5,
        "noise": 0.1,
        "budget": rows,
        "room": 1,
        "init": {"design": "uniform", "n": 1},
    }
    unknown = {"optimum": "best-seen"}
    panels = [{"problem": problem, "title": problem} for problem in problems]
    return {
        "paper": {"key": "large", "title": "A large paper", "venue": "nowhere"},
        "scales": {"smoke": {"budget": 30}, "paper": {}},
        "seeds": SEEDS,
        "problems": {
            problem: {**task, **(unknown if odd else {})} for odd, problem in _alternately(problems)
        },
        "algorithms": {
            **{
                name: {"is": "average_of_k.AverageOfK", "k": 2 + position}
                for position, name in enumerate(METHODS)
            },
            **{
                name: {"is": "average_of_k.AverageOfK", "k": 20 + position}
                for position, name in enumerate(CONTROLS[1:])
            },
            "uniform": {"is": "random_search.RandomSearch"},
        },
        "readings": {
            name: {
                "says": f"an average of {k} points",
                "algorithms": {method: {"k": k} for method in METHODS},
            }
            for name, k in (("many", 40), ("more", 50))
        },
        "variants": {f"k-{k}": {"k": k} for k in (60, 70)},
        "runs": [
            {},
            {"algorithms": METHODS, "readings": ["many", "more"]},
            {"algorithms": METHODS, "variants": ["k-60", "k-70"]},
        ],
        "figures": [
            {
                "id": "best",
                "metric": "simple_regret",
                "curves": METHODS,
                "controls": ["uniform"],
                "panels": panels[:6],
            },
            *(
                {
                    "id": f"sum-{number}",
                    "metric": "cumulative_regret",
                    "curves": METHODS,
                    "panels": [panel],
                    "reading": "many",
                }
                for number, panel in enumerate(panels)
            ),
        ],
        "tables": [
            {
                "id": "ends",
                "kind": "feasible",
                "problems": problems,
                "curves": METHODS,
                "readings": ["default", "many", "more"],
            }
        ],
        "ranks": (
            [
                {
                    "id": "ranks",
                    "title": "Ranks",
                    "metric": "simple_regret",
                    "problems": problems,
                    "curves": METHODS,
                }
            ]
            if problems[1:]
            else []
        ),
        "claims": list(_claims(problems)),
    }


def _alternately(names: Sequence[str]) -> Iterator[tuple[bool, str]]:
    return ((position % 2 == 1, name) for position, name in enumerate(names))


def _claims(problems: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Two claims on every problem and one on all of them."""
    for number, problem in enumerate(problems):
        less = {
            "test": "less",
            "metric": "simple_regret",
            "problems": [problem],
            "left": METHODS[:1],
            "right": METHODS[1:],
        }
        band = {
            "test": "band",
            "metric": "cumulative_regret",
            "problems": [problem],
            "curves": METHODS,
            "at_least": 0,
        }
        yield {
            "id": f"first-{number}",
            "where": "nowhere",
            "says": "the first method is the best",
            "check": less,
        }
        yield {
            "id": f"band-{number}",
            "where": "nowhere",
            "says": "regret is not negative",
            "check": band,
        }
    less = {
        "test": "less",
        "metric": "simple_regret",
        "problems": list(problems),
        "left": METHODS,
        "right": ["uniform"],
    }
    yield {
        "id": "all",
        "where": "nowhere",
        "says": "all methods beat uniform search",
        "check": less,
    }


def make(folder: Path, runs: int, rows: int = 1000, *, seconds: float = APART) -> Path:
    """A copy of the code with the large paper alone,
    each run of which costs so many CPU seconds.
    """
    copy = folder / "checkout"
    for name in COPIED:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Snakefile", copy)
    entry = paper(runs, rows)
    (copy / "papers").mkdir()
    (copy / "papers" / "large.yaml").write_text(
        yaml.safe_dump(entry, sort_keys=False), encoding="utf-8"
    )
    lines = [
        Measured("large", problem, curve, rows, seconds, seconds, 300)
        for problem in entry["problems"]
        for curve in entry["algorithms"]
    ]
    write_measured(lines, copy / costs.TABLE)
    return copy


def planned(copy: Path) -> Paper:
    """The plan of the large paper by this process's code, of which the copy is one; from then on
    runs cost what the table of the copy says.
    """
    costs.table.cache_clear()
    costs.estimate.cache_clear()
    with patch("workflow.plan.costs.ROOT", copy):
        plan = load("large", "paper", root=copy)
        _ = costs.table()
    return plan


def finish(copy: Path) -> None:
    """Let Snakemake run everything with a `python` that leaves an empty file in the place of each
    output.
    """
    stand_in = copy / "stand-in" / "python"
    stand_in.parent.mkdir()
    stand_in.write_text(STAND_IN, encoding="utf-8")
    stand_in.chmod(0o755)
    snakemake(copy, "--quiet", "all", first=stand_in.parent)


def spent(copy: Path, *arguments: str, first: Path = Path(sys.executable).parent) -> Spent:
    """What `python -m ARGUMENTS` takes in the copy, programs taken from a folder `first`.

    Raises CalledProcessError.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PATH": f"{first}{os.pathsep}{os.environ['PATH']}",
    }
    probe = (
        "import resource, subprocess, sys; code = subprocess.run([sys.executable, '-m',"
        " *sys.argv[1:]]).returncode; used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        " print(f'\\n{used.ru_utime + used.ru_stime} {used.ru_maxrss}'); sys.exit(code)"
    )
    made = subprocess.run(
        [sys.executable, "-c", probe, *arguments],
        cwd=copy,
        env=environment,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    printed, _, last = made.stdout.rstrip().rpartition("\n")
    if made.returncode != 0:
        raise subprocess.CalledProcessError(made.returncode, arguments, made.stdout)
    return Spent(float(last.split()[0]), int(last.split()[1]) / 1024, printed)


def snakemake(copy: Path, *arguments: str, first: Path = Path(sys.executable).parent) -> Spent:
    return spent(
        copy, "snakemake", "--cores", "2", *arguments, "--config", "scale=paper", first=first
    )
