"""Why jobs failed, told at the end of a workflow by the Snakefile.

Snakemake itself prints why a job failed only where it prints every job, too, which is thousands of
them in a dry run. Every program of the workflow ends its log with a sentence that begins with
`error:`, or with a traceback.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

LAST = 12  # lines of a log that are shown
WRONG = re.compile(r"^(error: |Traceback |\w*Error\b)", re.MULTILINE)
Stamp = tuple[int, int, int]  # inode, nanoseconds of the last change, bytes


def logs(folder: Path = Path("logs")) -> dict[Path, Stamp]:
    """Every log below a folder, and by what to see that it has changed.

    They are compared with themselves, never with a clock: that of a node or of a file server may
    be another one.
    """
    return {path: stamp for path in folder.rglob("*.log") if (stamp := _stamp(path)) is not None}


def complaints(before: Mapping[Path, Stamp]) -> Iterator[str]:
    """What each job that did not finish has said last, which names the remedy.

    `before` is what `logs` found when the workflow began.
    """
    for path, stamp in sorted(logs().items()):
        if stamp == before.get(path):
            continue
        said = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-LAST:]
        if WRONG.search("\n".join(said)):
            yield "\n  ".join([f"did not finish ({path}):", *said])


def _stamp(path: Path) -> Stamp | None:
    """None where the log is gone: Snakemake removes it before it tries a job again."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
