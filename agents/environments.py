"""Environments of a training: settings, checks and evaluations; without torch.

``PROBLEMS`` has a row for each environment. A new environment is a row there, and a reader of its
observations in ``matchenv.agents.network``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from matchenv.belief import DEFAULT_BELIEF
from matchenv.envs import ENVIRONMENTS, part_of
from matchenv.envs.one_player.settings import RANKS, Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.estimates import estimate, paired_difference
from matchenv.evaluation.protocols import LOADS
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE, RANKING, policy_named
from matchenv.evaluation.rollout import REWARD, Summary, rollout, sums
from matchenv.runtime.checks import as_choice
from matchenv.runtime.files import Arrays
from matchenv.runtime.object_spec import is_object_spec

Kwargs = dict[str, Any]


def _places(listed: Kwargs, settings: Any) -> Kwargs:
    """Return the cells of ``Matchmaking-v0``.

    A training on every rank is judged at the top, in the middle and at the bottom; where the prior
    means do not tell these places apart, on every rank too.
    """
    ranks, priors = (_list_of(listed.pop(name, None)) for name in ("rank", "prior"))
    has_places = settings.rank_by == "true_skill" or settings.prior_type.means_differ
    return {
        "rank": list(RANKS) if ranks == [None] and has_places else ranks,
        "prior": [Settings.prior if prior is None else prior for prior in priors],
    }


def _loads(listed: Kwargs, _: Any) -> Kwargs:
    """Return the cells of the queue."""
    rates = _list_of(listed.pop("arrival_rate", QueueSettings.arrival_rate))
    names = {rate: name for name, rate in LOADS.items()}
    return {"load": [names.get(float(rate), f"{rate:g}") for rate in rates]}


def _lists(listed: Kwargs, _: Any) -> Kwargs:
    """Return the options that are lists."""
    return {name: listed.pop(name) for name in dict(listed) if isinstance(listed[name], list)}


class Problem(NamedTuple):
    """Training in one environment.

    Attributes:
        rivals: baselines that a training is compared with while it runs, the one that counts first.
        same: options that all environments of a training share.
        measure: column of a rollout that policies are judged by.
        means: columns whose means are reported too.
        difference: name of the difference to a rival in an evaluation.
        part: format of the name of a combination that is reported apart, "" for all together. Then
            returns are shares of the first rival's, so that all combinations count alike.
        opponents: policies in the final comparison; none for those of the protocol.
        cells: moves what the comparison varies out of the keyword arguments, given the settings.
        summary: of an evaluation; None for that of the protocol.
    """

    rivals: tuple[str, ...]
    same: tuple[str, ...]
    measure: str = REWARD
    means: tuple[str, ...] = ()
    difference: str = "less"
    part: str = ""
    opponents: tuple[str, ...] = ()
    cells: Callable[[Kwargs, Any], Kwargs] = _lists
    summary: Summary | None = None

    @property
    def goal(self) -> str:
        """The number of an evaluation that a search for hyperparameters maximises."""
        return "mean_return" if self.part else f"{self.difference}_{self.rivals[0]}"


PROBLEMS: dict[str, Problem] = {
    ONE_PLAYER: Problem(
        rivals=("kg", "drawchance"),
        same=("num_opponents", "belief", "availability", "horizon", "beta"),
        measure="true_draw_density",
        means=("draw_density", "true_draw_density"),
        difference="true_q_less",
        cells=_places,
        summary=sums,
    ),
    QUEUE: Problem(
        rivals=("matching",),
        same=("capacity", "horizon", "beta"),
        measure="true_reward",
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
    ),
}


def combinations(env_kwargs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the keyword arguments of each combination of the values that are lists.

    Raises:
        ValueError: for an empty list.
    """
    listed = {name: each for name, each in env_kwargs.items() if isinstance(each, list)}
    for name, values in listed.items():
        if not values:
            raise ValueError(f"{name} must list at least one value, got []")
    chosen = (dict(zip(listed, values, strict=True)) for values in product(*listed.values()))
    return [{**env_kwargs, **each} for each in chosen]


def settings_of(environment: str, env_kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the checked settings of each combination; imports the classes that are named.

    Args:
        environment: its name in Gymnasium.
        env_kwargs: keyword arguments of the environment; lists as ``MatchmakingVecEnv``.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a bad value, one that a file
            cannot hold, or combinations whose observations differ in size.
    """
    as_choice("environment", environment, ENVIRONMENTS)
    kind = part_of(environment, "settings")
    known = [each.name for each in fields(kind)]
    for given, value in env_kwargs.items():
        if given not in known:
            raise ValueError(f"env_kwargs must be among {', '.join(known)}; got {given!r}")
        for each in _list_of(value):
            if not isinstance(each, bool | int | float | str | None):
                raise ValueError(
                    "env_kwargs must be names and numbers, which the folder of a training can "
                    f"keep, got {given}={each!r}"
                )
    found: list[Any] = [kind.checked(**cell) for cell in combinations(env_kwargs)]
    for name in PROBLEMS[environment].same:
        if len({getattr(each, name) for each in found}) > 1:
            raise ValueError(f"{name} must be the same in all environments, got a list")
    return found


def settings_without_code(environment: str, env_kwargs: Mapping[str, Any]) -> Any:
    """Return the checked settings of a file, without the classes that it names.

    A policy plays without them, and a file must not choose what is imported. Of lists the first
    values are taken.
    """
    known = {name: each for name, each in env_kwargs.items()
             if not any(map(is_object_spec, _list_of(each)))}  # fmt: skip
    return settings_of(environment, known)[0]


@dataclass(frozen=True)
class HeldOutGames:
    """Episodes that policies are evaluated in, and in which the ``rivals`` of a problem play too.

    Args:
        environment: its name in Gymnasium.
        env_kwargs: keyword arguments of the environment; lists as ``MatchmakingVecEnv``.
        episodes: of each combination, >= 2; episode i has the environment seed ``seed + i``.
        seed: of the first episode, >= 0.
    """

    environment: str
    env_kwargs: Mapping[str, Any]
    episodes: int
    seed: int

    @cached_property
    def rivals(self) -> dict[str, list[Arrays]]:
        """What ``played`` returns for the rivals."""
        return {each: self.played(each) for each in PROBLEMS[self.environment].rivals}

    def played(self, policy: Any) -> list[Arrays]:
        """Return the totals of each episode, by name, in each combination of the lists.

        Args:
            policy: what chooses deterministically, or the name of a baseline.
        """
        seeds = range(self.seed, self.seed + self.episodes)
        found, summary = [], PROBLEMS[self.environment].summary
        for settings in settings_of(self.environment, self.env_kwargs):
            if isinstance(policy, str) and hasattr(settings, "belief"):
                settings = replace(settings, belief=DEFAULT_BELIEF)

            def make(settings: Any, _: Any) -> Any:
                return policy_named(policy, settings) if isinstance(policy, str) else policy

            found.append(rollout(make, settings, seeds, summary=summary))
        return found

    def evaluate(self, policy: Any) -> dict[str, float | int]:
        """Return mean totals of an episode.

        Args:
            policy: chooses deterministically; its ``belief`` says which observations it reads.

        Returns:
            ``episodes``; ``mean_return``, the mean sum of rewards (in the queue as a share of the
            first rival's, so that all loads count alike), and its ``standard_error``. Then the
            ``means`` of the ``Problem``, and for each rival the mean difference in its
            ``measure``, as ``true_q_less_kg``, with ``true_q_less_kg_low`` and
            ``true_q_less_kg_high``, the ends of its 95 % interval from paired differences. In the
            queue these are of each arrival rate.
        """
        problem, ours, parts = PROBLEMS[self.environment], self.played(policy), {"": slice(None)}
        returns = np.concatenate([each[REWARD] for each in ours])
        if problem.part:
            first = self.rivals[problem.rivals[0]]
            returns = np.mean(
                [each[REWARD] / other[problem.measure].mean()
                 for each, other in zip(ours, first, strict=True)], axis=0,
            )  # fmt: skip
            cells = enumerate(settings_of(self.environment, self.env_kwargs))
            parts = {f"_{problem.part.format(each)}": slice(k, k + 1) for k, each in cells}
        found: dict[str, float | int] = {
            "episodes": self.episodes,
            "mean_return": float(returns.mean()),
            "standard_error": estimate(returns).standard_error,
        }
        for name, among in parts.items():
            for column in problem.means:
                found[f"{column}{name}"] = float(np.mean([each[column] for each in ours[among]]))
            for rival, theirs in self.rivals.items():
                pair = (np.concatenate([each[problem.measure] for each in totals[among]])
                        for totals in (ours, theirs))  # fmt: skip
                difference, title = paired_difference(*pair), f"{problem.difference}_{rival}{name}"
                found[title] = difference.mean
                found[f"{title}_low"], found[f"{title}_high"] = difference.low, difference.high
        return found


def _list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
