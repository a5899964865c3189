"""Gather figures, tables, settings and versions in one page for use offline.

Shows folders of train, compare, study, tune, limits, replay and judge. A click
in a legend hides a policy, a click on a heading sorts a table. Trainings that
differ only in their seed share a learning curve. See docs/benchmarks.md.

Example:
    matchenv report results/compare runs/ppo-seed0 --out report.html
"""

from __future__ import annotations

from pathlib import Path

from matchenv.cli.extras import check_extras
from matchenv.cli.options import add_allow_code, add_quiet
from matchenv.cli.output import print_result
from matchenv.cli.parser import Arguments, Collect, Parser, path
from matchenv.runtime.checks import counted


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    parser.usage = "%(prog)s FOLDERS [OPTIONS]"
    group = parser.add_argument_group("input")
    group.add_argument(
        "folders",
        metavar="FOLDERS",
        action=Collect,
        type=path,
        help="folders of results, or folders of such folders",
    )
    add_allow_code(group, "import classes outside matchenv that the folders name")
    group = parser.add_argument_group("results")
    group.add_argument("--out", type=path, default=Path("report.html"), help="file of the page")
    group.add_argument(
        "--latex", type=path, help="file of a summary for an appendix (default: none)"
    )
    add_quiet(group)


def run(arguments: Arguments) -> None:
    """Write the page."""
    check_extras("report", "benchmarks")
    from matchenv.benchmarks.report import write_report

    files, count = write_report(
        arguments.folders, arguments.out, latex=arguments.latex, allow_code=arguments.allow_code
    )
    for file in files:
        megabytes = file.stat().st_size / 1e6
        print_result(f"{file}: {counted(count, 'result')}, {megabytes:.1f} MB", arguments.quiet)
