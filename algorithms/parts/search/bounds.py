"""Widths of confidence bounds: beta_t in u_t(x) = mean(x) + beta_t sigma(x), with sigma divided by
sqrt(lambda).

Every theorem here has the same shape, 2 xi sqrt(information + ln(1/delta)) + factor sqrt(lambda) F;
the papers differ in how they bound the information ln det(K_t/lambda + I) and in the factor. The
authors' code drops the constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

THEOREM, REFERENCE_CODE = "theorem", "reference-code"


@dataclass(frozen=True)
class Confidence:
    """Noise deviation xi, failure probability delta, regularisation lam, norm F, whose beta."""

    xi: float
    delta: float
    lam: float
    norm: float
    beta: str

    def __post_init__(self) -> None:
        if self.beta not in (THEOREM, REFERENCE_CODE):
            raise ValueError(f"beta: expected {THEOREM} or {REFERENCE_CODE}, got {self.beta!r}")
        if not (0 < self.delta < 1 and self.lam > 0):
            raise ValueError(
                f"expected 0 < delta < 1 and lam > 0, got delta {self.delta} and lam {self.lam}"
            )

    def theorem(self, information: float, factor: float) -> float:
        """2 xi sqrt(information + ln(1/delta)) + factor sqrt(lambda) F: BKB Thm. 2, BBKB Thm. 2."""
        return (
            2 * self.xi * sqrt(information + log(1 / self.delta))
            + factor * sqrt(self.lam) * self.norm
        )

    def reference_code(self, information: float) -> float:
        """The same without its constants, as the authors' public code has it."""
        return self.xi * sqrt(information + log(1 / self.delta)) + sqrt(self.lam) * self.norm

    def exact(self, information: float, drift: float = 1.0) -> float:
        """For an exact posterior: BKB Thm. 2 as epsilon -> 0 with ln det(K_t/lambda + I) itself,
        times a batch's drift C.

        The code's convention has C inside the root, as it does for its own batch method.
        """
        if self.beta == THEOREM:
            return drift * self.theorem(information, factor=2.0)
        return self.reference_code(drift * information)
