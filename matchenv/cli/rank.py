"""Rank the players of a log, and say which pairs should play next.

Items are whatever plays games of two: models, bots, prompts, people.
See docs/ranking.md.

Example:
    matchenv rank games.csv --goal top --k 5 --next 20 --out results/ranking
"""

from __future__ import annotations

from pathlib import Path

from matchenv.benchmarks.ranking import RankSettings, rank_text, ranker_of, write_ranking
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser
from matchenv.logs.reading import ReadingSettings


def options(add: Parser) -> None:
    """Declare the options."""
    shared.log(add)
    add.fields_of(ReadingSettings)
    add.group("goal and model")
    add.fields_of(RankSettings)
    add.group("results")
    add.option("--out", "folder for the table, the figure and the state (default: none)", None,
               Path)  # fmt: skip
    shared.quiet(add)


def run(given: Given) -> None:
    """Rank and print the table."""
    given.needs("logs", *(() if given.out is None else ("benchmarks",)))
    settings = given.made(RankSettings)
    ranker = ranker_of(shared.reading(given).log, settings)
    text = rank_text(ranker, settings)
    if given.out is not None:
        write_ranking(ranker, given.out)
    given.say(text)
    given.say_where(f"{given.out} has ranking.csv, ranking.json, ranking.png and ranking.svg")
