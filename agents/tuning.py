"""Hyperparameter search with Optuna: many short trainings, of which poor ones are stopped early.

Trials are judged by the ``goal`` of the environment's ``Training`` in their held-out evaluations,
with seeds that no comparison uses. All have the seed of the search, and so the same held-out
episodes. Each trial is a run in the search's folder. An interrupted search continues with the same
call: finished trials are judged again from their evaluations, and an unfinished one is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial, TrialState
from tqdm import tqdm

from matchenv.agents.environments import training_of
from matchenv.agents.learned_names import CONFIG
from matchenv.agents.policy_file import as_device
from matchenv.agents.run_config import (
    ABOUT_THE_RUN,
    ENV_KWARGS,
    LARGEST_SEED,
    RunConfig,
    RunFolder,
    hyperparameter_names,
)
from matchenv.agents.training import Recorder, start_training
from matchenv.runtime.checks import as_choice, as_integer, errors_named
from matchenv.runtime.files import folder_lock, records_csv, write_bytes
from matchenv.runtime.yaml_values import yaml_text

# Files in the folder of a search.
BEST = "best.yml"
TRIALS = "trials.csv"

# Initial trials, which are drawn at random and never stopped early.
STARTUP = 5


def checked_space(algo: str, content: Mapping[str, Any]) -> dict[str, BaseDistribution]:
    """Return a search space as Optuna's distributions.

    Args:
        algo: name of the algorithm.
        content: for each hyperparameter a list of choices, or an interval with ``low``, ``high``
            and optionally ``log``; of integers if both ends are written so.

    Raises:
        ValueError: for no or an unknown hyperparameter, or a bad entry; the message names it.
    """
    # All trials have an equal number of timesteps.
    known = sorted((hyperparameter_names(algo) | set(ABOUT_THE_RUN)) - {"n_timesteps"})
    if not content:
        raise ValueError(f"space must name a hyperparameter of {', '.join(known)}")
    space: dict[str, BaseDistribution] = {}
    for name, values in content.items():
        as_choice("space", name, known)
        rule = "which must be a list of choices, or low, high and optionally log"
        with errors_named(f"space has a bad entry for {name}, {rule}"):
            if isinstance(values, list):
                space[name] = CategoricalDistribution(values)
            elif isinstance(values["low"], int) and isinstance(values["high"], int):
                space[name] = IntDistribution(**values)
            else:
                space[name] = FloatDistribution(**values)
    return space


def tune_agent(
    out: Path,
    config: RunConfig,
    content: Mapping[str, Any],
    trials: int,
    *,
    device: str = "cpu",
    quiet: bool = False,
) -> optuna.Study:
    """Search for hyperparameters, or continue a search.

    Args:
        out: folder of the search.
        config: configuration of all trials except for what varies.
        content: search space, as for ``checked_space``.
        trials: total number of trials, including those that the folder holds.
        device: device of torch.
        quiet: show no progress bar.

    Returns:
        Optuna's study. The best hyperparameters are in ``best.yml`` of the folder, for
        ``matchenv train --config``.

    Raises:
        ValueError: for bad settings, or a folder that holds another search or more trials.
        OSError: if the folder cannot be written.
    """
    as_integer("trials", trials, 1)
    as_device(device)
    space = checked_space(config.algorithm, content)
    # An unfinished trial is repeated, so it needs no checkpoint.
    config = config.replaced(checkpoint_every=config.timesteps)
    _check_values(config, content)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=1)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    with folder_lock(out):
        held = len([*out.glob(f"trials/*/{CONFIG}")])
        if trials < held:
            raise ValueError(f"trials must be at least {held}, the number in {out}, got {trials}")
        for number in tqdm(range(trials), unit="trial", disable=quiet):
            # With a sampler for each trial, a continued search draws the same values.
            seed = (config.seed + number) % (LARGEST_SEED + 1)
            study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)
            trial = study.ask(space)
            run = config.replaced(hyperparameters={**config.hyperparameters, **trial.params})
            folder = RunFolder(out / "trials" / f"{number:04d}")
            differing = folder.differences(run)
            if differing:
                raise ValueError(
                    "out must be a new folder or one of the same search, and the search in "
                    f"{out} differs in {', '.join(differing)}: rerun with its options, or choose "
                    "another folder"
                )
            _play(study, trial, folder, run, device)
        _write_results(study, out, config)
    return study


def _check_values(config: RunConfig, content: Mapping[str, Any]) -> None:
    """Check all choices and the ends of intervals, before the first trial."""
    for name, values in content.items():
        ends = values
        if isinstance(values, dict):
            ends = [values["low"], values["high"]]
        for value in ends:
            config.replaced(hyperparameters={**config.hyperparameters, name: value})


def _play(
    study: optuna.Study, trial: Trial, folder: RunFolder, config: RunConfig, device: str
) -> None:
    """Train and judge one trial, beginning with its earlier evaluations."""
    values: dict[int, float] = {}
    goal = f"evaluation/{training_of(config.environment).goal}"

    def judge(numbers: dict[str, float], step: int) -> None:
        if goal in numbers and step not in values:
            values[step] = numbers[goal]
            trial.report(values[step], step)
            if trial.should_prune():
                raise optuna.TrialPruned

    with folder_lock(folder.path):  # removes temporary files of a killed process
        before = folder.read_evaluations()
    try:
        for evaluation in before:
            tags = {f"evaluation/{name}": value for name, value in evaluation.items()}
            judge(tags, evaluation["timesteps"])
        if not folder.policy_file.exists():
            recorder = Recorder(judge)
            start_training(folder.path, config, device=device, quiet=True, writers=(recorder,))
    except (optuna.TrialPruned, FloatingPointError):
        study.tell(trial, state=TrialState.PRUNED)
    else:
        study.tell(trial, values[max(values)])


def _write_results(study: optuna.Study, out: Path, config: RunConfig) -> None:
    goal = training_of(config.environment).goal
    records = []
    for number, trial in enumerate(study.trials):
        games, value = max(trial.intermediate_values.items(), default=(0, None))
        record = {"trial": number, "state": trial.state.name.lower(), "games": games, goal: value}
        records.append({**record, **trial.params})
    write_bytes(out / TRIALS, records_csv(records))
    if not any(trial.state is TrialState.COMPLETE for trial in study.trials):
        raise FloatingPointError(
            "all trials diverged to numbers that are not finite; try smaller learning rates or "
            "another unit of skill"
        )
    section = {**config.hyperparameters, **study.best_params, ENV_KWARGS: config.env_kwargs}
    write_bytes(out / BEST, yaml_text({config.environment: section}).encode())
