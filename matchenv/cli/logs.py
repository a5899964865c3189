"""Commands that read a match log."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path

from matchenv.cli.parser import RESULTS, Command, Given, Parser
from matchenv.evaluation.registry import expanded
from matchenv.runtime.checks import as_open_share


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
    add.results()

    given = yield
    _check_model_options(given)
    settings = given.build(ReplaySettings)
    content = run_replay(given.reading(), settings, **given.values("out", "quiet"))
    given.print_result(partial(report_text, content))
    given.print_folder()


def _check_model_options(given: Given) -> None:
    """Check extras, and refuse parameters of TrueSkill together with ``--fitted``."""
    from matchenv.logs.replay import Model

    if given.fitted is not None:
        given.refuse([field.name for field in fields(Model)], "parameters are those of --fitted")
    given.needs("logs", *(() if given.out is None else ("benchmarks",)))


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
    add.option("--train-share", "share of the games to fit, from the first on", TRAIN_SHARE)
    add.results()

    given = yield
    given.needs("logs")
    as_open_share("train_share", given.train_share)
    fit = run_fit(given.reading(), **given.values("train_share", "out", "quiet"))
    given.print_result(partial(fit_text, fit))
    given.print_folder(f"{given.out}/fit.json has the parameters")


def declare_smooth(add: Parser) -> Command:
    """Estimate every player's skill through time from a whole log.

    This is TrueSkill Through Time. See docs/ratings.md.

    Example:
        matchenv smooth games.csv --players ann bob --out results/smooth
    """
    from matchenv.benchmarks.replay.fits import SmoothSettings, run_smooth, smooth_text

    add.log()
    add.group("model")
    add.fields_of(SmoothSettings)
    add.results()

    given = yield
    _check_model_options(given)
    settings = given.build(SmoothSettings)
    reading = given.reading()
    found = run_smooth(reading, settings, **given.values("out", "quiet"))
    given.print_result(partial(smooth_text, reading.log, *found))
    given.print_folder(f"{given.out} has curves.csv, smooth.json and report.html")


def declare_judge(add: Parser) -> Command:
    """Judge the matcher that made the games of a log.

    Reports how even the games were and for which players they were not, and what
    other matchers would achieve with these players at this load. See docs/judge.md.

    Example:
        matchenv judge games.csv --rule window.yml --out results/judge
    """
    from matchenv.benchmarks.judge import JudgeSettings

    add.log()
    add.group("policies", "policy")
    add.option("--fitted", "folder of matchenv fit (default: fitted to this log)", None, Path)
    add.group("matcher, load and runs")
    add.fields_of(JudgeSettings)
    add.group("results and work", *RESULTS)

    given = yield
    given.needs("benchmarks", "logs")
    from matchenv.benchmarks.judge.judging import checked, judge
    from matchenv.benchmarks.replay.fits import fitted_parameters

    parameters = None
    failed = False
    if given.fitted is not None:
        parameters, failed = fitted_parameters(given.fitted)
    settings = given.build(JudgeSettings)
    policies = expanded(given.policy)
    checked(settings, policies, parameters)
    run = given.run_options()
    reading = given.reading()
    found = judge(
        reading.log,
        settings,
        policies=policies,
        parameters=parameters,
        fit_failed=failed,
        name=reading.file_name,
        run=run,
    )
    given.print_result(lambda: found.text)
    given.print_folder(f"{given.out}/judge.html is the page")
