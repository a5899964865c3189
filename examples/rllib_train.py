"""Train PPO with RLlib on Matchmaking-v0, then compare it with the baselines.

    python examples/rllib_train.py --iterations 20 --out runs/rllib

On a cluster, set ``RAY_ADDRESS`` or use ``ray job submit``, with a runner for each core. See
docs/other_libraries.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from matchenv import compare
from matchenv.agents.rllib import SharedModule


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--runners", type=int, default=0, help="0: play in this process")
    parser.add_argument("--num-envs", type=int, default=64, help="environments of each runner")
    parser.add_argument("--num-opponents", type=int, default=49)
    parser.add_argument("--horizon", type=int, default=500)
    parser.add_argument("--episodes", type=int, default=100, help="episodes of the comparison")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/rllib"))
    given = parser.parse_args()

    ray.init(log_to_driver=False, logging_level="ERROR")
    sizes = {"num_opponents": given.num_opponents, "horizon": given.horizon}
    # The true density rewards exploration.
    env_kwargs = {**sizes, "reward": "true_draw_density"}
    games = given.num_envs * max(1, given.runners) * given.horizon
    config = (
        PPOConfig()
        .environment("matchenv:Matchmaking-v0", env_config=env_kwargs)
        .env_runners(
            num_env_runners=given.runners,
            num_envs_per_env_runner=given.num_envs,
            rollout_fragment_length=given.horizon,
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=SharedModule,
                model_config={
                    "env_kwargs": env_kwargs,
                    "policy_kwargs": {"net_arch": {"pi": [32], "vf": [64, 64]}},
                },
            )
        )
        .training(
            train_batch_size_per_learner=games,
            minibatch_size=min(8_000, games),
            num_epochs=4,
            gamma=0.98,
            lambda_=0.95,
            lr=[[0, 3e-3], [games * given.iterations, 0.0]],
            use_kl_loss=False,
            entropy_coeff=0.0,
            vf_loss_coeff=0.5,
            vf_clip_param=float("inf"),
            clip_param=0.2,
            grad_clip=0.5,
        )
        .debugging(seed=given.seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    for iteration in range(1, given.iterations + 1):
        begun = time.perf_counter()
        found = algorithm.train()["env_runners"]
        rate = found["num_env_steps_sampled"] / (time.perf_counter() - begun)
        print(
            f"{iteration} of {given.iterations}: true q {found['episode_return_mean']:.2f} "
            f"an episode, {rate:,.0f} games a second",
            flush=True,
        )
    checkpoint = algorithm.save_to_path(str(given.out.resolve()))
    algorithm.stop()
    ray.shutdown()

    compared = compare(
        ["pe", "drawchance", "kg", checkpoint],
        cells={"rank": ["middle"]},
        episodes=given.episodes,
        seed=given.seed,
        env_kwargs=sizes,
    )
    print(compared.table())


if __name__ == "__main__":
    main()
