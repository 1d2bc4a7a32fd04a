"""Write papers/costs.yaml, what a run costs, from the complete records at hand: `python -m
benchmarks.costs`.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import yaml

from workflow.plan import costs
from workflow.trace import record

HEAD = """# Measured: CPU seconds (one thread) and peak MiB of one seed at paper scale,
# by paper, problem and curve.
# Written by `python -m benchmarks.costs` from records; the machine: """


def main(arguments: list[str] | None = None) -> int:
    """Write papers/costs.yaml from the complete records below results/<scale>; what it does not see
    is kept.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=main.__doc__)
    parser.add_argument("--scale", default="paper")
    options = parser.parse_args(arguments)
    seen: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    for path in sorted(Path("results", options.scale).rglob("[0-9]*.parquet")):
        found = record.read(path)
        place = path.parent.parts[2:]
        if "peak_mib" in found.header and len(place) == 3:
            timing = sum(
                float(values.sum())
                for name, values in found.columns.items()
                if name.startswith("timing.")
            )
            seconds = (
                found.header["cpu_seconds"]
                if "study" in found.header
                else found.header.get("setup_seconds", 0.0) + timing
            )
            seen[place[0], place[1], place[2]].append((seconds, found.header["peak_mib"]))
    table = costs.table()
    for (paper, problem, curve), found_costs in seen.items():
        mean, peak = (
            sum(cost[0] for cost in found_costs) / len(found_costs),
            max(cost[1] for cost in found_costs),
        )
        table.setdefault(paper, {}).setdefault(problem, {})[curve] = [
            float(f"{mean:.2g}"),
            round(peak),
        ]
    text = yaml.safe_dump(table, default_flow_style=None, sort_keys=True, width=120)
    (costs.ROOT / "papers" / "costs.yaml").write_text(
        f"{HEAD}{record.provenance()['machine']}\n{text}", encoding="utf-8"
    )
    print(
        f"papers/costs.yaml: {sum(map(len, seen.values()))} records of {len(seen)} cells",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
