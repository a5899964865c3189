"""Judge a log: how even its games were, and how other matchers perform at its load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matchenv.runtime.checks import as_integer, as_positive_number, as_share

if TYPE_CHECKING:
    from matchenv.benchmarks.judge.judging import Judgement, judge

__all__ = ["JudgeSettings", "Judgement", "judge"]

LONGEST_RUN = 1_000_000  # ticks; a week of games of ten minutes has 10,080


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """The present matcher, the load where the log does not show it, and the runs.

    Attributes:
        rule: the present matcher: a YAML or JSON file with window and growth, a policy of the
            queue, or module:Class (default: unknown; differences are to fcfs).
        episodes: runs of each matcher.
        tuning_episodes: runs of each setting in the tuning.
        horizon: ticks of a run; a game has 10.
        seed: random seed.
        arrival_rate: players who log on per minute; required for a log without times.
        game_minutes: length of a game in minutes (default: the tenth percentile of the times from
            one game of a player to the next).
        patience_minutes: mean minutes after which a waiting player gives up; no log shows it
            (default: two games).
        session_minutes: minutes without a game after which a player has logged off.
        stay: probability of queueing again after a game.
        newcomers: share of new players among those who log on.

    Raises:
        ValueError: for a number out of range.
    """

    rule: str | None = None
    episodes: int = 100
    tuning_episodes: int = 12
    horizon: int = 500
    seed: int = 0
    arrival_rate: float | None = None
    game_minutes: float | None = None
    patience_minutes: float | None = None
    session_minutes: float = 30.0
    stay: float | None = None
    newcomers: float | None = None

    def __post_init__(self) -> None:
        as_integer("episodes", self.episodes, 2)
        as_integer("tuning_episodes", self.tuning_episodes, 2)
        as_integer("horizon", self.horizon, 1, LONGEST_RUN)
        as_integer("seed", self.seed, 0)
        as_positive_number("session_minutes", self.session_minutes)
        for name in ("arrival_rate", "game_minutes", "patience_minutes"):
            value = getattr(self, name)
            if value is not None:
                as_positive_number(name, value)
        for name in ("stay", "newcomers"):
            value = getattr(self, name)
            if value is not None:
                as_share(name, value)


def __getattr__(name: str) -> Any:
    """Import on first use: the options alone must load quickly."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from matchenv.benchmarks.judge import judging

    return getattr(judging, name)
