"""Writes the versions and sums of requirements.lock into core.yaml, after a change of the lock:
`python envs/conda.py`.

Which packages core.yaml names is decided there, by hand, and so is how it gets PyTorch and the one
package without a wheel.
"""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(__file__).parent
PYTHON = {"python_full_version": "3.11", "python_version": "3.11"}  # core.yaml's own


def locked(text: str) -> dict[str, list[str]]:
    """By name, what a lock has for PYTHON: `name==version`, then `--hash=...` for each sum."""
    found = {}
    for block in re.findall(r"^\w.*(?:\n .*)*", text, re.MULTILINE):
        line, *sums = (part.strip() for part in block.split("\\\n"))
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate(PYTHON):
            found[wanted.name] = [f"{wanted.name}{wanted.specifier}", *sums]
    return found


def rewritten(text: str, lock: dict[str, list[str]]) -> str:
    """core.yaml's text with the packages of `lock` as they stand there; other lines stay."""

    def entry(match: re.Match[str]) -> str:
        lines = lock.get(match[1])
        return match[0] if lines is None else "      - " + "\n        ".join(lines)

    return re.sub(
        r"^      - ([\w.-]+)==\S+(?:\n        --hash=\S+)*$", entry, text, flags=re.MULTILINE
    )


if __name__ == "__main__":
    path = HERE / "core.yaml"
    lock = locked((HERE / "requirements.lock").read_text(encoding="utf-8"))
    text = rewritten(path.read_text(encoding="utf-8"), lock)
    path.write_text(text, encoding="utf-8")
