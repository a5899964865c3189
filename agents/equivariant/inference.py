"""Choices of the equivariant network without torch: the same numbers, compiled.

``EquivariantNetwork`` is what learns and says what is computed; here it is one pass over the
opponents of each state, in float64. The choice is found by search: the gain of an opponent is
worked out only where an upper bound reaches the best score.

That bound: after the games looked ahead no draw density exceeds the peak p = 1 / sqrt(2 pi left),
and the expected one is the density now. So the expected excess over b is at most
density (1 - b / p); with L = log(p / b) that is 1 - exp(-L) <= L - L^2 / 2 + L^3 / 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

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
from matchenv.compilation import compiled
from matchenv.priors import PRIOR_MEAN_VARIANCE

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Masks = NDArray[np.bool_]

TWO_PI = 2.0 * math.pi
# Rounding must not make a bound too low.
SLACK = 1e-9

# Working arrays, row by row.
NOW, CHANCE, DISTANCE, WORTHS, SPREAD, LEFT, LOG_PEAK, BOUND = range(8)
ROWS = 8


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


@compiled
def _within(reach: float, mean: float, variance: float) -> float:
    scale = 1.0 / math.sqrt(2.0 * variance)
    return 0.5 * (math.erf((reach - mean) * scale) + math.erf((reach + mean) * scale))


@compiled
def _excess_share(log_ratio: float) -> float:
    """An upper bound of 1 - exp(-x), without an exponential; 0 for x <= 0."""
    x = max(0.0, log_ratio)
    return min(1.0, x * (1.0 - x * (0.5 - x * (1.0 / 6.0))))


@compiled
def _gain(work: Floats, k: int, gap: float, variance: float, others: float) -> float:
    """What the best density is expected to rise by over ``others``, after the games with k."""
    spread, left = work[SPREAD, k], work[LEFT, k]
    total = NOISE_VARIANCE + variance
    reach = math.sqrt(max(-2.0 * left * work[LOG_PEAK, k], LEAST_VARIANCE))
    weighted = _within(reach, gap * left / total, left * spread / total)
    return max(0.0, work[CHANCE, k] * weighted - others * _within(reach, gap, spread))


@compiled
def score_of(
    opponents: Singles, work: Floats, k: int, best: float, second: float, place: int
) -> float:
    """The score of an opponent, once ``prepare`` has been called."""
    others = second if k == place else best
    gap, variance = float(opponents[GAP, k]), float(opponents[VARIANCE, k])
    ahead = others + _gain(work, k, gap, variance, others)
    return work[NOW, k] + work[WORTHS, k] * (ahead - best)


class Field(NamedTuple):
    """What the opponents of a state are together.

    Attributes:
        size: how many may be chosen.
        best: the best density.
        second: the second best; half of the only one.
        place: whose the best is.
        near: how many are near player 0, each by its density's exponent.
        side: sum of gaps, each squeezed into (-1, 1).
        narrowest: the smallest variance.
        widest: the largest variance.
        furthest: the largest square of a gap, in deviations.
    """

    size: int
    best: float
    second: float
    place: int
    near: float
    side: float
    narrowest: float
    widest: float
    furthest: float


@compiled
def _field(opponents: Singles, allowed: Masks, work: Floats) -> Field:
    """Write chances and densities of those allowed, and say what they are together."""
    count, place, best, second = 0, 0, -1.0, -1.0
    near, side = 0.0, 0.0
    narrowest, widest, furthest = np.inf, 0.0, 0.0
    for k in range(opponents.shape[1]):
        if not allowed[k]:
            continue
        count += 1
        gap, variance = float(opponents[GAP, k]), float(opponents[VARIANCE, k])
        square, total = gap * gap, NOISE_VARIANCE + variance
        chance = math.exp(-0.5 * square / total) / math.sqrt(TWO_PI * total)
        density = max(chance, LEAST_DENSITY)
        work[CHANCE, k] = chance
        if density > best:
            best, second, place = density, best, k
        elif density > second:
            second = density
        narrowest, widest = min(narrowest, variance), max(widest, variance)
        distance = square / (1.0 + variance)
        work[DISTANCE, k] = distance
        furthest = max(furthest, distance)
        near += math.exp(-0.5 * distance)
        side += gap / math.sqrt(1.0 + square)
    if count == 1:
        second = 0.5 * best
    return Field(count, best, second, place, near, side, narrowest, widest, furthest)


@compiled
def _bases(state: Singles, field: Field, weights: Weights) -> tuple[float, float]:
    """What the state alone says of the logarithms of worth and games."""
    context = (
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
    base_worth, base_games = weights.bias[WORTH], weights.bias[GAMES]
    for number, value in enumerate(context):
        base_worth += weights.factors[WORTH, number] * value
        base_games += weights.factors[GAMES, number] * value
    return base_worth, base_games


@compiled
def _most_worth(field: Field, base_worth: float, for_worth: Floats) -> float:
    """Nobody's gain is worth more than this, whatever the numbers of its row."""
    ends = (
        (0.7 * math.log(field.narrowest + 1e-4), 0.7 * math.log(field.widest + 1e-4)),
        (-1.0, math.sqrt(field.furthest) - 1.0),
        (-1.0, 1.0),
        (-3.0, 0.0),
        (0.0, 0.0),
    )
    log_most = base_worth + SLACK
    for number, (low, high) in enumerate(ends):
        log_most += max(for_worth[number] * low, for_worth[number] * high)
    return USUAL_GAMES * math.exp(min(max(log_most, -LARGEST_LOG), LARGEST_LOG))


@compiled
def prepare(
    opponents: Singles,
    state: Singles,
    allowed: Masks,
    weights: Weights,
    work: Floats,
    search: bool,
) -> tuple[float, float, int]:
    """All but the gains of a state.

    Args:
        opponents: shape (3, M), as ``StateBatch``.
        state: shape (4,).
        allowed: shape (M,), who may be chosen; the others are as if they were not there.
        weights: of the network.
        work: shape (ROWS, M), written for those allowed.
        search: leave out, with a bound of minus infinity, who cannot have the highest score.

    Returns:
        ``(best, second, place)``: the best density, the second best, and whose the best is.
    """
    field = _field(opponents, allowed, work)
    best, second, place = field.best, field.second, field.place
    base_worth, base_games = _bases(state, field, weights)
    for_worth, for_games = weights.factors[WORTH, CONTEXT:], weights.factors[GAMES, CONTEXT:]
    log_best, log_second, least = math.log(best), math.log(second), -np.inf
    most = _most_worth(field, base_worth, for_worth)
    most_rise = _excess_share(-log_best - 0.5 * math.log(TWO_PI * NOISE_VARIANCE)) + 2.0 * SLACK
    worth_0, worth_1, worth_2, worth_3, worth_4 = (
        for_worth[0], for_worth[1], for_worth[2], for_worth[3], for_worth[4],
    )  # fmt: skip
    games_0, games_1, games_2, games_3, games_4 = (
        for_games[0], for_games[1], for_games[2], for_games[3], for_games[4],
    )  # fmt: skip
    # The best one comes first, so that its score rules out others.
    for turn in range(-1, opponents.shape[1]):
        k = place if turn < 0 else turn
        if not allowed[k] or turn == place:
            continue
        gap, variance = float(opponents[GAP, k]), float(opponents[VARIANCE, k])
        trusted = NOISE_VARIANCE + variance * weights.trust
        now = math.exp(-0.5 * gap * gap / trusted) / math.sqrt(TWO_PI * trusted)
        if now + most * (work[CHANCE, k] * most_rise + SLACK) < least:
            work[BOUND, k] = -np.inf
            continue
        doubt = 0.7 * math.log(variance + 1e-4)
        away = math.sqrt(work[DISTANCE, k]) - 1.0
        coupling = 2.0 * float(opponents[COUPLING, k]) - 1.0
        evenness = max(math.log(max(work[CHANCE, k], LEAST_DENSITY) / best + 1e-6), -3.0)
        first = 1.0 if k == place else 0.0
        log_worth = base_worth + worth_0 * doubt + worth_1 * away + worth_2 * coupling
        log_worth += worth_3 * evenness + worth_4 * first
        log_games = base_games + games_0 * doubt + games_1 * away + games_2 * coupling
        log_games += games_3 * evenness + games_4 * first
        worth = math.exp(min(max(log_worth, -LARGEST_LOG), LARGEST_LOG))
        games = math.exp(min(max(log_games, -LARGEST_LOG), LARGEST_LOG))
        spread = variance * variance / (variance + GAME_VARIANCE / games) + LEAST_VARIANCE
        left = max(NOISE_VARIANCE + variance - spread, 0.5 * NOISE_VARIANCE)
        log_peak = 0.5 * math.log(TWO_PI * left) + (log_second if k == place else log_best)
        work[WORTHS, k] = USUAL_GAMES * worth
        work[SPREAD, k], work[LEFT, k], work[LOG_PEAK, k] = spread, left, log_peak
        work[NOW, k] = now
        rise = work[CHANCE, k] * (_excess_share(-log_peak) + SLACK) + SLACK
        lead = second - best if k == place else 0.0
        work[BOUND, k] = now + USUAL_GAMES * worth * (rise + lead)
        if turn < 0 and search:
            least = score_of(opponents, work, k, best, second, place)
    return best, second, place


@compiled
def all_scores(opponents: Singles, state: Singles, allowed: Masks, weights: Weights) -> Floats:
    """Scores of every opponent of every state.

    Args:
        opponents: shape (n, 3, M), as ``StateBatch``.
        state: shape (n, 4).
        allowed: shape (n, M).
        weights: of the network.

    Returns:
        Shape (n, M), in units of draw density; minus infinity for who may not be chosen.
    """
    work = np.empty((ROWS, opponents.shape[2]))
    scores = np.full((opponents.shape[0], opponents.shape[2]), -np.inf)
    for n in range(opponents.shape[0]):
        best, second, place = prepare(opponents[n], state[n], allowed[n], weights, work, False)
        for k in range(opponents.shape[2]):
            if allowed[n, k]:
                scores[n, k] = score_of(opponents[n], work, k, best, second, place)
    return scores


@compiled
def highest_scores(
    opponents: Singles, state: Singles, allowed: Masks, weights: Weights
) -> Integers:
    """The first opponent with the highest score, shape (n,); arguments as ``all_scores``."""
    work = np.empty((ROWS, opponents.shape[2]))
    actions = np.empty(opponents.shape[0], dtype=np.int64)
    for n in range(opponents.shape[0]):
        best, second, place = prepare(opponents[n], state[n], allowed[n], weights, work, True)
        start = place
        for k in range(opponents.shape[2]):
            if allowed[n, k] and work[BOUND, k] > work[BOUND, start]:
                start = k
        chosen, highest = start, score_of(opponents[n], work, start, best, second, place)
        for k in range(opponents.shape[2]):
            if not allowed[n, k] or k == start or work[BOUND, k] < highest:
                continue
            score = score_of(opponents[n], work, k, best, second, place)
            if score > highest or (score == highest and k < chosen):
                chosen, highest = k, score
        actions[n] = chosen
    return actions
