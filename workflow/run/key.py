"""The key with which this user's checkpoints are signed: made once, read by this user alone."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

BYTES = 32


class NoKey(RuntimeError):
    """There is no key that this user alone has; says what to do."""


# where it lies for this process, whatever becomes of its environment; None before `settle`
_settled: Path | None = None


def settle() -> None:
    """Keep to the place of now: a simulator may change the environment that names it."""
    global _settled
    with suppress(RuntimeError):  # a user without a home, which `mine` tells who needs the key
        _settled = place()


def place() -> Path:
    """Where it lies: below XDG_STATE_HOME, or in the user's home."""
    if _settled is not None:
        return _settled
    state = os.environ.get("XDG_STATE_HOME", "")
    return (
        (Path(state) if Path(state).is_absolute() else Path("~/.local/state").expanduser())
        / "noregret"
        / "checkpoint.key"
    )


def mine() -> bytes:
    """The key, made now if there is none. Raises NoKey."""
    try:
        path = place()
        if path.is_symlink():
            raise NoKey(f"{path}: expected a plain file, got a link: remove it, a key is made then")
        if not path.exists():
            _make(path)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(handle)
            content = os.read(handle, BYTES + 1) if stat.S_ISREG(found.st_mode) else b""
        finally:
            os.close(handle)
    except NoKey:
        raise
    except (OSError, RuntimeError) as error:  # RuntimeError: a user without a home
        raise NoKey(
            f"expected a folder for a key of this user, got {error}: let XDG_STATE_HOME name one"
        ) from None
    mode = stat.S_IMODE(found.st_mode)
    private = found.st_uid == os.geteuid() and not mode & 0o077
    if not (private and stat.S_ISREG(found.st_mode) and len(content) == BYTES):
        raise NoKey(
            f"{path}: expected {BYTES} bytes that user {os.geteuid()} alone can read, got"
            f" {len(content)} bytes of user {found.st_uid} with mode {mode:o}: remove that file, a"
            " new one is made (checkpoints signed with it are then of no use)"
        )
    return content


def _make(path: Path) -> None:
    """Make it unless another process of this user was faster."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123, so that it never has another mode
            file.write(secrets.token_bytes(BYTES))
            file.flush()
            os.fsync(handle)
        with suppress(FileExistsError):
            os.link(part, path)  # there whole or not at all, and only if there is none
    finally:
        part.unlink(missing_ok=True)
