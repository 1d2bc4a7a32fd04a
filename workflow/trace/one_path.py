"""The one code path of the CPU on which every run and every report is computed: the kernels of
x86-64-v3 (AVX2 and FMA), so that they have the same bits on every processor that has them.

OpenBLAS, NumPy, PyTorch with its MKL and oneDNN, and XLA choose kernels when they are loaded, by
the processor and by variables of the environment. `take` sets these variables whatever the user has
set, and therefore comes before the first numerical library. This module loads none: NumPy is asked
in a process of its own which of its kernels the processor can run. What no variable reaches,
PyTorch's square roots, `exact_roots` takes.

A processor without these features, or of another architecture, computes with its own kernels. The
provenance of a record says so (`words`).
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache

from workflow.trace import exact_roots

LEVEL = "x86-64-v3"
NEEDED = ("AVX2", "FMA3")  # as NumPy calls them
NUMPY = "NPY_DISABLE_CPU_FEATURES"
FIXED = {
    "OPENBLAS_CORETYPE": "Haswell",  # of NumPy's OpenBLAS and of SciPy's
    "ATEN_CPU_CAPABILITY": "avx2",  # PyTorch
    "MKL_CBWR": "COMPATIBLE",  # the kernels of MKL that are the same for processors of all makers
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",  # JAX
}
# what else chooses kernels or sizes of blocks, or contradicts the variables above
UNSET = (
    "OPENBLAS_L2_SIZE",
    "OPENBLAS_BLOCK_FACTOR",
    "NPY_ENABLE_CPU_FEATURES",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_DEBUG_CPU_TYPE",
    "DNNL_MAX_CPU_ISA",
)
NAMES = (*FIXED, NUMPY, *UNSET)
# NumPy's names of kernels that every processor of this level runs alike; those of old processors of
# one maker (FMA4, XOP) are not among them
WITHIN = {
    *("SSE", "SSE2", "SSE3", "SSSE3", "SSE41", "POPCNT", "SSE42", "AVX", "F16C", "FMA3", "AVX2"),
    *("LAHF", "CX16", "MOVBE", "BMI", "BMI2", "LZCNT", "X86_V2", "X86_V3"),
}
ASK = (
    "import json; from numpy._core import _multiarray_umath as one;"
    " print(json.dumps([one.__cpu_features__, one.__cpu_dispatch__]))"
)
LIBRARIES = ("numpy", "torch", "jax")
OWN = "the processor's own"


_said: str | None = None  # of a process that has taken its path, and of its forks


def take() -> None:
    """Set the environment of this process, for it and for whatever it starts; once a process and
    its forks, since a library that is loaded keeps its kernels.
    """
    global _said
    if _said is not None:
        return
    chosen, said = _chosen()
    for name in NAMES:
        os.environ.pop(name, None)
    os.environ.update(chosen)
    if said == LEVEL:
        exact_roots.when_loaded()
    early = [name for name in LIBRARIES if name in sys.modules]
    _said = f"{OWN} in {', '.join(early)}, loaded before others were asked for" if early else said


@cache
def kernels_here() -> str:
    """Which kernels a run computes with on this machine, as its record will say."""
    return _chosen()[1]


def words() -> str:
    """Which kernels this process computes with, for the provenance of a record."""
    return f"{OWN}: nobody has asked for others" if _said is None else _said


def features() -> list[str]:
    """The features beyond its baseline that NumPy has kernels for and this processor has, in
    NumPy's order and whatever the environment says; [] where NumPy cannot be asked.
    """
    has, dispatched = _asked()
    return [name for name in dispatched if has.get(name)]


def _chosen() -> tuple[dict[str, str], str]:
    """Variables, and what becomes of them in words."""
    has, _ = _asked()
    if not has:
        return {}, f"{OWN}: NumPy does not say what this processor has"
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {}, f"{OWN}: {platform.machine()} is not x86-64"
    if lacking := [name for name in NEEDED if not has.get(name)]:
        return {}, f"{OWN}: it has no {' and no '.join(lacking)}, which {LEVEL} needs"
    beyond = [name for name in features() if name not in WITHIN]
    return {**FIXED, **({NUMPY: " ".join(beyond)} if beyond else {})}, LEVEL


@cache
def _asked() -> tuple[Mapping[str, bool], list[str]]:
    """What NumPy says of the processor, and the names of the kernels that it chooses from."""
    plain = {name: value for name, value in os.environ.items() if name not in NAMES}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        env=plain,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    try:
        has, dispatched = json.loads(done.stdout)
    except ValueError:  # no NumPy, or another one that tells it elsewhere
        return {}, []
    return has, dispatched
