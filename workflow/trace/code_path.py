"""The code path of the CPU: which kernels the numerical libraries of this process have chosen.

OpenBLAS, NumPy and PyTorch ask the processor what it can do and compute accordingly, so that equal
code, data and versions give other last digits on another machine. Runs are therefore made on one
path (`one_path`); records of before are of several. A record says which path it took.

Not named, because nothing tells: the kernels of MKL inside PyTorch and those that XLA compiles for
JAX. What they are chosen by is: the features of the processor, which NumPy names, its maker, and
the variables in ASKED.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

ASKED = ("MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")  # PyTorch's MKL and oneDNN
MAKER = "maker of the processor"  # MKL has kernels for those of its own maker,
ANY_MAKER = "COMPATIBLE"  # unless it is asked for those that are the same for all
UNSET = "unset"
SITE = ("site-packages", "dist-packages")
CodePath = Mapping[str, Any]


def now() -> dict[str, object]:
    """The code path of this process, for JSON; nothing is imported that it has not imported.

    - `blas`: for every BLAS in the process, in the order of names: `library` that brought it
      (numpy and scipy have one each), `name`, `version`, `architecture` of its kernels, `threads`
    - `numpy`: `baseline` that it was compiled for, features `found` here that it has kernels for
    - `torch`: `capability` of its kernels, `threads`, version of `mkl` in it, `maker` of the
      processor, `asked` of it by the environment; only where it is loaded
    """
    found: dict[str, object] = {"blas": _blas()}
    if "numpy" in sys.modules:
        features = sys.modules["numpy"].show_config("dicts")["SIMD Extensions"]
        found["numpy"] = {name: list(features.get(name, [])) for name in ("baseline", "found")}
    if torch := sys.modules.get("torch"):
        found["torch"] = _torch(torch)
    return found


def parts(path: CodePath) -> dict[str, str]:
    """What decides bits, by the name of who chose it, in a stable order; threads are not in it."""
    found = {}
    for one in path.get("blas", []):
        named = f"{one['name']} of {one['library']}"
        found[named] = one["architecture"]
        found[f"version of {named}"] = one["version"]
    if "torch" in path:
        found["PyTorch"] = path["torch"]["capability"]
        found["version of MKL in PyTorch"] = path["torch"]["mkl"]
        asked = path["torch"]["asked"]
        if asked.get("MKL_CBWR") != ANY_MAKER:
            found[MAKER] = path["torch"]["maker"]
        found |= {f"{name} of PyTorch": asked.get(name, UNSET) for name in ASKED}
    if "numpy" in path:
        found["NumPy"] = " ".join(path["numpy"]["found"] or path["numpy"]["baseline"])
    return found


def words(path: CodePath) -> str:
    """Kernels of OpenBLAS and PyTorch in short, such as `SkylakeX + AVX512`."""
    found = list(dict.fromkeys(one["architecture"] for one in path.get("blas", [])))
    found += [path["torch"]["capability"]] if "torch" in path else []
    return " + ".join(found) or "unnamed code path"


def _blas() -> list[dict[str, object]]:
    found = [
        {
            "library": _brought_by(PurePath(one["filepath"])),
            "name": one["internal_api"],
            "version": one["version"] or "unknown",
            "architecture": one.get("architecture") or "unknown",
            "threads": one["num_threads"],
        }
        for one in _libraries(len(sys.modules)).info()
        if one["user_api"] == "blas"
    ]
    return sorted(found, key=lambda one: tuple(map(str, one.values())))


@lru_cache(maxsize=1)
def _libraries(_loaded: int) -> Any:
    """The libraries in this process; looked for again where more modules have been loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _brought_by(path: PurePath) -> str:
    """The distribution in whose folder a library lies; `system` for one outside all of them."""
    for above, folder in reversed([*pairwise(path.parts[:-1])]):
        if above in SITE:
            return folder.removesuffix(".libs")
    return "system"


def _torch(torch: Any) -> dict[str, object]:
    return {
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "mkl": _mkl(torch),
        "maker": processor("vendor_id") or "unknown",
        "asked": {name: os.environ[name] for name in ASKED if name in os.environ},
    }


@cache
def processor(what: str) -> str:
    """What Linux says of the processor, such as its `vendor_id` or `model name`; "" elsewhere."""
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8") as file:
        for line in file:
            if line.startswith(what):
                return line.partition(":")[2].strip()
    return ""


@lru_cache(maxsize=1)
def _mkl(torch: Any) -> str:
    """The version of MKL that a PyTorch was built with; `none` where it has none."""
    said = re.search(r"Math Kernel Library Version (\S+)", torch.__config__.show())
    return said[1] if said else "none"
