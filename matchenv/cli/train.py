"""The command that trains."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from matchenv.cli.parser import ENVIRONMENT, RANK_TEXT, RESUMES, Command, Given, Parser, with_pairs
from matchenv.runtime.checks import as_integer

if TYPE_CHECKING:
    from matchenv.agents.run_config import RunConfig

# Options that can be given with --resume.
WITH_RESUME = {
    "resume", "timesteps", "device", "threads", "comparison_episodes", "workers", "quiet", "debug",
    "allow_code",
}  # fmt: skip
# Options that --tune sets itself or does not use.
NOT_WITH_TUNE = {
    "seeds", "resume", "start_from", "evaluate_every", "checkpoint_every", "comparison_episodes",
    "workers", "engine", "threads",
}  # fmt: skip
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
               "prior=[informative,equal], is split over the environments", ())  # fmt: skip
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
    add.option("--space", "values to try, as KEY=LIST or KEY={low: .., high: .., log: true}", ())
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

    out, work = given.out, given.values("device", "threads", "quiet")
    run, episodes = given.run_options(), given.comparison_episodes
    if episodes:
        from matchenv.agents.run_config import RunFolder
        from matchenv.benchmarks.compare.training import compare_runs
        from matchenv.runtime.object_spec import only_own_code

        as_integer("comparison_episodes", episodes, 2)
        asked = config
        if asked is None and RunFolder(given.resume).config_file.is_file():
            asked = RunFolder(given.resume).read_config()
        with only_own_code(allow_code=given.allow_code or given.resume is None):
            shared = {} if asked is None else asked.comparison()["env_kwargs"]
        lists = [name for name, value in shared.items() if isinstance(value, list)]
        if lists:
            raise ValueError(f"comparison_episodes must be 0 where {', '.join(lists)} is a list")
    if config is None:
        more = given.values("timesteps", "allow_code")
        folders = [continue_training(given.resume, **more, **work)]
    elif given.seeds:
        out = out or RUNS / f"{config.algorithm}-seeds"
        folders = train_seeds(out, config, given.seeds, workers=given.workers, **work)
    else:
        folders = [start_training(out, config, **work)]
    out = out or folders[0].path
    if episodes:
        paths = [folder.path for folder in folders]
        found, summary = compare_runs(paths, out, episodes=episodes, run=run)
        given.print_result(lambda: f"{found.table()}\n\n{summary}".rstrip())
    stale = [] if episodes else [out / "comparison"]
    stale += [] if given.resume is None else [out.parent / "summary.txt"]  # of several seeds
    for path in filter(Path.exists, stale):
        warnings.warn(f"{path} may be of an earlier policy", stacklevel=2)
    given.print_folder(folder=out)


def tune(given: Given, config: RunConfig) -> None:
    """Search for hyperparameters."""
    from matchenv.agents.config_file import parse_pairs, read_yaml
    from matchenv.agents.environments import PROBLEMS
    from matchenv.agents.learned_names import RUNS
    from matchenv.agents.tuning import BEST, SPACES, tune_agent

    algo, goal = config.algorithm, PROBLEMS[config.environment].goal
    space = parse_pairs("space", list(given.space)) or read_yaml(SPACES, given.space_file, algo)
    out = given.out or RUNS / f"{algo}-tuned"
    study = tune_agent(out, config, space, given.tune, **given.values("device", "quiet"))
    states = [trial.state.name for trial in study.trials]
    words = ["--env", config.environment, "--algo", algo, "--config", str(out / BEST)]
    given.print_result("\n".join([
        f"{states.count('COMPLETE')} trials completed, {states.count('PRUNED')} stopped early",
        f"best: {goal} {study.best_value:+.2f}",
        *(f"  {name} = {value}" for name, value in study.best_params.items()),
        f"train with it: matchenv train {shlex.join(words)}",
    ]))  # fmt: skip


def configured(given: Given) -> RunConfig:
    """Return the configuration of the run."""
    from matchenv.agents.config_file import parse_pairs
    from matchenv.agents.run_config import configured

    hyperparameters = parse_pairs("hyperparams", list(given.hyperparams))
    algorithm, timesteps = given.algo, given.timesteps
    if given.imitate is not None:
        algorithm, hyperparameters["teacher"] = "imitation", given.imitate
    if given.tune is not None and timesteps is None:
        timesteps = TUNING_TIMESTEPS
    return configured(
        algorithm,
        timesteps=timesteps,
        config_file=given.config,
        hyperparameters=hyperparameters,
        env_kwargs=with_pairs(given.env_kwargs, given.environment()),
        environment=given.env,
        **given.values("num_envs", "seed", "evaluate_every", "evaluation_episodes",
                       "checkpoint_every", "start_from"),
    )  # fmt: skip
