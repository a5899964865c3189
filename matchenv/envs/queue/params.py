"""Numbers and working arrays of the compiled functions of the queue."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.settings import BY_TRUTH, RELATIVE, QueueSettings
from matchenv.runtime.arrays import Floats, Integers
from matchenv.trueskill.sides import TABLE_ROWS

# Streams of random numbers, with their indices.
LOG_ON = 0  # time to the next log-on: the party's number
ORIGIN = 1  # newcomer or regular, and row of the population: the player's number
SKILL = 2  # mean and true skill: 2 x the player's number, and 1 more
PATIENCE = 3  # of a visit: ``joint_index`` of the party's number and games played
STAY = 4  # after a game: the same
OUTCOME = 5  # of a game of two sides: its number
DRIFT = 6  # of a player in a game: ``joint_index`` of the game's number and the seat
PARTY_SIZE = 7  # of a party: its number
PERFORMANCE = 8  # of a side, of more than two: ``joint_index`` of the game's number and the side

# The numbers of the settings, and some that follow from them.
RULES = np.dtype(
    [
        ("num_sides", np.int64),
        ("side_size", np.int64),
        ("num_seats", np.int64),
        ("rate_of_day", np.float64),  # sum of the arrival rates of the ticks of a day
        ("newcomers", np.float64),
        ("patience", np.float64),
        ("game_length", np.int64),
        ("stay", np.float64),
        ("waiting_cost", np.float64),
        # Of a player who gives up, with the usual quality of the games that the player would still
        # have played.
        ("abandonment_cost", np.float64),
        ("horizon", np.int64),
        ("beta", np.float64),
        ("side_beta", np.float64),  # deviation of a side's performance around its skill
        ("draw_margin", np.float64),
        ("tau", np.float64),
        ("mean", np.float64),  # of a newcomer's belief
        ("deviation", np.float64),  # of a newcomer's belief
        ("by_truth", np.int64),  # 1 if the reward is the true match quality, else 0
        ("usual_quality", np.float64),  # match quality subtracted for each player of a game
    ],
    align=True,
)

# Rows of ``Params.offsets``: what a party's bonus adds to each member's skill, and the part of it
# that beliefs count.
TRUE_OFFSET = 0
KNOWN_OFFSET = 1

# Rows of ``Params.numbers``, whose contents are not kept between calls, with their columns.
PARTY_MEAN = 0  # mean of the performance of each party in a lobby
PARTY_VARIANCE = 1  # variance of their skills
MU = 2  # means of the beliefs about the players of a game, as forecasts count them
SIGMA = 3  # standard deviations of these beliefs
SKILL_IN_PARTY = 4  # true skills of the players of a game, with the bonus of their parties
WEIGHT = 5  # always 1
MARGIN = 6  # always the draw margin
PERFORMANCES = 7  # of the sides of a game
RANK = 8  # of the sides of a game
SIDE_MEAN = 9  # of the performances of the sides of a game
SIDE_VARIANCE = 10  # of these performances, without their noise
SIDE_TOTAL = 11  # of these performances, with their noise
SIDE_NOISE = 12  # always the variance of the noise of a side's performance
NUMBER_ROWS = 13

# The same of ``Params.integers``.
SEAT = 0  # slots of the players of a game, side by side
PARTY = 1  # slots of the parties in a lobby
SIZE = 2  # their sizes
SIDE = 3  # their sides
COUNT = 4  # number of parties of each size in a lobby, at size - 1
FITS = 5  # 1 if a party of this size can join the lobby, else 0, at the size
SIDE_START = 6  # index of the first player of each side
INTEGER_ROWS = 7


class Params(NamedTuple):
    """The settings for compiled functions, and their working arrays.

    A game has k sides of n players and S seats.

    Attributes:
        rules: one RULES record, shape (1,): calls with an array cost less than with a record.
        rates: arrival rates of the ticks of a day, shape (D,).
        size_limits: upper ends of the party sizes' intervals of uniform numbers, shape (m,).
        offsets: shape (2, n + 1), at the size of the party.
        population: ``Population.rows``, shape (K, 3).
        numbers: shape (NUMBER_ROWS, S + 1).
        integers: shape (INTEGER_ROWS, S + 1).
        messages: workspace of ``rate_sides``, shape (TABLE_ROWS, k).
    """

    rules: NDArray[Any]
    rates: Floats
    size_limits: Floats
    offsets: Floats
    population: Floats
    numbers: Floats
    integers: Integers
    messages: Floats


def params_of(settings: QueueSettings) -> Params:
    """Return the settings and working arrays for the compiled functions."""
    population = settings.population
    usual_quality = 0.0
    if settings.reward == RELATIVE:
        usual_quality = settings.usual_quality
    rates = np.array(settings.rates)
    rules = np.zeros(1, RULES)
    for name in (
        "num_sides",
        "side_size",
        "num_seats",
        "newcomers",
        "patience",
        "game_length",
        "stay",
        "waiting_cost",
        "horizon",
        "beta",
        "side_beta",
        "draw_margin",
        "tau",
    ):
        rules[name] = getattr(settings, name)
    rules["rate_of_day"] = rates.sum()
    rules["abandonment_cost"] = settings.abandonment_cost + usual_quality * settings.games_of_player
    rules["mean"] = population.mean
    rules["deviation"] = population.deviation
    rules["by_truth"] = settings.reward == BY_TRUTH
    rules["usual_quality"] = usual_quality
    offsets = np.zeros((2, settings.side_size + 1))
    for size in range(1, settings.side_size + 1):
        offsets[TRUE_OFFSET, size] = settings.party_offset(size)
        if settings.belief_knows_party:
            offsets[KNOWN_OFFSET, size] = settings.party_offset(size)
    # The last limit is above every uniform number, whatever the rounding of the sum.
    size_limits = np.cumsum(settings.party_sizes)
    size_limits[-1] = 1.0
    columns = settings.num_seats + 1
    numbers = np.zeros((NUMBER_ROWS, columns))
    numbers[WEIGHT] = 1.0
    numbers[MARGIN] = settings.draw_margin
    numbers[SIDE_NOISE] = settings.side_beta**2
    integers = np.zeros((INTEGER_ROWS, columns), dtype=np.int64)
    integers[FITS] = 1
    integers[SIDE_START] = settings.side_size * np.arange(columns)
    return Params(
        rules=rules,
        rates=rates,
        size_limits=size_limits,
        offsets=offsets,
        population=np.ascontiguousarray(population.rows),
        numbers=numbers,
        integers=integers,
        messages=np.zeros((TABLE_ROWS, settings.num_sides)),
    )
