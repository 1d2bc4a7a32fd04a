"""The table of what was run: a row for each record that a report counts, with what its header says
of how it was made.
"""

from __future__ import annotations

import pandas as pd

from workflow.judge.claims import command
from workflow.measure.mixture import kernels
from workflow.measure.store import Store
from workflow.trace.curves import Curve

COLUMNS = [
    *("problem", "curve", "seed", "names", "algorithm", "budget", "status", "digest"),
    *("trace_sha256", "cpu_seconds", "peak_mib", "data", "commit", "machine", "kernels"),
    *("libraries", "rerun"),
]


def frame(store: Store) -> pd.DataFrame:
    """All records of a paper, curves before studies. Raises BadRecords."""
    paper = store.paper
    names: dict[tuple[str, str], list[str]] = {}  # of a curve, as the YAML has them
    for (place, name), known in paper.aliases.items():
        names.setdefault((place, known.name), []).append(name)
    rows = []
    for curve in paper.every_curve:
        problem, label = curve.place
        algorithm, budget = "", 0
        if isinstance(curve, Curve):
            algorithm, budget = curve.algorithm_entry["is"], curve.budget
        of_curve = {
            "problem": problem,
            "curve": label,
            "names": ", ".join(sorted(names.get((problem, curve.name), []))),
            "algorithm": algorithm,
            "budget": budget,
            "rerun": command(curve),
        }
        for seed, header in store.headers(curve).items():
            made = header["provenance"]
            versions = {"python": made["python"], **made["libraries"]}
            rows.append(
                of_curve
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
                    "kernels": kernels(made),
                    "libraries": ", ".join(f"{name} {one}" for name, one in versions.items()),
                }
            )
    return pd.DataFrame(rows, columns=COLUMNS)
