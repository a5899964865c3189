"""Figures as files: equal bytes for equal results, whatever style the user has set."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# Without what differs from one run to the next.
METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}}

# Colours that differ in brightness too, so that a print in grey can be read.
LINES: tuple[tuple[str, Any, str], ...] = (
    ("#0b3c6f", "-", "o"),
    ("#e69500", "--", "s"),
    ("#3f9e6a", "-.", "^"),
    ("#b0306a", ":", "D"),
    ("#7a7a7a", (0, (5, 1)), "v"),
    ("#111111", (0, (1, 1)), "x"),
)


@contextmanager
def style(name: str, font_size: float) -> Iterator[None]:
    """For the time of a block, Matplotlib draws in a way that depends on nothing else.

    Args:
        name: of the kind of figures, from which the ids in an SVG come.
        font_size: in points.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        parameters: Any = mpl.rcParams
        # Text of an SVG stays text.
        parameters.update({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": font_size})
        yield


def new_figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    """A figure and its axes, an array of shape (rows, columns); the size is in inches."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def files_of(name: str, figure: Figure, dots: int) -> Iterator[tuple[str, bytes]]:
    """A figure as PNG, with so many dots an inch, and as SVG: file names and bytes."""
    for kind, metadata in METADATA.items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=dots, metadata=metadata)
        yield f"{name}.{kind}", buffer.getvalue()
