"""Programs in processes of their own, and what they say."""

import subprocess
import sys
from functools import partial

run = partial(subprocess.run, capture_output=True, text=True, check=False)


def python(*arguments, **how):
    """`python ARGUMENTS`."""
    return run([sys.executable, *map(str, arguments)], **how)
