"""A raw file on its way: what is accepted, and the part that has arrived so far, locked, beside its
future place.

NAME.part holds the bytes and NAME.part.json says whose they are, so that another call, or process,
can go on from there.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from workflow.data.foreign import escaped
from workflow.data.places import DataUnavailable

SLACK = 1 << 20  # bytes
LARGEST = 1 << 32  # bytes of a file whose size nobody states
ANY = ""  # among checksums: every file is let in, and who reads it decides


class Rejected(Exception):
    """What one source gave instead of the file; `transient` if asking again may help, `usual` if it
    is no news. The reason may quote the source: it is shown escaped.
    """

    def __init__(self, reason: str, *, transient: bool = False, usual: bool = False) -> None:
        super().__init__(escaped(reason))
        self.transient, self.usual = transient, usual


def say(line: str) -> None:
    """One line for people, on stderr."""
    print(f"fetch: {line}", file=sys.stderr, flush=True)


def verify(path: Path, accepted: Mapping[str, int]) -> None:
    """Compare a file of any size with what is accepted. Raises Rejected."""
    check(file_sha256(path), path.stat().st_size, accepted)


def check(found: str, size: int, accepted: Mapping[str, int]) -> None:
    """Compare checksum and size with what is accepted; raises Rejected, transient where bytes are
    missing.
    """
    if found not in accepted and ANY not in accepted:
        expected = " or ".join(
            f"sha256 {sha256} ({known or 'unknown'} bytes)" for sha256, known in accepted.items()
        )
        missing = size < min(accepted.values())
        raise Rejected(f"expected {expected}, got sha256 {found} ({size} bytes)", transient=missing)


def bound(accepted: Mapping[str, int]) -> int:
    """Bytes after which a source is known to give something else; some more than are accepted, so
    that it can be named.
    """
    return SLACK + (LARGEST if 0 in accepted.values() else max(accepted.values()))


def file_sha256(path: Path) -> str:
    """The checksum of a file, in constant memory. Raises Rejected if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Rejected(error.strerror or str(error)) from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write into a sentence."""
    try:
        yield
    except OSError as error:
        raise DataUnavailable(
            f"{path}: cannot be written ({error.strerror}): expected a folder with room that we may"
            " write to; change its permissions or run in another checkout"
        ) from None


class Part:
    """What has arrived of a target, and a note of the URL,
    its version (`validator`) and its size.
    """

    def __init__(self, target: Path, file: IO[bytes]) -> None:
        self.target, self.path, self._file = target, _beside(target, ".part"), file
        self._note = _beside(target, ".part.json")
        self.mixed = self.size > 0  # bytes of more than one answer
        try:
            self.note = dict(json.loads(self._note.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            self.note = {}

    @property
    def size(self) -> int:
        return self._file.seek(0, os.SEEK_END)

    def held(self, url: str) -> int:
        """How many bytes of this URL have arrived."""
        return self.size if self.note.get("url") == url else 0

    def restart(self, **note: str | int) -> None:
        """Forget all bytes; the next ones are those that the note describes."""
        with writing(self.target):
            self._file.truncate(0)
            self.note, self.mixed = note, False
            self._note.write_text(json.dumps(note) + "\n", encoding="utf-8")

    def append(self, chunk: bytes) -> None:
        with writing(self.target):
            while chunk:  # a disk that is nearly full takes less than all
                chunk = chunk[self._file.write(chunk) :]

    def verify(self, accepted: Mapping[str, int]) -> None:
        """Raises Rejected if this is not the file, and forgets the bytes: they would never become
        right.
        """
        try:
            verify(self.path, accepted)
        except Rejected:
            self.restart()
            raise

    def move(self, target: Path) -> None:
        """Put the file in its place.

        Whenever this is cut off, the note or the file in its place is there.
        """
        with writing(target):
            os.fsync(self._file.fileno())
            self.path.replace(target)
            # left behind, it describes a part of no bytes, which is begun anew
            self._note.unlink(missing_ok=True)

    def tidy(self) -> None:
        """Leave nothing beside the target unless bytes are worth keeping."""
        if not self.size:
            with writing(self.target):
                self._note.unlink(missing_ok=True)
                self.path.unlink(missing_ok=True)


@contextmanager
def part_of(target: Path) -> Iterator[Part]:
    """The part of a target, for this process alone; one that another process is filling is waited
    for.
    """
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        file = _locked(_beside(target, ".part"))
    with file:
        part = Part(target, file)
        try:
            yield part
        finally:
            part.tidy()


def _locked(path: Path) -> IO[bytes]:
    """The file at `path`, open for appending, with its lock; whoever has to wait says so."""
    while True:
        # closing must not write again what could not be written
        file = path.open("a+b", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{path}: another process is downloading this file; waiting until it is done")
            fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        file.close()  # moved into place or removed while we waited for its lock


def _beside(target: Path, suffix: str) -> Path:
    return target.with_name(f"{target.name}{suffix}")
