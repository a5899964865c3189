"""The opponent with the highest index, by search: few of a large pool are looked at closely."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.gittins.grid import Grid, gap_at, gap_stencil, read, variance_stencil
from matchenv.baselines.policy import Floats, Integers
from matchenv.runtime.compile import compiled


@compiled
def log_index(grid: Grid, bonus: NDArray[np.float32], square: float, variance: float) -> float:
    """log G + log(2 pi) / 2 of a state, in units of performances.

    Args:
        grid: the states of the table.
        bonus: shape (variances, gaps + 1), of the games left.
        square: z^2.
        variance: C, in 2 beta^2.
    """
    first_gap, across = gap_stencil(grid, math.sqrt(square))
    smallest = math.exp(grid.lowest)
    first_variance, down = variance_stencil(grid, max(variance, smallest))
    more = max(0.0, read(bonus, first_variance, down, first_gap, across))
    if variance < smallest:
        # What can be learned falls with the variance.
        more *= variance / smallest
    return more - 0.5 * (square + math.log(1.0 + variance))


@compiled
def highest_index(
    grid: Grid,
    bonus: NDArray[np.float32],
    bounds: Floats,
    mu: Floats,
    sigma: Floats,
    beta: float,
) -> int:
    """The action with the highest index, the lowest of equals.

    Args:
        grid: the states of the table.
        bonus: shape (variances, gaps + 1), of the games left.
        bounds: shape (gaps,), of ``IndexTable``.
        mu: shape (M + 1,), means of the beliefs, player 0 first.
        sigma: shape (M + 1,), deviations whose squares sum to the variances of s_0 - s_k.
        beta: standard deviation of one performance around skill.
    """
    unit = 0.5 / (beta * beta)
    own = sigma[0] * sigma[0] * unit
    nearest, least = 1, np.inf
    for k in range(1, mu.size):
        gap = mu[0] - mu[k]
        square = gap * gap * unit / (own + sigma[k] * sigma[k] * unit + 1.0)
        if square < least:
            nearest, least = k, square
    best = -np.inf
    chosen = nearest
    cell = grid.gaps
    limit = np.inf
    for turn in range(mu.size):
        k = nearest if turn == 0 else turn
        if turn == nearest:
            continue
        gap = mu[0] - mu[k]
        variance = own + sigma[k] * sigma[k] * unit
        square = gap * gap * unit / (variance + 1.0)
        if square >= limit:
            continue
        index = log_index(grid, bonus, square, variance)
        if index > best or (index == best and k < chosen):
            best, chosen = index, k
            while cell > 1 and bounds[cell - 1] < best:
                cell -= 1
            if cell < grid.gaps:
                limit = gap_at(grid, cell) ** 2
    return chosen - 1


@compiled
def highest_indices(
    grid: Grid,
    bonus: NDArray[np.float32],
    bounds: Floats,
    planes: Integers,
    mu: Floats,
    sigma: Floats,
    beta: float,
) -> Integers:
    """``highest_index`` for every row.

    Args:
        grid: as there.
        bonus: shape (T, variances, gaps + 1).
        bounds: shape (T, gaps).
        planes: shape (B,), which of the T each row reads.
        mu: shape (B, M + 1).
        sigma: shape (B, M + 1).
        beta: as there.

    Returns:
        Actions, shape (B,).
    """
    actions = np.empty(mu.shape[0], dtype=np.int64)
    for b in range(mu.shape[0]):
        t = planes[b]
        actions[b] = highest_index(grid, bonus[t], bounds[t], mu[b], sigma[b], beta)
    return actions


@compiled
def all_indices(
    grid: Grid,
    bonus: NDArray[np.float32],
    planes: Integers,
    mu: Floats,
    sigma: Floats,
    beta: float,
) -> Floats:
    """Indices as draw densities, 1 / skill points, shape (B, M); arguments as above."""
    indices = np.empty((mu.shape[0], mu.shape[1] - 1))
    unit = 0.5 / (beta * beta)
    density = math.sqrt(unit / (2.0 * math.pi))
    for b in range(mu.shape[0]):
        for k in range(1, mu.shape[1]):
            gap = mu[b, 0] - mu[b, k]
            variance = (sigma[b, 0] * sigma[b, 0] + sigma[b, k] * sigma[b, k]) * unit
            square = gap * gap * unit / (variance + 1.0)
            found = log_index(grid, bonus[planes[b]], square, variance)
            indices[b, k - 1] = density * math.exp(found)
    return indices
