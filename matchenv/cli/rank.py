"""The command that ranks the players of a log."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from matchenv.cli.parser import Command, Given, Parser


def declare_rank(add: Parser) -> Command:
    """Rank the players of a log, and choose the pairs to play next.

    An item is anything that plays games of two: a model, bot, prompt or person.
    Votes of an arena (model_a, model_b, winner, prompt) and chess games (White,
    Black, Result) are read as they are. See docs/ranking.md.

    Example:
        matchenv rank games.csv --goal top --k 5 --next 20 --out results/ranking
        matchenv rank votes.csv --by language --scale elo --reference model-a
    """
    from matchenv.benchmarks import ranking
    from matchenv.benchmarks.ranking_files import FILES, write_ranking

    add.log()
    add.group("goal, model and report")
    add.fields_of(ranking.RankSettings)
    add.option(
        "--state", "ranking.json of an earlier ranking, which these games follow", None, Path
    )
    add.results()

    given = yield
    given.needs("logs", *(() if given.out is None else ("benchmarks",)))
    settings = given.build(ranking.RankSettings)
    header = log_header(given) if settings.cluster is None else ()
    columns, cluster = ranking.further_columns(settings, header)
    ranked = ranking.games_of(given.reading(further=columns), settings, cluster)
    ranker = ranking.ranker_of(ranked, settings, state=given.state, explicit=given.explicit)
    table = partial(
        ranking.ranking_text, ranker, ranker.ranking(settings.reference, settings.reference_elo),
        settings,
    )  # fmt: skip
    given.print_result(table)
    if given.quiet and given.out is None:  # nobody would see the slower part
        return
    given.print_result("\n".join(ranking.model_lines(ranker, ranked, settings)))
    report = ranking.report_of(ranker, settings)
    given.print_result(partial(ranking.settled_text, ranker, report, settings))
    categories = ranking.category_rankers(ranked, settings)
    for category, part in categories.items():
        rows = part.ranking(settings.reference, settings.reference_elo)
        given.print_result(f"\n{settings.by}: {category}")
        given.print_result(partial(ranking.ranking_text, part, rows, settings))
    if given.out is not None:
        write_ranking(ranker, ranked, report, settings, categories, given.out)
    given.print_folder(f"{given.out} has {', '.join(FILES[:-1])} and {FILES[-1]}")


def log_header(given: Given) -> tuple[str, ...]:
    """Return the names of the columns of the log."""
    from matchenv.logs.files import read_table

    return tuple(read_table(given.log, given.encoding, given.max_megabytes).columns)
