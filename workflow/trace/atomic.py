"""Files that are there whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ABANDONED = 3600.0  # seconds after which a part that nobody writes to is of a process that is gone


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path beside the target, renamed over it on success, removed on failure.

    Parts of the same target that a killed process left an hour ago or earlier are removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    # both times are of one file system, whatever the clock of this machine says
    sweep(path, before=temporary.stat().st_mtime - ABANDONED)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o644)  # mkstemp makes it private, shared results must be readable
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sweep(path: Path, *, before: float = float("inf")) -> None:
    """Remove what writers of `path` left that were killed while they wrote it, and did not touch
    since `before` (seconds, by the clock of its file system).

    Without `before` only who alone may write it can call this.
    """
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        if "." in part.name[len(path.name) + 2 : -len(".part")]:
            continue  # of another target, whose name begins with ours
        with suppress(OSError):  # another one was faster, or it is not ours to remove
            if part.lstat().st_mtime < before:
                part.unlink()
