"""Who may have the highest score, found in float32 with a bound of every error.

Scores of a state differ by far more than float32 is wrong by, in all but one of hundreds of states:
there one opponent is left and nothing more is to be done. Of those who are left the scores are
worked out in float64, so that the choice is always that of float64.

The bound of the error, in units of ``ROUNDING``. With x the exponents of a density, at most h in
the best and g in that of an opponent, its relative error is 8 + 4 x and that of exp. A score is
now + worth (lead + gain), and

- *now* has the error of its exponent times exp(-x): less than 16 of the peak, and that of exp.
- *worth* and the games are exponentials of sums; each number of the sum has a few roundings of its
  own size, evenness the errors of two densities, the state's share those of the field: A.
- *gain* = density P - others Q, with P and Q half of sums of two erf. Of each, erf has its own
  error, and every argument is a few roundings of (reach + gap) scale wrong, at a slope of at most
  2 / sqrt(pi).
- A wrong reach costs the square of its error: the reach is where gain, as a function of it, is
  highest. With an error e of log others, at most others e scale sqrt(left e).
- Wrong games change the spread by a share A at most, and gain by the density at the ends of the
  reach: A others reach scale spread / left.

Every term is taken at least twice as large as the count gives.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from matchenv.agents.equivariant.network import CONTEXT, GAMES, PEAK_DENSITY, WORTH
from matchenv.agents.equivariant.scores import (
    CEILINGS,
    CHANCES,
    FIRST,
    GAPS,
    HIGHEST,
    ONLINE,
    SCORES,
    SEGMENT,
    Field,
    Integers,
    Terms,
    Weights,
    filled,
    held,
    look_at,
    segments_for,
)
from matchenv.agents.equivariant.single_precision import (
    ERF_ERROR,
    EXP_ERROR,
    LOG_ERROR,
    ROUNDING,
)
from matchenv.runtime.compile import compiled

# Bounds at infinity, as numbers that sums do not spoil.
HUGE = 3e38
# Fields with a best density below this are left to float64.
LEAST_BEST = 1e-4

EXP_ROUNDINGS, LOG_ROUNDINGS, ERF_ROUNDINGS = (
    error / ROUNDING for error in (EXP_ERROR, LOG_ERROR, ERF_ERROR)
)  # fmt: skip
# Places in the context of numbers that come from the field.
BEST_PLACE, NEAR_PLACE, SIDE_PLACE, LEAD_PLACE = 2, 4, 5, 7


class Blur(NamedTuple):
    """What the errors of a state's scores share, as shares.

    Attributes:
        density: of a density of no more than the best one's exponent.
        logarithm: of the logarithm of worth or games, but for the numbers of the row.
        row: for each unit of a number of the row.
        reach: the error of log others to the power 3/2.
    """

    density: Any
    logarithm: Any
    row: Any
    reach: Any


@compiled(refcounted=False)
def blur_of(field: Field, weights: Weights, terms: Terms) -> Blur:
    """Bounds of errors from the field and the weights."""
    exponent = 2.0 * math.log(PEAK_DENSITY / field.best) + 1.0
    second = 2.0 * math.log(PEAK_DENSITY / field.second) + 1.0
    density = 16.0 + 8.0 * exponent + EXP_ROUNDINGS
    lead = 5.0 * (density + 16.0 + 8.0 * second + EXP_ROUNDINGS)
    # Sums are as wrong as their longest chain of additions.
    total = 32.0 + EXP_ROUNDINGS + 2.0 * segments_for(field.size)
    logarithm, heaviest = 0.0, 0.0
    for number in (WORTH, GAMES):
        row = weights.factors[number]
        for place in range(CONTEXT, row.size):
            heaviest = max(heaviest, abs(row[place]))
        base = terms.worth[0] if number == WORTH else terms.games[0]
        found = abs(row[BEST_PLACE]) * 5.0 * density + abs(row[NEAR_PLACE]) * total
        found += abs(row[SIDE_PLACE]) * 2.0 * total + abs(row[LEAD_PLACE]) * lead
        logarithm = max(logarithm, found + 8.0 * abs(base))
    logarithm += heaviest * (2.0 * density + 4.0 * LOG_ROUNDINGS + 64.0) + 32.0 + EXP_ROUNDINGS
    kind = np.float32
    reach = 4.0 * density * ROUNDING
    return Blur(
        kind(density * ROUNDING),
        kind(logarithm * ROUNDING),
        kind(12.0 * heaviest * ROUNDING),
        kind(reach * math.sqrt(reach)),
    )


@compiled(refcounted=False)
def _write_bounds(segment: Any, totals: Any, end: int, terms: Terms, blur: Blur) -> None:
    """Bounds of the scores of a segment, and the highest lower one."""
    kind = segment.dtype.type
    zero, two, huge = kind(0.0), kind(2.0), kind(HUGE)
    now_error = kind(2.0 * (16.0 + EXP_ROUNDINGS) * ROUNDING * PEAK_DENSITY)
    own, erf_error = kind(16.0 * ROUNDING), kind(2.0 * ERF_ERROR)
    for i in range(end):
        look = look_at(kind, segment, i, terms)
        doubt, away, evenness = look.row
        score = look.now + look.worth * (look.lead + look.gain)
        logarithm = blur.logarithm + blur.row * (abs(doubt) + abs(away) + abs(evenness))
        chance = segment[CHANCES + i]
        size_scale = (look.reach + abs(segment[GAPS + i])) * look.scale
        near_scale = (look.reach + look.near_gap) * look.near_scale
        error = look.others * (
            erf_error
            + blur.density
            + own * size_scale
            + two * look.left * look.scale * blur.reach
            + logarithm * look.reach * look.scale * look.part
        )
        error += chance * (erf_error + blur.density - blur.row * evenness + own * near_scale)
        error += logarithm * (look.gain - look.lead)
        error = now_error + look.worth * error
        # False for what is no number.
        known = error < huge and segment[FIRST + i] < two
        online = segment[ONLINE + i] > zero
        floor = score - error if known and online else -huge
        ceiling = score + error if known else huge
        segment[SCORES + i] = floor
        segment[CEILINGS + i] = ceiling if online else -huge
        totals[HIGHEST + i] = max(totals[HIGHEST + i], floor)


@compiled(refcounted=False)
def _mark_best(work: Any, size: int, field: Field, blur: Blur) -> None:
    """Mark who has the best density; as unsure, with a 2, those who may have it."""
    least = np.float32(field.best * (1.0 - 4.0 * blur.density))
    mark, zero = np.float32(2.0 if field.second >= least else 1.0), np.float32(0.0)
    for number in range(segments_for(size)):
        segment = work[number]
        for i in range(held(size, number)):
            segment[FIRST + i] = mark if segment[CHANCES + i] >= least else zero


@compiled(refcounted=False)
def _top_of(totals: Any) -> Any:
    """The highest of all that is known to be reached."""
    width = SEGMENT
    while width > 1:
        width //= 2
        for i in range(width):
            totals[HIGHEST + i] = max(totals[HIGHEST + i], totals[HIGHEST + width + i])
    return totals[HIGHEST]


@compiled(refcounted=False)
def find_candidates(
    work: Any,
    totals: Any,
    size: int,
    field: Field,
    terms: Terms,
    weights: Weights,
    candidates: Integers,
) -> int:
    """Who may have the highest score.

    Args:
        work: of float32, looked at.
        totals: shape (TOTAL_NUMBERS,), written.
        size: how many may be chosen.
        field: of the state.
        terms: of the state.
        weights: of the network.
        candidates: shape (M,), written: their places among those who may be chosen, ascending.

    Returns:
        How many they are.
    """
    blur = blur_of(field, weights, terms)
    clear = field.best > LEAST_BEST
    highest = np.float32(-HUGE)
    if clear:
        _mark_best(work, size, field, blur)
        totals[HIGHEST : HIGHEST + SEGMENT] = -HUGE
        for number in range(segments_for(size)):
            _write_bounds(work[number], totals, filled(size, number), terms, blur)
        highest = _top_of(totals)
        # One candidate, as nearly always, is found without a branch.
        count, last = 0, 0
        for number in range(segments_for(size)):
            segment = work[number]
            for i in range(held(size, number)):
                above = segment[CEILINGS + i] >= highest
                count += above
                last += (number * SEGMENT + i) * above
        if count == 1:
            candidates[0] = last
            return 1
    count = 0
    for number in range(segments_for(size)):
        segment = work[number]
        for i in range(held(size, number)):
            if not clear or segment[CEILINGS + i] >= highest:
                candidates[count] = number * SEGMENT + i
                count += 1
    return count
