"""Pictures of the best design: the right evaluation, bars as thick as their areas, limbs where the
simulator has them.
"""

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from problems import structures as problem
from tests.workflow.draw.pictures import Runs, best_of, pixels
from workflow.draw import picture, report
from workflow.draw.drawers import frames, gait
from workflow.draw.style import BLUE, VERMILLION
from workflow.measure.store import NotRun, Store
from workflow.plan import selection
from workflow.trace import record

TRUSS = {"is": "structures.truss25", "load": "official", "alpha": 20}
CHEETAH = {"is": "halfcheetah.linear_policy", "episodes": 2}
WEIGHT = {"label": "weight", "unit": "100 lb", "sign": -1}
SPEED = {"label": "forward velocity", "unit": "m/s", "sign": 1}
LIGHTEST = (np.array(problem.LIGHTEST["official", 20.0]) - 0.01) / 4.99
OPTIMAL = (
    np.array([side for height in problem.HEIGHTS["correct"] for side in (0.5, height)]) - 0.5
) / 4.5


class Trusses(Runs):
    """Records of the lightest truss."""

    def __init__(self, root, display=WEIGHT, **line):
        super().__init__(root, TRUSS, display, "frames.truss", **line)

    def add(self, curve, seed, true, true_g=None):
        super().add(curve, seed, true, true_g, query=LIGHTEST)


@pytest.fixture
def runs(tmp_path):
    """The lightest feasible design is the third one of B with seed 1; lighter ones are not
    feasible.
    """
    runs = Trusses(tmp_path)
    runs.add("A", 0, [-5, -4, -1], [[-1, -1], [0, -1], [-1, 0.01]])
    runs.add("A", 1, [-2, -9, -9], [[1, -5], [-1, -1], [-1, -1]])
    runs.add("B", 0, [-8, -7, -6], [[-1, -1]] * 3)
    runs.add("B", 1, [-1, -4.5, -3], [[9, 9], [-1, -1], [-0.5, 0]])
    return runs


def shown(monkeypatch, module, name):
    """The list into which a drawer's pictures go as they are made."""
    drawer, kept = getattr(module, name), []
    monkeypatch.setattr(
        module, name, lambda *arguments: kept.append(drawer(*arguments)) or kept[-1]
    )
    return kept


def alike(root, true, true_g=None, **line):
    """Trusses of which all four runs are the same."""
    runs = Trusses(root, **line)
    for curve in ("A", "B"):
        for seed in (0, 1):
            runs.add(curve, seed, true, true_g)
    return runs


def words(figure):
    return " ".join(text.get_text().replace("\n", " ") for text in figure.texts)


# the best evaluation


def test_the_best_feasible_evaluation_of_all_curves_and_seeds_is_found(runs):
    best = runs.best()
    assert (best.curve, best.seed, best.evaluation) == ("B", 1, 3)
    assert (best.evaluations, best.compared) == (3, 12)
    assert (best.value, best.label, best.unit, best.quantity) == (3.0, "weight", "100 lb", "300 lb")
    assert (best.g.tolist(), best.violation) == ([-0.5, 0], 0)
    assert_allclose(best.query, LIGHTEST + 2e-9, rtol=0, atol=1e-12)
    assert best.libraries == {"numpy": "of B1"}


def test_without_a_feasible_one_it_is_the_least_violation_and_then_the_value(tmp_path):
    runs = alike(tmp_path, [-1, -2, -3], [[3, -9], [2, 1], [5, 5]])
    runs.add("B", 0, [-1, -2, -2], [[2, 0.5], [0.5, 1.5], [1.5, 0.5]])
    best = runs.best()
    assert (best.curve, best.seed, best.evaluation) == ("B", 0, 2)
    assert (best.violation, best.value) == (2.0, 2.0)


def test_the_first_of_equals_is_taken_and_a_problem_may_have_no_constraints(tmp_path):
    best = alike(tmp_path, [1, 2, 2], display=SPEED).best()
    assert (best.curve, best.seed, best.evaluation) == ("A", 0, 2)
    assert (best.violation, best.g.size) == (0, 0)
    assert best.quantity == "2 m/s"


def test_what_has_not_been_run_is_said(runs, tmp_path, monkeypatch):
    for seed in (0, 1):
        (runs.root / runs.curves["B"].record(seed)).unlink()
    kept = shown(monkeypatch, frames, "truss")
    with pytest.raises(record.BadRecord, match="found no file"):
        runs.draw(tmp_path)
    runs.draw(tmp_path, partial=True)
    assert "not run: B" in words(kept[0].still)
    for seed in (0, 1):
        (runs.root / runs.curves["A"].record(seed)).unlink()
    with pytest.raises(NotRun, match=r"expected a record of toy/p/A, toy/p/B, found none"):
        runs.draw(tmp_path, partial=True)


# files and words


def test_a_feasible_picture_says_what_it_shows(runs, tmp_path, monkeypatch):
    kept = shown(monkeypatch, frames, "truss")
    runs.line["note"] = "a note"
    runs.draw(tmp_path)
    text = words(kept[0].still)
    for part in (
        "toy best",
        "scale paper",
        "weight 300 lb, found by B with seed 1",
        "best feasible of 12 evaluations in 4 runs of A, B: B seed 1, evaluation 3 of 3",
        "weight 300 lb",
        "constraints g (feasible where <= 0): -0.5, 0",
        "load official",
        "greatest displacement 0.35 of 0.35 in",
        "a note",
    ):
        assert part in text
    assert kept[0].still.get_suptitle() == "best weight\nweight 300 lb, found by B with seed 1"
    assert "FEASIBLE" not in text


def test_records_of_other_code_are_told_below_a_picture(runs, tmp_path, monkeypatch):
    kept = shown(monkeypatch, frames, "truss")
    runs.draw(tmp_path)
    monkeypatch.setattr(Store, "made_by_other_code", lambda store, run: (1,))
    runs.draw(tmp_path)
    said = "MADE BY OTHER CODE: 1 of 2 records of p/A, 1 of 2 records of p/B"
    assert [said in words(one.still) for one in kept] == [False, True]


def test_an_infeasible_picture_says_so_in_red(tmp_path, monkeypatch):
    runs = alike(tmp_path, [-1, -2, -3], [[0.25, 0.5]] * 3, title="The lightest truss")
    kept = shown(monkeypatch, frames, "truss")
    runs.draw(tmp_path)
    title = kept[0].still._suptitle
    assert title.get_text().splitlines() == [
        "The lightest truss",
        "weight 100 lb, found by A with seed 0",
        "NOT FEASIBLE: the least violation in 12 evaluations, none of them feasible",
    ]
    assert title.get_color() == picture.WARNING
    assert "least infeasible (violations sum to 0.75) of 12 evaluations" in words(kept[0].still)


def test_the_command_line_writes_where_figures_lie(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "load", lambda name, scale, seeds: runs.paper)
    assert report.main(["toy", "best"]) == 0
    assert capsys.readouterr().err == "wrote best to figures/paper/toy\n"
    assert pixels(Path("figures/paper/toy/best.png")).shape[1] == 1344
    assert report.main(["toy", "bset"]) == 1
    assert "no exhibit 'bset' at scale paper; did you mean 'best'?" in capsys.readouterr().err


# structures


def test_a_projection_keeps_lengths_and_looks_from_the_front_and_above():
    turned = frames.project(np.eye(3))  # rows are where x, y and z go
    assert_allclose(turned @ turned.T, np.eye(3), atol=1e-12)
    # right, up and towards the viewer: nothing is mirrored
    assert np.linalg.det(turned) == pytest.approx(1)
    assert turned[2, 1] > 0.9 and turned[0, 0] > 0.9 and turned[1, 2] < -0.8


def test_bars_are_as_thick_as_their_areas_and_coloured_by_the_sign_of_their_stress():
    drawn = frames.truss(best_of(LIGHTEST), {"load": "official"})
    tower, chart = drawn.still.axes[:2]
    _, bars = tower.collections
    seen = {node: frames.project(np.array([place]))[0, :2] for node, place in problem.NODES.items()}
    where = {np.round([seen[a], seen[b]], 6).tobytes(): i for i, (a, b) in enumerate(problem.BARS)}
    order = [where[np.round(segment, 6).tobytes()] for segment in bars.get_segments()]
    assert sorted(order) == list(range(25))
    areas = np.array(problem.LIGHTEST["official", 20.0])
    assert_allclose(bars.get_linewidths(), frames.PER_AREA * areas[order], rtol=1e-9)
    assert_allclose([bar.get_width() for bar in chart.patches], areas, rtol=1e-9)
    truss = problem.assemble(
        problem.NODES, problem.BARS, problem.SUPPORTS, problem.LOADS["official"], 1e7
    )
    stresses = truss.respond(areas[None])[0][0]
    shares = [f"{stress / 40_000:+.2f}" for stress in stresses]
    assert [text.get_text() for text in chart.texts] == shares
    colours = bars.get_colors()
    # reddish in tension, bluish in compression
    assert ((colours[:, 0] > colours[:, 2]) == (stresses[order] > 0)).all()
    assert [label.get_text() for label in chart.get_yticklabels()][:2] == ["1-2", "1-4"]


def test_bars_behind_are_painted_first():
    drawn = frames.truss(best_of(LIGHTEST), {"load": "M2"})
    bars = drawn.still.axes[0].collections[1]
    depth = {}
    for a, b in problem.BARS:
        ends = frames.project(np.array([problem.NODES[a], problem.NODES[b]]))
        depth[np.round(ends[:, :2], 6).tobytes()] = ends[:, 2].mean()
    depths = [depth[np.round(segment, 6).tobytes()] for segment in bars.get_segments()]
    assert (np.diff(depths) >= -1e-9).all()
    # loads on four nodes
    assert sum("lb" in text.get_text() for text in drawn.still.axes[0].texts) == 4


def test_a_cantilever_is_drawn_to_its_heights_and_widths():
    drawn = frames.cantilever(best_of(OPTIMAL), {"displacement": "correct"})
    heights, widths = problem.HEIGHTS["correct"], np.full(25, 0.5)
    for ax, sides in zip(drawn.still.axes[:2], (heights, widths), strict=True):
        # (25, 4, 2)
        corners = np.array([path.vertices[:4] for path in ax.collections[0].get_paths()])
        assert_allclose(np.ptp(corners[..., 1], axis=1), sides, rtol=1e-9)
        assert_allclose(corners[..., 0].min(axis=1), 4.0 * np.arange(25))
        assert_allclose(np.ptp(corners[..., 0], axis=1), 4.0)
        assert_allclose(corners[..., 1].mean(axis=1), 0, atol=1e-12)
    # M c / I, I = w h^3 / 12
    stresses = 500 * 4.0 * np.arange(25, 0, -1) * 6 / (0.5 * np.array(heights) ** 2)
    expected = frames.UNSIGNED(stresses / 40_000)
    assert_allclose(drawn.still.axes[0].collections[0].get_facecolors(), expected, atol=1e-9)
    assert "deflection of the tip 2.5 of 2.5 in" in drawn.facts


# the gait


def test_capsules_surround_their_limbs():
    limbs = np.array([[[0.0, 0.0], [1.0, 0.0]], [[2.0, 1.0], [2.0, 0.5]]])
    outlines = gait.capsules(limbs)
    nearest = np.clip(outlines[0, :, 0], 0, 1)
    distances = np.hypot(outlines[0, :, 0] - nearest, outlines[0, :, 1])
    assert_allclose(distances, gait.RADIUS, rtol=1e-9)
    size = [2 * gait.RADIUS, 0.5 + 2 * gait.RADIUS]
    assert_allclose(np.ptp(outlines[1], axis=0), size, rtol=0.02)
    x, y = outlines[0].T
    area = abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2
    assert area == pytest.approx(2 * gait.RADIUS + np.pi * gait.RADIUS**2, rel=2e-3)


def body(speed, n=gait.FRAMES):
    """A stiff cheetah (n, 8, 2, 2) that glides at so many m/s,
    its back leg behind its front leg.
    """
    # the torso, the head, and both legs from above
    limbs = [[-0.5, 0.6, 0.5, 0.6], [0.5, 0.6, 0.7, 0.8]]
    limbs += [[-0.5, 0.6, -0.4, 0.4], [-0.4, 0.4, -0.5, 0.2], [-0.5, 0.2, -0.4, 0.05]]
    limbs += [[0.5, 0.6, 0.6, 0.4], [0.6, 0.4, 0.5, 0.2], [0.5, 0.2, 0.6, 0.05]]
    gone = np.stack([speed * 0.05 * np.arange(n), np.zeros(n)], axis=-1)
    return np.reshape(limbs, (8, 2, 2)) + gone[:, None, None]


def test_the_strip_shows_poses_at_their_true_places_with_their_times():
    moving = body(4.0)
    figure = gait.strip(moving)
    together, *alone = figure.axes
    assert len(together.collections) == len(alone) == 8
    torsos = [pose.get_paths()[gait.ORDER.index(0)].vertices[:, 0] for pose in together.collections]
    middles = [(torso.min() + torso.max()) / 2 for torso in torsos]
    assert_allclose(middles, 4.0 * 0.2 * np.arange(8), atol=1e-9)  # every 0.2 s
    assert [ax.get_title() for ax in alone] == [f"{25 + 0.2 * i:.1f} s" for i in range(8)]
    assert_allclose([np.mean(ax.get_xlim()) for ax in alone], middles, atol=1e-9)
    assert together.get_title(loc="left") == "light to full colour: 25.0 s to 26.4 s"
    faces = alone[0].collections[0].get_facecolors()[:, :3]
    assert_allclose(faces[gait.ORDER.index(2)], to_rgb(VERMILLION))
    assert_allclose(faces[gait.ORDER.index(7)], to_rgb(BLUE))
    brightness = [pose.get_facecolors()[:, :3].mean() for pose in together.collections]
    assert (np.diff(brightness) < 0).all()  # the last one in full colour
    assert_allclose(together.collections[-1].get_facecolors()[:, :3], faces)


def test_the_camera_follows():
    pictures = np.array(gait.frames(body(3.0, 4), best_of(np.zeros(102))))
    assert pictures.shape == (4, 220, 480, 3)
    columns = {}
    for name, colour in (("back", VERMILLION), ("front", BLUE)):
        near = np.abs(pictures - 255 * np.array(to_rgb(colour))).max(axis=-1) < 3  # (4, 220, 480)
        assert near.any(axis=(1, 2)).all()
        columns[name] = np.array([np.nonzero(one)[1].mean() for one in near])
    # pixels, while the ground passes below
    assert np.ptp(columns["back"]) < 2 and np.ptp(columns["front"]) < 2
    assert (columns["back"] < columns["front"]).all()
    assert all((pictures[i] != pictures[i + 1]).any() for i in range(3))


@pytest.fixture
def short(monkeypatch):
    """Episodes of 90 steps, of which 30 are shown."""
    pytest.importorskip("mujoco", reason="needs gymnasium, mujoco and imageio")
    monkeypatch.setattr(gait, "HORIZON", 90)
    monkeypatch.setattr(gait, "FIRST", 40)
    monkeypatch.setattr(gait, "FRAMES", 30)
    return (np.random.default_rng(3).random(102) < 0.5).astype(float)


def test_a_simulated_gait_becomes_a_still_and_an_animation(short, tmp_path):
    runs = Runs(tmp_path, CHEETAH, SPEED, "gait.stick_figure", curves="A", seeds=(0,))
    versions = {name: version(name) for name in ("mujoco", "gymnasium")}
    runs.add("A", 0, [0.1, 0.2, 0.3], [[-1.0]] * 3, query=short * 0.9, **versions)
    first = runs.drawn(tmp_path)
    assert [path.name for path in first] == ["best.png", "best.gif"]
    with Image.open(first[1]) as moving:
        assert (moving.n_frames, moving.size) == (30, (480, 220))
        assert (moving.info["duration"], moving.info["loop"]) == (50, 0)
        assert moving.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
    assert first[1].stat().st_size < 400_000


def test_the_simulators_are_named_and_another_motion_is_confessed(short, monkeypatch):
    monkeypatch.setattr(gait, "frames", lambda body, best: tuple(body))
    env = gait.halfcheetah.make()
    policy = gait.halfcheetah.normalise(env).policy(gait.halfcheetah.weights(short))
    speed = gait.halfcheetah.simulate(env, policy, [0, 100], 90)[:, 0].mean()
    versions = {"mujoco": version("mujoco"), "gymnasium": "0.1"}
    best = best_of(short, value=speed, unit="m/s", libraries=versions)
    true = gait.stick_figure(best, {"episodes": 2})
    assert f"mujoco {versions['mujoco']}" in true.facts
    assert f"gymnasium 0.1, drawn with {version('gymnasium')}" in true.facts
    assert not any("NOT THE RECORDED" in fact for fact in true.facts)
    assert_array_equal(true.frames, gait.halfcheetah.skeleton(env, policy, 0, 70)[40:])
    assert true.rate == 20
    other = gait.stick_figure(best_of(short, value=speed + 1, unit="m/s"), {"episodes": 2})
    (said,) = [fact for fact in other.facts if fact.startswith("NOT THE RECORDED MOTION")]
    assert f"{speed:.4g} m/s" in said
    assert "mujoco of unknown version" in other.facts[1]


def test_a_reading_that_found_more_is_what_is_shown(runs, tmp_path):
    """Curves that name no reading stand for all of them; a reading of somebody else does not."""
    for algorithm in ("A", "C"):
        made = replace(runs.curves["A"], algorithm=algorithm, algorithm_reading="code")
        runs.curves[made.label] = made
        for seed in made.seeds:
            light = -2.0 if algorithm == "A" else -1.0
            runs.add(made.label, seed, [-9, light - seed, -9], [[-0.5, 0.0]] * 3)
    curves = [curve.label for curve in selection.picture_curves(runs.paper, "best")]
    assert curves == ["A", "B", "A@code"]
    best = runs.best()
    assert (best.curve, best.seed, best.value) == ("A@code", 0, 2.0)
    runs.line["curves"] = ["A", "B", "C@code"]
    assert runs.best().value == 1.0
