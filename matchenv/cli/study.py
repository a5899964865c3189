"""``matchenv study``: the simulation study of the 2011 paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from matchenv.benchmarks.study.settings import DEFAULTS as THE_PAPERS
from matchenv.benchmarks.study.settings import PAPER_POLICIES
from matchenv.cli.options import DEFAULTS, Kept, Parallel, Policies, Pool, Seeded, chosen
from matchenv.cli.output import show
from matchenv.envs.one_player.priors import PRIORS


@dataclass(frozen=True, kw_only=True)
class StudyCells(Kept, Parallel, Seeded):
    """Where the study plays, and how much.

    Attributes:
        rank: places of player 0: top, middle, bottom, or a number from 0 (the best) (default:
            the paper's).
        prior: what policies know at the start: informative, equal.
        episodes: sets of true skills with each draw of the prior.
        prior_draws: draws of the prior; the paper has one.
        num_opponents: opponents to choose from.
        horizon: games in an episode.
        equal_variance: variances of equal priors: paper, or matching, with the variance of the
            hidden means added.
        equal_rank_by: what places are by with equal priors: true_skill, or prior_mean, which is
            hidden there.
    """

    rank: tuple[str, ...] = ()
    prior: tuple[str, ...] = PRIORS
    episodes: int = THE_PAPERS["episodes"]
    prior_draws: int = THE_PAPERS["prior_draws"]
    num_opponents: int = THE_PAPERS["num_opponents"]
    horizon: int = THE_PAPERS["horizon"]
    equal_variance: Literal["paper", "matching"] = "paper"
    equal_rank_by: Literal["true_skill", "prior_mean"] = "true_skill"

    def arguments(self) -> dict[str, Any]:
        """The arguments that the study and the tuning have in common."""
        given = chosen(self, StudyCells)
        for name in ("debug", "rank", "prior", "engine"):
            given.pop(name)
        more = {"ranks": self.rank or None, "priors": self.prior, "workers": self.on_engine}
        return {**given, **more}


@dataclass(frozen=True, kw_only=True)
class Study(StudyCells, Pool, Policies):
    """Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4.

    Stopped at any moment, the same command goes on with it. See docs/study.md.

    Example:
        matchenv study --out runs/study --episodes 200 --workers 2

    Attributes:
        belief: that baselines read; printed has the misprints of the paper's equations.
    """

    policy: tuple[str, ...] = PAPER_POLICIES
    belief: str = DEFAULTS.belief

    @property
    def extras(self) -> tuple[str, ...]:
        """It draws figures."""
        return ("benchmarks",)

    def run(self) -> None:
        """Play what is missing and print the summary."""
        from matchenv.benchmarks.study import run_study

        study = run_study(
            self.policies, belief=self.belief, **self.arguments(), **chosen(self, Pool)
        )
        if not self.quiet:
            show(study.summary(), end="")
