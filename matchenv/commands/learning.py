"""What the commands that train networks with torch have in common."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matchenv.commands.options import Command


@dataclass(frozen=True, kw_only=True)
class WithTorch(Command):
    """A command that computes with torch.

    Attributes:
        device: where torch computes; auto: a GPU where there is one.
    """

    device: str = "cpu"

    @property
    def extras(self) -> tuple[str, ...]:
        """It needs torch."""
        return ("agents",)


@dataclass(frozen=True, kw_only=True)
class Learning(WithTorch):
    """A command that trains a network.

    Attributes:
        config: YAML file of the settings (default: the package's own).
        threads: of torch; the last digits of the weights depend on their number.
    """

    config: Path | None = None
    threads: int = 1


@dataclass(frozen=True, kw_only=True)
class Trainings(WithTorch):
    """A command that trains by the algorithms of stable-baselines3 and sb3-contrib.

    Attributes:
        algo: the algorithm: ppo, a2c, dqn and more; an unknown one lists them.
        config: YAML file of hyperparameters, or the name of one of the package's, such as ppo_flat
            (default: the algorithm's).
        num_envs: environments side by side (default: as in the file).
        hyperparams: single ones as KEY=VALUE, which go before the file's.
        env_kwargs: options of the environment as KEY=VALUE, instead of options such as --rank.
        evaluation_episodes: episodes of each evaluation.
    """

    algo: str = "ppo"
    config: Path | None = None
    num_envs: int | None = None
    hyperparams: tuple[str, ...] = ()
    env_kwargs: tuple[str, ...] = ()
    evaluation_episodes: int = 64
