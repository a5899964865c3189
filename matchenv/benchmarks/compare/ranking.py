"""Further results of ``Ranking-v0``: games needed for equal accuracy, and curves of accuracy."""

from __future__ import annotations

from itertools import product

import numpy as np

from matchenv.benchmarks.compare.contract import Compared
from matchenv.evaluation.estimates import Estimate, Record
from matchenv.evaluation.ranking import parts_of_points
from matchenv.evaluation.tables import Column
from matchenv.runtime.arrays import Floats

RESAMPLES = 1000  # of the bootstrap
SMOOTHED = 40  # a curve is averaged over this part of the games

# Further columns of the tables, and their explanation.
COLUMNS = [Column("games needed", "{games_needed:.2f}", 17)]
NOTE = (
    "games needed: share of the games of {} for its final accuracy, biased low near 1; "
    "1 if not reached"
)


def numbers(comparison: Compared, cell: int, policy: str) -> dict[str, Estimate]:
    """Return further numbers of a policy in a cell."""
    settings = {**comparison.asked["environment"], **comparison.cells[cell].options}
    _, points = np.unique(parts_of_points(settings["horizon"]), return_index=True)
    ours = comparison.values("accuracy", cell, policy)[..., points]
    theirs = comparison.values("accuracy", cell, comparison.against)[..., points]
    return {"games_needed": games_needed(ours, theirs)}


def games_needed(ours: Floats, theirs: Floats) -> Estimate:
    """Return the share of their games after which our mean accuracy reaches their final one.

    The interval is from a bootstrap over episodes, the same for all policies.

    Args:
        ours: accuracy over the games, shape (E, POINTS).
        theirs: on the same episodes, same shape.
    """
    episodes, points = ours.shape
    window = max(1, points // SMOOTHED)
    # Of each episode: their final accuracy, then our curve.
    values = np.column_stack((theirs[:, -window:].mean(axis=1), ours))
    rng = np.random.default_rng(0)
    equal_weights = np.full(episodes, 1.0 / episodes)
    means = [equal_weights @ values]
    for _ in range(RESAMPLES):
        weights = rng.multinomial(episodes, equal_weights) / episodes
        means.append(weights @ values)
    goals, curves = np.split(np.array(means), [1], axis=1)
    total = np.cumsum(np.pad(curves, ((0, 0), (1, 0))), axis=1)
    moving_averages = (total[:, window:] - total[:, :-window]) / window
    # Means of counts are often equal but for rounding.
    reached = moving_averages >= goals - 1e-9
    reached[:, -1] = True
    sample, *resamples = (window + reached.argmax(axis=1)) / points
    low, high = np.quantile(resamples, [0.025, 0.975]).tolist()
    return Estimate(float(sample), float(np.std(resamples)), low, high)


def cell_text(comparison: Compared, cell: int, *, bands: bool) -> list[str]:
    """Return the lines of further tables in a cell: none."""
    return []


def tables(comparison: Compared) -> dict[str, list[Record]]:
    """Return the mean ``accuracy`` of each policy in each cell after a share of the games."""
    curves = []
    for (number, cell), policy in product(enumerate(comparison.cells), comparison.policies):
        means = comparison.values("accuracy", number, policy).mean(axis=0).tolist()
        for point, mean in enumerate(means, 1):
            share = point / len(means)
            row = Record(cell.labels, policy=policy, share_of_games=share, accuracy=mean)
            curves.append(row)
    return {"curves": curves}
