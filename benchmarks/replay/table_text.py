"""A replay's report as text for the screen."""

from __future__ import annotations

import math

from matchenv.benchmarks.replay.bad_rows import BadRow
from matchenv.benchmarks.replay.reader import Reading
from matchenv.benchmarks.replay.report import Report, SystemReport

_SHOWN = 5


def reading_text(reading: Reading, *, listed: int = _SHOWN) -> str:
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
    for reason, count in reading.reasons.items():
        lines.append(f"  {reason}: {count}")
        rows = [row for row in reading.bad_rows if row.reason == reason]
        lines.extend(f"    {_where(row)}" for row in rows[:listed])
        if len(rows) > listed > 0:
            lines.append(f"    and {len(rows) - listed} more")
    return "\n".join(lines)


def report_text(report: Report) -> str:
    """The measures of each system side by side."""
    settings = report.settings
    systems = report.systems
    lines = [_row("", *systems)]

    def add(label: str, *cells: str) -> None:
        lines.append(_row(label, *cells))

    add("prediction error", *(_percent(s.error.error) for s in systems.values()))
    add("  standard error", *(_percent(s.error.standard_error) for s in systems.values()))
    excesses = [_points(s.excess) for s in systems.values()]
    add("  less the first system's, points", "-", *excesses[1:])
    add("  pairs counted", *(str(s.error.pairs) for s in systems.values()))
    add("  pairs drawn", *(str(s.error.drawn) for s in systems.values()))
    add("  predicted ties", *(str(s.error.predicted_ties) for s in systems.values()))
    share = f"{100.0 * settings.challenge_share:g} %"
    for judge in systems:
        cells = (_percent(s.challenged[judge].error) for s in systems.values())
        add(f"error, most even {share} by {judge}", *cells)
    add("area of draws over quality", *(_decimals(s.draws.area) for s in systems.values()))
    for least in (1, 10, 100):
        cells = (_deviation(s, least) for s in systems.values())
        add(f"|win ratio - 50 %|, >= {least} games", *cells)
    add("log loss", *(_decimals(s.log_loss) for s in systems.values()))
    add("  of the constant forecast", *(f"{report.constant_log_loss:.4f}" for _ in systems))
    add("calibration error, wins", *(_percent(s.wins.error) for s in systems.values()))
    add("calibration error, draws", *(_percent(s.draw_forecasts.error) for s in systems.values()))
    for k, trajectory in enumerate(next(iter(systems.values())).trajectories):
        cells = (str(s.trajectories[k].games_to_settle) for s in systems.values())
        played = f"{trajectory.player} ({len(trajectory.rating)} games)"
        add(f"games to settle, {played}", *cells)
    if any(s.unconverged for s in systems.values()):
        add("games that did not converge", *(str(s.unconverged) for s in systems.values()))
    rule = settings.ties
    lines.append(
        f"ties: drawn pairs {rule.drawn_pairs}, predicted ties {rule.predicted_ties}; "
        f"draw probability {settings.parameters.draw_probability:.4f}"
    )
    return "\n".join(lines)


def _where(row: BadRow) -> str:
    return f"line {row.line}" + (f": {row.detail}" if row.detail else "")


def _row(label: str, *cells: str) -> str:
    return f"{label:<44}" + "".join(f"{cell:>14}" for cell in cells)


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100.0 * share:.2f} %"


def _decimals(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _points(excess: tuple[float, float]) -> str:
    if math.isnan(excess[0]):
        return "-"
    return f"{100.0 * excess[0]:+.2f} ± {100.0 * excess[1]:.2f}"


def _deviation(system: SystemReport, least: int) -> str:
    fairness = system.fairness
    for games, deviation in zip(fairness.games, fairness.deviation, strict=True):
        if games == least:
            return _percent(float(deviation))
    return "-"
