"""From numbers to verdicts: claims, their checks, and what becomes of them under other readings."""
