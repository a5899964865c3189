"""A training in the queue: it learns from relative rewards, goes on, and its policy plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from matchenv import MatchmakingQueueVectorEnv, agents
from matchenv.agents.callbacks import Progress
from matchenv.agents.queue.network import QueueConstants, QueueNumbers
from matchenv.agents.queue.vec_env import MatchmakingQueueVecEnv
from matchenv.agents.queue_policies import queue_policy_named
from matchenv.agents.run_config import RunConfig, configured
from matchenv.agents.tasks import QUEUE
from matchenv.benchmarks.compare.trained import QUEUE_RIVALS, compare_run
from matchenv.commands import run_command
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.queue_rollout import queue_rollout
from matchenv.settings import Settings

RATES = [0.5, 2.0]
ENV = {"arrival_rate": RATES, "horizon": 30, "capacity": 6}


def small_config(**changes: Any) -> RunConfig:
    """1,536 choices in 8 environments."""
    arguments = {
        "timesteps": 1536, "num_envs": 8, "seed": 1, "environment": QUEUE, "env_kwargs": ENV,
        "hyperparameters": {"n_steps": 32, "batch_size": 64}, "evaluate_every": 700,
        "evaluation_episodes": 2, "checkpoint_every": 500,
    }  # fmt: skip
    return configured("maskable_ppo", **{**arguments, **changes})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small training."""
    folder = tmp_path_factory.mktemp("queue") / "run"
    agents.start_training(folder, small_config(), quiet=True)
    return folder


def test_the_policy_plays_with_any_capacity_and_load(run: Path) -> None:
    policy = queue_policy_named(str(run), QueueSettings(capacity=9, arrival_rate=3.0, horizon=20))
    settings = policy.settings
    found = queue_rollout(lambda _: policy, settings, range(4))
    worst = queue_rollout(lambda _: queue_policy_named("random", settings), settings, range(4))
    assert found.true_reward.mean() > worst.true_reward.mean()


def test_a_run_is_compared_under_its_loads(run: Path) -> None:
    found = compare_run(run, episodes=2, workers=1, quiet=True)
    assert [load.arrival_rate for load in found.rows.loads] == RATES
    assert found.rows.policies == (str(run), *QUEUE_RIVALS)


def test_the_command_says_what_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    for options, said in (
        (["--rank", "top"], "--rank must come with --env Matchmaking-v0"),
        (["--algo", "ppo"], "algo must be maskable_ppo"),
        (["--seeds", "1", "2"], "seeds must be left out"),
    ):
        assert run_command(["train", "--env", QUEUE, *options]) == 2
        assert said in capsys.readouterr().err


def test_it_goes_on_choice_for_choice(run: Path, tmp_path: Path, monkeypatch: Any) -> None:
    class Interrupted(Exception):
        pass

    def stop(self: Progress) -> bool:
        if self.num_timesteps >= 900:
            raise Interrupted
        return True

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "_on_step", stop)
        with pytest.raises(Interrupted):
            agents.start_training(tmp_path / "run", small_config(), quiet=True)
    agents.continue_training(tmp_path / "run", quiet=True)
    for name in ("policy.safetensors", "evaluations.json"):
        assert (tmp_path / "run" / name).read_bytes() == (run / name).read_bytes()


def test_rewards_are_relative_to_what_a_tick_brings_under_the_same_load() -> None:
    env = MatchmakingQueueVecEnv(8, [QueueSettings(arrival_rate=rate) for rate in RATES])
    env.seed(3)
    env.reset()
    rng, paid, earned = np.random.default_rng(0), np.zeros(8), np.zeros(8)
    for step in range(6000):
        masks = np.stack(env.env_method("action_masks"))
        _, rewards, ended, infos = env.step((rng.random(8) * masks.sum(axis=1)).astype(np.int64))
        paid += rewards if step >= 3000 else 0.0
        earned[ended] = [infos[row]["episode"]["r"] for row in np.flatnonzero(ended)]
        assert all("terminal_observation" in infos[row] for row in np.flatnonzero(ended))
    # What is earned is taken away as what is usual, whatever the load; a choice earns about 1.
    assert np.abs(paid.reshape(4, 2).mean(axis=0) / 3000).max() < 0.1
    # A run's return is that of the rewards themselves.
    assert earned[1::2].max() > 500.0


def test_queues_go_on_from_their_state() -> None:
    first, second = (MatchmakingQueueVectorEnv(3, horizon=40, arrival_rate=4.0) for _ in range(2))
    first.reset(seed=0)
    for _ in range(500):
        first.step(first.action_masks()[:, 1].astype(int))
    second.reset(seed=9)
    second.set_state(first.get_state())
    for _ in range(300):
        actions = first.action_masks()[:, 1].astype(int)
        for one, other in zip(first.step(actions)[:4], second.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="must be"):
        MatchmakingQueueVectorEnv(2).set_state(first.get_state())


def test_numbers_depend_on_no_unit_side_or_capacity() -> None:
    """In another unit, mirrored, moved and with more room, players look the same."""
    settings = QueueSettings()
    population, capacity = settings.population, settings.capacity
    rng = np.random.default_rng(0)
    mu, sigma = rng.normal(0, 2, capacity), rng.uniform(0.3, 2, capacity)
    waited, queue = rng.uniform(0, 0.9, capacity), np.array([20.0, 7.0, 60.0])

    def numbers(unit: float, zero: float, room: int) -> QueueNumbers:
        places = np.zeros((4, room))
        places[:, :capacity] = zero - unit * mu, abs(unit) * sigma, waited, np.ones(capacity)
        observation = np.concatenate((places.ravel(), queue / (queue + room)))
        constants = QueueConstants(
            zero + unit * population.mean, abs(unit) * population.deviation, settings.beta, 10
        )
        return QueueNumbers.of(torch.tensor(observation[np.newaxis]), constants)

    usual = numbers(1.0, 0.0, capacity)
    for other in (numbers(-3.0, 25.0, capacity), numbers(1.0, 0.0, 40)):
        torch.testing.assert_close(other.players, usual.players)
        torch.testing.assert_close(other.counts, usual.counts)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"env_kwargs": {"rank": "top"}}, "env_kwargs must be among"),
        ({"env_kwargs": {"arrival_rate": []}}, "at least one rate"),
        ({"env_kwargs": {"arrival_rate": [-1]}}, "arrival_rate"),
        ({"hyperparameters": {"policy": "SharedPolicy"}}, "PricePolicy"),
        ({"environment": "CartPole-v1"}, "environment must be one of"),
    ],
)
def test_bad_configurations_are_explained(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        small_config(**changes)


def test_each_environment_has_its_algorithms_and_policies(run: Path) -> None:
    with pytest.raises(ValueError, match=r"algo must be maskable_ppo|MatchmakingQueue-v0"):
        configured("ppo", environment=QUEUE)
    with pytest.raises(ValueError, match="reads a queue"):
        configured("maskable_ppo", hyperparameters={"policy": "PricePolicy"})
    policy = agents.load(run)
    with pytest.raises(ValueError, match="MatchmakingQueue-v0 alone"):
        policy.for_settings(Settings())
    with pytest.raises(ValueError, match="observation must have shape"):
        policy.predict(np.zeros(5))
    with pytest.raises(ValueError, match="finite"):
        policy.predict(np.full(policy.settings.observation_size, np.nan))
