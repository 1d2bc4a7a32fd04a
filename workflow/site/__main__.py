"""`python -m workflow.site [--from FOLDER] [-o FOLDER]`: make the site of the reports in a folder
(figures/reference).

The site of figures/NAME goes to report/NAME.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from workflow.site.build import build
from workflow.trace.curves import PlanError


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.site", description=__doc__)
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        default=Path("figures", "reference"),
        help="a folder a paper in it",
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="default: report/ and the name of that folder"
    )
    parser.add_argument(
        "--papers", default="", help="with commas; default: all that the folder has"
    )
    options = parser.parse_args(arguments)
    output = options.output or Path("report", options.source.name)
    try:
        pages = build(
            options.source, output, papers=[name for name in options.papers.split(",") if name]
        )
    except (PlanError, FileExistsError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"wrote {len(pages)} pages: open {output / 'index.html'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
