"""Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

See docs/study.md.

Example:
    matchenv study --out runs/study --episodes 200 --workers 2
"""

from __future__ import annotations

from functools import partial

from matchenv.benchmarks.study.settings import PAPER_POLICIES, StudySettings
from matchenv.cli.extras import check_extras
from matchenv.cli.options import NAMED_PRIORS, add_policies, add_results, add_settings, run_options
from matchenv.cli.output import print_folder, print_result
from matchenv.cli.parser import Arguments, Collect, Parser
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import expanded


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    policies = parser.add_argument_group("policies")
    add_policies(policies, PAPER_POLICIES)
    policies.add_argument(
        "--belief",
        default=StudySettings.belief,
        help="belief of policies whose name does not specify one, except for gittins and learned "
        "policies, which have their own; printed has the misprints of the paper's equations, and "
        "exists only in the study",
    )
    games = parser.add_argument_group("games")
    games.add_argument(
        "--rank",
        action=Collect,
        help="rank of player 0: top, middle, bottom, or a number from 0, the best "
        "(default: the paper's)",
    )
    games.add_argument("--prior", action=Collect, default=StudySettings.priors, help=NAMED_PRIORS)
    games.add_argument(
        "--episodes",
        type=int,
        default=StudySettings.episodes,
        help="sets of true skills for each draw of the prior, >= 2",
    )
    games.add_argument(
        "--prior-draws",
        type=int,
        default=StudySettings.prior_draws,
        help="draws of the prior, >= 1; the paper has one",
    )
    games.add_argument(
        "--seed",
        type=int,
        default=StudySettings.seed,
        help="random seed of priors, skills, luck and random choices, >= 0",
    )
    environment = parser.add_argument_group("environment")
    add_settings(environment, Settings, ("num_opponents", "horizon", "equal_variance"))
    environment.add_argument(
        "--equal-rank-by",
        default=StudySettings.equal_rank_by,
        help="what ranks are by with equal priors, where the prior mean is hidden: true_skill, "
        "the paper's words, or prior_mean",
    )
    add_results(parser, required=True)


def run(arguments: Arguments) -> None:
    """Repeat the study."""
    check_extras("study", "benchmarks")
    from matchenv.benchmarks.study import run_study
    from matchenv.evaluation.tables import text_table

    study = run_study(
        expanded(arguments.policy),
        ranks=arguments.rank or None,
        priors=arguments.prior,
        episodes=arguments.episodes,
        prior_draws=arguments.prior_draws,
        num_opponents=arguments.num_opponents,
        horizon=arguments.horizon,
        seed=arguments.seed,
        belief=arguments.belief,
        equal_variance=arguments.equal_variance,
        equal_rank_by=arguments.equal_rank_by,
        run=run_options(arguments),
    )
    print_result(partial(study.summary, text_table), arguments.quiet)
    print_folder(arguments.out, arguments.quiet)
