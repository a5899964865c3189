"""``matchenv clone``: a network learns to choose as a policy does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from matchenv.commands.learning import Learning
from matchenv.commands.options import GOES_ON, Seeded
from matchenv.commands.output import show

QUICK: dict[str, Any] = {
    "rounds": 2,
    "episodes": 2,
    "env_kwargs": {"num_opponents": 5, "horizon": 20, "belief": "full"},
}


@dataclass(frozen=True, kw_only=True)
class Clone(Learning, Seeded):
    """Teach a network to choose as a teacher does; train --start-from goes on.

    See docs/learning.md.

    Example:
        matchenv clone --teacher kg:multiplier=20 --out runs/clone.safetensors

    Attributes:
        teacher: a policy, as in matchenv compare (default: the file's).
        out: file of the weights.
        quick: seconds, to see that it works.
    """

    teacher: str | None = None
    SHOWN_BY = "compare --policy {}"

    out: Path = Path("runs/clone.safetensors")
    quick: bool = False

    @property
    def note(self) -> str:
        """What to say when it is stopped."""
        return GOES_ON

    @property
    def results(self) -> Path | None:
        """The file of the weights."""
        return self.out

    def run(self) -> None:
        """Teach round by round; the weights are written after each."""
        from matchenv.agents.cloning import CloningConfig, Round, run_cloning
        from matchenv.agents.config_file import read_config

        config = read_config(CloningConfig, "cloning.yml", self.config)
        if self.quick:
            config = replace(config, **QUICK)
        if self.teacher is not None:
            config = replace(config, teacher=self.teacher)

        with tqdm(total=config.rounds, unit="round", disable=self.quiet) as bar:

            def report(done: Round) -> None:
                bar.update(done.number - bar.n)
                if not self.quiet:
                    with tqdm.external_write_mode():
                        show(
                            f"round {done.number} of {config.rounds}: same choice in "
                            f"{done.agreement:.1%}, loss {done.loss:.4f}",
                            flush=True,
                        )

            run_cloning(
                config,
                self.out,
                seed=self.seed,
                device=self.device,
                threads=self.threads,
                report=report,
            )
