"""Charts of reports, by Plotly."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike
from plotly.colors import hex_to_rgb

from matchenv.baselines import KnowledgeGradient, PointEstimate
from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.protocols import HIGH_END, LOW_END

# Okabe and Ito (2008), as far as the contrast is 3 : 1 on white and on dark pages; ochre and violet
# replace orange and sky blue.
COLOURS = ("#0072b2", "#b87a00", "#009e73", "#d55e00", "#cc79a7", "#8e6bbf")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")
GREY = "#888888"
# Look of horizontal and vertical lines at one value.
LEVEL: dict[str, Any] = {
    "line": {"color": GREY, "width": 1, "dash": "dot"},
    "annotation_position": "top right",
}
# ``meta`` of traces that keep their own look.
REFERENCE = "reference"
# Heights in pixels: of a figure at least, of a point, and of axis and legend.
LEAST_HEIGHT, POINT, AROUND = 420, 16, 120
# Names with the same colour on every page.
KNOWN = (PointEstimate.name, LOW_END, KnowledgeGradient.name)
# Hidden until a click in the legend: they are so far away that they would flatten the figure.
HIDDEN_AT_FIRST = ("random", HIGH_END)


class Curve(NamedTuple):
    """A curve of n points, optionally with a band."""

    name: str  # in the legend; equal names have equal colours on a page
    x: ArrayLike  # shape (n,)
    y: ArrayLike  # shape (n,)
    low: ArrayLike | None = None  # lower limits of the band, shape (n,)
    high: ArrayLike | None = None  # upper limits


class NamedValue(NamedTuple):
    """A value of one name in one category, usually of a policy in a cell."""

    name: str
    category: str
    value: Any  # an estimate in charts, an estimate or a text in tables


def new_figure(
    x: str, y: str, curves: Iterable[Curve] = (), mode: str = "lines", **layout: Any
) -> go.Figure:
    """Return a figure of curves; ``paint`` sets their colours.

    Args:
        x: title of the horizontal axis.
        y: title of the vertical axis.
        curves: the curves.
        mode: Plotly's mode of the curves.
        layout: further attributes of Plotly's layout.
    """
    axis = {"automargin": True, "zeroline": False}
    figure = go.Figure().update_layout(
        template="none",
        xaxis={"title": {"text": _as_html(x)}, **axis},
        yaxis={"title": {"text": _as_html(y)}, **axis},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0.0},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        showlegend=True,  # by default Plotly hides the legend of a single curve
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": GREY},
        **layout,
    )
    for curve in curves:
        add_curve(figure, curve, mode=mode)
    return figure


def add_curve(figure: go.Figure, curve: Curve, **attributes: Any) -> None:
    """Add a curve; the legend hides its band together with it.

    ``attributes`` are Plotly's attributes of the curve, for example ``mode``.
    """
    x = np.asarray(curve.x, dtype=float)
    if curve.low is not None and curve.high is not None:
        figure.add_scatter(
            x=np.concatenate((x, x[::-1])),
            y=np.concatenate((curve.high, np.flip(curve.low))),
            fill="toself",
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            legendgroup=curve.name,
            visible=attributes.get("visible", True),
        )
    look = {
        "name": _as_html(curve.name),
        "mode": "lines",
        "line_width": 2,
        "hovertemplate": "%{y:.4f}",
        **attributes,
    }
    if x.size == 1:
        look["mode"] = "markers"  # a line would be invisible
    figure.add_scatter(x=x, y=np.asarray(curve.y, dtype=float), legendgroup=curve.name, **look)


def points(
    title: str, values: Iterable[NamedValue], *, level: tuple[float, str] | None = None
) -> go.Figure:
    """Return a figure of estimates with their intervals, one below the other in each category.

    Args:
        title: title of the horizontal axis.
        values: the estimates.
        level: value and name of a vertical line.
    """
    rows: dict[str, dict[str, Estimate]] = {}
    for name, category, estimate in values:
        row = rows.setdefault(name, {})
        row[_as_html(category).replace(", ", ",<br>")] = estimate
    figure = new_figure(title, "", scattermode="group", scattergap=0.4)
    figure.update_yaxes(autorange="reversed")
    height = AROUND + POINT * sum(map(len, rows.values()))
    if height > LEAST_HEIGHT:
        figure.layout.height = height
    for name, row in rows.items():
        _add_points(figure, name, row)
    if level is not None:
        value, label = level
        figure.add_vline(value, annotation_text=_as_html(label), **LEVEL)
    return figure


def _add_points(figure: go.Figure, name: str, estimates: dict[str, Estimate]) -> None:
    """Add the estimates of one name, by category."""
    mean = np.array([estimate.mean for estimate in estimates.values()])
    low = np.array([estimate.low for estimate in estimates.values()])
    high = np.array([estimate.high for estimate in estimates.values()])
    visible: bool | str = True
    if name in HIDDEN_AT_FIRST:
        visible = "legendonly"
    figure.add_scatter(
        name=_as_html(name),
        x=mean,
        y=list(estimates),
        mode="markers",
        orientation="h",
        marker={"size": 9},
        customdata=np.column_stack((low, high)),
        error_x={"symmetric": False, "array": high - mean, "arrayminus": mean - low},
        hovertemplate="%{y}<br>%{x:.3f} [%{customdata[0]:.3f}, %{customdata[1]:.3f}]",
        visible=visible,
    )


def paint(figures: Iterable[go.Figure]) -> None:
    """Give each name the same colour and symbol in all figures of a page."""
    numbers = {name: number for number, name in enumerate(KNOWN)}
    for figure in figures:
        for trace in figure.data:
            # A heatmap has a scale of colours.
            if trace.type == "heatmap" or trace.meta == REFERENCE:
                continue
            number = numbers.setdefault(trace.legendgroup or trace.name, len(numbers))
            _paint_trace(trace, number)


def _paint_trace(trace: Any, number: int) -> None:
    """Give a trace the look of the name with this number."""
    colour = COLOURS[number % len(COLOURS)]
    dash = trace.line.dash or DASHES[number % len(DASHES)]
    trace.update(line={"color": colour, "dash": dash}, marker={"color": colour})
    if "markers" in trace.mode:
        trace.marker.symbol = SYMBOLS[number % len(SYMBOLS)]
    if trace.fill:
        trace.fillcolor = f"rgba{(*hex_to_rgb(colour), 0.18)}"


def _as_html(name: str) -> str:
    """Escape a name, which Plotly reads as HTML: it would hide a player called "<unknown>"."""
    return escape(name, quote=False)
