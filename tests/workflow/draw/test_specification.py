"""Specification curves: what is drawn of a certificate, in which order, and what is left out."""

import json
import math
import struct
import time

import matplotlib
import pytest

from tests.workflow.draw import overprint
from workflow.draw import specification, style
from workflow.judge.outcomes import (
    CONTRADICTED,
    DIRECTION,
    INCONCLUSIVE,
    NO_NUMBER,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
)


def seen(effect, low=None, high=None, *, what="A < B on p", kind="difference", borders=(0.0,)):
    return {
        "what": what,
        "kind": kind,
        "effect": effect,
        "low": effect if low is None else low,
        "high": effect if high is None else high,
        "borders": list(borders),
    }


def spec(name, weakest, counts_as=REPRODUCED, *, axis=None, observed=None):
    axis = [] if name == "default" else [f"A.{name}"] if axis is None else axis
    return {
        "names": [name],
        "axis": axis,
        "vote": 1.0,
        "counts_as": counts_as,
        "observed": observed or counts_as,
        "seeds": 10,
        "weakest": weakest,
    }


def claim(*specs, name="c"):
    return {
        "id": name,
        "where": "Fig. 1",
        "says": "A is better than B",
        "sentence": "Holds as printed.",
        "quantity": "cumulative regret",
        "unit": "unit of y",
        "specifications": list(specs),
    }


THREE = claim(
    spec("default", seen(-1.0, -2.0, -0.1)),
    spec("high", seen(3.0, 1.0, 5.0), CONTRADICTED, axis=["A.x"]),
    spec("few", seen(-2.0, -9.0, 5.0), UNDECIDED, observed=DIRECTION, axis=["A.x"]),
    spec("absent", None, NOT_RUN),
    spec("partly", seen(-7.0), NOT_RUN),
    spec("endless", seen(None)),
)


def test_effects_are_sorted_and_what_was_not_run_or_has_no_number_is_named():
    found, left = specification.points(THREE)
    assert [point.names[0] for point in found] == ["few", "default", "high"]
    assert [point.effect for point in found] == [-2.0, -1.0, 3.0]
    assert [point.decides for point in found] == [False, True, True]
    assert [point.is_default for point in found] == [False, True, False]
    assert left == ["absent", "partly", "endless"]
    words = specification._small_print(THREE, found, left)
    assert "Left out, not run or without a number: absent, partly, endless." in words
    assert "Weakest comparison: A < B on p." in words


def test_a_claim_that_was_not_run_as_printed_is_drawn_from_its_readings_and_says_so():
    told = claim(spec("default", None, NOT_RUN), spec("a", seen(1.0)), spec("b", seen(2.0)))
    found, left = specification.points(told)
    assert left == ["as printed"]
    assert specification._rows(found) == [("a", [0]), ("b", [1])]
    assert "Grey" not in specification._small_print(told, found, left)


RANKED = "median difference by rank"
NEVER = "median evaluation by rank"
BY_RANK = "by rank: median, quartiles"  # in the legend


@pytest.mark.parametrize(
    ("kind", "numbers", "ends"),
    [
        (RANKED, (None, None, -6.8), (-math.inf, -math.inf, -6.8)),
        (RANKED, (None, 2.0, None), (2.0, math.inf, math.inf)),
        (RANKED, (1.0, 0.5, None), (0.5, 1.0, math.inf)),
        (NEVER, (None, 964.0, None), (964.0, math.inf, math.inf)),
        (NEVER, (None, None, None), (math.inf, math.inf, math.inf)),
    ],
)
def test_what_is_infinite_by_rank_is_an_arrow_at_the_edge(kind, numbers, ends):
    effect, low, high = numbers
    told = claim(
        spec("default", seen(-1.0, -2.0, 0.5, kind=kind)),
        spec("code", {**seen(effect, kind=kind), "low": low, "high": high}),
    )
    found, left = specification.points(told)
    (point,) = [point for point in found if not point.is_default]
    assert (point.ends, left, specification.unplaced(told)) == (ends, [], [])
    figure = specification._figure(told, found, left, "toy")
    axes, at = figure.axes[0], float(found.index(point))
    arrows = [line for line in axes.lines if line.get_marker() in "v^" and not line.get_clip_on()]
    up = max(ends) == math.inf
    assert [line.get_xydata().tolist() for line in arrows] == [[[at, 1.0 if up else 0.0]]]
    known = [end for end in ends if math.isfinite(end)]
    edge = axes.get_ylim()[1 if up else 0]
    reached = [line for line in axes.lines if line.get_xydata()[-1:].tolist() == [[at, edge]]]
    assert len(reached) == bool(known)
    assert all(axes.get_ylim()[0] < end < axes.get_ylim()[1] for end in known)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "to infinity" in labels


def test_what_is_infinite_on_no_known_side_is_told_with_its_outcome():
    told = claim(
        spec("default", seen(-1.0, kind=RANKED)),
        spec("a", seen(-2.0, kind=RANKED)),
        spec("code", seen(None, kind=RANKED), CONTRADICTED),
        spec("lost", None, NOT_RUN),
    )
    found, left = specification.points(told)
    words = specification._small_print(told, found, left)
    assert "Left out, not run or without a number: lost." in words
    assert "Infinite, without a place on the axis: code (contradicted)." in words


@pytest.mark.parametrize(
    ("whats", "named"),
    [
        (("A on p: 1 of 5 seeds", "A on p: 6 of 10 seeds"), "A on p"),
        (("A = B on p within 463", "A = B on p within 3.2e+03"), "A = B on p"),
        (("A on p: 5 of 5 seeds",) * 2, "A on p: 5 of 5 seeds"),
    ],
)
def test_a_comparison_is_the_same_whatever_its_numbers(whats, named):
    one, other = whats
    told = claim(spec("default", seen(0.2, what=one)), spec("code", seen(0.6, what=other)))
    found, left = specification.points(told)
    assert specification._rows(found) == [("as printed", [0]), ("code", [1])]
    assert f"Weakest comparison: {named}." in specification._small_print(told, found, left)


def test_long_words_have_room(monkeypatch):
    """Titles, labels of comparisons, and a small print as wide as its pixels are."""
    long = "TuRBO = GP-UCB on breast-cancer-perceptron within 0.1"
    told = claim(
        spec("default", seen(-1.0, what=long)),
        spec("scaled", seen(2.0, what=long.replace("GP-UCB", "GP-EI"))),
    )
    told["says"] = (
        "relative to random search's, the regrets of both are larger than the others " * 3
    )
    told["sentence"] = "Holds in direction as printed and in the public code; not under greedy " * 9
    monkeypatch.setattr(overprint, "DPI", specification.RC["savefig.dpi"])
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **specification.RC}):
        found, left = specification.points(told)
        figure = specification._figure(told, found, left, "toy")
        assert overprint.faults(figure) == []
        specification.plt.close(figure)
    assert long in {text.get_text() for text in figure.axes[1].texts}
    assert " ".join(figure.texts[0].get_text().split()) == f"toy, Fig. 1: {told['says'].strip()}"


def test_a_label_that_is_wider_than_its_column_is_wrapped_and_a_word_is_cut(monkeypatch):
    long = "LCBO on syn-100 < LCBO on syn-25, less the best of CEI, EPBO, SCBO, HDsafeBO"
    told = claim(
        spec("default", seen(-1.0, what=long)),
        spec("a", seen(2.0, what=long.replace("100", "50"))),
    )
    found, left = specification.points(told)
    monkeypatch.setattr(overprint, "DPI", specification.RC["savefig.dpi"])
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **specification.RC}):
        figure = specification._figure(told, found, left, "toy")
        assert overprint.faults(figure) == []
        specification.plt.close(figure)
    shown = {text.get_text().replace("\n", " ") for text in figure.axes[1].texts}
    assert {long, long.replace("100", "50")} <= shown
    cut = specification._cut("W" * 99, 1.0)
    assert cut.endswith("W…") and 0.8 < specification.inches(cut, specification.LABEL) <= 1.0


def test_the_interval_of_a_mean_that_has_no_end_is_drawn_to_the_effect():
    told = claim(spec("default", {**seen(1.0, 0.5), "high": None}))
    (point,) = specification.points(told)[0]
    assert (point.low, point.high) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("borders", "low", "high", "drawn"),
    [((2.0,), 0.5, 3.0, 3.0), ((0.1,), 0.5, 3.0, 0.5), ((0.0, 2.0), 0.5, 1.1, 0.5)],
)
def test_a_statement_about_every_row_is_drawn_at_the_end_that_decides(borders, low, high, drawn):
    rows = seen(1.0, low, high, kind="share of rows, value", borders=borders)
    (point,) = specification.points(claim(spec("default", rows)))[0]
    assert point.effect == drawn


def test_the_matrix_groups_readings_by_axes_and_names_the_weakest_comparison():
    found, _ = specification.points(THREE)
    assert specification._rows(found) == [
        ("as printed", [1]),
        ("A.x:", []),
        ("few", [0]),
        ("high", [2]),
    ]
    beside = claim(*THREE["specifications"], spec("alone", seen(0.0), axis=["B.y"]))
    found, _ = specification.points(beside)
    # not one more alternative on A.x, which the rows above it are
    assert specification._rows(found) == [
        ("as printed", [1]),
        ("A.x:", []),
        ("few", [0]),
        ("high", [3]),
        ("others:", []),
        ("alone", [2]),
    ]
    other = claim(
        spec("default", seen(-1.0)), spec("code", seen(2.0, what="A < C on p"), CONTRADICTED)
    )
    found, _ = specification.points(other)
    assert specification._rows(found) == [
        ("as printed", [0]),
        ("code", [1]),
        ("weakest comparison:", []),
        ("A < B on p", [0]),
        ("A < C on p", [1]),
    ]
    words = specification._small_print(other, found, [])
    assert "Of several comparisons the weakest is drawn, named below." in words


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("difference", "difference\ncumulative regret (unit of y)"),
        ("median difference by rank", "median difference\ncumulative regret (unit of y)"),
        ("share of rows, value", "value\ncumulative regret (unit of y)"),
        ("ratio", "ratio\ncumulative regret"),
    ],
)
def test_the_axis_says_what_is_drawn_and_its_unit(kind, words):
    found, _ = specification.points(claim(spec("default", seen(-1.0, kind=kind))))
    assert specification._label(THREE, found) == words


MIXED = claim(
    spec("default", seen(-1.0, -2.0, 0.5)),
    spec("forgotten", {**seen(-7.0, kind=RANKED), "low": None, "high": -6.0}),
)


def test_means_and_medians_in_one_picture_are_told_apart():
    """On the axis, in the small print and the legend, and by their bars; whichever comes first."""
    found, left = specification.points(MIXED)
    for points in (found, found[::-1]):
        label = specification._label(MIXED, points)
        assert label == "mean or median difference\ncumulative regret (unit of y)"
        words = specification._small_print(MIXED, points, left)
        assert "Thin bars: means with 95 % intervals. Wide bars: medians with quartiles" in words
    figure = specification._figure(MIXED, found, left, "toy")
    axes = figure.axes[0]
    assert BY_RANK in [text.get_text() for text in axes.get_legend().get_texts()]
    wide = {
        line.get_xydata()[0][0]
        for line in axes.lines
        if line.get_linewidth() == specification.BROAD
    }
    assert wide == {0.0}  # the lowest is the one decided by rank


@pytest.mark.parametrize(
    ("kind", "words"),
    [(RANKED, "Marks and bars: median and quartiles."), ("difference", "Bars: 95 % intervals.")],
)
def test_of_one_kind_of_points_there_is_no_more_to_say(kind, words):
    told = claim(spec("default", seen(-1.0, kind=kind)), spec("code", seen(1.0, kind=kind)))
    found, left = specification.points(told)
    assert words in specification._small_print(told, found, left)
    figure = specification._figure(told, found, left, "toy")
    assert BY_RANK not in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_a_legend_that_is_wider_than_the_paper_has_more_lines(monkeypatch):
    told = claim(
        spec("default", seen(-1.0)),
        spec("a", seen(2.0), CONTRADICTED),
        spec("b", seen(3.0), INCONCLUSIVE),
        spec("c", seen(1.0), DIRECTION),
        spec("d", seen(1.5), UNDECIDED, observed=NO_NUMBER),
        spec("e", {**seen(-7.0, kind=RANKED), "low": None, "high": -6.0}),
    )
    monkeypatch.setattr(overprint, "DPI", specification.RC["savefig.dpi"])
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **specification.RC}):
        found, left = specification.points(told)
        figure = specification._figure(told, found, left, "toy")
        assert overprint.faults(figure) == []
        specification.plt.close(figure)
    assert len(figure.axes[0].get_legend().get_texts()) == 9


def test_substituted_data_are_written_across_and_named():
    told = {**MIXED, "stand_in": "a synthetic table"}
    found, left = specification.points(told)
    figure = specification._figure(told, found, left, "toy")
    assert style.STAND_IN in [text.get_text() for text in figure.axes[0].texts]
    assert "SUBSTITUTE: a synthetic table." in specification._small_print(told, found, left)
    figure = specification._figure(MIXED, found, left, "toy")
    assert style.STAND_IN not in [text.get_text() for text in figure.axes[0].texts]
    assert "SUBSTITUTE" not in specification._small_print(MIXED, found, left)


def test_outcomes_differ_in_colour_and_in_shape():
    for part in zip(*specification.LOOKS.values(), strict=True):
        assert len(set(part)) == len(specification.LOOKS)


def test_a_curve_shows_its_borders_and_every_interval(tmp_path):
    found, left = specification.points(THREE)
    figure = specification._figure(THREE, found, left, "toy")
    lines = [line.get_xydata().tolist() for line in figure.axes[0].lines]
    assert [[0, -9.0], [0, 5.0]] in lines and [[2, 1.0], [2, 5.0]] in lines
    assert [[-0.5, 0.0], [0.5, 0.0]] in lines
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == [REPRODUCED, DIRECTION, CONTRADICTED, "may not decide", "border of the claim"]


def certificate(folder, *claims):
    folder.mkdir(exist_ok=True)
    (folder / "certificate.json").write_text(json.dumps({"paper": "toy", "claims": claims}))


def test_the_folder_is_made_anew_with_a_picture_for_each_claim_of_two_numbers(tmp_path, capsys):
    alone = claim(spec("default", seen(1.0)), spec("lost", None, NOT_RUN), name="alone")
    drawn = tmp_path / "specifications"
    drawn.mkdir()
    (drawn / "gone.png").write_bytes(b"of another claim")
    certificate(tmp_path, THREE, alone)
    assert specification.main(["toy", "--scale", "paper", "-o", str(tmp_path)]) == 0
    assert [path.name for path in drawn.iterdir()] == ["c.png"]
    first = (drawn / "c.png").read_bytes()
    assert struct.unpack(">I", first[16:20]) == (880,)
    assert specification.main(["toy", "--scale", "paper", "-o", str(tmp_path)]) == 0
    assert (drawn / "c.png").read_bytes() == first
    assert "wrote 1 curves" in capsys.readouterr().err
    certificate(tmp_path, alone)
    assert specification.main(["toy", "--scale", "paper", "-o", str(tmp_path)]) == 0
    assert list(drawn.iterdir()) == []  # and the folder is there


def test_without_a_certificate_it_says_what_makes_one(tmp_path, capsys):
    assert specification.main(["toy", "--scale", "paper", "-o", str(tmp_path)]) == 1
    assert "run `python -m workflow.certificate toy --scale paper`" in capsys.readouterr().err
    assert not (tmp_path / "specifications").exists()


def test_a_curve_of_thirty_readings_takes_less_than_half_a_second(tmp_path):
    many = claim(
        spec("default", seen(-1.0, -2.0, 0.5)),
        *(spec(f"reading-{i}", seen(i - 9.0, i - 11.0, i - 8.0)) for i in range(30)),
    )
    specification.draw(many, tmp_path / "first.png", "toy")
    spent = []
    for turn in range(3):
        begun = time.process_time()
        specification.draw(many, tmp_path / f"{turn}.png", "toy")
        spent.append(time.process_time() - begun)
    assert min(spent) < 0.5
