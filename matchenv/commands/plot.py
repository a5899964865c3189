"""``matchenv plot``: learning curves of trainings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from matchenv.commands.options import Command
from matchenv.commands.output import show


@dataclass(frozen=True, kw_only=True)
class Plot(Command):
    """Draw the learning curves of training runs, over their seeds.

    Runs that differ in their seed alone are one curve: the mean of the middle half (IQM), the
    median and a band. KG's and DrawChance's levels are lines. See docs/training.md.

    Example:
        matchenv plot runs/ppo-seed0 runs/ppo-seed1 --out curves.png

    Attributes:
        runs: folders of runs, or folders that hold such folders.
        out: file of the picture, .png, .svg or .pdf.
        measure: what is drawn; q is the draw density.
        bound: folder of matchenv bound for the same games, one more line.
    """

    runs: Positional[tuple[Path, ...]]
    out: Path = Path("learning_curves.png")
    measure: Literal["true_q_less_kg", "true_draw_density", "draw_density", "mean_return"] = (
        "true_q_less_kg"
    )
    bound: Path | None = None

    @property
    def extras(self) -> tuple[str, ...]:
        """It reads trainings and draws."""
        return ("agents", "benchmarks")

    def run(self) -> None:
        """Draw, and say what was drawn and where it is."""
        from matchenv.benchmarks.learning_curves.picture import plot_runs

        curves = plot_runs(self.runs, self.out, measure=self.measure, bound=self.bound)
        if not self.quiet:
            for curve in curves:
                last = curve.interquartile_mean[-1]
                show(
                    f"{curve.label}: seeds {' '.join(str(run.config.seed) for run in curve.runs)}, "
                    f"{self.measure} {last:+.2f} after {curve.timesteps[-1]:,.0f} games"
                )
            show(str(self.out))
