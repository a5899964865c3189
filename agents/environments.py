"""Environments of a training: settings, checks and evaluations; imports no torch.

Each environment has an entry in ``PROBLEMS``. A new environment needs an entry there and a reader
of its observations in ``matchenv.agents.network``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from matchenv.belief import DEFAULT_BELIEF
from matchenv.envs import environment_named
from matchenv.envs.one_player.settings import ANY, RANKS, Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.estimates import estimate, paired_difference
from matchenv.evaluation.protocols import LOADS, protocol_of
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE, RANKING, policy_named
from matchenv.evaluation.rollout import REWARD, Summary, rollout, sums
from matchenv.runtime.checks import as_choice, shown
from matchenv.runtime.files import Arrays
from matchenv.runtime.object_spec import is_object_spec

Kwargs = dict[str, Any]


def _places(options: Kwargs, settings: list[Any]) -> Kwargs:
    """Return the cells of ``Matchmaking-v0``.

    A training on every rank is compared at the top, in the middle and at the bottom, if the prior
    means or the true skills always tell these places apart.
    """
    ranks, priors = (_list_of(options.pop(name, None)) for name in ("rank", "prior"))
    has_places = all(each.rank_by == "true_skill" or each.prior_type.means_differ
                     for each in settings)  # fmt: skip
    return {
        "rank": list(RANKS) if {*ranks} <= {None, ANY} and has_places else ranks,
        "prior": [Settings.prior if prior is None else prior for prior in priors],
    }


def _loads(options: Kwargs, _: list[Any]) -> Kwargs:
    """Return the cells of the queue."""
    rates = _list_of(options.pop("arrival_rate", QueueSettings.arrival_rate))
    names = {rate: name for name, rate in LOADS.items()}
    return {"load": [names.get(float(rate), f"{rate:g}") for rate in rates]}


def _lists(options: Kwargs, _: list[Any]) -> Kwargs:
    """Return the options that are lists."""
    return {name: options.pop(name) for name in [*options] if isinstance(options[name], list)}


class Problem(NamedTuple):
    """Training in one environment.

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

    rivals: tuple[str, ...]
    same: tuple[str, ...]
    means: tuple[str, ...] = ()
    difference: str = "less"
    part: str = ""
    opponents: tuple[str, ...] = ()
    cells: Callable[[Kwargs, list[Any]], Kwargs] = _lists
    summary: Summary | None = None

    @property
    def goal(self) -> str:
        """The evaluation's entry that a hyperparameter search maximises."""
        return "mean_return" if self.part else f"{self.difference}_{self.rivals[0]}"


PROBLEMS: dict[str, Problem] = {
    ONE_PLAYER: Problem(
        rivals=("kg", "drawchance"),
        same=("num_opponents", "belief", "availability", "horizon", "beta"),
        means=("draw_density", "true_draw_density"),
        difference="true_q_less",
        cells=_places,
        summary=sums,
    ),
    QUEUE: Problem(
        rivals=("matching",),
        same=("capacity", "horizon", "beta"),
        means=("true_reward",),
        part="rate_{0.arrival_rate:g}",
        opponents=("fcfs", "drawchance", "matching"),
        cells=_loads,
    ),
    RANKING: Problem(
        rivals=("kg", "information"),
        same=("num_items", "horizon", "beta", "goal", "k", "max_games_per_pair", "barred_pairs"),
        means=("expected_loss", "true_loss", "kendall_tau"),
        opponents=("random", "information", "shrinkage", "kg"),
        summary=sums,
    ),
}


def combinations(env_kwargs: Mapping[str, Any]) -> list[Kwargs]:
    """Return the options of each combination of the values that are lists.

    Raises:
        ValueError: for an empty list.
    """
    for name, value in env_kwargs.items():
        if isinstance(value, list) and not value:
            raise ValueError(f"{name} must list at least one value, got []")
    values = product(*map(_list_of, env_kwargs.values()))
    return [dict(zip(env_kwargs, cell, strict=True)) for cell in values]


def settings_of(environment: str, env_kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the checked settings of each combination; imports the classes that they name.

    Args:
        environment: its name in Gymnasium.
        env_kwargs: options of the environment; lists as in ``MatchmakingVecEnv``.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a bad value or one that no file
            can hold, or a list of an option that all environments share.
    """
    as_choice("environment", environment, PROBLEMS)
    kind = environment_named(environment).part("settings")
    known = [field.name for field in fields(kind)]
    for name, value in env_kwargs.items():
        if name not in known:
            raise ValueError(f"env_kwargs must be among {', '.join(known)}; got {name!r}")
        for each in _list_of(value):
            if not isinstance(each, str | None) and not _is_numbers(each):
                raise ValueError(
                    "env_kwargs must be names and numbers, which the folder of a training can "
                    "keep, or lists of values (of numbers: lists of lists), got "
                    f"{name}={shown(each)}"
                )
    settings: list[Any] = [kind.checked(**cell) for cell in combinations(env_kwargs)]
    for name in PROBLEMS[environment].same:
        if len({getattr(each, name) for each in settings}) > 1:
            raise ValueError(f"{name} must be the same in all environments, got a list")
    check_sizes({each.observation_size for each in settings}, env_kwargs)
    return settings


def check_sizes(sizes: set[int], env_kwargs: Mapping[str, Any]) -> None:
    """Check that the observations of all environments have one size.

    Raises:
        ValueError: for several sizes; it names the options that are lists.
    """
    if len(sizes) > 1:
        lists = " and ".join(name for name, value in env_kwargs.items() if isinstance(value, list))
        raise ValueError(f"{lists} must give observations of one size, got {sorted(sizes)}")


def settings_without_code(
    environment: str, env_kwargs: Mapping[str, Any], kept: Container[str] = ()
) -> Any:
    """Return the checked settings of a file without the classes that it names.

    A policy plays without them, except for ``kept`` options, and reading a file imports nothing.
    Lists stand for their first value.
    """
    plain = {name: value for name, value in env_kwargs.items()
             if name in kept or not any(map(is_object_spec, _list_of(value)))}  # fmt: skip
    return settings_of(environment, plain)[0]


def named_files(env_kwargs: Mapping[str, Any]) -> list[Path]:
    """Return the files that options name."""
    texts = (each for value in env_kwargs.values() for each in _list_of(value))
    return sorted({Path(each) for each in texts if isinstance(each, str) and os.path.isfile(each)})


def without_files(environment: str, env_kwargs: Mapping[str, Any]) -> Kwargs:
    """Return options that name no files, and for which a network reads the same numbers."""
    options = dict(env_kwargs)
    if environment == RANKING:
        options.pop("skills", None)  # no observation depends on them
    populations = _list_of(options.get("population"))
    if environment == QUEUE and (
        any(map(is_object_spec, populations)) or named_files({"": populations})
    ):
        cells = settings_of(environment, {"population": options["population"]})
        options["population"] = [[[cell.population.mean], [cell.population.deviation]]
                                 for cell in cells]  # fmt: skip
    return options


@dataclass(frozen=True)
class HeldOutGames:
    """Evaluation episodes, which the ``rivals`` of the environment's ``Problem`` play too.

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
    def rivals(self) -> dict[str, Arrays]:
        """The results of ``played`` for the rivals."""
        return {rival: self.played(rival) for rival in PROBLEMS[self.environment].rivals}

    def played(self, policy: Any) -> Arrays:
        """Return the totals of each episode by name, shape (combinations, episodes, ...).

        Args:
            policy: a deterministic policy, or the name of a baseline.
        """
        seeds = range(self.seed, self.seed + self.episodes)
        totals, summary = [], PROBLEMS[self.environment].summary
        for settings in settings_of(self.environment, self.env_kwargs):
            if isinstance(policy, str) and hasattr(settings, "belief_type"):
                settings = replace(settings, belief=DEFAULT_BELIEF)

            player = policy
            if isinstance(policy, str):
                player = policy_named(policy, settings)
            totals.append(rollout(player, settings, seeds, summary=summary))
        return {name: np.stack([each[name] for each in totals]) for name in totals[0]}

    def evaluate(self, policy: Any) -> dict[str, float | int]:
        """Return mean totals of an episode.

        Args:
            policy: a deterministic policy; it reads the belief of its attribute ``belief``.

        Returns:
            ``episodes``, ``mean_return`` (the mean sum of rewards; in the queue the true reward
            relative to the first rival's, 1 if they are equal) and ``standard_error``; the
            ``means`` of the ``Problem``; and for each rival the mean difference in the protocol's
            ``measure``, as ``true_q_less_kg``, with the ends ``true_q_less_kg_low`` and
            ``true_q_less_kg_high`` of its paired 95 % interval. Combinations share seeds, so an
            episode counts once, with its mean over them. The queue has means and differences for
            each arrival rate.
        """
        problem, ours = PROBLEMS[self.environment], self.played(policy)
        measure = protocol_of(self.environment).measure
        parts: dict[str, list[int]] = {}
        for k, cell in enumerate(settings_of(self.environment, self.env_kwargs)):
            name = f"_{problem.part.format(cell)}" if problem.part else ""
            parts.setdefault(name, []).append(k)
        returns = ours[REWARD]
        if problem.part:
            first = self.rivals[problem.rivals[0]][measure].mean(axis=1, keepdims=True)
            returns = 1.0 + (ours[measure] - first) / abs(first)
        returns = returns.mean(axis=0)
        result: dict[str, float | int] = {
            "episodes": self.episodes,
            "mean_return": float(returns.mean()),
            "standard_error": estimate(returns).standard_error,
        }
        for name, part in parts.items():
            for column in problem.means:
                result[f"{column}{name}"] = float(ours[column][part].mean(axis=0).mean())
            for rival, theirs in self.rivals.items():
                pair = (side[measure][part].mean(axis=0) for side in (ours, theirs))
                difference, title = paired_difference(*pair), f"{problem.difference}_{rival}{name}"
                result[title] = difference.mean
                result[f"{title}_low"], result[f"{title}_high"] = difference.low, difference.high
        return result


def _is_numbers(value: Any) -> bool:
    return isinstance(value, int | float) or (
        isinstance(value, list) and all(map(_is_numbers, value))
    )


def _list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
