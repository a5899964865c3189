"""Scenes: what pictures show, as data; no pygame is needed.

Colours are names in ``matchenv.rendering.canvas.THEMES``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from matchenv.runtime.arrays import Floats, Integers, Masks

Limits = tuple[float, float]
Style = Literal["line", "thin", "area", "dots", "cells"]

# Standard deviations of each belief that fit on the skill axis.
AXIS_DEVIATIONS = 2.5

# The skill axis grows by this share of its first width, so it seldom moves.
AXIS_STEP = 0.125

# Least width of a skill axis, also relative to its largest limit.
LEAST_SPAN = 1e-6

# Outline of a belief: standard deviations from the mean, and heights.
OUTLINE = np.linspace(-3.5, 3.5, 71)
BELL = 0.97 * np.exp(-0.5 * OUTLINE**2)

# Standard deviation whose curve is half as high as that of a known skill, as a share of the axis.
TYPICAL_SIGMA = 0.1

# Least standard deviation drawn, as a share of the axis: narrower curves fall between pixels.
LEAST_SIGMA = 1.0 / 1600.0

# Colours of highlighted players, the most important first.
HIGHLIGHTS = ("player", "opponent")

# Others with curves of their own: of more players one band shows the sum, of more chosen players
# every second, third, ... is drawn.
MOST_OTHERS = 24
MOST_CHOSEN = 100

# Opacity of areas: of a highlighted player, of another player, and of the band.
HIGHLIGHTED_AREA = 0.3
OTHERS_AREA = 0.13
BAND_AREA = 0.35

# Height of the band, its points over the skill axis, and the least deviation in it as a share of
# the axis: narrower beliefs would fall between the points.
BAND_HEIGHT = 0.45
BAND_POINTS = 241
BAND_SIGMA = 0.005

# Strength of the outlines of others, online and offline, and the least one of chosen players.
ONLINE_STRENGTH = 0.6
OFFLINE_STRENGTH = 0.25
CHOSEN_STRENGTH = 0.3

# Strength of the marks of others' true skills: falls with the number of players, within limits.
MARKS_AT_FULL_STRENGTH = 90.0
LEAST_MARK_STRENGTH = 0.25
MOST_MARK_STRENGTH = 0.9

# Significant digits of numbers that fixed digits after the point do not suit.
SIGNIFICANT_DIGITS = 3


class Players(NamedTuple):
    """Beliefs about n players, and their true skills if pictures show them."""

    mu: Floats  # shape (n,)
    sigma: Floats  # shape (n,)
    true_skill: Floats | None  # shape (n,)


class Curve(NamedTuple):
    """Points of a chart, and their style."""

    x: Floats  # shape (n,)
    y: Floats  # shape (n,)
    colour: str
    style: Style = "line"
    strength: float = 1.0  # opacity of an area; share of the colour for other styles
    shades: Floats | None = None  # shape (n,): of "cells", from 0, "uneven", to 1, the colour


class Marks(NamedTuple):
    """True skills, marked below a skill axis."""

    values: Floats  # shape (n,)
    colour: str
    strength: float  # 1 for highlighted players


@dataclass(frozen=True)
class Chart:
    """Curves over the skill axis, or over the units of an episode."""

    x: Limits  # limits of the horizontal axis
    y: Limits  # limits of the vertical axis
    curves: Sequence[Curve]  # the last one on top
    titles: Sequence[tuple[str, str]] = ()  # texts in a row above, each with its colour
    unit: str = ""  # singular unit of the horizontal axis; "" for a skill axis without y ticks
    marks: Sequence[Marks] = ()
    y_ticks: Sequence[tuple[float, str]] = ()  # replace the ticks of the vertical axis
    heading: str = ""  # line above the titles


class Scene(NamedTuple):
    """Content of one picture."""

    highlighted: Sequence[str]  # names of the highlighted players, in the order of ``HIGHLIGHTS``
    others: str  # name of the other players
    beliefs: Chart  # chart over the skill axis
    tiles: Sequence[tuple[str, str]]  # labels and texts of large numbers
    charts: tuple[Chart, Chart]  # left and right chart at the bottom
    title: str = ""
    progress: str = ""  # text beside the title
    beliefs_share: float = 0.6  # of the height of all charts
    left_share: float = 0.5  # width of the left chart, by the width of both


def belief_chart(
    players: Players,
    highlighted: Sequence[int],
    limits: Limits,
    online: Masks | None = None,
    games: Integers | None = None,
) -> Chart:
    """Return the chart of beliefs as bell curves, with marks at the true skills.

    The narrower a belief, the higher its curve, but not to scale: one known skill would flatten all
    other densities. One band shows the sum of many other players' densities.

    Args:
        players: beliefs, and true skills or None.
        highlighted: indices of the highlighted players, the most important first.
        limits: limits of the skill axis.
        online: shape (n,); players who are not online are pale. None for all online.
        games: how often each player was chosen, shape (n,): the outlines of chosen players have
            the colour of the chosen one, stronger with more games. None for no choices.
    """
    count = players.mu.size
    if online is None:
        online = np.ones(count, dtype=np.bool_)
    is_other = np.ones(count, dtype=np.bool_)
    is_other[list(highlighted)] = False
    here = np.flatnonzero(is_other & online)
    away = np.flatnonzero(is_other & ~online)
    if games is None:
        games = np.zeros(count, dtype=np.int64)
    chosen = np.flatnonzero(is_other & (games > 0))
    never_chosen = here[games[here] == 0]

    curves = []
    if max(never_chosen.size, away.size) > MOST_OTHERS:
        curves += _band(players, away, limits, OFFLINE_STRENGTH)
        curves += _band(players, never_chosen, limits, ONLINE_STRENGTH)
    else:
        curves += _bells(players, away, limits, "others", "thin", OFFLINE_STRENGTH)
        curves += _bells(players, never_chosen, limits, "others", "area", OTHERS_AREA)
        curves += _bells(players, never_chosen, limits, "others", "thin", ONLINE_STRENGTH)
    most = max(1, int(games.max(initial=1)))
    for k in chosen[:: max(1, math.ceil(chosen.size / MOST_CHOSEN))]:
        strength = CHOSEN_STRENGTH + (1.0 - CHOSEN_STRENGTH) * math.sqrt(games[k] / most)
        curves += _bells(players, [k], limits, HIGHLIGHTS[1], "thin", strength)
    coloured = list(zip(highlighted, HIGHLIGHTS, strict=False))
    coloured.reverse()  # the most important player is drawn last
    for player, colour in coloured:
        curves += _bells(players, [player], limits, colour, "area", HIGHLIGHTED_AREA)
        curves += _bells(players, [player], limits, colour, "line", 1.0)

    marks: list[Marks] = []
    if players.true_skill is not None:
        strength = MARKS_AT_FULL_STRENGTH / max(1, count)
        strength = min(MOST_MARK_STRENGTH, max(LEAST_MARK_STRENGTH, strength))
        marks.append(Marks(players.true_skill[here], "others", strength))
        marks.append(Marks(players.true_skill[away], "others", OFFLINE_STRENGTH * strength))
        for player, colour in coloured:
            marks.append(Marks(players.true_skill[[player]], colour, 1.0))
    return Chart(limits, (0.0, 1.0), curves, marks=marks)


def _bells(
    players: Players,
    indices: Integers | Sequence[int],
    limits: Limits,
    colour: str,
    style: Style,
    strength: float,
) -> list[Curve]:
    """Return the bell curves of the players with ``indices``."""
    span = limits[1] - limits[0]
    typical = TYPICAL_SIGMA * span
    curves = []
    for k in indices:
        sigma = max(players.sigma[k], LEAST_SIGMA * span)
        height = typical / (typical + sigma)
        curves.append(
            Curve(players.mu[k] + sigma * OUTLINE, height * BELL, colour, style, strength)
        )
    return curves


def _band(players: Players, indices: Integers, limits: Limits, strength: float) -> list[Curve]:
    """Return area and outline of the sum of the densities of the players with ``indices``."""
    if indices.size == 0:
        return []
    low, high = limits
    x = np.linspace(low, high, BAND_POINTS)
    sigma = np.maximum(players.sigma[indices], BAND_SIGMA * (high - low))
    distance = (x[:, np.newaxis] - players.mu[indices]) / sigma
    density = (np.exp(-0.5 * distance**2) / sigma).sum(axis=1)
    y = BAND_HEIGHT * density / density.max()
    corners_x = np.concatenate(([low], x, [high]))
    corners_y = np.concatenate(([0.0], y, [0.0]))
    return [
        Curve(corners_x, corners_y, "others", "area", strength * BAND_AREA / ONLINE_STRENGTH),
        Curve(x, y, "others", "thin", strength),
    ]


def over_time(values: Floats, colour: str, style: Style = "line", strength: float = 1.0) -> Curve:
    """Return the curve of a value after each unit so far."""
    return Curve(np.arange(1.0, values.size + 1.0), values, colour, style, strength)


def horizontal_line(y: float, ends: Limits, colour: str) -> Curve:
    """Return a thin horizontal line."""
    return Curve(np.array(ends), np.full(2, y), colour, "thin")


def number_text(value: float, places: int | None) -> str:
    """Format a number with a true minus sign and commas between thousands.

    Args:
        value: the number.
        places: digits after the decimal point, but significant digits where those would round to
            0; None for three significant digits.
    """
    digits = places or SIGNIFICANT_DIGITS
    form = f"z.{digits}g"
    if places is not None and (value == 0.0 or abs(value) > 0.5 * 10.0**-places):
        form = f"z,.{places}f"
    return format(value, form).replace("-", "−")


def skill_limits(players: Players) -> Limits:
    """Return limits of a skill axis that contain all beliefs and true skills."""
    reach = AXIS_DEVIATIONS * players.sigma
    values = np.concatenate((players.mu - reach, players.mu + reach))
    if players.true_skill is not None:
        values = np.concatenate((values, players.true_skill))
    low = float(values.min())
    high = float(values.max())
    least = LEAST_SPAN * max(1.0, abs(low), abs(high))
    if high - low < least:  # equal values need an axis too
        low -= least
        high += least
    return low, high


def widened(first: Limits, current: Limits) -> Limits:
    """Return ``first``, extended by whole steps as far as needed to contain ``current``."""
    low, high = first
    step = AXIS_STEP * (high - low)
    low -= step * math.ceil(max(0.0, low - current[0]) / step)
    high += step * math.ceil(max(0.0, current[1] - high) / step)
    return low, high
