"""The rule by which a pool chooses opponents: a policy of Matchmaking-v0."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from matchenv.belief import DEFAULT_BELIEF
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.one_player.simulator import MatchmakingView
from matchenv.evaluation.registry import policy_named
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_integer, errors_named, refusal
from matchenv.service.players import PoolSettings
from matchenv.trueskill import draw_margin_from_probability

# From means and deviations, shape (M + 1,) each, the player first, to an opponent in [0, M).
Rule = Callable[[Floats, Floats], int]


def rule_of(policy: Any, settings: PoolSettings) -> Rule:
    """Return a policy as a function of means and deviations.

    A pool stores no covariances, so policies on the full belief see independent skills. A named
    policy looks ahead without drift.

    Args:
        policy: a policy, its name, or None for DrawChance.
        settings: settings of the pool.

    Raises:
        ValueError: for an unknown name, or a policy that cannot choose from means and deviations.
    """
    rule = policy
    if rule is None:
        rule = "drawchance"
    if isinstance(rule, str):
        rule = policy_named(rule, _environment_of(settings))
    if getattr(rule, "needs_truth", False):
        raise ValueError(f"rule must not need true skills, which are unknown, got {policy!r}")
    has_act = callable(getattr(rule, "act", None))
    if not has_act and not getattr(rule, "is_shared", False):  # see ``LearnedPolicy``
        allowed = "a policy with act(view, rng), or a learned policy"
        raise refusal(f"rule must be None, a name, {allowed} for any number of opponents", policy)

    rng = np.random.default_rng()

    def choose(mu: Floats, sigma: Floats) -> int:
        return _choice(rule, mu, sigma, settings.games_left, rng)

    if not type(rule).__module__.startswith("matchenv."):
        mu = settings.mu + settings.sigma * np.array([0.0, 1.0, -1.0])
        sigma = np.full(3, settings.sigma)
        with errors_named(f"rule {policy!r} cannot choose one of two players"):
            _choice(copy.deepcopy(rule), mu, sigma, settings.games_left, rng)
    return choose


def _environment_of(settings: PoolSettings) -> Settings:
    """Return the settings of an environment with the pool's beta and draws."""
    draw_margin = 0.0
    if settings.draw_probability > 0.0:
        draw_margin = float(
            draw_margin_from_probability(settings.draw_probability, settings.beta, 2)
        )
    return Settings.checked(
        beta=settings.beta, draw_margin=draw_margin, horizon=settings.games_left
    )


def _choice(policy: Any, mu: Floats, sigma: Floats, games_left: int, rng: Generator) -> int:
    """Return the opponent that a policy chooses, in [0, M).

    Args:
        policy: a policy with ``act``, or a learned policy for any number of opponents.
        mu: means, shape (M + 1,), the player first.
        sigma: standard deviations, shape (M + 1,).
        games_left: number of remaining games.
        rng: generator for stochastic policies.

    Raises:
        ValueError: if the policy's answer is no opponent.
    """
    belief = getattr(policy, "belief", None) or DEFAULT_BELIEF
    state = KnowledgeState.of_prior(mu[np.newaxis], sigma[np.newaxis], belief)[0]
    if callable(getattr(policy, "act", None)):
        action = policy.act(MatchmakingView(state, games_left), rng)
    else:
        learned = policy.for_opponents(len(mu) - 1)
        action, _ = learned.predict(state.to_observation(1.0))
    return as_integer("action", action, 0, len(mu) - 2)
