"""Ratings of real libraries against ours: whole logs, and a single call from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import trueskill
from openskill.models import PlackettLuce

from matchenv.benchmarks.throughput.timing import Contest, Side, contest
from matchenv.match_log import MatchLog, ranks_from_scores
from matchenv.replay import replay_trueskill
from matchenv.trueskill import rate

SECTION = "ratings"
PLAYERS = 200
GAME: dict[str, Any] = {"beta": 25.0 / 6.0, "tau": 25.0 / 300.0}
DRAW_PROBABILITY = 0.1
# About this share of the neighbours in rank draw.
DRAWS = 0.1

OUR_CALLS = 2_000
# Games of so many sides that the compiled replay rates in one turn.
OUR_GAMES = {2: 200_000, 8: 20_000}


def _openskill() -> tuple[Callable[[], Any], Callable[..., Any]]:
    model = PlackettLuce(**GAME)
    return model.rating, lambda teams, ranks: model.rate(teams, ranks=ranks)


def _trueskill() -> tuple[Callable[[], Any], Callable[..., Any]]:
    environment = trueskill.TrueSkill(**GAME, draw_probability=DRAW_PROBABILITY)
    return environment.create_rating, environment.rate


# Label, what makes a rating and rates a game, games of one turn and ratio to reach by number of
# sides, calls of one turn.
RIVALS = (
    ("openskill Plackett-Luce", _openskill, {2: (4_000, 50.0), 8: (1_000, 3.0)}, 2_000),
    ("trueskill", _trueskill, {2: (400, 300.0), 8: (40, 80.0)}, 100),
)


def measure(turns: int) -> Iterator[Contest]:
    """Games a second through the compiled replay and through ``rate``, against both rivals.

    Args:
        turns: turns of each side.
    """
    for sides, games in OUR_GAMES.items():
        ours = _replay(random_log(sides, games))
        for label, make, of_sides, _ in RIVALS:
            count, target = of_sides[sides]
            yield contest(
                SECTION, f"replay of games of {sides} players", "games/s", ours,
                _game_by_game(label, *make(), random_log(sides, count)),
                turns=turns, target=target,
            )  # fmt: skip
    for sides in OUR_GAMES:
        ours = _same_call("rate", lambda: (25.0, 25.0 / 3.0), _rate, sides, OUR_CALLS)
        for label, make, _, calls in RIVALS:
            yield contest(
                SECTION, f"one call, {sides} players", "calls/s", ours,
                _same_call(f"{label.split()[0]} rate", *make(), sides, calls),
                turns=turns, target=1.0,
            )  # fmt: skip


def random_log(sides: int, games: int) -> MatchLog:
    """Games of one player a side among ``PLAYERS``."""
    rng = np.random.default_rng(sides)
    player = np.argsort(rng.random((games, PLAYERS)), axis=1)[:, :sides].astype(np.int32)
    score = rng.permuted(np.tile(np.arange(float(sides)), (games, 1)), axis=1)
    score[(score > 0.0) & (rng.random(score.shape) < DRAWS)] -= 1.0
    game_start = np.arange(games + 1) * sides
    return MatchLog(
        players=[f"player {k}" for k in range(PLAYERS)],
        player=player.ravel(),
        team_start=np.arange(games * sides + 1),
        game_start=game_start,
        rank=ranks_from_scores(score.ravel(), game_start),
        score=score.ravel(),
    )


def _rate(teams: Sequence[Any], ranks: Sequence[float]) -> object:
    return rate(teams, ranks, **GAME, draw_probability=DRAW_PROBABILITY)


def _replay(log: MatchLog) -> Side:
    def work() -> None:
        replay_trueskill(log, **GAME, draw_probability=DRAW_PROBABILITY)

    return "compiled replay", work, log.num_games


def _game_by_game(
    label: str, rating: Callable[[], Any], rate_game: Callable[..., Any], log: MatchLog
) -> Side:
    sides = len(log.rank) // log.num_games
    # In plain Python, which is what the rivals take.
    games = list(
        zip(
            log.player.reshape(-1, sides).tolist(),
            log.rank.reshape(-1, sides).astype(float).tolist(),
            strict=True,
        )
    )

    def work() -> None:
        board = [rating() for _ in range(PLAYERS)]
        for players, ranks in games:
            rated = rate_game([[board[k]] for k in players], ranks)
            for k, side in zip(players, rated, strict=True):
                board[k] = side[0]

    return label, work, len(games)


def _same_call(
    label: str, rating: Callable[[], Any], rate_game: Callable[..., Any], sides: int, calls: int
) -> Side:
    teams, ranks = [[rating()] for _ in range(sides)], list(range(sides))

    def work() -> None:
        for _ in range(calls):
            rate_game(teams, ranks)

    return label, work, calls
