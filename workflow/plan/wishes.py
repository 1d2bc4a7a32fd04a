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
from workflow.trace.cells import PlanError

CONFIG = ("scale", "papers", "seeds", "fresh")  # what `snakemake --config` may be given
FOLDERS = ("results", "figures", "logs", "report", "data/raw", "data/prepared")  # we write here


def check_config(config: Mapping[str, Any]) -> None:
    """Refuse an entry of Snakemake's configuration that nothing reads. Raises PlanError."""
    for key in config:
        if key not in CONFIG:
            raise PlanError(
                f"--config {key}={config[key]}: nothing reads {key!r}{or_nearest(key, CONFIG)}"
            )


def words(value: object, between: str) -> str:
    """What a user says as one text: names of papers with commas between them, or the first and the
    last of some seeds. Raises PlanError where these are not consecutive.
    """
    if not isinstance(value, list):
        return str(value)
    if between == ",":
        return ",".join(map(str, value))
    if value != [value[0] + step for step in range(len(value))]:
        raise PlanError(f"seeds: expected consecutive ones such as [0, 1, 2], got {value}")
    return f"{value[0]}-{value[-1]}" if value else ""


def is_fresh(config: Mapping[str, Any]) -> bool:
    """Whether published records are to be ignored: `fresh=1`. Raises PlanError."""
    said = str(config.get("fresh", "0"))
    if said not in ("0", "1"):
        raise PlanError(f"--config fresh={said}: expected 1, or 0 as without it")
    return said == "1"


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


def refuse_target(
    plans: Mapping[str, Paper], scale: str, folder: str, other: str, paper: str, rest: str
) -> NoReturn:
    """Say what is wrong with `folder/other/paper/rest`, which nobody makes. Raises PlanError."""
    target = f"{folder}/{other}/{paper}/{rest}"
    if other != scale:
        raise PlanError(
            f"{target}: expected a file of scale {scale}, got one of {other}: add"
            f" --config scale={other}"
        )
    if paper not in plans:
        raise PlanError(f"{target}: unknown paper {paper!r}{or_nearest(paper, plans)}")
    known = [line["id"] for _, line in lines_of(plans[paper].entry)]
    name = rest.partition(".")[0]
    raise PlanError(
        f"{target}: papers/{paper}.yaml has no exhibit {name!r} at scale"
        f" {scale}{or_nearest(name, known)}"
    )
