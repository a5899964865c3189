"""Numbers and working arrays of the compiled functions of the queue."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from matchenv.envs.queue.lobby import LobbyTable, packing_table
from matchenv.envs.queue.settings import BY_TRUTH, RELATIVE, QueueSettings
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.trueskill.sides import MAX_ITERATIONS, TABLE_ROWS, TOLERANCE, Constants

# Streams of random numbers, with their indices.
LOG_ON = 0  # time to the next log-on: the party's number
ORIGIN = 1  # newcomer or regular, and row of the population: the player's number
SKILL = 2  # mean and true skill: 2 x the player's number, and 1 more
PATIENCE = 3  # of a visit: ``joint_index`` of the party's number and games played
STAY = 4  # after a game: the same
OUTCOME = 5  # of a game of two sides: its number
DRIFT = 6  # of a player in a game: ``joint_index`` of the game's number and the seat
PARTY_SIZE = 7  # size of a party: its number
PERFORMANCE = 8  # of a side, of more than two: ``joint_index`` of the game's number and the side


class Workspace(NamedTuple):
    """Working arrays, whose contents are not kept between calls.

    A game has k sides of n players and S seats.

    Attributes:
        party_mean: mean of the performance of each party in a lobby, shape (S,).
        party_variance: variance of their skills, shape (S,).
        party_size: their sizes, shape (S,).
        side_of: side of each of them, shape (S,).
        counts: parties of each size in the lobby, shape (n,), at size - 1.
        fits: whether a party of each size can join, shape (n + 1,), at the size.
        seats: players' slots of a game, side by side, shape (S,).
        mu: means of their beliefs, shape (S,).
        sigma: standard deviations of their beliefs, shape (S,).
        offset: what the belief adds to each of their means, shape (S,).
        weight: 1 for each of them, shape (S,).
        side_start: index of each side's first player, shape (k + 1,).
        performance: of each side, shape (k,).
        rank: of each side, shape (k,).
        messages: workspace of ``rate_sides``, shape (TABLE_ROWS, k).
    """

    party_mean: Floats
    party_variance: Floats
    party_size: Integers
    side_of: Integers
    counts: Integers
    fits: Masks
    seats: Integers
    mu: Floats
    sigma: Floats
    offset: Floats
    weight: Floats
    side_start: Integers
    performance: Floats
    rank: Floats
    messages: Floats


class Params(NamedTuple):
    """The numbers in ``QueueSettings`` that compiled functions use, and some more.

    Attributes:
        rates: arrival rates of the ticks of a day, shape (D,).
        rate_of_day: their sum.
        abandonment_cost: of a player who gives up, with the usual quality of the games that the
            player would still have played.
        side_beta: standard deviation of the performance of a side around the sum of its skills.
        size_limits: upper ends of the party sizes' intervals of uniform numbers, shape (m,).
        true_offset: what a party's bonus adds to each member's skill, shape (n + 1,), at the size.
        known_offset: the part of it that beliefs count, shape (n + 1,).
        population: ``Population.rows``, shape (K, 3).
        mean: mean of a newcomer's belief.
        deviation: standard deviation of a newcomer's belief.
        by_truth: whether the reward is the true match quality.
        usual_quality: match quality subtracted for each player of a game.
        game: constants of the update of more than two sides.
        margins: draw margin between a side and each other side, shape (k,).
        lobbies: the shape of a game.
        work: working arrays.
    """

    num_sides: int
    side_size: int
    num_seats: int
    rates: Floats
    rate_of_day: float
    newcomers: float
    patience: float
    game_length: int
    stay: float
    waiting_cost: float
    abandonment_cost: float
    horizon: int
    beta: float
    side_beta: float
    draw_margin: float
    tau: float
    size_limits: Floats
    true_offset: Floats
    known_offset: Floats
    population: Floats
    mean: float
    deviation: float
    by_truth: bool
    usual_quality: float
    game: Constants
    margins: Floats
    lobbies: LobbyTable
    work: Workspace


def params_of(settings: QueueSettings) -> Params:
    """Return the numbers and working arrays for the compiled functions."""
    population = settings.population
    usual_quality = 0.0
    if settings.reward == RELATIVE:
        usual_quality = settings.usual_quality
    rates = np.array(settings.rates)
    true_offset = np.zeros(settings.side_size + 1)
    for size in range(1, settings.side_size + 1):
        true_offset[size] = settings.party_offset(size)
    known_offset = np.zeros_like(true_offset)
    if settings.belief_knows_party:
        known_offset = true_offset.copy()
    # The last limit is above every uniform number, whatever the rounding of the sum.
    size_limits = np.cumsum(settings.party_sizes)
    size_limits[-1] = 1.0
    return Params(
        num_sides=settings.num_sides,
        side_size=settings.side_size,
        num_seats=settings.num_seats,
        rates=rates,
        rate_of_day=float(rates.sum()),
        newcomers=settings.newcomers,
        patience=settings.patience,
        game_length=settings.game_length,
        stay=settings.stay,
        waiting_cost=settings.waiting_cost,
        abandonment_cost=settings.abandonment_cost + usual_quality * settings.games_of_player,
        horizon=settings.horizon,
        beta=settings.beta,
        side_beta=settings.side_beta,
        draw_margin=settings.draw_margin,
        tau=settings.tau,
        size_limits=size_limits,
        true_offset=true_offset,
        known_offset=known_offset,
        population=np.ascontiguousarray(population.rows),
        mean=population.mean,
        deviation=population.deviation,
        by_truth=settings.reward == BY_TRUTH,
        usual_quality=usual_quality,
        # Drift is added before the update.
        game=Constants(
            beta=settings.beta,
            tau=0.0,
            draw_margin=settings.draw_margin,
            margin_grows=False,
            tolerance=TOLERANCE,
            max_iterations=MAX_ITERATIONS,
        ),
        margins=np.full(settings.num_sides, settings.draw_margin),
        lobbies=packing_table(settings.side_size, settings.num_sides),
        work=_workspace(settings),
    )


def _workspace(settings: QueueSettings) -> Workspace:
    num_sides = settings.num_sides
    num_seats = settings.num_seats
    return Workspace(
        party_mean=np.zeros(num_seats),
        party_variance=np.zeros(num_seats),
        party_size=np.zeros(num_seats, dtype=np.int64),
        side_of=np.zeros(num_seats, dtype=np.int64),
        counts=np.zeros(settings.side_size, dtype=np.int64),
        fits=np.ones(settings.side_size + 1, dtype=np.bool_),
        seats=np.zeros(num_seats, dtype=np.int64),
        mu=np.zeros(num_seats),
        sigma=np.zeros(num_seats),
        offset=np.zeros(num_seats),
        weight=np.ones(num_seats),
        side_start=settings.side_size * np.arange(num_sides + 1),
        performance=np.zeros(num_sides),
        rank=np.zeros(num_sides),
        messages=np.zeros((TABLE_ROWS, num_sides)),
    )
