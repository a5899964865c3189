"""Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

Stopped at any moment, the same command goes on with it. See docs/study.md.

Example:
    matchenv study --out runs/study --episodes 200 --workers 2
"""

from __future__ import annotations

from matchenv.benchmarks.study.settings import PAPER_POLICIES, StudySettings
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser
from matchenv.envs.one_player.settings import RANKINGS, Settings

# Options of the study, and of the environment.
OWN = ("episodes", "prior_draws", "seed", "equal_rank_by", "belief")
SHARED = ("num_opponents", "horizon", "equal_variance", "availability", "mean_stay", "turnover")


def options(add: Parser) -> None:
    """Declare the options."""
    shared.policies(add, PAPER_POLICIES)
    add.option("--belief", "that baselines read; printed has the misprints of the paper's "
               "equations", StudySettings.belief)  # fmt: skip
    add.group("games")
    add.option("--rank", f"{shared.RANKS_TEXT} (default: the paper's)", ())
    add.option("--prior", "what policies know at the start: informative, equal",
               tuple(StudySettings.priors))  # fmt: skip
    add.option("--episodes", "sets of true skills with each draw of the prior",
               StudySettings.episodes)  # fmt: skip
    add.option("--prior-draws", "draws of the prior; the paper has one", StudySettings.prior_draws)
    shared.seed(add)
    shared.environment(add, SHARED[:3])
    add.option("--equal-rank-by", "what places are by with equal priors, where the prior mean is "
               "hidden", StudySettings.equal_rank_by, known=RANKINGS)  # fmt: skip
    add.fields_of(Settings, SHARED[3:])
    shared.results(add, required=True)


def run(given: Given) -> None:
    """Play what is missing and print the summary."""
    given.needs("benchmarks")
    from matchenv.benchmarks.study import run_study

    study = run_study(
        shared.named_policies(given),
        ranks=given.rank or None,
        priors=given.prior,
        run=shared.run_options(given),
        **given.chosen((*OWN, *SHARED)),
    )
    given.say(study.summary(), end="")
    given.say_where()
