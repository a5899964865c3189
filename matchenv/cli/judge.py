"""Judge the matcher that made the games of a log.

Reports how even the games were and for which players they were not, and what
other matchers would achieve with these players at this load. See docs/judge.md.

Example:
    matchenv judge games.csv --rule window.yml --out results/judge
"""

from __future__ import annotations

from matchenv.benchmarks.judge import JudgeSettings
from matchenv.cli.extras import check_extras
from matchenv.cli.log_options import add_log, read_games
from matchenv.cli.options import POLICIES, add_results, run_options
from matchenv.cli.output import print_files, print_result
from matchenv.cli.parser import Arguments, Collect, Parser, path, settings_from
from matchenv.evaluation.registry import expanded


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    add_log(parser)
    policies = parser.add_argument_group("policies")
    policies.add_argument("--policy", action=Collect, help=POLICIES)
    policies.add_argument(
        "--fitted", type=path, help="folder of matchenv fit (default: fitted to this log)"
    )
    group = parser.add_argument_group("matcher, load and runs")
    group.add_argument(
        "--rule",
        help="the present matcher: a YAML or JSON file with window and growth, a policy of the "
        "queue, or module:Class (default: unknown; differences are to fcfs)",
    )
    group.add_argument(
        "--episodes", type=int, default=JudgeSettings.episodes, help="runs of each matcher"
    )
    group.add_argument(
        "--tuning-episodes",
        type=int,
        default=JudgeSettings.tuning_episodes,
        help="runs of each setting in the tuning",
    )
    group.add_argument(
        "--horizon", type=int, default=JudgeSettings.horizon, help="ticks of a run; a game has 10"
    )
    group.add_argument(
        "--seed", type=int, default=JudgeSettings.seed, help="seed of all random numbers"
    )
    group.add_argument(
        "--arrival-rate",
        type=float,
        help="players who log on per minute; required for a log without times",
    )
    group.add_argument(
        "--game-minutes",
        type=float,
        help="length of a game in minutes (default: the tenth percentile of the times from one "
        "game of a player to the next)",
    )
    group.add_argument(
        "--patience-minutes",
        type=float,
        help="mean minutes after which a waiting player gives up; no log shows it "
        "(default: two games)",
    )
    group.add_argument(
        "--session-minutes",
        type=float,
        default=JudgeSettings.session_minutes,
        help="minutes without a game after which a player has logged off",
    )
    group.add_argument("--stay", type=float, help="probability of queueing again after a game")
    group.add_argument(
        "--newcomers", type=float, help="share of new players among those who log on"
    )
    add_results(parser)


def run(arguments: Arguments) -> None:
    """Judge the matcher."""
    check_extras("judge", "benchmarks", "logs")
    from matchenv.benchmarks.judge.judging import checked, judge
    from matchenv.benchmarks.replay.fits import fitted_parameters

    parameters = None
    fit_failed = False
    if arguments.fitted is not None:
        parameters, fit_failed = fitted_parameters(arguments.fitted)
    settings = settings_from(JudgeSettings, arguments)
    policies = expanded(arguments.policy)
    checked(settings, policies, parameters)
    run_of_command = run_options(arguments)
    reading = read_games(arguments)
    judgement = judge(
        reading.log,
        settings,
        policies=policies,
        parameters=parameters,
        fit_failed=fit_failed,
        name=reading.file_name,
        run=run_of_command,
    )
    print_result(lambda: judgement.text, arguments.quiet)
    out = arguments.out
    print_files(f"{out}/judge.html is the page", out, arguments.quiet)
