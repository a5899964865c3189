"""A training in the queue: exact resumption, and policies that play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv import agents
from matchenv.agents.callbacks import Keeper
from matchenv.agents.environments import QUEUE
from matchenv.agents.run_config import RunConfig, configured
from matchenv.benchmarks.compare.training import QUEUE_RIVALS, compare_runs
from matchenv.cli import run_command
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.registry import policy_named
from matchenv.runtime.jobs import RunOptions

RATES = [0.5, 2.0]
ENV = {"arrival_rate": RATES, "horizon": 20, "capacity": 6}
RESULTS = ("policy.safetensors", "evaluations.json")


def small_config(**changes: Any) -> RunConfig:
    """Return the configuration of 768 choices in 8 environments."""
    arguments = {
        "timesteps": 768, "num_envs": 8, "seed": 1, "environment": QUEUE, "env_kwargs": ENV,
        "hyperparameters": {"n_steps": 32, "batch_size": 64}, "evaluate_every": 400,
        "evaluation_episodes": 2, "checkpoint_every": 200,
    }  # fmt: skip
    return configured("maskable_ppo", **{**arguments, **changes})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small training."""
    folder = tmp_path_factory.mktemp("queue") / "run"
    agents.start_training(folder, small_config(), quiet=True)
    return folder


def test_the_policy_plays_under_its_loads_and_with_any_capacity(run: Path) -> None:
    options = RunOptions(workers=1, quiet=True)
    found, _ = compare_runs([run], run, episodes=2, run=options)
    assert [load.options["arrival_rate"] for load in found.cells] == RATES
    assert found.rows.policies == (str(run), *QUEUE_RIVALS)
    policy = policy_named(str(run), QueueSettings(capacity=9, arrival_rate=3.0))
    assert policy.num_opponents == 9
    observation = np.zeros(policy.observation_shape, dtype=np.float32)
    observation[27] = 1.0  # the focal player is there, nobody else
    assert policy.predict(observation)[0] == 0
    for bad, message in ((np.zeros(5), "observation must have"), (observation * np.nan, "finite")):
        with pytest.raises(ValueError, match=message):
            policy.predict(bad)
    with pytest.raises(ValueError, match="only plays MatchmakingQueue-v0"):
        policy.for_settings(Settings())


def test_it_goes_on_choice_for_choice(run: Path, tmp_path: Path, monkeypatch: Any) -> None:
    class Interrupted(Exception):
        pass

    def stop(self: Keeper) -> bool:
        if self.num_timesteps >= 500:
            raise Interrupted
        return True

    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "_on_step", stop)
        with pytest.raises(Interrupted):
            agents.start_training(tmp_path / "run", small_config(), quiet=True)
    agents.continue_training(tmp_path / "run", quiet=True)
    for name in RESULTS:
        assert (tmp_path / "run" / name).read_bytes() == (run / name).read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"env_kwargs": {"rank": "top"}}, "env_kwargs must be among"),
        ({"env_kwargs": {"arrival_rate": []}}, "at least one value"),
        ({"env_kwargs": {"arrival_rate": [-1]}}, "arrival_rate"),
        ({"env_kwargs": {"capacity": [4, 6]}}, "capacity must be the same"),
        ({"environment": "CartPole-v1"}, "environment must be one of"),
    ],
)
def test_bad_configurations_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small_config(**changes)


def test_the_command_names_what_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="algo must be maskable_ppo"):
        configured("ppo", environment=QUEUE)
    for options, message in (
        (["--rank", "top"], "must come with --env Matchmaking-v0, got --rank"),
        (["--algo", "ppo"], "algo must be maskable_ppo"),
        (["--seeds", "1", "2"], "must come with --env Matchmaking-v0, got --seeds"),
    ):
        assert run_command(["train", "--env", QUEUE, *options]) == 2
        assert message in capsys.readouterr().err
