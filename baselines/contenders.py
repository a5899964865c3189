"""Who can matter after the next game: a small set, late in an episode.

A game moves player 0 by little once its skill is known well. Then few opponents can have the
best draw density after it, whoever plays it and however it ends. All functions are compiled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from matchenv.baselines.policy import Floats, Integers
from matchenv.baselines.skill_line import SkillLine
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import drifted, total_variance
from matchenv.trueskill.normal import INVERSE_SQRT_2PI

# Bounds are widened by this share, far more than rounding can take from a density.
SLACK = 1e-9

# A game shifts the standardised difference by at most its distance to the outcome and this,
# v(0) = sqrt(2 / pi), since v(t) + t falls with t and v falls too.
LARGEST_SHIFT = 0.8

# Rounding shifts a mean by a few parts in 2^52 of the largest.
BLUR = 2.0**-48

# Squared gaps of more variances than this are left to the search: densities may underflow.
LARGEST_EXPONENT = 600.0


class Contenders(NamedTuple):
    """Opponents who may have the best density after the next game.

    Working arrays of one decision, shape (M,) if not said; made once, used again and again.

    Attributes:
        sizes: shape (2,), how many there are, and how many of them are in the envelope.
        places: where they stand in the skill line, ascending.
        mu: their means.
        sigma: their standard deviations.
        envelope: those whose parabolas make up the lower envelope, as indices into ``mu``.
        borders: entry e is the skill above which ``envelope[e]`` takes over from the one
            before; entry 0 is not used.
        narrowest: shape (1,), the smallest sigma^2.
        widest: shape (1,), the largest.
    """

    sizes: Integers
    places: Integers
    mu: Floats
    sigma: Floats
    envelope: Integers
    borders: Floats
    narrowest: Floats
    widest: Floats


def new_contenders(num_opponents: int) -> Contenders:
    """Working arrays for a pool of ``num_opponents``."""
    return Contenders(
        sizes=np.zeros(2, dtype=np.int64),
        places=np.empty(num_opponents, dtype=np.int64),
        mu=np.empty(num_opponents),
        sigma=np.empty(num_opponents),
        envelope=np.empty(num_opponents, dtype=np.int64),
        borders=np.empty(num_opponents),
        narrowest=np.empty(1),
        widest=np.empty(1),
    )


@compiled
def remaining_variance(square: float, square_other: float, noise: float) -> float:
    """The least that can be left of a variance after a game, whatever its outcome.

    Args:
        square: the player's variance before it.
        square_other: the other player's.
        noise: variance of the two performances around skill, 2 beta^2.
    """
    return square * (square_other + noise) / (square + square_other + noise)


@compiled
def find_contenders(
    line: SkillLine,
    contenders: Contenders,
    mu_0: float,
    sigma_0: float,
    beta: float,
    draw_margin: float,
    tau: float,
) -> float:
    """Write the contenders, but for the envelope.

    After any game player 0 is within some span of its mean. An opponent whose V + g^2 is at
    best more than V exp(g^2 / V) of two others at worst has less density than one of them
    that has not moved, since V exp(g^2 / V) >= V + g^2.

    Args:
        line: sorted.
        contenders: written.
        mu_0: mean of the belief about player 0.
        sigma_0: its standard deviation.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before a game.

    Returns:
        The least sigma_k^2 + g^2 of an opponent who has not moved, anywhere within the span.
    """
    noise = 2.0 * beta * beta
    square_0 = drifted(sigma_0, tau) ** 2
    variance = square_0 + line.narrowest[0] + noise
    first, last = line.mu[0], line.mu[-1]
    furthest = max(mu_0 - first, last - mu_0) + draw_margin
    span = square_0 * (LARGEST_SHIFT / math.sqrt(variance) + furthest / variance)
    span = span * (1.0 + SLACK) + BLUR * (abs(mu_0) + max(abs(first), abs(last)))
    rest = noise + remaining_variance(square_0, line.narrowest[0], noise)
    lowest, threshold = _least_sums(line, mu_0, span, rest)
    count = 0
    narrowest, widest = np.inf, 0.0
    for place in range(line.mu.size):
        square = line.sigma[place] * line.sigma[place]
        near = max(0.0, abs(mu_0 - line.mu[place]) - span)
        if rest + square + near * near <= threshold:
            contenders.places[count] = place
            contenders.mu[count] = line.mu[place]
            contenders.sigma[count] = line.sigma[place]
            count += 1
            narrowest, widest = min(narrowest, square), max(widest, square)
    contenders.sizes[0] = count
    contenders.narrowest[0], contenders.widest[0] = narrowest, widest
    return lowest


@compiled
def bound_roughly(
    line: SkillLine,
    lowest: float,
    mu_0: float,
    sigma_0: float,
    multiplier: float,
    beta: float,
    draw_margin: float,
    tau: float,
) -> None:
    """Write upper bounds of q_0j + multiplier F_j to the line, without any exponential.

    Args:
        line: sorted; ``bounds`` is written.
        lowest: from ``find_contenders``.
        mu_0: as there, and so are the next five but the multiplier.
        sigma_0: as there.
        multiplier: what a unit of future draw density is worth.
        beta: as there.
        draw_margin: as there.
        tau: as there.
    """
    noise = 2.0 * beta * beta
    square_0 = drifted(sigma_0, tau) ** 2
    blur = BLUR * (abs(mu_0) + max(abs(line.mu[0]), abs(line.mu[-1])))
    for place in range(line.mu.size):
        gap = abs(mu_0 - line.mu[place])
        # The density now: four terms of the exponential.
        variance = total_variance(sigma_0, line.sigma[place], beta)
        y = gap * gap / variance
        now = variance * (1.0 + y * (1.0 + y * (0.5 + y / 6.0)))
        # The density after the game: against somebody who has not moved, or against j.
        square = line.sigma[place] * line.sigma[place] + tau * tau
        variance = square_0 + square + noise
        share = 1.0 / variance
        shift = (square_0 + square) * (
            LARGEST_SHIFT / math.sqrt(variance) + (gap + draw_margin) * share
        )
        left = max(0.0, gap - shift * (1.0 + SLACK) - blur)
        moved = square * (square_0 + noise) * share + left * left
        after = noise + square_0 * (square + noise) * share + min(lowest, moved)
        line.bounds[place] = (
            INVERSE_SQRT_2PI
            * (1.0 / math.sqrt(now) + multiplier / math.sqrt(after))
            * (1.0 + SLACK)
        )


@compiled
def _least_sums(line: SkillLine, mu_0: float, span: float, rest: float) -> tuple[float, float]:
    """What the opponents reach within a span of a mean.

    Args:
        line: sorted.
        mu_0: the mean.
        span: how far from it.
        rest: the least that is added to sigma_k^2 to make the variance V.

    Returns:
        ``(lowest, threshold)``: the least sigma_k^2 + g^2 anywhere within the span, and a
        V exp(g^2 / V) that two opponents stay below everywhere within it.
    """
    lowest, high, second = np.inf, np.inf, np.inf
    best, next_best = 0, 0
    for place in range(line.mu.size):
        square = line.sigma[place] * line.sigma[place]
        gap = abs(mu_0 - line.mu[place])
        near, far = max(0.0, gap - span), gap + span
        lowest = min(lowest, square + near * near)
        total = square + far * far
        if total < second:
            if total < high:
                second, next_best = high, best
                high, best = total, place
            else:
                second, next_best = total, place
    if best == next_best:
        return lowest, np.inf
    # V exp(g^2 / V) - V falls with V: the smallest variance of player 0 is the worst case.
    threshold = 0.0
    for place in (best, next_best):
        variance = rest + line.sigma[place] * line.sigma[place]
        far = abs(mu_0 - line.mu[place]) + span
        exponent = far * far / variance
        if exponent > LARGEST_EXPONENT:
            return lowest, np.inf
        threshold = max(threshold, variance * math.exp(exponent) * (1.0 + SLACK))
    return lowest, threshold


@compiled
def build_envelope(contenders: Contenders) -> None:
    """Write the lower envelope of sigma_k^2 + (x - mu_k)^2, and its size."""
    size = 0
    for place in range(contenders.sizes[0]):
        mean, square = contenders.mu[place], contenders.sigma[place] * contenders.sigma[place]
        border = -np.inf
        covered = False
        while size > 0:
            last = contenders.envelope[size - 1]
            distance = mean - contenders.mu[last]
            if distance <= 0.0:
                # Equal means: the one with the smaller deviation came first.
                covered = True
                break
            rise = (square - contenders.sigma[last] * contenders.sigma[last]) / distance
            border = 0.5 * (mean + contenders.mu[last] + rise)
            if size == 1 or border > contenders.borders[size - 1]:
                break
            size -= 1
        if not covered:
            contenders.envelope[size] = place
            contenders.borders[size] = border
            size += 1
    contenders.sizes[1] = size
