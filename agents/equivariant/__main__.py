"""Command line: ``python -m matchenv.agents.equivariant --seeds 0 1 2 --out DIR``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from matchenv.agents.equivariant.folder import EquivariantFolder, read_equivariant_config
from matchenv.agents.equivariant.selection import train_seeds
from matchenv.validation import as_integer
from matchenv.workers import WorkerPool, checked_workers

QUICK: dict[str, Any] = {
    "generations": 2,
    "pairs": 2,
    "episodes": 2,
    "validation_episodes": 4,
    "env_kwargs": {"num_opponents": 5, "horizon": 20},
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    options = _parser().parse_args(arguments)
    try:
        config = read_equivariant_config(options.config)
        if options.quick:
            config = replace(config, **QUICK)
        seeds = [as_integer("seeds", seed, 0) for seed in options.seeds]
        workers = checked_workers(options.workers)
        folder = EquivariantFolder(options.out, config)
        folder.open()
        with WorkerPool(workers) as pool:
            train_seeds(folder, seeds, pool, lambda line: print(line, flush=True))
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m matchenv.agents.equivariant",
        description="Train the equivariant policy and keep the best seed; one that was stopped "
        "goes on. See docs/learning.md.",
    )
    made.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2], metavar="S",
                      help="one training each; none: the start only (default: 0 1 2)")  # fmt: skip
    made.add_argument("--out", type=Path, default=Path("runs/equivariant-training"), metavar="DIR",
                      help="default: %(default)s")  # fmt: skip
    made.add_argument("--config", type=Path, metavar="FILE",
                      help="YAML file (default: the package's own)")  # fmt: skip
    made.add_argument("--workers", type=int, metavar="W",
                      help="processes (default: all cores)")  # fmt: skip
    made.add_argument("--quick", action="store_true", help="seconds, to see that it works")
    return made


if __name__ == "__main__":
    sys.exit(main())
