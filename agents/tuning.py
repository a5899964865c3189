"""Tuning of hyperparameters with Optuna: many short trainings, the bad ones stopped early.

Trials are judged on the held-out evaluations of each training, by the ``goal`` of the environment's
``Problem``; no comparison uses these seeds. Everything is in one folder, written after each
trial. A tuning that was stopped goes on with the same call, and a trial that was cut short is
played again from its start.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial, TrialState, create_trial
from tqdm import tqdm

from matchenv.agents.algorithms import Algorithm
from matchenv.agents.config_file import yaml_text
from matchenv.agents.environments import PROBLEMS
from matchenv.agents.policy_file import as_device
from matchenv.agents.run_config import ABOUT_THE_RUN, ENV_KWARGS, RunConfig
from matchenv.agents.training import Recorder, start_training
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import (
    folder_lock,
    json_bytes,
    read_json,
    records_csv,
    write_bytes,
    write_text,
)

SPACES = "search_spaces.yml"
# All trials play as many games.
FIXED = ("n_timesteps",)

STUDY, BEST, TRIALS = "study.json", "best.yml", "trials.csv"

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
    known = sorted((algorithm.arguments() | set(ABOUT_THE_RUN)) - set(FIXED))
    if not content:
        raise ValueError(f"space must name a hyperparameter of {', '.join(known)}")
    space: dict[str, BaseDistribution] = {}
    for name, entry in content.items():
        if name not in known:
            raise ValueError(f"space must have names among {', '.join(known)}; got {name!r}")
        try:
            space[name] = _distribution(entry)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"space has a bad entry for {name}, which must be a list of choices, or low and "
                f"high and perhaps log: {error}"
            ) from None
    return space


def _distribution(entry: Any) -> BaseDistribution:
    if isinstance(entry, list):
        for choice in entry:
            if not isinstance(choice, bool | int | float | str | None):
                raise ValueError(f"choices must be numbers, texts or truth values, got {choice!r}")
        return CategoricalDistribution(entry)
    ends = [entry["low"], entry["high"]] if {"low", "high"} <= set(entry) else []
    if not ends or set(entry) - {"low", "high", "log"}:
        raise ValueError(f"got {entry!r}")
    if all(float(end).is_integer() for end in ends):
        return IntDistribution(**{**entry, "low": int(ends[0]), "high": int(ends[1])})
    return FloatDistribution(**entry)


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
        trials: how many in all, earlier ones included.
        device: where torch computes.
        quiet: no progress bar.

    Returns:
        Optuna's study; its best hyperparameters are in ``best.yml`` of the folder, for
        ``matchenv train --config``.

    Raises:
        ValueError: for bad settings, or a folder that holds another search.
        OSError: if the folder or the database in it cannot be written.
    """
    as_integer("trials", trials, 1)
    as_device(device)
    space = checked_space(config.known_algorithm(), content)
    # A trial that is cut short is played again, and needs no checkpoint.
    config = replace(config, checkpoint_every=config.timesteps)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search = {**asdict(config), "space": dict(content)}
    del search["versions"]
    with folder_lock(out):
        study = _study(out, json.loads(json.dumps(search)), space)
        done = len(study.trials)
        with tqdm(total=trials, initial=min(done, trials), unit="trial", disable=quiet) as bar:
            for number in range(done, trials):
                seed = config.seed + number
                # A sampler of its own: a search that was stopped then draws the same.
                study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)
                trial = study.ask(space)
                values = {**config.hyperparameters, **trial.params}
                place = out / "trials" / f"{number:04d}"
                # Whatever a trial that was cut short has left.
                shutil.rmtree(place, ignore_errors=True)
                trained = replace(config, seed=seed, hyperparameters=values)
                _play(study, trial, place, trained, device)
                kept = [{"state": each.state.name, "params": each.params,
                         "values": each.intermediate_values} for each in study.trials]  # fmt: skip
                content = {"search": search, "trials": kept}
                write_bytes(out / STUDY, json_bytes(content, checked=True))
                bar.update()
        _write_results(study, out, config)
    return study


def _study(
    out: Path, search: Mapping[str, Any], space: dict[str, BaseDistribution]
) -> optuna.Study:
    """Return the study of a search, with the trials that its file holds."""
    pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTUP)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    file = out / STUDY
    if not file.exists():
        return study
    found = read_json(file)
    theirs = found.get("search", {})
    differing = [name for name, value in search.items() if theirs.get(name) != value]
    if differing:
        raise ValueError(
            f"out must be a new folder or one of the same search: the one in {out} has another "
            f"{', '.join(differing)}"
        )
    for each in found["trials"]:
        values = {int(step): value for step, value in each["values"].items()}
        study.add_trial(
            create_trial(
                state=TrialState[each["state"]], params=each["params"], distributions=space,
                value=values[max(values)], intermediate_values=values,
            )
        )  # fmt: skip
    return study


def _play(study: optuna.Study, trial: Trial, place: Path, config: RunConfig, device: str) -> None:
    values: list[float] = []
    goal = f"evaluation/{PROBLEMS[config.environment].goal}"

    def judge(numbers: dict[str, float], step: int) -> None:
        if goal in numbers:
            values.append(numbers[goal])
            trial.report(values[-1], step)
            if trial.should_prune():
                raise optuna.TrialPruned

    try:
        start_training(place, config, device=device, quiet=True, writers=(Recorder(judge),))
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    else:
        study.tell(trial, values[-1])


def _write_results(study: optuna.Study, out: Path, config: RunConfig) -> None:
    section = {**config.hyperparameters, **study.best_params, ENV_KWARGS: config.env_kwargs}
    write_text(out / BEST, yaml_text({config.environment: section}))
    records, goal = [], PROBLEMS[config.environment].goal
    for number, trial in enumerate(study.trials):
        games, value = max(trial.intermediate_values.items(), default=(0, None))
        records.append({"trial": number, "state": trial.state.name.lower(), "games": games,
                        goal: value, **trial.params})  # fmt: skip
    write_bytes(out / TRIALS, records_csv(records))
