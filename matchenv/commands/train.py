"""``matchenv train``: a policy, trained and compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from matchenv.commands.learning import Learning, Trainings
from matchenv.commands.options import GOES_ON, Environment, Parallel, Seeded, Written
from matchenv.commands.output import show
from matchenv.commands.queue_options import ONE_PLAYER, ONLY_ONE_PLAYER, QUEUE, SHARED
from matchenv.runtime.files import held_folders

if TYPE_CHECKING:
    from matchenv.agents.run_config import RunConfig
    from matchenv.agents.run_folder import RunFolder

# What may be given together with --resume; all else is as the run was started with.
WITH_RESUME = {
    "resume", "timesteps", "device", "threads", "comparison_episodes", "workers", "quiet", "debug",
    "track",
}  # fmt: skip

# What can be told who may be chosen, as the queue needs it.
QUEUE_ALGORITHM = "maskable_ppo"


@dataclass(frozen=True, kw_only=True)
class TrainingEnvironment(Environment):
    """All options of the environment; what is not given is as in the file of hyperparameters.

    Attributes:
        rank: place of player 0: top, middle, bottom, a number from 0 (the best), or any (default).
        prior: what policies know at the start: informative (default), equal, or
            module:Class:key=value.
        reward: what is summed: draw_density (default), match_quality, true_draw_density, or
            module:Class:key=value.
        belief: what policies are told: factorised, full (default: as in the file).
    """

    rank: int | str | None = None
    prior: str | None = None
    reward: str | None = None
    belief: str | None = None


@dataclass(frozen=True, kw_only=True)
class Train(Trainings, Learning, Written, Parallel, TrainingEnvironment, Seeded):
    """Train a policy and compare it with the baselines. See docs/training.md.

    Example:
        matchenv train --algo ppo --out runs/first --hyperparams gamma=0.99
        matchenv train --resume runs/first
        matchenv train --seeds 0 1 2 3 4 --out runs/five
        matchenv train --env MatchmakingQueue-v0

    Attributes:
        env: where to train; in the queue the algorithm is maskable_ppo, and env-kwargs may say
            arrival_rate=[0.2,1,4].
        seeds: one training for each, side by side, with the spread at the end; instead of --seed.
        timesteps: games to train for in all (default: as in the file).
        resume: folder of a run to go on with, as it was configured.
        out: folder of the run (default: a new one in runs/).
        start_from: learned policy to start from: a name, a run or a file.
        evaluate_every: timesteps from one evaluation to the next (default: 10 in all).
        checkpoint_every: timesteps from one checkpoint to the next (default: 20 in all).
        comparison_episodes: episodes of the final comparison; 0: none.
        track: where to send what is recorded, if it is installed: wandb, mlflow (default: nowhere).
    """

    env: Literal["Matchmaking-v0", "MatchmakingQueue-v0"] = "Matchmaking-v0"
    seeds: tuple[int, ...] = ()
    timesteps: int | None = None
    resume: Path | None = None
    start_from: str | None = None
    evaluate_every: int | None = None
    checkpoint_every: int | None = None
    comparison_episodes: int = 1000
    track: str | None = None

    @property
    def note(self) -> str:
        """What to say when it is stopped."""
        if self.seeds:
            return GOES_ON
        folder = self.resume or self.out or _folder_at_work()
        return f"go on with --resume {folder or 'and the folder of the run'}"

    def check_given(self, given: set[str]) -> None:
        """Refuse what --resume or --seeds would not heed."""
        in_queue = self.env == QUEUE
        idle = sorted(
            given.intersection((*ONLY_ONE_PLAYER, "reward", "belief")) if in_queue else ()
        )
        if idle:
            words = ", ".join(f"--{name.replace('_', '-')}" for name in idle)
            raise ValueError(f"{words} must come with --env {ONE_PLAYER}, got --env {self.env}")
        if in_queue and "algo" in given and self.algo != QUEUE_ALGORITHM:
            raise ValueError(f"algo must be {QUEUE_ALGORITHM} in {QUEUE}, got {self.algo!r}")
        if in_queue and "seeds" in given:
            raise ValueError(f"seeds must be left out with --env {QUEUE}: give one --seed")
        if {"seed", "seeds"} <= given:
            raise ValueError("seed must be left out where seeds are given")
        ignored = sorted(given - WITH_RESUME)
        if self.resume is not None and ignored:
            raise ValueError(
                "a resumed run keeps its configuration; leave out "
                f"{', '.join('--' + name.replace('_', '-') for name in ignored)}"
            )

    @property
    def results(self) -> None:
        """None: ``run`` says where the folder is, since it may have chosen the name."""
        return None

    def run(self) -> None:
        """Train, then compare."""
        if self.seeds:
            self._run_seeds()
            return
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
                track=self.track,
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
            track=self.track,
        )

    def _run_seeds(self) -> None:
        from matchenv.agents.policies import RUNS
        from matchenv.agents.several_seeds import train_seeds
        from matchenv.benchmarks.compare.seeds import compare_seeds

        config = self._configured()
        out = self.out or RUNS / f"{config.algorithm}-seeds"
        folders = train_seeds(
            out,
            config,
            self.seeds,
            device=self.device,
            threads=self.threads,
            workers=self.workers,
            quiet=self.quiet,
            track=self.track,
        )
        if self.comparison_episodes == 0:
            return
        found = compare_seeds(
            [folder.path for folder in folders],
            out,
            episodes=self.comparison_episodes,
            workers=self.workers,
            quiet=self.quiet,
        )
        if not self.quiet:
            show(f"{found.comparison.table()}\n\n{found.summary()}")
        self.say_where(out)

    def _configured(self) -> RunConfig:
        from matchenv.agents.config_file import parse_pairs
        from matchenv.agents.run_config import configured

        return configured(
            QUEUE_ALGORITHM if self.env == QUEUE else self.algo,
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
            environment=self.env,
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
            if self.env == ONE_PLAYER or name in SHARED
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
