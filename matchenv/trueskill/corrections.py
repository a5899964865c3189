"""v and w, the corrections of mean and variance after a win and after a draw, for arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.runtime.checks import as_float_array, as_non_negative_array, as_positive_array
from matchenv.runtime.compile import compiled
from matchenv.trueskill.broadcasting import flattened, shaped
from matchenv.trueskill.normal import draw_moments, win_moments

Floats = NDArray[np.float64]


def win_correction(t: ArrayLike, margin: ArrayLike = 0.0) -> tuple[Any, Any]:
    """v and w of a win: the additive and the multiplicative correction.

    v is the derivative of log Phi(t - margin) with respect to t, and w is minus the
    derivative of v.

    Args:
        t: standardised gap, (mu_winner - mu_loser) / c.
        margin: standardised draw margin, draw_margin / c, >= 0.

    Returns:
        ``(v, w)``, each of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity or a negative margin.

    Source: Herbrich, Minka, Graepel (2006), section 3.
    """
    arguments, shape = flattened(as_float_array("t", t), as_non_negative_array("margin", margin))
    v, w = _win_correction_loop(*arguments)
    return shaped(v, shape), shaped(w, shape)


def draw_correction(t: ArrayLike, margin: ArrayLike) -> tuple[Any, Any]:
    """v and w of a draw; arguments and returns as ``win_correction``, margin > 0.

    v is the derivative of log(Phi(margin - t) - Phi(-margin - t)) with respect to t, and w
    is minus the derivative of v. The paper prints the two functions with the indicator's
    inequality turned round.

    Source: Herbrich, Minka, Graepel (2006), section 3.
    """
    arguments, shape = flattened(as_float_array("t", t), as_positive_array("margin", margin))
    v, w = _draw_correction_loop(*arguments)
    return shaped(v, shape), shaped(w, shape)


@compiled
def _win_correction_loop(t: Floats, margin: Floats) -> tuple[Floats, Floats]:
    v, w = np.empty(t.size), np.empty(t.size)
    for k in range(t.size):
        v[k], w[k], _ = win_moments(t[k] - margin[k])
    return v, w


@compiled
def _draw_correction_loop(t: Floats, margin: Floats) -> tuple[Floats, Floats]:
    v, w = np.empty(t.size), np.empty(t.size)
    for k in range(t.size):
        v[k], w[k], _ = draw_moments(t[k], margin[k])
    return v, w
