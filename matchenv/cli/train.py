"""``matchenv train``: a policy, trained and compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from matchenv.cli.options import GOES_ON, Environment, Parallel, Seeded, Written
from matchenv.cli.output import show
from matchenv.cli.queue_options import ONE_PLAYER, ONLY_ONE_PLAYER, QUEUE, SHARED
from matchenv.runtime.files import held_folders

if TYPE_CHECKING:
    from matchenv.agents.run_config import RunConfig
    from matchenv.agents.run_folder import RunFolder

# Options that --resume does not fix.
WITH_RESUME = {
    "resume", "timesteps", "device", "threads", "comparison_episodes", "workers", "quiet", "debug",
    "track", "allow_code",
}  # fmt: skip

# Options that --tune sets itself, or has no use for.
NOT_WITH_TUNE = {
    "seeds", "resume", "start_from", "evaluate_every", "checkpoint_every", "comparison_episodes",
    "track", "workers", "engine", "threads",
}  # fmt: skip
TUNING_TIMESTEPS = 256_000

# The queue needs action masks.
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
class Train(Written, Parallel, TrainingEnvironment, Seeded):
    """Train a policy and compare it with the baselines. See docs/training.md.

    Example:
        matchenv train --algo ppo --out runs/first --hyperparams gamma=0.99
        matchenv train --resume runs/first
        matchenv train --seeds 0 1 2 3 4 --out runs/five
        matchenv train --imitate gittins --out runs/imitation
        matchenv train --start-from runs/imitation --config ppo_after_imitation
        matchenv train --tune 20 --timesteps 256000 --out runs/tuned
        matchenv train --env MatchmakingQueue-v0

    Attributes:
        algo: the algorithm: ppo, a2c, dqn and more; an unknown one lists them.
        imitate: policy to imitate, as in matchenv compare; instead of --algo.
        env: where to train; in the queue the algorithm is maskable_ppo.
        timesteps: games to train for in all (default: as in the file; with --tune 256,000).
        seeds: one training for each, side by side, with the spread at the end; instead of --seed.
        resume: folder of a run to go on with, as it was configured.
        allow_code: with --resume, import classes outside matchenv that the folder names.
        out: folder of the run (default: a new one in runs/).
        start_from: learned policy to start from: a name, a run or a file.
        config: YAML file of hyperparameters, or the name of one of the package's, such as ppo_flat
            (default: the algorithm's).
        hyperparams: override single values of the file, as KEY=VALUE.
        num_envs: environments side by side (default: as in the file).
        env_kwargs: options of the environment as KEY=VALUE, instead of options such as --rank; of a
            list, as prior=[informative,equal], equally many environments have each value.
        tune: search for hyperparameters with so many trials, instead of one training.
        space: with --tune, what is varied, as KEY=LIST or KEY={low: .., high: .., log: true}.
        space_file: YAML file with the same under the algorithm's name (default: the package's own).
        evaluate_every: timesteps from one evaluation to the next (default: 10 in all).
        evaluation_episodes: episodes of each evaluation.
        checkpoint_every: timesteps from one checkpoint to the next (default: 20 in all).
        comparison_episodes: episodes of the final comparison; 0: none.
        device: where torch computes; auto: a GPU where there is one.
        threads: of torch; the last digits of the weights depend on their number.
        track: where to send what is recorded, if it is installed: wandb, mlflow (default: nowhere).
    """

    algo: str = "ppo"
    imitate: str | None = None
    env: Literal["Matchmaking-v0", "MatchmakingQueue-v0"] = "Matchmaking-v0"
    timesteps: int | None = None
    seeds: tuple[int, ...] = ()
    resume: Path | None = None
    allow_code: bool = False
    start_from: str | None = None
    config: Path | None = None
    hyperparams: tuple[str, ...] = ()
    num_envs: int | None = None
    env_kwargs: tuple[str, ...] = ()
    tune: int | None = None
    space: tuple[str, ...] = ()
    space_file: Path | None = None
    evaluate_every: int | None = None
    evaluation_episodes: int = 64
    checkpoint_every: int | None = None
    comparison_episodes: int = 1000
    device: str = "cpu"
    threads: int = 1
    track: str | None = None

    @property
    def extras(self) -> tuple[str, ...]:
        """It needs torch."""
        return ("agents",)

    @property
    def note(self) -> str:
        """What to say when it is stopped."""
        if self.seeds or self.tune is not None:
            return GOES_ON
        folder = self.resume or self.out or _folder_at_work()
        return f"go on with --resume {folder or 'and the folder of the run'}"

    def check_given(self, given: set[str]) -> None:
        """Refuse options that others would leave without effect."""

        def refuse(options: set[str], why: str) -> None:
            listed = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(given & options))
            if listed:
                raise ValueError(f"{why}, got {listed}")

        if self.env == QUEUE:
            refuse(
                {*ONLY_ONE_PLAYER, "reward", "belief", "imitate", "tune", "seeds"},
                f"these options must come with --env {ONE_PLAYER}",
            )
            if "algo" in given and self.algo != QUEUE_ALGORITHM:
                raise ValueError(f"algo must be {QUEUE_ALGORITHM} in {QUEUE}, got {self.algo!r}")
        if self.resume is not None:
            refuse(
                given - WITH_RESUME,
                "a resumed run keeps its configuration; leave out its other options",
            )
        if self.tune is not None:
            refuse(NOT_WITH_TUNE, "with --tune these options must be left out")
        else:
            refuse({"space", "space_file"}, "these options must come with --tune")
        for one, other in (
            ("seed", "seeds"),
            ("algo", "imitate"),
            ("space", "space_file"),
        ):
            if {one, other} <= given:
                raise ValueError(f"{one} must be left out where {other} is given")

    @property
    def results(self) -> None:
        """None: ``run`` says where the folder is, since it may have chosen the name."""
        return None

    def run(self) -> None:
        """Train, then compare; or tune."""
        if self.tune is not None:
            self._run_tuning(self.tune)
            return
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
                allow_code=self.allow_code,
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
        from matchenv.agents.learned_names import RUNS
        from matchenv.agents.training import train_seeds
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

    def _run_tuning(self, trials: int) -> None:
        from matchenv.agents.config_file import parse_pairs
        from matchenv.agents.learned_names import RUNS
        from matchenv.agents.tuning import GOAL, read_space, tune_agent

        config = self._configured()
        algorithm = config.known_algorithm()
        space = parse_pairs("space", list(self.space))
        if not space:
            space = read_space(algorithm, self.space_file)
        out = self.out or RUNS / f"{algorithm.name}-tuned"
        found = tune_agent(out, config, space, trials, device=self.device, quiet=self.quiet)
        if self.quiet:
            return
        show(f"{found.complete} trials completed, {found.pruned} stopped early")
        show(f"best: {GOAL} {found.value:+.2f}")
        for name, value in found.best.items():
            show(f"  {name} = {value}")
        show(f"train with it: matchenv train --algo {algorithm.name} --config {found.config_file}")

    @property
    def _algorithm(self) -> str:
        if self.imitate is not None:
            return "imitation"
        return QUEUE_ALGORITHM if self.env == QUEUE else self.algo

    def _configured(self) -> RunConfig:
        from matchenv.agents.config_file import parse_pairs
        from matchenv.agents.run_config import configured

        hyperparameters = parse_pairs("hyperparams", list(self.hyperparams))
        if self.imitate is not None:
            hyperparameters["teacher"] = self.imitate
        tuned = self.tune is not None
        return configured(
            self._algorithm,
            timesteps=TUNING_TIMESTEPS if tuned and self.timesteps is None else self.timesteps,
            num_envs=self.num_envs,
            seed=self.seed,
            config_file=self.config,
            hyperparameters=hyperparameters,
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
