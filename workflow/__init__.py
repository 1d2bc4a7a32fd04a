"""Everything between a paper's YAML and a verdict.

Importing the package pins every numerical library to one thread: threads change last digits, last
digits change an argmax. Parallelism is across runs.
"""

import os
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
