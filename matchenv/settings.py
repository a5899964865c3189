"""What defines the match-making problem: sizes, the game's constants, prior and reward."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from matchenv.belief import DEFAULT_BELIEF, GameConstants, belief_named
from matchenv.validation import (
    as_choice,
    as_integer,
    as_non_negative_number,
    as_positive_number,
)

PRIORS = ("informative", "equal")
RANKS = ("top", "middle", "bottom")
RANKINGS = ("prior_mean", "true_skill")
REWARDS = ("draw_density", "match_quality", "true_draw_density")
EQUAL_VARIANCES = ("paper", "matching")

# The 2011 study: prior means from N(0, 4), prior variances uniform on [2, 3], beta^2 = 2.5.
PRIOR_MEAN_VARIANCE = 4.0
PRIOR_VARIANCE_LOW = 2.0
PRIOR_VARIANCE_HIGH = 3.0
PAPER_BETA = math.sqrt(2.5)

# Compiled code knows "no rank asked for" by this number.
ANY_RANK = -1


@dataclass(frozen=True)
class Settings:
    """The checked settings of an environment; build it with ``Settings.checked``.

    Attributes:
        num_opponents: M, opponents of player 0.
        horizon: N, games in an episode.
        beta: standard deviation of one performance around skill.
        prior: ``"informative"`` or ``"equal"``, the two set-ups of the 2011 study.
        rank: place of player 0 among all M + 1 players, 0 the best, ``ANY_RANK`` for random.
        rank_by: what the place is by, ``"prior_mean"`` or ``"true_skill"``.
        equal_variance: with equal priors, ``"paper"`` keeps the variances of 2 to 3,
            ``"matching"`` adds the variance of the hidden means, so that the belief is true.
        reward: one of ``REWARDS``.
        draw_margin: performances closer than this are a draw; 0: no draws.
        tau: standard deviation of a skill's drift at each of the player's games.
        belief: a name of ``matchenv.belief.BELIEFS``: ``"factorised"``, every player apart,
            ``"full"``, with covariances, or ``"printed"``, with the 2011 paper's misprints.
    """

    num_opponents: int
    horizon: int
    beta: float
    prior: str
    rank: int
    rank_by: str
    equal_variance: str
    reward: str
    draw_margin: float
    tau: float
    belief: str = DEFAULT_BELIEF

    @classmethod
    def checked(
        cls,
        *,
        num_opponents: Any = 49,
        horizon: Any = 500,
        beta: Any = PAPER_BETA,
        prior: Any = "informative",
        rank: Any = None,
        rank_by: Any = "prior_mean",
        equal_variance: Any = "paper",
        reward: Any = "draw_density",
        draw_margin: Any = 0.0,
        tau: Any = 0.0,
        belief: Any = DEFAULT_BELIEF,
    ) -> Settings:
        """Settings from what a user typed.

        Raises:
            ValueError: for a value that is not allowed; it names the argument and what is.
        """
        opponents = as_integer("num_opponents", num_opponents, 1)
        settings = cls(
            num_opponents=opponents,
            horizon=as_integer("horizon", horizon, 1),
            beta=as_positive_number("beta", beta),
            prior=as_choice("prior", prior, PRIORS),
            rank=place_of_rank(rank, opponents),
            rank_by=as_choice("rank_by", rank_by, RANKINGS),
            equal_variance=as_choice("equal_variance", equal_variance, EQUAL_VARIANCES),
            reward=as_choice("reward", reward, REWARDS),
            draw_margin=as_non_negative_number("draw_margin", draw_margin),
            tau=as_non_negative_number("tau", tau),
            belief=belief_named(belief).name,
        )
        belief_named(belief).check_constants(settings.constants)
        return settings

    @property
    def num_players(self) -> int:
        """M + 1: player 0 and the opponents."""
        return self.num_opponents + 1

    @property
    def constants(self) -> GameConstants:
        """beta, draw_margin and tau: what a belief must know of a game."""
        return GameConstants(self.beta, self.draw_margin, self.tau)

    @property
    def observation_size(self) -> int:
        """Numbers in an observation, as the belief says."""
        return belief_named(self.belief).observation_size(self.num_opponents)


def place_of_rank(rank: Any, num_opponents: int) -> int:
    """The place that a rank names: 0 is the best, ``num_opponents`` the worst.

    Args:
        rank: None for any place, an integer, ``"top"``, ``"middle"`` (of 50 players the 25th)
            or ``"bottom"``.
        num_opponents: M.

    Raises:
        ValueError: for an unknown name or a number outside [0, num_opponents].
    """
    if rank is None:
        return ANY_RANK
    places = {"top": 0, "middle": num_opponents // 2, "bottom": num_opponents}
    if isinstance(rank, str) and rank in places:
        return places[rank]
    try:
        return as_integer("rank", rank, 0, num_opponents)
    except ValueError:
        names = ", ".join(repr(name) for name in RANKS)
        raise ValueError(
            f"rank must be None, {names} or an integer in [0, {num_opponents}], got {rank!r}"
        ) from None
