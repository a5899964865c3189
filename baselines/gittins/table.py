"""Tables of indices: computed once, kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from matchenv.baselines.gittins.grid import LEBESGUE, STENCIL, Grid, gap_at, new_grid, variance_at
from matchenv.baselines.gittins.solver import first_values, one_game_more, transitions_of
from matchenv.baselines.policy import Floats
from matchenv.runtime.files import npz_bytes, read_npz, write_bytes

# Another number for another way to compute tables: old files are then not read.
METHOD = 1

# Nodes: see docs/gittins.md for what they are good for.
GAPS = 97
PRICES = 64
STEP_OF_LOG_VARIANCE = 0.24

# The smallest variance of the grid is this over the games: so many games leave more.
LEAST_INFORMATION = 0.5

# Horizons are rounded up to a power of 2, from here on, so that few tables serve all.
SHORTEST = 64

# An infinite horizon ends where what is left cannot change a bonus by more than this.
SETTLED = 1e-6
MOST_GAMES = 100_000

MOST_THREADS = 16

State = tuple[Floats, Floats]

NOTICE = "matchenv: computing a table of Gittins indices, once (seconds; {folder})"

# Slack of upper bounds, for rounding.
SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class IndexTable:
    """Indices of all states, in units of performances: 2 beta^2 = 1.

    Attributes:
        grid: the states.
        bonus: shape (T, variances, gaps + 1), float32: log(G / q) with 1 to T games left, with
            a mirror of the first gap in front; T is 1 for an infinite horizon.
        bounds: shape (T, gaps): no state with z at or beyond node j has a larger
            log G + log(2 pi) / 2.
    """

    grid: Grid
    bonus: NDArray[np.float32]
    bounds: Floats

    @property
    def games(self) -> int:
        """T."""
        return self.bonus.shape[0]


def cache_folder() -> Path:
    """Where tables are kept: ``MATCHENV_CACHE``, or matchenv/ in the user's cache folder."""
    if given := os.environ.get("MATCHENV_CACHE"):
        return Path(given)
    system = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    base = os.environ.get(system)
    return (Path(base) if base else Path.home() / ".cache") / "matchenv"


def rounded_horizon(games: int) -> int:
    """The horizon of the table that serves so many games."""
    return max(SHORTEST, 1 << max(0, games - 1).bit_length())


@lru_cache(maxsize=8)
def index_table(
    games: int | None, draw_margin: float = 0.0, tau: float = 0.0, discount: float = 1.0
) -> IndexTable:
    """The table of an episode of so many games, from the cache folder or computed.

    Args:
        games: the longest horizon that is asked for, >= 1; None for an infinite one.
        draw_margin: in sqrt(2) beta, >= 0.
        tau: a skill's drift before a game, in sqrt(2) beta, >= 0.
        discount: of a game, in (0, 1]; below 1 for an infinite horizon.

    Returns:
        The table. Where no file can be written it is computed in every process.
    """
    settings = {
        "method": METHOD,
        "games": games,
        "draw_margin": draw_margin,
        "tau": tau,
        "discount": discount,
        "nodes": [GAPS, PRICES, STEP_OF_LOG_VARIANCE, LEAST_INFORMATION],
    }
    text = json.dumps(settings, sort_keys=True)
    path = cache_folder() / f"gittins-{hashlib.sha256(text.encode()).hexdigest()[:16]}.npz"
    grid = _grid(games, discount)
    bonus = _read(path, text, grid)
    if bonus is None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(path.with_suffix(".lock")):
                bonus = _read(path, text, grid)
                if bonus is None:
                    bonus = _computed(grid, games, draw_margin, tau, discount)
                    _write(path, text, bonus)
        except (OSError, NotImplementedError):
            if bonus is None:
                bonus = _computed(grid, games, draw_margin, tau, discount)
    bonus.setflags(write=False)
    return IndexTable(grid, bonus, _bounds(grid, bonus))


def _grid(games: int | None, discount: float) -> Grid:
    length = games if games is not None else 1.0 / (1.0 - discount)
    return new_grid(GAPS, min(1e-2, LEAST_INFORMATION / length), STEP_OF_LOG_VARIANCE)


def compute_bonus(
    grid: Grid,
    prices: int,
    games: int | None,
    draw_margin: float,
    tau: float,
    discount: float,
) -> NDArray[np.float32]:
    """log(G / q) of all states; arguments as ``index_table``, shape as ``IndexTable.bonus``.

    Args:
        grid: the states.
        prices: nodes in price.
        games: as there.
        draw_margin: as there.
        tau: as there.
        discount: as there.
    """
    game = transitions_of(grid, draw_margin, tau, discount)
    now, then = first_values(grid, prices), first_values(grid, prices)
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    edges = [grid.variances * part // threads for part in range(threads + 1)]
    parts = list(pairwise(edges))
    length = MOST_GAMES if games is None else games
    table = np.zeros((1 if games is None else games, *now[0].shape), dtype=np.float32)
    with ThreadPoolExecutor(threads) as pool:
        for left in range(1, length):

            def work(part: tuple[int, int], now: State = now, then: State = then) -> float:
                return float(one_game_more(*part, game, grid, *now, *then))

            change = max(pool.map(work, parts))
            now, then = then, now
            table[0 if games is None else left] = now[0]
            if games is None and change * discount / (1.0 - discount) < SETTLED:
                break
    return table


def _computed(
    grid: Grid, games: int | None, draw_margin: float, tau: float, discount: float
) -> NDArray[np.float32]:
    print(NOTICE.format(folder=cache_folder()), file=sys.stderr, flush=True)
    return compute_bonus(grid, PRICES, games, draw_margin, tau, discount)


def _write(path: Path, settings: str, bonus: NDArray[np.float32]) -> None:
    write_bytes(path, npz_bytes({"bonus": bonus}, settings, compressed=False))


def _read(path: Path, settings: str, grid: Grid) -> NDArray[np.float32] | None:
    """What the file holds, None where it is not there, damaged or of other settings."""
    try:
        bonus = read_npz(path, settings)["bonus"]
    except (OSError, ValueError, KeyError):
        return None
    good = bonus.ndim == 3 and bonus.shape[1:] == (grid.variances, grid.gaps + 1)
    return bonus if good and bonus.dtype == np.float32 else None


def _bounds(grid: Grid, bonus: NDArray[np.float32]) -> Floats:
    """Upper bounds of log G + log(2 pi) / 2 from each gap on.

    A cubic in both coordinates stays within Lebesgue's constant squared of the range of its 16
    nodes. The draw density falls with the distance and, for equal z, with the variance.
    """
    windows = np.lib.stride_tricks.sliding_window_view(bonus, (STENCIL, STENCIL), axis=(1, 2))
    top = windows.max(axis=(-2, -1)).astype(np.float64)
    low = windows.min(axis=(-2, -1)).astype(np.float64)
    ceiling = 0.5 * (top + low) + 0.5 * LEBESGUE**2 * (top - low)
    nodes = [0.0, *(variance_at(grid, i) for i in range(1, grid.variances))]
    logs = np.array([-0.5 * math.log1p(variance) for variance in nodes])
    # The first stencil in C serves the cells 0 and 1, all others the cell in their middle.
    by_gap = (ceiling + logs[None, : ceiling.shape[1], None]).max(axis=1)
    gaps = np.array([gap_at(grid, j) for j in range(grid.gaps)])
    # Cell j is read from stencil j, the last cells from the last one.
    stencil = np.minimum(np.arange(grid.gaps), by_gap.shape[1] - 1)
    from_cell = by_gap[:, stencil] - 0.5 * gaps**2
    suffix: Floats = np.maximum.accumulate(from_cell[:, ::-1], axis=1)[:, ::-1] + SLACK
    return suffix
