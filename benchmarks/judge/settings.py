"""Everything that decides a judgement beside the log: what commands show as options."""

from __future__ import annotations

from dataclasses import dataclass

from matchenv.runtime.checks import as_positive_number, as_share

DEFAULT_EPISODES = 100
DEFAULT_TUNING = 12
DEFAULT_HORIZON = 500


@dataclass(frozen=True)
class ArrivalSettings:
    """What is not read off the log; None for what is.

    Attributes:
        arrival_rate: players who log on in a minute; must be given for a log without times.
        game_minutes: minutes that a game lasts (default: the tenth percentile of the times from
            one game of a player to the next).
        patience_minutes: minutes after which a waiting player gives up, on average; no log tells
            (default: two games).
        session_minutes: who does not play for so long has logged off.
        stay: probability to queue again after a game.
        newcomers: share of those who log on who are new.

    Raises:
        ValueError: for numbers out of range.
    """

    arrival_rate: float | None = None
    game_minutes: float | None = None
    patience_minutes: float | None = None
    session_minutes: float = 30.0
    stay: float | None = None
    newcomers: float | None = None

    def __post_init__(self) -> None:
        as_positive_number("session_minutes", self.session_minutes)
        for name in ("arrival_rate", "game_minutes", "patience_minutes"):
            if getattr(self, name) is not None:
                as_positive_number(name, getattr(self, name))
        for name in ("stay", "newcomers"):
            if getattr(self, name) is not None:
                as_share(name, getattr(self, name))
