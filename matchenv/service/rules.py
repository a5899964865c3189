"""Policies of one player and a pool as the rule by which a service proposes opponents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import DEFAULT_BELIEF
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import policy_named
from matchenv.service.players import PoolSettings
from matchenv.trueskill import draw_margin_from_probability

Floats = NDArray[np.float64]

# A learned policy is made for each number of opponents; so many are kept.
SIZES_KEPT = 64

# From means and deviations, shape (M + 1,), the player first, to an opponent from 0 to M - 1.
Rule = Callable[[Floats, Floats], int]


def as_rule(rule: Any, settings: PoolSettings) -> Rule:
    """Return a rule that chooses from means and deviations alone.

    A pool keeps a mean and a deviation for each player and no covariances. To policies of the
    full belief it shows the deviations of differences of independent skills.

    Args:
        rule: a text that names a policy, such as ``"kg"`` (None: DrawChance), which looks ahead
            without drift; or a policy with ``act``, or a learned one.
        settings: of the pool.

    Raises:
        ValueError: for a rule that cannot be used in this way; it says why.
    """
    policy = rule
    if rule is None or isinstance(rule, str):
        draws, beta = settings.draw_probability, settings.beta
        margin = float(draw_margin_from_probability(draws, beta, 2)) if draws > 0.0 else 0.0
        world = Settings.checked(beta=beta, draw_margin=margin, horizon=settings.games_left)
        policy = policy_named(rule or "drawchance", world)
    if getattr(policy, "needs_truth", False):
        raise ValueError(f"rule must not ask for true skills, which are unknown, got {rule!r}")
    acts = callable(getattr(policy, "act", None))
    if not acts and not getattr(policy, "is_shared", False):
        raise ValueError(
            "rule must be None, a text, a policy with act(knowledge_state, games_left), or a "
            f"learned policy that chooses among any number of opponents, got {rule!r}"
        )

    belief = getattr(policy, "belief", None) or DEFAULT_BELIEF

    @lru_cache(maxsize=SIZES_KEPT)
    def sized(opponents: int) -> Any:
        return policy.for_settings(replace(policy.settings, num_opponents=opponents, rank=None))

    def chosen(mu: Floats, sigma: Floats) -> int:
        state = KnowledgeState.of_prior(mu[None], sigma[None], belief)[0]
        if acts:
            return int(policy.act(state, settings.games_left))
        return int(sized(len(mu) - 1).predict(state.to_observation(1.0))[0])

    return chosen
