"""Code in a process of its own, since a library that is loaded keeps its kernels."""

import json
import os

from tests import programs
from workflow.trace import one_path


def printed(*lines, environment):
    """What lines of code print as JSON; of what chooses kernels only `environment` is set."""
    kept = {name: value for name, value in os.environ.items() if name not in one_path.NAMES}
    command = ("-W", "error::ImportWarning", "-c", "; ".join(lines))
    how = {"env": {**kept, **environment}, "encoding": "utf-8", "check": True}
    return json.loads(programs.python(*command, **how).stdout)
