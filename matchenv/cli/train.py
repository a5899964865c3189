"""Train a policy and compare it with the baselines. See docs/training.md.

Example:
    matchenv train --algo ppo --out runs/first --hyperparams gamma=0.99
    matchenv train --resume runs/first
    matchenv train --seeds 0 1 2 3 4 --out runs/five
    matchenv train --imitate gittins --out runs/imitation
    matchenv train --start-from runs/imitation --config ppo_fine_tuning
    matchenv train --tune 20 --timesteps 256000 --out runs/tuned
    matchenv train --env MatchmakingQueue-v0
    matchenv train --env Ranking-v0 --imitate kg
"""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from matchenv.cli.extras import check_extras
from matchenv.cli.options import (
    PRIORS,
    RANKS,
    RESUMES,
    SETTINGS,
    add_allow_code,
    add_environment_name,
    add_quiet,
    add_seed,
    add_settings,
    add_workers,
    environment_options,
    options_with_lists,
    parse_lists,
    with_pairs,
)
from matchenv.cli.output import print_folder, print_result
from matchenv.cli.parser import Arguments, Collect, Parser, integer_or_text, path, refuse
from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.checks import as_integer
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.parallel import check_engine

if TYPE_CHECKING:
    from matchenv.agents.run_config import RunConfig

# Options that can be given with --resume.
WITH_RESUME = {
    "resume",
    "timesteps",
    "device",
    "threads",
    "comparison_episodes",
    "workers",
    "quiet",
    "debug",
    "allow_code",
}
# Options that --tune sets itself or does not use.
NOT_WITH_TUNE = {
    "seeds",
    "resume",
    "start_from",
    "evaluate_every",
    "checkpoint_every",
    "comparison_episodes",
    "workers",
    "engine",
    "threads",
}
NOT_TOGETHER = (("seed", "seeds"), ("algo", "imitate"), ("space", "space_file"))
TUNING_TIMESTEPS = 256_000


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    add_training(parser)
    add_environment(parser)
    group = parser.add_argument_group("evaluation")
    group.add_argument(
        "--comparison-episodes",
        type=int,
        default=1000,
        help="episodes of the final comparison, also with --resume; 0: none",
    )
    group.add_argument(
        "--evaluate-every", type=int, help="timesteps between evaluations (default: 10 in all)"
    )
    group.add_argument(
        "--evaluation-episodes", type=int, default=64, help="episodes of each evaluation"
    )
    group.add_argument(
        "--checkpoint-every", type=int, help="timesteps between them (default: 20 in all)"
    )
    group = parser.add_argument_group("search for hyperparameters")
    group.add_argument(
        "--tune", type=int, help="number of trials of a search, instead of one training"
    )
    group.add_argument(
        "--space",
        action=Collect,
        help="values to try, as 'KEY={A,B}' or KEY={low: .., high: .., log: true}",
    )
    group.add_argument(
        "--space-file", type=path, help="YAML file of such values (default: the package's)"
    )
    group = parser.add_argument_group("work")
    add_workers(group)
    group.add_argument(
        "--device", default="cpu", help="device of torch; auto: a GPU if there is one"
    )
    group.add_argument(
        "--threads",
        type=int,
        default=1,
        help="threads of torch; they change the last digits of weights",
    )
    add_quiet(group)


def add_training(parser: Parser) -> None:
    """Add the options of the training itself."""
    group = parser.add_argument_group("training")
    group.add_argument(
        "--algo",
        default="ppo",
        help="algorithm, for example ppo, a2c or dqn; an unknown one lists all",
    )
    group.add_argument(
        "--timesteps",
        type=int,
        help="games in all, rounded up to whole rollouts (default: as in the file; with --tune "
        f"{TUNING_TIMESTEPS:,})",
    )
    group.add_argument("--out", type=path, help="folder of the run (default: runs/ALGO-seedSEED)")
    add_seed(group)
    group.add_argument(
        "--seeds",
        type=int,
        action=Collect,
        help="train with each seed in parallel, instead of --seed",
    )
    group.add_argument(
        "--resume", type=path, help="folder of a run to resume with its configuration"
    )
    group.add_argument(
        "--imitate", help="policy to imitate, as in matchenv compare; instead of --algo"
    )
    group.add_argument("--start-from", help="learned policy to start from: a name, a run or a file")
    group.add_argument(
        "--config",
        type=path,
        help="YAML file of hyperparameters, or the name of one in the package such as ppo_flat "
        "(default: the algorithm's)",
    )
    group.add_argument(
        "--hyperparams", action=Collect, help="override single values of the file, as KEY=VALUE"
    )
    group.add_argument(
        "--num-envs", type=int, help="number of parallel environments (default: as in the file)"
    )
    add_allow_code(group, "with --resume, import classes outside matchenv")


def add_environment(parser: Parser) -> None:
    """Add the environment of the training and its options."""
    group = parser.add_argument_group("environment (defaults: as in the file)")
    add_environment_name(group)
    group.add_argument(
        "--env-kwargs",
        action=Collect,
        help="options of the environment as KEY=VALUE; a list of values, as "
        "'prior={informative,equal}' or the loads 'arrival_rate=[0.5,2]', is split over the "
        "environments; 'arrival_rate=[[0.5,2]]' is the day of two ticks with these rates",
    )
    group.add_argument("--rank", type=integer_or_text, help=f"{RANKS} (default)")
    group.add_argument("--prior", help=PRIORS)
    group.add_argument(
        "--reward", help="draw_density, match_quality, true_draw_density, or module:Class"
    )
    group.add_argument("--belief", help="what policies know: factorised, full, or module:Class")
    add_settings(group, Settings, SETTINGS)


def run(arguments: Arguments) -> None:
    """Train once or with each seed, resume, or search for hyperparameters."""
    if arguments.resume is not None:
        kept = "a resumed run keeps its configuration; leave out its other options"
        refuse(arguments, arguments.explicit - WITH_RESUME, kept)
    if arguments.tune is not None:
        refuse(arguments, NOT_WITH_TUNE, "--tune does not have these options")
    else:
        refuse(arguments, ("space", "space_file"), "these options need --tune")
    for one, other in NOT_TOGETHER:
        if one in arguments.explicit and other in arguments.explicit:
            raise ValueError(f"{one} must be left out where {other} is given")
    check_extras("train", "agents")
    arguments.note = RESUMES
    if arguments.resume is not None:
        train(arguments, None)
        return
    config = configured(arguments)  # checks it before anything is written
    if arguments.tune is not None:
        tune(arguments, config)
    else:
        train(arguments, config)


def train(arguments: Arguments, config: RunConfig | None) -> None:
    """Train once or with each seed, or resume without a configuration; then compare."""
    from matchenv.agents.learned_names import RUNS
    from matchenv.agents.training import continue_training, start_training, train_seeds

    check_engine(arguments.engine, arguments.workers)
    if arguments.comparison_episodes:
        as_integer("comparison_episodes", arguments.comparison_episodes, 2)
        _check_can_compare(arguments, config)
    out = arguments.out
    work = {
        "device": arguments.device,
        "threads": arguments.threads,
        "quiet": arguments.quiet,
    }
    if config is None:
        folder = continue_training(
            arguments.resume, timesteps=arguments.timesteps, allow_code=arguments.allow_code, **work
        )
        folders = [folder]
    elif arguments.seeds:
        if out is None:
            out = RUNS / f"{config.algorithm}-seeds"
        folders = train_seeds(out, config, arguments.seeds, workers=arguments.workers, **work)
    else:
        folders = [start_training(out, config, **work)]
    if out is None:
        out = folders[0].path
    if arguments.comparison_episodes:
        _compare(arguments, out, [folder.path for folder in folders])
    else:
        _warn_of_earlier(out / "comparison")
    if config is None:
        _warn_of_earlier(out.parent / "summary.txt")  # of several seeds
    print_folder(out, arguments.quiet)


def _check_can_compare(arguments: Arguments, config: RunConfig | None) -> None:
    """Check that cells of a comparison can have the options of the training."""
    from matchenv.agents.environments import lists_in
    from matchenv.agents.run_config import RunFolder
    from matchenv.runtime.object_spec import only_own_code

    if config is None and RunFolder(arguments.resume).config_file.is_file():
        config = RunFolder(arguments.resume).read_config()
    if config is None:
        return  # the error of the training says what is missing
    allow_code = arguments.allow_code or arguments.resume is None
    with only_own_code(allow_code=allow_code):
        shared = config.comparison()["env_kwargs"]
    lists = lists_in(shared)
    if lists:
        raise ValueError(f"comparison_episodes must be 0 where {', '.join(lists)} is a list")


def _compare(arguments: Arguments, out: Path, runs: list[Path]) -> None:
    """Compare runs with the baselines, and print the table and the summary."""
    from matchenv.benchmarks.compare.training import compare_runs

    work = RunOptions(workers=arguments.workers, engine=arguments.engine, quiet=arguments.quiet)
    comparison, summary = compare_runs(runs, out, episodes=arguments.comparison_episodes, run=work)
    print_result(lambda: f"{comparison.table()}\n\n{summary}".rstrip(), arguments.quiet)


def _warn_of_earlier(path: Path) -> None:
    if path.exists():
        warnings.warn(f"{path} may be of an earlier policy", stacklevel=3)


def tune(arguments: Arguments, config: RunConfig) -> None:
    """Search for hyperparameters."""
    from matchenv.agents.config_file import SEARCH_SPACES, read_section
    from matchenv.agents.environments import training_of
    from matchenv.agents.learned_names import RUNS
    from matchenv.agents.tuning import BEST, tune_agent

    algo = config.algorithm
    goal = training_of(config.environment).goal
    space = parse_lists("space", arguments.space)
    if not space:
        space = read_section(arguments.space_file or SEARCH_SPACES, algo)
    out = arguments.out or RUNS / f"{algo}-tuned"
    study = tune_agent(
        out, config, space, arguments.tune, device=arguments.device, quiet=arguments.quiet
    )
    states = [trial.state.name for trial in study.trials]
    words = ["--env", config.environment, "--algo", algo, "--config", str(out / BEST)]
    lines = [
        f"{states.count('COMPLETE')} trials completed, {states.count('PRUNED')} stopped early",
        f"best: {goal} {study.best_value:+.2f}",
    ]
    for name, value in study.best_params.items():
        lines.append(f"  {name} = {value}")
    lines.append(f"train with it: matchenv train {shlex.join(words)}")
    print_result("\n".join(lines), arguments.quiet)


def configured(arguments: Arguments) -> RunConfig:
    """Return the configuration of the run."""
    from matchenv.agents.run_config import configured

    hyperparameters = parse_lists("hyperparams", arguments.hyperparams)
    algorithm = arguments.algo
    timesteps = arguments.timesteps
    if arguments.imitate is not None:
        algorithm = "imitation"
        hyperparameters["teacher"] = arguments.imitate
    if arguments.tune is not None and timesteps is None:
        timesteps = TUNING_TIMESTEPS
    env_kwargs = with_pairs(arguments.env_kwargs, environment_options(arguments))
    for name in options_with_lists(arguments.env):
        values = env_kwargs.get(name)
        if isinstance(values, list) and not any(isinstance(value, list) for value in values):
            # One value, not one for each of several environments.
            env_kwargs[name] = [values]
    return configured(
        algorithm,
        timesteps=timesteps,
        config_file=arguments.config,
        hyperparameters=hyperparameters,
        env_kwargs=env_kwargs,
        environment=arguments.env,
        num_envs=arguments.num_envs,
        seed=arguments.seed,
        start_from=arguments.start_from,
        evaluate_every=arguments.evaluate_every,
        evaluation_episodes=arguments.evaluation_episodes,
        checkpoint_every=arguments.checkpoint_every,
    )
