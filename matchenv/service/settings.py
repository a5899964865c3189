"""The constants of a pool."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from matchenv.runtime.checks import (
    as_integer,
    as_non_negative_number,
    as_number,
    as_positive_number,
)
from matchenv.trueskill.draw_margin import as_draw_margin

MOST_RECENT = 1000


@dataclass(frozen=True, kw_only=True)
class PoolSettings:
    """What a pool's beliefs start from, and how games and time change them.

    The defaults are those of ``matchenv.ratings.Leaderboard``.

    Attributes:
        mu: mean of the belief about a newcomer, in skill points.
        sigma: its standard deviation, > 0.
        beta: standard deviation of one performance around skill, > 0.
        tau: standard deviation of the skill's drift before each game of a player, >= 0.
        draw_probability: of two even sides, in [0, 1); 0 refuses draws.
        drift_per_day: standard deviation of the skill's drift in one day without a game, >= 0;
            after d days the variance has grown by d drift_per_day^2.
        recent: number of a player's last opponents who are not chosen for the player again.
        games_left: number of games to come, for rules that count them, >= 1.
    """

    mu: float = 25.0
    sigma: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    tau: float = 25.0 / 300.0
    draw_probability: float = 0.1
    drift_per_day: float = 0.0
    recent: int = 0
    games_left: int = 500

    @classmethod
    def checked(cls, **given: Any) -> Self:
        """Return settings of checked numbers.

        Args:
            given: any of the attributes, by name.

        Raises:
            ValueError: for an unknown name or a number that is not allowed.
        """
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                raise ValueError(f"settings must be among {', '.join(known)}, got {name!r}")
        new = cls(**given)
        for name, check in (
            ("mu", as_number), ("sigma", as_positive_number), ("beta", as_positive_number),
            ("tau", as_non_negative_number), ("draw_probability", as_number),
            ("drift_per_day", as_non_negative_number),
        ):  # fmt: skip
            object.__setattr__(new, name, check(name, getattr(new, name)))
        as_integer("recent", new.recent, 0, MOST_RECENT)
        as_integer("games_left", new.games_left, 1)
        as_draw_margin(new.draw_probability, None, new.beta)
        return new
