"""The command that trains."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from matchenv.cli.parser import (
    ENVIRONMENT,
    RANK_TEXT,
    RESUMES,
    Command,
    Given,
    Parser,
    parse_lists,
    with_pairs,
)
from matchenv.runtime.checks import as_integer
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


def declare_train(add: Parser) -> Command:
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
    add.group("training")
    add.option("--algo", "algorithm, for example ppo, a2c or dqn; an unknown one lists all", "ppo")
    add.option("--timesteps", "games in all, rounded up to whole rollouts (default: as in the "
               f"file; with --tune {TUNING_TIMESTEPS:,})", None, int)  # fmt: skip
    add.option("--out", "folder of the run (default: runs/ALGO-seedSEED)", None, Path)
    add.shared("seed")
    add.option("--seeds", "train with each seed in parallel, instead of --seed", (), int)
    add.option("--resume", "folder of a run to resume with its configuration", None, Path)
    add.option("--imitate", "policy to imitate, as in matchenv compare; instead of --algo")
    add.option("--start-from", "learned policy to start from: a name, a run or a file")
    add.option("--config", "YAML file of hyperparameters, or the name of one in the package such "
               "as ppo_flat (default: the algorithm's)", None, Path)  # fmt: skip
    add.option("--hyperparams", "override single values of the file, as KEY=VALUE", ())
    add.option("--num-envs", "number of parallel environments (default: as in the file)", None, int)
    add.option("--allow-code", "with --resume, import classes outside matchenv", False)
    add.group("environment (defaults: as in the file)")
    add.shared("env")
    add.option("--env-kwargs", "options of the environment as KEY=VALUE; a list of values, as "
               "'prior={informative,equal}', is split over the environments", ())  # fmt: skip
    add.option("--rank", f"{RANK_TEXT} (default)", None, int | str)
    add.shared("prior", prior=None)
    add.option("--reward", "draw_density, match_quality, true_draw_density, or module:Class")
    add.option("--belief", "what policies know: factorised, full, or module:Class")
    add.shared(*ENVIRONMENT)
    add.group("evaluation")
    add.option("--comparison-episodes", "episodes of the final comparison, also with --resume; "
               "0: none", 1000)  # fmt: skip
    add.option("--evaluate-every", "timesteps between evaluations (default: 10 in all)", None, int)
    add.option("--evaluation-episodes", "episodes of each evaluation", 64)
    add.option("--checkpoint-every", "timesteps between them (default: 20 in all)", None, int)
    add.group("search for hyperparameters")
    add.option("--tune", "number of trials of a search, instead of one training", None, int)
    add.option("--space", "values to try, as 'KEY={A,B}' or KEY={low: .., high: .., log: true}", ())
    add.option("--space-file", "YAML file of such values (default: the package's)", None, Path)
    add.group("work")
    add.shared("workers", "engine")
    add.option("--device", "device of torch; auto: a GPU if there is one", "cpu")
    add.option("--threads", "threads of torch; they change the last digits of weights", 1)
    add.shared("quiet")

    given = yield
    if given.resume is not None:
        given.refuse(given.explicit - WITH_RESUME, "a resumed run keeps its configuration; leave "
                     "out its other options")  # fmt: skip
    if given.tune is not None:
        given.refuse(NOT_WITH_TUNE, "--tune does not have these options")
    else:
        given.refuse({"space", "space_file"}, "these options need --tune")
    for one, other in NOT_TOGETHER:
        if {one, other} <= given.explicit:
            raise ValueError(f"{one} must be left out where {other} is given")
    given.needs("agents")
    given.note = lambda: RESUMES
    # Check the configuration before anything is written.
    config = None if given.resume is not None else configured(given)
    if config is not None and given.tune is not None:
        tune(given, config)
    else:
        train(given, config)


def train(given: Given, config: RunConfig | None) -> None:
    """Train once or with each seed, or resume without a configuration; then compare."""
    from matchenv.agents.learned_names import RUNS
    from matchenv.agents.training import continue_training, start_training, train_seeds

    check_engine(given.engine, given.workers)
    if given.comparison_episodes:
        as_integer("comparison_episodes", given.comparison_episodes, 2)
        _check_can_compare(given, config)
    out = given.out
    work = given.values("device", "threads", "quiet")
    if config is None:
        folders = [
            continue_training(
                given.resume, timesteps=given.timesteps, allow_code=given.allow_code, **work
            )
        ]
    elif given.seeds:
        if out is None:
            out = RUNS / f"{config.algorithm}-seeds"
        folders = train_seeds(out, config, given.seeds, workers=given.workers, **work)
    else:
        folders = [start_training(out, config, **work)]
    if out is None:
        out = folders[0].path
    if given.comparison_episodes:
        _compare(given, out, [folder.path for folder in folders])
    else:
        _warn_of_earlier(out / "comparison")
    if config is None:
        _warn_of_earlier(out.parent / "summary.txt")  # of several seeds
    given.print_folder(folder=out)


def _check_can_compare(given: Given, config: RunConfig | None) -> None:
    """Check that cells of a comparison can have the options of the training."""
    from matchenv.agents.environments import lists_in
    from matchenv.agents.run_config import RunFolder
    from matchenv.runtime.object_spec import only_own_code

    if config is None and RunFolder(given.resume).config_file.is_file():
        config = RunFolder(given.resume).read_config()
    if config is None:
        return  # the error of the training says what is missing
    allow_code = given.allow_code or given.resume is None
    with only_own_code(allow_code=allow_code):
        shared = config.comparison()["env_kwargs"]
    lists = lists_in(shared)
    if lists:
        raise ValueError(f"comparison_episodes must be 0 where {', '.join(lists)} is a list")


def _compare(given: Given, out: Path, runs: list[Path]) -> None:
    """Compare runs with the baselines, and print the table and the summary."""
    from matchenv.benchmarks.compare.training import compare_runs

    comparison, summary = compare_runs(
        runs, out, episodes=given.comparison_episodes, run=given.run_options()
    )
    given.print_result(lambda: f"{comparison.table()}\n\n{summary}".rstrip())


def _warn_of_earlier(path: Path) -> None:
    if path.exists():
        warnings.warn(f"{path} may be of an earlier policy", stacklevel=3)


def tune(given: Given, config: RunConfig) -> None:
    """Search for hyperparameters."""
    from matchenv.agents.config_file import SEARCH_SPACES, read_section
    from matchenv.agents.environments import training_of
    from matchenv.agents.learned_names import RUNS
    from matchenv.agents.tuning import BEST, tune_agent

    algo = config.algorithm
    goal = training_of(config.environment).goal
    space = parse_lists("space", given.space)
    if not space:
        space = read_section(given.space_file or SEARCH_SPACES, algo)
    out = given.out or RUNS / f"{algo}-tuned"
    study = tune_agent(out, config, space, given.tune, **given.values("device", "quiet"))
    states = [trial.state.name for trial in study.trials]
    words = ["--env", config.environment, "--algo", algo, "--config", str(out / BEST)]
    lines = [
        f"{states.count('COMPLETE')} trials completed, {states.count('PRUNED')} stopped early",
        f"best: {goal} {study.best_value:+.2f}",
    ]
    for name, value in study.best_params.items():
        lines.append(f"  {name} = {value}")
    lines.append(f"train with it: matchenv train {shlex.join(words)}")
    given.print_result("\n".join(lines))


def configured(given: Given) -> RunConfig:
    """Return the configuration of the run."""
    from matchenv.agents.run_config import configured

    hyperparameters = parse_lists("hyperparams", given.hyperparams)
    algorithm = given.algo
    timesteps = given.timesteps
    if given.imitate is not None:
        algorithm = "imitation"
        hyperparameters["teacher"] = given.imitate
    if given.tune is not None and timesteps is None:
        timesteps = TUNING_TIMESTEPS
    fields = given.values(
        "num_envs",
        "seed",
        "evaluate_every",
        "evaluation_episodes",
        "checkpoint_every",
        "start_from",
    )
    return configured(
        algorithm,
        timesteps=timesteps,
        config_file=given.config,
        hyperparameters=hyperparameters,
        env_kwargs=with_pairs(given.env_kwargs, given.environment()),
        environment=given.env,
        **fields,
    )
