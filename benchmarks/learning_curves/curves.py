"""What runs of several seeds have in common: the middle of their curves, and their spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.learning_curves.runs import Run

Floats = NDArray[np.float64]

# Numbers of an evaluation that a curve may show, and what an axis calls them.
MEASURES = {
    "true_q_less_kg": "true q of an episode, less KG's",
    "true_draw_density": "true q of an episode",
    "draw_density": "q under the belief of an episode",
    "mean_return": "return of an episode",
}

# With fewer seeds a band of the middle half would hold next to nothing.
LEAST_FOR_QUARTILES = 4


@dataclass(frozen=True)
class LearningCurve:
    """One training over its seeds.

    Attributes:
        label: its name.
        runs: one for each seed.
        timesteps: games learned from, shape (T,).
        values: a measure of each run's evaluations, shape (seeds, T).
    """

    label: str
    runs: tuple[Run, ...]
    timesteps: Floats
    values: Floats

    @property
    def median(self) -> Floats:
        """Over the seeds, shape (T,)."""
        return np.asarray(np.median(self.values, axis=0))

    @property
    def interquartile_mean(self) -> Floats:
        """Over the seeds, shape (T,)."""
        return interquartile_mean(self.values)

    @property
    def band(self) -> tuple[Floats, Floats]:
        """From the lower to the upper quartile of the seeds; of few seeds, from end to end."""
        inner = len(self.runs) >= LEAST_FOR_QUARTILES
        low, high = np.quantile(self.values, (0.25, 0.75) if inner else (0.0, 1.0), axis=0)
        return low, high

    @property
    def band_name(self) -> str:
        """What the band holds."""
        seeds = len(self.runs)
        return f"{'middle half' if seeds >= LEAST_FOR_QUARTILES else 'all'} of {seeds} seeds"


def interquartile_mean(values: Floats) -> Floats:
    """The mean over the first axis without the lowest and the highest quarter.

    Of n values the n // 4 lowest and highest are left out (Agarwal et al., 2021, "Deep
    reinforcement learning at the edge of the statistical precipice").

    Args:
        values: shape (n, ...).
    """
    cut = len(values) // 4
    return np.asarray(np.sort(values, axis=0)[cut : len(values) - cut].mean(axis=0))


def curves_of(runs: Sequence[Run], measure: str) -> list[LearningCurve]:
    """A curve for each training; runs that differ in their seed alone are one training.

    Where runs were evaluated at different times, each is read between its evaluations, and the
    curve ends where the shortest run does.

    Args:
        runs: at least one.
        measure: of ``MEASURES``.
    """
    trainings: list[list[Run]] = []
    for run in runs:
        same = next((each for each in trainings if each[0].training == run.training), None)
        if same is None:
            trainings.append([run])
        else:
            same.append(run)
    names = [each[0].config.algorithm for each in trainings]
    return [
        _curve(name if names.count(name) == 1 else f"{name} ({each[0].path})", each, measure)
        for name, each in zip(names, trainings, strict=True)
    ]


def _curve(label: str, runs: Sequence[Run], measure: str) -> LearningCurve:
    times = [np.array([each["timesteps"] for each in run.evaluations], float) for run in runs]
    values = [np.array([each[measure] for each in run.evaluations], float) for run in runs]
    first, last = max(each[0] for each in times), min(each[-1] for each in times)
    shared = np.unique(np.concatenate([*times, [last]]))
    shared = shared[(shared >= first) & (shared <= max(first, last))]
    both = zip(times, values, strict=True)
    together = np.stack([np.interp(shared, time, value) for time, value in both])
    return LearningCurve(label, tuple(runs), shared, together)
