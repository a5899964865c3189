"""Further results of ``Ranking-v0``: games needed for equal accuracy, and curves of accuracy."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from matchenv.evaluation.estimates import Estimate, Record
from matchenv.evaluation.ranking import parts_of_points
from matchenv.evaluation.tables import Column
from matchenv.runtime.arrays import Floats

if TYPE_CHECKING:
    from matchenv.benchmarks.compare.comparison import Comparison


RESAMPLES = 1000  # of the bootstrap
SMOOTHED = 40  # a curve is averaged over this part of the games

# Further columns of the tables, and their explanation.
COLUMNS = [Column("games needed", "{games_needed:.2f}", 17)]
NOTE = (
    "games needed: share of the games of {} for its final accuracy, biased low near 1; "
    "1 if not reached"
)


def numbers(comparison: Comparison, cell: int, policy: str) -> dict[str, Estimate]:
    """Return further numbers of a policy in a cell."""
    settings = {**comparison.asked["environment"], **comparison.cells[cell].options}
    points = np.unique(parts_of_points(settings["horizon"]), return_index=True)[1]
    ours, theirs = (
        comparison.values("accuracy", cell, each)[..., points]
        for each in (policy, comparison.against)
    )
    return {"games_needed": games_needed(ours, theirs)}


def games_needed(ours: Floats, theirs: Floats) -> Estimate:
    """Return the share of their games after which our mean accuracy reaches their final one.

    The interval is from a bootstrap over episodes, the same for all policies.

    Args:
        ours: accuracy over the games, shape (E, POINTS).
        theirs: on the same episodes, same shape.
    """
    episodes, points = ours.shape
    window, rng = max(1, points // SMOOTHED), np.random.default_rng(0)
    values = np.column_stack((theirs[:, -window:].mean(axis=1), ours))
    same = np.full(episodes, 1.0 / episodes)
    # The sample itself, then its resamples.
    means = [same @ values]
    means += [rng.multinomial(episodes, same) / episodes @ values for _ in range(RESAMPLES)]
    goals, curves = np.split(np.array(means), [1], axis=1)
    total = np.cumsum(np.pad(curves, ((0, 0), (1, 0))), axis=1)
    # Means of counts are often equal but for rounding.
    reached = (total[:, window:] - total[:, :-window]) / window >= goals - 1e-9
    reached[:, -1] = True
    shares = (window + reached.argmax(axis=1)) / points
    low, high = np.quantile(shares[1:], [0.025, 0.975]).tolist()
    return Estimate(float(shares[0]), float(shares[1:].std()), low, high)


def tables(comparison: Comparison) -> dict[str, list[Record]]:
    """Return the mean ``accuracy`` of each policy in each cell after a share of the games."""
    curves = []
    for (i, cell), policy in product(enumerate(comparison.cells), comparison.policies):
        means = comparison.values("accuracy", i, policy).mean(axis=0).tolist()
        curves += [
            Record(cell.labels, policy=policy, share_of_games=point / len(means), accuracy=mean)
            for point, mean in enumerate(means, 1)
        ]
    return {"curves": curves}
