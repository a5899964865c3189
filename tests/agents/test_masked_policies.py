"""Learned policies where the pool changes: training with masks, and choosing under them."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env

import matchenv  # noqa: F401  (registers the environment)
from matchenv import MatchmakingEnv, MatchmakingVectorEnv, Settings, agents
from matchenv.agents.algorithms import ALGORITHMS
from matchenv.agents.cells import check_cells
from matchenv.agents.equivariant.network import EquivariantNetwork
from matchenv.agents.equivariant.state import state_of_observations
from matchenv.agents.learned_policy import LearnedPolicy
from matchenv.agents.policy_network import new_policy
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.benchmarks.compare import run_comparison

CHANGING: dict[str, Any] = {
    "num_opponents": 6, "horizon": 20, "availability": 0.5, "mean_stay": 4.0, "turnover": 0.05,
}  # fmt: skip


def some_masks(count: int, opponents: int, rng: np.random.Generator) -> Any:
    masks = rng.random((count, opponents)) < 0.4
    masks[np.arange(count), rng.integers(opponents, size=count)] = True
    return masks


def policy_of(algo: str, networks: Any, **options: Any) -> LearnedPolicy:
    settings = Settings.checked(**options)
    torch.manual_seed(0)
    policy = next(name for name in ALGORITHMS[algo].policies if name != "EquivariantPolicy")
    network = new_policy(ALGORITHMS[algo], policy, networks[algo], settings)
    if algo == "ars":
        for each in network.parameters():
            torch.nn.init.normal_(each)
    return LearnedPolicy(algo, network, settings.belief, settings)


@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize("belief", ["factorised", "full"])
def test_a_mask_takes_the_first_of_the_networks_own_order(algo, belief, networks):
    """Choosing, and taking the chosen one away, gives the order; any mask must agree with it."""
    policy = policy_of(algo, networks, num_opponents=6, horizon=20, belief=belief)
    plain = MatchmakingVectorEnv(8, num_opponents=6, horizon=20, belief=belief)
    observation, rows = plain.reset(seed=1)[0], np.arange(8)
    order, masks = [policy.predict(observation)[0]], np.ones((8, 6), dtype=bool)
    for _ in range(5):
        masks[rows, order[-1]] = False
        order.append(policy.predict(observation, action_masks=masks)[0])
    ranks = np.argsort(np.array(order), axis=0).T
    assert (np.arange(6) == np.sort(np.array(order), axis=0).T).all()
    for masks in some_masks(80, 6, np.random.default_rng(0)).reshape(10, 8, 6):
        expected = np.where(masks, ranks, 99).argmin(axis=1)
        actions, _ = policy.predict(observation, action_masks=masks)
        np.testing.assert_array_equal(actions, expected)
        ends = np.concatenate((observation, masks), axis=1).astype(np.float32)
        np.testing.assert_array_equal(policy.predict(ends)[0], expected)
        assert policy.predict(ends[3])[0] == expected[3]
        assert policy.predict(observation[3], action_masks=masks[3].astype(int))[0] == expected[3]
        drawn, _ = policy.predict(ends, deterministic=False)
        assert masks[rows, drawn].all()


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_policy_of_either_kind_of_pool_plays_the_other(algo, networks):
    for trained in (CHANGING, {"num_opponents": 6, "horizon": 20}):
        policy = policy_of(algo, networks, **trained)
        for options in (CHANGING, {"num_opponents": 6, "horizon": 20}):
            told = policy.for_settings(Settings.checked(**options))
            env = MatchmakingVectorEnv(3, **options)
            observation, _ = env.reset(seed=0)
            memory, start = None, np.ones(3, dtype=bool)
            for _ in range(5):
                actions, memory = told.predict(observation, memory, start)
                observation, *_ = env.step(actions)
                start[:] = False


def test_draws_have_the_networks_probabilities_made_to_add_up(networks):
    policy = policy_of("ppo", networks, num_opponents=6, horizon=20)
    row = MatchmakingEnv(num_opponents=6, horizon=20).reset(seed=0)[0]
    mask = np.array([True, False, True, True, False, False])
    many = np.tile(row, (20_000, 1))
    drawn, _ = policy.predict(many, deterministic=False, action_masks=np.tile(mask, (len(many), 1)))
    with torch.no_grad():
        tensor, _ = policy.network.obs_to_tensor(row)
        chances = policy.network.get_distribution(tensor).distribution.probs[0].numpy() * mask
    chances = chances / chances.sum()
    counts = np.bincount(drawn, minlength=6) / len(many)
    assert (np.abs(counts - chances) < 4.5 * np.sqrt(chances / len(many)) + 1e-12).all()


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        (np.zeros((2, 6)), "they allow none at index 0"),
        (np.ones((2, 5)), "action_masks must have shape"),
        (np.full((2, 6), np.nan), "action_masks must hold True and False"),
    ],
)
def test_bad_masks_are_named(masks, message, networks):
    observation = MatchmakingVectorEnv(2, num_opponents=6, horizon=20).reset(seed=0)[0]
    with pytest.raises(ValueError, match=message):
        policy_of("ppo", networks, num_opponents=6, horizon=20).predict(
            observation, action_masks=masks
        )
    full = MatchmakingVectorEnv(2, num_opponents=6, belief="full").reset(seed=0)[0]
    with pytest.raises(ValueError, match=message.replace("shape", "")):
        agents.load("equivariant").predict(full, action_masks=masks)


def test_the_adapter_gives_masks_as_the_library_asks_for_them():
    env = MatchmakingVecEnv(5, **CHANGING)
    env.seed(3)
    env.reset()
    assert is_masking_supported(env)
    for _ in range(45):
        masks = get_action_masks(env)
        np.testing.assert_array_equal(masks, env.matchmaking.action_masks())
        assert env.env_method("action_masks", indices=[2])[0].tolist() == masks[2].tolist()
        *_, ended, infos = env.step(masks.argmax(axis=1))
        if ended.any():
            assert infos[0]["terminal_observation"].shape == env.observation_space.shape


@pytest.mark.parametrize("policy", ["MlpPolicy", "EquivariantPolicy"])
def test_maskable_ppo_trains_on_a_pool_that_changes_and_is_compared_there(
    policy, tmp_path, small_config, networks
):
    belief = "full" if policy == "EquivariantPolicy" else "factorised"
    kwargs = {} if policy == "EquivariantPolicy" else networks["maskable_ppo"]
    config = small_config(
        "maskable_ppo",
        timesteps=512,
        env_kwargs={**CHANGING, "belief": belief},
        hyperparameters={
            "n_steps": 16, "batch_size": 64, "policy": policy, "policy_kwargs": kwargs
        },
    )  # fmt: skip
    agents.start_training(tmp_path / "run", config, quiet=True)
    comparison = config.comparison()
    assert comparison["env_kwargs"]["availability"] == 0.5
    found = run_comparison(
        [str(tmp_path / "run"), "random", "equivariant"], episodes=3, workers=1, quiet=True,
        **{**comparison, "ranks": ["top"]},
    )  # fmt: skip
    assert all(np.isfinite(each.true_draw_density.mean) for each in found.standings)


def test_algorithms_that_know_no_masks_are_refused_where_opponents_go_offline(small_config):
    with pytest.raises(ValueError, match=r"algo must be maskable_ppo .*got 'ppo'"):
        small_config("ppo", env_kwargs=CHANGING)
    small_config("ppo", env_kwargs={"num_opponents": 3, "horizon": 20, "turnover": 0.1})


def test_cloning_and_search_are_refused_where_the_pool_changes():
    for cell in ({}, {"availability": 0.5}):
        with pytest.raises(ValueError, match=r"availability"):
            check_cells([cell], {} if cell else CHANGING)


def test_the_equivariant_network_does_not_see_who_is_offline():
    """Scores and value equal those of a smaller pool, whose state numbers are the same."""
    torch.manual_seed(0)
    network = EquivariantNetwork()
    for each in network.parameters():
        torch.nn.init.normal_(each, std=0.3)
    env = MatchmakingVectorEnv(12, num_opponents=9, horizon=60, belief="full")
    env.reset(seed=2)
    rng = np.random.default_rng(1)
    for _ in range(20):
        observation, *_ = env.step(rng.integers(9, size=12))
    masks = some_masks(12, 9, rng)
    masks[0] = False
    masks[0, 4] = True
    read = state_of_observations(observation)
    opponents, state = torch.from_numpy(read.opponents), torch.from_numpy(read.state)
    online = torch.from_numpy(masks)
    with torch.no_grad():
        scores = network.scores(opponents, state, online)
        values = network.state_value(opponents, state, online)
        for row in range(12):
            alone = opponents[row : row + 1][:, :, online[row]]
            expected = network.scores(alone, state[row : row + 1])
            torch.testing.assert_close(scores[row, online[row]], expected[0], rtol=1e-4, atol=1e-6)
            torch.testing.assert_close(
                values[row], network.state_value(alone, state[row : row + 1])[0],
                rtol=1e-4, atol=1e-5,
            )  # fmt: skip


def test_the_shipped_policy_reads_the_mask_by_itself():
    policy = agents.load("equivariant")
    for opponents in (3, 6, 12, 49):
        env = MatchmakingVectorEnv(
            6, num_opponents=opponents, horizon=20, belief="full", availability=0.4
        )
        observation, _ = env.reset(seed=0)
        for _ in range(5):
            masks = env.action_masks()
            actions, _ = policy.predict(observation)
            given, _ = policy.predict(observation[:, :-opponents], action_masks=masks)
            np.testing.assert_array_equal(actions, given)
            logits = policy.logits(observation[:, :-opponents], masks)
            np.testing.assert_array_equal(actions, logits.argmax(axis=1))
            observation, *_ = env.step(actions)


def test_stable_baselines3s_check_finds_nothing():
    check_env(gym.make("Matchmaking-v0", **CHANGING), warn=True)
    check_env(gym.make("Matchmaking-v0", belief="full", **CHANGING), warn=True)
