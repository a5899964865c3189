"""The service that produced a log: its present matcher, and its load as the log shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from matchenv.agents.config_file import parsed
from matchenv.benchmarks.judge import JudgeSettings
from matchenv.envs.queue.population import RatedPopulation
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.estimates import Record
from matchenv.evaluation.registry import QUEUE, Candidate, baselines_of, candidates_of, expanded
from matchenv.logs import TrueSkillReplay
from matchenv.logs.match_log import MatchLog, check_seconds
from matchenv.logs.replay import variance_of_time_away
from matchenv.runtime.arrays import Integers, Masks
from matchenv.runtime.checks import as_non_negative_number, errors_named, refusal
from matchenv.runtime.object_spec import is_object_spec

DEFAULTS = QueueSettings.checked()

MINUTE, HOUR = 60, 3600

# Limit on arrivals per tick; a longer queue would take days to play.
BUSIEST = 1000.0
# More players who leave the queue are not believed.
MOST_LEAVERS = 0.9
# This share of the times between two games of a session is assumed to contain no wait.
SHORTEST = 0.1
# Rows of a population.
MOST_ROWS = 2000
# Ticks of the trial run of a rule.
TRIAL = 200


def read_rule(text: str, tick_minutes: float) -> Candidate:
    """Read the rule with this name, and play it in a short trial.

    Args:
        text: a YAML or JSON file with the numbers ``window``, in skill points, and ``growth``, in
            skill points per minute; a policy of the queue; or ``module:Class``.
        tick_minutes: length of a tick in minutes.

    Returns:
        The policy; its label has the numbers of the file.

    Raises:
        ValueError: for an unreadable file, another content, an unknown policy, or one that raises.
    """
    known = text.partition(":")[0] in baselines_of(QUEUE) or is_object_spec(text)
    if known and len(expanded([text])) > 1:
        raise ValueError(f"rule must be one policy, got {text!r}")
    label, policy = (text, text) if known else _window(text, tick_minutes)
    settings = QueueSettings.checked(horizon=TRIAL, arrival_rate=1.0)
    (found,) = candidates_of([policy], settings)
    with errors_named(f"rule {label!r}"):
        found.rollout(settings, [0])
    return replace(found, label=label)


def _window(text: str, tick_minutes: float) -> tuple[str, str]:
    """Return the label and the policy name of the window in a file."""
    try:
        if not Path(text).is_file():
            raise FileNotFoundError("no such file")
        found = parsed(Path(text).read_text(encoding="utf-8"), "rule")
    except (OSError, UnicodeError, ValueError) as error:
        raise ValueError(
            f"rule must be a YAML or JSON file, module:Class, or a policy of the queue "
            f"({', '.join(baselines_of(QUEUE))}), got {text!r}: {error}"
        ) from None
    if not isinstance(found, dict) or not {"window"} <= set(found) <= {"window", "growth"}:
        units = "in skill points and skill points per minute"
        raise refusal(f"rule must hold window and can hold growth, {units}", found)
    width, growth = (
        as_non_negative_number(f"rule {name}", found.get(name, 0.0))
        for name in ("window", "growth")
    )
    return (
        f"window {width:g}, growth {growth:g} a minute",
        f"window:width={width:.6g},growth={growth * tick_minutes:.6g}",
    )


def arrivals_of(log: MatchLog, settings: JudgeSettings) -> Record:
    """Estimate the load from the times of a log; the settings override it.

    Returns:
        ``arrival_rate``, players who log on per minute, as a typical player sees it: the mean over
        players who log on, not over hours, many of which are empty; ``game_minutes``,
        ``patience_minutes``, ``stay`` and ``newcomers``, see ``JudgeSettings``; the number of
        ``sessions``; the names that were ``read_off`` the log, and those that were ``assumed``;
        and, in ticks of the environment, ``tick_minutes``, ``ticks_rate`` and ``patience``.

    Raises:
        ValueError: for a quantity that neither the log nor the settings give, for too many
            players, and for a patience of less than a tick.
    """
    why = dict.fromkeys(("game_minutes", "arrival_rate"), "for a log without times")
    seen: dict[str, float] = {}
    sessions = 0
    if log.time is not None:
        check_seconds(log.time)
        begins, gaps = sessions_of(log, settings.session_minutes)
        starts = log.time[log.entry_game[begins]]
        sessions = int(starts.size)
        why = {
            "game_minutes": "where the log does not show it: no player has two games within "
            f"{settings.session_minutes:g} minutes at times that differ",
            "arrival_rate": f"where the log does not show it: {sessions} players logged on "
            f"within {starts[-1] - starts[0]} seconds",
        }
        seen = {
            "game_minutes": float(np.quantile(gaps, SHORTEST)) / MINUTE if gaps.size else 0.0,
            "arrival_rate": _typical_rate(starts),
            "stay": 1.0 - sessions / len(log.player),
            # In the later half: the first players of a log are not new.
            "newcomers": float((log.entry_before[begins][sessions // 2 :] < 0).mean()),
        }
    given = {name: getattr(settings, name) for name in (*why, "stay", "newcomers")}
    assumed = {"stay": DEFAULTS.stay, "newcomers": DEFAULTS.newcomers}
    fixed = {name: value for name, value in given.items() if value is not None}
    values = assumed | seen | fixed
    for name, reason in why.items():
        if not values.get(name, 0.0) > 0.0:
            raise ValueError(f"{name} must be given {reason}")
    length, rate = values["game_minutes"], values["arrival_rate"]
    tick = length / DEFAULTS.game_length
    patience = settings.patience_minutes or DEFAULTS.patience * tick
    if not rate * tick <= BUSIEST:
        raise ValueError(
            f"arrival_rate times game_minutes must be at most "
            f"{BUSIEST * DEFAULTS.game_length:,.0f} players, got {rate:g} times {length:g}"
        )
    if patience < tick:
        raise ValueError(
            f"patience_minutes must be at least a tick of {tick:g} minutes, got {patience:g}"
        )
    return Record(
        **values,
        patience_minutes=patience,
        sessions=sessions,
        read_off=[name for name in seen if name not in fixed],
        assumed=[name for name in assumed if name not in seen | fixed],
        tick_minutes=tick,
        ticks_rate=rate * tick,
        patience=patience / tick,
    )


def with_leavers(load: Record, left: float) -> Record:
    """Return a load with the players who left the queue without a game, whom no log shows.

    In a log, a player who queued again and gave up has logged off, and one who logged on and gave
    up was never there. What the settings give is not changed.

    Args:
        load: from ``arrivals_of``.
        left: share of visits to the queue that end without a game; NaN without visits.
    """
    share = 1.0 - min(left, MOST_LEAVERS) if left > 0.0 else 1.0
    stay, rate = (load[name] / share if name in load.read_off else load[name]
                  for name in ("stay", "arrival_rate"))  # fmt: skip
    ticks_rate = min(rate * load.tick_minutes, BUSIEST)
    return Record(load, stay=min(stay, 1.0), arrival_rate=rate, ticks_rate=ticks_rate)


def sessions_of(log: MatchLog, session_minutes: float) -> tuple[Masks, Integers]:
    """Return where sessions begin: at a first game, and at a game after a break.

    Returns:
        ``(begins, gaps)``: (entries,), whether the entry's player logged on for that game; and the
        seconds between consecutive games of one session.
    """
    assert log.time is not None
    time, before = log.time[log.entry_game], log.entry_before
    gap = time - time[before]
    begins = (before < 0) | (gap > session_minutes * MINUTE)
    return begins, gap[~begins]


def population_of(
    log: MatchLog, replay: TrueSkillReplay, session_minutes: float, time_drift: float
) -> RatedPopulation:
    """Return the beliefs about players who logged on again, as they were then.

    Frequent players count often. A log in which nobody logs on again gives the ratings after its
    last game. Without times every game is a session. ``time_drift`` is the drift of a skill over a
    day.
    """
    again = log.entry_before >= 0
    if log.time is not None:
        again &= sessions_of(log, session_minutes)[0]
    now = np.flatnonzero(again)
    if now.size == 0:
        return RatedPopulation(replay.mu, replay.sigma, "the log")
    now = now[np.unique(np.linspace(0, now.size - 1, MOST_ROWS).astype(np.int64))]
    before, drift = log.entry_before[now], 0.0 if log.time is None else time_drift
    variance = replay.entry_sigma[before] ** 2 + variance_of_time_away(log, drift)[now]
    return RatedPopulation(replay.entry_mu[before], np.sqrt(variance), "the log")


def _typical_rate(starts: Integers) -> float:
    """Return arrivals per minute as a typical player sees them; 0 if all are simultaneous."""
    span = int(starts[-1] - starts[0])
    if span == 0:
        return 0.0
    width = min(HOUR, span)
    _, games = np.unique((starts - starts[0]) // width, return_counts=True)
    count = games.astype(np.float64)
    # A player sees the others of the hour: the mean of n (n - 1) has no Poisson noise.
    typical = float((count * (count - 1.0)).sum() / count.sum())
    return typical / width * MINUTE
