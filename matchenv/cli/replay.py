"""Rate a log of matches, and report how well each rating system forecast them.

See docs/replay.md.

Example:
    matchenv replay games.csv --columns player=name --out runs/replay
"""

from __future__ import annotations

from functools import partial

from matchenv.benchmarks.replay.report import ReplaySettings, report_text, run_replay
from matchenv.cli.log_options import (
    add_files,
    add_log,
    add_model,
    check_fitted,
    check_installed,
    read_games,
)
from matchenv.cli.output import print_folder, print_result
from matchenv.cli.parser import Arguments, Collect, Parser, path, settings_from
from matchenv.logs.replay import Model


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    add_log(parser)
    group = parser.add_argument_group("rating systems and report")
    group.add_argument(
        "--systems",
        action=Collect,
        default=ReplaySettings.systems,
        help="rating systems: trueskill, elo, elo-logistic, weng-lin-bt, weng-lin-pl, these with "
        "options (elo:alpha=0.1), or your own module:Class; the first one picks the top players",
    )
    group.add_argument(
        "--fitted",
        type=path,
        help="folder of a fit, for its parameters in place of those of TrueSkill",
    )
    group.add_argument(
        "--challenge-share",
        type=float,
        default=ReplaySettings.challenge_share,
        help="share of the games that each system puts forward as most even",
    )
    group.add_argument(
        "--fair-share",
        type=float,
        default=ReplaySettings.fair_share,
        help="share of the games, the most even ones, in which win ratios are counted",
    )
    add_model(parser)
    add_files(parser)


def run(arguments: Arguments) -> None:
    """Rate the log."""
    check_fitted(arguments)
    check_installed("replay", arguments)
    model = settings_from(Model, arguments)
    settings = settings_from(ReplaySettings, arguments, parameters=model)
    reading = read_games(arguments)
    content = run_replay(reading, settings, out=arguments.out, quiet=arguments.quiet)
    print_result(partial(report_text, content), arguments.quiet)
    print_folder(arguments.out, arguments.quiet)
