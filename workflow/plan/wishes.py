"""What a user asks for on a command line, checked before anything starts: each mistake is told in a
sentence that names the nearest thing that is known.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from workflow.plan.exhibits import lines_of
from workflow.plan.nearest import or_nearest
from workflow.plan.paper import Paper
from workflow.trace.curves import PlanError

FOLDERS = ("results", "figures", "logs", "report", "data/raw", "data/prepared")  # we write here


def check_cores(cores: int) -> None:
    """Refuse a number of cores on which no job could ever start. Raises PlanError."""
    if cores < 1:
        raise PlanError(f"--cores: expected a positive number, got {cores}: no job could start")


def check_folders(root: Path = Path()) -> None:
    """Refuse a file where a folder belongs that runs and reports write to. Raises PlanError."""
    for name in FOLDERS:
        path = root / name
        if path.is_symlink() and not path.exists():
            raise PlanError(
                f"{name}: expected a folder, got a link to {path.readlink()}, which is not there:"
                " make that folder or remove the link"
            )
        if path.exists() and not path.is_dir():
            raise PlanError(
                f"{name}: expected a folder, since results go there, got a file of that name:"
                " move it away"
            )


def heed_force(asked: Any) -> None:
    """Let jobs compute what the user forces (`--force`, `--forceall`, `-R`, by Snakemake's settings
    of the DAG), also where the store has it.
    """
    if asked.forceall or asked.forcerun or asked.forcetargets:
        os.environ["NOREGRET_AGAIN"] = "1"


def refuse_target(plans: Mapping[str, Paper], scale: str, target: str) -> NoReturn:
    """Say what is wrong with `figures/SCALE/PAPER/...` or `results/...`, which nobody makes, or
    with the bare name of an exhibit. Raises PlanError.
    """
    if not target.startswith(("figures/", "results/")):
        name = target.rpartition("/")[2]
        files = [
            f"figures/{scale}/{plan.name}/{kind.files(line)[0]}"
            for plan in plans.values()
            for kind, line in lines_of(plan.entry)
            if line.id == name
        ]
        raise PlanError(
            f"{target}: expected a file, got the name of an exhibit: ask for {' or '.join(files)}"
        )
    _, other, paper, rest = target.split("/", 3)
    if other != scale:
        raise PlanError(
            f"{target}: expected a file of scale {scale}, got one of {other}: add"
            f" --config scale={other}"
        )
    if paper not in plans:
        raise PlanError(f"{target}: unknown paper {paper!r}{or_nearest(paper, plans)}")
    known = [line.id for _, line in lines_of(plans[paper].entry)]
    name = rest.partition(".")[0]
    raise PlanError(
        f"{target}: papers/{paper}.yaml has no exhibit {name!r} at scale"
        f" {scale}{or_nearest(name, known)}"
    )
