"""What defines the match-making problem: sizes, the game's constants, prior and reward."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypedDict

from matchenv.belief import DEFAULT_BELIEF, Belief, GameConstants, belief_named
from matchenv.options import Options, shows_options_of
from matchenv.options import checked_by as _by
from matchenv.priors import DEFAULT_PRIOR, EQUAL_VARIANCES, Prior, prior_of
from matchenv.rewards import DEFAULT_REWARD, Reward, reward_of
from matchenv.runtime.checks import (
    as_choice,
    as_integer,
    as_non_negative_number,
    as_number,
    as_positive_number,
    as_positive_share,
    as_share,
)

RANKS = ("top", "middle", "bottom")
RANKINGS = ("prior_mean", "true_skill")
NOISES = ("game", "opponent")

# The 2011 study: beta^2 = 2.5.
PAPER_BETA = math.sqrt(2.5)

# Beyond these nothing could be played, and arrays would not fit into any memory.
MOST_OPPONENTS, LONGEST_HORIZON = 1_000_000, 1_000_000_000

# Where no place was asked for.
ANY_RANK = -1


def _as_belief(name: str, value: Any) -> str:
    del name
    return belief_named(value).name


def _as_prior(name: str, value: Any) -> str | Prior:
    del name
    prior_of(value)
    given: str | Prior = value
    return given


def _as_reward(name: str, value: Any) -> str | Reward:
    del name
    reward_of(value)
    given: str | Reward = value
    return given


def _as_it_is(name: str, value: Any) -> Any:
    del name
    return value


@dataclass(frozen=True)
class Settings(Options):
    """The settings of an environment; made with bad ones it raises ``ValueError``.

    A new option is four edits: its line below with default and check, its line in this
    docstring, its line in ``EnvironmentOptions``, and its row in ``MatchmakingEnv``'s table.
    Both environments, ``gym.make``, configurations and commands then have it.

    Attributes:
        num_opponents: M, opponents of player 0, at most a million.
        horizon: N, games in an episode, at most a thousand million.
        beta: standard deviation of one performance around skill.
        prior: ``"informative"`` or ``"equal"``, the two set-ups of the 2011 study, or a
            ``matchenv.Prior``.
        rank: place of player 0 among all M + 1 players: 0 the best, ``"top"``, ``"middle"``,
            ``"bottom"``, or None for random.
        reward: one of ``matchenv.rewards.REWARDS``, or a ``matchenv.Reward``.
        draw_margin: performances closer than this are a draw; 0: no draws.
        tau: standard deviation of a skill's drift at each of the player's games.
        rank_by: what the place is by, ``"prior_mean"`` or ``"true_skill"``.
        equal_variance: with ``prior="equal"``, ``"paper"`` keeps the variances of 2 to 3,
            ``"matching"`` adds the variance of the hidden means, so that the belief is true.
        belief: a name of ``matchenv.belief.BELIEFS``: ``"factorised"``, every player apart,
            ``"full"``, with covariances, or ``"printed"``, with the 2011 paper's misprints.
        availability: share of the opponents who are online at a time, in (0, 1].
        mean_stay: games that an opponent stays online or offline, the mean over stays of both
            kinds, which alternate: online ones last 2 availability mean_stay games on average,
            offline ones 2 (1 - availability) mean_stay, and neither less than 1.
        turnover: probability after each game that an opponent leaves for good and a stranger
            takes the place.
        noise: ``"game"``: the n-th game of an episode has the same noise whoever is chosen;
            ``"opponent"``: the k-th game against an opponent has, whenever it is played.

    Raises:
        ValueError: for a value that is not allowed; it names the argument and what is.
    """

    sizes: ClassVar[tuple[str, ...]] = ("num_opponents", "horizon")

    num_opponents: int = field(default=49, metadata=_by(as_integer, low=1, high=MOST_OPPONENTS))
    horizon: int = field(default=500, metadata=_by(as_integer, low=1, high=LONGEST_HORIZON))
    beta: float = field(default=PAPER_BETA, metadata=_by(as_positive_number))
    prior: str | Prior = field(default=DEFAULT_PRIOR, metadata=_by(_as_prior))
    rank: int | str | None = field(default=None, metadata=_by(_as_it_is))
    reward: str | Reward = field(default=DEFAULT_REWARD, metadata=_by(_as_reward))
    draw_margin: float = field(default=0.0, metadata=_by(as_non_negative_number))
    tau: float = field(default=0.0, metadata=_by(as_non_negative_number))
    rank_by: str = field(default="prior_mean", metadata=_by(as_choice, known=RANKINGS))
    equal_variance: str = field(default="paper", metadata=_by(as_choice, known=EQUAL_VARIANCES))
    belief: str = field(default=DEFAULT_BELIEF, metadata=_by(_as_belief))
    availability: float = field(default=1.0, metadata=_by(as_positive_share))
    mean_stay: float = field(default=50.0, metadata=_by(as_number, low=1.0))
    turnover: float = field(default=0.0, metadata=_by(as_share))
    noise: str = field(default="game", metadata=_by(as_choice, known=NOISES))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.belief_type.check_constants(self.constants)
        shares = (self.availability, 1.0 - self.availability)
        least = 0.5 / min(share for share in shares if share > 0.0)
        if self.mean_stay < least * (1.0 - 1e-12):
            raise ValueError(
                f"mean_stay must be at least {least:g} with availability={self.availability!r}, "
                f"so that online and offline stays last a game or more, got {self.mean_stay!r}"
            )
        place = place_of_rank(self.rank, self.num_opponents)
        if self.rank is not None and not isinstance(self.rank, str):
            object.__setattr__(self, "rank", place)
        by_equal_means = self.rank_by == "prior_mean" and not self.prior_type.means_differ
        if place != ANY_RANK and by_equal_means:
            raise ValueError(
                f"rank_by must be 'true_skill' with a rank and prior={self.prior!r}, whose means "
                f"are all equal, got {self.rank_by!r}"
            )

    @property
    def num_players(self) -> int:
        """M + 1: player 0 and the opponents."""
        return self.num_opponents + 1

    @property
    def place(self) -> int:
        """The place that ``rank`` names: 0 is the best; ``ANY_RANK`` for a random one."""
        return place_of_rank(self.rank, self.num_opponents)

    @property
    def prior_type(self) -> Prior:
        """The prior that ``prior`` names or is."""
        return prior_of(self.prior, self.equal_variance)

    @property
    def reward_type(self) -> Reward:
        """The reward that ``reward`` names or is."""
        return reward_of(self.reward)

    @property
    def belief_type(self) -> Belief:
        """The belief that ``belief`` names."""
        return belief_named(self.belief)

    @property
    def constants(self) -> GameConstants:
        """beta, draw_margin and tau: what a belief must know of a game."""
        return GameConstants(self.beta, self.draw_margin, self.tau)

    @property
    def observation_size(self) -> int:
        """Numbers in an observation: the belief's, and the mask of a pool that changes."""
        masks = self.num_opponents if self.pool_changes else 0
        return self.belief_type.observation_size(self.num_opponents) + masks

    @property
    def pool_changes(self) -> bool:
        """Whether opponents come and go."""
        return self.availability < 1.0 or self.turnover > 0.0

    @property
    def goes_offline(self) -> float:
        """Probability after a game that an opponent who is online goes offline."""
        share = self.availability
        return 0.0 if share == 1.0 else 0.5 / (share * self.mean_stay)

    @property
    def comes_online(self) -> float:
        """Probability after a game that an opponent who is offline comes online."""
        share = self.availability
        return 1.0 if share == 1.0 else 0.5 / ((1.0 - share) * self.mean_stay)


class EnvironmentOptions(TypedDict, total=False):
    """The options of an environment, for editors; ``Settings`` says what they are."""

    num_opponents: int
    horizon: int
    beta: float
    prior: str | Prior
    rank: int | str | None
    reward: str | Reward
    draw_margin: float
    tau: float
    rank_by: str
    equal_variance: str
    belief: str
    availability: float
    mean_stay: float
    turnover: float
    noise: str


shows_options = shows_options_of(Settings)


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
