"""The store of complete records: `results/store/KEY/SEED.parquet`, KEY a hash of digest and names.

A record of `results/SCALE/PAPER/...` is a hard link to one here, or a copy where the file system
has no links. So a constant that is changed back, another scale, or an output that Snakemake has
deleted costs nothing: the record is handed out again. Nothing here is ever overwritten.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from pathlib import Path

from workflow.trace import record
from workflow.trace.atomic import atomic

FOLDER = Path("results", "store")
DIGITS = 32  # of a hash that name a folder
NAMES = ("paper", "problem", "algorithm", "study", "digest")
log = logging.getLogger("noregret.run")


def place(root: Path, header: record.Header) -> Path:
    """Where the record lies whose header has this digest, this seed and these names, which random
    streams are drawn by.
    """
    named = json.dumps([str(header.get(name, "")) for name in NAMES])
    folder = hashlib.sha256(named.encode()).hexdigest()[:DIGITS]
    return root / FOLDER / folder / f"{header.get('seed', 0)}.parquet"


def finished(path: Path) -> record.Record | None:
    """The record at a place of the store; None where there is none. One that is damaged is set
    aside, and told.
    """
    if not path.exists():
        return None
    try:
        return record.read(path)
    except record.BadRecord as error:
        aside = path.with_name(f"{path.name}.damaged")
        path.replace(aside)
        log.warning("%s; it is kept as %s, and the run is made again", error, aside)
        return None


def keep(output: Path, header: record.Header, root: Path) -> None:
    """Take in the complete record at a place in results/ that another one is about to replace."""
    if header.get("status", "complete") == "complete":
        path = place(root, header)
        if not path.exists():
            _link(output, path)


def write(output: Path, root: Path, header: record.Header, columns: record.Columns) -> None:
    """Write a complete record, and hand it out to its place in results/.

    One that is there with the same trace is kept, so that a run which is made again changes no
    byte. One with another trace is set aside, and told.
    """
    path = place(root, header)
    trace = record.trace_hash(columns)
    made = finished(path)
    if made is not None:
        before = str(made.header.get("trace_sha256"))
        if before == trace:
            hand_out(path, output)
            return
        aside = path.with_name(f"{path.name}.{before[:8]}")
        log.warning(
            "%s: made again, the run has trace %s, before it had %s: the first is kept as %s",
            path,
            trace[:8],
            before[:8],
            aside.name,
        )
        path.replace(aside)
    record.write(path, header, columns)
    hand_out(path, output)


def hand_out(path: Path, output: Path) -> None:
    """Put a record of the store at its place in results/, as new as whatever it was made from."""
    os.utime(path)
    if not (output.exists() and output.samefile(path)):
        _link(path, output)


def _link(path: Path, other: Path) -> None:
    """Give a file a second name, or copy it where the file system has no such names."""
    other.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=other.parent, prefix=f".{other.name}.") as beside:
        try:
            linked = Path(beside) / other.name
            os.link(path, linked)
            linked.replace(other)
        except OSError:  # other devices, or a file system without links
            with atomic(other) as copy:
                shutil.copyfile(path, copy)
