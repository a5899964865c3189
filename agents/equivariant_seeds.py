"""Trainings of the equivariant policy from several seeds, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.equivariant_folder import EquivariantFolder, seed_name
from agents.equivariant_training import (
    VALIDATION_CELLS,
    network_with,
    parameters_of,
    start_and_scales,
    train,
    validate,
)
from agents.evolution import Generation

Floats = NDArray[np.float64]

START = "start"
CELL_NAMES = tuple(f"{cell['rank']}, {cell['prior']}" for cell in VALIDATION_CELLS)


def train_seeds(
    folder: EquivariantFolder,
    seeds: list[int],
    executor: Executor,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Train one network for each seed, go on with those begun, and keep the best of the folder.

    The best is the one with the highest mean total over the validation seeds of all cells.
    They are the same for all, and no training and no comparison uses them.

    Args:
        folder: an open one; what it has already is not done again.
        seeds: of the trainings.
        executor: plays pairs and validations side by side.
        say: takes a line on how far it is.
    """
    totals = folder.totals()
    config = folder.config
    if START not in totals:
        start = start_and_scales(config)[0]
        folder.save_network(START, network_with(start))
        totals[START] = _validated(folder, executor, start)
        folder.save_totals(totals)
    for seed in dict.fromkeys(seeds):
        name = seed_name(seed)
        if name not in totals:

            def keep(generation: Generation, seed: int = seed) -> None:
                folder.save_generation(seed, generation)
                say(
                    f"seed {seed}, generation {generation.number} of {config.generations}: "
                    f"pairs differ by {generation.spread:.2f}"
                )

            network = train(config, seed, executor, keep, folder.last_generation(seed))
            folder.save_network(name, network)
            totals[name] = _validated(folder, executor, parameters_of(network))
            folder.save_totals(totals)
        report = validation_report(totals)
        folder.save_report(report)
        folder.keep(report["kept"])
        say(f"seed {seed}: {report['policies'][name]['mean_gain']:+.3f} on the validation seeds")


def _validated(folder: EquivariantFolder, executor: Executor, parameters: Floats) -> Floats:
    futures = [
        executor.submit(validate, parameters, folder.config, cell) for cell in VALIDATION_CELLS
    ]
    return np.stack([future.result() for future in futures])


def validation_report(totals: dict[str, Floats]) -> dict[str, Any]:
    """What the validation says of each policy, and which one to keep.

    Args:
        totals: sums of true draw densities by name, shape (cells, episodes), paired; those
            under ``"start"`` are the index that training starts from.

    Returns:
        ``policies``: by name, the mean total, the gain over the start and its standard error
        in each cell, and the mean gain over all cells with its standard error; ``kept``: the
        name of the trained policy with the highest mean gain.
    """
    policies: dict[str, Any] = {}
    for name, each in totals.items():
        gain = each - totals[START]
        errors = gain.std(axis=1, ddof=1) / np.sqrt(gain.shape[1])
        policies[name] = {
            "mean_gain": float(gain.mean()),
            # Cells share the seeds of their episodes.
            "mean_gain_standard_error": float(
                gain.mean(axis=0).std(ddof=1) / np.sqrt(gain.shape[1])
            ),
            "cells": {
                cell: {
                    "total": float(each[row].mean()),
                    "gain": float(gain[row].mean()),
                    "standard_error": float(errors[row]),
                }
                for row, cell in enumerate(CELL_NAMES)
            },
        }
    trained = [name for name in totals if name != START]
    return {
        "kept": max(trained, key=lambda name: float(policies[name]["mean_gain"])),
        "policies": policies,
    }
