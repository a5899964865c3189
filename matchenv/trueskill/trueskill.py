"""The ``TrueSkill`` object, with the interface of the trueskill package."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from matchenv.runtime.checks import (
    as_flag,
    as_non_negative_number,
    as_number,
    as_positive_number,
    as_probability,
    refusal,
)
from matchenv.trueskill.probabilities import (
    first_place_probability,
    team_match_quality,
    team_win_probability,
)
from matchenv.trueskill.rating import Rating, rate
from matchenv.trueskill.teams import Rank, Team, Weights, sides_of

Group = Team | Mapping[Hashable, tuple[float, float]]
Rated = list[Rating] | dict[Hashable, Rating]


@dataclass(frozen=True)
class TrueSkill:
    """The constants of a game, and the functions that use them as methods.

    A group is one side of a game: a list of ratings (any (mu, sigma) pairs) or a dict of ratings by
    name. Results have the form of the arguments.

    Args:
        mu: mean of the belief about a newcomer.
        sigma: standard deviation of the belief about a newcomer, > 0.
        beta: standard deviation of one performance around skill, > 0.
        tau: standard deviation of the skill's drift before each game, >= 0.
        draw_probability: probability that two even sides of known skill draw, in [0, 1).
        k: number of sigmas that ``expose`` subtracts, >= 0; None for mu / sigma, with which
            newcomers begin at 0.

    Raises:
        ValueError: for bad input.

    Source: Herbrich, Minka, Graepel (2006).
    """

    mu: float = 25.0
    sigma: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    tau: float = 25.0 / 300.0
    draw_probability: float = 0.1
    k: float | None = None

    def __post_init__(self) -> None:
        as_number("mu", self.mu)
        as_positive_number("sigma", self.sigma)
        as_positive_number("beta", self.beta)
        as_non_negative_number("tau", self.tau)
        as_probability("draw_probability", self.draw_probability)
        if self.k is not None:
            as_non_negative_number("k", self.k)

    def create_rating(self, mu: float | None = None, sigma: float | None = None) -> Rating:
        """Return a rating; values left out are a newcomer's."""
        if mu is None:
            mu = self.mu
        if sigma is None:
            sigma = self.sigma
        return Rating(as_number("mu", mu), as_positive_number("sigma", sigma))

    def rate(
        self,
        groups: Iterable[Group],
        ranks: Sequence[Rank] | None = None,
        weights: Any = None,
    ) -> list[Rated]:
        """Return the ratings of all players after a game of two or more sides.

        Args:
            groups: the sides, lists or dicts of ratings.
            ranks: one number for each side, lower is better, equal is a draw; or an interval
                (first, last) for a place known only in part, see ``matchenv.trueskill.rate``. None
                for 0, 1, 2 and so on.
            weights: see ``matchenv.trueskill.rate``. A list for each side, a dict by name for each
                side, or one dict with keys (side, name or index). Members left out of a dict have
                weight 1. None for all 1.

        Returns:
            The sides as lists or dicts of ``Rating``.

        Raises:
            ValueError: for bad input.
        """
        sides = sides_of("groups", groups)
        if ranks is None:
            ranks = range(len(sides))
        members, teams, member_weights = _game(sides, weights)
        rated = rate(
            teams,
            ranks,
            beta=self.beta,
            tau=self.tau,
            draw_probability=self.draw_probability,
            weights=member_weights,
        )
        result: list[Rated] = []
        for side, names, ratings in zip(sides, members, rated, strict=True):
            if isinstance(side, Mapping):
                result.append(dict(zip(names, ratings, strict=True)))
            else:
                result.append(ratings)
        return result

    def rate_1vs1(
        self, winner: tuple[float, float], loser: tuple[float, float], drawn: bool = False
    ) -> tuple[Rating, Rating]:
        """Return the ratings of the winner and the loser after a game, or of both after a draw."""
        if type(drawn) is int and drawn in (0, 1):  # the flag can be a cell of a table
            drawn = bool(drawn)
        ranks = [0, 1]
        if as_flag("drawn", drawn):
            ranks = [0, 0]
        rated = self.rate([[winner], [loser]], ranks)
        (first,), (second,) = cast(list[list[Rating]], rated)
        return first, second

    def quality(self, groups: Iterable[Group], weights: Any = None) -> float:
        """Return the match quality of a game; see ``team_match_quality``."""
        _, teams, member_weights = _game(groups, weights)
        return team_match_quality(teams, self.beta, member_weights)

    def quality_1vs1(self, rating_i: tuple[float, float], rating_j: tuple[float, float]) -> float:
        """Return the match quality of a game of two players."""
        return self.quality([[rating_i], [rating_j]])

    def win_probability(self, group_i: Group, group_j: Group, weights: Any = None) -> float:
        """Return the probability that the first side wins; see ``team_win_probability``."""
        _, (team_i, team_j), member_weights = _game([group_i, group_j], weights)
        return team_win_probability(
            team_i,
            team_j,
            self.beta,
            draw_probability=self.draw_probability,
            weights=member_weights,
        )

    def first_place_probability(self, groups: Iterable[Group], weights: Any = None) -> list[float]:
        """Return each side's probability of winning; see ``first_place_probability``."""
        _, teams, member_weights = _game(groups, weights)
        return first_place_probability(
            teams, self.beta, draw_probability=self.draw_probability, weights=member_weights
        )

    def expose(self, rating: tuple[float, float]) -> float:
        """Return the conservative skill estimate of leaderboards, mu - k sigma."""
        try:
            mu, sigma = rating
        except (TypeError, ValueError):
            raise refusal("rating must be a (mu, sigma) pair", rating) from None
        k = self.k
        if k is None:
            k = self.mu / self.sigma
        return as_number("mu", mu) - k * as_positive_number("sigma", sigma)


Named = Mapping[Hashable, tuple[float, float]]


def _game(groups: Iterable[Group], weights: Any) -> tuple[list[Named], list[Team], Weights | None]:
    """Return the sides by name or index, the sides as lists, and the weights as lists."""
    sides = sides_of("groups", groups)
    try:
        members = [_by_name(side) for side in sides]
    except TypeError:
        raise refusal("groups must be lists or dicts of (mu, sigma) pairs", sides) from None
    teams: list[Team] = [list(side.values()) for side in members]
    return members, teams, _weights_of(weights, members)


def _by_name(side: Any) -> Named:
    """Return a side's ratings by name, or by index for a list."""
    if isinstance(side, Mapping):
        return side
    return dict(enumerate(side))


def _weights_of(weights: Any, members: list[Named]) -> Weights | None:
    """Return weights of any form that ``TrueSkill.rate`` supports as lists."""
    if weights is None:
        return None
    if isinstance(weights, Mapping):
        return _weights_by_side_and_name(weights, members)
    rows = sides_of("weights", weights)
    if len(rows) != len(members):
        raise refusal("weights must have one entry for each side", weights)
    for i, (row, side) in enumerate(zip(rows, members, strict=True)):
        if isinstance(row, Mapping):
            unknown = set(row).difference(side)
            if unknown:
                raise refusal(f"weights[{i}] must name members of groups[{i}]", unknown)
            rows[i] = [row.get(name, 1.0) for name in side]
    return rows


def _weights_by_side_and_name(weights: Mapping[Any, float], members: list[Named]) -> Weights:
    """Return the weights of a dict with keys (side, name or index) as lists."""
    unknown = set(weights)
    rows = []
    for i, side in enumerate(members):
        unknown.difference_update((i, name) for name in side)
        rows.append([weights.get((i, name), 1.0) for name in side])
    if unknown:
        raise refusal("weights must have keys (side, name or index) of the groups", unknown)
    return rows
