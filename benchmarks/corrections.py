"""The corrections V and W of the 2006 paper (its Figure 2), as curves and beside a normal table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from matchenv.evaluation.tables import Column, text_table
from matchenv.runtime.checks import as_positive_array
from matchenv.runtime.files import write_bytes
from matchenv.trueskill.normal import (
    draw_moments,
    normal_density,
    normal_probability,
    win_moments,
)

Floats = NDArray[np.float64]

MARGINS = (0.5, 1.0, 4.0)
# The gaps of the table, in standard deviations of the difference of performances.
ROWS = (-4.0, -3.0, -2.33, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
# The gaps of the figure.
FARTHEST = 6.0
POINTS = 601


def corrections_text(margins: Sequence[float] = MARGINS) -> str:
    """A table for each margin: density, distribution and corrections of a win and a draw.

    Args:
        margins: standardised draw margins, > 0.

    Raises:
        ValueError: for a margin that is not.
    """
    lines: list[str] = []
    for margin in checked_margins(margins):
        rows = [corrections_at(t, margin) for t in ROWS]
        columns = [Column("t", lambda row: f"{row[0]:.2f}"), *(
            Column(name, _cell(place))
            for place, name in enumerate(
                ("pdf(t)", "cdf(t)", "V win", "W win", "V draw", "W draw"), start=1
            )
        )]  # fmt: skip
        lines += ["", f"draw margin {margin:g}", *text_table(columns, rows)]
    return "\n".join(lines[1:])


def corrections_at(t: float, margin: float) -> tuple[float, ...]:
    """The row of a table: t, density and distribution at t, V and W of a win, V and W of a draw."""
    return (
        t,
        normal_density(t),
        normal_probability(t),
        *win_moments(t - margin)[:2],
        *draw_moments(t, margin)[:2],
    )


def checked_margins(margins: Sequence[float]) -> list[float]:
    """The margins, at least one and all above 0.

    Raises:
        ValueError: if not.
    """
    found: list[float] = as_positive_array("margins", list(margins)).tolist()
    if not found:
        raise ValueError("margins must hold at least one, got none")
    return found


def draw_corrections(out: Path, margins: Sequence[float] = MARGINS) -> None:
    """Draw V and W over the gap of performances, for a win and for a draw.

    Args:
        out: file, .png, .svg or .pdf.
        margins: standardised draw margins, > 0.

    Raises:
        ValueError: for an unknown kind of file, or a bad margin.
        OSError: if it cannot be written.

    Source: Herbrich, Minka, Graepel (2006), Figure 2.
    """
    from matchenv.benchmarks.figures import (  # slow to load
        LINES,
        figure_bytes,
        kind_of_picture,
        new_figure,
        style,
    )

    kind = kind_of_picture("out", out)
    gaps = np.linspace(-FARTHEST, FARTHEST, POINTS)
    outcomes: dict[str, Callable[[float, float], tuple[float, ...]]] = {
        "win": lambda t, margin: win_moments(t - margin)[:2],
        "draw": lambda t, margin: draw_moments(t, margin)[:2],
    }
    with style("corrections", 9.0):
        figure, axes = new_figure(2, 2, (7.2, 5.4))
        for column, (outcome, correction) in enumerate(outcomes.items()):
            for place, margin in enumerate(checked_margins(margins)):
                colour, line, _ = LINES[place % len(LINES)]
                points = [correction(t, margin) for t in gaps.tolist()]
                for row, values in enumerate(np.transpose(points)):
                    axes[row, column].plot(
                        gaps, values, color=colour, linestyle=line, label=f"margin {margin:g}"
                    )
            axes[0, column].set(title=f"after a {outcome}", ylabel="V, for the mean")
            axes[1, column].set(xlabel="t, gap of the means", ylabel="W, for the variance")
            axes[0, column].legend()
        content = figure_bytes(figure, kind, 150)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(out, content)


def _cell(place: int) -> Callable[[tuple[float, ...]], str]:
    return lambda row: f"{row[place]:.5f}"
