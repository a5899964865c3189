"""A replay's report as text for the screen."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from matchenv.benchmarks.replay.report import Report, SystemReport
from matchenv.csv_log.bad_rows import listing
from matchenv.csv_log.reader import Reading


def reading_text(reading: Reading, *, listed: int = 5) -> str:
    """What was read and what was left out, with the first line numbers of each reason.

    Args:
        reading: the log as it was read.
        listed: how many bad rows to name for each reason.
    """
    log = reading.log
    lines = [
        f"{reading.file_name}: {reading.rows} rows, {reading.games} games; rated "
        f"{log.num_games} games of {log.num_players} players",
        f"bad rows: {reading.bad_lines}; good rows left out with their game: "
        f"{reading.rows_left_out}",
    ]
    named = {role: reading.column_names.get(role) for role in ("weight", "time_played", "neutral")}
    used = [f"{role} from the column {name!r}" for role, name in named.items() if name]
    lines += [", ".join(used)] if used else []
    return "\n".join(lines + listing(reading.bad_rows, listed))


def report_text(report: Report) -> str:
    """The measures of each system side by side."""
    settings, systems = report.settings, report.systems
    first = next(iter(systems.values()))
    rows: dict[str, Callable[[SystemReport], str]] = {
        "prediction error": lambda s: _percent(s.error.error),
        "  standard error": lambda s: _percent(s.error.standard_error),
        "  less the first system's, points": lambda s: "-" if s is first else _points(*s.excess),
        "  pairs counted": lambda s: str(s.error.pairs),
        "  pairs drawn": lambda s: str(s.error.drawn),
        "  predicted draws": lambda s: str(s.error.predicted_draws),
    }
    for judge in systems:
        label = f"error, most even {100.0 * settings.challenge_share:g} % by {judge}"
        rows[label] = partial(_challenged, judge=judge)
    rows["area of draws over quality"] = lambda s: _decimals(s.draws.area)
    for least in (1, 10, 100):
        rows[f"|win ratio - 50 %|, >= {least} games"] = partial(_deviation, least=least)
    rows["log loss"] = lambda s: _decimals(s.log_loss)
    rows["  of the constant forecast"] = lambda _: _decimals(report.constant_log_loss)
    rows["calibration error, wins"] = lambda s: _percent(s.wins.error)
    rows["calibration error, draws"] = lambda s: _percent(s.draw_forecasts.error)
    for k, trajectory in enumerate(first.trajectories):
        label = f"games to settle, {trajectory.player} ({len(trajectory.rating)} games)"
        rows[label] = partial(_settled, k=k)
    if any(s.unconverged for s in systems.values()):
        rows["games that did not converge"] = lambda s: str(s.unconverged)
    table = [["", *systems]]
    table += [[label, *map(cell, systems.values())] for label, cell in rows.items()]
    lines = [f"{label:<44}" + "".join(f"{cell:>14}" for cell in cells) for label, *cells in table]
    rule = settings.draws
    lines.append(
        f"drawn pairs: {rule.drawn_pairs}; predicted draws: {rule.predicted_draws}; "
        f"draw probability: {settings.parameters.draw_probability:.4f}"
    )
    return "\n".join(lines)


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100.0 * share:.2f} %"


def _decimals(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _points(excess: float, error: float) -> str:
    return "-" if math.isnan(excess) else f"{100.0 * excess:+.2f} ± {100.0 * error:.2f}"


def _challenged(system: SystemReport, judge: str) -> str:
    return _percent(system.challenged[judge].error)


def _settled(system: SystemReport, k: int) -> str:
    return str(system.trajectories[k].games_to_settle)


def _deviation(system: SystemReport, least: int) -> str:
    found = system.fairness.deviation[system.fairness.games == least]
    return _percent(float(found[0])) if found.size else "-"
