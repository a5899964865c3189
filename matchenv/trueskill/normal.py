"""The standard normal and its truncations, accurate in both tails (scalar, compiled).

TrueSkill needs the moments of a standard normal truncated to a half line (a win) or an interval (a
draw), even where the textbook quotient of density and distribution function is 0 / 0. The branches
below handle those cases. All functions take and return float64 scalars, in compiled code and in
Python.

Sources:
    Herbrich, Minka, Graepel (2006), section 3, V and W;
    Laplace's continued fraction for the Mills ratio, Abramowitz and Stegun 26.2.14.
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.runtime.compile import compiled

# exp(x) rounds to 0 below this.
UNDERFLOW = -746.0
# Below this 2^k would be subnormal, so the result is scaled in two steps.
SMALL = -700.0
SMALL_SCALE = 2.0**-128
SMALL_SHIFT = 128 << 52

# Adding this number rounds to an integer, held in the last bits of the sum.
ROUNDER = 1.5 * 2.0**52
EXPONENT_BITS = 52
BITS_OF_ONE = 1023 << 52

# log 2 as a sum; the first term ends in zeros, so that its product with an integer is exact.
LOG2_E = 1.0 / math.log(2.0)
LOG_2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LOG_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")

# Taylor coefficients of exp(r) for abs(r) <= log(2) / 2; the remainder is below 4e-18.
C = tuple(1.0 / math.factorial(n) for n in range(14))

SQRT_HALF = math.sqrt(0.5)
INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

# Beyond this distance v(x) + x loses more than two digits to cancellation, and Laplace's continued
# fraction converges in few terms.
TAIL_START = 4.0
TAIL_TERMS = 40

# Minimax rational approximation of the Mills ratio on [0, TAIL_START), lowest power first, relative
# error 4e-18 (Remez's algorithm in 50 digits). All terms are positive, so that nothing cancels. One
# quotient for the whole interval lets the compiler vectorise loops.
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

# Gauss-Legendre nodes and weights on [0, 1], for narrow draws.
LEGENDRE_NODES, LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(10)
NODES = 0.5 * LEGENDRE_NODES + 0.5
WEIGHTS = 0.5 * LEGENDRE_WEIGHTS


@compiled(inline=True)
def exponential(x: float) -> float:
    """Return exp(x) within 1 unit in the last place, for x <= 709 (not checked); NaN for NaN.

    It has no calls or branches, so the compiler vectorises loops that contain it (1.5 instead of
    5 ns per number), and results are bit-equal on every machine and for every array length.
    """
    x = UNDERFLOW if x < UNDERFLOW else x
    rounded = x * LOG2_E + ROUNDER
    whole = rounded - ROUNDER
    r = (x - whole * LOG_2_HIGH) - whole * LOG_2_LOW
    # Estrin's scheme shortens the chain of dependent operations.
    square = r * r
    fourth = square * square
    low = (C[2] + C[3] * r) + (C[4] + C[5] * r) * square
    middle = (C[6] + C[7] * r) + (C[8] + C[9] * r) * square
    high = (C[10] + C[11] * r) + (C[12] + C[13] * r) * square
    tail = low + middle * fourth + high * (fourth * fourth)
    small = x < SMALL
    power = (np.float64(rounded).view(np.int64) << EXPONENT_BITS) + BITS_OF_ONE
    power += SMALL_SHIFT if small else 0
    scaled = (1.0 + (r + square * tail)) * np.int64(power).view(np.float64)
    return scaled * (SMALL_SCALE if small else 1.0)


@compiled(inline=True)
def normal_density(x: float) -> float:
    """Return the density of the standard normal at x."""
    return INVERSE_SQRT_2PI * exponential(-0.5 * x * x)


@compiled
def normal_probability(x: float) -> float:
    """Return the probability that a standard normal is at most x, accurate in the lower tail."""
    return 0.5 * math.erfc(-x * SQRT_HALF)


@compiled
def tail_fraction(x: float) -> tuple[float, float]:
    """Return two levels (K, L) of Laplace's continued fraction, for x >= TAIL_START.

    The Mills ratio is R(x) = (1 - Phi(x)) / phi(x) = 1 / (x + K), with K = 1 / (x + L) and
    L = 2 / (x + 3 / (x + ...)). So K equals 1 / R(x) - x without cancellation.
    """
    fraction = x
    for level in range(TAIL_TERMS, 2, -1):
        fraction = x + level / fraction
    second = 2.0 / fraction
    return 1.0 / (x + second), second


@compiled(inline=True)
def near_mills_ratio(x: float) -> tuple[float, float]:
    """Return numerator and denominator of the Mills ratio, for 0 <= x < TAIL_START."""
    square = x * x  # Estrin's scheme, as in ``exponential``
    fourth = square * square
    above = (P[0] + P[1] * x) + (P[2] + P[3] * x) * square
    above += ((P[4] + P[5] * x) + (P[6] + P[7] * x) * square) * fourth
    below = (Q[0] + Q[1] * x) + (Q[2] + Q[3] * x) * square
    below += ((Q[4] + Q[5] * x) + (Q[6] + Q[7] * x) * square + Q[8] * fourth) * fourth
    return above, below


@compiled
def tail_integrals(x: float) -> tuple[float, float, float]:
    """Return the integrals of u^n exp(-x u - u^2 / 2) over u > 0 for n = 0, 1, 2 and x >= 0.

    They are the moments of a standard normal beyond x, divided by its density at x. The first is
    the Mills ratio.
    """
    if x >= TAIL_START:
        first, second = tail_fraction(x)
        mills = 1.0 / (x + first)
        return mills, mills * first, mills * first * second
    above, below = near_mills_ratio(x)
    mills = above / below
    linear = 1.0 - x * mills
    return mills, linear, mills - x * linear


@compiled
def log_normal_probability(x: float) -> float:
    """Return the logarithm of ``normal_probability``, finite wherever -x^2 / 2 is."""
    if x > 0.0:
        return math.log1p(-normal_probability(-x))
    if x > -TAIL_START:
        return math.log(normal_probability(x))
    first, _ = tail_fraction(-x)
    return -0.5 * x * x - LOG_SQRT_2PI - math.log(first - x)


@compiled
def win_moments(x: float) -> tuple[float, float, float]:
    """Return V and W of TrueSkill for a win, I(. > epsilon), at x = t - epsilon.

    A standard normal truncated to values above -x has mean v and variance 1 - w.

    Args:
        x: standardised lead of the winner, (gap - draw_margin) / c.

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
    """Return ``win_moments`` for |x| < TAIL_START from parts that x and -x share.

    Args:
        x: standardised lead of the winner.
        density: ``normal_density`` of x.
        above: numerator of ``near_mills_ratio`` of |x|.
        below: its denominator.
    """
    # The sign of x is hard to predict, so this selects operands of one division and never branches.
    v = (below if x < 0.0 else density * below) / (above if x < 0.0 else below - density * above)
    w = v * (v + x)
    return v, w, 1.0 - w


@compiled
def draw_moments(t: float, e: float) -> tuple[float, float, float, float]:
    """Return V and W of TrueSkill for a draw, I(|.| <= epsilon), and its log probability.

    A standard normal truncated to [-e - t, e - t] has mean v and variance 1 - w. The paper prints
    both functions with the indicator's inequality reversed.

    Args:
        t: standardised difference of the two sides, gap / c.
        e: standardised draw margin, draw_margin / c > 0.

    Returns:
        ``(v, w, 1 - w, log probability)``, each to full relative precision; v is odd in t.
    """
    sign = 1.0
    if t > 0.0:
        sign = -1.0
    t = abs(t)
    low = t - e
    high = t + e
    if low <= 0.0 and e >= 1.0:  # most of the mass lies inside
        missing = normal_probability(low) + normal_probability(-high)
        mass = 1.0 - missing
        near = normal_density(low)
        far = normal_density(high)
        mean = -near * math.expm1(-2.0 * t * e) / mass
        w = mean * mean + (high * far - low * near) / mass
        return sign * mean, w, 1.0 - w, math.log1p(-missing)
    if t * e <= 1.0:
        # Narrow: a difference of two distribution functions would cancel, so integrate
        # cosh(t u) exp(-u^2 / 2) and its moments over 0 < u < e, where all terms are positive.
        mass = 0.0
        linear = 0.0
        square = 0.0
        for k in range(NODES.size):
            u = e * NODES[k]
            weight = WEIGHTS[k] * math.exp(-0.5 * u * u)
            even = weight * math.cosh(t * u)
            mass += even
            linear += weight * math.sinh(t * u) * u
            square += even * u * u
        mean = linear / mass
        complement = square / mass - mean * mean
        logarithm = math.log(2.0 * e * mass) - 0.5 * t * t - LOG_SQRT_2PI
        return sign * (t - mean), 1.0 - complement, complement, logarithm
    # In one tail: moments beyond the near end minus those beyond the far end. The factor
    # exp(-2 t e) <= 0.14 of the latter limits cancellation.
    damp = math.exp(-2.0 * t * e)
    width = 2.0 * e
    mass, mean, square = tail_integrals(low)
    if damp > 0.0:
        far_0, far_1, far_2 = tail_integrals(high)
        mass -= damp * far_0
        mean -= damp * (far_1 + width * far_0)
        square -= damp * (far_2 + width * (2.0 * far_1 + width * far_0))
    mean /= mass
    complement = square / mass - mean * mean
    logarithm = math.log(mass) - 0.5 * low * low - LOG_SQRT_2PI
    return sign * (low + mean), 1.0 - complement, complement, logarithm
