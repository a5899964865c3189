"""Whole episodes of one policy on given seeds: how a training is watched; without torch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.agents.policies import policy_named
from matchenv.belief import DEFAULT_BELIEF
from matchenv.evaluation.estimates import estimate, paired_difference
from matchenv.evaluation.rollout import REWARD, rollout
from matchenv.runtime.checks import as_integer
from matchenv.settings import Settings

Floats = NDArray[np.float64]

# The policy that a training is compared with while it runs.
RIVAL = "kg"


def evaluate(
    policy: Any, env_kwargs: dict[str, Any], episodes: int, seed: int, kg: Floats | None = None
) -> dict[str, float | int]:
    """Mean totals of an episode, the policy choosing deterministically.

    Args:
        policy: what chooses the opponents; its ``belief`` says which observations it reads.
        env_kwargs: keyword arguments of the environment.
        episodes: how many, >= 2; episode i has the environment seed ``seed + i``.
        seed: of the first episode, >= 0.
        kg: true draw densities of KG's episodes, from ``kg_totals`` of the same arguments.

    Returns:
        ``episodes``; ``mean_return``, the mean sum of rewards, and its ``standard_error``; and
        the mean sums ``draw_density`` and ``true_draw_density``, whichever of the two the
        reward is. With ``kg`` also ``true_q_less_kg``, the mean difference of the sums of true
        draw densities, with ``true_q_less_kg_low`` and ``true_q_less_kg_high``, the ends of its
        95 % interval from paired differences.

    Raises:
        ValueError: for a bad argument.
    """
    settings = Settings.checked(**env_kwargs)
    returns, density, true_density = _totals(
        policy, settings, episodes, seed, (REWARD, "draw_density", "true_draw_density")
    )
    found = {
        "episodes": episodes,
        "mean_return": float(returns.mean()),
        "standard_error": estimate(returns).standard_error,
        "draw_density": float(density.mean()),
        "true_draw_density": float(true_density.mean()),
    }
    if kg is not None:
        less = paired_difference(true_density, kg)
        found["true_q_less_kg"] = less.mean
        found["true_q_less_kg_low"], found["true_q_less_kg_high"] = less.low, less.high
    return found


def kg_totals(env_kwargs: dict[str, Any], episodes: int, seed: int) -> Floats:
    """KG's sums of true draw densities, as ``rival_totals`` gives them."""
    return rival_totals(RIVAL, env_kwargs, episodes, seed)


def rival_totals(rival: str, env_kwargs: dict[str, Any], episodes: int, seed: int) -> Floats:
    """A baseline's sums of true draw densities, on the instances and noise of ``evaluate``.

    It reads the factorised belief, as in a comparison.

    Args:
        rival: name of the baseline.
        env_kwargs: as ``evaluate``.
        episodes: as there.
        seed: as there.

    Returns:
        Shape (episodes,).
    """
    settings = replace(Settings.checked(**env_kwargs), belief=DEFAULT_BELIEF)
    policy = policy_named(rival, settings)
    return _totals(policy, settings, episodes, seed, ("true_draw_density",))[0]


def _totals(
    policy: Any, settings: Settings, episodes: int, seed: int, measures: tuple[str, ...]
) -> Floats:
    first = as_integer("seed", seed, 0)
    seeds = range(first, first + as_integer("episodes", episodes, 2))
    return rollout(lambda *_: policy, settings, seeds, measures=measures).sums[0]
