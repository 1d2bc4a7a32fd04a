"""What a run needs to go on: `<seed>.checkpoint` in a folder of this user beside its record, until
that is finished.

A pickle may do anything when it is read. It is therefore read only where this workflow writes,
below results/, from a plain file of this user in a folder that nobody else can write, and only
after the lines in front of it have shown that this user wrote it (a hash with the user's own key),
for exactly this run (its digest), with these versions of the libraries and on this code path of
the CPU. Everything else is set aside and the run starts anew, to the same bits.
"""

from __future__ import annotations

import hmac
import io
import json
import logging
import os
import pickle
import re
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workflow.run import key, lease, loop
from workflow.trace import code_path, record
from workflow.trace.atomic import atomic, sweep

log = logging.getLogger("noregret.checkpoint")
RESULTS = Path("results")  # of the working directory
# what whoever reads an object again may raise, after it was written well
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)
OTHERS = stat.S_IWGRP | stat.S_IWOTH


class NotOurs(ValueError):
    """A file that is not the checkpoint of this run; says why."""


def is_kept(made: Path) -> bool:
    """Whether a run that makes this record saves itself: only below results/, from where it may be
    read again.
    """
    return lease.checkpoint(made).parent.resolve().is_relative_to(RESULTS.resolve())


def check(progress: loop.Progress) -> None:
    """Raise TypeError where a run could not be saved, wherever and however short it is."""
    try:
        pickle.Pickler(_Nowhere(), protocol=pickle.HIGHEST_PROTOCOL).dump(progress)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise TypeError(
            f"{type(progress.optimizer).__name__}: expected an optimizer that can be pickled, so"
            f" that its runs can go on after they were cut, got {type(error).__name__}: {error}:"
            " keep no lambdas, generators, open files or locks in it"
        ) from None


def save(made: Path, digest: str, progress: loop.Progress) -> float:
    """Write everything that the rest of the run depends on, atomically; returns the seconds it
    took.

    Writes nothing, and says why, where it could not be read again.
    """
    began = time.monotonic()
    if is_kept(made):
        path = lease.checkpoint(made)
        try:
            _check_owner(path.parent)
            secret = key.mine()
        except (NotOurs, key.NoKey) as error:
            log.warning("%s: no checkpoint is written: %s", made, error)
            return time.monotonic() - began
        signed = json.dumps(_identity(digest), sort_keys=True).encode() + b"\n"
        signed += pickle.dumps(progress)
        _write(path, _signature(secret, signed) + b"\n" + signed)
    return time.monotonic() - began


def resume(made: Path, digest: str) -> loop.Progress | None:
    """The progress of exactly this run, or None; a file that is not it is set aside, where that is
    ours to do.
    """
    path = lease.checkpoint(made)
    if not os.path.lexists(path):
        return None
    try:
        header, content = _content(made, digest)
        progress = _progress(content)
        # once more, since reading it may have loaded libraries
        _check_identity(header, _identity(digest))
    except (NotOurs, key.NoKey) as error:
        aside = path.with_suffix(".checkpoint.stale")
        told = f"does not fit and is kept as {aside.name}"
        if isinstance(error, NotOurs) and _is_ours(made):
            path.replace(aside)
        else:
            told = "cannot be used and is left as it is"
        log.warning("%s %s; the run starts again from its beginning: %s", path, told, error)
        return None
    log.info("%s: continues after evaluation %d", path, progress.rows)
    return progress


def clear(made: Path) -> None:
    """Remove what nobody needs once the record is there: checkpoints, also those that did not fit,
    and halves of them.
    """
    path = lease.checkpoint(made)
    if not _is_ours(made):
        return
    sweep(path)
    for left in (path, path.with_suffix(".checkpoint.stale")):
        with suppress(OSError):  # the record is there, whatever remains beside it
            left.unlink()
    with suppress(OSError):  # other runs have theirs in it
        path.parent.rmdir()


def _write(path: Path, content: bytes) -> None:
    for tries in (2, 1, 0):
        try:
            with atomic(path, private=True) as temporary:
                temporary.write_bytes(content)
        except FileNotFoundError:  # another run was complete just now, and removed the folder
            if not tries:
                raise
        else:
            return


def _is_ours(made: Path) -> bool:
    """Whether the folder of the checkpoint is one in which nobody else put anything."""
    try:
        _check_owner(lease.checkpoint(made).parent)
    except NotOurs:
        return False
    return is_kept(made)


def _progress(content: bytes) -> loop.Progress:
    """What a run has pickled. Raises NotOurs where that cannot be read again."""
    try:
        found = pickle.loads(content)
    except UNREADABLE as error:
        raise NotOurs(
            f"expected a run that can be read again, got {type(error).__name__}: {error}"
        ) from None
    if not isinstance(found, loop.Progress):
        raise NotOurs(f"expected a run under way, got {type(found).__name__}")
    return found


def _content(made: Path, digest: str) -> tuple[dict[str, Any], bytes]:
    """The header and the pickle in the checkpoint of a record.

    Raises NotOurs unless this very run wrote it.
    """
    path = lease.checkpoint(made)
    if not is_kept(made):
        raise NotOurs(f"expected a file below {RESULTS.resolve()}, got {path.resolve()}")
    _check_owner(path.parent)
    found, _, signed = _read(path).partition(b"\n")
    if not hmac.compare_digest(found, _signature(key.mine(), signed)):
        raise NotOurs(
            "expected the hash with this user's key: it was changed after it was written, was not"
            " written completely, or somebody else wrote it"
        )
    first, _, content = signed.partition(b"\n")
    header: dict[str, Any] = json.loads(first)
    _check_identity(header, _identity(digest))
    return header, content


def _read(path: Path) -> bytes:
    """The bytes of a plain file of this user that nobody else can write. Raises NotOurs."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise NotOurs(f"expected a plain file, got a link or something else ({error})") from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise NotOurs("expected a plain file, got something else")
        _check_private(found, str(path))
        # the file that was looked at is the one read
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def _check_owner(folder: Path) -> None:
    """Raise NotOurs for a folder of somebody else; one that is not there will be ours."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        raise NotOurs(f"expected a folder {folder}, got a link or something else")
    _check_private(found, str(folder))


def _check_private(found: os.stat_result, what: str) -> None:
    if found.st_uid != os.geteuid() or found.st_mode & OTHERS:
        raise NotOurs(
            f"expected {what} to belong to user {os.geteuid()} and nobody else to write it, got"
            f" user {found.st_uid} and mode {stat.S_IMODE(found.st_mode):o}"
        )


def _check_identity(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Raise NotOurs where a checkpoint is of another run, other libraries or another code path.

    A library that only one of the two processes has loaded so far says nothing.
    """
    saved = _flat(found)
    for name, value in _flat(expected).items():
        other = saved.get(name, value)
        if other != value:
            raise NotOurs(f"expected {name} {_short(value)}, found {_short(other)}")


def _identity(digest: str) -> dict[str, Any]:
    provenance = record.provenance()
    return {
        "digest": digest,
        "python": provenance["python"],
        "libraries": provenance["libraries"],
        "code path": code_path.parts(provenance["code_path"]),
        # a code path names what is set, here it also matters what is not
        "environment": {
            name: os.environ.get(name, "nothing") for name in (*code_path.ASKED, "XLA_FLAGS")
        },
    }


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A mapping of mappings as one, keys joined by blanks."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        inner = isinstance(value, Mapping)
        found |= _flat(value, f"{prefix}{name} ") if inner else {f"{prefix}{name}": value}
    return found


def _signature(secret: bytes, signed: bytes) -> bytes:
    return hmac.new(secret, signed, "sha256").hexdigest().encode()


def _short(value: object) -> str:
    """A value as people read it: of a hash, its beginning."""
    return str(value)[:12] if re.fullmatch(r"[0-9a-f]{64}", str(value)) else str(value)


class _Nowhere(io.RawIOBase):
    """A file that keeps nothing."""

    def writable(self) -> bool:
        return True

    def write(self, content: Any, /) -> int:
        return memoryview(content).nbytes
