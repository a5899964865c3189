"""The figures of the page, each made of what a result file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from plotly.colors import hex_to_rgb, qualitative

from matchenv.baselines import KnowledgeGradient, PointEstimate
from matchenv.benchmarks.candidates import HIGH_END, LOW_END
from matchenv.evaluation.estimates import Estimate

Floats = NDArray[np.float64]

# Colours that can be told apart on white and on black.
COLOURS: Sequence[str] = qualitative.D3
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
DASHES = ("solid", "dash", "dot", "dashdot")

# These have the same colour on every page.
KNOWN = (PointEstimate.name, LOW_END, KnowledgeGradient.name, "bound", "random", HIGH_END)

# So far from the others that they would flatten the figure; a click in the legend shows them.
HIDDEN_AT_FIRST = ("random", HIGH_END)


class Palette:
    """A colour and a symbol for each name, the same in all figures of a page.

    Args:
        names: those that are known beforehand; others follow in the order in which they come.
    """

    def __init__(self, names: Sequence[str] = KNOWN) -> None:
        self._places = {name: place for place, name in enumerate(names)}

    def place(self, name: str) -> int:
        """The number of a name."""
        return self._places.setdefault(name, len(self._places))

    def colour(self, name: str) -> str:
        """The colour of a name."""
        return COLOURS[self.place(name) % len(COLOURS)]

    def dash(self, name: str) -> str:
        """The kind of line, another one where colours begin again."""
        return DASHES[self.place(name) // len(COLOURS) % len(DASHES)]

    def symbol(self, name: str) -> str:
        """The symbol of a name."""
        return SYMBOLS[self.place(name) % len(SYMBOLS)]


def new_figure(x: str, y: str, **layout: Any) -> go.Figure:
    """An empty figure with names of its axes; the page gives it its colours."""
    figure = go.Figure()
    figure.update_layout(
        template="none",
        xaxis={"title": {"text": x}, "automargin": True, "zeroline": False},
        yaxis={"title": {"text": y}, "automargin": True, "zeroline": False},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0.0},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        **layout,
    )
    return figure


def add_points(
    figure: go.Figure,
    palette: Palette,
    name: str,
    x: Sequence[str],
    estimates: Sequence[Estimate],
    *,
    hidden: bool = False,
) -> None:
    """Points with their intervals, one for each category."""
    means = [each.mean for each in estimates]
    figure.add_scatter(
        name=name,
        x=list(x),
        y=means,
        mode="markers",
        marker={"color": palette.colour(name), "symbol": palette.symbol(name), "size": 9},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [each.high - each.mean for each in estimates],
            "arrayminus": [each.mean - each.low for each in estimates],
            "thickness": 1.5,
        },
        customdata=[[each.low, each.high] for each in estimates],
        hovertemplate="%{x}<br>%{y:.3f} [%{customdata[0]:.3f}, %{customdata[1]:.3f}]",
        visible="legendonly" if hidden else True,
    )


def axis_text(title: str) -> str:
    """The title of a cell in several short lines."""
    return title.replace(", ", ",<br>")


def spread_points(figure: go.Figure) -> None:
    """Set points of one category side by side, so that their intervals can be seen."""
    figure.update_layout(scattermode="group", scattergap=0.4)


def add_line(
    figure: go.Figure,
    palette: Palette,
    name: str,
    x: ArrayLike,
    y: ArrayLike,
    band: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    visible: bool = True,
    dash: str | None = None,
    label: str | None = None,
    markers: bool = False,
) -> None:
    """A curve, with a band around it that goes where the curve goes.

    Args:
        figure: what to draw in.
        palette: whose colour of ``name`` it gets.
        name: what it is of.
        x: shape (n,).
        y: shape (n,).
        band: lower and upper ends, each of shape (n,).
        visible: whether it is there at first.
        dash: kind of line; None for the palette's.
        label: its name in the legend, where that is another.
        markers: with its points.
    """
    colour = palette.colour(name)
    along = np.asarray(x, dtype=float)
    if band is not None:
        low, high = (np.asarray(each, dtype=float) for each in band)
        red, green, blue = hex_to_rgb(colour)
        figure.add_scatter(
            x=np.concatenate((along, along[::-1])), y=np.concatenate((high, low[::-1])),
            fill="toself", fillcolor=f"rgba({red},{green},{blue},0.18)", line={"width": 0},
            mode="lines", hoverinfo="skip", showlegend=False, legendgroup=name, visible=visible,
        )  # fmt: skip
    figure.add_scatter(
        name=label or name, x=along, y=np.asarray(y, dtype=float),
        mode="lines+markers" if markers else "lines",
        line={"color": colour, "dash": dash or palette.dash(name), "width": 2}, legendgroup=name,
        hovertemplate="%{y:.4f}", visible=visible,
    )  # fmt: skip


def add_level(figure: go.Figure, value: float, label: str = "", axis: str = "y") -> None:
    """A line across the figure, with its name at the end."""
    draw = figure.add_hline if axis == "y" else figure.add_vline
    draw(value, line={"color": "#888888", "width": 1, "dash": "dot"}, annotation_text=label,
         annotation_position="top right")  # fmt: skip


def add_choice(figure: go.Figure, shown: Mapping[str, Sequence[bool]]) -> None:
    """A menu that shows some of the curves at a time.

    Args:
        figure: with all curves.
        shown: for each entry of the menu, which curves it shows.
    """
    buttons = [
        {"label": label, "method": "restyle", "args": [{"visible": list(which)}]}
        for label, which in shown.items()
    ]
    figure.update_layout(
        updatemenus=[
            {"buttons": buttons, "x": 0.0, "xanchor": "left", "y": 1.12, "yanchor": "bottom"}
        ]
    )
