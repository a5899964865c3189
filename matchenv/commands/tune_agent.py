"""``matchenv tune-agent``: hyperparameters of a training, by Optuna."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matchenv.commands.learning import Trainings
from matchenv.commands.options import Kept, Seeded
from matchenv.commands.output import show


@dataclass(frozen=True, kw_only=True)
class TuneAgent(Trainings, Kept, Seeded):
    """Search for hyperparameters with Optuna, ending bad trainings early.

    Stopped at any moment, the same command goes on with it. See docs/training.md.

    Example:
        matchenv tune-agent --algo ppo --trials 20 --out runs/tuned
        matchenv tune-agent --space gamma=[0.9,0.99] "vf_coef={low: 0.1, high: 1.0}"
        matchenv train --config runs/tuned/best.yml

    Attributes:
        trials: trainings in all, earlier ones included.
        timesteps: games of each.
        space: what is varied, as KEY=LIST or KEY={low: .., high: .., log: true}; instead of a file.
        space_file: YAML file with the same under the algorithm's name (default: the package's own).
        config: YAML file of what is not varied, as in matchenv train.
        env_kwargs: options of the environment as KEY=VALUE.
    """

    out: Path = Path("runs/tuned")
    trials: int = 20
    timesteps: int = 256_000
    space: tuple[str, ...] = ()
    space_file: Path | None = None

    @property
    def results(self) -> None:
        """None: ``run`` says how to train with what was found."""
        return None

    def check_given(self, given: set[str]) -> None:
        """Refuse two search spaces."""
        if {"space", "space_file"} <= given:
            raise ValueError("space must be typed or be in a file: leave out one of the two")

    def run(self) -> None:
        """Play the trials that are missing, then say what is best."""
        from matchenv.agents.agent_tuning import GOAL, AgentTuning, tune_agent
        from matchenv.agents.algorithms import algorithm_by_name
        from matchenv.agents.config_file import parse_pairs
        from matchenv.agents.search_space import read_space

        algorithm = algorithm_by_name(self.algo)
        tuning = AgentTuning(
            algo=algorithm.name,
            space=(
                parse_pairs("space", list(self.space))
                if self.space
                else read_space(algorithm, self.space_file)
            ),
            timesteps=self.timesteps,
            seed=self.seed,
            num_envs=self.num_envs,
            config_file=self.config,
            hyperparameters=parse_pairs("hyperparams", list(self.hyperparams)),
            env_kwargs=parse_pairs("env-kwargs", list(self.env_kwargs)),
            evaluation_episodes=self.evaluation_episodes,
        )
        found = tune_agent(self.out, tuning, self.trials, device=self.device, quiet=self.quiet)
        if self.quiet:
            return
        show(f"{found.complete} trials to their end, {found.pruned} ended early")
        show(f"best: {GOAL} {found.value:+.2f}")
        for name, value in found.best.items():
            show(f"  {name} = {value}")
        show(f"train with it: matchenv train --algo {algorithm.name} --config {found.config_file}")
