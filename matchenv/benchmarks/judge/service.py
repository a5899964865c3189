"""The service that produced a log: its present matcher, and its load as the log shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

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
from matchenv.runtime.yaml_values import parsed

DEFAULTS = QueueSettings.checked()

MINUTE = 60
HOUR = 3600

# Quantities without a default.
REQUIRED = ("game_minutes", "arrival_rate")

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


def read_rule(rule: str, tick_minutes: float) -> Candidate:
    """Read the rule with this name, and play it in a short trial.

    Args:
        rule: a YAML or JSON file with the numbers ``window``, in skill points, and ``growth``, in
            skill points per minute; a policy of the queue; or ``module:Class``.
        tick_minutes: length of a tick in minutes.

    Returns:
        The policy; its label has the numbers of the file.

    Raises:
        ValueError: for an unreadable file, another content, an unknown policy, or one that raises.
    """
    label = rule
    policy = rule
    if rule.partition(":")[0] in baselines_of(QUEUE) or is_object_spec(rule):
        if len(expanded([rule])) > 1:
            raise ValueError(f"rule must be one policy, got {rule!r}")
    else:
        window, growth = _window_of_file(rule)
        label = f"window {window:g}, growth {growth:g} a minute"
        policy = f"window:width={window:.6g},growth={growth * tick_minutes:.6g}"
    settings = QueueSettings.checked(horizon=TRIAL, arrival_rate=1.0)
    (candidate,) = candidates_of([policy], settings)
    with errors_named(f"rule {label!r}"):
        candidate.rollout(settings, [0])
    return replace(candidate, label=label)


def _window_of_file(file: str) -> tuple[float, float]:
    """Return window and growth of a YAML or JSON file, in skill points and minutes.

    Raises:
        ValueError: for an unreadable file or another content.
    """
    try:
        if not Path(file).is_file():
            raise FileNotFoundError("no such file")
        content = parsed(Path(file).read_text(encoding="utf-8"), "rule")
    except (OSError, UnicodeError, ValueError) as error:
        raise ValueError(
            f"rule must be a YAML or JSON file, module:Class, or a policy of the queue "
            f"({', '.join(baselines_of(QUEUE))}), got {file!r}: {error}"
        ) from None
    if not isinstance(content, dict) or not {"window"} <= set(content) <= {"window", "growth"}:
        units = "in skill points and skill points per minute"
        raise refusal(f"rule must hold window and can hold growth, {units}", content)
    window = as_non_negative_number("rule window", content["window"])
    growth = as_non_negative_number("rule growth", content.get("growth", 0.0))
    return window, growth


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
    shown: dict[str, float] = {}
    sessions = 0
    # Why a quantity that has no default must be an option.
    reasons = dict.fromkeys(REQUIRED, "for a log without times")
    if log.time is not None:
        check_seconds(log.time)
        shown, sessions, span = _load_of_times(log, settings.session_minutes)
        reasons["game_minutes"] = (
            "where the log does not show it: no player has two games within "
            f"{settings.session_minutes:g} minutes at times that differ"
        )
        reasons["arrival_rate"] = (
            f"where the log does not show it: {sessions} players logged on within {span} seconds"
        )
    defaults = {"stay": DEFAULTS.stay, "newcomers": DEFAULTS.newcomers}
    options = {}
    for name in (*REQUIRED, *defaults):
        value = getattr(settings, name)
        if value is not None:
            options[name] = value
    load = defaults | shown | options
    for name in REQUIRED:
        if not load.get(name, 0.0) > 0.0:
            raise ValueError(f"{name} must be given {reasons[name]}")
    tick_minutes = load["game_minutes"] / DEFAULTS.game_length
    patience_minutes = settings.patience_minutes or DEFAULTS.patience * tick_minutes
    _check_load(load["arrival_rate"], load["game_minutes"], patience_minutes)
    return Record(
        **load,
        patience_minutes=patience_minutes,
        sessions=sessions,
        read_off=[name for name in shown if name not in options],
        assumed=[name for name in defaults if name not in shown and name not in options],
        tick_minutes=tick_minutes,
        ticks_rate=load["arrival_rate"] * tick_minutes,
        patience=patience_minutes / tick_minutes,
    )


def _load_of_times(log: MatchLog, session_minutes: float) -> tuple[dict[str, float], int, int]:
    """Return the load that times show, the number of sessions, and the seconds that they span."""
    assert log.time is not None
    begins, gaps = sessions_of(log, session_minutes)
    starts = log.time[log.entry_game[begins]]
    game_minutes = 0.0
    if gaps.size:
        game_minutes = float(np.quantile(gaps, SHORTEST)) / MINUTE
    # In the later half: the first players of a log are not new.
    is_first_game = log.entry_before[begins][starts.size // 2 :] < 0
    load = {
        "game_minutes": game_minutes,
        "arrival_rate": _typical_rate(starts),
        "stay": 1.0 - starts.size / len(log.player),
        "newcomers": float(is_first_game.mean()),
    }
    return load, int(starts.size), int(starts[-1] - starts[0])


def _check_load(arrival_rate: float, game_minutes: float, patience_minutes: float) -> None:
    """Refuse a load that the queue cannot play.

    Raises:
        ValueError: for too many players, or a patience of less than a tick.
    """
    tick_minutes = game_minutes / DEFAULTS.game_length
    if not arrival_rate * tick_minutes <= BUSIEST:
        raise ValueError(
            f"arrival_rate times game_minutes must be at most "
            f"{BUSIEST * DEFAULTS.game_length:,.0f} players, got {arrival_rate:g} times "
            f"{game_minutes:g}"
        )
    if patience_minutes < tick_minutes:
        raise ValueError(
            f"patience_minutes must be at least a tick of {tick_minutes:g} minutes, got "
            f"{patience_minutes:g}"
        )


def with_leavers(load: Record, left: float) -> Record:
    """Return a load with the players who left the queue without a game, whom no log shows.

    In a log, a player who queued again and gave up has logged off, and one who logged on and gave
    up was never there. What the settings give is not changed.

    Args:
        load: from ``arrivals_of``.
        left: share of visits to the queue that end without a game; NaN without visits.
    """
    served = 1.0
    if left > 0.0:
        served = 1.0 - min(left, MOST_LEAVERS)
    stay = load.stay
    if "stay" in load.read_off:
        stay = min(stay / served, 1.0)
    arrival_rate = load.arrival_rate
    if "arrival_rate" in load.read_off:
        arrival_rate /= served
    ticks_rate = min(arrival_rate * load.tick_minutes, BUSIEST)
    return Record(load, stay=stay, arrival_rate=arrival_rate, ticks_rate=ticks_rate)


def sessions_of(log: MatchLog, session_minutes: float) -> tuple[Masks, Integers]:
    """Return where sessions begin: at a first game, and at a game after a break.

    Returns:
        ``(begins, gaps)``: (entries,), whether the entry's player logged on for that game; and the
        seconds between consecutive games of one session.
    """
    assert log.time is not None
    time = log.time[log.entry_game]
    gap = time - time[log.entry_before]
    begins = (log.entry_before < 0) | (gap > session_minutes * MINUTE)
    return begins, gap[~begins]


def population_of(
    log: MatchLog, replay: TrueSkillReplay, session_minutes: float, time_drift: float
) -> RatedPopulation:
    """Return the beliefs about players who logged on again, as they were then.

    Frequent players count often. A log in which nobody logs on again gives the ratings after its
    last game. Without times every game is a session.

    Args:
        log: the log.
        replay: its replay.
        session_minutes: minutes without a game after which a player has logged off.
        time_drift: drift of a skill over a day.
    """
    returned = log.entry_before >= 0
    if log.time is None:
        time_drift = 0.0
    else:
        begins, _ = sessions_of(log, session_minutes)
        returned &= begins
    entries = np.flatnonzero(returned)
    if entries.size == 0:
        return RatedPopulation(replay.mu, replay.sigma, "the log")
    rows = np.unique(np.linspace(0, entries.size - 1, MOST_ROWS).astype(np.int64))
    entries = entries[rows]
    before = log.entry_before[entries]
    drift = variance_of_time_away(log, time_drift)[entries]
    sigma = np.sqrt(replay.entry_sigma[before] ** 2 + drift)
    return RatedPopulation(replay.entry_mu[before], sigma, "the log")


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
