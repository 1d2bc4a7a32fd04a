"""The table of what was run: a row for each record that a report counts, with what its header says
of how it was made.
"""

from __future__ import annotations

import pandas as pd

from workflow.judge.claims import command
from workflow.measure.store import Store
from workflow.trace import code_path
from workflow.trace.cells import Cell

STUDIES = "studies"  # the problem of a study
COLUMNS = [
    *("problem", "curve", "seed", "names", "algorithm", "budget", "status", "digest"),
    *("trace_sha256", "cpu_seconds", "peak_mib", "data", "commit", "machine", "code_path"),
    *("libraries", "rerun"),
]


def frame(store: Store) -> pd.DataFrame:
    """All records of a paper, cells before studies. Raises BadRecords."""
    paper = store.paper
    names: dict[tuple[str, str], list[str]] = {}  # of a run, as the YAML has them
    for (problem, curve), cell in paper.aliases.items():
        names.setdefault((problem, cell.name), []).append(curve)
    rows = []
    for run in [*paper.cells, *paper.studies.values()]:
        is_cell = isinstance(run, Cell)
        problem, curve = (run.problem_name, run.curve) if is_cell else (STUDIES, run.id)
        told = {
            "problem": problem,
            "curve": curve,
            "names": ", ".join(sorted(names.get((problem, run.name), []))),
            "algorithm": run.algorithm_entry["is"] if is_cell else "",
            "budget": run.budget if is_cell else 0,
            "rerun": command(run),
        }
        for seed, header in store.headers(run).items():
            made = header["provenance"]
            versions = {"python": made["python"], **made["libraries"]}
            rows.append(
                told
                | {
                    "seed": seed,
                    "status": header.get("status", "complete"),
                    "digest": header["digest"],
                    "trace_sha256": header["trace_sha256"],
                    "cpu_seconds": float(header.get("cpu_seconds", 0)),
                    "peak_mib": header.get("peak_mib", 0),
                    "data": str(header.get("data", "none")),
                    "commit": made["commit"],
                    "machine": made["machine"],
                    "code_path": code_path.words(made.get("code_path", {})),
                    "libraries": ", ".join(f"{name} {one}" for name, one in versions.items()),
                }
            )
    return pd.DataFrame(rows, columns=COLUMNS)
