"""Fit the parameters of TrueSkill to a log, and judge them on games held out.

See docs/fit.md.

Example:
    matchenv fit games.csv --out runs/fit
"""

from __future__ import annotations

from functools import partial

from matchenv.benchmarks.replay.fits import fit_text, run_fit
from matchenv.cli.extras import check_extras
from matchenv.cli.log_options import add_files, add_log, read_games
from matchenv.cli.output import print_files, print_result
from matchenv.cli.parser import Arguments, Parser
from matchenv.logs.fitting import TRAIN_SHARE
from matchenv.runtime.checks import as_open_share


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    add_log(parser)
    parser.add_argument_group("fit").add_argument(
        "--train-share",
        type=float,
        default=TRAIN_SHARE,
        help="share of the games to fit, from the first on",
    )
    add_files(parser)


def run(arguments: Arguments) -> None:
    """Fit the parameters."""
    check_extras("fit", "logs")
    out = arguments.out
    train_share = as_open_share("train_share", arguments.train_share)
    reading = read_games(arguments)
    fit = run_fit(reading, train_share=train_share, out=out, quiet=arguments.quiet)
    print_result(partial(fit_text, fit), arguments.quiet)
    print_files(f"{out}/fit.json has the parameters", out, arguments.quiet)
