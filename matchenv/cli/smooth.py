"""Estimate every player's skill through time from a whole log.

This is TrueSkill Through Time. See docs/ratings.md.

Example:
    matchenv smooth games.csv --players ann bob --out results/smooth
"""

from __future__ import annotations

from functools import partial

from matchenv.benchmarks.replay.fits import SmoothSettings, run_smooth, smooth_text
from matchenv.cli.log_options import (
    add_files,
    add_log,
    add_model,
    check_fitted,
    check_installed,
    read_games,
)
from matchenv.cli.output import print_files, print_result
from matchenv.cli.parser import Arguments, Collect, Parser, path, settings_from
from matchenv.logs.replay import Model


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    add_log(parser)
    group = parser.add_argument_group("model")
    group.add_argument(
        "--fitted", type=path, help="folder of a fit, for its parameters in place of these"
    )
    group.add_argument(
        "--tolerance",
        type=float,
        default=SmoothSettings.tolerance,
        help="stop when no posterior moves by more than this share of its deviation",
    )
    group.add_argument(
        "--max-iterations",
        type=int,
        default=SmoothSettings.max_iterations,
        help="limit on the number of iterations",
    )
    group.add_argument(
        "--players",
        action=Collect,
        help="players whose curves are shown (default: the four with the highest last "
        "mu - 3 sigma)",
    )
    add_model(parser)
    add_files(parser)


def run(arguments: Arguments) -> None:
    """Smooth the log."""
    check_fitted(arguments)
    check_installed("smooth", arguments)
    out = arguments.out
    model = settings_from(Model, arguments)
    settings = settings_from(SmoothSettings, arguments, model=model)
    reading = read_games(arguments)
    smoothed, players = run_smooth(reading, settings, out=out, quiet=arguments.quiet)
    print_result(partial(smooth_text, reading.log, smoothed, players), arguments.quiet)
    print_files(f"{out} has curves.csv, smooth.json and report.html", out, arguments.quiet)
