"""``matchenv optimum``: the exact optimum of small problems."""

from __future__ import annotations

from dataclasses import dataclass

from matchenv.benchmarks.optimum.running import DEFAULT_POLICIES, run_optimum
from matchenv.cli.options import (
    DEFAULTS,
    Parallel,
    Policies,
    Resumable,
    Seeded,
)
from matchenv.cli.output import show


@dataclass(frozen=True, kw_only=True)
class Optimum(Resumable, Parallel, Seeded, Policies):
    """The exact optimum of small problems under the belief, and what policies lose.

    See docs/limits.md.

    Example:
        matchenv optimum --num-opponents 2 3 --horizon 5 --policy kg pe

    Attributes:
        num_opponents: opponents to choose from.
        horizon: games in an episode; each number with each number of opponents.
        episodes: instances.
        truths: sets of true skills drawn from the prior of each instance.
        belief: the model that is solved, and that baselines are made for.
        rank: place of player 0: top, middle, bottom, a number from 0 (the best), or any.
        beta: standard deviation of one performance.
        draw_margin: performances no further apart are a draw.
    """

    policy: tuple[str, ...] = DEFAULT_POLICIES
    num_opponents: tuple[int, ...] = (3,)
    horizon: tuple[int, ...] = (8,)
    episodes: int = 100
    truths: int = 64
    belief: str = DEFAULTS.belief
    rank: str = "any"
    beta: float = DEFAULTS.beta
    draw_margin: float = DEFAULTS.draw_margin

    def run(self) -> None:
        """Solve each size and print the tables."""
        found = run_optimum(
            self.policies,
            num_opponents=self.num_opponents,
            horizon=self.horizon,
            episodes=self.episodes,
            truths=self.truths,
            rank=self.rank,
            seed=self.seed,
            belief=self.belief,
            env_kwargs={"beta": self.beta, "draw_margin": self.draw_margin},
            workers=self.on_engine,
            out=self.out,
            quiet=self.quiet,
        )
        if not self.quiet:
            show("\n\n".join(findings.table() for findings in found))
