"""The Mills ratio and the moments of a win against mpmath, where quotients and tails meet too."""

from __future__ import annotations

import mpmath
import numpy as np

from matchenv.trueskill.normal import TAIL_START, mills_ratio, win_moments


def true_ratio(x: float) -> mpmath.mpf:
    """(1 - Phi(x)) / phi(x)."""
    number = mpmath.mpf(float(x))
    return (
        mpmath.sqrt(mpmath.pi / 2)
        * mpmath.exp(number**2 / 2)
        * mpmath.erfc(number / mpmath.sqrt(2))
    )


def test_mills_ratio_keeps_its_digits() -> None:
    x = np.random.default_rng(1).uniform(0.0, TAIL_START, 3000)
    ends = [0.0, 1e-300, np.nextafter(TAIL_START, 0.0), TAIL_START, 10.0, 1e6]
    with mpmath.workprec(160):
        for number in [*x.tolist(), *ends]:
            error = mills_ratio(number) / true_ratio(number) - 1
            assert abs(error) < 8e-16, number


def test_moments_of_a_win_keep_their_digits() -> None:
    """What the processor does by selection is right for either side who may have won."""
    with mpmath.workprec(160):
        for number in np.random.default_rng(2).uniform(-6.0, 6.0, 2000).tolist():
            # v = phi(x) / Phi(x), and Phi(x) is the upper tail at -x.
            v = 1 / true_ratio(-number)
            w = v * (v + number)
            found_v, found_w, found_rest = win_moments(number)
            # The density has the rounding of x^2 / 2. Where the tail begins v + x is v / 17, and
            # 1 - w is w / 19: an error of v is as many times as large in w and 1 - w.
            assert abs(found_v / v - 1) < 5e-15, number
            assert abs(found_w / w - 1) < 17 * 8e-16 + 5e-15, number
            assert abs(found_rest / (1 - w) - 1) < 17 * 19 * 8e-16 + 5e-15, number
