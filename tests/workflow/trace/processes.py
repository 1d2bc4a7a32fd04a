"""Code in a process of its own, since a library that is loaded keeps its kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

from workflow.trace import one_path


def printed(*lines: str, environment: Mapping[str, str]) -> object:
    """What lines of code print as JSON; of what chooses kernels only `environment` is set."""
    kept = {name: value for name, value in os.environ.items() if name not in one_path.NAMES}
    done = subprocess.run(
        [sys.executable, "-W", "error::ImportWarning", "-c", "; ".join(lines)],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return json.loads(done.stdout)
