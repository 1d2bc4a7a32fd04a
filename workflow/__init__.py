"""Everything between a paper's YAML and a verdict.

Importing the package pins every numerical library to one thread: threads change last digits, last
digits change an argmax. Parallelism is across runs. A letter that a terminal cannot show is escaped
there; Python would end the program.
"""

import io
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # of the checkout
# so that `python -m workflow.status` finds its program
__path__.append(str(ROOT / "workflow" / "commands"))

for _variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ[_variable] = "1"

for _stream in (sys.stdout, sys.stderr):
    if isinstance(_stream, io.TextIOWrapper):  # a notebook, or a test, has others
        _stream.reconfigure(errors="backslashreplace")
