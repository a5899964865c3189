"""Settings and rewards of ``Matchmaking-v0``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypedDict

import numpy as np

from matchenv.belief import DEFAULT_BELIEF, MEASURES, Belief, GamesPlayed, belief_named
from matchenv.envs.core.settings import (
    LONGEST_HORIZON,
    MOST_OPPONENTS,
    GameOptions,
    as_limit,
    option,
)
from matchenv.envs.one_player.priors import ANY_RANK, EQUAL_VARIANCES, PRIORS, Prior, prior_of
from matchenv.runtime.arrays import Floats, Masks
from matchenv.runtime.checks import (
    as_choice,
    as_integer,
    as_number,
    as_positive_share,
    as_share,
    errors_named,
    refusal,
)
from matchenv.runtime.object_spec import object_named, spec_of

RANKS = ("top", "middle", "bottom")
ANY = "any"
RANKINGS = ("prior_mean", "true_skill")


class Reward(ABC):
    """The reward of a game.

    A custom reward implements ``of``, which must be a pure function.
    """

    @abstractmethod
    def of(self, games: GamesPlayed) -> Floats:
        """Return the rewards, shape (B,), finite where an episode is running.

        Args:
            games: one game in each of B episodes, with measures and outcomes.
        """

    def checked(self, games: GamesPlayed, running: Masks) -> Floats:
        """Return ``of`` as a new array, 0 where an episode is not running.

        Raises:
            ValueError: for a wrong shape, or numbers that are not finite.
        """
        try:
            values = np.asarray(self.of(games))
        except Exception:
            with errors_named(f"{self!r}.of"):
                raise
        if values.shape != running.shape or values.dtype.kind not in "fiub":
            raise ValueError(
                f"{self!r}.of must return shape {running.shape}, one number for each game, "
                f"got {values.dtype} of shape {values.shape}"
            )
        rewards: Floats = np.where(running, values, 0.0)
        if not np.isfinite(rewards).all():
            raise ValueError(f"{self!r}.of must return finite numbers, got {rewards!r}")
        return rewards


@dataclass(frozen=True)
class MeasureReward(Reward):
    """A measure of the game as the reward.

    Args:
        name: one of ``matchenv.belief.MEASURES``.
    """

    name: str

    def of(self, games: GamesPlayed) -> Floats:
        """Return the measure."""
        return games.measures[:, MEASURES.index(self.name)]


# Rewards by name: eq. (5), (6) and (14) of Ryzhov, Tariq, Powell (2011).
REWARDS: dict[str, Reward] = {name: MeasureReward(name) for name in MEASURES[:3]}


def _as_rank(name: str, value: Any) -> Any:
    """Return None for ``"any"``; the settings check all other ranks together."""
    return None if isinstance(value, str) and value == ANY else value


def _as_belief(name: str, value: Any) -> str:
    """Return the name of a belief."""
    return belief_named(value).name


def _as_object(name: str, value: Any, named: Mapping[str, Any], base: type) -> Any:
    """Return ``value`` unchanged if it is, names or describes an object."""
    object_named(name, value, named, base)
    return value


@dataclass(frozen=True)
class Settings(GameOptions):
    """The settings of ``Matchmaking-v0``.

    A new option is declared here, with default, check and description, and in
    ``MatchmakingOptions``, and implemented in ``matchenv.envs.one_player.simulator``. Environments,
    ``gym.make``, configurations, commands and the table of the documentation support it without
    further changes.

    Attributes:
        prior_type: the prior object.
        reward_type: the reward object.
        belief_type: the belief object.

    Raises:
        ValueError: for a bad value; it names the argument and the allowed values.
    """

    env_id: ClassVar[str] = "Matchmaking-v0"
    sizes: ClassVar[tuple[str, ...]] = ("num_opponents", "horizon")

    num_opponents: int = option(
        49, as_integer, "opponents to choose from", low=1, high=MOST_OPPONENTS
    )
    horizon: int = option(500, as_integer, "games in an episode", low=1, high=LONGEST_HORIZON)
    prior: str | Prior = option(
        "informative",
        _as_object,
        '`"informative"`, `"equal"` or a `matchenv.Prior`',
        named=PRIORS,
        base=Prior,
    )
    rank: int | str | None = option(
        None,
        _as_rank,
        'place of player 0: `"any"` or None, 0 (the best) to `num_opponents`, '
        '`"top"`, `"middle"` or `"bottom"`',
    )
    reward: str | Reward = option(
        "draw_density",
        _as_object,
        "see Rewards; or a `matchenv.Reward`",
        named=REWARDS,
        base=Reward,
    )
    rank_by: str = option(
        "prior_mean",
        as_choice,
        'order of the rank, by `"prior_mean"` or `"true_skill"`',
        known=RANKINGS,
    )
    equal_variance: str = option(
        "paper",
        as_choice,
        '`"paper"`, or `"matching"` for a calibrated `prior="equal"`',
        known=EQUAL_VARIANCES,
    )
    belief: str = option(
        DEFAULT_BELIEF,
        _as_belief,
        'what policies know: `"factorised"`, `"full"` or `module:Class`',
    )
    availability: float = option(
        1.0, as_positive_share, "mean share of opponents who are online, in (0, 1]"
    )
    mean_stay: float = option(
        50.0, as_number, "mean number of games that an opponent stays online or offline", low=1.0
    )
    turnover: float = option(
        0.0, as_share, "probability that an opponent leaves for good after a game"
    )
    noise: str = option(
        "game",
        as_choice,
        'equal luck for all policies: in the k-th `"game"` of the episode, or in the k-th game '
        'against an `"opponent"`',
        known=("game", "opponent"),
    )
    max_games_per_opponent: int | None = option(
        None, as_limit, "games after which an opponent cannot be chosen (default: no limit)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.belief_type.check_constants(self.constants)
        self._check_stays()
        limit = self.max_games_per_opponent or self.horizon
        if limit * self.num_opponents < self.horizon:
            raise ValueError(
                "max_games_per_opponent times num_opponents must be at least the horizon, "
                f"got {limit} times {self.num_opponents} for {self.horizon} games"
            )
        if self.place != ANY_RANK and not isinstance(self.rank, str):
            object.__setattr__(self, "rank", self.place)
        by_equal_means = self.rank_by == "prior_mean" and not self.prior_type.means_differ
        if self.rank is not None and by_equal_means:
            rule = f"rank_by must be 'true_skill' with a rank and prior={self.prior!r}"
            raise refusal(f"{rule}, whose means are all equal", self.rank_by)

    def _check_stays(self) -> None:
        """Refuse a ``mean_stay`` for which opponents would come or go with more than certainty."""
        rarest = self.availability
        if self.availability < 1.0:
            rarest = min(self.availability, 1.0 - self.availability)
        least = 0.5 / rarest
        if self.mean_stay < least * (1.0 - 1e-12):
            rule = f"mean_stay must be at least {least:g} with availability={self.availability!r}"
            raise refusal(f"{rule}, so that stays last a game or more", self.mean_stay)

    def plain_options(self) -> dict[str, Any]:
        """Return the plain options and the belief, which observations show."""
        return {**super().plain_options(), "belief": self.belief}

    @property
    def num_players(self) -> int:
        """M + 1: player 0 and the opponents."""
        return self.num_opponents + 1

    @property
    def place(self) -> int:
        """The place of player 0: 0 is the best, ``ANY_RANK`` is random."""
        return place_of_rank(self.rank, self.num_opponents)

    @cached_property
    def prior_type(self) -> Prior:
        """The prior object."""
        return prior_of(self.prior, self.equal_variance)

    @cached_property
    def reward_type(self) -> Reward:
        """The reward object."""
        return object_named("reward", self.reward, REWARDS, Reward)

    @cached_property
    def belief_type(self) -> Belief:
        """The belief object."""
        return belief_named(self.belief)

    @property
    def observation_size(self) -> int:
        """Size of an observation, including the mask if it changes."""
        masks = self.num_opponents if self.masks_change else 0
        return self.belief_type.observation_size(self.num_opponents) + masks

    @property
    def pool_changes(self) -> bool:
        """True if opponents come and go."""
        return self.availability < 1.0 or self.turnover > 0.0

    @property
    def masks_change(self) -> bool:
        """True if the mask of allowed opponents changes."""
        return self.pool_changes or self.max_games_per_opponent is not None

    @property
    def goes_offline(self) -> float:
        """Probability that an opponent who is online goes offline after a game."""
        share = self.availability
        return 0.0 if share == 1.0 else 0.5 / (share * self.mean_stay)

    @property
    def comes_online(self) -> float:
        """Probability that an opponent who is offline comes online after a game."""
        share = self.availability
        return 1.0 if share == 1.0 else 0.5 / ((1.0 - share) * self.mean_stay)


class MatchmakingOptions(TypedDict, total=False):
    """The options of ``Settings`` as keyword arguments, for type checkers and editors."""

    num_opponents: int
    horizon: int
    prior: str | Prior
    rank: int | str | None
    reward: str | Reward
    rank_by: str
    equal_variance: str
    belief: str
    availability: float
    mean_stay: float
    turnover: float
    noise: str
    max_games_per_opponent: int | None
    beta: float
    draw_margin: float
    tau: float
    invalid_action: str


def place_of_rank(rank: Any, num_opponents: int) -> int:
    """Return the place of a rank, from 0, the best, to ``num_opponents``.

    Args:
        rank: None for any place, an integer, ``"top"``, ``"middle"`` (the 25th of 50 players) or
            ``"bottom"``.
        num_opponents: M.

    Raises:
        ValueError: for an unknown name or a number outside [0, num_opponents].
    """
    places = {None: ANY_RANK, "top": 0, "middle": num_opponents // 2, "bottom": num_opponents}
    if isinstance(rank, str | None) and rank in places:
        return places[rank]
    try:
        return as_integer("rank", rank, 0, num_opponents)
    except ValueError:
        allowed = f"'any', 'top', 'middle', 'bottom' or an integer in [0, {num_opponents}]"
        raise refusal(f"rank must be None or {allowed}", rank) from None


def as_texts(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with priors and rewards in their string form.

    Raises:
        ValueError: for an object without a string form.
    """
    texts = dict(options)
    for name, value in options.items():
        if isinstance(value, Prior | Reward):
            known = [key for key, reward in REWARDS.items() if reward is value]
            texts[name] = known[0] if known else spec_of(name, value)
    return texts
