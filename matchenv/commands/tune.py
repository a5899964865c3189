"""``matchenv tune``: KG's multiplier for each cell of the study."""

from __future__ import annotations

from dataclasses import dataclass

from matchenv.benchmarks.tune.tuning import DEFAULTS, MULTIPLIERS, run_tuning, tuning_text
from matchenv.commands.output import show
from matchenv.commands.study import StudyCells


@dataclass(frozen=True, kw_only=True)
class Tune(StudyCells):
    """Find KG's multiplier for each cell of the study, on seeds of its own.

    Stopped at any moment, the same command goes on with it.

    Example:
        matchenv tune --out runs/tune --multiplier 5 20 99 --rank top --prior equal

    Attributes:
        multiplier: factors to be tried.
    """

    multiplier: tuple[float, ...] = MULTIPLIERS
    episodes: int = DEFAULTS["episodes"]
    prior_draws: int = DEFAULTS["prior_draws"]

    def run(self) -> None:
        """Try all and print the table."""
        tuning = run_tuning(self.multiplier, **self.arguments())
        if not self.quiet:
            show(tuning_text(tuning.tried), end="")
