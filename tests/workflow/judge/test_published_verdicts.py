"""What the committed reports say of differences is what SciPy makes of their seeds' numbers."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from workflow.plan.resolve import ROOT, planned

REFERENCE = ROOT / "figures" / "reference"
SIDES = re.compile(r" [<>] (?:([\d.]+) x )?")  # with the factor of the right side


@pytest.mark.parametrize("paper", planned())
def test_differences_are_those_of_the_seeds(paper):
    verdicts = pd.read_parquet(REFERENCE / paper / "verdicts.parquet")
    seeds = pd.read_parquet(REFERENCE / paper / "seeds.parquet")
    numbers = dict(list(seeds.groupby(["claim", "setting", "comparison"])))
    differences = verdicts[verdicts["kind"] == "difference"].itertuples()
    told = [row for row in differences if SIDES.search(row.comparison)]
    checked = 0
    for row in told:
        pairs = numbers.get((row.claim, row.setting, SIDES.sub(" and ", row.comparison)))
        if pairs is None or row.n < 2:
            continue
        factor = float(SIDES.search(row.comparison)[1] or 1)
        d = (pairs["left"] - factor * pairs["right"]).to_numpy()[: row.n]
        if np.ptp(d) == 0:  # then the sign flip alone decides
            continue
        side = "less" if " < " in row.comparison else "greater"
        test = stats.ttest_1samp(d, 0, alternative=side)
        low, high = stats.ttest_1samp(d, 0).confidence_interval(0.95)
        ours, theirs = [row.effect, row.low, row.high, row.p], [d.mean(), low, high, test.pvalue]
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12, err_msg=str(row))
        d = d if side == "less" else -d  # the share of all signs whose sum is as small
        sums = np.array(list(itertools.product([1, -1], repeat=len(d)))) @ d
        assert row.p_flip == np.mean(sums <= d.sum() + 1e-12 * np.abs(d).sum()), row
        checked += 1
    assert checked >= max(1, 0.9 * len(told))
