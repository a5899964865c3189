"""``matchenv corrections``: V and W of the 2006 paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matchenv.benchmarks.corrections import MARGINS
from matchenv.commands.options import Command
from matchenv.commands.output import show


@dataclass(frozen=True, kw_only=True)
class Corrections(Command):
    """Show V and W, by which TrueSkill moves means and variances: Figure 2 of the 2006 paper.

    Prints them beside a table of the normal distribution. See docs/mathematics.md.

    Example:
        matchenv corrections --out corrections.png

    Attributes:
        out: file of the curves, .png, .svg or .pdf (default: none).
        margins: draw margins, over the deviation of the difference of performances.
    """

    out: Path | None = None
    margins: tuple[float, ...] = MARGINS

    @property
    def extras(self) -> tuple[str, ...]:
        """A figure needs plotting."""
        return () if self.out is None else ("benchmarks",)

    def run(self) -> None:
        """Print the tables, and draw."""
        from matchenv.benchmarks.corrections import corrections_text, draw_corrections

        text = corrections_text(self.margins)
        if self.out is not None:
            draw_corrections(self.out, self.margins)
        if not self.quiet:
            show(text)
            if self.out is not None:
                show(f"\n{self.out} has the curves")
