"""Simulators of our own in C++: `python -m workflow.simulators NAME [-o FILE]` builds
simulators/NAME.cc.

Its leading comment names what it is linked with, `// libraries: A B`, and the Debian packages that
have them, `// packages: C`. A run's jobs wait for simulators/build/NAME where the entry of its
problem says `simulator: NAME`; none other needs a compiler. Snakemake asks for that place, so this
imports nothing heavy.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from workflow.data.places import DataUnavailable

FLAGS = ("-std=c++17", "-O2")


class SimulatorUnavailable(DataUnavailable):
    """A simulator that cannot be built or run; says what to do."""


def binary(name: str, *, root: Path) -> Path:
    """Where a simulator lies once it is built."""
    return root / "simulators" / "build" / name


def built(name: str, *, root: Path) -> Path:
    """A simulator that has been built. Raises SimulatorUnavailable."""
    path = binary(name, root=root)
    if not path.exists():
        raise SimulatorUnavailable(
            f"{path}: expected a simulator, found none: run `python -m workflow.simulators {name}`"
        )
    if not os.access(path, os.X_OK):  # a remote storage keeps no modes
        path.chmod(0o755)
    return path


def version_sha256(path: Path) -> str:
    """Of what a simulator says its version is, as its problem knows it.

    Raises SimulatorUnavailable.
    """
    try:
        command = [str(path.absolute()), "--version"]
        said = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
    except (OSError, subprocess.CalledProcessError) as error:
        again = f"build it by `python -m workflow.simulators {path.name}`"
        raise SimulatorUnavailable(
            f"{path}: expected a simulator that says its version, got {error}: {again}"
        ) from None
    return hashlib.sha256(said.strip().encode()).hexdigest()


def build(name: str, output: Path, *, root: Path) -> None:
    """Compile and link root/simulators/NAME.cc. Raises SimulatorUnavailable."""
    source = root / "simulators" / f"{name}.cc"
    if not source.exists():
        known = ", ".join(sorted(path.stem for path in source.parent.glob("*.cc"))) or "none"
        raise SimulatorUnavailable(
            f"{source}: expected the source of a simulator, found none; known: {known}"
        )
    libraries, packages = _listed(source, "libraries"), " ".join(_listed(source, "packages"))
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_name(f"{output.name}.part")
    command = [os.environ.get("CXX", "g++"), *FLAGS, "-o", str(part), str(source)]
    command += [f"-l{library}" for library in libraries]
    try:
        subprocess.run(command, capture_output=True, check=True, encoding="utf-8", errors="replace")
    except (OSError, subprocess.CalledProcessError) as error:
        part.unlink(missing_ok=True)
        said = getattr(error, "stderr", "") or str(error)
        wrong = [line for line in said.splitlines() if "error" in line or "cannot find" in line]
        raise SimulatorUnavailable(
            f"{source}: cannot be built: it needs a C++ compiler and {packages} (Debian: apt-get"
            f" install g++ {packages})"
            + "".join(f"\n  {line}" for line in wrong[:5] or [said[-500:]])
        ) from None
    part.replace(output)


def _listed(source: Path, what: str) -> list[str]:
    """The words behind `// what:` in a source."""
    line = re.search(rf"^// {what}: (.*)$", source.read_text(encoding="utf-8"), re.MULTILINE)
    if line is None:
        raise SimulatorUnavailable(
            f"{source}: expected a comment `// {what}: ...`, found none: add one"
        )
    return line[1].split()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.simulators", description="Build a simulator of simulators/*.cc."
    )
    parser.add_argument("name")
    parser.add_argument("-o", "--output", type=Path, help="default: simulators/build/NAME")
    options = parser.parse_args(arguments)
    try:
        build(options.name, options.output or binary(options.name, root=Path()), root=Path())
    except SimulatorUnavailable as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
