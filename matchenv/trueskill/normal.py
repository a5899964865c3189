"""The standard normal and its truncations, exact in both tails (scalar, compiled).

Every function of this file takes and returns float64 scalars and is callable from
compiled code and from Python. TrueSkill needs the moments of a standard normal
``X`` cut to a half line (somebody won) or to an interval (a draw), for arguments where
the textbook quotient of density and distribution function is 0 / 0. The branches below
exist for that reason only; each says where it starts and why.

Sources:
    Herbrich, Minka, Graepel (2006), section 3, V and W;
    Laplace's continued fraction for the Mills ratio, Abramowitz and Stegun 26.2.14.
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.runtime.compile import compiled
from matchenv.trueskill.elementary import exponential

SQRT_HALF = math.sqrt(0.5)
INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

# Beyond this distance v(x) + x loses more than two digits to cancellation, while
# Laplace's continued fraction already has its full precision with few terms.
TAIL_START = 4.0
TAIL_TERMS = 40

# The Mills ratio on [0, TAIL_START) as a quotient of polynomials, lowest power first, with the
# least largest relative error, 4e-18 (Remez's exchange algorithm, 50 digits). All terms are
# positive, so nothing cancels; a loop does several numbers at once, in a quarter of the time of
# polynomials for short pieces.
P = (
    1.2533141373155002465,
    1.4286534057930215969,
    0.81922990416605554757,
    0.28927265515105775639,
    0.066895853624885684172,
    0.01005697042739070387,
    0.00090968754284707881512,
    0.000038368832260753423585,
)
Q = (
    1.0,
    1.937785056023547282,
    1.6997796706378444914,
    0.88410313363133418198,
    0.29927383340792181869,
    0.067803863099015457758,
    0.010095437756895418969,
    0.00090968376686334217781,
    0.00003836890324398713851,
)

# Terms of the series of a narrow draw, and where the recursion of its integrals starts: both leave
# less than 1e-17.
DRAW_TERMS = 10
DRAW_START = 14
INVERSE_ODD = 1.0 / np.arange(1.0, 2.0 * DRAW_START + 4.0, 2.0)
INVERSE_FACTORIALS = np.array([1.0 / math.factorial(n) for n in range(2 * DRAW_TERMS)])


@compiled(inline=True)
def normal_density(x: float) -> float:
    """Density of the standard normal at ``x``."""
    return INVERSE_SQRT_2PI * exponential(-0.5 * x * x)


@compiled
def normal_probability(x: float) -> float:
    """Probability that a standard normal is at most ``x``; keeps its digits for x < 0."""
    return 0.5 * math.erfc(-x * SQRT_HALF)


@compiled
def tail_fraction(x: float) -> tuple[float, float]:
    """Two levels of Laplace's continued fraction for the upper tail, x >= TAIL_START.

    With the Mills ratio R(x) = (1 - Phi(x)) / phi(x) and K = 1 / (x + L),
    L = 2 / (x + 3 / (x + ...)), it holds that R = 1 / (x + K). So K is
    phi / (1 - Phi) - x without any cancellation.

    Returns:
        ``(K, L)``.
    """
    fraction = x
    for level in range(TAIL_TERMS, 2, -1):
        fraction = x + level / fraction
    second = 2.0 / fraction
    return 1.0 / (x + second), second


@compiled
def mills_ratio(x: float) -> float:
    """R(x) = (1 - Phi(x)) / phi(x) for x >= 0."""
    if x >= TAIL_START:
        first, _ = tail_fraction(x)
        return 1.0 / (x + first)
    above, below = near_mills_ratio(x)
    return above / below


@compiled(inline=True)
def near_mills_ratio(x: float) -> tuple[float, float]:
    """``mills_ratio`` for 0 <= x < TAIL_START: what is to be divided by what."""
    # Pairs of terms, then pairs of pairs: one after the other they would wait for each other.
    square = x * x
    fourth = square * square
    above = (P[0] + P[1] * x) + (P[2] + P[3] * x) * square
    above += ((P[4] + P[5] * x) + (P[6] + P[7] * x) * square) * fourth
    below = (Q[0] + Q[1] * x) + (Q[2] + Q[3] * x) * square
    below += ((Q[4] + Q[5] * x) + (Q[6] + Q[7] * x) * square + Q[8] * fourth) * fourth
    return above, below


@compiled
def tail_integrals(x: float) -> tuple[float, float, float]:
    """Integrals of u^n exp(-x u - u^2 / 2) over u > 0, for n = 0, 1, 2.

    They are the first moments beyond ``x`` of a standard normal, divided by its density
    at ``x``; the first one is the Mills ratio.

    Args:
        x: at least 0.

    Returns:
        The integrals for n = 0, 1 and 2.
    """
    if x >= TAIL_START:
        first, second = tail_fraction(x)
        mills = 1.0 / (x + first)
        return mills, mills * first, mills * first * second
    mills = mills_ratio(x)
    linear = 1.0 - x * mills
    return mills, linear, mills - x * linear


@compiled
def log_normal_probability(x: float) -> float:
    """Natural logarithm of ``normal_probability(x)``, finite wherever -x^2 / 2 is."""
    if x > 0.0:
        return math.log1p(-normal_probability(-x))
    if x > -TAIL_START:
        return math.log(normal_probability(x))
    first, _ = tail_fraction(-x)
    return -0.5 * x * x - LOG_SQRT_2PI - math.log(first - x)


@compiled
def win_moments(x: float) -> tuple[float, float, float]:
    """V and W of TrueSkill for a win, I(. > epsilon), at ``x = t - epsilon``.

    A standard normal that is known to exceed -x has mean v and variance 1 - w.

    Args:
        x: (gap - draw_margin) / c, the standardised lead of the side that won.

    Returns:
        ``(v, w, 1 - w)``, each to full relative precision.
    """
    if x <= -TAIL_START:
        first, second = tail_fraction(-x)
        v = first - x
        return v, v * first, first * (second - first)
    density = normal_density(x)
    if x >= TAIL_START:
        v = density / normal_probability(x)
        w = v * (v + x)
        return v, w, 1.0 - w
    return win_moments_from(x, density, *near_mills_ratio(abs(x)))


@compiled(inline=True)
def win_moments_from(
    x: float, density: float, above: float, below: float
) -> tuple[float, float, float]:
    """``win_moments`` for |x| < TAIL_START, where the two sides of a game can share the work.

    Args:
        x: as there.
        density: of a standard normal at x, the same at -x.
        above: with ``below``, ``near_mills_ratio`` of |x|.
        below: as there.
    """
    # Either side may have won, and a processor would guess a branch wrongly half the time: both
    # quotients are taken by selection, and by one division.
    v = (below if x < 0.0 else density * below) / (above if x < 0.0 else below - density * above)
    w = v * (v + x)
    return v, w, 1.0 - w


@compiled
def _near_draw(t: float, e: float) -> tuple[float, float, float]:
    """Mass over density at t, mean offset and variance for t e <= 1 and e < 1.

    The interval is narrow, so the difference of two distribution functions would cancel. With
    u = e s, the integrals of cosh(t u) exp(-u^2 / 2) and the like are series in (t e)^2 whose
    coefficients are those of s^2k exp(-e^2 s^2 / 2) over [0, 1]. The latter follow, divided by
    exp(-e^2 / 2), from one another downwards by parts: J_k = (1 + e^2 J_{k+1}) / (2 k + 1). Every
    term is positive, so nothing cancels.
    """
    square_e = e * e
    product = t * e
    square = product * product
    coefficient = INVERSE_ODD[DRAW_START]
    for k in range(DRAW_START - 1, DRAW_TERMS - 1, -1):
        coefficient = INVERSE_ODD[k] * (1.0 + square_e * coefficient)
    mass, linear, quadratic = 0.0, 0.0, 0.0
    for k in range(DRAW_TERMS - 1, -1, -1):
        even = INVERSE_FACTORIALS[2 * k]
        linear = linear * square + INVERSE_FACTORIALS[2 * k + 1] * coefficient
        quadratic = quadratic * square + even * coefficient
        coefficient = INVERSE_ODD[k] * (1.0 + square_e * coefficient)
        mass = mass * square + even * coefficient
    offset = e * product * linear / mass
    return (
        2.0 * e * mass * math.exp(-0.5 * square_e),
        -offset,
        square_e * quadratic / mass - offset * offset,
    )


@compiled
def _far_draw(t: float, e: float, low: float) -> tuple[float, float, float]:
    """Mass over density at ``low``, mean above ``low`` and variance; low = t - e > 0, t e > 1.

    The interval lies in one tail: moments beyond its near end less those beyond its far
    end, the latter damped by exp(-2 t e) <= 0.14, so nothing cancels.
    """
    damp = math.exp(-2.0 * t * e)
    width = 2.0 * e
    near_0, near_1, near_2 = tail_integrals(low)
    if damp == 0.0:
        mean = near_1 / near_0
        return near_0, mean, near_2 / near_0 - mean * mean
    far_0, far_1, far_2 = tail_integrals(t + e)
    mass = near_0 - damp * far_0
    mean = (near_1 - damp * (far_1 + width * far_0)) / mass
    square = (near_2 - damp * (far_2 + width * (2.0 * far_1 + width * far_0))) / mass
    return mass, mean, square - mean * mean


@compiled
def _wide_draw(t: float, e: float, low: float) -> tuple[float, float, float, float]:
    """Mass, -v, w and 1 - w for 0 <= t <= e, e >= 1: most of the mass lies inside."""
    high = t + e
    mass = 1.0 - normal_probability(low) - normal_probability(-high)
    density_low = normal_density(low)
    density_high = normal_density(high)
    mean = -density_low * math.expm1(-2.0 * t * e) / mass
    w = mean * mean + (high * density_high - low * density_low) / mass
    return mass, mean, w, 1.0 - w


@compiled
def draw_moments(t: float, e: float) -> tuple[float, float, float]:
    """V and W of TrueSkill for a draw, I(|.| <= epsilon).

    A standard normal that is known to lie between -e - t and e - t has mean v and
    variance 1 - w.

    Args:
        t: gap / c, the standardised difference of the two sides.
        e: draw_margin / c > 0.

    Returns:
        ``(v, w, 1 - w)``; v is odd in t, w is even.
    """
    sign = -1.0 if t > 0.0 else 1.0
    t = abs(t)
    low = t - e
    if low <= 0.0 and e >= 1.0:
        _, mean, w, complement = _wide_draw(t, e, low)
        return sign * mean, w, complement
    if t * e <= 1.0:
        _, mean, complement = _near_draw(t, e)
        return sign * (t + mean), 1.0 - complement, complement
    _, mean, complement = _far_draw(t, e, low)
    return sign * (low + mean), 1.0 - complement, complement


@compiled
def log_draw_probability_at(t: float, e: float) -> float:
    """Logarithm of Phi(e - t) - Phi(-e - t), the probability of a draw."""
    t = abs(t)
    low = t - e
    if low <= 0.0 and e >= 1.0:
        missing = normal_probability(low) + normal_probability(-t - e)
        return math.log1p(-missing)
    if t * e <= 1.0:
        mass, _, _ = _near_draw(t, e)
        return math.log(mass) - 0.5 * t * t - LOG_SQRT_2PI
    mass, _, _ = _far_draw(t, e, low)
    return math.log(mass) - 0.5 * low * low - LOG_SQRT_2PI


@compiled
def draw_probability_at(t: float, e: float) -> float:
    """Phi(e - t) - Phi(-e - t), the probability of a draw, to full relative precision."""
    t = abs(t)
    low = t - e
    if low <= 0.0 and e >= 1.0:
        return 1.0 - normal_probability(low) - normal_probability(-t - e)
    if t * e <= 1.0:
        mass, _, _ = _near_draw(t, e)
        return mass * normal_density(t)
    mass, _, _ = _far_draw(t, e, low)
    return mass * normal_density(low)
