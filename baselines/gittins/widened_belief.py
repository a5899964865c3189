"""The full belief that a wider prior would have led to, worked out from the one that is shown.

Where all prior means are equal, the prior may hide how wide the field is: skills then vary by more
than anybody's prior variance says, and the belief is overconfident. The full belief can be taken
apart again. With the slack a_k and the prior variance P_k of ``matchenv.belief.full``, the
games with k say of s_0 - s_k what a measurement y_k of precision rho_k would:

    rho_k = (1 / a_k - 1) / P_k,        mu_k = a_k m + (1 - a_k) (mu_0 - y_k).

Games only measure differences, so they leave the mean of all mu, weighted by the prior
precisions, where it was: it is the prior mean m, which all players share. Then the same
measurements are put on the wider prior.
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.baselines.policy import Floats
from matchenv.belief.full import (
    difference_variance,
    opponent_variance,
    slack_of_deviations,
)
from matchenv.runtime.compile import compiled

# w of an even game: the share of the variance of the performances' difference that it removes.
EVEN_SHARE = 2.0 / math.pi

# Slack above which an opponent counts as never met; observations are rounded to float32.
NEVER_MET = 1.0 - 1e-3

# Prior means are equal if they differ by no more than this, in performances.
EQUAL = 1e-3


@compiled
def kept_precision(precision: float, narrow: float, wide: float) -> float:
    """The share of a measurement's precision that the wider prior would have left.

    An even game measures s_0 - s_k with the precision w / (1 + (1 - w) C), less for a wider
    variance C. For a first game that is exact; the more games the less their measurement depends on
    the prior, and the less of their precision is lost.

    Args:
        precision: of all games with the opponent, in 1 / (2 beta^2).
        narrow: prior variance of the opponent, in 2 beta^2.
        wide: that of the wider prior.
    """
    rest = 1.0 - EVEN_SHARE
    first = EVEN_SHARE / (1.0 + rest * narrow)
    kept = (1.0 + rest * narrow) / (1.0 + rest * wide)
    share: float = kept ** (2.0 / (1.0 + precision / first))
    return share


@compiled
def widen(
    mu: Floats,
    sigma: Floats,
    differences: Floats,
    unit: float,
    field_variance: float,
    own: float,
) -> bool:
    """Widen the belief of one state, in place.

    Args:
        mu: shape (M + 1,), means, player 0 first.
        sigma: shape (M + 1,), standard deviations.
        differences: shape (M,), those of s_0 - s_k.
        unit: 2 beta^2.
        field_variance: what the skills of the field vary by.
        own: how much of what an opponent's variance gains player 0's gains.

    Returns:
        Whether it was widened. It is left alone if an opponent who was never met shows that
        prior means differ, if nobody is left to show anything, and if the prior is wide enough.
    """
    count = differences.size
    slacks, priors = np.empty(count), np.empty(count)
    told, weights, means, variance, strangers = 0.0, 0.0, 0.0, 0.0, 0
    for k in range(count):
        slack = slack_of_deviations(sigma[0], sigma[k + 1], differences[k])
        rest = differences[k] ** 2 - (slack * sigma[0]) ** 2
        if slack <= 0.0 or rest <= 0.0:
            return False
        if slack > NEVER_MET:
            slack, strangers = 1.0, strangers + 1
        slacks[k], priors[k] = slack, rest / slack
        told += (1.0 - slack) / priors[k]
        weights += 1.0 / priors[k]
        means += mu[k + 1] / priors[k]
        variance += priors[k] / count
    own_precision = 1.0 / sigma[0] ** 2 - told
    more = field_variance - variance
    if strangers == 0 or more <= 0.0 or own_precision <= 0.0:
        return False
    mean = (own_precision * mu[0] + means) / (own_precision + weights)
    for k in range(count):
        if slacks[k] == 1.0 and abs(mu[k + 1] - mean) > EQUAL * math.sqrt(unit):
            return False
    precision = 1.0 / (1.0 / own_precision + own * more)
    moved = 0.0
    for k in range(count):
        measured = (1.0 / slacks[k] - 1.0) / priors[k]
        wide = priors[k] + more
        share = kept_precision(measured * unit, priors[k] / unit, wide / unit)
        if slacks[k] < 1.0:
            # y_k; what its precision loses it gains, since precision times y_k is what a game adds.
            gap = mu[0] - mean - (mu[k + 1] - mean) / (1.0 - slacks[k])
            mu[k + 1] = gap / share
        else:
            mu[k + 1] = 0.0
        priors[k] = wide
        slacks[k] = 1.0 / (1.0 + share * measured * wide)
        lent = share * measured * slacks[k]
        precision += lent
        moved += lent * mu[k + 1]
    lead = moved / precision
    mu[0], sigma[0] = mean + lead, math.sqrt(1.0 / precision)
    for k in range(count):
        mu[k + 1] = mean + (1.0 - slacks[k]) * (lead - mu[k + 1])
        sigma[k + 1] = math.sqrt(opponent_variance(sigma[0], slacks[k], priors[k]))
        differences[k] = math.sqrt(difference_variance(sigma[0], slacks[k], priors[k]))
    return True


@compiled
def widen_all(
    mu: Floats,
    sigma: Floats,
    differences: Floats,
    unit: float,
    field_variance: float,
    own: float,
) -> None:
    """``widen`` for every row of a batch."""
    for b in range(mu.shape[0]):
        widen(mu[b], sigma[b], differences[b], unit, field_variance, own)
