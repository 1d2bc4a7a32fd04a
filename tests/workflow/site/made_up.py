"""A report of made-up runs under the names of a real paper, written by the functions that write
real reports.
"""

import shutil

import numpy as np
import yaml

from tests.workflow.synthetic import Toy, rewrite
from workflow.draw import plots
from workflow.judge import ledger, render

MORE = ("fig7", "shifted", "readings", "agreement", "centre", "over-exploration", "theorem-5-1")
MORE += ("supplement-3", "terrain")
CURVES = {"DuMBO": 0.05, "TuRBO": 0.2, "random-search": 0.6}
PROVENANCE = {"python": "3.11.7", "libraries": {"numpy": "2.0", "scipy": "1.15"}}
PROVENANCE |= {"machine": "Linux, two cores", "commit": "c0ffee"}
SHOWN = yaml.safe_load("""
figures:
  - {id: fig4, title: Regret, metric: simple_regret, yscale: log, curves: [DuMBO, TuRBO,
    random-search], panels: [{problem: powell, title: 'Powell, $d = 24$'}, {problem: rastrigin,
    title: Rastrigin, yscale: linear}]}
  - {id: fig1c, title: Rover, metric: simple_regret, band: se, curves: [DuMBO, TuRBO,
    random-search], panels: [{problem: rover, lines: {staying put: 0.5}}]}
  - {id: recovery, title: Recovery, study: recovery-powell, x: t, y: [recall, kappa], xscale: log,
    panels: [{title: own queries}]}
claims:
  - {id: add-dumbo-below-dumbo, where: Fig. 4(a), says: 'DuMBO is *better* than `random-search`',
    check: {test: less, metric: simple_regret, problems: [powell], left: [DuMBO],
    right: [random-search]}}
  - {id: dumbo-second-on-camel, where: Fig. 4(a), says: the other way round, check: {test: less,
    metric: simple_regret, problems: [powell], left: [random-search], right: [DuMBO, TuRBO]}}
  - {id: lines-and-subspaces-degrade, where: Fig. 4(b), says: on substituted data,
    check: {test: less, metric: simple_regret, problems: [rastrigin], left: [DuMBO],
    right: [random-search]}}
  - {id: restricted-fail-on-rover, where: Fig. 1(c), says: better on the rover,
    note: a small difference, check: {test: less, metric: simple_regret, problems: [rover],
    left: [DuMBO], right: [TuRBO]}}
""")
ROWS = [
    ["Powell (24-4)", "3.57e+03", "496"],
    ["rover (60), mean over steps", "9.73", "6.38"],
    ["Hartmann (6-6)", "120", "1e-05"],
    ["six-hump camel (2-2)", "-", "0.006"],
]


def _curve(level, spread, key):
    """Regret that falls like t^(-1/2) to about `level`, with a factor of its own for every seed."""
    draws = np.random.default_rng(list(key.encode())).standard_normal(5)
    return lambda seed: {
        "true": 1 - level * np.exp(spread * draws[seed]) * np.sqrt(60 / np.arange(1.0, 61.0))
    }


def _records(root):
    """Five seeds of three curves on three problems, one of them under a reading, and a study."""
    toy = Toy(root, seeds=5)
    toy.entry["algorithms"] = {name: {"is": "random_search.RandomSearch"} for name in CURVES}
    toy.entry["readings"] = {}
    toy.reading("public-code", DuMBO={"beta": "code"})
    for problem, spread in (("powell", 0.1), ("rastrigin", 0.1), ("rover", 3.0)):
        for name, level in CURVES.items():
            toy.add(name, _curve(level, spread, name), problem=problem)
    toy.add("DuMBO", _curve(0.7, 0.1, "code"), problem="powell", reading="public-code")
    toy.add("TuRBO", lambda seed: {"true": 0.5}, problem="powell", problem_reading="shifted")
    t = np.arange(1.0, 41.0)
    toy.study(
        "recovery-powell",
        lambda seed: {"t": t, "recall": 1 - 1 / (t + seed), "kappa": 0.01 * seed + 0 * t},
    )
    for path in root.glob("results/**/*.parquet"):
        data = "substitute: a made-up table" if "rastrigin" in path.parts else "real"
        rewrite(path, provenance=PROVENANCE, cpu_seconds=7.0, peak_mib=96, data=data)
    return toy


def report(root):
    """A folder of reports as `make figures` leaves it.

    In it are curves, bands, a level, a substitute, a table, all four verdicts, a reading, runs, a
    study, and pictures (`MORE`).
    """
    toy = _records(root)
    toy.entry |= SHOWN
    folder = root / "figures" / "dumbo"
    for figure in SHOWN["figures"]:
        plots.draw(toy.paper, toy.store(), figure["id"], folder)
    for name in MORE:
        shutil.copy(folder / "fig4.png", folder / f"{name}.png")
    ledger.write(toy.store(), folder)
    table = render.table(["problem", "mean", "published"], ROWS)
    (folder / "table2.md").write_text(f"# Table 2\n\n{table}\n\nA note.\n")
    return folder.parent
