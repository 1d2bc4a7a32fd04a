"""The fastest HalfCheetah found, as a stick figure of the body's capsules: no renderer, no display
(problems/halfcheetah.py).

Drawn is the first episode of an evaluation, from its middle: poses at their true places, the same
poses one by one, and an animation in real time. It is simulated anew; contacts are chaotic, so the
picture says where its speed is not the recorded one.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MultipleLocator

from algorithms.api import Array
from problems import halfcheetah
from problems.halfcheetah import HORIZON, SEED_STEP
from workflow.draw.drawers import Best, Frame, Picture
from workflow.draw.style import BLUE, VERMILLION

STEP = 0.05  # s, of the simulation and of the animation
FIRST = HORIZON // 2  # the step of the first pose
POSES, APART = 8, 4  # poses in the strip, steps between two of them
FRAMES = 50  # steps in the animation
TRUNK = "#4D4D4D"
PARTS = {"back leg": VERMILLION, "torso and head": TRUNK, "front leg": BLUE}
# as in `skeleton`; painted in this order
LIMBS = {"back leg": (2, 3, 4), "torso and head": (0, 1), "front leg": (5, 6, 7)}
ORDER = [limb for limbs in LIMBS.values() for limb in limbs]
COLOURS = [PARTS[part] for part, limbs in LIMBS.items() for _ in limbs]
RADIUS = 0.046  # m, of all capsules of half_cheetah.xml
SIMULATORS = ("mujoco", "gymnasium")
LOW, HIGH = -0.12, 1.2  # m, what is seen below the ground and, at least, above it
REACH = 0.95  # m, what one pose needs on either side of the middle of its torso
WIDTH = 10.0  # in
SAME = 1e-6  # m/s, a mean velocity this close is the recorded one


def stick_figure(best: Best, parameters: Mapping[str, Any]) -> Picture:
    """Poses over 1.4 s and an animation of 2.5 s of the policy `best.query`; `parameters`:
    episodes.
    """
    env = halfcheetah.make()
    policy = halfcheetah.normalise(env).policy(halfcheetah.weights(best.query))
    seeds = [SEED_STEP * i for i in range(parameters["episodes"])]
    speeds = halfcheetah.simulate(env, policy, seeds, HORIZON)[:, 0]
    body = halfcheetah.skeleton(env, policy, 0, FIRST + FRAMES)[FIRST:]  # (FRAMES, 8, 2, 2)
    facts = (
        (
            f"drawn from {FIRST * STEP:.0f} s into the first of {len(speeds)} episodes"
            f" ({speeds[0]:.4g} m/s)"
        ),
        *_versions(best.libraries),
        *_doubts(best, float(np.mean(speeds))),
    )
    return Picture(strip(body), facts, frames(body, best), round(1 / STEP))


def _versions(libraries: Mapping[str, str]) -> list[str]:
    """The simulators that the record was made with, and those here if they are others."""
    made = {name: libraries.get(name, "of unknown version") for name in SIMULATORS}
    here = {name: version(name) for name in SIMULATORS}
    return [
        f"{name} {made[name]}" + (f", drawn with {here[name]}" if here[name] != made[name] else "")
        for name in SIMULATORS
    ]


def _doubts(best: Best, speed: float) -> list[str]:
    """A warning where the policy does not run here as it is recorded."""
    if abs(speed - best.value) <= SAME:
        return []
    return [
        f"NOT THE RECORDED MOTION: simulated here, the policy runs at {speed:.4g} m/s, recorded are"
        f" {best.value:.4g} m/s"
    ]


def capsules(limbs: Array) -> Array:
    """Outlines (n, 2k, 2) of capsules around limbs (n, 2, 2), in m."""
    ahead = limbs[:, 1] - limbs[:, 0]  # (n, 2)
    angle = np.arctan2(ahead[:, 1], ahead[:, 0])[:, None]  # (n, 1)
    half = np.linspace(-np.pi / 2, np.pi / 2, 10)  # (k,)
    # (n, k, 2)
    ends = [
        limbs[:, end, None] + RADIUS * _circle(angle + half + turn)
        for end, turn in ((1, 0.0), (0, np.pi))
    ]
    return np.concatenate(ends, axis=1)


def _circle(angle: Array) -> Array:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def strip(body: Array) -> Figure:
    """Poses of a body (n, 8, 2, 2), all at their true places above, one by one below."""
    steps = [APART * i for i in range(POSES)]
    least, most = body[steps, ..., 0].min(), body[steps, ..., 0].max()
    # m; a cheetah that stands still is drawn no larger than one that runs
    half = max((most - least) / 2 + 0.15, 2.5)
    top = _top(body)
    above = (top - LOW) * (WIDTH - 0.8) / (2 * half)
    below = (top - LOW) * (WIDTH - 0.8) / (POSES * 2.1 * REACH)
    figure = Figure(figsize=(WIDTH, above + below + 1.7), layout="constrained")
    grid = figure.add_gridspec(2, POSES, height_ratios=[above, below])
    together = figure.add_subplot(grid[0, :])
    for i, step in enumerate(steps):
        _pose(together, body[step], faded=0.72 * (1 - i / (POSES - 1)))
    _ground(together, ((least + most) / 2 - half, (least + most) / 2 + half), top)
    together.set(xlabel="x (m)", ylabel="height (m)")
    together.set_title(
        f"light to full colour: {_time(0)} to {_time(steps[-1])}", fontsize=9, loc="left"
    )
    handles = [Patch(color=colour, label=part) for part, colour in PARTS.items()]
    together.legend(
        handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.2
    )
    for i, step in enumerate(steps):
        ax = figure.add_subplot(grid[1, i])
        centre = _centre(body[step])
        _pose(ax, body[step])
        _ground(ax, (centre - REACH, centre + REACH), top)
        ax.set_title(_time(step), fontsize=9)
        ax.xaxis.set_major_locator(MultipleLocator(1.0))
        ax.tick_params(labelsize=7, labelleft=i == 0)
        ax.set_xlabel("x (m)", fontsize=7)
    return figure


def _time(step: int) -> str:
    return f"{(FIRST + step) * STEP:.1f} s"


def _centre(pose: Array) -> float:
    """Where the middle of the torso is, m."""
    return float(pose[0, :, 0].mean())


def _pose(ax: Axes, pose: Array, *, faded: float = 0.0) -> PolyCollection:
    """One pose (8, 2, 2), its colours moved towards white."""
    faces = [tuple(faded + (1 - faded) * part for part in to_rgb(colour)) for colour in COLOURS]
    drawn = PolyCollection(
        list(capsules(pose[ORDER])), facecolors=faces, edgecolors="white", linewidths=0.4, zorder=3
    )
    ax.add_collection(drawn, autolim=False)
    return drawn


def _top(body: Array) -> float:
    """The height that is seen, m: enough for a cheetah that rears."""
    return max(HIGH, float(body[..., 1].max()) + 0.1)


def _ground(ax: Axes, seen: tuple[float, float], top: float) -> None:
    """The floor, and as much of the world as is seen, in true proportions."""
    ax.axhspan(LOW, 0, color="#E6E6E6", zorder=1)
    ax.axhline(0, color="#666666", linewidth=1.0, zorder=2)
    ax.set(xlim=seen, ylim=(LOW, top), aspect="equal")
    ax.yaxis.set_major_locator(MultipleLocator(0.5))


def frames(body: Array, best: Best) -> tuple[Frame, ...]:
    """A picture (220, 480, 3) of every step of a body (n, 8, 2, 2);
    the camera follows the torso.
    """
    figure = Figure(figsize=(4.8, 2.2), dpi=100)
    canvas, top = FigureCanvasAgg(figure), _top(body)
    ax = figure.add_axes((0.09, 0.2, 0.89, 0.68))
    _ground(ax, (0, 1), top)
    ax.set_aspect("auto")
    ax.xaxis.set_major_locator(MultipleLocator(0.5))
    ax.tick_params(labelsize=7)
    ax.set_ylabel("height (m)", fontsize=7)
    ax.set_xlabel("x (m)", fontsize=7, labelpad=1)
    heading = ax.set_title("", fontsize=8, loc="left", fontfamily="monospace")
    drawn = _pose(ax, body[0])
    half = (top - LOW) / 2 * (4.8 * 0.89) / (2.2 * 0.68)  # true proportions
    shown = []
    verdict = "" if best.violation == 0 else ", NOT FEASIBLE"
    for step, pose in enumerate(body):
        drawn.set_verts(list(capsules(pose[ORDER])))
        ax.set_xlim(_centre(pose) - half, _centre(pose) + half)
        heading.set_text(
            f"{(FIRST + step) * STEP:.2f} s  {best.curve} seed {best.seed},"
            f" {best.quantity}{verdict}"
        )
        canvas.draw()
        shown.append(np.asarray(canvas.buffer_rgba())[..., :3].copy())
    return tuple(shown)
