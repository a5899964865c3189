"""The columns of a judgement's tables, of rows as its JSON file has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from matchenv.benchmarks.queue.report import GROUP_TITLES
from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.queue_measures import GROUPS
from matchenv.evaluation.tables import Column
from matchenv.runtime.files import number

TITLES = dict(zip(GROUPS, GROUP_TITLES, strict=True))

Row = Mapping[str, Any]


def of(row: Row, name: str) -> Estimate:
    """One estimate of a row."""
    return Estimate.from_plain(row[name])


def interval(name: str, digits: int, factor: float = 1.0) -> Callable[[Row], str]:
    """A cell with a difference and its interval, empty where it is not known."""

    def cell(row: Row) -> str:
        value = of(row, name)
        return value.times(factor).interval_text(digits) if value.mean == value.mean else ""

    return cell


def _ends(name: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        value = of(row, name)
        return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"

    return cell


def _word(name: str) -> Callable[[Row], str]:
    return lambda row: str(row["verdicts"][name])


def standing_columns(minutes: float) -> tuple[Column, ...]:
    """Of all matchers.

    Args:
        minutes: of a tick.
    """
    return (
        Column("policy", lambda row: row["policy"]),
        Column("true reward", lambda row: f"{of(row, 'true_reward').mean:.1f}"),
        Column("quality", lambda row: f"{of(row, 'match_quality').mean:.3f}"),
        Column("true quality", lambda row: f"{of(row, 'true_match_quality').mean:.3f}"),
        Column("wait, minutes", lambda row: f"{minutes * of(row, 'wait').mean:.2f}"),
        Column("95 %, minutes", lambda row: f"{minutes * number(row['long_wait']):.1f}"),
        Column("left", lambda row: f"{100.0 * of(row, 'left').mean:.2f} %"),
    )


GAMES = (
    Column("players", lambda row: TITLES[row["group"]]),
    Column("parts in games", lambda row: f"{row['parts']:,}"),
    Column("believed", _ends("believed")),
    Column("in hindsight", _ends("hindsight")),
    Column("less all", interval("difference", 3)),
    Column("verdict", lambda row: row["verdict"]),
)

CHANGES = (
    Column("true quality", interval("quality", 3)),
    Column("of quality", _word("quality")),
    Column("wait, minutes", interval("wait", 2)),
    Column("of waiting", _word("wait")),
    Column("left, %", interval("left", 2, 100.0)),
    Column("of leaving", _word("left")),
)

PAYERS = (Column("players", lambda row: TITLES[row["group"]]), *CHANGES)

CONTESTS = (
    Column("policy", lambda row: row["policy"]),
    Column("true reward", interval("reward", 1)),
    Column("of reward", _word("reward")),
    *CHANGES,
)

GAINS = (
    Column("question", lambda row: row["question"]),
    Column("policy", lambda row: row["policy"]),
    Column("than", lambda row: row["than"]),
    Column("true reward", interval("reward", 1)),
    Column("share", lambda row: f"{100.0 * number(row['share']):+.1f} %"),
    Column("true quality", interval("quality", 3)),
    Column("verdict", lambda row: row["verdict"]),
)
