"""The regression tables under a feature map that the text does not state: the arms of
`problems.tables` with other points (calandriello2020bbkb, assumption `features`).

For readings of how the authors prepared the tables; the default map is one of `problems.tables`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from algorithms.api import Arms
from problems import tables
from problems.api import Problem
from problems.feature_maps import FEATURE_MAPS, mapped

RAW = "raw"


def abalone(
    instance: np.random.Generator, *, data: Path, noise: float, features: str, target: str
) -> Problem:
    """Abalone (4177 arms) as `problems.tables.abalone` has it, under the maps that `features`
    names with commas, the first one first. Raises ValueError for an unknown map.
    """
    problem = tables.abalone(instance, data=data, noise=noise, features=RAW, target=target)
    return _under(problem, features)


def cadata(
    instance: np.random.Generator, *, data: Path, noise: float, features: str, target: str
) -> Problem:
    """California housing (20640 arms) as `problems.tables.cadata` has it, under the maps that
    `features` names with commas, the first one first. Raises ValueError for an unknown map.
    """
    problem = tables.cadata(instance, data=data, noise=noise, features=RAW, target=target)
    return _under(problem, features)


def _under(problem: Problem, features: str) -> Problem:
    names = features.split(", ")
    if unknown := [name for name in names if name not in FEATURE_MAPS]:
        raise ValueError(
            f"expected features of {', '.join(FEATURE_MAPS)}, got {', '.join(unknown)}: correct it"
            " in papers/*.yaml"
        )
    points = cast(Arms, problem.domain).points
    return replace(problem, domain=Arms(mapped(points, names)))
