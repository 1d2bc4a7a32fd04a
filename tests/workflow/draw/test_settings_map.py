"""The map of claims under settings: a cell for each pair that is affected, coloured and marked by
its outcome, and nothing cut off.
"""

import json

from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from workflow.draw import settings_map
from workflow.judge import sensitivity
from workflow.judge.claims import Outcome
from workflow.judge.sensitivity import Matrix, Row
from workflow.plan.resolve import ROOT


def outcome(observed, *reasons, runs=1, same=0):
    return Outcome(observed, observed, tuple(reasons), 5, runs, same)


ROWS = (
    Row("one", "Fig. 1", "says", outcome("reproduced"), {"wide": outcome("contradicted")}),
    Row(
        "two",
        "Fig. 2",
        "says",
        outcome("inconclusive", "few seeds"),
        {"wide": outcome("inconclusive", same=1), "late": outcome("direction only")},
    ),
)


def drawn(rows=ROWS):
    says = {"wide": "a wider kernel", "late": "later"}
    return settings_map.draw(Matrix("toy", "paper", False, 2, says, tuple(rows)))


def test_cells_say_what_is_observed():
    (ax,) = drawn().axes
    cells = {
        (patch.get_x(), patch.get_y()): to_hex(patch.get_facecolor())
        for patch in ax.patches
        if isinstance(patch, Rectangle)
    }
    blue, grey, red, sky = (
        settings_map.COLOURS[kind].lower()
        for kind in ("reproduced", "inconclusive", "contradicted", "direction only")
    )
    same = "#ffffff"  # the default run again
    assert cells == {(0, 0): blue, (1, 0): red, (0, 1): grey, (1, 1): same, (2, 1): sky}
    marks = {(int(text.get_position()[0]), int(text.get_position()[1])): text.get_text()
             for text in ax.texts}  # fmt: skip
    assert marks == {(0, 0): "✓", (1, 0): "✗", (0, 1): "±?", (1, 1): "=", (2, 1): "≈"}
    assert [label.get_text() for label in ax.get_xticklabels()] == ["as printed", "wide", "late"]


def test_nothing_is_cut_off():
    for rows in [ROWS, ()]:
        figure = drawn(rows)
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert min(box.x0, box.y0) >= 0 and box.x1 <= width and box.y1 <= height


def test_the_map_of_a_committed_report_is_the_same_bytes_when_drawn_again(tmp_path):
    known = json.loads((ROOT / "figures/reference/bkb/verdicts.json").read_text())
    path = tmp_path / "claims-by-settings.png"
    drawn = []
    for _ in range(2):
        settings_map.write(sensitivity.matrix(known), tmp_path)
        drawn.append(path.read_bytes())
    assert drawn[0] == drawn[1]
