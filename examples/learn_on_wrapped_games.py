"""PPO on the shared network, in games that are wrapped: what docs/notes.md tells of such tries.

    python examples/learn_on_wrapped_games.py --twin --seed 1001 --out runs/twin.safetensors
    python examples/learn_on_wrapped_games.py --games-each 5 --out runs/five.safetensors
    matchenv compare --policy runs/twin.safetensors --against kg

Only the training is wrapped: the policy that it writes plays the games of everyone else.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from stable_baselines3.common.vec_env import VecEnvWrapper

from matchenv.agents.policy_file import PolicyDescription, save_policy
from matchenv.agents.run_config import RunConfig, configured
from matchenv.agents.training import new_model
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.baselines import DrawChance
from matchenv.evaluation.seeds import training_seed


class LessTwin(VecEnvWrapper):
    """Rewards less those of a twin, who plays DrawChance against the same opponents and noise.

    Args:
        venv: the games.
        twin: games of the same settings, reset with the same seeds.
    """

    def __init__(self, venv: MatchmakingVecEnv, twin: MatchmakingVecEnv) -> None:
        super().__init__(venv)
        self.twin, self.rival = twin, DrawChance()
        self._shown = np.zeros(0)

    def reset(self) -> Any:
        """Start both."""
        self._shown = self.twin.reset()
        return self.venv.reset()

    def step_wait(self) -> Any:
        """Play both."""
        observations, rewards, ended, infos = self.venv.step_wait()
        self._shown, less, also_ended, _ = self.twin.step(self.rival.predict(self._shown)[0])
        assert (ended == also_ended).all()
        return observations, rewards - less, ended, infos


class SeveralGames(VecEnvWrapper):
    """Every choice is played for some games in a row, as long as the episode lasts.

    Args:
        venv: games whose episodes all end together.
        games: for each choice.
    """

    def __init__(self, venv: Any, games: int) -> None:
        super().__init__(venv)
        self.games = games
        self._actions = np.zeros(0, dtype=np.int64)

    def reset(self) -> Any:
        """Start all."""
        return self.venv.reset()

    def step_async(self, actions: Any) -> None:
        """Keep the choices."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Play the games of each choice; the reward is their mean."""
        total = np.zeros(self.num_envs, dtype=np.float32)
        for _ in range(self.games):
            observations, rewards, ended, infos = self.venv.step(self._actions)
            total += rewards / self.games
            if ended.any():
                assert ended.all()
                break
        return observations, total, ended, infos


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--twin", action="store_true", help="rewards less a twin's")
    parser.add_argument("--games-each", type=int, default=1, help="games of every choice")
    parser.add_argument("--algo", default="ppo")
    parser.add_argument("--config", type=Path, help="as matchenv train")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/wrapped.safetensors"))
    parser.add_argument("--hyperparams", nargs="*", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    torch.set_num_threads(1)
    values = dict(each.split("=") for each in given.hyperparams)
    config = configured(
        given.algo,
        seed=given.seed,
        config_file=given.config,
        hyperparameters={name: yaml.safe_load(value) for name, value in values.items()},
    )
    train(config, given.twin, given.games_each, given.out)


def train(config: RunConfig, twin: bool, games_each: int, out: Path) -> None:
    """Train in wrapped games, and write the policy.

    Args:
        config: of a training without wrappers.
        twin: whether rewards are differences to a twin's.
        games_each: games of every choice.
        out: file of the policy.
    """
    model = new_model(config, "cpu", None)
    games: Any = model.get_env()
    if twin:
        other = MatchmakingVecEnv(config.num_envs, **config.env_kwargs)
        other.seed(training_seed(config.seed))
        games = LessTwin(games, other)
    if games_each > 1:
        games = SeveralGames(games, games_each)
    model.set_env(games)
    model.learn(config.timesteps // games_each)
    description = PolicyDescription(
        algorithm=config.algorithm,
        policy=config.hyperparameters["policy"],
        policy_kwargs=config.hyperparameters["policy_kwargs"],
        env_kwargs=config.env_kwargs,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    save_policy(out, model.policy, description)


if __name__ == "__main__":
    main()
