"""Everything that decides what a replay reports."""

from __future__ import annotations

from dataclasses import dataclass, field

from matchenv.benchmarks.replay.measures.prediction_error import (
    DRAWN_PAIRS,
    PREDICTED_TIES,
    TieRule,
)
from matchenv.benchmarks.replay.reader import ReadingSettings
from matchenv.benchmarks.replay.systems import ELO_TEAMS, SYSTEMS, SystemSettings
from matchenv.validation import as_choice, as_integer, as_number, as_probability


@dataclass(frozen=True)
class ReplaySettings:
    """Settings of a replay; checked when they are made.

    Attributes:
        systems: names of the rating systems, the first one picks the top players.
        reading: how to read the log.
        parameters: of the rating systems.
        ties: how ties count in the prediction error.
        challenge_share: share of the games that each system puts forward as most even.
        fair_share: share of the games, the most even ones, in which win ratios are counted.
        quality_threshold: least quality of those games instead of a share, or None.
        bins: bins of the calibration curves.
        top_players: how many players' convergence is shown.

    Raises:
        ValueError: for an unknown name or a number out of range.
    """

    systems: tuple[str, ...] = ("trueskill", "elo")
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    parameters: SystemSettings = field(default_factory=SystemSettings)
    ties: TieRule = field(default_factory=TieRule)
    challenge_share: float = 0.2
    fair_share: float = 0.5
    quality_threshold: float | None = None
    bins: int = 20
    top_players: int = 4

    def __post_init__(self) -> None:
        for name in self.systems:
            as_choice("systems", name, SYSTEMS)
        if not self.systems or len(set(self.systems)) != len(self.systems):
            raise ValueError(f"systems must name each system once, got {self.systems!r}")
        if self.parameters.draw_probability is not None:
            as_probability("draw_probability", self.parameters.draw_probability)
        as_choice("elo_teams", self.parameters.elo_teams, ELO_TEAMS)
        as_choice("drawn_pairs", self.ties.drawn_pairs, DRAWN_PAIRS)
        as_choice("predicted_ties", self.ties.predicted_ties, PREDICTED_TIES)
        for share in ("challenge_share", "fair_share"):
            value = as_number(share, getattr(self, share))
            if not 0.0 < value <= 1.0:
                raise ValueError(f"{share} must be in (0, 1], got {value!r}")
        if self.quality_threshold is not None:
            as_number("quality_threshold", self.quality_threshold)
        as_integer("bins", self.bins, 1, 1000)
        as_integer("top_players", self.top_players, 0, 20)
