"""A training in the queue: policies that play, and what does not fit there."""

import numpy as np
import pytest

from matchenv.agents.environments import QUEUE
from matchenv.agents.run_config import configured
from matchenv.benchmarks.compare.training import QUEUE_RIVALS, compare_runs
from matchenv.cli import run_command
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.registry import policy_named
from matchenv.runtime.jobs import RunOptions


def test_the_policy_plays_under_its_loads_and_with_any_capacity(trained):
    run, options = trained("queue").path, RunOptions(workers=1, quiet=True)
    found, _ = compare_runs([run], run, episodes=2, run=options)
    assert [load.options["arrival_rate"] for load in found.cells] == [0.5, 2.0]
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
def test_bad_configurations_are_named(small_config, changes, message):
    with pytest.raises(ValueError, match=message):
        small_config("queue", **changes)


def test_the_command_names_what_does_not_fit(capsys):
    with pytest.raises(ValueError, match="algo must be maskable_ppo"):
        configured("ppo", environment=QUEUE)
    for options, message in (
        (["--rank", "top"], "must come with --env Matchmaking-v0, got --rank"),
        (["--algo", "ppo"], "algo must be maskable_ppo"),
        (["--seeds", "1", "2"], "must come with --env Matchmaking-v0, got --seeds"),
    ):
        assert run_command(["train", "--env", QUEUE, *options]) == 2
        assert message in capsys.readouterr().err
