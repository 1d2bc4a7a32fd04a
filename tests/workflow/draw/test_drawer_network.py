"""The picture of a wireless network: places, ranges and associations where the problem has them,
powers as areas.
"""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose

from problems import wlan
from problems.topologies import TOPOLOGIES
from tests.workflow.draw import pictures
from tests.workflow.draw.pictures import Runs, count, pixels
from workflow.draw.drawers import network
from workflow.draw.style import BLACK, BLUE, ORANGE

LINEAR = {"topology": "twelve", "interference": "neighbours", "scale": "linear"}
LINEAR |= {"backend": "closed-form", "bandwidth": 1}
ALL = {**LINEAR, "topology": "T12", "interference": "all", "scale": "dBm"}
PARAMETERS = pytest.mark.parametrize("parameters", [LINEAR, ALL], ids=["linear", "all"])


def capacity(query, parameters):
    made = wlan.network(TOPOLOGIES[parameters["topology"]], interference=parameters["interference"])
    sinr = made.sinr(wlan.powers(query[None], scale=parameters["scale"]))
    return float(made.capacities(sinr, parameters["bandwidth"]).sum())


def drawn(parameters, seed=0):
    return np.random.default_rng(seed).random(len(TOPOLOGIES[parameters["topology"]].nodes))


def best_of(query, parameters=LINEAR, **changes):
    shown = {"value": -capacity(query, parameters), "label": "negative capacity"}
    return pictures.best_of(query, **{**shown, "unit": "bit/s/Hz", "curve": "DuMBO", **changes})


def axes(parameters=LINEAR, query=None):
    query = drawn(parameters) if query is None else query
    return network.powers(best_of(query, parameters), parameters).still.axes[0]


def dots(ax):
    """Halos, nodes and users as they are drawn, by colour."""
    found = [points for points in ax.collections if isinstance(points, PathCollection)]
    return {to_hex(points.get_facecolor()[0]).upper(): points for points in found}


@PARAMETERS
def test_everything_is_where_the_problem_has_it(parameters):
    ax, layout = axes(parameters), TOPOLOGIES[parameters["topology"]]
    found = dots(ax)
    assert_allclose(found[BLUE].get_offsets(), layout.nodes)
    assert_allclose(found[ORANGE].get_offsets(), layout.nodes)
    assert_allclose(found[BLACK].get_offsets(), layout.user_places)
    lines = {
        to_hex(part.get_colors()[0]).upper(): part
        for part in ax.collections
        if isinstance(part, LineCollection)
    }
    between = np.array(lines[BLACK].get_segments())
    assert len(between) == layout.neighbours(wlan.RANGE).sum() / 2
    assert np.linalg.norm(between[:, 0] - between[:, 1], axis=1).max() <= wlan.RANGE
    own = np.array(lines[network.GREY].get_segments())
    assert_allclose(own[:, 1], layout.user_places)
    assert_allclose(own[:, 0], layout.node_places[layout.owners])
    assert ax.get_aspect() == 1 and (ax.get_xlabel(), ax.get_ylabel()) == ("x (m)", "y (m)")


@PARAMETERS
def test_areas_of_halos_are_powers(parameters):
    query = drawn(parameters)
    sent = wlan.powers(query, scale=parameters["scale"])
    areas = dots(axes(parameters, query))[ORANGE].get_sizes()
    assert_allclose(areas, network.HALO**2 * sent / 10**2.5)
    words = [text.get_text() for text in axes(parameters, query).texts]
    assert words[::2] == [str(i + 1) for i in range(len(sent))]
    assert words[1::2] == [f"{power:.3g} mW" for power in sent]


def test_the_legends_give_powers_in_milliwatts_and_what_else_is_drawn():
    ax = axes()
    first, second = (child for child in ax.get_children() if type(child).__name__ == "Legend")
    others, halos = sorted((first, second), key=lambda found: found.get_title().get_text())
    assert halos.get_title().get_text() == "power of a node"
    sent, drawn = ([text.get_text() for text in found.get_texts()] for found in (halos, others))
    assert sent == ["1.26 mW", "10 mW", "100 mW", "316 mW"]
    assert drawn == ["node", "user", "association", "in range of each other"]
    sizes = [handle.get_markersize() for handle in halos.legend_handles]
    powers = np.array([10**0.1, 10, 100, 10**2.5])
    assert_allclose(np.square(sizes), network.HALO**2 * powers / 10**2.5)


def test_another_value_than_the_recorded_one_is_confessed():
    query = drawn(LINEAR)
    computed = f"{-capacity(query, LINEAR):.4g}"
    facts = network.powers(best_of(query, value=-7.0), LINEAR).facts
    assert facts[-1] == f"NOT THE RECORDED VALUE: computed here, it is {computed}, recorded is -7"
    facts = network.powers(best_of(query, value=-7.0), {**LINEAR, "backend": "csma"}).facts
    said = "the value is that of one simulated second of CSMA/CA; if all nodes send at once, it is"
    assert facts[-1] == f"{said} {computed}"


@PARAMETERS
def test_it_is_drawn_from_records_into_one_file(tmp_path, parameters):
    """As by the command: the greatest capacity of all evaluations, the same bytes again, and
    nothing cut at the sides.
    """
    entry = {"is": "wlan.shannon_capacity", **parameters, "noise": 0.0}
    display = {"label": "negative capacity", "unit": "bit/s/Hz", "sign": -1}
    runs = Runs(tmp_path, entry, display, "network.powers", curves=["DuMBO"], seeds=(0,))
    query = np.vstack([drawn(parameters), np.ones((2, len(drawn(parameters))))])
    runs.add("DuMBO", 0, [capacity(one, parameters) for one in query], query=query)
    (path,) = runs.drawn(tmp_path)
    assert count(pixels(path), BLUE) > 500
