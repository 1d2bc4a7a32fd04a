"""From a YAML over real runs to its report: one reading changes no trace, one changes some."""

import pandas as pd
import yaml

from tests.workflow import supervised
from tests.workflow.checkout import linked, write
from workflow.draw import tabulate
from workflow.judge import ledger, settings
from workflow.measure.store import Store
from workflow.plan.expand import load
from workflow.run import make

PAPER = yaml.safe_load("""
paper: {key: toy2026}
scales: {smoke: {seeds: 1, budget: 5}, short: {seeds: 2, budget: 5}, paper: {}}
seeds: 5
problems:
  camel: {is: additive.six_hump_camel, noise: 0, budget: 6, room: 1, init: {design: uniform, n: 3}}
algorithms:
  GP: {is: gp_acquisition.GPAcquisition, acquisition: ei, exploration: 0.01, climb: {raw: 32,
    starts: 2, steps: 8}, surrogate: gamma-priors, repetitions: repeat}
  average: {is: average_of_k.AverageOfK, k: 2}
  random: {is: random_search.RandomSearch}
readings:
  replace: {says: repeated queries are replaced, algorithms: {'*': {repetitions: replace}}}
  triples: {says: three points are averaged, algorithms: {'*': {k: 3}}}
runs: [{}, {readings: [replace, triples]}]
tables:
  - {id: ends, kind: diagnostics, problems: [camel], curves: [GP, average, random],
    readings: [default, replace, triples]}
claims:
  - {id: better, where: Sec. 1, says: the model is better than random search, check: {test: less,
    metric: simple_regret, problems: [camel], left: [GP], right: [random]}}
  - {id: best, where: Sec. 1, says: the model is better than the average, check: {test: less,
    metric: simple_regret, problems: [camel], left: [GP], right: [average]}}
""")


def test_a_report_of_real_runs_shows_the_same_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(linked(tmp_path), "toy", PAPER)
    paper = load("toy", "paper", root=tmp_path)
    planned = {"GP", "GP@replace", "average", "average@triples", "random"}
    assert {curve.label for curve in paper.curves} == planned
    for curve in paper.curves:
        for seed in curve.seeds:
            make.make(supervised.run(curve, seed))
    ledger.write(Store(paper), tmp_path)
    table = settings.by_setting(pd.read_parquet(tmp_path / "verdicts.parquet"))
    others = table[table["setting"] != "as printed"]
    rows = [(row.claim, row.setting, row.same_runs, row.runs) for row in others.itertuples()]
    assert rows[0] == ("better", "replace", 1, 1)
    assert rows[1:] == [("best", "replace", 1, 1), ("best", "triples", 0, 1)]
    assert others["is_same"].tolist() == [True, True, False]

    tabulate.draw(paper, Store(paper), "ends", tmp_path)
    table = tabulate.build(paper, Store(paper), "ends").set_index(["algorithm", "reading"])
    of_gp = [("GP", "default"), ("GP", "replace (same run)")]
    of_average = [("average", "default"), ("average", "triples")]
    assert list(table.index) == [*of_gp, *of_average, ("random", "default")]
    assert "Same run: " in (tmp_path / "ends.md").read_text(encoding="utf-8")
