"""Command line: ``python -m matchenv.agents.clone --teacher kg:multiplier=20 --out FILE``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from matchenv.agents.cloning import CloningConfig, clone
from matchenv.agents.config_file import read_config
from matchenv.agents.policy_file import SUFFIX, save_policy
from matchenv.validation import as_integer

QUICK: dict[str, Any] = {
    "rounds": 2,
    "episodes": 2,
    "env_kwargs": {"num_opponents": 5, "horizon": 20, "belief": "full"},
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    options = _parser().parse_args(arguments)
    try:
        config = read_config(CloningConfig, "cloning.yml", options.config)
        if options.quick:
            config = replace(config, **QUICK)
        if options.teacher is not None:
            config = replace(config, teacher=options.teacher)
        seed = as_integer("seed", options.seed, 0)
        if options.out.suffix != SUFFIX:
            raise ValueError(f"out must end in {SUFFIX}, got {options.out}")
        torch.set_num_threads(as_integer("threads", options.threads, 1))
        student = config.new_student(seed, options.device)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        for done in clone(config, seed, student):
            # After each round: what was learnt is there even if the rest never is.
            save_policy(options.out, student, config.description())
            print(
                f"round {done.number} of {config.rounds}: same choice in {done.agreement:.1%}, "
                f"loss {done.loss:.4f}",
                flush=True,
            )
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m matchenv.agents.clone",
        description="Teach a network to choose as a teacher does; train.py --start-from goes on "
        "from there. See docs/learning.md.",
    )
    made.add_argument("--teacher", metavar="NAME",
                      help="a baseline or a learned policy (default: the file's)")  # fmt: skip
    made.add_argument("--out", type=Path, default=Path("runs/clone.safetensors"), metavar="FILE",
                      help="default: %(default)s")  # fmt: skip
    made.add_argument("--seed", type=int, default=0, metavar="S", help="default: %(default)s")
    made.add_argument("--config", type=Path, metavar="FILE",
                      help="YAML file (default: the package's own)")  # fmt: skip
    made.add_argument("--device", default="cpu",
                      help="of torch; auto: a GPU where there is one (default: cpu)")  # fmt: skip
    made.add_argument("--threads", type=int, default=1, metavar="T",
                      help="of torch (default: %(default)s)")  # fmt: skip
    made.add_argument("--quick", action="store_true", help="seconds, to see that it works")
    return made


if __name__ == "__main__":
    sys.exit(main())
