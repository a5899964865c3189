"""Axes: where a number lies in pixels, which numbers are written, and how."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """A line of numbers from ``low`` to ``high`` over ``length`` pixels."""

    low: float
    high: float
    length: float

    def at(self, value: Floats | float) -> Floats:
        """Pixels from the axis' start to ``value``."""
        share = (np.asarray(value, dtype=np.float64) - self.low) / (self.high - self.low)
        return share * self.length

    def value(self, pixels: Floats) -> Floats:
        """The number at so many pixels from the axis' start."""
        return self.low + pixels / self.length * (self.high - self.low)


def tick_step(span: float, most: int) -> float:
    """The least step of 1, 2 or 5 times a power of ten with at most ``most`` steps in ``span``."""
    least = span / max(1, most)
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * (1.0 - 1e-9))


def ticks(low: float, high: float, step: float) -> list[float]:
    """The multiples of ``step`` from ``low`` to ``high``."""
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def tick_text(value: float, step: float) -> str:
    """A tick's number with as many places as its step needs."""
    if step >= 1e6 or step < 1e-4:
        return number_text(value, None)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return number_text(value, places)


def number_text(value: float, places: int | None) -> str:
    """A number as people write it: a true minus sign, commas between thousands.

    Args:
        value: the number.
        places: digits after the point; None for three digits that count.
    """
    written = f"{value:.3g}" if places is None else f"{value:,.{places}f}"
    if float(written.replace(",", "")) == 0.0:
        written = written.lstrip("-")
    return written.replace("-", "−")
