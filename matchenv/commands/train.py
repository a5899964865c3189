"""``matchenv train``: a policy, trained and compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchenv.commands.learning import Learning
from matchenv.commands.options import (
    DEFAULTS,
    Environment,
    Parallel,
    Seeded,
    Written,
)
from matchenv.commands.output import show
from matchenv.folder_lock import held_folders
from matchenv.priors import DEFAULT_PRIOR
from matchenv.rewards import DEFAULT_REWARD

if TYPE_CHECKING:
    from matchenv.agents.run_config import RunConfig
    from matchenv.agents.run_folder import RunFolder

# What may be given together with --resume; all else is as the run was started with.
WITH_RESUME = {
    "resume", "timesteps", "device", "threads", "comparison_episodes", "workers", "quiet", "debug",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TrainingEnvironment(Environment):
    """All options of the environment.

    Attributes:
        rank: place of player 0: top, middle, bottom, a number from 0 (the best), or any.
        prior: what policies know at the start: informative, equal.
        reward: what is summed: draw_density, match_quality, true_draw_density.
        belief: what policies are told: factorised, full.
    """

    rank: int | str = "any"
    prior: str = DEFAULT_PRIOR
    reward: str = DEFAULT_REWARD
    belief: str = DEFAULTS.belief


@dataclass(frozen=True, kw_only=True)
class Train(Learning, Written, Parallel, TrainingEnvironment, Seeded):
    """Train a policy and compare it with the baselines. See docs/training.md.

    Example:
        matchenv train --algo ppo --out runs/first --hyperparams gamma=0.99
        matchenv train --resume runs/first

    Attributes:
        algo: the algorithm: ppo, a2c, dqn and more; an unknown one lists them.
        timesteps: games to train for in all (default: as in the file).
        resume: folder of a run to go on with, as it was configured.
        out: folder of the run (default: a new one in runs/).
        config: YAML file of hyperparameters (default: the package's own).
        num_envs: environments side by side (default: as in the file).
        hyperparams: single ones as KEY=VALUE, which go before the file's.
        env_kwargs: options of the environment as KEY=VALUE, which the options above are too.
        start_from: learned policy to start from: a name, a run or a file.
        evaluate_every: timesteps from one evaluation to the next (default: 10 in all).
        evaluation_episodes: episodes of each evaluation.
        checkpoint_every: timesteps from one checkpoint to the next (default: 20 in all).
        comparison_episodes: episodes of the final comparison; 0: none.
    """

    algo: str = "ppo"
    timesteps: int | None = None
    resume: Path | None = None
    num_envs: int | None = None
    hyperparams: tuple[str, ...] = ()
    env_kwargs: tuple[str, ...] = ()
    start_from: str | None = None
    evaluate_every: int | None = None
    evaluation_episodes: int = 64
    checkpoint_every: int | None = None
    comparison_episodes: int = 200

    @property
    def note(self) -> str:
        """What to say when it is stopped."""
        folder = self.resume or self.out or _folder_at_work()
        return f"go on with --resume {folder or 'and the folder of the run'}"

    def check_given(self, given: set[str]) -> None:
        """Refuse what --resume would not heed."""
        ignored = sorted(given - WITH_RESUME)
        if self.resume is not None and ignored:
            raise ValueError(
                "a run that is resumed is as it was configured; leave out "
                f"{', '.join('--' + name.replace('_', '-') for name in ignored)}"
            )

    @property
    def results(self) -> None:
        """It says so itself, since its folder may be one that it has chosen."""
        return None

    def run(self) -> None:
        """Train, then compare."""
        folder = self._trained()
        if self.comparison_episodes > 0:
            self._compare(folder)
        self.say_where(folder.path)

    def _trained(self) -> RunFolder:
        if self.resume is not None:
            from matchenv.agents import continue_training

            return continue_training(
                self.resume,
                timesteps=self.timesteps,
                device=self.device,
                threads=self.threads,
                quiet=self.quiet,
            )
        # What is wrong with the options shows before torch is imported, which takes seconds.
        config = self._configured()
        from matchenv.agents import start_training

        return start_training(
            self.out,
            config,
            device=self.device,
            threads=self.threads,
            quiet=self.quiet,
        )

    def _configured(self) -> RunConfig:
        from matchenv.agents.config_file import parse_pairs
        from matchenv.agents.run_config import configured

        return configured(
            self.algo,
            timesteps=self.timesteps,
            num_envs=self.num_envs,
            seed=self.seed,
            config_file=self.config,
            hyperparameters=parse_pairs("hyperparams", list(self.hyperparams)),
            env_kwargs=self.environment(),
            evaluate_every=self.evaluate_every,
            evaluation_episodes=self.evaluation_episodes,
            checkpoint_every=self.checkpoint_every,
            start_from=self.start_from,
        )

    def environment(self) -> dict[str, Any]:
        """The options of the environment that differ from its defaults, said in either way.

        Raises:
            ValueError: for an option that is said in both.
        """
        from matchenv.agents.config_file import parse_pairs

        options = {
            name: (getattr(self, name), each.default)
            for name, each in TrainingEnvironment.__dataclass_fields__.items()
        }
        given = {name: value for name, (value, default) in options.items() if value != default}
        pairs = parse_pairs("env-kwargs", list(self.env_kwargs))
        twice = sorted(given.keys() & pairs.keys())
        if twice:
            raise ValueError(f"env-kwargs must not repeat other options, got {', '.join(twice)}")
        return {**given, **pairs}

    def _compare(self, folder: RunFolder) -> None:
        from matchenv.benchmarks.compare.trained import compare_run

        comparison = compare_run(
            folder.path,
            episodes=self.comparison_episodes,
            workers=self.workers,
            quiet=self.quiet,
        )
        if not self.quiet:
            show(comparison.table())


def _folder_at_work() -> Path | None:
    """The folder of the run that this process works on, None before it has one."""
    for held in held_folders():
        from matchenv.agents.run_folder import RunFolder

        for path in (held, held.parent):  # a comparison has a folder in that of the run
            if RunFolder(path).config_file.exists():
                return path
    return None
