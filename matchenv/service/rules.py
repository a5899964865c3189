"""Policies of one player and a pool as the rule by which a service proposes opponents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import belief_named
from matchenv.belief.full import FullBelief
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.one_player.settings import Settings
from matchenv.service.settings import PoolSettings
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
        rule: None for DrawChance; a text that names a policy, such as ``"kg"``; or a policy with
            ``act``, or with ``predict`` and ``belief``.
        settings: of the pool.

    Raises:
        ValueError: for a rule that cannot be used in this way; it says why.
    """
    policy = _policy(rule, settings)
    if getattr(policy, "needs_truth", False):
        raise ValueError(f"rule must not ask for true skills, which nobody knows, got {rule!r}")
    name = getattr(policy, "belief", None)
    belief = belief_named(name or "factorised")
    if belief.extra_rows and not isinstance(belief, FullBelief):
        raise ValueError(
            f"rule must read means and deviations, got {rule!r}, which reads the {name} belief"
        )

    def state(mu: Floats, sigma: Floats) -> KnowledgeState:
        extra = np.hypot(sigma[0], sigma[1:]) if belief.extra_rows else np.empty(0)
        return KnowledgeState.trusted(mu, sigma, extra, name or "factorised")

    if callable(getattr(policy, "act", None)):
        return lambda mu, sigma: int(policy.act(state(mu, sigma), settings.games_left))
    if not callable(getattr(policy, "predict", None)) or name is None:
        raise ValueError(
            "rule must be None, a text, or a policy with act(knowledge_state, games_left), or with "
            f"predict and belief, got {rule!r}"
        )
    if not getattr(policy, "is_shared", False):
        raise ValueError(
            f"rule must choose among any number of opponents; {policy!r} was trained for a fixed "
            "number of them"
        )

    @lru_cache(maxsize=SIZES_KEPT)
    def sized(opponents: int) -> Any:
        return policy.for_settings(replace(policy.settings, num_opponents=opponents, rank=None))

    def chosen(mu: Floats, sigma: Floats) -> int:
        observation = state(mu, sigma).to_observation(1.0)
        return int(sized(len(mu) - 1).predict(observation)[0])

    return chosen


def _policy(rule: Any, settings: PoolSettings) -> Any:
    """Return DrawChance for None, the policy of a text, and any other rule as it is."""
    if rule is None:
        from matchenv.baselines import DrawChance

        return DrawChance(beta=settings.beta)
    if not isinstance(rule, str):
        return rule
    from matchenv.evaluation.registry import policy_named

    draws = settings.draw_probability
    margin = draw_margin_from_probability(draws, settings.beta, 2) if draws > 0.0 else 0.0

    def of_drift(tau: float) -> Any:
        world = Settings.checked(
            beta=settings.beta, draw_margin=float(margin), tau=tau, horizon=settings.games_left
        )
        return policy_named(rule, world)

    try:
        return of_drift(settings.tau)
    except ValueError:
        if settings.tau == 0.0:
            raise
        # The full belief has no drift: its policies look ahead without it.
        policy = of_drift(0.0)
        if getattr(policy, "belief", None) != FullBelief.name:
            raise
        return policy
