"""Whether the simulated present matcher reproduces the log."""

from __future__ import annotations

import math

import numpy as np

from matchenv.benchmarks.judge.evenness import LEAST_BLOCKS, block_values, effective_blocks
from matchenv.benchmarks.judge.service import MINUTE, sessions_of
from matchenv.evaluation.estimates import UNKNOWN, Estimate, Record, estimate
from matchenv.logs.fitting import blocks_of
from matchenv.logs.match_log import MatchLog

# A faithful simulation can differ from its log by this much in quality, since the load is estimated
# and time passes in ticks. See docs/judge.md.
TOLERANCE = 0.05

# Players of a faithful simulation rarely leave; with a larger share the load is doubtful.
MANY_LEAVE = 0.2


def comparison_with_log(
    log: MatchLog,
    evenness: Record,
    simulated: Record,
    load: Record,
    session_minutes: float,
    *,
    has_rule: bool,
) -> Record:
    """Compare the simulated present matcher with the log.

    Qualities decide. Waits do not: the times of a log also contain pauses and games of different
    length. If the rule is unknown, the simulated matcher ignores skill, and only a log with less
    even games contradicts it.

    Args:
        log: the log.
        evenness: the row of all players of ``group_evenness``.
        simulated: the standing of the present matcher, or of the baseline that stands for it.
        load: the load of the simulation.
        session_minutes: minutes without a game after which a player has logged off.
        has_rule: whether the rule of the present matcher is known.

    Returns:
        ``rows`` with ``measure``, the estimates ``log`` and ``simulated``, their ``difference``
        and whether they ``agree``; ``contradicted``, whether a row does not agree; and
        ``reasons``, what the simulation may miss.
    """
    rows = [
        _row("quality before the games", evenness.believed, simulated.match_quality, has_rule),
        _row("quality in hindsight", evenness.hindsight, simulated.true_match_quality, has_rule),
    ]
    contradicted = not all(row.agree for row in rows)
    reasons: list[str] = []
    if contradicted:
        reasons = _reasons(rows, log, simulated.left.mean)
    if log.time is not None:
        wait = wait_of_log(log, load.game_minutes, session_minutes)
        simulated_wait = simulated.wait.times(load.tick_minutes)
        difference = difference_of(simulated_wait, wait)
        rows.append(
            Record(
                measure="wait, minutes (log: with pauses)",
                log=wait,
                simulated=simulated_wait,
                difference=difference,
                agree=True,
            )
        )
    return Record(rows=rows, contradicted=contradicted, reasons=reasons)


def difference_of(simulated: Estimate, logged: Estimate) -> Estimate:
    """Return the difference of two independent estimates, the simulated one minus the log's."""
    if not (simulated.known and logged.known):
        return UNKNOWN
    mean = simulated.mean - logged.mean
    error = math.hypot(simulated.standard_error, logged.standard_error)
    half = math.hypot(simulated.half_width, logged.half_width)
    return Estimate(mean, error, mean - half, mean + half)


def wait_of_log(log: MatchLog, game_minutes: float, session_minutes: float) -> Estimate:
    """Return the mean minutes between two games of a session, minus the length of a game.

    Args:
        log: a log with times.
        game_minutes: length of a game.
        session_minutes: minutes without a game after which a player has logged off.

    Returns:
        The mean with an interval over blocks of games; ``UNKNOWN`` for too few blocks.
    """
    begins, gaps = sessions_of(log, session_minutes)
    minutes = np.zeros(begins.size)
    minutes[~begins] = gaps / MINUTE - game_minutes
    block = blocks_of(log.num_games)[log.entry_game]
    count = effective_blocks(~begins, block)
    if count < LEAST_BLOCKS:
        return UNKNOWN
    return estimate(block_values(minutes, ~begins, block), count)


def _row(measure: str, logged: Estimate, simulated: Estimate, has_rule: bool) -> Record:
    difference = difference_of(simulated, logged)
    is_more_even = difference.low > TOLERANCE
    is_less_even = has_rule and difference.high < -TOLERANCE
    return Record(
        measure=measure,
        log=logged,
        simulated=simulated,
        difference=difference,
        agree=not (is_more_even or is_less_even),
    )


def _reasons(rows: list[Record], log: MatchLog, left: float) -> list[str]:
    """Return what a simulation that does not reproduce the log may miss."""
    reasons = []
    if (log.team_size > 1).any() or (log.game_size > 2).any():
        reasons.append("teams or more than two sides, which the queue does not play")
    if any(row.difference.low > TOLERANCE for row in rows):
        reasons.append(
            "something else that the matcher considers, for example region, mode, parties or "
            "latency, so that fewer players could meet"
        )
    if any(row.difference.high < -TOLERANCE for row in rows):
        reasons.append(
            "something that the matcher knew and the log does not show, for example ratings of "
            "another mode"
        )
    if left > MANY_LEAVE:
        reasons.append(
            f"the patience or the load, since {100.0 * left:.0f} % of the simulated visits end "
            "without a game"
        )
    reasons.append("another rule than the one given, or another load than the estimated one")
    return reasons
