"""Training with RLlib, and its checkpoints as policies."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import matchenv
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import policy_named

ray = pytest.importorskip("ray")
pytest.importorskip("ray.rllib")

pytestmark = pytest.mark.ray

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"num_opponents": 4, "horizon": 12}


@pytest.fixture(scope="module")
def algorithm() -> Iterator[Any]:
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec

    from matchenv.agents.rllib import SharedModule

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, log_to_driver=False, logging_level="CRITICAL")
    spec = RLModuleSpec(module_class=SharedModule, model_config={"env_kwargs": SIZES})
    config = (
        PPOConfig()
        .environment("matchenv:Matchmaking-v0", env_config=SIZES)
        .env_runners(
            num_env_runners=0, num_envs_per_env_runner=3,
            rollout_fragment_length=20,
        )
        .rl_module(rl_module_spec=spec)
        .training(train_batch_size_per_learner=60, minibatch_size=30, num_epochs=1)
        .debugging(seed=3)
    )  # fmt: skip
    built = config.build_algo()
    yield built
    built.stop()
    ray.shutdown()


def test_a_checkpoint_loads_as_a_policy(algorithm: Any, tmp_path: Path) -> None:
    import torch

    algorithm.train()
    folder = Path(algorithm.save_to_path(str(tmp_path / "checkpoint")))
    # Only our own file may be read.
    for file in folder.rglob("*.pkl"):
        file.write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    policy = policy_named(str(folder), Settings.checked(**SIZES))
    env = matchenv.MatchmakingVectorEnv(64, **SIZES)
    observation, _ = env.reset(seed=1)
    module = algorithm.get_module()
    with torch.no_grad():
        logits = module.forward_inference({"obs": torch.from_numpy(observation)})
    chosen, _ = policy.predict(observation)
    np.testing.assert_array_equal(chosen, logits["action_dist_inputs"].argmax(dim=1).numpy())


@pytest.mark.parametrize("runners", [0, 2])
def test_the_example_learns_and_compares(runners: int, tmp_path: Path) -> None:
    words = ["--iterations", "2", "--runners", str(runners), "--num-envs", "4", "--horizon", "20",
             "--num-opponents", "5", "--episodes", "20", "--out", str(tmp_path)]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(ROOT / "examples" / "rllib_train.py"), *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 of 2: true q" in done.stdout
    assert str(tmp_path) in done.stdout
