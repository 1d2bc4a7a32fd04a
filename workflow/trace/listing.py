"""The list of finished records that a job leaves, and whether they are still what it listed.

The list, `seeds-0-9.json`, lies in the folder of the first curve that the job makes, beside the
folders of its others. It holds the trace of each record, and the size and time stamp of its file.
A file that has both is taken for unchanged without being opened; any other is read and verified.
What this cannot see is a disk that gives other bytes for a file that nobody has written: reports,
`verify`, `archive` and a run that meets a record read it in full.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

FILES = "files"  # the field of the list that holds sizes and times


class Listed(NamedTuple):
    """A record as a list has it: the hash of its trace, size in bytes and time stamp in ns of its
    file. A list of before these were written has `file` None, and decides by `written`, its own
    time stamp.
    """

    path: Path
    curve: str
    seed: str
    trace_sha256: str
    file: tuple[int, int] | None
    written: int


def files(marker: Path, seeds: Mapping[str, Iterable[int]]) -> dict[str, dict[str, list[int]]]:
    """Size in bytes and time stamp in ns of the records of a list, by curve and seed, for its field
    `files`; a record that is not there is left out.
    """
    found: dict[str, dict[str, list[int]]] = {}
    for curve, numbers in seeds.items():
        for seed in numbers:
            with suppress(FileNotFoundError):
                stamp = _stamp(place(marker, curve, seed).stat())
                found.setdefault(curve, {})[str(seed)] = list(stamp)
    return found


def place(marker: Path, curve: str, seed: int | str) -> Path:
    """Where a record lies that a list holds."""
    return marker.parent.parent / curve / f"{seed}.parquet"


def text(marker: Path) -> dict[str, Any]:
    """All that a list says; {} where there is none, or none that is whole."""
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def listed(marker: Path, said: Mapping[str, Any]) -> list[Listed]:
    """The records of a list that says this; [] where it is none of ours."""
    stamps, found = said.get(FILES), []
    try:
        written = 0 if stamps else marker.stat().st_mtime_ns
        for curve, traces in said.get("trace_sha256", {}).items():
            folder, known = marker.parent.parent / curve, (stamps or {}).get(curve, {})
            for seed, trace in traces.items():
                stamp = known.get(seed)
                file = None if stamp is None else (int(stamp[0]), int(stamp[1]))
                path = folder / f"{seed}.parquet"
                found.append(Listed(path, curve, seed, str(trace), file, written))
    except (OSError, AttributeError, TypeError, ValueError, LookupError):
        return []
    return found


def is_changed(one: Listed, found: os.stat_result) -> bool:
    """Whether a file is another one than when it was listed, or may be."""
    return found.st_mtime_ns > one.written if one.file is None else one.file != _stamp(found)


def damages(marker: Path) -> list[str]:
    """What is wrong with the records of a list, a sentence for each: those whose files are not as
    they were listed are read and verified. Where all are right the list is told their new files,
    so that nobody reads them for that again.
    """
    said = text(marker)
    changed = []
    for one in listed(marker, said):
        with suppress(FileNotFoundError):
            found = one.path.stat()
            if is_changed(one, found):
                changed.append((one, found))
    told = [sentence for one, _ in changed if (sentence := _wrong(one))]
    if changed and not told:
        _renew(marker, said, changed)
    return told


def _wrong(one: Listed) -> str:
    """What is wrong with a listed record, and what happens or is to be done; "" where it is the one
    that was listed.
    """
    from workflow.trace import record  # numerical libraries, for the first file that has changed

    try:
        found = record.read(one.path)
    except record.BadRecord as error:
        return str(error)
    trace = str(found.header["trace_sha256"])
    if trace == one.trace_sha256:
        return ""
    return (
        f"{one.path}: expected the record with trace {one.trace_sha256[:12]} that was listed, found"
        f" one with {trace[:12]}: it was put there or made by hand; the workflow looks at it anew"
    )


def _stamp(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


def _renew(
    marker: Path, said: Mapping[str, Any], changed: Iterable[tuple[Listed, os.stat_result]]
) -> None:
    """Write the files of a list anew; its own time stamp stays, by which Snakemake judges."""
    stamps = {curve: dict(seeds) for curve, seeds in said.get(FILES, {}).items()}
    for one, found in changed:
        stamps.setdefault(one.curve, {})[one.seed] = list(_stamp(found))
    with suppress(OSError):  # where nobody can write they are read again
        before = marker.stat()
        handle, name = tempfile.mkstemp(
            dir=marker.parent, prefix=f".{marker.name}.", suffix=".part"
        )
        with os.fdopen(handle, "w", encoding="utf-8") as temporary:
            temporary.write(json.dumps({**said, FILES: stamps}, indent=1) + "\n")
        os.utime(name, ns=(before.st_atime_ns, before.st_mtime_ns))
        Path(name).chmod(0o644)
        Path(name).replace(marker)
