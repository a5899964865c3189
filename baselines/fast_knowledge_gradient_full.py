"""KG's decision on the full belief: most opponents are ruled out by an upper bound.

The rule of ``knowledge_gradient_full`` looks at all opponents after every outcome of every game.
Here ``density_levels`` bounds the best density after a game by a table that all games share. Scores
are computed only where the bound reaches the best score so far, with the kernel of that rule. So
the choice is its choice to the bit, among equal scores too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from matchenv.baselines.contenders import LARGEST_SHIFT, SLACK
from matchenv.baselines.density_levels import (
    FURTHEST,
    LEAST_RATE,
    DensityLevels,
    factor_after,
    factor_within,
    new_levels,
    tabulate_levels,
)
from matchenv.baselines.knowledge_gradient_full import full_look_ahead_value, measure_opponents
from matchenv.baselines.policy import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    SMALLEST_DENSITY,
    density_at_zero,
    difference_moments,
    outcome_probability_of,
)
from matchenv.trueskill.normal import INVERSE_SQRT_2PI


class FullLine(NamedTuple):
    """Working arrays of one decision, shape (M,).

    Attributes:
        gaps: means of s_0 - s_k.
        variances: V_k, of the differences of performances.
        loads: L_k, square roots of what player 0's variance adds to V_k.
        densities: draw densities before the game.
        leads: gaps over sqrt(V_k).
        rates: loads over sqrt(V_k).
        shifts: how far any outcome can move the difference of performances, in sqrt(V_k).
    """

    gaps: Floats
    variances: Floats
    loads: Floats
    densities: Floats
    leads: Floats
    rates: Floats
    shifts: Floats


@compiled
def new_full_line(num_opponents: int) -> FullLine:
    """Working arrays for a pool of ``num_opponents``."""
    rows = np.empty((7, num_opponents))
    return FullLine(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6])


@compiled
def measure_reach(line: FullLine, draw_margin: float) -> tuple[float, float]:
    """Write leads, rates and shifts.

    Args:
        line: with gaps, variances and loads.
        draw_margin: performances no further apart than this are a draw.

    Returns:
        ``(rho, reach)`` for ``tabulate_levels``.
    """
    rho, reach = 0.0, 0.0
    for k in range(line.gaps.size):
        share = 1.0 / math.sqrt(line.variances[k])
        line.leads[k], line.rates[k] = line.gaps[k] * share, line.loads[k] * share
        rho = max(rho, line.rates[k] * line.rates[k])
        line.shifts[k] = LARGEST_SHIFT + abs(line.leads[k]) + draw_margin * share
        reach = max(reach, line.rates[k] * line.shifts[k])
    return rho, min(reach, FURTHEST * math.sqrt(rho))


@compiled
def bound_roughly(
    line: FullLine,
    levels: DensityLevels,
    j: int,
    multiplier: float,
    best_now: float,
    noise: float,
    reach: float,
) -> float:
    """An upper bound of q_0j + multiplier F_j, from the largest shift of any outcome.

    Args:
        line: measured.
        levels: tabulated.
        j: the opponent, 0 to M - 1.
        multiplier: what a unit of future draw density is worth.
        best_now: the best draw density before the game.
        noise: variance of the two performances around skill, 2 beta^2.
        reach: s of the last node.
    """
    shift = line.shifts[j]
    best = best_now * factor_within(levels, line.rates[j] * shift, reach)
    # Against j itself, who has moved too: V exp(g^2 / V) >= V + g^2.
    variance = line.variances[j]
    uncertain = variance - noise
    lead = max(0.0, abs(line.leads[j]) - uncertain / variance * shift)
    least = noise + uncertain * noise / variance + lead * lead * variance
    scaled = best / INVERSE_SQRT_2PI
    if scaled * scaled * least < 1.0:
        best = INVERSE_SQRT_2PI / math.sqrt(least)
    return (line.densities[j] + multiplier * best) * (1.0 + SLACK)


@compiled
def bound_closely(
    line: FullLine,
    levels: DensityLevels,
    j: int,
    multiplier: float,
    best_now: float,
    noise: float,
    draw_margin: float,
    rho: float,
    reach: float,
) -> float:
    """An upper bound of q_0j + multiplier F_j, outcome by outcome; NaN where none is known.

    Args:
        line: as ``bound_roughly``, and so are the next five.
        levels: as there.
        j: as there.
        multiplier: as there.
        best_now: as there.
        noise: as there.
        draw_margin: performances no further apart than this are a draw.
        rho: the largest square of a rate.
        reach: as there.
    """
    gap, variance, rate = line.gaps[j], line.variances[j], line.rates[j]
    uncertain = variance - noise
    future = 0.0
    for outcome in (1, -1, 0):
        if outcome == 0 and draw_margin == 0.0:
            break
        v, complement = difference_moments(gap, variance, outcome, draw_margin)
        loss = rate * rate * max(0.0, 1.0 - complement)
        best = best_now * factor_after(levels, rate * v, loss, rho, reach)
        after = uncertain * ((noise + uncertain * complement) / variance) + noise
        moved = gap + uncertain * v / math.sqrt(variance)
        scaled, square = best / INVERSE_SQRT_2PI, moved * moved
        if scaled * scaled * (after * (after + square) + 0.5 * square * square) < after:
            best = max(best, density_at_zero(moved, after))
        future += outcome_probability_of(gap, variance, outcome, draw_margin) * best
    return (line.densities[j] + multiplier * future) * (1.0 + SLACK)


@compiled
def full_knowledge_gradient_opponent(
    line: FullLine,
    levels: DensityLevels,
    first: int,
    multiplier: float,
    beta: float,
    draw_margin: float,
) -> int:
    """The action with the highest q_0j + multiplier F_j, the lowest of equals.

    Args:
        line: with gaps, variances, loads and densities; the rest is written.
        levels: working arrays.
        first: the action with the best draw density now.
        multiplier: what a unit of future draw density is worth.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
    """
    noise = 2.0 * beta * beta
    best_now = line.densities[first]
    rho, reach = measure_reach(line, draw_margin)
    # Every comparison below lets pass whom no bound rules out, NaN too.
    bounded = best_now > SMALLEST_DENSITY and rho > LEAST_RATE
    chosen = first
    best = full_score(line, first, first, multiplier, beta, draw_margin)
    if bounded:
        tabulate_levels(levels, line.variances, line.leads, line.rates, first, rho, reach)
    for j in range(line.gaps.size):
        if j == first:
            continue
        if bounded:
            bound = bound_roughly(line, levels, j, multiplier, best_now, noise, reach)
            if bound < best:
                continue
            bound = bound_closely(
                line, levels, j, multiplier, best_now, noise, draw_margin, rho, reach
            )
            if bound < best:
                continue
        score = full_score(line, j, first, multiplier, beta, draw_margin)
        if score > best or (score == best and j < chosen):
            best, chosen = score, j
    return chosen


@compiled
def full_score(
    line: FullLine, j: int, first: int, multiplier: float, beta: float, draw_margin: float
) -> float:
    """q_0j + multiplier F_j, as the plain rule computes it; arguments as above."""
    return line.densities[j] + multiplier * full_look_ahead_value(
        line.gaps, line.variances, line.loads, j, first, beta, draw_margin
    )


@compiled
def full_knowledge_gradient_opponents(
    mu: Floats,
    sigma: Floats,
    differences: Floats,
    multipliers: Floats,
    beta: float,
    draw_margin: float,
) -> Integers:
    """Actions for a batch of beliefs; arguments as ``full_knowledge_gradient_scores``.

    Returns:
        Actions of shape (B,), those of the first highest scores.
    """
    line, levels = new_full_line(differences.shape[1]), new_levels()
    actions = np.empty(mu.shape[0], dtype=np.int64)
    for b in range(mu.shape[0]):
        first = measure_opponents(
            mu[b], sigma[b], differences[b], beta,
            line.gaps, line.variances, line.loads, line.densities,
        )  # fmt: skip
        actions[b] = full_knowledge_gradient_opponent(
            line, levels, first, multipliers[b], beta, draw_margin
        )
    return actions
