"""Small training runs of about a second."""

import pytest
import torch

from matchenv.agents import configured, start_training

# Some default files have several ranks and priors.
CELL = {"belief": "factorised", "prior": "informative", "rank": None}
ENV = {"num_opponents": 3, "horizon": 20, **CELL}
IN_QUEUE = {"arrival_rate": [0.5, 2.0], "horizon": 20, "capacity": 6}

# Hyperparameters for several rollouts in few timesteps.
ON_POLICY = {"n_steps": 16, "batch_size": 64}
OFF_POLICY = {"buffer_size": 5000, "learning_starts": 64, "batch_size": 32}
SMALL = {
    "ppo": ON_POLICY,
    "trpo": ON_POLICY,
    "dqn": OFF_POLICY,
    "a2c": {"n_steps": 16},
    "averaged_ppo": ON_POLICY,
    "maskable_ppo": ON_POLICY,
    "imitation": {**ON_POLICY, "teacher": "thompson"},
    "queue": ON_POLICY,
}
NETWORK = {"net_arch": [16]}


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    # Small networks are slower with more threads.
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def small_config():
    """A function that configures 512 steps in 8 environments of 3 opponents and 20 games.

    ``"queue"`` is PPO in the queue.
    """

    def made(algo="ppo", **changes):
        arguments = {
            "timesteps": 512,
            "num_envs": 8,
            "seed": 1,
            "hyperparameters": {**SMALL[algo], "policy_kwargs": NETWORK},
            "env_kwargs": ENV,
            "evaluate_every": 250,
            "evaluation_episodes": 4,
            "checkpoint_every": 75,
        }
        algorithm = algo
        if algo == "queue":
            algorithm = "ppo"
            arguments["environment"] = "MatchmakingQueue-v0"
            arguments["env_kwargs"] = IN_QUEUE
        return configured(algorithm, **{**arguments, **changes})

    return made


@pytest.fixture(scope="session")
def trained(tmp_path_factory, small_config):
    """A function that returns the folder of the small run of an algorithm, trained once."""
    folders = {}

    def run(algo="ppo"):
        if algo not in folders:
            path = tmp_path_factory.mktemp(algo) / "run"
            folders[algo] = start_training(path, small_config(algo), quiet=True)
        return folders[algo]

    return run
