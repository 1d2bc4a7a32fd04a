"""What tests of algorithms ask for in place of seconds: counts of the work that was done."""

from collections import Counter

import numpy  # noqa: F401 - loads the OpenBLAS that the fixture below asks
import pytest
import torch
from threadpoolctl import threadpool_info

from algorithms.parts import cholesky, kernels

# Kernels of OpenBLAS under which a sum has the same bits whatever rows are computed beside it, as
# measured. Haswell's (which Zen's are, too) have not.
SUMS_ALONE = {"SkylakeX", "Cooperlake", "SapphireRapids"}


@pytest.fixture
def sums_alone():
    """Skips what holds to the last bit under the kernels of processors with AVX512 alone."""
    found = {
        library["architecture"]
        for library in threadpool_info()
        if library["internal_api"] == "openblas"
    }
    if not found <= SUMS_ALONE:
        pytest.skip(f"under {found - SUMS_ALONE} the last bits of a sum depend on its neighbours")


@pytest.fixture
def work(monkeypatch):
    """Counts covariance matrices of Matern-5/2 under "kernel" and factors of parts/cholesky under
    "factor".
    """
    done = Counter()

    def counted(name, function):
        def count(*arguments, **named):
            done[name] += 1
            return function(*arguments, **named)

        return count

    monkeypatch.setattr(kernels, "square_distances", counted("kernel", kernels.square_distances))
    monkeypatch.setattr(torch.linalg, "cholesky_ex", counted("factor", torch.linalg.cholesky_ex))
    monkeypatch.setattr(cholesky, "dpotrf", counted("factor", cholesky.dpotrf))
    return done
