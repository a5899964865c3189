"""Policies that play some episodes of a comparison, with a record of what pictures show."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from matchenv.envs import environment_of
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.core.settings import Options
from matchenv.evaluation.protocols import protocol_of
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import Decisions, begin_for
from matchenv.evaluation.seeds import (
    INSTANCES,
    POLICIES,
    REPORT,
    episode_seeds,
    policy_key,
    stream_of,
)
from matchenv.rendering.renderer import SceneRenderer


class Performer(NamedTuple):
    """A policy in its own copies of some episodes."""

    episodes: Episodes[Any]
    decisions: Decisions
    renderer: SceneRenderer[Any]


def performer_of(
    policy: str, settings: Options, seed: int, episodes: range, *, show_true_skill: bool
) -> Performer:
    """Begin episodes of a comparison with a policy.

    Args:
        policy: policy name, see ``policy_named``.
        settings: settings of the environment; beliefs and rewards are those of a comparison.
        seed: random seed.
        episodes: indices of the episodes.
        show_true_skill: record true skills and what follows from them.

    Raises:
        ValueError: for an unknown or unsuitable policy, or an environment without pictures.
    """
    protocol = protocol_of(settings.env_id)
    key = (*protocol.key_of(REPORT), INSTANCES)
    seeds = episode_seeds(seed, episodes.start, len(episodes), key)
    compared: Options = protocol.simulator(settings).settings
    player = policy_named(policy, compared)
    copies = begin_for(player, compared, seeds)
    rng = stream_of(seed, POLICIES, episodes.start, *policy_key(policy))
    renderer_class = environment_of(compared).part("renderer")
    if renderer_class is None:
        raise ValueError(f"env must be one with a renderer, got {compared.env_id!r}")
    renderer = renderer_class(copies.simulator, "rgb_array", len(episodes), show_true_skill)
    renderer.begin(copies.state, np.arange(len(episodes)))
    copies.renderer = renderer
    return Performer(copies, Decisions(player, rng), renderer)
