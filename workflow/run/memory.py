"""The most memory that a run has had, apart from the runs that its process made before."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

OWN = Path("/proc/self")


def forget() -> None:
    """Begin anew at the present memory of this process, on a machine that can; Linux has it."""
    with suppress(OSError):
        (OWN / "clear_refs").write_text("5", encoding="utf-8")


def peak_mib() -> int:
    """The most memory of this process since it was last forgotten; since its start on a machine
    that cannot forget.
    """
    with suppress(OSError):
        for line in (OWN / "status").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name == "VmHWM":
                return int(value.split()[0]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
