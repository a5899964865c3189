"""Rank the players of a log, and choose the pairs to play next.

An item is anything that plays games of two: a model, bot, prompt or person.
Votes of an arena (model_a, model_b, winner, prompt) and chess games (White,
Black, Result) are read as they are. See docs/ranking.md.

Example:
    matchenv rank games.csv --goal top --k 5 --next 20 --out results/ranking
    matchenv rank votes.csv --by language --scale elo --reference model-a
"""

from __future__ import annotations

from functools import partial

from matchenv.benchmarks import ranking
from matchenv.benchmarks.ranking import RankSettings
from matchenv.benchmarks.ranking_files import FILES, write_ranking
from matchenv.cli.log_options import add_files, add_log, check_installed, read_games
from matchenv.cli.output import print_files, print_result
from matchenv.cli.parser import Arguments, Parser, path, settings_from
from matchenv.logs.files import read_table


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    add_log(parser)
    group = parser.add_argument_group("goal, model and report")
    group.add_argument(
        "--goal", default=RankSettings.goal, help="what to settle: order, top (with k) or best"
    )
    group.add_argument("--k", type=int, help="number of top items; required by goal top")
    group.add_argument(
        "--beta",
        type=float,
        default=RankSettings.beta,
        help="standard deviation of one performance",
    )
    group.add_argument(
        "--sigma",
        type=float,
        help="standard deviation of the prior of a skill (default: estimated from the games)",
    )
    group.add_argument(
        "--draw-margin",
        type=float,
        help="performances no further apart are a draw (default: estimated from the games)",
    )
    group.add_argument(
        "--first-advantage",
        type=float,
        help="standard deviation of the prior of the advantage of the side that was first "
        "(default: half of beta if the log says who was first, else 0)",
    )
    group.add_argument(
        "--cluster",
        help="column whose games are not independent, or none (default: prompt, if there is one)",
    )
    group.add_argument(
        "--by", help="column of categories, for example language; each is ranked too"
    )
    group.add_argument(
        "--scale",
        default=RankSettings.scale,
        help="points of the table and the figure: skill or elo",
    )
    group.add_argument("--reference", help="item with skill 0 (default: the mean of all items)")
    group.add_argument(
        "--reference-elo",
        type=float,
        default=RankSettings.reference_elo,
        help="Elo points of the reference, or of the mean",
    )
    group.add_argument(
        "--confidence",
        type=float,
        default=RankSettings.confidence,
        help="probability that all is right if skills follow the prior",
    )
    group.add_argument(
        "--indifference",
        type=float,
        default=RankSettings.indifference,
        help="skill difference to ignore; 0 settles equal items at random",
    )
    group.add_argument(
        "--next",
        type=int,
        default=RankSettings.next,
        help="number of pairs to play next, a batch for parallel workers",
    )
    group.add_argument(
        "--estimate",
        action="store_true",
        help="estimate the number of games until the goal is settled",
    )
    group.add_argument(
        "--state", type=path, help="ranking.json of an earlier ranking, which these games follow"
    )
    add_files(parser)


def run(arguments: Arguments) -> None:
    """Rank the players."""
    check_installed("rank", arguments)
    out = arguments.out
    quiet = arguments.quiet
    settings: RankSettings = settings_from(RankSettings, arguments)
    header: tuple[str, ...] = ()
    if settings.cluster is None:
        table = read_table(arguments.log, arguments.encoding, arguments.max_megabytes)
        header = tuple(table.columns)
    columns, cluster = ranking.further_columns(settings, header)
    ranked = ranking.games_of(read_games(arguments, further=columns), settings, cluster)
    ranker = ranking.ranker_of(ranked, settings, state=arguments.state, explicit=arguments.explicit)
    rows = ranker.ranking(settings.reference, settings.reference_elo)
    print_result(partial(ranking.ranking_text, ranker, rows, settings), quiet)
    if quiet and out is None:  # nobody would see the slower part
        return
    print_result("\n".join(ranking.model_lines(ranker, ranked, settings)), quiet)
    report = ranking.report_of(ranker, settings)
    print_result(partial(ranking.settled_text, ranker, report, settings), quiet)
    categories = ranking.category_rankers(ranked, settings)
    for category, part in categories.items():
        rows = part.ranking(settings.reference, settings.reference_elo)
        print_result(f"\n{settings.by}: {category}", quiet)
        print_result(partial(ranking.ranking_text, part, rows, settings), quiet)
    if out is not None:
        write_ranking(ranker, ranked, report, settings, categories, out)
    print_files(f"{out} has {', '.join(FILES[:-1])} and {FILES[-1]}", out, quiet)
