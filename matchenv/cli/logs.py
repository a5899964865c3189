"""The commands that read a match log."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path

from matchenv.cli.parser import RESULTS, Command, Given, Parser
from matchenv.evaluation.registry import expanded
from matchenv.runtime.checks import as_integer, as_non_negative_number, as_open_share, as_share


def declare_replay(add: Parser) -> Command:
    """Rate a log of matches, and report how well each rating system forecast them.

    See docs/replay.md.

    Example:
        matchenv replay games.csv --columns player=name --out runs/replay
    """
    from matchenv.benchmarks.replay.report import ReplaySettings, report_text, run_replay

    add.log()
    add.group("rating systems and report")
    add.fields_of(ReplaySettings)
    add.group("results and work", "out", "quiet")

    given = yield
    _refuse_both(given)
    given.needs("logs", *(() if given.out is None else ("benchmarks",)))
    settings = given.made(ReplaySettings)
    content = run_replay(given.reading(), settings, out=given.out, quiet=given.quiet)
    given.say(partial(report_text, content))
    given.say_where()


def _refuse_both(given: Given) -> None:
    """Refuse parameters of TrueSkill beside those of a fit."""
    from matchenv.logs.games import Model

    if given.fitted is not None:
        given.refuse([each.name for each in fields(Model)], "parameters are those of --fitted")


def declare_fit(add: Parser) -> Command:
    """Fit the parameters of TrueSkill to a log, and judge them on games held out.

    See docs/fit.md.

    Example:
        matchenv fit games.csv --out runs/fit
    """
    from matchenv.benchmarks.replay.fits import fit_text, run_fit
    from matchenv.logs.fitting import TRAIN_SHARE

    add.log()
    add.group("fit")
    add.option("--train-share", "share of the games, from the first on, that the fit uses",
               TRAIN_SHARE)  # fmt: skip
    add.group("results and work", "out", "quiet")

    given = yield
    given.needs("logs")
    as_open_share("train_share", given.train_share)
    asked = given.chosen(("train_share", "out", "quiet"))
    given.say(partial(fit_text, run_fit(given.reading(), **asked)))
    given.say_where(f"{given.out}/fit.json has the parameters")


def declare_smooth(add: Parser) -> Command:
    """Compute every player's skill through time from a whole log.

    This is TrueSkill Through Time. See docs/ratings.md.

    Example:
        matchenv smooth games.csv --players ann bob --out results/smooth
    """
    from matchenv.benchmarks.replay.fits import SmoothSettings, run_smooth, smooth_text

    add.log()
    add.group("model")
    add.fields_of(SmoothSettings)
    add.group("results and work", "out", "quiet")

    given = yield
    _refuse_both(given)
    given.needs("logs", *(() if given.out is None else ("benchmarks",)))
    settings, read = given.made(SmoothSettings), given.reading()
    found = run_smooth(read, settings, out=given.out, quiet=given.quiet)
    given.say(partial(smooth_text, read.log, *found))
    given.say_where(f"{given.out} has curves.csv, smooth.json and report.html")


def declare_rank(add: Parser) -> Command:
    """Rank the players of a log, and say which pairs should play next.

    Items are whatever plays games of two: models, bots, prompts, people.
    See docs/ranking.md.

    Example:
        matchenv rank games.csv --goal top --k 5 --next 20 --out results/ranking
    """
    from matchenv.benchmarks.ranking import rank_text, ranker_of, write_ranking
    from matchenv.envs.ranking import RankingSettings

    add.log()
    add.group("goal and model")
    add.fields_of(RankingSettings, ("goal", "beta", "sigma"))
    add.option("--k", "items at the top; needed with --goal top", None, int)
    add.option("--draw-margin", "performances no further apart are a draw (default: from the share "
               "of draws in the log)", None, float)  # fmt: skip
    add.option("--confidence", "probability that what is called settled is right", 0.95)
    add.option("--indifference", "difference of skills that does not matter; without one, the "
               "order of two equal items is never settled", 0.0)  # fmt: skip
    add.option("--next", "pairs to name that should play next, a batch for parallel workers", 0)
    add.group("results")
    add.option("--out", "folder for the table, the figure and the state (default: none)", None,
               Path)  # fmt: skip
    add.shared("quiet")

    given = yield
    given.needs("logs", *(() if given.out is None else ("benchmarks",)))
    as_integer("next", given.next, 0, 10_000)
    as_share("confidence", given.confidence)
    as_non_negative_number("indifference", given.indifference)
    options = given.chosen(("goal", "k", "beta", "sigma", "draw_margin"))
    ranker = ranker_of(given.reading().log, **options)
    rows = ranker.ranking()
    if given.out is not None:
        write_ranking(ranker, rows, given.out)
    sure = given.confidence, given.indifference
    given.say(partial(rank_text, ranker, rows, *sure, given.next))
    given.say_where(f"{given.out} has ranking.csv, ranking.json, ranking.png and ranking.svg")


def declare_judge(add: Parser) -> Command:
    """Judge the matcher that made the games of a log.

    How even the games were, for whom not, and what other matchers would have done
    with these players at this load. See docs/judge.md.

    Example:
        matchenv judge games.csv --rule window.yml --out results/judge
    """
    from matchenv.benchmarks.judge import JudgeSettings

    add.log()
    add.group("policies", "policy")
    add.option("--fitted", "folder of matchenv fit, in place of a fit: of this log, or of games of "
               "the same players that were not matched on skill", None, Path)  # fmt: skip
    add.group("matcher, load and runs")
    add.fields_of(JudgeSettings)
    add.group("results and work", *RESULTS)

    given = yield
    given.needs("agents", "benchmarks", "logs")
    from matchenv.benchmarks.judge.judging import checked, judge
    from matchenv.benchmarks.replay.fits import fitted_parameters

    parameters = None if given.fitted is None else fitted_parameters(given.fitted)
    settings, policies = given.made(JudgeSettings), expanded(given.policy)
    checked(settings, policies, parameters)
    run, read = given.run_options(), given.reading()
    found = judge(read.log, settings, policies=policies, parameters=parameters,
                  name=read.file_name, run=run)  # fmt: skip
    given.say(found.text)
    given.say_where(f"{given.out}/judge.html is the page")
