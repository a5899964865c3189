"""Evolution strategies with mirrored pairs, on the totals of whole episodes.

A pair of candidates is the centre plus and minus the same random step. Both play the same games,
so most of the noise of a total cancels in the difference. The noise of a policy gradient grows
with the actions of an episode, the noise of this estimate with the number of parameters. Here
episodes are long and parameters few.

Source: Salimans, Ho, Chen, Sidor, Sutskever (2017), arXiv 1703.03864; mirrored sampling,
Brockhoff et al. (2010).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.checks import as_integer, as_positive_number

Floats = NDArray[np.float64]

# Differences of fitness for pairs of candidates: centres plus and minus each step.
PairedFitness = Callable[[int, Floats, Floats], Floats]

MOMENTUM, SCALE_MEMORY, AVERAGE_MEMORY = 0.9, 0.95, 0.9
LAST_RATE = 0.2


@dataclass(frozen=True)
class Evolution:
    """Settings of a search.

    Attributes:
        generations: how many steps, >= 1.
        pairs: mirrored pairs in a generation, >= 1.
        rate: size of a step, in units of the perturbations, for a parameter of average slope;
            it falls linearly to a fifth.
    """

    generations: int
    pairs: int
    rate: float

    def __post_init__(self) -> None:
        as_integer("generations", self.generations, 1)
        as_integer("pairs", self.pairs, 1)
        as_positive_number("rate", self.rate)


@dataclass(frozen=True)
class Generation:
    """The state of a search after a generation: all that it needs to go on from there.

    Attributes:
        number: from 1.
        centre: where the next generation looks around, shape (D,).
        average: moving average of the centres, shape (D,): what the search has found.
        direction: of the next step, shape (D,): a moving average of the slopes.
        scale: moving average of the slopes' mean square.
        spread: standard deviation of the pairs' differences.
        generator: state of the random generator of the perturbations.
    """

    number: int
    centre: Floats
    average: Floats
    direction: Floats
    scale: float
    spread: float
    generator: Mapping[str, Any]


def evolve(
    start: Floats,
    scales: Floats,
    fitness: PairedFitness,
    settings: Evolution,
    rng: np.random.Generator,
    after: Generation | None = None,
) -> Iterator[Generation]:
    """Search for a better ``start``, one generation at a time.

    Args:
        start: shape (D,).
        scales: shape (D,), standard deviation of each parameter's perturbation; 0 keeps one
            as it is.
        fitness: takes the generation, a centre (D,) and steps (pairs, D); gives, for each
            pair, the fitness of centre + step less that of centre - step, shape (pairs,).
        settings: see there.
        rng: of the perturbations.
        after: go on after this generation of the same search; None begins.
    """
    centre = start.astype(np.float64)
    average = centre.copy()
    direction, scale, first = np.zeros_like(centre), 0.0, 1
    if after is not None:
        centre, average, direction = after.centre, after.average, after.direction
        scale, first = after.scale, after.number + 1
        rng.bit_generator.state = after.generator
    free = scales > 0.0
    for number in range(first, settings.generations + 1):
        steps = rng.standard_normal((settings.pairs, centre.size)) * free
        differences = fitness(number, centre, steps * scales)
        slope = 0.5 * (differences[:, None] * steps).mean(axis=0)
        direction = MOMENTUM * direction + (1.0 - MOMENTUM) * slope
        scale = SCALE_MEMORY * scale + (1.0 - SCALE_MEMORY) * float((slope[free] ** 2).mean())
        size = np.sqrt(scale / (1.0 - SCALE_MEMORY**number))
        done = (number - 1) / settings.generations
        rate = settings.rate * (1.0 - (1.0 - LAST_RATE) * done)
        if size > 0.0:
            centre = centre + rate * scales * direction / size
        # A mean of all centres while there are few, then one that forgets the first.
        weight = max(1.0 - AVERAGE_MEMORY, 1.0 / (number + 1))
        average = average + weight * (centre - average)
        spread = float(differences.std())
        yield Generation(number, centre, average, direction, scale, spread, rng.bit_generator.state)
