"""The map of claims under settings: a cell for each pair of a claim and a setting, coloured
and marked by its outcome, and nothing cut off.
"""

import pandas as pd
from matplotlib.colors import to_hex

from tests.workflow.synthetic import Toy
from workflow.draw import settings_map
from workflow.judge import settings

LINES = [
    ("one", "as printed", "reproduced", "", 0),
    ("one", "wide", "contradicted", "", 0),
    ("two", "as printed", "inconclusive", "few seeds", 0),
    ("two", "wide", "inconclusive", "", 1),
    ("two", "late", "direction only", "", 0),
]


def drawn(tmp_path, lines=LINES):
    toy = Toy(tmp_path)
    toy.entry["claims"] = [{"id": "one"}, {"id": "two"}]
    names = ["claim", "setting", "observed", "reasons", "same_runs"]
    table = pd.DataFrame(lines, columns=names).assign(runs=1, control=False)
    return settings_map.draw(toy.paper, table.reindex(columns=settings.COLUMNS))


def test_cells_say_what_is_observed(tmp_path):
    (ax,) = drawn(tmp_path).axes
    (mesh,) = ax.collections
    mesh.update_scalarmappable()
    colours = [to_hex(colour) for colour in mesh.get_facecolors()]
    blue, grey, red, sky = (
        settings_map.COLOURS[kind].lower()
        for kind in ("reproduced", "inconclusive", "contradicted", "direction only")
    )
    none = "#ffffff"  # the default run again, or nothing
    assert colours == [blue, red, none, grey, none, sky]
    assert [text.get_text() for text in ax.texts] == ["✓", "✗", "", "±?", "=", "≈"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["as printed", "wide", "late"]


def test_a_single_claim_is_named_in_its_row(tmp_path):
    (ax,) = drawn(tmp_path, LINES[:2]).axes
    assert [label.get_rotation() for label in ax.get_yticklabels()] == [0]


def test_nothing_is_cut_off(tmp_path):
    for lines in (LINES, LINES[:1]):
        figure = drawn(tmp_path, lines)
        figure.draw_without_rendering()
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(box.x0, box.y0) >= 0 and box.x1 <= width and box.y1 <= height
