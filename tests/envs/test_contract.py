"""The contract of all environments over a simulator, and errors for bad options and resets."""

import copy
import dataclasses
import inspect
import json
import math
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from refusals import refusals

from matchenv import NormalPrior
from matchenv.baselines import KnowledgeGradient
from matchenv.baselines.ranking import RandomPair
from matchenv.envs import ENVIRONMENTS, environment_named, simulator_of
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.core.settings import LARGEST_OBSERVED, as_fixed, option
from matchenv.envs.one_player.settings import REWARDS, MatchmakingOptions
from matchenv.envs.queue.population import Population
from matchenv.envs.queue.settings import QueueOptions
from matchenv.envs.ranking import RankingOptions
from matchenv.evaluation.rollout import rollout, sums
from matchenv.ranking import Ranker
from matchenv.runtime.checks import as_number

CHANGING = {"availability": 0.5, "mean_stay": 3.0, "turnover": 0.1}
ONE_PLAYER, QUEUE, RANKING = "Matchmaking-v0", "MatchmakingQueue-v0", "Ranking-v0"

# Settings of every environment, with all options that affect steps, an autoreset mode and a limit
# of steps.
NEXT, SAME = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP
SETTINGS: list[tuple[str, dict[str, Any], AutoresetMode, int | None]] = [
    (ONE_PLAYER, {"num_opponents": 5, "horizon": 6}, NEXT, None),
    (ONE_PLAYER, {"num_opponents": 1, "horizon": 1}, SAME, None),
    (ONE_PLAYER, {"num_opponents": 4, "horizon": 5, "belief": "full", "rank": "top"}, NEXT, 4),
    (ONE_PLAYER, {"num_opponents": 3, "horizon": 7, "tau": 0.2, "draw_margin": 0.5}, SAME, 4),
    (ONE_PLAYER, {"num_opponents": 5, "horizon": 6, "noise": "opponent", "prior": "equal"},
     NEXT, 4),
    (ONE_PLAYER, {"num_opponents": 4, "horizon": 8, "belief": "full", **CHANGING}, SAME, None),
    (ONE_PLAYER, {"num_opponents": 5, "horizon": 9, "max_games_per_opponent": 2, "tau": 0.2,
                  **CHANGING}, NEXT, None),
    (QUEUE, {"horizon": 1, "arrival_rate": 5.0, "capacity": 2, "newcomers": 1.0}, NEXT, None),
    (QUEUE, {"horizon": 4, "arrival_rate": 2.0, "patience": 2.0, "game_length": 1, "stay": 1.0},
     SAME, 4),
    (QUEUE, {"horizon": 6, "draw_margin": 0.5, "tau": 0.2, "reward": "true_match_quality"},
     NEXT, 4),
    (QUEUE, {"horizon": 5, "population": ([0.0, 3.0], [1.0, 2.0]), "abandonment_cost": 2.0,
             "capacity": 5}, SAME, None),
    (QUEUE, {"side_size": 2, "party_sizes": (0.7, 0.3), "party_bonus": 0.5, "arrival_rate": 6.0,
             "horizon": 5, "capacity": 6}, NEXT, 9),
    (QUEUE, {"num_sides": 3, "arrival_rate": (1.0, 5.0), "horizon": 6, "draw_margin": 0.5,
             "belief_knows_party": True, "game_length": 1}, SAME, 5),
    (RANKING, {"num_items": 5, "horizon": 6}, NEXT, 4),
    (RANKING, {"num_items": 2, "horizon": 1, "draw_margin": 0.5, "cost": 0.1, "goal": "best"},
     SAME, None),
    (RANKING, {"num_items": 4, "horizon": 5, "first_advantage": 0.7, "max_games_per_pair": 3},
     SAME, 4),
    (RANKING, {"num_items": 4, "horizon": 7, "goal": "top", "k": 2, "max_games_per_pair": 2,
               "barred_pairs": [(0, 3), (2, 1)], "beta": 0.3, "sigma": 2.0}, NEXT, None),
]  # fmt: skip
every_setting = pytest.mark.parametrize(
    ("env_id", "options"),
    [each[:2] for each in SETTINGS],
    ids=[f"{env_id}-{'-'.join(options)}" for env_id, options, *_ in SETTINGS],
)
# The last settings of each environment.
every_environment = pytest.mark.parametrize(
    ("env_id", "options"),
    {env_id: (env_id, options) for env_id, options, *_ in SETTINGS}.values(),
    ids=list(ENVIRONMENTS),
)


def settings_of(env_id: str, options: dict[str, Any]) -> Any:
    """Return the settings of an environment."""
    return environment_named(env_id).part("settings")(**options)


def some_actions(masks: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return random allowed actions, shape (B,), from masks of shape (B, A)."""
    return (rng.random(masks.shape) * masks).argmax(axis=-1)


def assert_same(found: dict[str, Any], expected: dict[str, Any], where: str) -> None:
    """Compare infos of vector environments where their masks are True."""
    assert set(found) == set(expected), where
    for name, value in expected.items():
        if name.startswith("_"):
            np.testing.assert_array_equal(found[name], value, err_msg=f"{where} {name}")
        elif isinstance(value, dict):
            assert_same(found[name], value, f"{where} {name}")
        else:
            for row in np.flatnonzero(expected[f"_{name}"]):
                one, other = np.asarray(found[name][row]), np.asarray(value[row])
                np.testing.assert_array_equal(one, other, err_msg=f"{where} {name}")
                assert one.dtype == other.dtype, f"{where} {name}"


@pytest.mark.parametrize(("env_id", "options", "mode", "most"), SETTINGS)
def test_the_native_vector_environment_is_gymnasiums_over_scalars(
    env_id: str, options: dict[str, Any], mode: AutoresetMode, most: int | None
) -> None:
    count = 3
    native = gym.make_vec(
        env_id, num_envs=count, autoreset_mode=mode, max_episode_steps=most, **options
    )
    reference = SyncVectorEnv(
        [lambda: gym.make(env_id, max_episode_steps=most, disable_env_checker=True, **options)]
        * count,
        autoreset_mode=mode,
    )
    found, infos = native.reset(seed=3)
    expected, expected_infos = reference.reset(seed=3)
    np.testing.assert_array_equal(found, expected)
    assert_same(infos, expected_infos, "reset")
    assert not np.any(infos.get("invalid_action", False))
    rng = np.random.default_rng(1)
    ends = 0
    for step in range(30):
        actions = rng.integers(native.single_action_space.n, size=count)
        result, expected_result = native.step(actions), reference.step(actions)
        np.testing.assert_equal(result[:4], expected_result[:4], err_msg=f"step {step}")
        assert_same(result[4], expected_result[4], f"step {step}")
        assert {name for name in result[4] if "final" not in name} == set(infos)
        ends += int((result[2] | result[3]).sum())
    assert ends >= 2 * count


@every_setting
def test_the_episodes_of_a_rollout_are_the_environment(
    env_id: str, options: dict[str, Any]
) -> None:
    """Compare observations, rewards and infos to the end of the episode.

    The environment has played before. The others are a copy of it, and one from a pickle.
    """
    seeds = [5, 6, 7]
    episodes = Episodes.of_seeds(simulator_of(settings_of(env_id, options)), seeds)
    made: Any = gym.make(env_id, **options).unwrapped
    assert made.spec.max_episode_steps is None, "a horizon is the environment's own"
    made.reset(seed=11)
    made.step(made.action_masks().argmax())
    envs = [made, copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    for env, seed in zip(envs, seeds, strict=True):
        env.reset(seed=seed)
    rng = np.random.default_rng(2)
    for _ in range(200):
        if not episodes.running.any():
            return
        masks = np.array([env.get_wrapper_attr("action_masks")() for env in envs])
        actions = some_actions(masks, rng)
        running = episodes.running.copy()
        step = episodes.step(actions, strict=True)
        infos = episodes.simulator.infos(episodes.state)
        for row in np.flatnonzero(running):
            observation, reward, terminated, truncated, info = envs[row].step(actions[row])
            observations = episodes.simulator.observe(episodes.state)
            np.testing.assert_array_equal(observations[row], observation)
            assert (step.reward[row], step.terminated[row]) == (reward, terminated)
            assert step.truncated[row] == truncated
            for name in infos:
                np.testing.assert_array_equal(infos[name][row], info[name], err_msg=name)
    pytest.fail("the episodes did not end")


@every_setting
def test_json_can_hold_the_info(env_id: str, options: dict[str, Any]) -> None:
    env = gym.make(env_id, **options).unwrapped
    _, info = env.reset(seed=0)
    for _ in range(2):
        arrays = {}
        numbers = {}
        for name, value in info.items():
            if isinstance(value, np.ndarray):
                arrays[name] = value
            else:
                numbers[name] = value
        assert json.loads(json.dumps(numbers)) == numbers
        restored = json.loads(json.dumps(info, default=np.ndarray.tolist))
        for name, array in arrays.items():
            np.testing.assert_equal(restored[name], array.tolist())
        allowed = np.flatnonzero(env.action_masks())
        _, _, terminated, truncated, info = env.step(allowed[0])
        if terminated or truncated:
            break


@every_environment
def test_the_text_of_an_environment_closes_its_brackets(
    env_id: str, options: dict[str, Any]
) -> None:
    text = str(gym.make(env_id, **options))
    depth = 0
    for character in text:
        depth += {"<": 1, ">": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    # Like Gymnasium's own, a name begins each bracket.
    names = [part.partition("(")[0].rstrip(">") for part in text.split("<")[1:]]
    assert names[0] == "OrderEnforcing"
    assert names[2] == type(gym.make(env_id, **options).unwrapped).__name__


@every_setting
def test_actions_can_be_strided_views(env_id: str, options: dict[str, Any]) -> None:
    simulator = simulator_of(settings_of(env_id, options))
    plain = Episodes.of_seeds(simulator, range(4))
    strided = Episodes.of_seeds(simulator, range(4))
    rng = np.random.default_rng(6)
    for _ in range(5):
        actions = some_actions(plain.masks(), rng)
        running = rng.random(4) < 0.7
        expected = simulator.step(plain.state, actions, running)
        step = simulator.step(strided.state, np.repeat(actions, 2)[::2], np.repeat(running, 2)[::2])
        np.testing.assert_equal((*step.state, *step[1:]), (*expected.state, *expected[1:]))
        plain.state = expected.state
        strided.state = step.state


ALLOWED = {
    ONE_PLAYER: "action must be an opponent who is online",
    QUEUE: r"action must be 0 to wait or one of \d+ candidates",
    RANKING: r"action must be one of the \d+ allowed actions",
}


@every_setting
def test_forbidden_actions_are_replaced_or_refused(env_id: str, options: dict[str, Any]) -> None:
    """The replacement is the opponent with the nearest mean, or else the first allowed action."""
    native = gym.make_vec(env_id, num_envs=2, **options).unwrapped
    if "invalid_action" not in native.reset(seed=0)[1]:
        assert native.action_masks().all()
        return
    for seed in range(100):
        native.reset(seed=seed)
        masks = native.action_masks()
        if not masks.all(axis=1).any():
            break
    else:
        return
    actions = masks.argmin(axis=1)
    expected = np.zeros(2, dtype=np.int64)
    twin = copy.deepcopy(native)
    strict = gym.make_vec(env_id, num_envs=2, invalid_action="error", **options).unwrapped
    strict.reset(seed=seed)
    with pytest.raises(ValueError, match=rf"{ALLOWED[env_id]}.*, got {actions[0]} at index 0"):
        strict.step(actions)
    if env_id == ONE_PLAYER:
        for row, action in enumerate(actions):
            mu = native.knowledge_state.mu[row, 1:]
            gap, places = np.abs(mu - mu[action]), np.flatnonzero(masks[row])
            expected[row] = places[gap[places].argmin()]
    found, wanted = native.step(actions), twin.step(expected)
    np.testing.assert_equal(found[:4], wanted[:4])
    assert found[4]["invalid_action"].all()
    assert not wanted[4]["invalid_action"].any()
    wanted[4]["invalid_action"][:] = True
    assert_same(found[4], wanted[4], "infos")


class Peeking:
    """A policy that reads the true skills without saying so."""

    def act(self, view: Any, rng: Any) -> Any:
        return view.true_skill


class Declared(Peeking):
    """The same policy, which says so."""

    needs_truth = True

    def act(self, view: Any, rng: Any) -> Any:
        assert np.isfinite(view.true_skill).all()
        return view.action_mask.argmax(axis=1)


@every_environment
def test_true_skills_reach_only_policies_that_declare_it(
    env_id: str, options: dict[str, Any]
) -> None:
    settings = settings_of(env_id, options)
    with pytest.raises(AttributeError, match="needs_truth"):
        rollout(Peeking(), settings, [1, 2])
    rewards = rollout(Declared(), settings, [1, 2], summary=sums)["reward"]
    assert np.isfinite(rewards).all()


@every_environment
def test_views_are_read_only_and_hold_the_masks(env_id: str, options: dict[str, Any]) -> None:
    episodes = Episodes.of_seeds(simulator_of(settings_of(env_id, options)), range(3))
    for truth in (False, True):
        view = episodes.view(truth=truth)
        np.testing.assert_array_equal(view.action_mask, episodes.masks())
        arrays = [value for value in vars(view).values() if isinstance(value, np.ndarray)]
        if env_id == ONE_PLAYER:
            arrays += [view.knowledge_state.mu, view.knowledge_state.sigma]
        assert len(arrays) >= 3
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_a_subclass_can_have_more_options(env_id: str) -> None:
    """The scalar and the vector environment of a subclass play with its settings."""
    environment = environment_named(env_id)
    settings_type = environment.part("settings")

    @dataclasses.dataclass(frozen=True)
    class MySettings(settings_type):
        bonus: float = option(0.5, as_number, "added to nothing")

    class MyEnv(environment.part("env"), settings=MySettings):
        """An environment with one more option."""

    class MyVectorEnv(environment.part("vector_env"), settings=MySettings):
        """Copies of it."""

    assert "bonus" in inspect.signature(MyEnv).parameters
    env = MyEnv(bonus=0.25)
    vector_env = MyVectorEnv(num_envs=2, bonus=0.25)
    assert env.settings.bonus == vector_env.settings.bonus == 0.25
    usual = gym.make(env_id)
    np.testing.assert_array_equal(env.reset(seed=3)[0], usual.reset(seed=3)[0])
    observations, _ = vector_env.reset(seed=3)
    np.testing.assert_array_equal(observations[0], usual.reset(seed=3)[0])
    action = int(env.action_masks().argmax())
    np.testing.assert_array_equal(env.step(action)[0], usual.step(action)[0])
    assert np.isfinite(vector_env.step(vector_env.action_masks().argmax(axis=1))[1]).all()
    with pytest.raises(ValueError, match="bonus"):
        MyEnv(bonus=math.nan)


@pytest.mark.parametrize(
    ("options_type", "env_id"),
    [(MatchmakingOptions, ONE_PLAYER), (QueueOptions, QUEUE), (RankingOptions, RANKING)],
)
def test_typed_options_are_the_settings(options_type: Any, env_id: str) -> None:
    """The ``TypedDict`` for type checkers has the names and types of the fields."""
    settings_type = environment_named(env_id).part("settings")
    declared = {field.name: field.type for field in dataclasses.fields(settings_type)}
    assert {name: hint.__forward_arg__ for name, hint in options_type.__annotations__.items()} == (
        declared
    )


@every_environment
def test_bad_actions_change_nothing(env_id: str, options: dict[str, Any]) -> None:
    env = gym.make(env_id, **options).unwrapped
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=1)
    before = env.get_wrapper_attr("action_masks")().copy()
    for bad in (-1, before.size, 0.5, None, "0", np.nan, True, [0, 1]):
        with pytest.raises(ValueError, match="action must be an integer in"):
            env.step(bad)
    other = gym.make(env_id, **options).unwrapped
    other.reset(seed=1)
    action = np.flatnonzero(before)[0]
    np.testing.assert_array_equal(env.step(action)[0], other.step(action)[0])
    native, twin = (gym.make_vec(env_id, num_envs=3, **options) for _ in range(2))
    for each in (native, twin):
        each.reset(seed=1)
    most = before.size - 1
    for bad_actions, said in (
        ([0, 1], r"shape \(3,\)"), ([0, -1, 1], "got -1 at index 1"),
        ([0, most + 1, 0], rf"must be in \[0, {most}\], got {most + 1} at index 1"),
        *((bad, "must be integers") for bad in ([0.0, 1.0, 0.0], None, [True, False, True])),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            native.step(bad_actions)
    np.testing.assert_equal(native.step([action] * 3), twin.step([action] * 3))


@pytest.mark.parametrize("seed", [5, [0, 6, 7], [5, None, 7], None])
@every_environment
def test_masked_resets_are_gymnasiums(env_id: str, options: dict[str, Any], seed: Any) -> None:
    """Other environments and their generators, which the next episodes use, are unchanged."""
    options = {**options, "max_episode_steps": 1}
    ours = gym.make_vec(env_id, num_envs=3, autoreset_mode="Disabled", **options)
    theirs = SyncVectorEnv(
        [lambda: gym.make(env_id, **options)] * 3, autoreset_mode=AutoresetMode.DISABLED
    )
    mask, found = np.array([True, False, True]), []
    theirs.reset(seed=1)
    ours.reset(seed=1)
    actions = ours.unwrapped.action_masks().argmax(axis=1)
    for env in (ours, theirs):
        _, _, terminated, truncated, _ = env.step(actions)
        assert (terminated | truncated).all()
        env.reset(options={"reset_mask": mask.copy()})  # of episodes that ended, then of others
        found.append(env.reset(seed=seed, options={"reset_mask": mask.copy()}))
    with pytest.raises(ResetNeeded, match=r"environments \[1\]"):
        ours.step(actions)
    (observations, infos), (expected, expected_infos) = found
    np.testing.assert_array_equal(observations, expected)
    assert_same(infos, expected_infos, "masked reset")
    assert not any(np.any(infos[n][~mask]) for n in infos if not n.startswith("_"))
    np.testing.assert_array_equal(ours.reset()[0], theirs.reset()[0])
    for bad in (np.zeros(3, bool), np.ones(2, bool), [1, 0, 0], [[1], [1, 2]]):
        with pytest.raises(ValueError, match="reset_mask"):
            ours.reset(options={"reset_mask": bad})


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_reset_options_can_have_a_row_for_each_environment(env_id: str) -> None:
    size = {ONE_PLAYER: 4, QUEUE: 3}.get(env_id, 20)
    options = {ONE_PLAYER: {"num_opponents": 3}, QUEUE: {"capacity": 5}}.get(env_id, {})
    rows = np.random.default_rng(0).normal(size=(3, size))
    given = {"true_skill": rows}
    if env_id in (ONE_PLAYER, QUEUE):
        given |= {"mu": -rows, "sigma": np.exp(rows[0])}
    native = gym.make_vec(env_id, num_envs=3, **options)
    observations, _ = native.reset(seed=5, options=given)
    given = {name: np.broadcast_to(each, rows.shape) for name, each in given.items()}
    actions = native.unwrapped.action_masks().argmax(axis=1)
    after = native.step(actions)[0]
    for i in range(3):
        env = gym.make(env_id, **options)
        first, _ = env.reset(seed=5 + i, options={name: each[i] for name, each in given.items()})
        np.testing.assert_array_equal(observations[i], first)
        np.testing.assert_array_equal(after[i], env.step(actions[i])[0])
    for bad in ({"true_skill": rows[:2]}, {"strength": rows}, 3):
        with pytest.raises(ValueError, match="options"):
            native.reset(options=bad)


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_bad_arguments_seeds_and_options_raise(env_id: str) -> None:
    make = environment_named(env_id).part("vector_env")
    for name, value in (
        ("num_envs", 0), ("autoreset_mode", "sometimes"), ("max_episode_steps", 0), ("copy", 1),
        ("render_mode", "film"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=name):
            make(**{"num_envs": 2, name: value})
    native = make(2)
    for seed in (-1, 0.5, "one", [1, 2, 3], [-1, 2]):
        with pytest.raises(ValueError, match="seed"):
            native.reset(seed=seed)
    kind = environment_named(env_id).part("settings")
    names = [each.name for each in dataclasses.fields(kind) if "int" in str(each.type).split(" ")]
    assert len(names) >= 3
    for name in names:
        with pytest.raises(ValueError, match=f"{name} must be"):
            kind.checked(**{name: 10**30})
    for make in (gym.make, gym.make_vec):
        with pytest.raises(TypeError, match=r"options must be .*horizon.*, got 'horizn'; perhaps"):
            make(env_id, horizn=5)


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_options_are_in_the_signature_and_the_docstring(env_id: str) -> None:
    for part in ("env", "vector_env"):
        made = environment_named(env_id).part(part)
        settings_type = environment_named(env_id).part("settings")
        names = [field.name for field in dataclasses.fields(settings_type)]
        assert set(names) <= set(inspect.signature(made).parameters)
    page = environment_named(env_id).part("env").__doc__
    assert all(f"| `{name}` |" in page for name in names)
    # Some libraries, for example skrl, inspect the bases of the class.
    assert gym.vector.VectorEnv in environment_named(env_id).part("vector_env").__bases__


@pytest.mark.parametrize("prior", ["matchenv:NormalPrior:mean=25,deviation=8.3", NormalPrior(2.0)])
def test_specifications_survive_json(prior: Any) -> None:
    for make in (gym.make, gym.make_vec):
        env = make(ONE_PLAYER, prior=prior, reward=REWARDS["match_quality"], horizon=9)
        again = make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
        np.testing.assert_array_equal(env.reset(seed=1)[0], again.reset(seed=1)[0])
        assert str(again.unwrapped.settings.reward) == "match_quality"


@every_environment
def test_returned_arrays_are_the_callers_own(env_id: str, options: dict[str, Any]) -> None:
    """Later steps change views alone, and writing to copies or to infos does not change games."""
    env, untouched, views = (
        gym.make_vec(env_id, num_envs=3, copy=copied, **options).unwrapped
        for copied in (True, True, False)
    )
    returned, expected, shown = env.reset(seed=0), untouched.reset(seed=0), views.reset(seed=0)[0]
    for _ in range(25):
        np.testing.assert_equal(returned, expected)
        np.testing.assert_array_equal(shown, expected[0])
        for array in returned[:-1]:
            array[...] = 1
        for array in returned[-1].values():
            array[...] = 0
        kept, actions = copy.deepcopy(returned), untouched.action_masks().argmax(axis=1)
        following, expected = env.step(actions), untouched.step(actions)
        assert views.step(actions)[0] is shown
        np.testing.assert_equal(returned, kept)
        returned = following
    np.testing.assert_equal(env.reset(seed=5), untouched.reset(seed=5))


@dataclasses.dataclass(eq=False)
class Rows(Population):
    """A population with given rows."""

    rows: Any = ((0.0, 1.0, 1.0),)


@dataclasses.dataclass
class Unhashable(Rows):
    """The same with a comparison, and so without a hash."""


# Bad options with their messages.
OPTIONS: dict[str, list[tuple[dict[str, Any], str]]] = {
    ONE_PLAYER: [
        ({"num_opponents": 0}, r"num_opponents must be an integer in \[1, 1000000\], got 0"),
        ({"horizon": 0}, r"horizon must be an integer in \[1, 1000000000\], got 0"),
        ({"beta": 0.0}, "beta must be positive"),
        ({"prior": "flat"}, "prior must be one of 'informative', 'equal' or a matchenv.Prior, .*"),
        ({"reward": "fun"}, "reward must be one of 'draw_density'.*got 'fun'"),
        ({"rank": "best"}, "rank must be None or 'any', 'top', 'middle', 'bottom' or an int"),
        ({"rank": 50}, r"rank must be .* \[0, 49\], got 50"),
        ({"rank_by": "fame"}, "rank_by must be one of"),
        ({"equal_variance": "none"}, "equal_variance must be one of"),
        ({"draw_margin": -1.0}, "draw_margin must not be negative"),
        ({"tau": math.inf}, "tau must be finite"), ({"tau": 1e38}, "tau must be at most 1e"),
        ({"belief": "partial"}, "belief must be one of 'factorised', 'full'"),
        ({"belief": "full", "tau": 0.1}, "tau must be 0 with belief='full'"),
        ({"availability": 0.0}, r"availability must be in \(0, 1\], got 0"),
        ({"availability": 1.5}, r"availability must be in \(0, 1\], got 1.5"),
        ({"turnover": 1.1}, r"turnover must be in \[0, 1\], got 1.1"),
        ({"mean_stay": 0.5}, "mean_stay must be at least 1, got 0.5"),
        ({"availability": 0.1, "mean_stay": 4.0}, "mean_stay must be at least 5 with availability"),
        ({"availability": 0.9, "mean_stay": 4.0}, "mean_stay must be at least 5 with availability"),
        ({"num_opponents": 4, "horizon": 13, "max_games_per_opponent": 3}, "at least the horizon"),
        ({"max_games_per_opponent": 0}, "max_games_per_opponent must be an integer"),
    ],
    QUEUE: [
        ({name: value}, name)
        for name, value in [
            ("arrival_rate", -0.1), ("arrival_rate", 1e9), ("newcomers", 1.1), ("newcomers", -0.1),
            ("game_length", 0),
            ("stay", 1.5), ("game_length", 1.5), ("capacity", 1), ("capacity", True),
            ("waiting_cost", -1),
            ("abandonment_cost", math.nan), ("horizon", 0), ("beta", 0.0), ("draw_margin", -1.0),
            ("tau", math.inf), ("reward", "draw_density"), ("population", 3),
            ("population", ([0.0], [0.0])), ("population", ([0.0, 1.0], [1.0])),
            ("population", ([], [])), ("population", "no such file.csv"),
            ("population", ([1e40], [1.0])), ("population", Rows([[0.0, -1.0, 1.0]])),
            ("population", Rows([[0.0, 1.0, 0.0]])), ("population", Rows([[math.nan, 1.0, 1.0]])),
            ("population", Rows([0.0, 1.0, 1.0])), ("population", Unhashable()),
        ]
    ] + [
        ({"patience": value}, r"patience must be inf or a number from 1 to 1e\+150, got")
        for value in (0.5, math.nan, -math.inf, "nan")
    ],
    RANKING: [
        ({"num_items": 1}, "num_items"),
        ({"k": 20}, "k must be below num_items=20"),
        ({"k": 2, "goal": "best"}, "k must be 1 with goal='best'"),
        ({"goal": "worst"}, "goal must be one of"),
        ({"cost": -1.0}, "cost must not be negative"),
        ({"sigma": 0.0}, "sigma must be at least 1e-30"),
        ({"sigma": 2e6, "beta": 1.9}, "sigma must be at most 1,000,000 times beta=1.9, got"),
        ({"first_advantage": -0.1}, "first_advantage must not be negative"),
        ({"first_advantage": 2e6}, "first_advantage must be at most 1,000,000 times beta=1, got"),
        ({"barred_pairs": [(0, 0)]}, "barred_pairs must hold pairs of different items"),
        ({"barred_pairs": [(0, 20)]}, "barred_pairs must hold items below num_items=20"),
        ({"barred_pairs": [(0, -1)]}, "barred_pairs must hold pairs of different items"),
        ({"barred_pairs": "ab"}, "barred_pairs must hold pairs of different items"),
        ({"barred_pairs": 3}, "barred_pairs must hold pairs of different items"),
        ({"num_items": 2, "barred_pairs": [(1, 0)]}, "they leave 400 of each of 0 pairs"),
        ({"num_items": 2, "max_games_per_pair": 3}, "they leave 3 of each of 1 pairs"),
        ({"skills": np.zeros(19)}, "skills must be at least num_items=20, got 19"),
        ({"skills": [[0.0] * 20]}, r"skills must be numbers, shape \(K,\), got shape"),
        ({"skills": [math.nan] * 20}, "skills must be finite"),
        ({"skills": "no such file.csv"}, "skills must be a readable file"),
    ],
}  # fmt: skip
# Bad options of a reset, for four opponents or 20 items.
RESETS: dict[str, list[tuple[Any, str]]] = {
    ONE_PLAYER: [
        ({"mu": np.zeros(4)}, r"options\['mu'\] must have shape \(5,\), got \(4,\)"),
        ({"sigma": np.zeros(5)}, r"options\['sigma'\] must be positive"),
        ({"true_skill": [0, 0, np.nan, 0, 0]}, r"options\['true_skill'\] must be finite.*index 2"),
        ({"mu": np.full(5, 1e31)}, r"options\['mu'\] must be at most"),
        ({"skill": np.zeros(5)}, "options can hold 'mu', 'sigma', 'true_skill', got 'skill'"),
        ("mu", "options must be a dict"),
    ],
    QUEUE: [
        ({"means": [0.0]}, "options can hold"),
        ("mu", "options must be"),
        ({"mu": [0.0]}, "'sigma'"),
        ({"sigma": [1.0]}, "'mu'"),
        ({"true_skill": [1.0]}, "'mu'"),
        ({"noise": [math.inf]}, "noise.*finite"),
        ({"noise": 1.0}, "noise.*shape"),
        ({"mu": [0.0, math.nan], "sigma": [1.0, 1.0]}, "mu.*finite"),
        ({"mu": [0.0, 1.0], "sigma": [1.0, 0.0]}, "sigma.*positive"),
        ({"mu": [0.0, 1.0], "sigma": [1.0]}, "sigma.*shape"),
        ({"mu": 0.0, "sigma": 1.0}, "mu.*shape"),
        ({"mu": [[0.0]], "sigma": [[1.0]]}, "shape"),
    ],
    RANKING: [({"true_skill": [1.0]}, r"true_skill.*shape \(20,\)"), ({"mu": 0.0}, "can hold")],
}


test_bad_options_raise = refusals(
    *((env_id, *case) for env_id in OPTIONS for case in OPTIONS[env_id]),
    call=lambda env_id, options: environment_named(env_id).part("settings").checked(**options),
)


@pytest.mark.parametrize(
    "value",
    [pd.Series([1.0, 2.0]), np.ones((3, 4, 5)), np.array(["order", "top"]), np.array(-1.0),
     "x" * 100_000, "a:B:" + "x" * 100_000, [[1], [1, 2]], 10**400, -1,
     torch.ones(2, requires_grad=True)],
    ids=lambda value: f"{value!r:.20}",
)  # fmt: skip
@pytest.mark.parametrize(
    "make",
    [environment.part("env") for environment in ENVIRONMENTS.values()]
    + [environment.part("vector_env") for environment in ENVIRONMENTS.values()]
    + [Ranker, RandomPair, KnowledgeGradient],
)
def test_any_value_is_accepted_or_named_in_one_line(make: Any, value: Any) -> None:
    required = {"items": ["a", "b"]} if make is Ranker else {}
    for name in inspect.signature(make).parameters:
        message = name
        try:
            make(**{**required, name: value})
        except ValueError as error:
            message = str(error)
        assert name.removesuffix("s") in message
        assert "\n" not in message
        assert len(message) < 500 or "must be a readable file" in message  # paths are not cut


@pytest.mark.parametrize("env_id", RESETS)
def test_bad_resets_change_nothing(env_id: str) -> None:
    size = {"num_opponents": 4} if env_id == ONE_PLAYER else {}
    env, untouched = (gym.make(env_id, **size) for _ in range(2))
    (_, info), _ = env.reset(seed=1), untouched.reset(seed=1)
    for options, message in RESETS[env_id]:
        with pytest.raises(ValueError, match=message):
            env.reset(seed=2, options=options)
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=-1)
    action = np.argmax(info.get("action_mask", [1]))
    np.testing.assert_array_equal(env.step(action)[0], untouched.step(action)[0])
    np.testing.assert_array_equal(env.reset()[0], untouched.reset()[0])


def test_parts_of_unknown_environments_are_refused() -> None:
    with pytest.raises(ValueError, match="env must be one of"):
        environment_named("Chess-v0")


def test_the_largest_and_smallest_numbers_of_a_reset_are_accepted() -> None:
    for name, value in (("mu", LARGEST_OBSERVED), ("sigma", 1.0 / LARGEST_OBSERVED)):
        assert as_fixed(name, [value], [(1,)]).tolist() == [value]
