"""Options of commands that read a match log, and the reading."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import fields

from matchenv.cli import show
from matchenv.cli.extras import check_extras
from matchenv.cli.options import add_quiet
from matchenv.cli.parser import Arguments, Collect, Parser, path, refuse, settings_from
from matchenv.logs.faults import BadLogError
from matchenv.logs.reading import Reading, ReadingSettings, bad_rows_csv, read_log, reading_text
from matchenv.logs.replay import Model
from matchenv.runtime.files import folder_lock, write_bytes

# Tables that commands write which read a log.
TABLES = ("ratings.csv", "bad_rows.csv", "curves.csv", "ranking.csv")


def add_log(parser: Parser) -> None:
    """Add the log, and the options of reading it."""
    parser.usage = "%(prog)s LOG [OPTIONS]"
    group = parser.add_argument_group("log")
    group.add_argument("log", metavar="LOG", type=path, help="the log, a .csv or .csv.gz file")
    group.add_argument(
        "--columns",
        action=Collect,
        help="ROLE=NAME for columns with unusual names; roles: game, player, team, rank, result, "
        "score, team_score, time, at_home, neutral, weight; with a row for each game home, away, "
        "home_score, away_score; side1, side2, side1_score, side2_score; winner, loser",
    )
    group.add_argument(
        "--partial-play",
        help="column with the time that each player took part; the weight of a performance is "
        "its share of the longest of the game (default: all weights are 1)",
    )
    group.add_argument(
        "--encoding", help="encoding of the text (default: utf-8, or cp1252 where it is not UTF-8)"
    )
    group.add_argument(
        "--time-format",
        help="yyyymmdd, number, iso, month/day/year, day/month/year or a format of strptime "
        "(default: the one that reads the most times)",
    )
    group.add_argument("--strict", action="store_true", help="fail if any row is bad")
    group.add_argument(
        "--max-megabytes",
        type=int,
        default=ReadingSettings.max_megabytes,
        help="limit on the unpacked size of the log, in millions of bytes",
    )


def add_model(parser: Parser) -> None:
    """Add the parameters of TrueSkill."""
    group = parser.add_argument_group("parameters of trueskill")
    group.add_argument("--mu", type=float, default=Model.mu, help="prior mean, in skill points")
    group.add_argument(
        "--sigma", type=float, default=Model.sigma, help="prior standard deviation, > 0"
    )
    group.add_argument(
        "--beta",
        type=float,
        default=Model.beta,
        help="standard deviation of one performance around skill, > 0",
    )
    group.add_argument(
        "--tau",
        type=float,
        default=Model.tau,
        help="standard deviation of the drift of a skill before each game of its player, >= 0",
    )
    group.add_argument(
        "--draw-probability",
        type=float,
        help="probability that two even sides draw, in [0, 1) (default: share of draws in the log)",
    )
    group.add_argument(
        "--time-drift",
        type=float,
        default=Model.time_drift,
        help="standard deviation of the drift of a skill over a day without a game, >= 0",
    )
    group.add_argument(
        "--advantage",
        type=float,
        default=Model.advantage,
        help="advantage of the first side of a game in skill points, except on neutral ground; 0 "
        "for a log that does not say which side was at home or first",
    )
    group.add_argument(
        "--team-exponent",
        type=float,
        default=Model.team_exponent,
        help="the strength of a side of n players is the sum of their performances divided by n "
        "to this power, >= 0: 0 for the sum, 1 for the mean",
    )


def add_files(parser: Parser) -> None:
    """Add the results of a command that cannot be resumed."""
    group = parser.add_argument_group("results and work")
    group.add_argument(
        "--out",
        type=path,
        help="folder for the result files, which replace earlier ones (default: write none)",
    )
    add_quiet(group)


def check_installed(command: str, arguments: Arguments) -> None:
    """Check the extras of a command that reads a log and writes figures to ``--out``."""
    extras = ["logs"]
    if arguments.out is not None:
        extras.append("benchmarks")
    check_extras(command, *extras)


def check_fitted(arguments: Arguments) -> None:
    """Refuse parameters of TrueSkill together with ``--fitted``."""
    if arguments.fitted is not None:
        names = [field.name for field in fields(Model)]
        refuse(arguments, names, "parameters are those of --fitted")


def read_games(arguments: Arguments, further: Iterable[str] = ()) -> Reading:
    """Read the log of a command, and print what was read and which rows were left out.

    Args:
        arguments: options of the command.
        further: columns to read for each game, see ``read_log``.

    Raises:
        ValueError: for an unreadable log. Its bad rows are in ``bad_rows.csv`` of ``--out``.
    """
    out = arguments.out
    log = arguments.log.resolve()
    replaced = log.name in TABLES or log.suffix == ".json"
    if replaced and out is not None and log.parent == out.resolve():
        raise ValueError(f"out must not have the log among its files, got {arguments.log}")
    if out is not None:
        with folder_lock(out):  # fails before the work if it cannot be written
            pass
    settings = settings_from(ReadingSettings, arguments)
    try:
        reading = read_log(arguments.log, settings, further=further)
    except BadLogError as error:
        if error.bad_rows and out is None:
            error.args = (f"{error}; --out DIR writes all to bad_rows.csv",)
        elif error.bad_rows:
            bad_rows = out / "bad_rows.csv"
            with folder_lock(out):
                write_bytes(bad_rows, bad_rows_csv(error.bad_rows))
            error.args = (f"{error}; all are in {bad_rows}",)
        raise
    listed = 5
    if arguments.quiet:
        listed = 0
    show(reading_text(reading, listed=listed), file=sys.stderr)
    return reading
