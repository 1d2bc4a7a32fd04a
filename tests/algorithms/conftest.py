"""What tests of algorithms ask for in place of seconds: counts of the work that was done."""

from collections import Counter

import pytest
import torch

from algorithms.parts import cholesky, kernels


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
