"""What a policy does from a prior on, whatever happens: a tree of choices, and its worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines import Policy
from matchenv.belief.states import States
from matchenv.benchmarks.optimum.expectimax import choice_values, true_totals
from matchenv.envs.one_player.settings import Settings

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


# Actions of shape (B,) for a batch of states with so many games left.
Rule = Callable[[States, int], Integers]


def values_of_choices(states: States, games_left: int, settings: Settings) -> Floats:
    """Worth of each first choice with the best choices after it, shape (B, M)."""
    return choice_values(states, games_left, settings.constants)


def optimal(settings: Settings) -> Rule:
    """The optimal policy of the belief model."""

    def choose(states: States, games_left: int) -> Integers:
        return np.argmax(values_of_choices(states, games_left, settings), axis=1)

    return choose


def rule_of(policy: Any, settings: Settings) -> Rule:
    """A baseline or a learned policy, asked once for a whole batch.

    Args:
        policy: a ``Policy``, or an object with the ``predict`` of stable-baselines3.
        settings: of the problem.

    Raises:
        ValueError: when it chooses, if it turns out to have a memory.
    """

    def choose(states: States, games_left: int) -> Integers:
        state = states.knowledge_state()
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


def grown(rule: Rule, states: States, settings: Settings) -> Tree:
    """Follow a policy through all outcomes; it is asked once for each level.

    Args:
        rule: the policy.
        states: the priors.
        settings: of the problem.
    """
    count, constants = len(states), settings.constants
    reach = np.ones((count, 1))
    value = np.zeros(count)
    levels = []
    for games_left in range(settings.horizon, 0, -1):
        actions = rule(states, games_left)
        actions = np.asarray(actions, dtype=np.int64)
        rows = np.arange(len(actions))
        density = states.draw_density(constants.beta)[rows, actions]
        chance = np.stack(
            [states.outcome_probability(o, constants)[rows, actions] for o in constants.outcomes],
            axis=1,
        )
        levels.append(actions.reshape(count, -1))
        value += (reach * density.reshape(count, -1)).sum(axis=1)
        reach = (reach[:, :, None] * chance.reshape(*reach.shape, -1)).reshape(count, -1)
        outcomes = np.tile(constants.outcomes, len(actions))
        branches = states.repeated(len(constants.outcomes))
        states = branches.after_games(
            np.repeat(actions, len(constants.outcomes)), outcomes, constants
        )  # fmt: skip
    return Tree(np.concatenate(levels, axis=1), value)


def true_values(tree: Tree, true_skill: Floats, settings: Settings) -> Floats:
    """Expected sum of the true draw density: (B, T, M + 1) skills to shape (B, T)."""
    return true_totals(
        tree.actions, settings.horizon, true_skill, settings.beta, settings.draw_margin
    )
