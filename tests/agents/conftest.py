"""Small runs for tests: seconds, not minutes."""

from pathlib import Path

import pytest

try:
    import torch
    from stable_baselines3 import PPO  # noqa: F401

    from matchenv.agents import configured
except ImportError:
    # Without the extra, only what works without it can be tested.
    here = Path(__file__).parent
    collect_ignore = [
        str(path) for path in here.rglob("test_*.py") if path != here / "test_policies.py"
    ]

# The files of some algorithms choose several ranks and priors.
ENV = {
    "num_opponents": 3,
    "horizon": 20,
    "belief": "factorised",
    "prior": "informative",
    "rank": None,
}

# For each algorithm, what makes several rollouts out of a few thousand steps.
SMALL = {
    "a2c": {"n_steps": 16},
    "dqn": {"buffer_size": 5000, "learning_starts": 64, "batch_size": 32},
    "imitation": {"n_steps": 16, "batch_size": 64, "teacher": "drawchance"},
    "maskable_ppo": {"n_steps": 16, "batch_size": 64},
    "ppo": {"n_steps": 16, "batch_size": 64},
    "ppo_lstm": {"n_steps": 16, "batch_size": 64},
    "qrdqn": {"buffer_size": 5000, "learning_starts": 64, "batch_size": 32},
    "trpo": {"n_steps": 16, "batch_size": 64},
}
NETWORKS = {
    "a2c": {"net_arch": [16]},
    "dqn": {"net_arch": [16]},
    "imitation": {"net_arch": [16]},
    "maskable_ppo": {"net_arch": [16]},
    "ppo": {"net_arch": [16]},
    "ppo_lstm": {"net_arch": [16], "lstm_hidden_size": 8},
    "qrdqn": {"net_arch": [16], "n_quantiles": 5},
    "trpo": {"net_arch": [16]},
}


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    # Networks this small gain nothing from threads, which only wait for each other.
    if "torch" in globals():
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def networks():
    """Small networks for each algorithm."""
    return NETWORKS


@pytest.fixture(scope="session")
def small_config():
    """A function that configures 2,048 steps in 8 environments of 3 opponents and 20 games."""
    return _configured


def _configured(algo="ppo", **changes):
    arguments = {
        "timesteps": 2048,
        "num_envs": 8,
        "seed": 1,
        "hyperparameters": {**SMALL[algo], "policy_kwargs": NETWORKS[algo]},
        "env_kwargs": ENV,
        "evaluate_every": 700,
        "evaluation_episodes": 4,
        "checkpoint_every": 300,
    }
    return configured(algo, **{**arguments, **changes})
