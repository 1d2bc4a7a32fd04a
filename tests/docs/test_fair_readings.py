"""The page of fair readings says what the runs ended at."""

from benchmarks import ends


def test_the_table_is_that_of_the_ends():
    page = ends.PAGE.read_text(encoding="utf-8")
    assert page == ends.renewed(page)


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
                "lcbo,truss,LCBO,best_feasible,2,3.5,,none,aa,",
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
    }
    rows = ends.merged(file, [new, {**new, "curve": "CEI"}])
    assert [(row["curve"], int(row["seed"]), float(row["end"])) for row in rows] == [
        ("CEI", 2, 3.4),
        ("LCBO", 2, 3.4),
        ("LCBO", 10, 3.6),
    ]
