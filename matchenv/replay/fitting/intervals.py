"""Intervals of fitted parameters and of losses: a bootstrap over blocks of time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCKS = 40
RESAMPLES = 1000
LEVELS = (0.025, 0.975)

# Below this share of the largest curvature a direction is taken for one that the log does not tell.
FLAT = 1e-6


def blocks_of(games: int, blocks: int = BLOCKS) -> NDArray[np.int64]:
    """The block of each game: consecutive games, as many in each as can be."""
    count = min(blocks, games)
    return np.arange(games) * count // max(games, 1)


def resampled(blocks: int, rng: np.random.Generator) -> Floats:
    """How often each block is drawn, shape (RESAMPLES, blocks)."""
    return rng.multinomial(blocks, np.full(blocks, 1.0 / blocks), size=RESAMPLES).astype(float)


def mean_interval(sums: Floats, counts: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """The interval of a mean over pairs.

    Args:
        sums: shape (games,), sums over the pairs of each game.
        counts: shape (games,), how many pairs that are.
        rng: draws the blocks.
    """
    block = blocks_of(sums.size)
    drawn = resampled(int(block[-1]) + 1, rng)
    total, number = np.bincount(block, weights=sums), np.bincount(block, weights=counts)
    means = (drawn @ total) / (drawn @ number)
    low, high = np.quantile(means, LEVELS)
    return float(low), float(high)


def derivatives(
    losses: Callable[[Floats], Floats], place: Floats, steps: Floats
) -> tuple[Floats, Floats]:
    """Slopes of every game's loss and the curvature of their sum, by central differences.

    Args:
        losses: each game's loss at a place, shape (games,).
        place: shape (p,).
        steps: shape (p,), how far to go in each direction.

    Returns:
        ``(slopes, curvature)``, shapes (games, p) and (p, p).
    """
    size = place.size
    axes = np.diag(steps)
    middle = losses(place).sum()
    forward = [losses(place + axis) for axis in axes]
    backward = [losses(place - axis) for axis in axes]
    slopes = np.column_stack(
        [(f - b) / (2.0 * h) for f, b, h in zip(forward, backward, steps, strict=True)]
    )
    curvature = np.empty((size, size))
    for i in range(size):
        second = forward[i].sum() - 2.0 * middle + backward[i].sum()
        curvature[i, i] = second / steps[i] ** 2
        for j in range(i):
            both = losses(place + axes[i] + axes[j]).sum() + losses(place - axes[i] - axes[j]).sum()
            mixed = both - forward[i].sum() - forward[j].sum() - backward[i].sum()
            mixed += 2.0 * middle - backward[j].sum()
            curvature[i, j] = curvature[j, i] = mixed / (2.0 * steps[i] * steps[j])
    return slopes, curvature


def spread_of(slopes: Floats, curvature: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Where the minimum would lie for other games of the same kind.

    Blocks of games are drawn with replacement, and each time one Newton step is taken from the
    minimum. Directions in which the loss is flat stay as they are.

    Args:
        slopes: from ``derivatives``.
        curvature: from there.
        rng: draws the blocks.

    Returns:
        ``(moves, told)``: shape (RESAMPLES, p), and (p, k), the directions that the log tells.
    """
    block = blocks_of(len(slopes))
    by_block = np.stack([np.bincount(block, weights=slope) for slope in slopes.T], axis=1)
    by_block -= by_block.mean(axis=0)
    values, vectors = _told(curvature)
    inverse = (vectors / values) @ vectors.T
    drawn = resampled(len(by_block), rng)
    return -(drawn @ by_block) @ inverse, vectors


def normal_spread(curvature: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Where the parameters may lie by a likelihood whose curvature at its maximum is known.

    Args:
        curvature: of minus the log likelihood, shape (p, p).
        rng: draws them.

    Returns:
        As ``spread_of``.
    """
    values, vectors = _told(curvature)
    drawn = rng.normal(size=(RESAMPLES, values.size))
    return (drawn / np.sqrt(values)) @ vectors.T, vectors


def _told(curvature: Floats) -> tuple[Floats, Floats]:
    """Curvatures along the directions that the log tells, shape (k,), and these, (p, k)."""
    values, vectors = np.linalg.eigh(curvature)
    good = values > FLAT * max(values.max(), 1e-12)
    return values[good], vectors[:, good]
