"""Tuning of hyperparameters with Optuna: many short trainings, the bad ones ended early.

Trials are judged on the held-out evaluations of each training, by the sum of true draw densities
less KG's on the same games; no comparison uses these seeds. Everything is in one folder, the
trials in a SQLite file. A tuning that was stopped goes on with the same call, and a trial that was
cut short is played again from its start.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import StorageInternalError
from optuna.trial import Trial, TrialState
from pydantic import StrictBool
from pydantic.dataclasses import dataclass as checked_dataclass
from sqlalchemy.exc import SQLAlchemyError
from tqdm import tqdm

from matchenv.agents.algorithms import Algorithm, algorithm_by_name
from matchenv.agents.callbacks import Recorder
from matchenv.agents.config_file import CLOSED, Number, built, parsed, read_yaml, yaml_text
from matchenv.agents.environments import ONE_PLAYER
from matchenv.agents.policy_file import as_device
from matchenv.agents.run_config import ABOUT_THE_RUN, ENV_KWARGS, RunConfig, configured
from matchenv.agents.training import start_training
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import folder_lock, records_csv, write_bytes, write_text

PACKAGE_FILE = "search_spaces.yml"
# What a tuning cannot vary: all trials play as many games, in the same environments.
FIXED = ("n_timesteps",)

# What a trial is judged by, out of an evaluation.
GOAL = "true_q_less_kg"
STUDY, SETTINGS, BEST, TRIALS = "study.db", "tuning.yml", "best.yml", "trials.csv"

# Trials that are drawn at random and never ended early, to begin with.
STARTUP = 5


@checked_dataclass(frozen=True, config=CLOSED)
class Interval:
    """Numbers from ``low`` to ``high``, whole ones if both are.

    Attributes:
        low: the least.
        high: the greatest, above it.
        log: draw uniformly on a logarithmic scale, for numbers > 0.
    """

    low: Number
    high: Number
    log: StrictBool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"high must be above low, {self.low!r}, got {self.high!r}")
        if self.log and self.low <= 0.0:
            raise ValueError(f"low must be > 0 where log is true, got {self.low!r}")

    def drawn(self, trial: Any, name: str) -> float:
        """A number that Optuna's trial suggests."""
        if all(float(end).is_integer() for end in (self.low, self.high)):
            return int(trial.suggest_int(name, int(self.low), int(self.high), log=self.log))
        return float(trial.suggest_float(name, self.low, self.high, log=self.log))


@dataclass(frozen=True)
class Choices:
    """One out of several numbers or texts.

    Attributes:
        values: at least one.
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        plain = bool | int | float | str | None
        if not self.values or not all(isinstance(value, plain) for value in self.values):
            raise ValueError(
                f"choices must be numbers, texts or truth values, got {list(self.values)}"
            )

    def drawn(self, trial: Any, name: str) -> Any:
        """A value that Optuna's trial suggests."""
        return trial.suggest_categorical(name, self.values)


Space = dict[str, Interval | Choices]


def read_space(algorithm: Algorithm, path: Path | None = None) -> dict[str, Any]:
    """The search space of an algorithm in a YAML file, as plain data.

    Args:
        algorithm: whose hyperparameters they are.
        path: a file of the user's own; None reads the package's.

    Raises:
        ValueError: if the file is missing, no YAML or has no entry for the algorithm.
    """
    content = read_yaml(PACKAGE_FILE, path)
    section = content.get(algorithm.name) if isinstance(content, dict) else None
    if not isinstance(section, dict):
        raise ValueError(
            f"space must have a mapping under {algorithm.name!r}, {path or PACKAGE_FILE} has none"
        )
    return section


def checked_space(algorithm: Algorithm, content: dict[str, Any]) -> Space:
    """A search space from plain data.

    Args:
        algorithm: whose hyperparameters they are.
        content: for each name a list of choices, or ``low``, ``high`` and perhaps ``log``.

    Raises:
        ValueError: for no or an unknown name, or an entry that is neither; it names it.
    """
    known = sorted((algorithm.arguments() | set(ABOUT_THE_RUN)) - set(FIXED))
    if not content:
        raise ValueError(f"space must name a hyperparameter of {', '.join(known)}")
    space: Space = {}
    for name, entry in content.items():
        if name not in known:
            raise ValueError(f"space must have names among {', '.join(known)}; got {name!r}")
        try:
            space[name] = (
                Choices(tuple(entry))
                if isinstance(entry, list)
                else built(Interval, entry, "a list of choices or a mapping")
            )
        except ValueError as error:
            raise ValueError(f"space has a bad entry for {name}: {error}") from None
    return space


@dataclass(frozen=True, kw_only=True)
class AgentTuning:
    """The settings of a tuning.

    Attributes:
        algo: name of the algorithm.
        space: what is varied, as ``checked_space`` takes it.
        timesteps: games of each trial.
        seed: of the search; trial i trains with ``seed + i``.
        num_envs: environments side by side; None as in the file.
        config_file: hyperparameters that are not varied; None takes the package's own.
        hyperparameters: single ones, which go before the file's.
        env_kwargs: of the environment.
        evaluation_episodes: episodes of each evaluation, ten in a trial.
    """

    algo: str
    space: dict[str, Any]
    timesteps: int
    seed: int = 0
    num_envs: int | None = None
    config_file: Path | None = None
    hyperparameters: dict[str, Any]
    env_kwargs: dict[str, Any]
    evaluation_episodes: int = 64

    def checked(self) -> Space:
        """The search space, once everything is seen to be good.

        Raises:
            ValueError: for whatever is bad.
        """
        self.config(0, {})
        return checked_space(algorithm_by_name(self.algo), self.space)

    def config(self, number: int, values: dict[str, Any]) -> RunConfig:
        """The configuration of one trial.

        Args:
            number: of the trial.
            values: what was drawn for it.
        """
        return configured(
            self.algo,
            timesteps=self.timesteps,
            num_envs=self.num_envs,
            seed=as_integer("seed", self.seed, 0) + number,
            config_file=self.config_file,
            hyperparameters={**self.hyperparameters, **values},
            env_kwargs=self.env_kwargs,
            evaluation_episodes=self.evaluation_episodes,
            # A trial that is cut short is played again.
            checkpoint_every=self.timesteps,
        )

    def text(self) -> str:
        """All of it as YAML."""
        plain = {**asdict(self), "config_file": None if self.config_file is None else "given"}
        plain["hyperparameters"] = {
            name: value
            for name, value in self.config(0, {}).hyperparameters.items()
            if name not in ("n_timesteps", "n_envs")
        }
        return yaml_text(plain)


@dataclass(frozen=True)
class Found:
    """What a tuning has found so far.

    Attributes:
        best: the best trial's hyperparameters.
        value: its sum of true draw densities less KG's at the end.
        complete: trials that were trained to their end.
        pruned: trials that were ended early.
        config_file: what ``matchenv train --config`` takes.
    """

    best: dict[str, Any]
    value: float
    complete: int
    pruned: int
    config_file: Path


def tune_agent(
    out: Path, tuning: AgentTuning, trials: int, *, device: str = "cpu", quiet: bool = False
) -> Found:
    """Search for hyperparameters, or go on with a search.

    Args:
        out: the folder, of this search alone.
        tuning: what is searched.
        trials: how many in all, earlier ones included.
        device: where torch computes.
        quiet: no progress bar.

    Returns:
        The best, and how many trials there are.

    Raises:
        ValueError: for bad settings, or a folder that holds another search.
        OSError: if the folder or the database in it cannot be written.
    """
    as_integer("trials", trials, 1)
    as_device(device)
    space = tuning.checked()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with folder_lock(out), _database_errors(out / STUDY):
        _check_same(out, tuning)
        study = _study(out)
        done = sum(trial.state.is_finished() for trial in study.trials)
        with tqdm(total=trials, initial=min(done, trials), unit="trial", disable=quiet) as bar:
            for number in range(done, trials):
                _play_trial(study, out, tuning, space, number, device)
                bar.update()
        return _written(study, out, tuning)


@contextmanager
def _database_errors(file: Path) -> Iterator[None]:
    """Say what the database could not do as the system says it."""
    try:
        yield
    except (SQLAlchemyError, StorageInternalError) as error:
        cause = error.__cause__ if isinstance(error, StorageInternalError) else error
        reason = getattr(cause, "orig", None) or cause or error
        raise OSError(f"{file} could not be written: {reason}") from None


def _study(out: Path) -> optuna.Study:
    # Braces, question marks and the like in a path would mean something in an address.
    connect = partial(sqlite3.connect, (out / STUDY).resolve(), check_same_thread=False)
    return optuna.create_study(
        storage=optuna.storages.RDBStorage(
            f"sqlite:///{STUDY}", engine_kwargs={"creator": connect}
        ),
        study_name="tune-agent",
        direction="maximize",
        pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP),
        load_if_exists=True,
    )


def _check_same(out: Path, tuning: AgentTuning) -> None:
    file, ours = out / SETTINGS, tuning.text()
    if not file.exists():
        write_text(file, ours)
        return
    theirs, wanted = (parsed(text, SETTINGS) for text in (file.read_text("utf-8"), ours))
    differing = [name for name, value in wanted.items() if (theirs or {}).get(name) != value]
    if differing:
        raise ValueError(
            f"out must be a new folder or one of the same search: the one in {out} has another "
            f"{', '.join(differing)}"
        )


def _trial(study: optuna.Study) -> Trial:
    """A new trial, or the one that was cut short: it keeps its values and is played again."""
    # Trials are played one after another, so that at most one was cut short.
    for unfinished in study.get_trials(states=(TrialState.RUNNING,)):
        return Trial(study, unfinished._trial_id)
    return study.ask()


def _play_trial(
    study: optuna.Study, out: Path, tuning: AgentTuning, space: Space, number: int, device: str
) -> None:
    # A sampler of its own for each trial: a search that was stopped then draws the same.
    study.sampler = optuna.samplers.TPESampler(seed=tuning.seed + number, n_startup_trials=STARTUP)
    trial = _trial(study)
    values = {name: each.drawn(trial, name) for name, each in space.items()}
    place = out / "trials" / f"{trial.number:04d}"
    # Whatever a trial that was cut short has left.
    shutil.rmtree(place, ignore_errors=True)
    values_so_far: list[float] = []
    recorder = Recorder(_judge(trial, values_so_far))
    try:
        start_training(
            place,
            tuning.config(trial.number, values),
            device=device,
            quiet=True,
            writers=(recorder,),
        )
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    else:
        study.tell(trial, values_so_far[-1])


def _judge(trial: Trial, values: list[float]) -> Callable[[dict[str, float], int], None]:
    def record(numbers: dict[str, float], step: int) -> None:
        value = numbers.get(f"evaluation/{GOAL}")
        if value is None:
            return
        values.append(value)
        trial.report(value, step)
        if trial.should_prune():
            raise optuna.TrialPruned

    return record


def _written(study: optuna.Study, out: Path, tuning: AgentTuning) -> Found:
    states = [trial.state for trial in study.trials]
    best = study.best_trial
    config = tuning.config(best.number, best.params)
    section = {**config.hyperparameters, ENV_KWARGS: config.env_kwargs}
    write_text(out / BEST, yaml_text({ONE_PLAYER: section}))
    records = [
        {
            "trial": trial.number,
            "state": trial.state.name.lower(),
            "games": max(trial.intermediate_values, default=0),
            GOAL: trial.intermediate_values[max(trial.intermediate_values)]
            if trial.intermediate_values
            else None,
            **{name: trial.params.get(name) for name in tuning.space},
        }
        for trial in study.trials
    ]
    write_bytes(out / TRIALS, records_csv(records))
    return Found(
        best=best.params,
        value=float(best.value or 0.0),
        complete=states.count(TrialState.COMPLETE),
        pruned=states.count(TrialState.PRUNED),
        config_file=out / BEST,
    )
