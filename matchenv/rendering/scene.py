"""What a picture shows, as plain numbers: the beliefs now and the games so far."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Beliefs reach this many standard deviations to either side of an axis drawn around them.
AXIS_DEVIATIONS = 2.5

# The axis grows in steps of this part of its first width, so that it seldom moves.
AXIS_STEP = 0.125


@dataclass(frozen=True)
class Scene:
    """One moment of an episode of M opponents, after n games.

    Attributes:
        mu: means of the beliefs, shape (M + 1,), in skill points.
        sigma: their standard deviations, shape (M + 1,).
        horizon: games in the episode.
        beta: standard deviation of one performance around skill.
        first_sigma: a typical standard deviation at the start of the episode.
        skill_range: lowest and highest skill on the axis.
        opponents: actions so far, shape (n,); action a is opponent a + 1.
        outcomes: +1 player 0 won, -1 lost, 0 a draw; shape (n,).
        draw_density: q of every game under the belief before it, shape (n,).
        true_draw_density: the same under the true skills, None to keep them hidden.
        true_skill: shape (M + 1,), None to keep them hidden.
        title: what stands above.
        online: which opponents are online, shape (M,); None for all.
    """

    mu: Floats
    sigma: Floats
    horizon: int
    beta: float
    first_sigma: float
    skill_range: tuple[float, float]
    opponents: NDArray[np.int64]
    outcomes: NDArray[np.int64]
    draw_density: Floats
    true_draw_density: Floats | None = None
    true_skill: Floats | None = None
    title: str = "Matchmaking-v0"
    online: NDArray[np.bool_] | None = None

    @property
    def games_played(self) -> int:
        """Games so far, n."""
        return self.opponents.size

    @property
    def games_left(self) -> int:
        """Games left in the episode."""
        return self.horizon - self.games_played

    @property
    def opponent(self) -> int | None:
        """The opponent of the last game, 1 to M; None before the first."""
        return int(self.opponents[-1]) + 1 if self.games_played else None

    @property
    def win_ratio(self) -> float | None:
        """Part of the games that player 0 won; None before the first."""
        return float(np.mean(self.outcomes > 0)) if self.games_played else None

    @property
    def judged_density(self) -> Floats:
        """True q of every game where it may be shown, else q under the belief; shape (n,)."""
        return self.draw_density if self.true_draw_density is None else self.true_draw_density


class EpisodeRecord:
    """What a picture needs to remember of an episode: its start and every game.

    Args:
        horizon: games in the episode.
        beta: standard deviation of one performance around skill.
        title: what stands above the pictures.
        show_true_skill: whether pictures show true skills and what follows from them.
    """

    def __init__(
        self,
        horizon: int,
        beta: float,
        title: str = "Matchmaking-v0",
        show_true_skill: bool = True,
    ) -> None:
        self.horizon = horizon
        self.beta = beta
        self.title = title
        self.show_true_skill = show_true_skill
        self._first_sigma = 1.0
        self._first_range = (-1.0, 1.0)
        self._opponents = array("q")
        self._outcomes = array("q")
        self._draw_density = array("d")
        self._true_draw_density = array("d")

    def begin(self, mu: Floats, sigma: Floats, true_skill: Floats) -> None:
        """Forget all games and remember the start; each array of shape (M + 1,)."""
        self._first_sigma = float(np.median(sigma))
        shown = true_skill if self.show_true_skill else None
        self._first_range = skill_range(mu, sigma, shown)
        for each in (
            self._opponents,
            self._outcomes,
            self._draw_density,
            self._true_draw_density,
        ):
            del each[:]

    def add(
        self, opponent: int, outcome: int, draw_density: float, true_draw_density: float
    ) -> None:
        """Remember one game.

        Args:
            opponent: the action, in [0, M).
            outcome: +1 player 0 won, -1 lost, 0 a draw.
            draw_density: q under the belief before the game.
            true_draw_density: q under the true skills.
        """
        self._opponents.append(opponent)
        self._outcomes.append(outcome)
        self._draw_density.append(draw_density)
        self._true_draw_density.append(true_draw_density)

    @property
    def last_game(self) -> tuple[int, int] | None:
        """Action and outcome of the last game; None before the first."""
        return (self._opponents[-1], self._outcomes[-1]) if self._opponents else None

    def scene(
        self,
        mu: Floats,
        sigma: Floats,
        true_skill: Floats,
        online: NDArray[np.bool_] | None = None,
    ) -> Scene:
        """The moment with these beliefs and truths, each of shape (M + 1,).

        Args:
            mu: means of the beliefs.
            sigma: their standard deviations.
            true_skill: true skills.
            online: which opponents are online, shape (M,); None for all.
        """
        shown = self.show_true_skill
        return Scene(
            mu=mu,
            sigma=sigma,
            horizon=self.horizon,
            beta=self.beta,
            first_sigma=self._first_sigma,
            skill_range=widened_range(
                self._first_range, skill_range(mu, sigma, true_skill if shown else None)
            ),
            opponents=np.array(self._opponents, dtype=np.int64),
            outcomes=np.array(self._outcomes, dtype=np.int64),
            draw_density=np.array(self._draw_density),
            true_draw_density=np.array(self._true_draw_density) if shown else None,
            true_skill=true_skill if shown else None,
            title=self.title,
            online=online,
        )


def skill_range(mu: Floats, sigma: Floats, true_skill: Floats | None) -> tuple[float, float]:
    """Lowest and highest skill of an axis on which all beliefs and marks have room.

    Args:
        mu: shape (M + 1,).
        sigma: shape (M + 1,).
        true_skill: shape (M + 1,), None where no marks are drawn.
    """
    ends = [mu - AXIS_DEVIATIONS * sigma, mu + AXIS_DEVIATIONS * sigma]
    if true_skill is not None:
        ends.append(true_skill)
    low, high = min(float(each.min()) for each in ends), max(float(each.max()) for each in ends)
    # Points that lie on one another still need an axis that can be divided.
    least = max(1e-6, 1e-6 * max(abs(low), abs(high)))
    return (low, high) if high - low >= least else (low - least, high + least)


def widened_range(first: tuple[float, float], now: tuple[float, float]) -> tuple[float, float]:
    """``first``, with an end moved outwards by whole steps where ``now`` reaches beyond it."""
    low, high = first
    step = AXIS_STEP * (high - low)
    if step > 0.0:
        low -= step * np.ceil(max(0.0, low - now[0]) / step)
        high += step * np.ceil(max(0.0, now[1] - high) / step)
    return float(low), float(high)
