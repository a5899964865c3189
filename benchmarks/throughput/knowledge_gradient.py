"""KG by bounds and search against KG by its plain rule, and how its cost grows; one thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from matchenv import KnowledgeState, MatchmakingVectorEnv
from matchenv.baselines import KnowledgeGradient
from matchenv.baselines.fast_knowledge_gradient import knowledge_gradient_opponents
from matchenv.baselines.knowledge_gradient_rule import knowledge_gradient_scores
from matchenv.benchmarks.throughput.timing import Contest, Measurement, contest, seconds
from matchenv.settings import PAPER_BETA

SECTION = "knowledge gradient"
NUM_OPPONENTS = 49
EPISODES = 4
GAMES = 500

MANY_OPPONENTS = (1_000, 3_000, 10_000, 30_000, 100_000)
TARGET_MILLISECONDS = 100.0
TARGET_EXPONENT = 1.2

# (draw_margin, tau): the paper's game, and one with draws and drift; and the ratio to reach.
GAME_KINDS = {(0.0, 0.0): 5.0, (0.5, 0.1): 4.0}

Floats = NDArray[np.float64]


def measure(turns: int) -> Iterator[Contest | Measurement]:
    """The ratio at the paper's size, a decision in large pools, and the fitted growth.

    Args:
        turns: repetitions of each.
    """
    mu, sigma = states_of_play()
    shuffled = np.random.default_rng(0).permutation(len(mu))
    for draw_margin, tau in GAME_KINDS:
        game = "" if draw_margin == 0.0 else ", draws and drift"
        yield choice_contest(f"in order of play{game}", mu, sigma, draw_margin, tau, turns)
        yield choice_contest(
            f"in unrelated states{game}", mu[shuffled], sigma[shuffled], draw_margin, tau, turns
        )
    times = np.array([milliseconds(opponents, turns) for opponents in MANY_OPPONENTS])
    for opponents, values in zip(MANY_OPPONENTS, times.tolist(), strict=True):
        target = TARGET_MILLISECONDS if opponents == MANY_OPPONENTS[-1] else None
        name = f"kg, {opponents:,} opponents"
        yield Measurement(SECTION, name, "milliseconds a decision", values, target)
    name = f"kg, from {MANY_OPPONENTS[0]:,} to {MANY_OPPONENTS[-1]:,} opponents"
    exponents = [growth_exponent(row) for row in times.T]
    yield Measurement(SECTION, name, "exponent of growth", exponents, TARGET_EXPONENT)


def states_of_play() -> tuple[Floats, Floats]:
    """Beliefs before every game of some episodes played by KG, episode after episode.

    Returns:
        ``(mu, sigma)``, each of shape (EPISODES * GAMES, NUM_OPPONENTS + 1).
    """
    env = MatchmakingVectorEnv(EPISODES, num_opponents=NUM_OPPONENTS, horizon=GAMES)
    env.reset(seed=0)
    states = []
    for game in range(GAMES):
        states.append(env.knowledge_state)
        env.step(KnowledgeGradient().act(states[-1], GAMES - game))
    mu, sigma = (
        np.stack([getattr(state, name) for state in states], axis=1) for name in ("mu", "sigma")
    )
    return mu.reshape(-1, NUM_OPPONENTS + 1), sigma.reshape(-1, NUM_OPPONENTS + 1)


def choice_contest(
    name: str, mu: Floats, sigma: Floats, draw_margin: float, tau: float, turns: int
) -> Contest:
    """Both rules over the same states; raises AssertionError where they do not agree."""
    multipliers = np.full(len(mu), KnowledgeGradient().multiplier)
    arguments = (mu, sigma, multipliers, PAPER_BETA, draw_margin, tau)

    def plain() -> NDArray[np.int64]:
        return np.argmax(knowledge_gradient_scores(*arguments), axis=1)

    def fast() -> NDArray[np.int64]:
        return knowledge_gradient_opponents(*arguments)

    if not np.array_equal(plain(), fast()):
        raise AssertionError("the fast rule and the plain rule choose different opponents")
    return contest(
        SECTION,
        f"kg, {mu.shape[1] - 1} opponents, {name}",
        "decisions/s",
        ("bounds and search", fast, len(mu)),
        ("plain rule, compiled", plain, len(mu)),
        turns=turns,
        target=GAME_KINDS[draw_margin, tau],
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
    return [1e3 * seconds(lambda state=state: policy.act(state, GAMES)) for state in states]  # type: ignore[misc]


def growth_exponent(times: Floats) -> float:
    """The slope of the logarithm of the time over that of the number of opponents."""
    return float(np.polyfit(np.log(MANY_OPPONENTS), np.log(times), 1)[0])
