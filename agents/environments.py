"""Environments of a training: settings, checks and evaluations; imports no torch.

What a training needs to know of an environment is a ``Training``, which the environment's record
names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from matchenv.belief import DEFAULT_BELIEF
from matchenv.envs import environment_named, simulator_of
from matchenv.envs.core.settings import Options
from matchenv.envs.one_player.settings import ANY, RANKS, Settings
from matchenv.evaluation.estimates import estimate, paired_difference
from matchenv.evaluation.protocols import LOADS, protocol_of
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import REWARD, Summary, rollout, sums
from matchenv.runtime.checks import hint_of, shown
from matchenv.runtime.files import Arrays
from matchenv.runtime.object_spec import is_object_spec

# Options of an environment by name. A list has the values of several environments.
Kwargs = dict[str, Any]

# The environment of trainings and policy files that name none.
DEFAULT_ENVIRONMENT = Settings.env_id


def list_cells(options: Kwargs, _: list[Any]) -> Kwargs:
    """Return the options that are lists, removed from ``options``."""
    names = [name for name, value in options.items() if isinstance(value, list)]
    return {name: options.pop(name) for name in names}


def rank_cells(options: Kwargs, settings: list[Any]) -> Kwargs:
    """Return ranks and priors of ``Matchmaking-v0``, removed from ``options``.

    A training on every rank is compared at the top, in the middle and at the bottom, if the prior
    means or the true skills always tell these places apart.
    """
    ranks = values_of(options.pop("rank", None))
    priors = []
    for prior in values_of(options.pop("prior", None)):
        priors.append(Settings.prior if prior is None else prior)
    any_rank = set(ranks) <= {None, ANY}
    if any_rank and all(_has_ranks(cell) for cell in settings):
        ranks = list(RANKS)
    return {"rank": ranks, "prior": priors}


def _has_ranks(settings: Settings) -> bool:
    """Return whether players differ in what ranks are by."""
    return settings.rank_by == "true_skill" or settings.prior_type.means_differ


def load_cells(options: Kwargs, settings: list[Any]) -> Kwargs:
    """Return the loads of the queue, removed from ``options``, whose lists of one value end."""
    options.pop("arrival_rate", None)
    for name, value in options.items():
        if isinstance(value, list) and len(value) == 1:
            options[name] = value[0]
    names = {rate: name for name, rate in LOADS.items()}
    loads = dict.fromkeys(cell.arrival_rate for cell in settings)
    return {"load": [names.get(load, load) for load in loads]}


@dataclass(frozen=True)
class Training:
    """How a training in an environment is evaluated and compared.

    Attributes:
        rivals: baselines in the evaluations of a training, the most important one first.
        same: options that all environments of a training share.
        means: columns whose means are reported too.
        difference: name of the difference to a rival in an evaluation.
        part: format of the name of a combination that is reported on its own, "" for all together.
            Returns are then relative to the first rival's, to weigh all combinations equally.
        opponents: policies in the final comparison; empty for those of the protocol.
        cells: moves the options that vary in the final comparison out of the keyword arguments.
        summary: summary of a rollout; None for that of the protocol.
    """

    rivals: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    means: tuple[str, ...] = ()
    difference: str = "less"
    part: str = ""
    opponents: tuple[str, ...] = ()
    cells: Callable[[Kwargs, list[Any]], Kwargs] = list_cells
    summary: Summary | None = None

    @property
    def goal(self) -> str:
        """The evaluation's entry that a hyperparameter search maximises."""
        if self.part or not self.rivals:
            return "mean_return"
        return f"{self.difference}_{self.rivals[0]}"


# Environments whose record names no training.
GENERAL = Training()

ONE_PLAYER_TRAINING = Training(
    rivals=("kg", "drawchance"),
    same=("num_opponents", "belief", "availability", "horizon", "beta"),
    means=("draw_density", "true_draw_density"),
    difference="true_q_less",
    cells=rank_cells,
    summary=sums,
)

QUEUE_TRAINING = Training(
    rivals=("matching",),
    same=("num_sides", "side_size", "capacity", "horizon", "beta"),
    means=("true_reward",),
    part="{0.rate_name}",
    opponents=("fcfs", "drawchance", "matching"),
    cells=load_cells,
)

RANKING_TRAINING = Training(
    rivals=("kg", "information"),
    same=("num_items", "horizon", "beta", "goal", "k", "max_games_per_pair", "barred_pairs"),
    means=("expected_loss", "true_loss", "kendall_tau"),
    opponents=("random", "information", "shrinkage", "kg"),
    summary=sums,
)


def training_of(env_id: str) -> Training:
    """Return how a training in an environment is evaluated.

    Raises:
        ValueError: for an unknown environment; the known ones are listed.
    """
    training: Training = environment_named(env_id).part("training") or GENERAL
    return training


def values_of(value: Any) -> list[Any]:
    """Return the values of an option: a list, or the only one."""
    return value if isinstance(value, list) else [value]


def combinations(env_kwargs: Mapping[str, Any]) -> list[Kwargs]:
    """Return the options of each combination of the values that are lists.

    Raises:
        ValueError: for an empty list.
    """
    choices = []
    for name, value in env_kwargs.items():
        if isinstance(value, list) and not value:
            raise ValueError(f"{name} must list at least one value, got []")
        choices.append(values_of(value))
    return [dict(zip(env_kwargs, values, strict=True)) for values in product(*choices)]


def settings_of(environment: str, env_kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the checked settings of each combination; imports the classes that they name.

    Args:
        environment: its name in Gymnasium.
        env_kwargs: options of the environment; lists as in ``MatchmakingVecEnv``.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a bad value or one that no file
            can hold, or a list of an option that all environments share.
    """
    settings_type = environment_named(environment).part("settings")
    _check_values(env_kwargs, [declared.name for declared in fields(settings_type)])
    settings: list[Any] = []
    for options in combinations(env_kwargs):
        settings.append(settings_type.checked(**options))
    for name in training_of(environment).same:
        if len({getattr(cell, name) for cell in settings}) > 1:
            raise ValueError(f"{name} must be the same in all environments, got a list")
    check_sizes({cell.observation_size for cell in settings}, env_kwargs)
    return settings


def _check_values(env_kwargs: Mapping[str, Any], known: list[str]) -> None:
    """Check the names of options, and that the file of a run can keep their values."""
    for name, value in env_kwargs.items():
        if name not in known:
            hint = hint_of(name, known)
            raise ValueError(f"env_kwargs must be among {', '.join(known)}; got {name!r}{hint}")
        for single in values_of(value):
            if not isinstance(single, str | None) and not _is_numbers(single):
                raise ValueError(
                    "env_kwargs must be names and numbers, which the folder of a training can "
                    "keep, or lists of values (of numbers: lists of lists), got "
                    f"{name}={shown(single)}"
                )


def _is_numbers(value: Any) -> bool:
    """Return whether a value is a number or nested lists of numbers."""
    if isinstance(value, list):
        return all(_is_numbers(element) for element in value)
    return isinstance(value, int | float)


def check_sizes(sizes: set[int], env_kwargs: Mapping[str, Any]) -> None:
    """Check that the observations of all environments have one size.

    Raises:
        ValueError: for several sizes; it names the options that are lists.
    """
    if len(sizes) > 1:
        lists = " and ".join(lists_in(env_kwargs))
        raise ValueError(f"{lists} must give observations of one size, got {sorted(sizes)}")


def lists_in(env_kwargs: Mapping[str, Any]) -> list[str]:
    """Return the names of the options that are lists."""
    return [name for name, value in env_kwargs.items() if isinstance(value, list)]


def has_masks(settings: Options) -> bool:
    """Return whether some actions of an environment can be forbidden."""
    simulator = simulator_of(settings)
    return simulator.masks(simulator.new_state(1)) is not None


def settings_without_code(
    environment: str, env_kwargs: Mapping[str, Any], kept: Container[str] = ()
) -> Any:
    """Return the checked settings of a file without the classes that it names.

    A policy plays without them, except for ``kept`` options, and reading a file imports nothing.
    Lists stand for their first value.
    """
    plain = {
        name: value
        for name, value in env_kwargs.items()
        if name in kept or not _names_code(values_of(value))
    }
    return settings_of(environment, plain)[0]


def _names_code(values: Iterable[Any]) -> bool:
    return any(is_object_spec(value) for value in values)


def _names_file(values: Iterable[Any]) -> bool:
    return any(isinstance(value, str) and os.path.isfile(value) for value in values)


def portable_options(environment: str, env_kwargs: Mapping[str, Any]) -> Kwargs:
    """Return options that name no files or classes, for a network that reads the same numbers.

    Each such value is replaced by that of ``Options.plain_options``, or left out if it has none.
    """
    first = combinations(env_kwargs)[0]
    portable = {}
    for name, value in env_kwargs.items():
        values = values_of(value)
        if not _names_code(values) and not _names_file(values):
            portable[name] = value
            continue
        replacements = []
        for settings in settings_of(environment, {**first, name: value}):
            plain = settings.plain_options()
            if name in plain:
                replacements.append(plain[name])
        if replacements:
            portable[name] = replacements
    return portable


@dataclass(frozen=True)
class HeldOutGames:
    """Evaluation episodes, which the ``rivals`` of the environment's ``Training`` play too.

    Args:
        environment: its name in Gymnasium.
        env_kwargs: options of the environment; lists as in ``MatchmakingVecEnv``.
        episodes: number for each combination, >= 2; episode i has the environment seed
            ``seed + i``.
        seed: seed of the first episode, >= 0.
    """

    environment: str
    env_kwargs: Mapping[str, Any]
    episodes: int
    seed: int

    @cached_property
    def training(self) -> Training:
        """How trainings in this environment are evaluated."""
        return training_of(self.environment)

    @cached_property
    def settings(self) -> list[Any]:
        """The settings of each combination."""
        return settings_of(self.environment, self.env_kwargs)

    @cached_property
    def rivals(self) -> dict[str, Arrays]:
        """The results of ``played`` for the rivals."""
        return {rival: self.played(rival) for rival in self.training.rivals}

    def played(self, policy: Any) -> Arrays:
        """Return the totals of each episode by name, shape (combinations, episodes, ...).

        Args:
            policy: a deterministic policy, or the name of a baseline.
        """
        seeds = range(self.seed, self.seed + self.episodes)
        totals = []
        for settings in self.settings:
            player = policy
            if isinstance(policy, str):
                if hasattr(settings, "belief_type"):
                    settings = replace(settings, belief=DEFAULT_BELIEF)
                player = policy_named(policy, settings)
            totals.append(rollout(player, settings, seeds, summary=self.training.summary))
        return {name: np.stack([total[name] for total in totals]) for name in totals[0]}

    def evaluate(self, policy: Any) -> dict[str, float | int]:
        """Return mean totals of an episode.

        Args:
            policy: a deterministic policy; it reads the belief of its attribute ``belief``.

        Returns:
            ``episodes``, ``mean_return`` (the mean sum of rewards; in the queue the true reward
            relative to the first rival's, 1 if they are equal) and ``standard_error``; the
            ``means`` of the ``Training``; and for each rival the mean difference in the protocol's
            ``measure``, as ``true_q_less_kg``, with the ends ``true_q_less_kg_low`` and
            ``true_q_less_kg_high`` of its paired 95 % interval. Combinations share seeds, so an
            episode counts once, with its mean over them. The queue has means and differences for
            each arrival rate or day, as ``less_matching_rate_1``.
        """
        totals = self.played(policy)
        measure = protocol_of(self.environment).measure
        returns = totals[REWARD]
        if self.training.part:
            first = self.rivals[self.training.rivals[0]]
            usual = first[measure].mean(axis=1, keepdims=True)
            returns = 1.0 + (totals[measure] - usual) / abs(usual)
        returns = returns.mean(axis=0)
        result: dict[str, float | int] = {
            "episodes": self.episodes,
            "mean_return": float(returns.mean()),
            "standard_error": estimate(returns).standard_error,
        }
        for suffix, rows in self._reported_parts().items():
            for column in self.training.means:
                result[f"{column}{suffix}"] = float(totals[column][rows].mean(axis=0).mean())
            for rival, rival_totals in self.rivals.items():
                name = f"{self.training.difference}_{rival}{suffix}"
                difference = paired_difference(
                    totals[measure][rows].mean(axis=0), rival_totals[measure][rows].mean(axis=0)
                )
                result[name] = difference.mean
                result[f"{name}_low"] = difference.low
                result[f"{name}_high"] = difference.high
        return result

    def _reported_parts(self) -> dict[str, list[int]]:
        """Return the combinations that are reported together, by the end of their names."""
        if not self.training.part:
            return {"": list(range(len(self.settings)))}
        parts: dict[str, list[int]] = {}
        for row, settings in enumerate(self.settings):
            suffix = "_" + self.training.part.format(settings)
            parts.setdefault(suffix, []).append(row)
        return parts
