"""``matchenv bound``: what no policy can exceed."""

from __future__ import annotations

from dataclasses import dataclass

from matchenv.benchmarks.bound import running
from matchenv.benchmarks.bound.marks import FILE, run_marks
from matchenv.cli.options import (
    Cells,
    Parallel,
    Policies,
    Resumable,
    Seeded,
    Sizes,
    chosen,
)
from matchenv.cli.output import show


@dataclass(frozen=True, kw_only=True)
class Bound(Resumable, Parallel, Sizes, Seeded, Cells, Policies):
    """Bound the mean total of true q that any policy can reach, beside policies.

    See docs/limits.md.

    Example:
        matchenv bound --episodes 50 --rank middle --out runs/bound

    Attributes:
        marks: bound the main families of the benchmark instead; see docs/bench.md.
        episodes: instances in each cell.
        depth: games with an opponent until the bound counts the skill as told.
    """

    marks: bool = False
    policy: tuple[str, ...] = running.DEFAULT_POLICIES
    rank: tuple[str, ...] = running.DEFAULT_RANKS
    prior: tuple[str, ...] = running.DEFAULT_PRIORS
    episodes: int = running.DEFAULT_EPISODES
    depth: int = running.DEFAULT_DEPTH

    def check_given(self, given: set[str]) -> None:
        """The benchmark fixes what is played."""
        fixed = given & {"policy", "rank", "prior", "episodes", "seed", "num_opponents",
                         "horizon", "beta"}  # fmt: skip
        if self.marks and fixed:
            words = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(fixed))
            raise ValueError(f"--marks must stand without {words}: the benchmark fixes them")
        if self.marks and self.out is None:
            raise ValueError("--marks must come with --out, a folder for its families")

    def run(self) -> None:
        """Compute the bound, play the policies and print the table."""
        if self.marks and self.out is not None:
            run_marks(self.out, depth=self.depth, workers=self.on_engine, quiet=self.quiet)
            if not self.quiet:
                show(f"written to {self.out / FILE}")
            return
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
