"""Square roots of PyTorch that are rounded correctly, and so the same on every processor.

PyTorch leaves them to MKL, which begins at the processor's own estimate of 1/sqrt(x) (rsqrtps) and
ends up to one last digit from the root. The estimate differs between makers, and no variable keeps
MKL from it. Here NumPy takes the root, by the instruction that IEEE 754 prescribes. `x ** 0.5` of a
tensor stays MKL's.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_kept: list[Any] = []  # a library of kernels ends with its object


class _Finder(MetaPathFinder):
    """Finds PyTorch as others do, and gives it these roots when it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                _give(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def when_loaded() -> None:
    """Give PyTorch these roots as soon as this process, or a fork, loads it."""
    sys.meta_path.insert(0, _Finder())


def _give(torch: Any) -> None:
    import numpy as np

    def root(x: Any) -> Any:
        if x.dtype not in (torch.float64, torch.float32):
            return torch.pow(x, 0.5)
        values = x.detach().numpy()
        with np.errstate(invalid="ignore"):
            return torch.from_numpy(np.sqrt(values, out=np.empty_like(values)))

    def into(x: Any, *, out: Any) -> Any:
        roots = root(x)
        return out.resize_(roots.shape).copy_(roots)

    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there was a kernel before
        library.impl("sqrt", root, "CPU")
        library.impl("sqrt_", lambda x: into(x, out=x), "CPU")
        library.impl("sqrt.out", into, "CPU")
    _kept.append(library)
