"""A running robot steered by a linear policy: jing2026lcbo, App. C.3, on HalfCheetah-v4 of
Gymnasium (todorov2012mujoco).

The action is tanh(W z) with z the observation in units of its mean and spread under random actions,
W (6, 17) row by row in [-0.2, 0.2]. The mean forward velocity is maximised (m/s; the paper
minimises its negative) while the sum of squared actions over an episode stays below 1500: g =
sum/1500 - 1, the unit in which the authors' public code adds its noise. Both are means over
episodes with fixed seeds, so that a policy always gets the same value on one machine with one
version of MuJoCo; another version, or another way to round a tanh, gives others.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from algorithms.api import Array, Box
from problems.api import Display, Evaluation, Problem, constrained

if TYPE_CHECKING:
    from gymnasium import Env
    from gymnasium.envs.mujoco import MujocoEnv

ENVIRONMENT = "HalfCheetah-v4"
ACTIONS, OBSERVATIONS, BOUND = 6, 17, 0.2
HORIZON, ENERGY = 1000, 1500.0  # steps of 0.05 s, greatest sum of squared actions
# the greatest sum of squares of one action, charged for every step that an unstable episode lacks
WORST = 6.0
WARMUP, WARMUP_SEED = 2000, 42  # random steps that normalise the observations
SEED_STEP = 100  # between the seeds of episodes: 0, 100, 200, ...
CONSTANT = 1e-6  # an observation that varies less is not scaled

# observations (e, 17) of so many episodes -> actions (e, 6)
Policy = Callable[[Array], Array]
# actions (e, 6) -> observations (e, 17), velocities (e,) in m/s
Step = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Normalisation:
    """Mean and standard deviation (17,) of the observations under random actions."""

    mean: Array
    spread: Array

    def policy(self, W: Array) -> Policy:
        """The actions (..., 6) of the weights W (6, 17) at observations (..., 17)."""

        def policy(observation: Array) -> Array:
            z = (observation - self.mean) / self.spread
            # a product for each episode: one for all of them would round otherwise
            return np.tanh((W @ z[..., None])[..., 0])

        return policy


def linear_policy(instance: np.random.Generator, *, episodes: int, noise: float) -> Problem:
    """The fastest linear policy (d = 102) within a budget of energy, over `episodes` (the paper:
    5). `instance` is not used.

    One evaluation simulates 50 s an episode. The optimum is unknown.
    """
    if episodes < 1:
        raise ValueError(f"expected episodes >= 1, got {episodes}: correct it in papers/*.yaml")
    if not noise >= 0:
        raise ValueError(
            f"expected a standard deviation noise >= 0, got {noise}: correct it in papers/*.yaml"
        )
    env = make()
    normalisation = normalise(env)
    seeds = [SEED_STEP * i for i in range(episodes)]

    def value(x: Array) -> tuple[float, float]:
        runs = simulate(env, normalisation.policy(weights(x)), seeds, HORIZON)
        velocity, energy = np.mean(runs, axis=0)
        return float(velocity), float(energy) / ENERGY - 1

    def evaluate(query: NDArray[np.float64], rng: np.random.Generator) -> Evaluation:
        true = np.array([value(x) for x in query]).reshape(-1, 2)  # (q, 2)
        seen = true + noise * rng.standard_normal(true.shape)
        return Evaluation(constrained(seen), constrained(true), np.zeros(len(query)))

    return Problem(
        domain=Box(ACTIONS * OBSERVATIONS),
        evaluate=evaluate,
        best_kind="best-seen",
        display=Display("forward velocity", "m/s"),
    )


def make() -> Env:
    """The environment, without the notice that there is a later version:
    the paper names this one.
    """
    import gymnasium

    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=r".*HalfCheetah-v4 is out of date", category=DeprecationWarning
        )
        return gymnasium.make(ENVIRONMENT)


def normalise(env: Env) -> Normalisation:
    """The observations before each of 2000 random steps, the actions seeded.

    REFERENCE CODE: there the actions are not seeded, so that no two processes solve the same
    problem.
    """
    env.action_space.seed(WARMUP_SEED)
    observation, _ = env.reset(seed=WARMUP_SEED)
    seen = np.empty((WARMUP, OBSERVATIONS))
    for step in range(WARMUP):
        seen[step] = observation
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            observation, _ = env.reset()
    spread = seen.std(axis=0)
    return Normalisation(seen.mean(axis=0), np.where(spread < CONSTANT, 1.0, spread))


def weights(x: Array) -> Array:
    """The policy W (6, 17) of a query (102,)."""
    return (BOUND * (2 * x - 1)).reshape(ACTIONS, OBSERVATIONS)


def simulate(env: Env, policy: Policy, seeds: Sequence[int], horizon: int) -> Array:
    """Mean forward velocity in m/s and sum of squared actions over so many steps, (e, 2): a row for
    each seed of an episode.

    Gymnasium draws the first states; the steps are MuJoCo's alone, with the bits of `env.step`.
    """
    observations, step = stepping(cast("MujocoEnv", env.unwrapped), seeds)
    return drive(observations, step, policy, horizon)


def stepping(robot: MujocoEnv, seeds: Sequence[int]) -> tuple[Array, Step]:
    """First observations (e, 17), and what `step` of the environment does to observations and
    velocities, and no more. The observations of a step are overwritten by the next one.

    No wrappers, no reward, no forces of contacts after the step, which no observation holds.
    HalfCheetah itself never ends an episode, and the limit of its time is the horizon. Episodes
    advance together, so that NumPy is called once for all of them.
    """
    import mujoco

    model, substeps, seconds = copy.copy(robot.model), robot.frame_skip, robot.dt
    # the robot is one tree: its constraints need no search for islands, a tenth of a step's price
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    states = np.empty((len(seeds), 1 + OBSERVATIONS))  # positions, then velocities
    bodies = []  # the data of an episode, its control, position and velocity, and where they go
    for seed, state in zip(seeds, states, strict=True):
        robot.reset(seed=seed)
        data = copy.copy(robot.data)
        position, velocity = data.qpos, data.qvel  # views, which MuJoCo changes in place
        places = state[: len(position)], state[len(position) :]
        bodies.append((data, data.ctrl, position, velocity, *places))
        places[0][:], places[1][:] = position, velocity

    def step(actions: Array) -> tuple[Array, Array]:
        before = states[:, 0].copy()
        for action, (data, control, position, velocity, to_position, to_velocity) in zip(
            actions, bodies, strict=True
        ):
            control[:] = action
            mujoco.mj_step(model, data, nstep=substeps)
            to_position[:], to_velocity[:] = position, velocity
        return states[:, 1:], (states[:, 0] - before) / seconds

    return states[:, 1:], step


def drive(observations: Array, step: Step, policy: Policy, horizon: int) -> Array:
    """Mean velocity and sum of squared actions over so many steps, (e, 2), from first observations
    (e, 17).

    An episode stops where a number is not finite: a step that is lacking counts no velocity and the
    greatest energy.
    """
    distance, energy, steps = np.zeros((3, len(observations)))  # distance in units of one step
    going = np.ones(len(observations), dtype=bool)
    for _ in range(horizon):
        actions = policy(observations)
        observations, velocities = step(actions)
        going &= np.isfinite(velocities) & np.isfinite(observations).all(axis=1)
        if not going.all():  # what has stopped goes on from numbers that are finite
            if not going.any():
                break
            observations = np.where(going[:, None], observations, 0.0)
        np.add(distance, velocities, out=distance, where=going)
        np.add(energy, np.vecdot(actions, actions), out=energy, where=going)
        steps += going
    return np.column_stack([distance / horizon, energy + WORST * (horizon - steps)])


def skeleton(env: Env, policy: Policy, seed: int, horizon: int) -> Array:
    """Where the limbs are before each step, for a picture: (horizon, 8, 2, 2) limb, end, then x and
    height in m.

    The limbs are torso, head, thigh, shin and foot of the back leg, thigh, shin and foot of the
    front leg. A step leaves them where they were 10 ms, one substep of five, before its end.
    """
    simulator = cast("MujocoEnv", env.unwrapped)
    limbs = slice(1, None)  # the first geometry is the floor, the others are capsules
    half = simulator.model.geom_size[limbs, 1, None]  # (8, 1)
    observation, _ = env.reset(seed=seed)
    frames = np.empty((horizon, len(half), 2, 2))
    for step in range(horizon):
        centre = simulator.data.geom_xpos[limbs]  # (8, 3)
        along = half * simulator.data.geom_xmat[limbs].reshape(-1, 3, 3)[:, :, 2]  # (8, 3)
        frames[step] = np.stack([centre - along, centre + along], axis=1)[:, :, [0, 2]]
        observation = env.step(policy(observation))[0]
    return frames
