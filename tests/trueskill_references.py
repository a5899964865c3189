"""References in many digits, and numbers of any scale, for tests of TrueSkill."""

import math

import mpmath
import numpy as np

RELATIVE_ERROR = 1e-10
# Below this float64 has fewer digits.
SMALLEST = 1e-290


def digits_for(margin: float = 1.0) -> int:
    """Return the digits lost to cancellation in the textbook formulas, plus 60."""
    return 60 + int(4 * abs(math.log10(margin)))


def win_reference(lead: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return v and w of a win, from the formulas of the 2006 paper."""
    x = mpmath.mpf(lead)
    v = mpmath.npdf(x) / mpmath.ncdf(x)
    return v, v * (v + x)


def draw_reference(gap: float, margin: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return v and w of a draw, from the formulas of the 2006 paper."""
    low = -mpmath.mpf(margin) - gap
    high = mpmath.mpf(margin) - mpmath.mpf(gap)
    if gap < 0:  # mpmath loses digits in the upper tail
        probability = mpmath.ncdf(-low) - mpmath.ncdf(-high)
    else:
        probability = mpmath.ncdf(high) - mpmath.ncdf(low)
    v = (mpmath.npdf(low) - mpmath.npdf(high)) / probability
    return v, v * v + (high * mpmath.npdf(high) - low * mpmath.npdf(low)) / probability


def any_scale(rng: np.random.Generator, power: float = 150.0) -> float:
    """Return a number between 10^-power and 10^power."""
    return float(10.0 ** rng.uniform(-power, power))


def any_gap(rng: np.random.Generator, width: float) -> float:
    """Return a gap of any size, mostly comparable to the width."""
    size = rng.choice([0.0, width, 30.0 * width, any_scale(rng)])
    return float(np.clip(size * rng.normal(), -1e150, 1e150))
