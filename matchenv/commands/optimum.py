"""``matchenv optimum``: the exact optimum of small problems."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from matchenv.benchmarks.optimum.report import table_text, write_files
from matchenv.benchmarks.optimum.running import DEFAULT_POLICIES, run_optimum
from matchenv.commands.options import (
    DEFAULTS,
    Policies,
    Seeded,
    Written,
)


@dataclass(frozen=True, kw_only=True)
class Optimum(Written, Seeded, Policies):
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
        """Solve each size and print its table."""
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
        found = []
        for opponents, games in product(self.num_opponents, self.horizon):
            findings = run_optimum(
                self.policies,
                opponents=opponents,
                games=games,
                instances=self.episodes,
                truths=self.truths,
                rank=self.rank,
                seed=self.seed,
                belief=self.belief,
                env_kwargs={"beta": self.beta, "draw_margin": self.draw_margin},
                quiet=self.quiet,
            )
            found.append(findings)
            if not self.quiet:
                print(f"{table_text(findings)}\n", flush=True)
        if self.out is not None:
            write_files(found, self.out)
