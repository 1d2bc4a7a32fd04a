"""What tests of algorithms ask for in place of seconds: counts of the work that was done."""

from collections import Counter

import numpy  # noqa: F401 - loads the OpenBLAS that the fixture below asks
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info

from algorithms.parts.numerics import cholesky
from algorithms.parts.processes import kernels

# Kernels of OpenBLAS under which a sum has the same bits whatever rows are computed beside it, as
# measured. Haswell's (which Zen's are, too) have not.
SUMS_ALONE = {"SkylakeX", "Cooperlake", "SapphireRapids"}


@pytest.fixture
def assert_same_sums():
    """Equal bits under kernels with which they hold, else up to last digits of the first `rows`."""
    found = {
        library["architecture"]
        for library in threadpool_info()
        if library["internal_api"] == "openblas"
    }

    def check(one, other, rows=None):
        if found <= SUMS_ALONE:
            assert_array_equal(one, other)
        else:
            assert_allclose(one[:rows], other[:rows], rtol=1e-9, atol=1e-9)

    return check


@pytest.fixture
def count(monkeypatch):
    """count(calls, owner, name): from now on calls[name] says how often a function was called.

    Under a label instead of the name, if given; `size` says by how much a call counts.
    """

    def begin(calls, owner, name, label=None, size=lambda *arguments: 1):
        function = getattr(owner, name)

        def counts(*arguments, **options):
            calls[label or name] += size(*arguments)
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, counts)

    return begin


@pytest.fixture
def work(count):
    """Counts Matern-5/2 covariances as "kernel", factors of parts/numerics/cholesky as "factor"."""
    done = Counter()
    count(done, kernels, "square_distances", "kernel")
    count(done, cholesky, "dpotrf", "factor")
    return done
