"""The page of fair readings says what the runs ended at."""

import csv
import json

from benchmarks import ends
from workflow.plan.resolve import ROOT


def test_the_table_is_that_of_the_ends():
    page = ends.PAGE.read_text(encoding="utf-8")
    assert page == ends.renewed(page)


def test_the_ends_on_the_page_are_those_of_the_committed_reports():
    """Of the same traces, whatever was run since."""
    on_page = {(problem, curve) for problem, curve, _ in ends.SHOWN}
    on_page |= {(problem, f"{curve}@{code}") for problem, curve, code in ends.SHOWN if code}
    traces = {}
    for paper in ends.ON_PAGE:
        report = ROOT / "figures" / "reference" / paper / "runs.json"
        for run in json.loads(report.read_text(encoding="utf-8"))["runs"]:
            for name in {run["curve"], *run["names"]}:
                for seed, trace in run["trace_sha256"].items():
                    traces[paper, run["problem"], name, seed] = trace
    with ends.ENDS.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["problem"], row["curve"]) in on_page]
    found = {
        (row["paper"], row["problem"], row["curve"], row["seed"]): row["trace_sha256"]
        for row in rows
        if row["measure"] == ends.ON_PAGE.get(row["paper"])
    }
    assert len(found) > 100
    assert {key for key, trace in found.items() if traces.get(key) != trace} == set()


def test_a_changed_end_is_noticed(tmp_path, monkeypatch):
    rows = ends.ENDS.read_text(encoding="utf-8").splitlines()
    at = next(i for i, row in enumerate(rows) if row.startswith("lcbo,truss,LCBO,best_feasible,0,"))
    cells = rows[at].split(",")
    rows[at] = ",".join([*cells[:5], str(2 * float(cells[5])), *cells[6:]])
    changed = tmp_path / "ends.csv"
    changed.write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.setattr(ends, "ENDS", changed)
    page = ends.PAGE.read_text(encoding="utf-8")
    assert page != ends.renewed(page)


def test_new_rows_replace_those_of_the_same_run_and_leave_the_others(tmp_path):
    file = tmp_path / "ends.csv"
    file.write_text(
        "\n".join(
            [
                ",".join(ends.FIELDS),
                "lcbo,truss,LCBO,best_feasible,2,3.5,,none,aa,4.5",
                "lcbo,truss,LCBO,best_feasible,10,3.6,,none,bb,",
            ]
        ),
        encoding="utf-8",
    )
    new = dict.fromkeys(ends.FIELDS, "") | {
        "paper": "lcbo",
        "problem": "truss",
        "curve": "LCBO",
        "measure": "best_feasible",
        "seed": 2,
        "end": 3.4,
        "before": None,
    }
    rows = ends.merged(file, [new, {**new, "curve": "CEI"}])
    assert [(row["curve"], int(row["seed"]), float(row["end"])) for row in rows] == [
        ("CEI", 2, 3.4),
        ("LCBO", 2, 3.4),
        ("LCBO", 10, 3.6),
    ]
    assert [row["before"] for row in rows] == [None, "4.5", ""]  # the file alone knows it
