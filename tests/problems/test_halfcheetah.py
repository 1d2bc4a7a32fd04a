"""The running robot: rewards taken apart, the bits of Gymnasium, the same bits again, episodes that
end early.

Trajectories are compared with others of the same process or machine only: contacts are chaotic, and
another CPU may round otherwise.
"""

import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from problems import halfcheetah, load
from tests import programs
from tests.problems.asked import rng

pytest.importorskip("mujoco", reason="needs gymnasium, mujoco and imageio")

ROOT = Path(__file__).resolve().parents[2]


def problem(**changes):
    return load("halfcheetah.linear_policy")(rng(), **{"episodes": 1, "noise": 0.1, **changes})


@pytest.fixture(scope="module")
def env():
    return halfcheetah.make()


@pytest.fixture(scope="module")
def normalisation(env):
    return halfcheetah.normalise(env)


@pytest.fixture(scope="module")
def alone():
    """One episode an evaluation, without noise."""
    return problem(noise=0.0)


def moving(seed=3):
    return (rng(seed).random(102) < 0.5).astype(float)


# the simulation


@pytest.mark.parametrize("seed", [0, 2**31])
@pytest.mark.parametrize("spread", [0.1, 1.0])
def test_steps_without_wrappers_have_the_bits_of_gymnasium(env, normalisation, seed, spread):
    """Observations, velocities and what an episode adds up to, from policies that hardly move to
    those that do so most; the wrapped environment keeps a state of its own.
    """
    x = 0.5 + spread * (rng(seed + int(10 * spread)).random(102) - 0.5)
    W = halfcheetah.weights(x)
    policy, whole = normalisation.policy(W), halfcheetah.make()
    wrapped = whole.reset(seed=seed)[0]
    # the second episode does not disturb the first
    direct, step = halfcheetah.stepping(env.unwrapped, [seed, 1])
    distance, energy = 0.0, 0.0
    for _ in range(1000):
        assert_array_equal(direct[0], wrapped)
        action = np.tanh(W @ ((wrapped - normalisation.mean) / normalisation.spread))
        wrapped, reward, terminated, _, info = whole.step(action)
        direct, velocity = step(policy(direct))
        assert velocity[0] == info["x_velocity"] and not terminated
        assert reward == velocity[0] - 0.1 * np.sum(np.square(action))
        distance += float(info["x_velocity"])
        energy += float(action @ action)
    found = halfcheetah.simulate(env, policy, [1, seed], 1000)[1]
    assert_array_equal(found, [distance / 1000, energy])


def test_random_actions_are_normalised(env, normalisation):
    """Other random actions have about mean 0 and spread 1; the same ones come out at any time."""
    again = halfcheetah.normalise(env)
    assert_array_equal([again.mean, again.spread], [normalisation.mean, normalisation.spread])
    env.action_space.seed(1)
    seen = [env.reset(seed=1)[0]]
    for _ in range(900):
        seen.append(env.step(env.action_space.sample())[0])
    z = (np.array(seen) - normalisation.mean) / normalisation.spread
    assert np.abs(z.mean(axis=0)).max() < 0.6
    assert z[:, 8:].std(axis=0).min() > 0.6 and z[:, 8:].std(axis=0).max() < 1.5
    assert normalisation.spread[8:].min() > 0.5 and normalisation.spread[8:].max() < 9  # rad/s, m/s


def test_a_query_is_a_matrix_row_by_row():
    x = np.full(102, 0.5)
    x[[0, 16, 17, 101]] = 0.0, 1.0, 0.75, 0.25
    W = np.zeros((6, 17))
    W[0, 0], W[0, 16], W[1, 0], W[5, 16] = -0.2, 0.2, 0.1, -0.1
    assert_allclose(halfcheetah.weights(x), W, atol=1e-15)


# the problem


def test_it_is_the_mean_over_episodes_with_fixed_seeds(env, normalisation):
    x = rng(5).random((2, 102))
    true = problem(episodes=2).evaluate(x, rng()).true
    for i in range(2):
        policy = normalisation.policy(halfcheetah.weights(x[i]))
        runs = halfcheetah.simulate(env, policy, [0, 100], 1000)
        assert true.y[i] == runs[:, 0].mean()
        assert_allclose(true.g[i], [runs[:, 1].mean() / 1500 - 1], rtol=0, atol=1e-15)


def test_a_policy_that_does_nothing_spends_nothing(alone):
    true = alone.evaluate(np.full((1, 102), 0.5), rng()).true
    assert_array_equal(true.g, [[-1.0]])
    assert abs(true.y[0]) < 0.05


def test_another_process_finds_the_same_bits(alone):
    """The actions behind the normalisation included."""
    code = (
        "from tests.problems import test_halfcheetah as t\n"
        "found = t.halfcheetah.linear_policy(t.rng(1), episodes=1, noise=0.0)\n"
        "true = found.evaluate(t.moving()[None], t.rng()).true\n"
        "print(true.y[0].hex(), true.g[0, 0].hex())"
    )
    done = programs.python("-c", code, cwd=ROOT, check=True)
    true = alone.evaluate(moving()[None], rng()).true
    assert done.stdout.split() == [true.y[0].hex(), true.g[0, 0].hex()]
    assert done.stderr == ""


def test_noise_is_in_both_and_only_in_what_is_seen():
    found, x = problem(noise=0.25), np.repeat(moving()[None], 5, axis=0)
    evaluation = found.evaluate(x, rng(8))
    seen, true = evaluation.seen, evaluation.true
    noise = np.column_stack([seen.y - true.y, seen.g - true.g])
    assert_allclose(noise, 0.25 * rng(8).standard_normal((5, 2)), atol=1e-12)
    assert len(set(true.y)) == 1
    assert seen.g.shape == (5, 1) and seen.factor_values.shape == (5, 0)
    assert_array_equal(evaluation.seconds, np.zeros(5))


def test_the_problem_says_what_it_is(alone):
    assert (alone.domain.d, alone.best, alone.best_kind) == (102, None, "best-seen")
    display = alone.display
    assert (alone.data, display.label, display.unit) == ("none", "forward velocity", "m/s")
    assert display.sign == 1


# episodes that end early


def ends(at, observation=0.0, velocity=1.0):
    """A step of velocity 1 m/s that gives other numbers when it is taken for the `at`-th time."""
    taken = 0

    def step(actions):
        nonlocal taken
        taken += 1
        seen, speed = (observation, velocity) if taken == at else (0.0, 1.0)
        return np.full((1, 17), seen), np.array([speed])

    return step


@pytest.mark.parametrize(
    ("step", "velocity", "energy"),
    [  # ten steps of energy 6/4; each one that is lacking costs 6
        (ends(11, velocity=np.nan), 1.0, 15.0),
        (ends(4, observation=np.nan), 0.3, 3 * 1.5 + 7 * 6),
        (ends(1, velocity=np.inf), 0.0, 60.0),
        (ends(10, velocity=np.nan), 0.9, 9 * 1.5 + 6),
    ],
)
def test_steps_that_are_lacking_cost_the_worst(step, velocity, energy):
    found = halfcheetah.drive(np.zeros((1, 17)), step, lambda at: np.full((len(at), 6), 0.5), 10)
    assert_allclose(found, [[velocity, energy]], rtol=1e-14)


def test_one_number_of_an_observation_that_is_not_finite_ends_its_episode_alone():
    """The others go on, and no policy sees the number."""
    bad = np.zeros((2, 17))
    bad[0, 16] = -np.inf
    states = iter([np.zeros((2, 17)), bad, np.zeros((2, 17)), np.zeros((2, 17))])

    def policy(observations):
        assert np.isfinite(observations).all()
        return np.zeros((2, 6))

    def step(actions):
        return next(states), np.full(2, 2.0)

    found = halfcheetah.drive(np.zeros((2, 17)), step, policy, 4)
    assert_array_equal(found, [[0.5, 3 * 6.0], [2.0, 0.0]])


def test_the_worst_is_what_the_actions_can_reach(env):
    assert np.sum(env.action_space.high**2) == halfcheetah.WORST


# pictures


def test_the_skeleton_holds_together(env, normalisation):
    policy = normalisation.policy(halfcheetah.weights(moving()))
    frames = halfcheetah.skeleton(env, policy, 0, 200)
    assert frames.shape == (200, 8, 2, 2)
    lengths = np.linalg.norm(frames[:, :, 1] - frames[:, :, 0], axis=-1)
    limbs = [1.0, 0.3, 0.29, 0.3, 0.188, 0.266, 0.212, 0.14]
    assert_allclose(lengths, np.tile(limbs, (200, 1)), rtol=1e-9)
    # an end of each is at an end of the one above
    for limb, above in ((2, 0), (3, 2), (4, 3), (5, 0), (6, 5), (7, 6)):
        gaps = np.linalg.norm(frames[:, limb, :, None] - frames[:, above, None], axis=-1)
        assert gaps.min(axis=(1, 2)).max() < 0.12
    start = env.reset(seed=0)[0]
    place = [env.unwrapped.data.qpos[0], 0.7 + start[0]]
    assert_allclose(frames[0, 0].mean(axis=0), place, atol=1e-12)
    travelled = halfcheetah.simulate(env, policy, [0], 199)[0, 0] * 199 * 0.05
    # 10 ms at some m/s
    assert_allclose(frames[199, 0, :, 0].mean() - frames[0, 0, :, 0].mean(), travelled, atol=0.02)


# the border


def test_the_notice_of_a_later_version_is_silent_and_others_are_not():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        halfcheetah.make()
        warnings.warn("still heard", DeprecationWarning, stacklevel=1)
    assert [str(warning.message) for warning in caught] == ["still heard"]
