"""Every figure of every paper, of made-up numbers: its words can be read."""

import matplotlib
import numpy as np
from matplotlib import pyplot as plt

from tests.workflow.draw.overprint import faults
from workflow.draw import panels, plots
from workflow.measure.store import NotRun
from workflow.plan import selection
from workflow.plan.expand import load
from workflow.plan.lines import FigureLine
from workflow.plan.resolve import papers
from workflow.trace.curves import Study

PAPERS = {name: load(name, "paper") for name in papers()}
FIGURES = [(name, line["id"]) for name, paper in PAPERS.items() for line in paper.entry["figures"]]
LENGTH = 60


class MadeUp:
    """Answers as a store does, without records. Every third curve was not run, others have
    three seeds or one; nothing is missing if it is `whole`.
    """

    def __init__(self, paper, *, whole):
        self.paper, self.whole = paper, whole
        self.numbers = {}
        self.tables = {study: _table(paper, study) for study in paper.studies}

    def has(self, run):
        return self.whole or self._number(run) % 3 != 2 or isinstance(run, Study)

    def seeds(self, run):
        if not self.has(run):
            raise NotRun(run.name)
        few = {0: 5, 1: 3, 2: 5, 3: 1}[self._number(run) % 4]
        return tuple(range(5 if self.whole or isinstance(run, Study) else few))

    def values(self, run, name):
        seeds = self.seeds(run)
        rng = np.random.default_rng(self._number(run))
        level, slope = 10 ** rng.uniform(-2, 3), rng.uniform(0.2, 1.5)
        spread = np.exp(0.1 * rng.standard_normal((len(seeds), LENGTH)))
        return level * spread * np.arange(1, LENGTH + 1) ** -slope

    def column(self, study, seed, name, rows=None):
        table = self.tables[study.id]
        length = len(next(iter(table.values())))
        rng = np.random.default_rng([*name.encode(), seed])
        grid = np.tile(np.geomspace(1, 400, 12).round(), length // 12)
        values = table.get(name, 10 ** rng.uniform(-2, 2) * grid ** rng.uniform(0.2, 1.4))
        chosen = [np.isclose(table[one], value) for one, value in (rows or {}).items()]
        return values[np.all(chosen, axis=0)] if chosen else values

    def _number(self, run):
        return self.numbers.setdefault(run.name, len(self.numbers))

    def data(self, run):
        return "real"

    def versions(self, run):
        return [f"{name} 1.0" for name in run.problem_entry.get("libraries", [])]

    def processors(self, runs):
        return ["AMD EPYC (family 25, model 1)", "Intel(R) Xeon(R) Processor @ 2.10GHz"]

    def lacks(self, runs):
        return []


def _table(paper, study):
    """The columns of a study that select and order its rows: each selection with each value of the
    column that splits them, over a grid of twelve.
    """
    lines = [
        {**figure, **panel}
        for figure in paper.entry["figures"]
        for panel in figure["panels"]
        if panel.get("study", figure.get("study")) == study
    ]
    rows = []
    for line in lines:
        # names are of values of the split column, or of columns
        named = line.get("names", {}) if "split" in line else {}
        values = [float(key) for key in named or ("1", "2")]
        rows += [
            {**line.get("rows", {}), **({line["split"]: value} if "split" in line else {}), "": at}
            for value in (values if "split" in line else [0.0])
            for at in np.geomspace(1, 400, 12).round()
        ]
    keys = {key for row in rows for key in row if key}
    selected = {key: np.array([row.get(key, -1.0) for row in rows]) for key in keys}
    xs = {line["x"] for line in lines} - keys
    found = {**selected, **{x: np.array([row[""] for row in rows]) for x in xs}}
    return found or {"seed": np.zeros(12)}


def drawn(name, figure, *, whole):
    paper = PAPERS[name]
    found = panels.panels_of(paper, MadeUp(paper, whole=whole), figure)
    line = selection.line_of(paper, "figures", figure, FigureLine)
    note = plots.small_print(paper, line, found)
    return found, plots._figure(found, note, line.title)


# every figure lacks runs, and every third is drawn complete as well
SHOWN = [(*which, False) for which in FIGURES] + [(*which, True) for which in FIGURES[::3]]


def test_words_can_be_read():
    for name, figure, whole in SHOWN:
        with plt.rc_context({**matplotlib.rcParamsDefault, **plots.RC}):
            _, made = drawn(name, figure, whole=whole)
            found = faults(made)
            plt.close(made)
        assert found == []


def test_no_two_labels_of_a_legend_look_alike():
    for name, figure in FIGURES:
        options = selection.panel_options(PAPERS[name], figure)
        if any(panel.kind == "dots" for panel in options):
            continue  # its rows are named
        looks = panels.looks_of(PAPERS[name], options)
        seen = [(look, "@" in label) for label, look in looks.items()]
        assert len(set(seen)) == len(seen), (name, figure)


def test_faults_are_found():
    """One of each kind, and nothing in a figure without them."""
    figure, ax = plt.subplots(figsize=(4, 3), layout="constrained")
    ax.set(xlabel="x", ylabel="y", title="fine", xlim=(0, 1))
    assert faults(figure) == []
    ax.text(0.5, 0.5, "a word", transform=ax.transAxes)
    figure.text(0.95, 0.02, "too far to the right")
    figure.text(0.1, 0.02, "one", fontsize=9)
    figure.text(0.1, 0.02, "other", fontsize=6)
    ax.set(xscale="log", xlim=(1, 9))
    ax.set_xticks([2, 2.05, 20], ["two", "too", "outside"])
    found = faults(figure)
    plt.close(figure)
    expected = {"'a word' covers a panel", "'too far to the right' leaves the paper"}
    expected |= {"'one' overlaps 'other'", "'other': 6.0 points", "'two' overlaps 'too'"}
    assert expected <= set(found)
    assert not any("outside" in fault for fault in found)


def test_a_note_speaks_of_controls_that_are_drawn():
    """A note that a figure shares with others may be about curves that it does not have."""
    for name, figure in FIGURES:
        entry = next(line for line in PAPERS[name].entry["figures"] if line["id"] == figure)
        if "are not in the paper: controls" in entry.get("note", ""):
            drawn = {curve.label for curve in selection.figure_runs(PAPERS[name], figure)}
            assert {"random-search", "average-of-5"} <= drawn
