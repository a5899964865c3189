"""Tables of Gittins indices: the grid of states, the recursion over it, and the cache.

Player 0 against one opponent is two numbers: the distance |mu_0 - mu_k| and the variance of
s_0 - s_k. Both are in units of performances here: 2 beta^2 = 1. With C that variance, the
coordinates are z = distance / sqrt(C + 1), in which the draw density is a normal one, and
log C. Interpolation is cubic in both, on nodes evenly spaced in asinh(z) and in log C.

Let lambda be the price of a game. Playing one game, then on for as long as it pays, is worth, with
t games left,

    Q_t(x; lambda) = q(x) - lambda + E[ V_{t-1}(x'; lambda) ],   V_t = max(0, Q_t).

The index G_t(x) is the price at which Q_t is 0. V has a kink there. A fixed grid of prices or
states blurs it, a little more with each game. So V is stored in the coordinate rho = lambda / G(x),
in [0, 1] for every x: the kink is always at rho = 1, and V / G is smooth between states.

Sources: Gittins (1979), "Bandit processes and dynamic allocation indices"; Whittle (1980),
"Multi-armed bandits and the Gittins index"; for finite horizons Nino-Mora (2011), "Computing a
classical index for finite-horizon bandits", and Lattimore (2016), "Regret analysis of the
finite-horizon Gittins index strategy for multi-armed bandits".
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from matchenv.runtime import cache_folder
from matchenv.runtime.arrays import Floats
from matchenv.runtime.compile import compiled
from matchenv.runtime.files import npz_bytes, read_npz, write_bytes
from matchenv.trueskill.game import (
    OUTCOMES,
    density_at_zero,
    difference_moments,
    outcome_probability_of,
)

# Largest z of the grid, and the density of its nodes at 0 relative to evenly spaced ones (log).
FURTHEST = 8.0
STRETCH = 2.5

# Largest C of the grid: two players with sigma = 10 beta each.
WIDEST = 100.0

# Number of nodes of a cubic.
STENCIL = 4

# Relative tolerance of a price; tables are stored in float32.
PRECISION = 1e-10
MOST_STEPS = 60

# Version of the algorithm: files of other versions are not read.
METHOD = 2

# Numbers of nodes; docs/gittins.md states the resulting errors.
GAPS = 97
PRICES = 64
STEP_OF_LOG_VARIANCE = 0.24

# Smallest C of the grid, times the number of games; that many games leave a larger one.
LEAST_INFORMATION = 0.5

# Horizons are rounded up to a power of 2, so that few tables serve all. The largest is 3.8 GB.
SHORTEST, LONGEST = 64, 1 << 17

MOST_THREADS = 16

NOTICE = "matchenv: computing a table of Gittins indices for {games:,} games, once ({folder})"


class Grid(NamedTuple):
    """Nodes z_j = sinh(j stretch) / scale and C_i = exp(lowest + i step)."""

    gaps: int  # number of nodes in z
    stretch: float  # spacing in asinh(z)
    scale: float  # factor on z
    variances: int  # number of nodes in C
    lowest: float  # logarithm of the smallest C
    step: float  # spacing in log C


class Place(NamedTuple):
    """Position of a state in a grid: first nodes of the cubics, and offsets from them in nodes."""

    variance: int  # first node in C
    down: float  # offset in C
    gap: int  # first node in z, counting the mirror node
    across: float  # offset in z


def new_grid(gaps: int, smallest: float, step: float) -> Grid:
    """Return a grid that starts at the smallest C, with a spacing of at most ``step`` in log C."""
    span = math.log(WIDEST / smallest)
    variances = max(STENCIL, math.ceil(span / step) + 1)
    return Grid(
        gaps=gaps,
        stretch=STRETCH / (gaps - 1),
        scale=math.sinh(STRETCH) / FURTHEST,
        variances=variances,
        lowest=math.log(smallest),
        step=span / (variances - 1),
    )


@compiled
def cubic_weights(offset: float) -> tuple[float, float, float, float]:
    """Return the Lagrange weights of nodes 0, 1, 2 and 3 at ``offset``."""
    a, b, c, d = offset, offset - 1.0, offset - 2.0, offset - 3.0
    first, last = a * b, c * d
    return -b * last / 6.0, 0.5 * a * last, -0.5 * first * d, first * c / 6.0


@compiled
def place_of(grid: Grid, z: float, variance: float) -> Place:
    """Return the place of a state; states outside the grid are moved to its edge.

    Arrays over z start with one extra entry, the mirror of z_1, since all functions are even in z.
    The standardised distance ``z`` is >= 0, and ``variance``, C, is > 0.
    """
    row = (math.log(variance) - grid.lowest) / grid.step
    row = min(max(row, 0.0), grid.variances - 1.0)
    first_row = min(max(int(row) - 1, 0), grid.variances - STENCIL)
    scaled = z * grid.scale
    # asinh, up to the last digits near 0.
    column = math.log(scaled + math.sqrt(1.0 + scaled * scaled)) / grid.stretch
    column = min(column, grid.gaps - 1.0)
    first_column = min(int(column), grid.gaps - STENCIL + 1)
    return Place(first_row, row - first_row, first_column, column + 1.0 - first_column)


@compiled
def read(values: Floats, place: Place) -> float:
    """Return ``values``, shape (variances, gaps + 1), interpolated at a place."""
    a, b, c, d = cubic_weights(place.across)
    k = place.gap
    total = 0.0
    for r, weight in enumerate(cubic_weights(place.down)):
        row = values[place.variance + r]
        total += weight * (a * row[k] + b * row[k + 1] + c * row[k + 2] + d * row[k + 3])
    return total


class Node(NamedTuple):
    """One state before a game, and its successors."""

    density: float  # q
    probability: Floats  # probability of each outcome, shape (outcomes,)
    indices: Floats  # G after each outcome, shape (outcomes,)
    values: Floats  # V / G after each outcome, shape (outcomes, K), see ``Values``


@compiled
def read_values(values: Floats, place: Place, row: Floats) -> None:
    """Write ``values``, shape (variances, gaps + 1, K), interpolated at a place, to ``row``."""
    row[:] = 0.0
    across = cubic_weights(place.across)
    for r, weight in enumerate(cubic_weights(place.down)):
        for s, other in enumerate(across):
            node = values[place.variance + r, place.gap + s]
            for k in range(row.size):
                row[k] += weight * other * node[k]


@compiled
def worth_of(node: Node, price: float) -> float:
    """Return Q of a state at a price."""
    worth, last = node.density - price, node.values.shape[1] - 1
    for o in range(node.indices.size):
        if price < node.indices[o]:
            place = math.sqrt(1.0 - price / node.indices[o]) * last
            k = min(max(int(place) - 1, 0), last + 1 - STENCIL)
            a, b, c, d = cubic_weights(place - k)
            row = node.values[o]
            later = a * row[k] + b * row[k + 1] + c * row[k + 2] + d * row[k + 3]
            worth += node.probability[o] * node.indices[o] * max(later, 0.0)
    return worth


@compiled
def price_of(node: Node, start: float) -> float:
    """Return the price at which Q is 0, given a start at which Q is at least 0.

    Q is convex, with a slope of -1 or less. So the root lies between ``start`` and start + Q, and
    the secant method converges.
    """
    low, worth_low = start, worth_of(node, start)
    price = low + max(0.0, worth_low)
    for _ in range(MOST_STEPS):
        worth = worth_of(node, price)
        if abs(worth) <= PRECISION * price or abs(price - low) <= PRECISION * price:
            break
        step = worth * (price - low) / (worth - worth_low)
        low, worth_low, price = price, worth, price - step
    return max(start, price)


class Values(NamedTuple):
    """Index and value function of every node, for one number of games left."""

    bonus: Floats  # log(G / q), shape (variances, gaps + 1), the mirror of z_1 first
    values: Floats  # V / G at rho = 1 - (k / (K - 1))^2, shape (variances, gaps + 1, K)


@compiled
def after_game(
    grid: Grid, gap: float, variance: float, outcome: int, game: tuple[float, float]
) -> tuple[float, float, Place]:
    """Return the probability of an outcome, and q and place of the next state.

    ``gap`` is the distance of the means, and ``variance`` is C; ``game`` is draw margin and drift,
    in units of sqrt(2) beta.
    """
    draw_margin, tau = game
    uncertain = variance + 2.0 * tau * tau
    total = uncertain + 1.0
    probability = outcome_probability_of(gap, total, outcome, draw_margin)
    v, complement = difference_moments(gap, total, outcome, draw_margin)
    moved = abs(gap + uncertain * v / math.sqrt(total))
    left = uncertain * (1.0 + uncertain * complement) / total
    place = place_of(grid, moved / math.sqrt(left + 1.0), left)
    return probability, density_at_zero(moved, left + 1.0), place


@compiled(nogil=True)
def add_game(
    grid: Grid, game: tuple[float, float], now: Values, then: Values, first: int, last: int
) -> None:
    """Write ``then``, for one game more than ``now``, for variances ``first`` to ``last`` - 1.

    Ranges of variances can be computed in parallel. For ``game`` see ``after_game``.
    """
    count, outcomes = now.values.shape[2], 3 if game[0] > 0.0 else 2
    probability, indices = np.empty(outcomes), np.empty(outcomes)
    values = np.empty((outcomes, count))
    for i in range(first, last):
        variance = math.exp(grid.lowest + i * grid.step)
        for j in range(grid.gaps):
            gap = math.sinh(j * grid.stretch) / grid.scale * math.sqrt(variance + 1.0)
            density = density_at_zero(gap, variance + 1.0)
            for o in range(outcomes):
                probability[o], after, place = after_game(grid, gap, variance, OUTCOMES[o], game)
                indices[o] = after * math.exp(max(read(now.bonus, place), 0.0))
                read_values(now.values, place, values[o])
            node = Node(density, probability, indices, values)
            price = price_of(node, density * math.exp(now.bonus[i, j + 1]))
            then.bonus[i, j + 1] = math.log(price / density)
            then.values[i, j + 1, 0] = 0.0
            for k in range(1, count):
                share = k / (count - 1.0)
                then.values[i, j + 1, k] = worth_of(node, price * (1.0 - share * share)) / price
        then.bonus[i, 0] = then.bonus[i, 2]
        then.values[i, 0] = then.values[i, 2]


def compute_bonus(
    grid: Grid, prices: int, games: int, draw_margin: float = 0.0, tau: float = 0.0
) -> NDArray[np.float32]:
    """Return ``IndexTable.bonus``, with ``prices`` nodes in price; see ``index_table``."""
    # For the last game, G = q and V / G = 1 - rho.
    shape = (grid.variances, grid.gaps + 1)
    worth = np.broadcast_to((np.arange(prices) / (prices - 1.0)) ** 2, (*shape, prices))
    now, then = (Values(np.zeros(shape), worth.copy()) for _ in range(2))
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    edges = [grid.variances * part // threads for part in range(threads + 1)]
    table = np.zeros((games, *shape), dtype=np.float32)
    with ThreadPoolExecutor(threads) as pool:
        for left in range(1, games):
            shared = map(repeat, (grid, (draw_margin, tau), now, then))
            list(pool.map(add_game, *shared, edges[:-1], edges[1:]))  # list() reraises errors
            now, then = then, now
            table[left] = now.bonus
    return table


class IndexTable(NamedTuple):
    """Gittins indices of all states, in units of performances: 2 beta^2 = 1.

    ``bonus`` is ``Values.bonus`` with 1 to T games left, shape (T, variances, gaps + 1).
    """

    grid: Grid
    bonus: NDArray[np.float32]


def rounded_horizon(games: int) -> int:
    """Return the horizon of the table for this many games.

    Raises:
        ValueError: for more than ``LONGEST`` games.
    """
    if games > LONGEST:
        raise ValueError(f"horizon must be at most {LONGEST:,} for gittins, got {games:,}")
    return max(SHORTEST, 1 << max(0, games - 1).bit_length())


@lru_cache(maxsize=8)
def index_table(games: int, draw_margin: float = 0.0, tau: float = 0.0) -> IndexTable:
    """Return the table for up to ``games`` games, from the cache folder or computed.

    Every process computes it if no file can be written.

    Args:
        games: largest number of games left, >= 1.
        draw_margin: in units of sqrt(2) beta, >= 0.
        tau: drift of a skill before a game, in units of sqrt(2) beta, >= 0.
    """
    nodes = [GAPS, PRICES, STEP_OF_LOG_VARIANCE, LEAST_INFORMATION]
    key = {"method": METHOD, "games": games, "margin": draw_margin, "tau": tau, "nodes": nodes}
    settings, folder = json.dumps(key), cache_folder()
    path = folder / f"gittins-{hashlib.sha256(settings.encode()).hexdigest()[:16]}.npz"
    grid = new_grid(GAPS, min(1e-2, LEAST_INFORMATION / games), STEP_OF_LOG_VARIANCE)
    bonus = read_bonus(path, settings, grid)
    if bonus is None:
        with suppress(OSError, NotImplementedError):
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(path.with_suffix(".lock")):
                bonus = read_bonus(path, settings, grid)
                if bonus is None:
                    print(NOTICE.format(games=games, folder=folder), file=sys.stderr, flush=True)
                    bonus = compute_bonus(grid, PRICES, games, draw_margin, tau)
                    write_bytes(path, npz_bytes({"bonus": bonus}, settings, compressed=False))
    if bonus is None:
        bonus = compute_bonus(grid, PRICES, games, draw_margin, tau)
    bonus.setflags(write=False)
    return IndexTable(grid, bonus)


def read_bonus(path: Path, settings: str, grid: Grid) -> NDArray[np.float32] | None:
    """Return the table in a file, None if it is missing, damaged or of other settings."""
    try:
        bonus = read_npz(path, settings)["bonus"]
    except (OSError, ValueError, KeyError):
        return None
    good = bonus.ndim == 3 and bonus.shape[1:] == (grid.variances, grid.gaps + 1)
    return bonus if good and bonus.dtype == np.float32 else None
