"""Widths of confidence bounds, by hand with a pocket calculator: ln(1e4) = 9.210340."""

import pytest

from algorithms.parts.search.bounds import Confidence


def confidence(**changes):
    given = {"xi": 0.01, "delta": 1e-4, "lam": 1e-4, "norm": 3.0, "beta": "theorem"}
    return Confidence(**{**given, **changes})


def test_the_theorem():
    # 2 * 0.01 * sqrt(3 + 9.210340) = 0.0698866;  factor * 0.01 * 3
    for factor, second in ((2.0, 0.06), (2.4142136, 0.0724264)):
        found = confidence().theorem(3.0, factor=factor)
        assert found == pytest.approx(0.0698866 + second, abs=1e-7)


def test_the_reference_code_drops_the_constants():
    assert confidence().reference_code(3.0) == pytest.approx(0.0349433 + 0.03, abs=1e-7)


def test_the_drift_multiplies_the_theorem_and_stands_inside_the_root_of_the_code():
    assert confidence().exact(3.0, drift=2.0) == pytest.approx(2 * 0.1298866, abs=2e-7)
    # 0.01 * sqrt(2 * 3 + 9.210340) = 0.0390004
    of_code = confidence(beta="reference-code").exact(3.0, drift=2.0)
    assert of_code == pytest.approx(0.0390004 + 0.03, abs=1e-7)
    for beta in ("theorem", "reference-code"):
        assert confidence(beta=beta).exact(3.0) == confidence(beta=beta).exact(3.0, drift=1.0)
