"""TrueSkill Through Time against the TrueSkillThroughTime package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

from matchenv.benchmarks.throughput.ratings import DRAW_PROBABILITY, GAME, random_log
from matchenv.benchmarks.throughput.timing import Contest, Side, contest
from matchenv.logs import smooth
from matchenv.logs.match_log import MatchLog

SECTION = "smoothing"
TARGET = 20.0
# Walks forwards and backwards, the same number for both; no tolerance is met before.
ITERATIONS = 5
NEVER_SETTLED = 1e-150
# Games of so many sides: ours in one turn, the package's in one turn.
GAMES = {2: (50_000, 200), 8: (5_000, 30)}


def measure(turns: int) -> Iterator[Contest]:
    """Games a second, forwards and backwards, of both.

    Args:
        turns: turns of each side.
    """
    if find_spec("trueskillthroughtime") is None:
        return
    for sides, (ours, rival) in GAMES.items():
        yield contest(
            SECTION, f"smoothing of games of {sides} players", "games/s",
            _ours(random_log(sides, ours)), _rival(random_log(sides, rival)),
            turns=turns, target=TARGET,
        )  # fmt: skip


def _ours(log: MatchLog) -> Side:
    def work() -> None:
        smooth(
            log, **GAME, draw_probability=DRAW_PROBABILITY,
            tolerance=NEVER_SETTLED, max_iterations=ITERATIONS,
        )  # fmt: skip

    return "matchenv.logs.smooth", work, log.num_games * ITERATIONS


def _rival(log: MatchLog) -> Side:
    through_time = import_module("trueskillthroughtime")
    sides = len(log.rank) // log.num_games
    games = [[[str(k)] for k in row] for row in log.player.reshape(-1, sides).tolist()]
    scores = (-log.rank.reshape(-1, sides)).tolist()

    def work() -> None:
        history = through_time.History(
            games, scores, mu=25.0, sigma=25.0 / 3.0, beta=GAME["beta"], gamma=GAME["tau"],
            p_draw=DRAW_PROBABILITY,
        )  # fmt: skip
        history.convergence(epsilon=0.0, iterations=ITERATIONS, verbose=False)

    return "TrueSkillThroughTime", work, log.num_games * ITERATIONS
