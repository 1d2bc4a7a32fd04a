"""What is wrong with the words of a figure: they overlap, leave the paper or cover a panel."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from workflow.draw.plots import MARK

DPI = 160  # of the files
SLACK = 1.0  # pixels that two boxes may share, since a box is larger than its letters
LEAST = 7.0  # points
OVER_PANELS = ("SUBSTITUTE DATA", "not run", "no value")


def faults(figure):
    """A sentence for each fault, where the figure is laid out as in its file."""
    figure.set_dpi(DPI)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()  # lays everything out; pixels would take twice as long
    words = [
        (text, text.get_window_extent(renderer))
        for text in visible(figure)
        if not text.get_text().startswith("SUBSTITUTE DATA")
    ]
    found = [
        f"{text.get_text()!r}: {text.get_fontsize()} points"
        for text, _ in words
        if text.get_fontsize() < LEAST
    ]
    paper = figure.bbox
    found += [
        f"{text.get_text()!r} leaves the paper"
        for text, box in words
        if min(box.x0, box.y0) < -SLACK or box.x1 > paper.x1 + SLACK or box.y1 > paper.y1 + SLACK
    ]
    for i, (text, box) in enumerate(words):
        found += [
            f"{text.get_text()!r} overlaps {other.get_text()!r}"
            for other, beside in words[i + 1 :]
            # marks are symbols: like curves, they may lie over each other
            if overlap(box, beside) and {text.get_text(), other.get_text()} != {MARK}
        ]
    panels = [ax.get_window_extent(renderer) for ax in figure.axes if ax.axison]
    found += [
        f"{text.get_text()!r} covers a panel"
        for text, box in words
        if not text.get_text().startswith(OVER_PANELS) and any(overlap(box, p) for p in panels)
    ]
    return found


def overlap(one, other):
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(min(width, height) > SLACK)


def visible(figure):
    """Every text that is drawn: of ticks those within their axis alone."""
    of_ticks = {
        id(label): shown
        for ax in figure.axes
        for axis in axes_of(ax)
        for label, shown in _ticks(axis)
    }
    hidden = {id(text) for ax in figure.axes if not ax.axison for text in _of_axes(ax)}
    for text in figure.findobj(Text):
        words = text.get_text().strip()
        if words and text.get_visible() and id(text) not in hidden and of_ticks.get(id(text), True):
            yield text


def axes_of(ax):
    return ax.xaxis, ax.yaxis


def _of_axes(ax):
    return [text for axis in axes_of(ax) for text in axis.findobj(Text)]


def _ticks(axis):
    low, high = sorted(axis.get_view_interval())
    span = axis.get_transform().transform(np.array([low, high]))
    room = 1e-6 * abs(span[1] - span[0])
    for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
        at = axis.get_transform().transform(np.array([tick.get_loc()]))[0]
        inside = bool(span[0] - room <= at <= span[1] + room)
        yield tick.label1, inside and tick.label1.get_visible()
        yield tick.label2, inside and tick.label2.get_visible()
