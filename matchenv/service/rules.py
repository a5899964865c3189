"""Policies of one player and a pool as the rule by which a service proposes opponents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import belief_named
from matchenv.belief.full import FullBelief
from matchenv.knowledge import KnowledgeState
from matchenv.service.settings import PoolSettings
from matchenv.settings import Settings
from matchenv.trueskill import draw_margin_from_probability

Floats = NDArray[np.float64]

# From means and deviations, shape (M + 1,), the player first, to an opponent from 0 to M - 1.
Rule = Callable[[Floats, Floats], int]


def as_rule(rule: Any, settings: PoolSettings) -> Rule:
    """A rule that chooses from means and deviations alone.

    A pool keeps a mean and a deviation for each player and no covariances. To policies of the
    full belief it shows the deviations of differences of independent skills.

    Args:
        rule: None for DrawChance; a text as ``matchenv.agents.policies.policy_named`` takes it;
            or a policy with ``act``, or with ``predict`` and ``belief``.
        settings: of the pool.

    Raises:
        ValueError: for a rule that cannot be used so; it says why.
    """
    policy = rule
    if rule is None:
        from matchenv.baselines.draw_chance import DrawChance

        policy = DrawChance(beta=settings.beta)
    elif isinstance(rule, str):
        policy = _named(rule, settings)
    if getattr(policy, "needs_truth", False):
        raise ValueError(f"rule must not ask for true skills, which nobody knows, got {rule!r}")
    name = getattr(policy, "belief", None)
    if name is not None:
        belief = belief_named(name)
        if belief.extra_rows and not isinstance(belief, FullBelief):
            raise ValueError(
                f"rule must read means and deviations, got {rule!r}, which reads the {name} belief"
            )
    if callable(getattr(policy, "act", None)):
        return lambda mu, sigma: int(
            policy.act(_state(mu, sigma, name or "factorised"), settings.games_left)
        )
    if not callable(getattr(policy, "predict", None)) or name is None:
        raise ValueError(
            "rule must be None, a text, or a policy with act(knowledge_state, games_left), or with "
            f"predict and belief, got {rule!r}"
        )
    if not callable(getattr(policy, "logits", None)):
        raise ValueError(
            f"rule must choose among any number of opponents; {policy!r} was trained for a fixed "
            "number of them"
        )
    return lambda mu, sigma: int(policy.predict(_state(mu, sigma, name).to_observation(1.0))[0])


def _state(mu: Floats, sigma: Floats, belief: str) -> KnowledgeState:
    extra = np.empty(0)
    if belief == FullBelief.name:
        extra = np.hypot(sigma[0], sigma[1:])
    return KnowledgeState.trusted(mu, sigma, extra, belief)


def _named(text: str, settings: PoolSettings) -> Any:
    """The policy of a text; one of the full belief looks ahead as if skills did not drift."""
    from matchenv.agents.policies import policy_named

    try:
        return policy_named(text, _environment(settings, settings.tau))
    except ValueError:
        if settings.tau == 0.0:
            raise
        policy = policy_named(text, _environment(settings, 0.0))
        if getattr(policy, "belief", None) != FullBelief.name:
            raise
        return policy


def _environment(settings: PoolSettings, tau: float) -> Settings:
    """The environment that a policy is told of; the number of opponents is no matter."""
    draws = settings.draw_probability
    margin = draw_margin_from_probability(draws, settings.beta, 2) if draws > 0.0 else 0.0
    return Settings.checked(
        beta=settings.beta,
        draw_margin=float(margin),
        tau=tau,
        horizon=settings.games_left,
    )
