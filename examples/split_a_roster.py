"""Compare three ways to split a roster of single players into two sides.

``python -m examples.split_a_roster --side-size 4 --rosters 2000 --seed 0`` draws rosters from the
population of ``MatchmakingQueue-v0`` and prints a line for each way.
"""

from __future__ import annotations

import argparse
import math
from itertools import combinations
from typing import Any

import numpy as np

from examples.operators import largest_differencing
from matchenv.envs.queue import QueueSettings
from matchenv.trueskill import team_match_quality


def splits_of(count: int) -> list[list[list[int]]]:
    """Return all splits of players 0 to ``count`` - 1 into two sides of equal size."""
    splits = []
    for others in combinations(range(1, count), count // 2 - 1):
        one = [0, *others]
        splits.append([one, [k for k in range(count) if k not in one]])
    return splits


def main() -> None:
    """Print the mean quality, the spread and the place of the extremes for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side-size", type=int, default=4)
    parser.add_argument("--rosters", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    settings = QueueSettings(side_size=options.side_size)
    population = settings.population
    rng = np.random.default_rng(options.seed)
    splits = splits_of(settings.num_seats)
    rows: dict[str, list[Any]] = {"largest differencing": [], "least gap": [], "gap and spread": []}
    for _ in range(options.rosters):
        mean = rng.normal(population.mean, population.deviation, settings.num_seats)
        sigma = np.full(settings.num_seats, population.deviation / 3.0)

        def gap(split: Any, mean: Any = mean) -> float:
            return abs(float(mean[split[0]].sum() - mean[split[1]].sum()))

        def spread(split: Any, mean: Any = mean) -> float:
            return max(float(mean[side].std()) for side in split)

        # The shift makes the number of players count more than their skills.
        shifted = mean - mean.min() + 100.0 * population.deviation
        chosen = {
            "largest differencing": largest_differencing(shifted),
            "least gap": min(splits, key=gap),
            "gap and spread": min(splits, key=lambda split: math.hypot(gap(split), spread(split))),
        }
        for name, split in chosen.items():
            teams = [np.column_stack((mean[side], sigma[side])) for side in split]
            together = any({mean.argmin(), mean.argmax()} <= set(side) for side in split)
            quality = team_match_quality(teams, settings.beta)
            rows[name].append((quality, gap(split), spread(split), together))
    print(f"{'split':22}quality   gap  larger spread  extremes together")
    for name, values in rows.items():
        quality, mean_gap, mean_spread, together = np.mean(values, axis=0)
        print(f"{name:22}{quality:7.3f}{mean_gap:6.2f}{mean_spread:15.2f}{together:19.0%}")


if __name__ == "__main__":
    main()
