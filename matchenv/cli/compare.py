"""``matchenv compare``: policies on the same games."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from matchenv.benchmarks.compare import comparison
from matchenv.cli.options import (
    Cells,
    Environment,
    Parallel,
    Policies,
    Resumable,
    Seeded,
    chosen,
)
from matchenv.cli.output import show
from matchenv.cli.queue_options import EitherEnvironment


@dataclass(frozen=True, kw_only=True)
class Compare(EitherEnvironment, Resumable, Parallel, Environment, Seeded, Cells, Policies):
    """Play the same games with every policy, and compare the true draw densities.

    With --env MatchmakingQueue-v0 it plays the same players and noise with policies of the queue,
    and compares rewards, qualities and waiting times. See docs/benchmarks.md and docs/queue.md.

    Example:
        matchenv compare --policy pe 'kg:multiplier={10,20}' --rank top

    Attributes:
        against: whom differences are taken to.
        episodes: instances in each cell, runs under each load.
        noise: what a game's random numbers depend on: opponent, the opponent and how often one has
            met them, or game, the number of the game.
        timing: write decisions per second into the files too.
    """

    policy: tuple[str, ...] = comparison.DEFAULT_POLICIES
    against: str = "kg"
    rank: tuple[str, ...] = comparison.DEFAULT_RANKS
    prior: tuple[str, ...] = comparison.DEFAULT_PRIORS
    episodes: int = comparison.DEFAULT_EPISODES
    noise: Literal["opponent", "game"] = "opponent"
    timing: bool = False

    def run(self) -> None:
        """Play and print the table."""
        if self.in_queue:
            self._in_the_queue()
            return
        comparison.run_comparison(
            self.policies,
            against=self.against,
            ranks=self.rank,
            priors=self.prior,
            episodes=self.episodes,
            seed=self.seed,
            env_kwargs={**chosen(self, Environment), "noise": self.noise},
            workers=self.on_engine,
            out=self.out,
            timing=self.timing,
            quiet=self.quiet,
            report=None if self.quiet else lambda found: show(found.table()),
        )

    def _in_the_queue(self) -> None:
        from matchenv.benchmarks.queue.comparison import DEFAULT_POLICIES, run_queue_comparison

        # Nobody asked for policies: those of the queue, which are others.
        asked = self.policy != comparison.DEFAULT_POLICIES
        run_queue_comparison(
            self.policies if asked else DEFAULT_POLICIES,
            against=self.against,
            loads=self.load,
            episodes=self.episodes,
            seed=self.seed,
            env_kwargs=self.queue_options(),
            workers=self.on_engine,
            out=self.out,
            timing=self.timing,
            quiet=self.quiet,
            report=None if self.quiet else lambda found: show(found.table()),
        )
