"""``belief="factorised"``: the papers' own, every player's skill apart."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.belief.belief import Floats, GameConstants, Integers
from matchenv.belief.independent import IndependentBelief
from matchenv.compilation import compiled
from matchenv.play import DRAW_DENSITY, MATCH_QUALITY, MU, SIGMA, report_belief
from matchenv.trueskill.game import drifted, quality_per_density, total_variance, update_two
from matchenv.trueskill.game_loops import densities_at_zero, total_variances, update_games

# So many games are learnt from at a time: what they need stays in the fastest memory.
PART = 256

# So few are learnt from one by one: there is nothing to overlap.
FEW = 4


class FactorisedBelief(IndependentBelief):
    """TrueSkill's belief: independent normals before and after every game.

    The games' own correlations are forgotten, so it grows overconfident with many games.

    Source: Herbrich, Minka, Graepel (2006), section 3; Ryzhov, Tariq, Powell (2011), eq. (1)
    and (2), corrected.
    """

    name: ClassVar[str] = "factorised"

    def learn(
        self,
        players: Floats,
        memory: Floats,
        opponents: Integers,
        outcomes: NDArray[np.int8],
        waiting: NDArray[np.bool_],
        constants: GameConstants,
        report: Floats,
        observation: NDArray[np.float32],
    ) -> None:
        """As ``Belief.learn``, in compiled loops."""
        del memory
        learn = learn_from_few if waiting.size <= FEW else learn_factorised
        learn(players, opponents, outcomes, waiting, *constants, report, observation)


@compiled(nogil=True)
def learn_factorised(
    players: Floats,
    opponents: Integers,
    outcomes: NDArray[np.int8],
    waiting: NDArray[np.bool_],
    beta: float,
    draw_margin: float,
    tau: float,
    report: Floats,
    observation: NDArray[np.float32],
) -> None:
    """As ``Belief.learn``; the constants are those of ``GameConstants``."""
    most = min(PART, waiting.size)
    numbers, played = np.empty((4, most)), np.empty(most, dtype=np.int8)
    rows, columns = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    for first in range(0, waiting.size, PART):
        # Four numbers of each game lie apart from each other: fetched in one go, they are waited
        # for together.
        count = 0
        for b in range(first, min(first + PART, waiting.size)):
            report[DRAW_DENSITY, b] = 0.0
            report[MATCH_QUALITY, b] = 0.0
            if waiting[b]:
                continue
            j = opponents[b] + 1
            rows[count], columns[count], played[count] = b, j, outcomes[b]
            numbers[0, count], numbers[1, count] = players[b, 0, MU], players[b, 0, SIGMA]
            numbers[2, count], numbers[3, count] = players[b, j, MU], players[b, j, SIGMA]
            count += 1
        mu_0, sigma_0 = numbers[0, :count], numbers[1, :count]
        mu_j, sigma_j = numbers[2, :count], numbers[3, :count]
        report_beliefs(rows[:count], mu_0, sigma_0, mu_j, sigma_j, beta, report)
        if tau > 0.0:
            for k in range(count):
                sigma_0[k], sigma_j[k] = drifted(sigma_0[k], tau), drifted(sigma_j[k], tau)
        update_games(mu_0, sigma_0, mu_j, sigma_j, played[:count], beta, draw_margin)
        show_beliefs(
            rows[:count], columns, mu_0, sigma_0, mu_j, sigma_j, players, observation
        )  # fmt: skip


@compiled(makes_arrays=False)
def learn_from_few(
    players: Floats,
    opponents: Integers,
    outcomes: NDArray[np.int8],
    waiting: NDArray[np.bool_],
    beta: float,
    draw_margin: float,
    tau: float,
    report: Floats,
    observation: NDArray[np.float32],
) -> None:
    """As ``learn_factorised``, game by game: what one environment has no use for takes no time."""
    quality = quality_per_density(beta)
    count = players.shape[1]
    for b in range(players.shape[0]):
        j = opponents[b] + 1
        mu_0, sigma_0 = players[b, 0, MU], players[b, 0, SIGMA]
        mu_j, sigma_j = players[b, j, MU], players[b, j, SIGMA]
        variance = total_variance(sigma_0, sigma_j, beta)
        report_belief(b, waiting[b], mu_0 - mu_j, variance, quality, report)
        if waiting[b]:
            continue
        outcome = np.int64(outcomes[b])  # the type that other callers have: compiled once
        mu_0, sigma_0, mu_j, sigma_j = update_two(
            mu_0, drifted(sigma_0, tau), mu_j, drifted(sigma_j, tau), outcome, beta, draw_margin
        )
        players[b, 0, MU], players[b, 0, SIGMA] = mu_0, sigma_0
        players[b, j, MU], players[b, j, SIGMA] = mu_j, sigma_j
        observation[b, 0] = mu_0
        observation[b, j] = mu_j
        observation[b, count] = sigma_0
        observation[b, count + j] = sigma_j


@compiled(nogil=True)
def report_beliefs(
    rows: Integers,
    mu_0: Floats,
    sigma_0: Floats,
    mu_j: Floats,
    sigma_j: Floats,
    beta: float,
    report: Floats,
) -> None:
    """Judge games about to be played.

    Args:
        rows: the episodes, shape (K,).
        mu_0: means of player 0, shape (K,), and so are the next three.
        sigma_0: deviations of player 0.
        mu_j: means of the opponents.
        sigma_j: deviations of the opponents.
        beta: standard deviation of one performance around skill.
        report: shape (5, B), DRAW_DENSITY and MATCH_QUALITY of the rows are written.
    """
    work = np.empty((3, rows.size))
    gap, variance, density = work[0], work[1], work[2]
    for k in range(rows.size):
        gap[k] = mu_0[k] - mu_j[k]
    total_variances(sigma_0, sigma_j, beta, variance)
    densities_at_zero(gap, variance, density)
    quality = quality_per_density(beta)
    for k in range(rows.size):
        report[DRAW_DENSITY, rows[k]] = density[k]
        report[MATCH_QUALITY, rows[k]] = quality * density[k]


@compiled(nogil=True, makes_arrays=False)
def show_beliefs(
    rows: Integers,
    columns: Integers,
    mu_0: Floats,
    sigma_0: Floats,
    mu_j: Floats,
    sigma_j: Floats,
    players: Floats,
    observation: NDArray[np.float32],
) -> None:
    """Put the beliefs of the two who played into their places.

    Args:
        rows: the episodes, shape (K,).
        columns: the opponents, 1 to M, shape (at least K,).
        mu_0: as ``report_beliefs``, and so are the next three.
        sigma_0: as there.
        mu_j: as there.
        sigma_j: as there.
        players: as ``Belief``, changed.
        observation: changed.
    """
    count = players.shape[1]
    for k in range(rows.size):
        b, j = rows[k], columns[k]
        players[b, 0, MU], players[b, 0, SIGMA] = mu_0[k], sigma_0[k]
        players[b, j, MU], players[b, j, SIGMA] = mu_j[k], sigma_j[k]
        observation[b, 0] = mu_0[k]
        observation[b, j] = mu_j[k]
        observation[b, count] = sigma_0[k]
        observation[b, count + j] = sigma_j[k]
