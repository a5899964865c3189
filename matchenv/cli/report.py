"""Gather figures, tables, settings and versions in one page that needs no network.

Folders of train, compare, study, tune, limits, replay and judge are known by
their files. A click in a legend hides a policy, a click on a heading sorts a
table. Trainings that differ in their seed alone share a learning curve. See
docs/benchmarks.md.

Example:
    matchenv report results/compare runs/ppo-seed0 --out report.html
"""

from __future__ import annotations

from pathlib import Path

from matchenv.cli import options as shared
from matchenv.cli.parser import Existing, Given, Parser

MEASURES = ("true_q_less_kg", "true_draw_density", "draw_density", "mean_return")


def options(add: Parser) -> None:
    """Declare the options."""
    add.group("what is shown")
    add.positional("folders", "folders of results, or folders that hold such folders", Existing,
                   nargs="+")  # fmt: skip
    add.option("--measure", "of the learning curves; q is the draw density", MEASURES[0],
               known=MEASURES)  # fmt: skip
    add.option("--bound", "folder of matchenv limits for the games of the trainings, a line beside "
               "their curves", None, Existing)  # fmt: skip
    add.option("--allow-code", "import classes outside matchenv that folders of trainings name",
               False)  # fmt: skip
    add.group("results")
    add.option("--out", "file of the page", Path("report.html"))
    add.option("--latex", "file of a summary for a paper's appendix (default: none is written)",
               None, Path)  # fmt: skip
    shared.quiet(add)


def run(given: Given) -> None:
    """Write the page, and say where it is."""
    given.needs("agents", "benchmarks")
    from matchenv.benchmarks.report import write_report

    files, count = write_report(
        given.folders,
        given.out,
        latex=given.latex,
        measure=given.measure,
        bound=given.bound,
        allow_code=given.allow_code,
    )
    for file in files:
        results = "1 result" if count == 1 else f"{count} results"
        given.say(f"{file}: {results}, {file.stat().st_size / 1e6:.1f} MB")
