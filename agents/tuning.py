"""Tuning of hyperparameters with Optuna: many short trainings, the bad ones stopped early.

Trials are judged on the held-out evaluations of each training, by the ``goal`` of the environment's
``Problem``; no comparison uses these seeds. Each trial is a run of its own in the folder, which
holds its evaluations. A tuning that was stopped goes on with the same call: trials are drawn and
judged as before, and one that was cut short is played again from its start.
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

from matchenv.agents.config_file import yaml_text
from matchenv.agents.environments import PROBLEMS
from matchenv.agents.policy_file import as_device
from matchenv.agents.run_config import ABOUT_THE_RUN, ENV_KWARGS, Algorithm, RunConfig, RunFolder
from matchenv.agents.training import Recorder, start_training
from matchenv.runtime.checks import as_choice, as_integer
from matchenv.runtime.files import folder_lock, records_csv, write_bytes

SPACES = "search_spaces.yml"

BEST, TRIALS = "best.yml", "trials.csv"

# Trials that are drawn at random and never stopped early, to begin with.
STARTUP = 5


def checked_space(algorithm: Algorithm, content: Mapping[str, Any]) -> dict[str, BaseDistribution]:
    """Return Optuna's distributions of a search space.

    Args:
        algorithm: whose hyperparameters they are.
        content: for each name a list of choices, or ``low``, ``high`` and perhaps ``log``: an
            interval, of whole numbers if both ends are.

    Raises:
        ValueError: for no or an unknown name, or an entry that is neither; it names it.
    """
    # All trials play as many games.
    known = sorted((algorithm.arguments() | set(ABOUT_THE_RUN)) - {"n_timesteps"})
    if not content:
        raise ValueError(f"space must name a hyperparameter of {', '.join(known)}")
    space: dict[str, BaseDistribution] = {}
    for name, entry in content.items():
        as_choice("space", name, known)
        try:
            if isinstance(entry, list):
                space[name] = CategoricalDistribution(entry)
            elif all(float(entry[end]).is_integer() for end in ("low", "high")):
                whole = {end: int(entry[end]) for end in ("low", "high")}
                space[name] = IntDistribution(**{**entry, **whole})
            else:
                space[name] = FloatDistribution(**entry)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"space has a bad entry for {name}, which must be a list of choices, or low and "
                f"high and perhaps log: {error}"
            ) from None
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
    """Search for hyperparameters, or go on with a search.

    Args:
        out: the folder, of this search alone.
        config: of every trial but for what is varied; trial i trains with seed ``config.seed + i``.
        content: what is varied, as ``checked_space``.
        trials: how many in all, those that are there already included.
        device: where torch computes.
        quiet: no progress bar.

    Returns:
        Optuna's study; its best hyperparameters are in ``best.yml`` of the folder, for
        ``matchenv train --config``.

    Raises:
        ValueError: for bad settings, or a folder that holds another search.
        OSError: if the folder cannot be written.
    """
    as_integer("trials", trials, 1)
    as_device(device)
    space = checked_space(config.known_algorithm(), content)
    # A trial that is cut short is played again, and needs no checkpoint.
    config = config.replaced(checkpoint_every=config.timesteps)
    # What no training takes is refused before the first one.
    for name, entry in content.items():
        for value in entry if isinstance(entry, list) else (entry["low"], entry["high"]):
            config.replaced(hyperparameters={**config.hyperparameters, name: value})
    config.replaced(seed=config.seed + trials - 1)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTUP)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    with folder_lock(out):
        for number in tqdm(range(trials), unit="trial", disable=quiet):
            seed = config.seed + number
            # A sampler of its own: a search that was stopped then draws the same.
            study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)
            trial = study.ask(space)
            values = {**config.hyperparameters, **trial.params}
            trained = config.replaced(seed=seed, hyperparameters=values)
            _play(study, trial, RunFolder(out / "trials" / f"{number:04d}"), trained, device)
        _write_results(study, out, config)
    return study


def _play(
    study: optuna.Study, trial: Trial, folder: RunFolder, config: RunConfig, device: str
) -> None:
    """Train and judge one trial; evaluations that are there already are judged again."""
    values: dict[int, float] = {}
    goal = f"evaluation/{PROBLEMS[config.environment].goal}"

    def judge(numbers: dict[str, float], step: int) -> None:
        if goal in numbers and step not in values:
            values[step] = numbers[goal]
            trial.report(values[step], step)
            if trial.should_prune():
                raise optuna.TrialPruned

    folder.check_new(config)
    with folder_lock(folder.path):  # removes what a killed process left there
        before = folder.read_evaluations()
    try:
        for each in before:
            judge({f"evaluation/{name}": value for name, value in each.items()}, each["timesteps"])
        if not folder.policy_file.exists():
            recorder = Recorder(judge)
            start_training(folder.path, config, device=device, quiet=True, writers=(recorder,))
    except (optuna.TrialPruned, FloatingPointError):
        study.tell(trial, state=TrialState.PRUNED)
    else:
        study.tell(trial, values[max(values)])


def _write_results(study: optuna.Study, out: Path, config: RunConfig) -> None:
    section = {**config.hyperparameters, **study.best_params, ENV_KWARGS: config.env_kwargs}
    write_bytes(out / BEST, yaml_text({config.environment: section}).encode())
    records, goal = [], PROBLEMS[config.environment].goal
    for number, trial in enumerate(study.trials):
        games, value = max(trial.intermediate_values.items(), default=(0, None))
        records.append({"trial": number, "state": trial.state.name.lower(), "games": games,
                        goal: value, **trial.params})  # fmt: skip
    write_bytes(out / TRIALS, records_csv(records))
