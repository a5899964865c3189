"""The environment's draw margin and drift are those of ``rate``."""

from __future__ import annotations

import math

import gymnasium
import pytest

from matchenv.trueskill import draw_margin_from_probability, draw_probability, rate, win_probability

BETA = math.sqrt(2.5)


@pytest.mark.parametrize("tau", [0.0, 0.4])
@pytest.mark.parametrize("chance_of_draw", [0.0, 0.3])
def test_every_game_is_one_rate(tau: float, chance_of_draw: float) -> None:
    margin = draw_margin_from_probability(chance_of_draw, BETA)
    env = gymnasium.make(
        "Matchmaking-v0", num_opponents=5, horizon=60, draw_margin=margin, tau=tau
    ).unwrapped
    env.reset(seed=4)
    env.action_space.seed(4)
    seen = set()
    for _ in range(60):
        before = env.knowledge_state
        action = int(env.action_space.sample())
        pair = [[(float(before.mu[k]), float(before.sigma[k]))] for k in (0, action + 1)]
        env.step(action)
        after = env.knowledge_state
        found = (after.mu[0], after.sigma[0], after.mu[action + 1], after.sigma[action + 1])
        # The outcome is the one of the three whose update the environment made.
        matches = []
        for outcome, ranks in ((1, [0, 1]), (0, [0, 0]), (-1, [1, 0])):
            if outcome == 0 and margin == 0.0:
                continue
            (mine,), (other,) = rate(
                pair, ranks, beta=BETA, tau=tau, draw_probability=chance_of_draw
            )
            if (*mine, *other) == pytest.approx(found, rel=1e-12, abs=1e-12):
                matches.append(outcome)
        assert len(matches) == 1
        seen.update(matches)
    assert seen == ({1, 0, -1} if margin else {1, -1})


def test_the_margin_gives_the_probability_it_was_made_from() -> None:
    margin = draw_margin_from_probability(0.3, BETA)
    tiny = 1e-9
    drawn = draw_probability(0.0, tiny, 0.0, tiny, BETA, margin)
    assert drawn == pytest.approx(0.3, rel=1e-12)
    assert win_probability(0.0, tiny, 0.0, tiny, BETA, margin) == pytest.approx(0.35, rel=1e-12)
