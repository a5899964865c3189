"""Ratings of real libraries against ours: whole logs, and a single call from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import trueskill
from openskill.models import PlackettLuce

from matchenv.benchmarks.throughput.timing import Contest, Side, contest
from matchenv.logs import replay_elo, replay_trueskill
from matchenv.logs.match_log import MatchLog, ranks_from_scores
from matchenv.trueskill import match_quality, rate, team_match_quality, update, win_probability

SECTION = "ratings"
PLAYERS = 200
GAME: dict[str, Any] = {"beta": 25.0 / 6.0, "tau": 25.0 / 300.0}
DRAW_PROBABILITY = 0.1
# About this share of the neighbours in rank draw.
DRAWS = 0.1

OUR_CALLS = 2_000
# Short and long way of one call: plain floats against the same numbers in arrays, and teams without
# weights against weights of 1, whose numbers every call has to check and lay out one by one.
PAIR = (25.0, 25.0 / 3.0, 20.0, 3.0)
TEAM_GAME = ([[(25.0, 8.0), (26.0, 7.0)], [(27.0, 7.0), (22.0, 3.0)]], [0, 1])
WHOLE = [[1.0, 1.0], [1.0, 1.0]]
TIMES_AS_FAST = 5.0
# What the 2006 paper says of TrueSkill's time beside Elo's. Ours keeps to it
# where two sides meet; with more of them, Elo's duels here take a tenth of the messages' time.
WITHIN_TWICE = 0.5

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

    And calls a second with plain floats, against the same calls the long way.

    Args:
        turns: turns of each side.
    """
    for sides, games in OUR_GAMES.items():
        log = random_log(sides, games)
        ours = _replay(log)
        yield contest(
            SECTION, f"TrueSkill beside Elo, games of {sides} players", "games/s", ours,
            _replay_elo(log), turns=turns, target=WITHIN_TWICE if sides == 2 else None,
        )  # fmt: skip
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

    for name, short, long in one_calls():
        yield contest(
            SECTION, f"one call of {name}, floats", "calls/s", _calls("plain floats", short),
            _calls("the long way", long), turns=turns, target=TIMES_AS_FAST,
        )  # fmt: skip


def one_calls() -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """What is called, with plain floats, and with the same numbers so that no short way is open."""
    beta = GAME["beta"]
    arrays: list[Any] = [np.array(number) for number in (*PAIR, beta)]
    i, j, won = arrays[:2], arrays[2:4], np.array(1)
    teams, ranks = TEAM_GAME
    yield "win_probability", lambda: win_probability(*PAIR, beta), lambda: win_probability(*arrays)
    yield "match_quality", lambda: match_quality(*PAIR, beta), lambda: match_quality(*arrays)
    yield (
        "update",
        lambda: update(*PAIR, 1, beta),
        lambda: update(i[0], i[1], j[0], j[1], won, arrays[-1]),
    )
    yield (
        "team_match_quality, 2 against 2",
        lambda: team_match_quality(teams, beta),
        lambda: team_match_quality(teams, beta, WHOLE),
    )
    yield (
        "rate, 2 against 2",
        lambda: rate(teams, ranks, **GAME),
        lambda: rate(teams, ranks, **GAME, weights=WHOLE),
    )


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


def _calls(label: str, call: Callable[[], Any]) -> Side:
    def work() -> None:
        for _ in range(OUR_CALLS):
            call()

    return label, work, OUR_CALLS


def _replay(log: MatchLog) -> Side:
    def work() -> None:
        replay_trueskill(log, **GAME, draw_probability=DRAW_PROBABILITY)

    return "compiled replay", work, log.num_games


def _replay_elo(log: MatchLog) -> Side:
    def work() -> None:
        replay_elo(log)

    return "Elo, the same loop", work, log.num_games


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
