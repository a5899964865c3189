"""Everything that decides what a replay reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from matchenv.csv_log.settings import ReadingSettings
from matchenv.runtime.checks import as_choice, as_integer, as_number, as_probability

SystemName = Literal["trueskill", "elo", "elo-logistic", "weng-lin-bt", "weng-lin-pl", "glicko2"]
EloTeams = Literal["sum", "mean"]
DrawnPairs = Literal["left-out", "half", "wrong"]
PredictedDraws = Literal["wrong", "half", "right"]


@dataclass(frozen=True)
class ModelSettings:
    """Parameters of TrueSkill; the defaults are those of the paper.

    Attributes:
        mu: prior mean of TrueSkill and of Weng and Lin's systems, in skill points.
        sigma: their prior standard deviation.
        beta: standard deviation of one performance around skill.
        tau: standard deviation of the skill's drift between games.
        draw_probability: probability that two even sides draw; if not given, it is counted in
            the log.
        time_drift: standard deviation of the skill's drift over a day without a game.
        advantage: what the first side of a game is stronger by, in skill points, except on
            neutral ground.
        team_exponent: a side is as strong as the sum of its members over their number to this
            power: 0 for the sum, 1 for the mean.
    """

    mu: float = 25.0
    sigma: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    tau: float = 25.0 / 300.0
    draw_probability: float | None = None
    time_drift: float = 0.0
    advantage: float = 0.0
    team_exponent: float = 0.0

    def __post_init__(self) -> None:
        if self.draw_probability is not None:
            as_probability("draw_probability", self.draw_probability)


@dataclass(frozen=True)
class SystemSettings(ModelSettings):
    """Parameters of the rating systems; the defaults are those of the TrueSkill paper.

    Attributes:
        elo_start: Elo's rating of a newcomer.
        elo_beta: standard deviation of one performance in Elo's points.
        elo_alpha: Elo's weight of new evidence; K = alpha beta sqrt(pi).
        elo_teams: whether a side is as strong as the sum of its members' ratings, as in TrueSkill
            and in the paper's figures, or as one player of their mean rating.
        glicko_rating: Glicko-2's rating of a newcomer.
        glicko_deviation: its standard deviation.
        glicko_volatility: Glicko-2's volatility of a newcomer.
        glicko_tau: how much volatilities change.
    """

    elo_start: float = 1200.0
    elo_beta: float = 200.0
    elo_alpha: float = 0.07
    elo_teams: EloTeams = "sum"
    glicko_rating: float = 1500.0
    glicko_deviation: float = 350.0
    glicko_volatility: float = 0.06
    glicko_tau: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        as_choice("elo_teams", self.elo_teams, get_args(EloTeams))


@dataclass(frozen=True)
class DrawRule:
    """How draws count in the prediction error.

    Attributes:
        drawn_pairs: how pairs of sides that drew count.
        predicted_draws: how pairs count that were predicted to be even, and did not draw.
    """

    drawn_pairs: DrawnPairs = "left-out"
    predicted_draws: PredictedDraws = "wrong"

    def __post_init__(self) -> None:
        as_choice("drawn_pairs", self.drawn_pairs, get_args(DrawnPairs))
        as_choice("predicted_draws", self.predicted_draws, get_args(PredictedDraws))


@dataclass(frozen=True)
class ReplaySettings:
    """Settings of a replay; checked when they are made.

    Attributes:
        systems: the rating systems; the first one picks the top players.
        reading: how to read the log.
        parameters: parameters of the rating systems.
        draws: how draws count in the prediction error.
        challenge_share: share of the games that each system puts forward as most even.
        fair_share: share of the games, the most even ones, in which win ratios are counted.
        quality_threshold: count win ratios in the games of at least this quality instead.
        bins: bins of the calibration curves.
        top_players: how many players' convergence is shown.

    Raises:
        ValueError: for an unknown name or a number out of range.
    """

    systems: tuple[SystemName, ...] = ("trueskill", "elo")
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    parameters: SystemSettings = field(default_factory=SystemSettings)
    draws: DrawRule = field(default_factory=DrawRule)
    challenge_share: float = 0.2
    fair_share: float = 0.5
    quality_threshold: float | None = None
    bins: int = 20
    top_players: int = 4

    def __post_init__(self) -> None:
        for name in self.systems:
            as_choice("systems", name, get_args(SystemName))
        if not self.systems or len(set(self.systems)) != len(self.systems):
            raise ValueError(f"systems must name each system once, got {self.systems!r}")
        for share in ("challenge_share", "fair_share"):
            value = as_number(share, getattr(self, share))
            if not 0.0 < value <= 1.0:
                raise ValueError(f"{share} must be in (0, 1], got {value!r}")
        if self.quality_threshold is not None:
            as_number("quality_threshold", self.quality_threshold)
        as_integer("bins", self.bins, 1, 1000)
        as_integer("top_players", self.top_players, 0, 20)
