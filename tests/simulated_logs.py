"""Logs of games simulated from known parameters, and the games of a log."""

import itertools
from collections.abc import Iterator

import numpy as np

from matchenv.logs import MatchLog
from matchenv.trueskill import draw_margin_from_probability

SIGMA, DAY = 25.0 / 3.0, 86_400


def simulated(
    games: int,
    *,
    players: int = 50,
    beta: float = 5.0,
    tau: float = 0.3,
    draws: float = 0.2,
    advantage: float = 0.0,
    time_drift: float = 0.0,
    sizes: tuple[int, ...] = (1,),
    exponent: float = 0.0,
    seed: int = 0,
) -> MatchLog:
    """Return a log of two-sided games simulated from the model; the first side is at home."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(25.0, SIGMA, players)
    last = np.full(players, -1)
    times = np.cumsum(rng.integers(0, DAY, games))
    teams, scores = [], []
    for game in range(games):
        first, second = rng.choice(sizes, 2)
        chosen = rng.choice(players, first + second, replace=False)
        for k in chosen:
            days = (times[game] - last[k]) / DAY if last[k] >= 0 else 0.0
            skill[k] += rng.normal() * np.sqrt(tau**2 * (last[k] >= 0) + time_drift**2 * days)
            last[k] = times[game]
        performance = skill[chosen] + beta * rng.normal(size=chosen.size)
        gap = performance[:first].sum() / first**exponent + advantage
        gap -= performance[first:].sum() / second**exponent
        margin = draw_margin_from_probability(draws, beta, int(first + second)) if draws else 0.0
        sides = (chosen[:first], chosen[first:])
        teams.append([[f"p{k}" for k in side] for side in sides])
        scores.append([0.0, 0.0] if abs(gap) < margin else [float(gap > 0), float(gap < 0)])
    return MatchLog.from_games(teams, scores, times, neutral=np.zeros(games, dtype=np.bool_))


def games_of(log: MatchLog) -> Iterator[tuple[list[list[str]], list[int], range]]:
    """Yield members of each side, ranks and indices of the sides, game by game."""
    for first, last in itertools.pairwise(log.game_start.tolist()):
        bounds = itertools.pairwise(log.team_start[first : last + 1])
        members = [[log.players[k] for k in log.player[a:b]] for a, b in bounds]
        yield members, log.rank[first:last].tolist(), range(first, last)
