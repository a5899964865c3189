"""Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

Stopped at any moment, the same command goes on with it. See docs/study.md.

Example:
    matchenv study --out runs/study --episodes 200 --workers 2
"""

from __future__ import annotations

from typing import Any

from matchenv.benchmarks.study.settings import DEFAULTS, PAPER_POLICIES, StudyOptions
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser
from matchenv.envs.one_player.settings import RANKINGS, Settings

POOL = ("availability", "mean_stay", "turnover")


def options(add: Parser) -> None:
    """Declare the options."""
    shared.policies(add, PAPER_POLICIES)
    add.option("--belief", "that baselines read; printed has the misprints of the paper's "
               "equations", DEFAULTS["belief"])  # fmt: skip
    cells(add, DEFAULTS)
    add.fields_of(Settings, POOL)
    shared.results(add, required=True)


def cells(add: Parser, defaults: StudyOptions) -> None:
    """Declare where a study plays, and how much.

    Args:
        add: the parser.
        defaults: numbers of episodes and of draws of the prior.
    """
    add.group("games")
    add.option("--rank", f"{shared.RANKS_TEXT} (default: the paper's)", ())
    add.option("--prior", "what policies know at the start: informative, equal",
               tuple(DEFAULTS["priors"]))  # fmt: skip
    add.option("--episodes", "sets of true skills with each draw of the prior",
               defaults["episodes"])  # fmt: skip
    add.option("--prior-draws", "draws of the prior; the paper has one", defaults["prior_draws"])
    shared.seed(add)
    shared.environment(add, ("num_opponents", "horizon", "equal_variance"))
    add.option("--equal-rank-by", "what places are by with equal priors, where the prior mean is "
               "hidden", DEFAULTS["equal_rank_by"], known=RANKINGS)  # fmt: skip


def cells_given(given: Given) -> dict[str, Any]:
    """Return what ``cells`` declared, as a study takes it."""
    same = ("episodes", "prior_draws", "seed", "num_opponents", "horizon", "equal_variance",
            "equal_rank_by")  # fmt: skip
    return {"ranks": given.rank or None, "priors": given.prior, "run": shared.run_options(given),
            **given.chosen(same)}  # fmt: skip


def run(given: Given) -> None:
    """Play what is missing and print the summary."""
    given.needs("benchmarks")
    from matchenv.benchmarks.study import run_study

    study = run_study(
        shared.named_policies(given), **cells_given(given), **given.chosen(("belief", *POOL))
    )
    given.say(study.summary(), end="")
    given.say_where()
