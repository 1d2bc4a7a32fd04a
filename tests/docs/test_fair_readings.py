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
