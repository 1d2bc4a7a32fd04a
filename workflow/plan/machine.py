"""How much slower this machine is than the one that papers/costs.yaml was measured on.

A child process works for two seconds (workflow/operate/probe.py); its figure is kept for each host
and CPU in the user's cache folder. NOREGRET_PROBE=0 takes any machine for the reference, which
makes what is printed the same everywhere; NOREGRET_PROBE=again measures anew.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from workflow.plan import costs

PATIENCE = 120.0  # seconds: a machine that works for two of them may be shared by many


def cpu() -> str:
    """The model of this machine's CPU."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def kept() -> Path:
    """The file of this user's figures."""
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder, "noregret", "probe.json")


def probed() -> float:
    """CPU seconds of the probe on this machine, measured now.

    Raises OSError, subprocess.SubprocessError, ValueError.
    """
    command = [sys.executable, "-m", "workflow.probe"]
    done = subprocess.run(
        command,
        cwd=costs.ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    return float(done.stdout)


def slowness() -> float:
    """Seconds here for each second of the reference machine; 1 where either was never measured, or
    cannot be: an estimate for another machine is better than none.
    """
    reference = float(costs.table().get("reference", {}).get("probe", 0.0))
    wish = os.environ.get("NOREGRET_PROBE", "")
    if wish == "0" or not reference:
        return 1.0
    try:
        found = float(_probe(again=wish == "again")) / reference
    except (OSError, RuntimeError, TypeError, ValueError, subprocess.SubprocessError):
        return 1.0
    return found if found > 0 else 1.0


@cache
def _probe(*, again: bool) -> float:
    """The kept figure of this host and CPU, else a new one, which is kept if that is possible."""
    here, path = f"{platform.node()}: {cpu()}", kept()
    figures: dict[str, float] = {}
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
        figures = found if isinstance(found, dict) else {}
    if here not in figures or again:
        figures[here] = probed()
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return figures[here]
