"""``matchenv bound``: what no policy can exceed."""

from __future__ import annotations

from dataclasses import dataclass

from matchenv.benchmarks.bound import running
from matchenv.commands.options import (
    Cells,
    Parallel,
    Policies,
    Resumable,
    Seeded,
    Sizes,
    chosen,
)
from matchenv.commands.output import show


@dataclass(frozen=True, kw_only=True)
class Bound(Resumable, Parallel, Sizes, Seeded, Cells, Policies):
    """Bound the mean total of true q that any policy can reach, beside policies.

    See docs/limits.md.

    Example:
        matchenv bound --episodes 50 --rank middle --out runs/bound

    Attributes:
        episodes: instances in each cell.
        depth: games with an opponent until the bound counts the skill as told.
    """

    policy: tuple[str, ...] = running.DEFAULT_POLICIES
    rank: tuple[str, ...] = running.DEFAULT_RANKS
    prior: tuple[str, ...] = running.DEFAULT_PRIORS
    episodes: int = running.DEFAULT_EPISODES
    depth: int = running.DEFAULT_DEPTH

    def run(self) -> None:
        """Compute the bound, play the policies and print the table."""
        bounds = running.run_bound(
            self.policies,
            ranks=self.rank,
            priors=self.prior,
            episodes=self.episodes,
            seed=self.seed,
            env_kwargs=chosen(self, Sizes),
            depth=self.depth,
            workers=self.on_engine,
            out=self.out,
            quiet=self.quiet,
        )
        if not self.quiet:
            show(bounds.table())
