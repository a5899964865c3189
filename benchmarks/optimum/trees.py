"""What a policy does from a prior on, whatever happens: a tree of choices, and its worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines import Policy
from matchenv.belief import BELIEFS, DEFAULT_BELIEF
from matchenv.benchmarks.optimum.expectimax import choice_values, follow, true_totals
from matchenv.knowledge import KnowledgeState
from matchenv.settings import Settings

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Beliefs:
    """A batch of states of the belief model.

    Attributes:
        mu: means, shape (B, M + 1).
        sigma: deviations, shape (B, M + 1).
        ties: shape (B, 2, M), what ``matchenv.belief.full_kernels`` keeps of covariances.
        full: whether covariances are kept.
    """

    mu: Floats
    sigma: Floats
    ties: Floats
    full: bool

    @classmethod
    def of_prior(cls, mu: Floats, sigma: Floats, belief: str) -> Beliefs:
        """Independent players, both of shape (B, M + 1), under the named belief."""
        ties = np.stack((np.ones_like(sigma[:, 1:]), sigma[:, 1:] ** 2), axis=1)
        return cls(np.ascontiguousarray(mu), np.ascontiguousarray(sigma), ties, belief == "full")

    def knowledge_state(self) -> KnowledgeState:
        """The states as policies see them."""
        kind = BELIEFS["full" if self.full else DEFAULT_BELIEF]
        players = np.stack((self.mu, self.sigma, self.mu), axis=-1)
        return KnowledgeState(self.mu, self.sigma, kind.extra(players, self.ties), kind.name)


# Actions of shape (B,) for a batch of beliefs with so many games left.
Chooser = Callable[[Beliefs, int], Integers]


def values_of_choices(beliefs: Beliefs, games_left: int, settings: Settings) -> Floats:
    """Worth of each first choice with the best choices after it, shape (B, M)."""
    return choice_values(
        beliefs.mu,
        beliefs.sigma,
        beliefs.ties,
        beliefs.full,
        games_left,
        settings.beta,
        settings.draw_margin,
    )


def optimal(settings: Settings) -> Chooser:
    """The optimal policy of the belief model."""

    def choose(beliefs: Beliefs, games_left: int) -> Integers:
        return np.argmax(values_of_choices(beliefs, games_left, settings), axis=1)

    return choose


def chooser_of(policy: Any, settings: Settings) -> Chooser:
    """A baseline or a learned policy, asked once for a whole batch.

    Args:
        policy: a ``Policy``, or an object with the ``predict`` of stable-baselines3.
        settings: of the problem.

    Raises:
        ValueError: when it chooses, if it turns out to have a memory.
    """

    def choose(beliefs: Beliefs, games_left: int) -> Integers:
        state = beliefs.knowledge_state()
        if isinstance(policy, Policy):
            return policy.act(state, games_left)
        observation = state.to_observation(games_left / settings.horizon)
        actions, memory = policy.predict(observation, None, np.ones(len(observation), np.bool_))
        if memory is not None:
            raise ValueError(
                f"policy must choose by the state alone, got {getattr(policy, 'name', policy)!r}, "
                "which has a memory"
            )
        return np.asarray(actions, dtype=np.int64)

    return choose


@dataclass(frozen=True)
class Tree:
    """The choices of a policy from each prior of a batch.

    Attributes:
        actions: shape (B, nodes), as ``expectimax.true_totals`` takes them.
        value: expected sum of the draw density under the belief model, shape (B,).
    """

    actions: Integers
    value: Floats


def grown(chooser: Chooser, beliefs: Beliefs, settings: Settings) -> Tree:
    """Follow a policy through all outcomes; it is asked once for each level.

    Args:
        chooser: the policy.
        beliefs: the priors.
        settings: of the problem.
    """
    count = len(beliefs.mu)
    reach = np.ones((count, 1))
    value = np.zeros(count)
    levels = []
    for games_left in range(settings.horizon, 0, -1):
        actions = chooser(beliefs, games_left)
        density, chance, mu, sigma, ties = follow(
            beliefs.mu,
            beliefs.sigma,
            beliefs.ties,
            beliefs.full,
            actions,
            settings.beta,
            settings.draw_margin,
        )
        levels.append(actions.reshape(count, -1))
        value += (reach * density.reshape(count, -1)).sum(axis=1)
        reach = (reach[:, :, None] * chance.reshape(*reach.shape, -1)).reshape(count, -1)
        beliefs = Beliefs(mu, sigma, ties, beliefs.full)
    return Tree(np.concatenate(levels, axis=1), value)


def true_values(tree: Tree, true_skill: Floats, settings: Settings) -> Floats:
    """Expected sum of the true draw density: (B, T, M + 1) skills to shape (B, T)."""
    return true_totals(
        tree.actions, settings.horizon, true_skill, settings.beta, settings.draw_margin
    )
