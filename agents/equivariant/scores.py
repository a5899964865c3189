"""The scores of the equivariant network without torch, compiled, in either precision.

``EquivariantNetwork`` is what learns and says what is computed. Here a state is looked at in two
loops over its opponents: what they are together, and then the score of each. The functions take
float32 and float64 alike: constants are made in the precision of the arrays (``kind``). In float32
both loops are straight lines of arithmetic, which the compiler does for eight opponents at a time
(AVX2); float64 is for the few that are nearly the best.

Opponents lie in segments of ``SEGMENT``, all numbers of a segment together: the distances between
them are known when the loops are compiled, so that it can tell that no number overwrites another.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.agents.equivariant.network import (
    CONTEXT,
    GAME_VARIANCE,
    GAMES,
    LARGEST_LOG,
    LEAST_DENSITY,
    LEAST_VARIANCE,
    NOISE_VARIANCE,
    PEAK_DENSITY,
    USUAL_GAMES,
    USUAL_OPPONENTS,
    WORTH,
    EquivariantNetwork,
)
from matchenv.agents.equivariant.single_precision import erf_of, exp_of, log_of
from matchenv.agents.equivariant.state import (
    COUPLING,
    GAMES_LEFT,
    GAP,
    MISSING_VARIANCE,
    OWN_VARIANCE,
    SHARE_LEFT,
    VARIANCE,
    Singles,
)
from matchenv.priors import PRIOR_MEAN_VARIANCE
from matchenv.runtime.compile import compiled
from matchenv.trueskill.normal import INVERSE_SQRT_2PI

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Masks = NDArray[np.bool_]

TWO_PI = 2.0 * math.pi

SEGMENT = 64
# Loops end at a multiple of this: what is left over would be done one opponent at a time.
AT_A_TIME = 8
# Where the numbers of a segment begin; ONLINE is 0 for an empty place, FIRST 1 for who has the best
# density. The last two are those of a score: the score and nothing, or its bounds.
(
    GAPS, VARIANCES, COUPLINGS, ONLINE, FIRST, CHANCES, DISTANCES, SCORES, CEILINGS,
) = range(0, 9 * SEGMENT, SEGMENT)  # fmt: skip
SEGMENT_NUMBERS = 9 * SEGMENT
# Sums over segments, place by place.
NEAR, SIDE, BEST, SECOND, HIGHEST = range(0, 5 * SEGMENT, SEGMENT)
TOTAL_NUMBERS = 5 * SEGMENT


class Weights(NamedTuple):
    """What of a network a choice needs, in float64.

    Attributes:
        factors: shape (2, 14), from context and row to the logarithms of worth and games.
        bias: shape (2,).
        trust: c.
        sharpness: logits are scores times it.
    """

    factors: Floats
    bias: Floats
    trust: float
    sharpness: float


def weights_of(network: EquivariantNetwork) -> Weights:
    """The numbers of a network."""
    values = {
        name: each.detach().cpu().double().numpy() for name, each in network.state_dict().items()
    }
    return Weights(
        factors=np.ascontiguousarray(values["factors.weight"]),
        bias=np.ascontiguousarray(values["factors.bias"]),
        trust=math.exp(float(values["log_trust"])),
        sharpness=math.exp(float(values["log_sharpness"])),
    )


class Field(NamedTuple):
    """What the opponents of a state are together.

    Attributes:
        size: how many may be chosen.
        best: the best density.
        second: the second best; half of the only one.
        near: how many are near player 0, each by its density's exponent.
        side: sum of gaps, each squeezed into (-1, 1).
    """

    size: int
    best: float
    second: float
    near: float
    side: float


class Terms(NamedTuple):
    """What the scores of a state share, in the precision of its arrays.

    Attributes:
        best: the best density.
        second: the second best.
        rise: 1 / best.
        peak_best: 2 pi best^2; times a variance it is the squared ratio of best to the peak of
            a density with that variance.
        peak_second: 2 pi second^2.
        room_best: 1 / peak_best - 2 beta^2, the variance that makes that ratio 1, but for noise.
        room_second: 1 / peak_second - 2 beta^2.
        trust: c.
        worth: bias and context, then the weights of a row, for the logarithm of worth.
        games: the same for the logarithm of games.
    """

    best: Any
    second: Any
    rise: Any
    peak_best: Any
    peak_second: Any
    room_best: Any
    room_second: Any
    trust: Any
    worth: Any
    games: Any


@compiled(refcounted=False)
def segments_for(opponents: int) -> int:
    """How many segments hold so many opponents."""
    return (opponents + SEGMENT - 1) // SEGMENT


@compiled(refcounted=False)
def held(size: int, segment: int) -> int:
    """How many of ``size`` opponents a segment holds."""
    return min(size - segment * SEGMENT, SEGMENT)


@compiled(refcounted=False)
def filled(size: int, segment: int) -> int:
    """Where loops over a segment end, with ``size`` opponents in all."""
    return (held(size, segment) + AT_A_TIME - 1) // AT_A_TIME * AT_A_TIME


@compiled(refcounted=False)
def lay_out(opponents: Singles, allowed: Masks, work: Any, places: Integers) -> int:
    """Write who may be chosen into segments.

    Args:
        opponents: shape (3, M), as ``StateBatch``.
        allowed: shape (M,), or (0,) for everybody.
        work: shape (segments, SEGMENT_NUMBERS), written.
        places: shape (M,), written: who they are.

    Returns:
        How many they are.
    """
    count, size = opponents.shape[1], 0
    if allowed.size == 0:
        size = count
        for number in range(segments_for(count)):
            segment, first = work[number], number * SEGMENT
            for i in range(held(count, number)):
                segment[GAPS + i] = opponents[GAP, first + i]
                segment[VARIANCES + i] = opponents[VARIANCE, first + i]
                segment[COUPLINGS + i] = opponents[COUPLING, first + i]
                places[first + i] = first + i
    else:
        for k in range(count):
            if allowed[k]:
                segment, i = work[size // SEGMENT], size % SEGMENT
                segment[GAPS + i] = opponents[GAP, k]
                segment[VARIANCES + i] = opponents[VARIANCE, k]
                segment[COUPLINGS + i] = opponents[COUPLING, k]
                places[size] = k
                size += 1
    for number in range(segments_for(size)):
        segment, end = work[number], held(size, number)
        for i in range(filled(size, number)):
            segment[ONLINE + i] = 1.0 if i < end else 0.0
            segment[FIRST + i] = 0.0
        for i in range(end, filled(size, number)):
            segment[GAPS + i], segment[VARIANCES + i], segment[COUPLINGS + i] = 0.0, 1.0, 0.0
    return size


@compiled(refcounted=False)
def _look(segment: Any, totals: Any, end: int) -> None:
    """Densities and distances of a segment, and what they add to the field."""
    kind = segment.dtype.type
    one, half, noise = kind(1.0), kind(0.5), kind(NOISE_VARIANCE)
    scale, least = kind(INVERSE_SQRT_2PI), kind(LEAST_DENSITY)
    for i in range(end):
        gap, variance, online = segment[GAPS + i], segment[VARIANCES + i], segment[ONLINE + i]
        square = gap * gap
        share = one / (noise + variance)
        chance = exp_of(-half * square * share) * math.sqrt(share) * scale
        distance = square / (one + variance)
        density = online * max(chance, least)
        segment[CHANCES + i] = chance
        segment[DISTANCES + i] = distance
        totals[NEAR + i] += online * exp_of(-half * distance)
        totals[SIDE + i] += online * (gap / math.sqrt(one + square))
        best = totals[BEST + i]
        totals[SECOND + i] = max(totals[SECOND + i], min(best, density))
        totals[BEST + i] = max(best, density)


@compiled(refcounted=False)
def field_of(work: Any, size: int, totals: Any) -> Field:
    """Write chances and distances of all segments, and say what the opponents are together.

    Args:
        work: from ``lay_out``.
        size: how many may be chosen.
        totals: shape (TOTAL_NUMBERS,), written.
    """
    totals[:] = 0.0
    for number in range(segments_for(size)):
        _look(work[number], totals, filled(size, number))
    width = SEGMENT
    while width > 1:
        width //= 2
        for i in range(width):
            totals[NEAR + i] += totals[NEAR + width + i]
            totals[SIDE + i] += totals[SIDE + width + i]
        for i in range(width):
            best, other = totals[BEST + i], totals[BEST + width + i]
            second = max(totals[SECOND + i], totals[SECOND + width + i])
            totals[SECOND + i] = max(second, min(best, other))
            totals[BEST + i] = max(best, other)
    best = float(totals[BEST])
    second = 0.5 * best if size == 1 else float(totals[SECOND])
    return Field(size, best, second, float(totals[NEAR]), float(totals[SIDE]))


@compiled(refcounted=False)
def context_of(state: Singles, field: Field) -> Any:
    """The numbers of a state that all its opponents share, nine floats."""
    return (
        0.5 * math.log(max(float(state[GAMES_LEFT]), 1e-3) / USUAL_GAMES),
        0.5 * math.log(float(state[OWN_VARIANCE]) + 0.01),
        5.0 * math.log(field.best / PEAK_DENSITY),
        float(state[MISSING_VARIANCE]) / PRIOR_MEAN_VARIANCE,
        0.7 * math.log(field.near + 0.1),
        2.0 * abs(field.side / field.size) - 1.0,
        0.7 * math.log(field.size / USUAL_OPPONENTS),
        min(5.0 * math.log(field.best / field.second), 2.0),
        2.0 * float(state[SHARE_LEFT]) - 1.0,
    )


@compiled(refcounted=False)
def _factor(kind: Any, number: int, context: Any, weights: Weights) -> Any:
    base = weights.bias[number]
    for place, value in enumerate(context):
        base += weights.factors[number, place] * value
    row = weights.factors[number, CONTEXT:]
    return kind(base), kind(row[0]), kind(row[1]), kind(row[2]), kind(row[3]), kind(row[4])


@compiled(refcounted=False)
def terms_of(state: Singles, field: Field, weights: Weights, work: Any) -> Terms:
    """What the scores of a state share, in the precision of ``work``."""
    kind = work.dtype.type
    context = context_of(state, field)
    peak_best, peak_second = TWO_PI * field.best**2, TWO_PI * field.second**2
    return Terms(
        kind(field.best),
        kind(field.second),
        kind(1.0 / field.best),
        kind(peak_best),
        kind(peak_second),
        kind(1.0 / peak_best - NOISE_VARIANCE),
        kind(1.0 / peak_second - NOISE_VARIANCE),
        kind(weights.trust),
        _factor(kind, WORTH, context, weights),
        _factor(kind, GAMES, context, weights),
    )


class Look(NamedTuple):
    """One opponent as the score sees it, in the precision of its numbers.

    Attributes:
        now: the density, with the trust in the belief.
        worth: what a rise of the best density is worth.
        lead: what the others' best density is above the best one, 0 or less.
        gain: what the best density is expected to rise by over the others', 0 or more.
        others: the best density of the others.
        reach: how near to 0 the mean must be for a density above the others'.
        left: the variance that the games leave.
        part: the variance by which they move the mean, as a share of it.
        scale: 1 / sqrt(2 spread), with that variance.
        near_scale: 1 / sqrt(2 spread left / total).
        near_gap: the gap's size times left / total.
        row: doubt, distance and evenness, as the network sees them.
    """

    now: Any
    worth: Any
    lead: Any
    gain: Any
    others: Any
    reach: Any
    left: Any
    part: Any
    scale: Any
    near_scale: Any
    near_gap: Any
    row: Any


@compiled(inline=True)
def look_at(kind: Any, segment: Any, i: int, terms: Terms) -> Look:
    """All that makes the score of an opponent; ``expected_best`` of the network says how."""
    zero, one, two, half = kind(0.0), kind(1.0), kind(2.0), kind(0.5)
    noise, largest, share = kind(NOISE_VARIANCE), kind(LARGEST_LOG), kind(0.7)
    gap, variance, chance = segment[GAPS + i], segment[VARIANCES + i], segment[CHANCES + i]
    first = segment[FIRST + i]
    is_first = first > zero
    above = variance + kind(1e-4)
    doubt = share * log_of(above, above - one)
    away = math.sqrt(segment[DISTANCES + i]) - one
    coupling = two * segment[COUPLINGS + i] - one
    ratio = max(max(chance, kind(LEAST_DENSITY)) * terms.rise + kind(1e-6), kind(math.exp(-3.0)))
    evenness = log_of(ratio, ratio - one)
    worth, games = terms.worth, terms.games
    log_worth = worth[0] + worth[1] * doubt + worth[2] * away + worth[3] * coupling
    log_worth += worth[4] * evenness + worth[5] * first
    log_games = games[0] + games[1] * doubt + games[2] * away + games[3] * coupling
    log_games += games[4] * evenness + games[5] * first
    # What the games tell has this variance.
    told = kind(GAME_VARIANCE) * exp_of(-min(max(log_games, -largest), largest))
    part = variance / (variance + told)
    spread = variance * part + kind(LEAST_VARIANCE)
    gone = told * part
    left, total = noise + gone, noise + variance
    others = terms.second if is_first else terms.best
    peak = terms.peak_second if is_first else terms.peak_best
    room = terms.room_second if is_first else terms.room_best
    reach = math.sqrt(
        max(-left * log_of(left * peak, (gone - room) * peak), kind(LEAST_VARIANCE))
    )  # fmt: skip
    inverse = one / (left * total)
    size = abs(gap)
    scale = math.sqrt(half / spread)
    near_gap = size * (left * left * inverse)
    near_scale = scale * math.sqrt(total * total * inverse)
    a, under_a = erf_of((reach - near_gap) * near_scale)
    b, under_b = erf_of((reach + near_gap) * near_scale)
    c, under_c = erf_of((reach - size) * scale)
    d, under_d = erf_of((reach + size) * scale)
    under_weighted, under = under_a * under_b, under_c * under_d
    weighted = chance * (a * under_b + b * under_a) * under
    within = others * (c * under_d + d * under_c) * under_weighted
    gain = half * max(weighted - within, zero) / (under_weighted * under)
    rest = one / (noise + variance * terms.trust)
    now = exp_of(-half * gap * gap * rest) * math.sqrt(rest) * kind(INVERSE_SQRT_2PI)
    return Look(
        now,
        kind(USUAL_GAMES) * exp_of(min(max(log_worth, -largest), largest)),
        terms.second - terms.best if is_first else zero,
        gain,
        others,
        reach,
        left,
        spread * total * inverse,
        scale,
        near_scale,
        near_gap,
        (doubt, away, evenness),
    )


@compiled(refcounted=False)
def write_scores(segment: Any, end: int, terms: Terms) -> None:
    """The scores of a segment."""
    kind = segment.dtype.type
    for i in range(end):
        look = look_at(kind, segment, i, terms)
        segment[SCORES + i] = look.now + look.worth * (look.lead + look.gain)


@compiled(refcounted=False)
def mark_first(work: Any, size: int, field: Field) -> None:
    """Mark the first opponent with the best density."""
    for number in range(segments_for(size)):
        segment = work[number]
        for i in range(held(size, number)):
            if max(segment[CHANCES + i], LEAST_DENSITY) >= field.best:
                segment[FIRST + i] = 1.0
                return
