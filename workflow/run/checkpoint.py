"""What a run needs to go on: `<seed>.checkpoint` beside its record, until that is finished.

A pickle may do anything when it is read. It is therefore read only where this workflow writes,
below results/, from a plain file, and only after a header in front of it has shown that it is of
exactly this run (its digest), of these versions of the libraries, and unchanged since it was
written. Everything else is set aside and the run starts anew, to the same bits.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import pickle
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workflow.run import loop
from workflow.trace import record

log = logging.getLogger("noregret.checkpoint")
RESULTS = Path("results")  # of the working directory


class NotOurs(ValueError):
    """A file that is not the checkpoint of this run; says why."""


def place(made: Path) -> Path:
    """Where the checkpoint of a record lies."""
    return made.with_suffix(".checkpoint")


def is_kept(made: Path) -> bool:
    """Whether a run that makes this record saves itself: only below results/, from where it may be
    read again.
    """
    return place(made).resolve().is_relative_to(RESULTS.resolve())


def save(made: Path, digest: str, progress: loop.Progress) -> float:
    """Write everything that the rest of the run depends on, atomically; returns the seconds it
    took.
    """
    began = time.monotonic()
    if is_kept(made):
        content = pickle.dumps(progress)
        header = json.dumps(
            {**_identity(digest), "sha256": hashlib.sha256(content).hexdigest()}, sort_keys=True
        )
        with record.atomic(place(made)) as temporary:
            temporary.write_bytes(header.encode() + b"\n" + content)
    return time.monotonic() - began


def resume(made: Path, digest: str) -> loop.Progress | None:
    """The progress of exactly this run, or None; a file that is not it is set aside."""
    path = place(made)
    if not os.path.lexists(path):
        return None
    try:
        progress: loop.Progress = pickle.loads(_content(made, digest))
    except NotOurs as error:
        log.warning(
            "%s does not fit and is kept as %s.stale; the run starts again from its beginning: %s",
            path,
            path.name,
            error,
        )
        path.replace(path.with_suffix(".checkpoint.stale"))
        return None
    log.info("%s: continues after evaluation %d", path, progress.rows)
    return progress


def _content(made: Path, digest: str) -> bytes:
    """The pickle in the checkpoint of a record. Raises NotOurs unless this very run wrote it."""
    path = place(made)
    if not is_kept(made):
        raise NotOurs(f"expected a file below {RESULTS.resolve()}, got {path.resolve()}")
    if path.is_symlink() or not path.is_file():
        raise NotOurs("expected a plain file, got a link or something else")
    header, _, content = path.read_bytes().partition(b"\n")
    found = _header(header)
    for name, expected in _identity(digest).items():
        if found.get(name) != expected:
            raise NotOurs(f"expected {name} {_short(expected)}, found {_short(found.get(name))}")
    if found.get("sha256") != hashlib.sha256(content).hexdigest():
        raise NotOurs("it was changed after it was written, or it was not written completely")
    return content


def _identity(digest: str) -> dict[str, Any]:
    return {"digest": digest, "libraries": record.provenance()["libraries"]}


def _header(line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        raise NotOurs("expected a header in its first line, found none") from None
    if not isinstance(found, dict):
        raise NotOurs("expected a header in its first line, found something else")
    return found


def _short(value: object) -> str:
    return value[:12] if isinstance(value, str) else str(value)
