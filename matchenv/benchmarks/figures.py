"""Figures as files, whose bytes do not depend on the user's Matplotlib settings."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# Leaves out metadata that differ from run to run.
METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}}

# Colour, line style and marker. The contrast on white is 3 : 1 at least, and colours differ in
# brightness, for prints in grey.
LINES: tuple[tuple[str, Any, str], ...] = (
    ("#0b3c6f", "-", "o"),
    ("#b87a00", "--", "s"),
    ("#3f9e6a", "-.", "^"),
    ("#b0306a", ":", "D"),
    ("#7a7a7a", (0, (5, 1)), "v"),
    ("#111111", (0, (1, 1)), "x"),
)


@contextmanager
def style(name: str, font_size: float) -> Iterator[None]:
    """Set Matplotlib's parameters within a block, independent of the user's.

    ``name`` salts the ids in an SVG; ``font_size`` is in points.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        parameters: Any = mpl.rcParams
        # SVG files contain text, not outlines.
        parameters.update({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": font_size})
        yield


def new_figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    """Return a figure and its axes of shape (rows, columns); the size is in inches."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def files_of(name: str, figure: Figure, dots: int) -> Iterator[tuple[str, bytes]]:
    """Yield a figure as PNG, with ``dots`` per inch, and as SVG: file name and content."""
    for kind, metadata in METADATA.items():
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            # Names in scripts that Matplotlib's font lacks are boxes in PNG, and correct in SVG.
            warnings.filterwarnings("ignore", "Glyph .* missing from")
            figure.savefig(buffer, format=kind, dpi=dots, metadata=metadata)
        yield f"{name}.{kind}", buffer.getvalue()
