"""Ratings of real libraries against ours: whole logs, and a single call from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import trueskill
from openskill.models import PlackettLuce

from matchenv.benchmarks.throughput.timing import Contest, Measurement, contest, seconds
from matchenv.csv_log.reader import read_log
from matchenv.match_log import MatchLog, ranks_from_scores
from matchenv.replay import replay_trueskill
from matchenv.trueskill import rate

SECTION = "ratings"
PLAYERS = 200
BETA, TAU, DRAW_PROBABILITY = 25.0 / 6.0, 25.0 / 300.0, 0.1
DRAWS = 0.1
OUR_GAMES = {2: 200_000, 8: 20_000}
OPENSKILL_GAMES = {2: 4_000, 8: 1_000}
TRUESKILL_GAMES = {2: 400, 8: 40}
REPLAY_TARGETS = {
    2: {"openskill": 50.0, "trueskill": 300.0},
    8: {"openskill": 3.0, "trueskill": 80.0},
}
SINGLE_CALLS = {"ours": 2_000, "openskill": 2_000, "trueskill": 100}

Work = tuple[str, Callable[[], object], float]


def measure(turns: int, log: Path | None = None) -> Iterator[Contest | Measurement]:
    """Games a second through the compiled replay and through ``rate``, against both rivals.

    Args:
        turns: turns of each side.
        log: a match log to read and rate whole, for the seconds that this takes.
    """
    for sides, targets in REPLAY_TARGETS.items():
        ours = _replay_work(sides)
        for name, target in targets.items():
            rival = _openskill_work(sides) if name == "openskill" else _trueskill_work(sides)
            yield contest(
                SECTION, f"replay of games of {sides} players", "games/s", ours, rival,
                turns=turns, target=target,
            )  # fmt: skip
    for sides in REPLAY_TARGETS:
        ours = _single_work(sides)
        for rival in (_single_openskill(sides), _single_trueskill(sides)):
            yield contest(
                SECTION, f"one call, {sides} players", "calls/s", ours, rival,
                turns=turns, target=1.0,
            )  # fmt: skip
    if log is not None:
        yield whole_log(log, turns)


def whole_log(path: Path, turns: int) -> Measurement:
    """Seconds to read and rate a log of a file, after one time that is not counted."""

    def work() -> None:
        replay_trueskill(read_log(path).log, draw_probability=DRAW_PROBABILITY)

    work()
    values = [seconds(work) for _ in range(turns)]
    return Measurement(SECTION, f"read and rate {path.name}", "seconds", values)


def random_log(sides: int, games: int) -> MatchLog:
    """Games of one player a side among ``PLAYERS``, about a tenth of the neighbours drawn."""
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


def _games(sides: int, count: int) -> list[tuple[list[int], list[float]]]:
    """The first games of the log as (players, ranks) in plain Python, for the rivals."""
    log = random_log(sides, count)
    players, ranks = log.player.reshape(-1, sides), log.rank.reshape(-1, sides).astype(float)
    return list(zip(players.tolist(), ranks.tolist(), strict=True))


def _replay_work(sides: int) -> Work:
    games = OUR_GAMES[sides]
    log = random_log(sides, games)

    def work() -> None:
        replay_trueskill(log, beta=BETA, tau=TAU, draw_probability=DRAW_PROBABILITY)

    return "compiled replay", work, games


def _openskill_work(sides: int) -> Work:
    games = _games(sides, OPENSKILL_GAMES[sides])
    model = PlackettLuce(beta=BETA, tau=TAU)

    def work() -> None:
        board = [model.rating() for _ in range(PLAYERS)]
        for players, ranks in games:
            rated = model.rate([[board[k]] for k in players], ranks=ranks)
            for k, side in zip(players, rated, strict=True):
                board[k] = side[0]

    return "openskill Plackett-Luce", work, len(games)


def _trueskill_work(sides: int) -> Work:
    games = _games(sides, TRUESKILL_GAMES[sides])
    environment = trueskill.TrueSkill(beta=BETA, tau=TAU, draw_probability=DRAW_PROBABILITY)

    def work() -> None:
        board = [environment.create_rating() for _ in range(PLAYERS)]
        for players, ranks in games:
            rated = environment.rate([(board[k],) for k in players], ranks)
            for k, side in zip(players, rated, strict=True):
                board[k] = side[0]

    return "trueskill", work, len(games)


def _single_work(sides: int) -> Work:
    teams, ranks = [[(25.0, 25.0 / 3.0)] for _ in range(sides)], list(range(sides))
    calls = SINGLE_CALLS["ours"]

    def work() -> None:
        for _ in range(calls):
            rate(teams, ranks, beta=BETA, tau=TAU, draw_probability=DRAW_PROBABILITY)

    return "rate", work, calls


def _single_openskill(sides: int) -> Work:
    model = PlackettLuce(beta=BETA, tau=TAU)
    teams, ranks = [[model.rating()] for _ in range(sides)], [float(k) for k in range(sides)]
    calls = SINGLE_CALLS["openskill"]

    def work() -> None:
        for _ in range(calls):
            model.rate(teams, ranks=ranks)

    return "openskill rate", work, calls


def _single_trueskill(sides: int) -> Work:
    environment = trueskill.TrueSkill(beta=BETA, tau=TAU, draw_probability=DRAW_PROBABILITY)
    teams, ranks = [(environment.create_rating(),) for _ in range(sides)], list(range(sides))
    calls = SINGLE_CALLS["trueskill"]

    def work() -> None:
        for _ in range(calls):
            environment.rate(teams, ranks)

    return "trueskill rate", work, calls
