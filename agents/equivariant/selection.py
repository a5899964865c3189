"""Trainings of the equivariant policy from several seeds, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from matchenv.agents.equivariant.evolution import Generation
from matchenv.agents.equivariant.folder import EquivariantFolder, seed_name
from matchenv.agents.equivariant.network import EquivariantNetwork
from matchenv.agents.equivariant.training import (
    VALIDATION_CELLS,
    in_standard_deviations,
    network_with,
    parameters_of,
    start_and_scales,
    train,
    validate,
)
from matchenv.runtime.parallel import Mapper

Floats = NDArray[np.float64]

START = "start"
CELL_NAMES = tuple(f"{cell['rank']}, {cell['prior']}" for cell in VALIDATION_CELLS)


def train_seeds(
    folder: EquivariantFolder,
    seeds: list[int],
    pool: Mapper,
    say: Callable[[str], None] = lambda line: None,
    quiet: bool = True,
) -> None:
    """Train one network for each seed, go on with those begun, and keep the best of the folder.

    The best has the highest gain over the start on the validation seeds, in standard deviations,
    over all cells; the search maximises the same. All play the same validation seeds, which no
    training and no comparison uses.

    Args:
        folder: an open one; what it holds is not done again.
        seeds: of the trainings.
        pool: plays pairs and validations side by side.
        say: called with lines about the progress.
        quiet: no progress bar.
    """
    totals = folder.totals()
    if START not in totals:
        start = start_and_scales(folder.config)[0]
        folder.save_network(START, network_with(start))
        totals[START] = _validated(folder, pool, start)
        folder.save_totals(totals)
    for seed in dict.fromkeys(seeds):
        name = seed_name(seed)
        if name not in totals:
            network = _trained(folder, seed, pool, say, quiet)
            folder.save_network(name, network)
            totals[name] = _validated(folder, pool, parameters_of(network))
            folder.save_totals(totals)
        report = validation_report(totals)
        folder.save_report(report)
        folder.keep(report["kept"])
        mean = report["policies"][name]["mean_gain"]
        say(f"seed {seed}: {mean:+.3f} on the validation seeds, {report['kept']} is kept")


def _trained(
    folder: EquivariantFolder,
    seed: int,
    pool: Mapper,
    say: Callable[[str], None],
    quiet: bool,
) -> EquivariantNetwork:
    generations = folder.config.generations
    with tqdm(total=generations, desc=f"seed {seed}", unit="generation", disable=quiet) as bar:

        def keep(generation: Generation) -> None:
            folder.save_generation(seed, generation)
            bar.update(generation.number - bar.n)
            say(
                f"seed {seed}, generation {generation.number} of {generations}: "
                f"pairs differ by {generation.spread:.2f} standard deviations"
            )

        return train(folder.config, seed, pool, keep, folder.last_generation(seed))


def _validated(folder: EquivariantFolder, pool: Mapper, parameters: Floats) -> Floats:
    totals = pool.map(validate, repeat(parameters), repeat(folder.config), VALIDATION_CELLS)
    return np.stack([*totals])


def validation_report(totals: dict[str, Floats]) -> dict[str, Any]:
    """What the validation says of each policy, and which one to keep.

    Args:
        totals: sums of true draw densities by name, shape (cells, episodes), paired; those
            under ``"start"`` are the index that training starts from.

    Returns:
        ``policies``: by name, for each cell the mean total, the gain over the start and its
        standard error; over all cells the mean gain and the mean standardised gain (in
        standard deviations of a cell's paired differences) with their standard errors.
        ``kept``: the name of the trained policy with the highest standardised gain.
    """
    policies = {name: _summary(each, each - totals[START]) for name, each in totals.items()}
    trained = [name for name in totals if name != START]
    return {
        "kept": max(trained, key=lambda name: float(policies[name]["standardised_gain"])),
        "policies": policies,
    }


def _summary(totals: Floats, gains: Floats) -> dict[str, Any]:
    root = np.sqrt(gains.shape[1])
    standardised = in_standard_deviations(gains, gains)
    summary: dict[str, Any] = {}
    # Cells share the seeds of their episodes, so that errors are of means over cells.
    for name, each in (("mean_gain", gains), ("standardised_gain", standardised)):
        summary[name] = float(each.mean())
        summary[f"{name}_standard_error"] = float(each.mean(axis=0).std(ddof=1) / root)
    summary["cells"] = {
        cell: {
            "total": float(totals[row].mean()),
            "gain": float(gains[row].mean()),
            "standard_error": float(gains[row].std(ddof=1) / root),
        }
        for row, cell in enumerate(CELL_NAMES)
    }
    return summary
