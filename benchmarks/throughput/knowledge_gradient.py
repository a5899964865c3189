"""KG by bounds and search against KG by its plain rule, and how its cost grows; one thread."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv import KnowledgeState, MatchmakingVectorEnv
from matchenv.baselines import KnowledgeGradient
from matchenv.baselines.knowledge_gradient import knowledge_gradient_actions
from matchenv.baselines.knowledge_gradient_rule import knowledge_gradient_scores
from matchenv.belief import FactorisedBelief, FullBelief, GameConstants
from matchenv.benchmarks.throughput.timing import (
    Contest,
    Measurement,
    contest,
    processor_seconds,
)
from matchenv.settings import PAPER_BETA

SECTION = "knowledge gradient"
NUM_OPPONENTS = 49
EPISODES = 4
GAMES = 500

MANY_OPPONENTS = (1_000, 3_000, 10_000, 30_000, 100_000)
TARGET_MILLISECONDS = 100.0
TARGET_EXPONENT = 1.2

# (draw_margin, tau): the paper's game, and one with draws and drift; and the ratio to reach.
GAME_KINDS: dict[tuple[float, float], float] = {(0.0, 0.0): 5.0, (0.5, 0.1): 4.0}
TARGET_ON_THE_FULL_BELIEF = 5.0

Floats = NDArray[np.float64]


def measure(turns: int) -> Iterator[Contest | Measurement]:
    """The ratio at the paper's size, a decision in large pools, and the fitted growth.

    Args:
        turns: repetitions of each.
    """
    state = states_of_play(FactorisedBelief.name)
    shuffled = state[np.random.default_rng(0).permutation(len(state.mu))]
    for (draw_margin, tau), target in GAME_KINDS.items():
        game = "" if draw_margin == 0.0 else ", draws and drift"
        for order, states in (("in order of play", state), ("in unrelated states", shuffled)):
            yield choice_contest(f"{order}{game}", states, draw_margin, tau, turns, target)
    state = states_of_play(FullBelief.name)
    yield choice_contest("on the full belief", state, 0.0, 0.0, turns, TARGET_ON_THE_FULL_BELIEF)
    times = np.array([milliseconds(opponents, turns) for opponents in MANY_OPPONENTS])
    for opponents, values in zip(MANY_OPPONENTS, times.tolist(), strict=True):
        limit = TARGET_MILLISECONDS if opponents == MANY_OPPONENTS[-1] else None
        name = f"kg, {opponents:,} opponents"
        yield Measurement(SECTION, name, "milliseconds a decision", values, limit)
    name = f"kg, from {MANY_OPPONENTS[0]:,} to {MANY_OPPONENTS[-1]:,} opponents"
    exponents = [growth_exponent(row) for row in times.T]
    yield Measurement(SECTION, name, "exponent of growth", exponents, TARGET_EXPONENT)


def states_of_play(belief: str) -> KnowledgeState:
    """Beliefs before every game of some episodes played by KG, episode after episode.

    Args:
        belief: its name.

    Returns:
        States of the shape (EPISODES * GAMES,).
    """
    env = MatchmakingVectorEnv(EPISODES, num_opponents=NUM_OPPONENTS, horizon=GAMES, belief=belief)
    env.reset(seed=0)
    policy = KnowledgeGradient(belief=belief)
    states = []
    for game in range(GAMES):
        states.append(env.knowledge_state)
        env.step(policy.act(states[-1], GAMES - game))
    mu, sigma, extra = (
        np.stack([getattr(state, name) for state in states], axis=1).reshape(EPISODES * GAMES, -1)
        for name in ("mu", "sigma", "extra")
    )
    return KnowledgeState(mu, sigma, extra, belief)


def choice_contest(
    name: str, state: KnowledgeState, draw_margin: float, tau: float, turns: int, target: float
) -> Contest:
    """Both rules over the same states; raises AssertionError where they do not agree."""
    count = len(state.mu)
    multipliers = np.full(count, KnowledgeGradient().multiplier)
    game = GameConstants(PAPER_BETA, draw_margin, tau)
    arguments = (state.mu, state.sigma, state.extra, multipliers, game)

    def plain() -> NDArray[np.int64]:
        return np.argmax(knowledge_gradient_scores(*arguments), axis=1)

    def fast() -> Any:
        return knowledge_gradient_actions(*arguments)

    if not np.array_equal(plain(), fast()):
        raise AssertionError("the fast rule and the plain rule choose different opponents")
    return contest(
        SECTION,
        f"kg, {state.num_opponents} opponents, {name}",
        "decisions/s",
        ("bounds and search", fast, count),
        ("plain rule, compiled", plain, count),
        turns=turns,
        target=target,
    )


def milliseconds(num_opponents: int, turns: int) -> list[float]:
    """Times of decisions over a large pool, each from a state of its own."""
    env = MatchmakingVectorEnv(1, num_opponents=num_opponents)
    policy = KnowledgeGradient()
    states: list[KnowledgeState] = []
    for turn in range(turns + 1):
        env.reset(seed=turn)
        states.append(env.knowledge_state)
    policy.act(states.pop(), GAMES)
    return [1e3 * processor_seconds(partial(policy.act, state, GAMES)) for state in states]


def growth_exponent(times: Floats) -> float:
    """The slope of the logarithm of the time over that of the number of opponents."""
    return float(np.polyfit(np.log(MANY_OPPONENTS), np.log(times), 1)[0])
