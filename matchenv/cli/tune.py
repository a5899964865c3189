"""``matchenv tune``: KG's multiplier for each cell of the study, or the queue's policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from matchenv.benchmarks.tune.tuning import DEFAULTS, MULTIPLIERS, run_tuning, tuning_text
from matchenv.cli.options import Policies
from matchenv.cli.output import show
from matchenv.cli.queue_options import EitherEnvironment
from matchenv.cli.study import StudyCells


@dataclass(frozen=True, kw_only=True)
class Tune(EitherEnvironment, StudyCells, Policies):
    """Find KG's multiplier for each cell of the study, on seeds of its own.

    With --env MatchmakingQueue-v0, the best setting of each policy of the queue under each load,
    and the front of waiting time against quality. Stopped at any moment, the same command goes on
    with it.

    Example:
        matchenv tune --out runs/tune --multiplier 5 20 99 --rank top --prior equal

    Attributes:
        multiplier: factors to be tried.
        measure: in the queue, what is maximised.
    """

    multiplier: tuple[float, ...] = MULTIPLIERS
    episodes: int = DEFAULTS["episodes"]
    prior_draws: int = DEFAULTS["prior_draws"]
    measure: Literal["true_reward", "reward"] = "true_reward"

    def check_given(self, given: set[str]) -> None:
        """Refuse options that mean nothing here."""
        super().check_given(given)
        if "policy" in given and not self.in_queue:
            raise ValueError("--policy must come with --env MatchmakingQueue-v0")

    def run(self) -> None:
        """Try all and print the table."""
        if self.in_queue:
            text = self._in_the_queue()
        else:
            text = tuning_text(run_tuning(self.multiplier, **self.arguments()).tried)
        if not self.quiet:
            show(text, end="")

    def _in_the_queue(self) -> str:
        from matchenv.benchmarks.queue.tuning import DEFAULT_POLICIES, run_queue_tuning
        from matchenv.evaluation.registry import expanded

        return run_queue_tuning(
            self.policies if self.policy else expanded(DEFAULT_POLICIES),
            loads=self.load,
            measure=self.measure,
            episodes=self.episodes,
            seed=self.seed,
            env_kwargs=self.queue_options(),
            workers=self.on_engine,
            out=self.out,
            quiet=self.quiet,
        ).text()
