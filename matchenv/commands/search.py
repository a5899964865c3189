"""``matchenv search``: the equivariant policy, trained from several seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from matchenv.commands.options import Kept, Parallel
from matchenv.commands.output import show

QUICK: dict[str, Any] = {
    "generations": 2,
    "pairs": 2,
    "episodes": 2,
    "validation_episodes": 4,
    "env_kwargs": {"num_opponents": 5, "horizon": 20},
}


@dataclass(frozen=True, kw_only=True)
class Search(Kept, Parallel):
    """Train the equivariant policy by evolution strategies, and keep the best seed.

    Stopped at any moment, the same command goes on with it. See docs/learning.md.

    Example:
        matchenv search --seed 0 1 2 --out runs/equivariant-training

    Attributes:
        seed: one training for each; none: the start only.
        config: YAML file of the settings (default: the package's own).
        quick: seconds, to see that it works.
    """

    SHOWN_BY = "compare --policy {}/policy.safetensors"

    out: Path = Path("runs/equivariant-training")
    seed: tuple[int, ...] = (0, 1, 2)
    config: Path | None = None
    quick: bool = False

    @property
    def extras(self) -> tuple[str, ...]:
        """It needs torch."""
        return ("agents",)

    def run(self) -> None:
        """Train what is missing, with a line on each generation."""
        from matchenv.agents.equivariant.folder import EquivariantFolder, read_equivariant_config
        from matchenv.agents.equivariant.selection import train_seeds
        from matchenv.agents.run_config import LARGEST_SEED
        from matchenv.runtime.checks import as_integer
        from matchenv.runtime.files import folder_lock

        config = read_equivariant_config(self.config)
        if self.quick:
            config = replace(config, **QUICK)
        seeds = [as_integer("seed", seed, 0, LARGEST_SEED) for seed in self.seed]
        engine = self.on_engine
        folder = EquivariantFolder(self.out, config)
        with folder_lock(self.out), engine.pool() as pool:
            folder.open()
            train_seeds(folder, seeds, pool, self._say, self.quiet)

    def _say(self, line: str) -> None:
        if not self.quiet:
            with tqdm.external_write_mode():
                show(line, flush=True)
