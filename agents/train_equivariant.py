"""Command line: ``python -m agents.train_equivariant --seeds 0 1 2 --out DIR``."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from agents.equivariant_policy import description_of, new_equivariant_policy
from agents.equivariant_training import (
    VALIDATION_CELLS,
    EquivariantConfig,
    parameters_of,
    start_and_scales,
    train,
    validate,
)
from agents.evolution import Generation
from agents.policy_file import save_policy
from matchenv.atomic_files import write_text
from matchenv.validation import as_integer

CONFIG = "hyperparameters/equivariant.yml"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    options = _parser().parse_args(arguments)
    try:
        config = read_config(options.config)
        if options.quick:
            config = replace(config, generations=2, pairs=2, episodes=2, validation_episodes=4,
                             env_kwargs={"num_opponents": 5, "horizon": 20})  # fmt: skip
        for seed in options.seeds:
            as_integer("seeds", seed, 0)
        _train_all(config, options.seeds, options.out, options.workers)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def read_config(path: Path | None = None) -> EquivariantConfig:
    """The configuration in a YAML file; None reads the package's own.

    Raises:
        ValueError: for a file that is missing or damaged, or a bad value.
    """
    try:
        text = (files("agents").joinpath(CONFIG) if path is None else path).read_text("utf-8")
        content = yaml.safe_load(text)
    except (OSError, yaml.YAMLError) as error:
        raise ValueError(f"config must be a readable YAML file: {error}") from None
    names = {each.name for each in fields(EquivariantConfig)} - {"names"}
    if not isinstance(content, dict) or set(content) != names:
        raise ValueError(f"config must have the entries {', '.join(sorted(names))}")
    return EquivariantConfig(**content)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description="Train the equivariant policy and keep the best seed. See docs/learning.md."
    )
    made.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], metavar="S",
                      help="one training each (default: 0 1 2)")  # fmt: skip
    made.add_argument("--out", type=Path, default=Path("runs/equivariant-training"), metavar="DIR",
                      help="default: %(default)s")  # fmt: skip
    made.add_argument("--config", type=Path, metavar="FILE",
                      help="YAML file (default: the package's own)")  # fmt: skip
    made.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="W",
                      help="processes (default: all cores)")  # fmt: skip
    made.add_argument("--quick", action="store_true", help="seconds, to see that it works")
    return made


def _train_all(config: EquivariantConfig, seeds: list[int], out: Path, workers: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    start = parameters_of_start(config)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(as_integer("workers", workers, 1), context) as executor:
        baseline = _validated(executor, config, start)
        results: dict[str, Any] = {"start": _summary(baseline), "seeds": {}}
        kept, best = None, -np.inf
        for seed in seeds:
            network = train(config, seed, executor, _reporter(seed, config.generations))
            parameters = parameters_of(network)
            totals = _validated(executor, config, parameters)
            save_policy(
                out / f"policy-seed{seed}.safetensors",
                new_equivariant_policy(config.env_kwargs, network),
                description_of(config.env_kwargs),
            )
            gain = float(np.mean([(totals[cell] - baseline[cell]).mean() for cell in totals]))
            results["seeds"][str(seed)] = {**_summary(totals, baseline), "mean_gain": gain}
            if gain > best:
                kept, best = seed, gain
            results["kept"] = kept
            write_text(out / "validation.json", json.dumps(results, indent=2) + "\n")
            print(f"seed {seed}: {gain:+.3f} on the validation seeds", flush=True)
    (out / "policy.safetensors").write_bytes((out / f"policy-seed{kept}.safetensors").read_bytes())


def parameters_of_start(config: EquivariantConfig) -> Any:
    """Parameters of the index that training starts from."""
    return start_and_scales(config)[0]


def _validated(executor: Any, config: EquivariantConfig, parameters: Any) -> dict[str, Any]:
    futures = {
        f"{cell['rank']}, {cell['prior']}": executor.submit(validate, parameters, config, cell)
        for cell in VALIDATION_CELLS
    }
    return {name: future.result() for name, future in futures.items()}


def _summary(totals: dict[str, Any], baseline: dict[str, Any] | None = None) -> dict[str, Any]:
    summary: dict[str, Any] = {name: {"total": float(each.mean())} for name, each in totals.items()}
    if baseline is not None:
        for name, each in totals.items():
            gain = each - baseline[name]
            summary[name]["gain"] = float(gain.mean())
            summary[name]["standard_error"] = float(gain.std(ddof=1) / np.sqrt(gain.size))
    return summary


def _reporter(seed: int, generations: int) -> Any:
    def report(generation: Generation) -> None:
        print(
            f"seed {seed}, generation {generation.number} of {generations}: "
            f"pairs differ by {generation.spread:.2f}",
            flush=True,
        )

    return report


if __name__ == "__main__":
    sys.exit(main())
