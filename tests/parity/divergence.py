"""Where two runs part: the first evaluation whose query is another one.

A test that only says "not equal" after 10,000 evaluations helps nobody.
"""

import numpy as np


def assert_same_run(expected, got, tolerance=0.0):
    """Fail with the first evaluation at which the queries of two runs part, if they do.

    expected, got: (n,) rows of a table or (n, d) points; a run that ends early parts where it ends.
    tolerance: largest difference of a coordinate that still counts as equal; NaN equals nothing.
    """
    one, other = np.asarray(expected), np.asarray(got)
    n = min(len(one), len(other))
    near = np.abs(one[:n].astype(float) - other[:n].astype(float)) <= tolerance
    at = int(np.append(np.flatnonzero(~near.reshape(n, -1).all(axis=1)), n)[0])
    said = f"expected {one[at : at + 1]}, got {other[at : at + 1]}"
    assert at == len(one) == len(other), f"the runs part at evaluation {at}: {said}"
