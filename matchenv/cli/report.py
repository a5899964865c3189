"""``matchenv report``: results of several commands in one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from matchenv.cli.options import Command
from matchenv.cli.output import show


@dataclass(frozen=True, kw_only=True)
class Report(Command):
    """Gather results in one page that needs no network: figures, tables, settings, versions.

    Folders of train, compare, study, tune, bound, optimum, replay and judge are known by their
    files. A click in a legend hides a policy, a click on a heading sorts a table. Trainings that
    differ in their seed alone share a learning curve. See docs/reports.md.

    Example:
        matchenv report results/compare runs/ppo-seed0 --out report.html

    Attributes:
        folders: folders of results, or folders that hold such folders.
        out: file of the page.
        latex: file of a summary for a paper's appendix (default: none is written).
        measure: of the learning curves; q is the draw density.
        bound: folder of matchenv bound for the games of the trainings, a line beside their curves.
        allow_code: import classes outside matchenv that folders of trainings name.
    """

    folders: Positional[tuple[Path, ...]]
    out: Path = Path("report.html")
    latex: Path | None = None
    measure: Literal["true_q_less_kg", "true_draw_density", "draw_density", "mean_return"] = (
        "true_q_less_kg"
    )
    bound: Path | None = None
    allow_code: bool = False

    @property
    def extras(self) -> tuple[str, ...]:
        """It reads trainings and draws."""
        return ("agents", "benchmarks")

    def run(self) -> None:
        """Write the page, and say where it is."""
        from matchenv.benchmarks.report import latex_summary, page_text, sections_of
        from matchenv.runtime.files import write_together
        from matchenv.runtime.object_spec import only_installed_code

        if self.out.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"out must end in .html, got {str(self.out)!r}")
        with only_installed_code(allow_code=self.allow_code):
            sections = sections_of(self.folders, measure=self.measure, bound=self.bound)
        files = {self.out: page_text(sections)}
        if self.latex is not None:
            files[self.latex] = latex_summary(sections)
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
        write_together([(file, text.encode()) for file, text in files.items()])
        if not self.quiet:
            for file in files:
                show(f"{file}: {len(sections)} results, {file.stat().st_size / 1e6:.1f} MB")
