"""Choices of the equivariant network without torch: the same numbers, compiled.

All scores are worked out in float64. A choice needs few of them: float32 says who may have the
highest (``matchenv.agents.equivariant.screening``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from matchenv.agents.equivariant.scores import (
    CHANCES,
    COUPLINGS,
    DISTANCES,
    FIRST,
    GAPS,
    SCORES,
    SEGMENT,
    SEGMENT_NUMBERS,
    TOTAL_NUMBERS,
    VARIANCES,
    Floats,
    Integers,
    Masks,
    Weights,
    field_of,
    filled,
    lay_out,
    mark_first,
    segments_for,
    terms_of,
    write_scores,
)
from matchenv.agents.equivariant.screening import find_candidates
from matchenv.agents.equivariant.state import OPPONENT_NUMBERS, STATE_NUMBERS, Singles, read_row
from matchenv.runtime.compile import compiled


@compiled
def _work_for(opponents: int, kind: Any) -> Any:
    """Working arrays of a precision: segments and totals."""
    return (
        np.empty((segments_for(opponents), SEGMENT_NUMBERS), dtype=kind),
        np.empty(TOTAL_NUMBERS, dtype=kind),
    )


@compiled
def all_scores(opponents: Singles, state: Singles, allowed: Masks, weights: Weights) -> Floats:
    """Scores of every opponent of every state.

    Args:
        opponents: shape (n, 3, M), as ``StateBatch``.
        state: shape (n, 4).
        allowed: shape (n, M), who may be chosen; the others are as if they were not there; (n, 0)
            for everybody.
        weights: of the network.

    Returns:
        Shape (n, M), in units of draw density; minus infinity for who may not be chosen.
    """
    work, totals = _work_for(opponents.shape[2], np.float64)
    places = np.empty(opponents.shape[2], dtype=np.int64)
    scores = np.full((opponents.shape[0], opponents.shape[2]), -np.inf)
    for n in range(opponents.shape[0]):
        size = lay_out(opponents[n], allowed[n], work, places)
        field = field_of(work, size, totals)
        mark_first(work, size, field)
        terms = terms_of(state[n], field, weights, work)
        for number in range(segments_for(size)):
            write_scores(work[number], filled(size, number), terms)
        for place in range(size):
            scores[n, places[place]] = work[place // SEGMENT, SCORES + place % SEGMENT]
    return scores


@compiled(refcounted=False)
def _highest(
    opponents: Singles,
    state: Singles,
    allowed: Masks,
    weights: Weights,
    work: Any,
    totals: Floats,
    places: Integers,
    candidates: Integers,
) -> int:
    """The first of the candidates with the highest score, in float64."""
    size = lay_out(opponents, allowed, work, places)
    field = field_of(work, size, totals)
    mark_first(work, size, field)
    terms = terms_of(state, field, weights, work)
    # They move up to the start, one behind the other.
    for place, candidate in enumerate(candidates):
        there, i = work[candidate // SEGMENT], candidate % SEGMENT
        here, j = work[place // SEGMENT], place % SEGMENT
        for row in (GAPS, VARIANCES, COUPLINGS, FIRST, CHANCES, DISTANCES):
            here[row + j] = there[row + i]
    chosen, highest = 0, -np.inf
    for number in range(segments_for(candidates.size)):
        end = min(candidates.size - number * SEGMENT, SEGMENT)
        write_scores(work[number], end, terms)
        for i in range(end):
            if work[number, SCORES + i] > highest:
                chosen, highest = number * SEGMENT + i, work[number, SCORES + i]
    return candidates[chosen]


class Work(NamedTuple):
    """Working arrays of choices among M opponents.

    Attributes:
        singles: segments of float32.
        single_totals: their totals.
        doubles: segments of float64.
        double_totals: their totals.
        places: shape (M,).
        candidates: shape (M,).
    """

    singles: Any
    single_totals: Any
    doubles: Floats
    double_totals: Floats
    places: Integers
    candidates: Integers


@compiled
def _new_work(opponents: int) -> Work:
    singles, single_totals = _work_for(opponents, np.float32)
    doubles, double_totals = _work_for(opponents, np.float64)
    places, candidates = np.empty(opponents, np.int64), np.empty(opponents, np.int64)
    return Work(singles, single_totals, doubles, double_totals, places, candidates)


@compiled(refcounted=False)
def _choice(
    opponents: Singles, state: Singles, allowed: Masks, weights: Weights, work: Work
) -> int:
    """The first opponent of a state with the highest score."""
    size = lay_out(opponents, allowed, work.singles, work.places)
    field = field_of(work.singles, size, work.single_totals)
    terms = terms_of(state, field, weights, work.singles)
    found = find_candidates(
        work.singles, work.single_totals, size, field, terms, weights, work.candidates
    )
    place = work.candidates[0]
    if found > 1:
        place = _highest(
            opponents, state, allowed, weights, work.doubles, work.double_totals, work.places,
            work.candidates[:found],
        )  # fmt: skip
    return work.places[place]


@compiled(refcounted=False)
def _choose(
    opponents: Singles,
    state: Singles,
    allowed: Masks,
    weights: Weights,
    work: Work,
    actions: Integers,
) -> None:
    for n in range(opponents.shape[0]):
        actions[n] = _choice(opponents[n], state[n], allowed[n], weights, work)


@compiled
def highest_scores(
    opponents: Singles, state: Singles, allowed: Masks, weights: Weights
) -> Integers:
    """The first opponent with the highest score, shape (n,); arguments as ``all_scores``."""
    actions = np.empty(opponents.shape[0], dtype=np.int64)
    _choose(opponents, state, allowed, weights, _new_work(opponents.shape[2]), actions)
    return actions


@compiled(refcounted=False)
def _read_and_choose(
    observations: Singles,
    unit: float,
    allowed: Masks,
    weights: Weights,
    work: Work,
    row: tuple[Singles, Singles, Floats],
    actions: Integers,
) -> None:
    opponents, state, rest = row
    for n in range(observations.shape[0]):
        read_row(observations[n], unit, opponents, state, rest)
        actions[n] = _choice(opponents, state, allowed[n], weights, work)


@compiled
def choices(observations: Singles, unit: float, allowed: Masks, weights: Weights) -> Integers:
    """``highest_scores`` of observations, which are read one by one.

    Args:
        observations: float32, shape (n, 3 M + 3), of the full belief.
        unit: of skill, as ``read_row``.
        allowed: as ``all_scores``.
        weights: of the network.
    """
    count = (observations.shape[1] - 3) // 3
    row = (
        np.empty((OPPONENT_NUMBERS, count), np.float32),
        np.empty(STATE_NUMBERS, np.float32),
        np.empty((2, count)),
    )
    actions = np.empty(observations.shape[0], dtype=np.int64)
    _read_and_choose(observations, unit, allowed, weights, _new_work(count), row, actions)
    return actions
