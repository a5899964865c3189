"""Trainings on the page: learning curves over their seeds, beside KG and DrawChance."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import trim_mean

from matchenv.agents.environments import PROBLEMS
from matchenv.agents.learned_names import CONFIG
from matchenv.agents.run_config import RunConfig, RunFolder
from matchenv.benchmarks.report.comparisons import read_standings
from matchenv.benchmarks.report.page import (
    Block,
    Section,
    add_level,
    add_line,
    new_figure,
    pivot,
)

Floats = NDArray[np.float64]

# Numbers of an evaluation, and the titles of their axes.
MINUS_KG, TRUE_Q, RETURN = "true_q_less_kg", "true_draw_density", "mean_return"
TITLES = {
    MINUS_KG: "true q of an episode minus KG's",
    TRUE_Q: "true q of an episode",
    RETURN: "return of an episode",
}
# Policies on the same games, and the difference to them in an evaluation.
RIVAL_KEYS = {"KG": MINUS_KG, "DrawChance": "true_q_less_drawchance"}
# Where the axis of learning curves begins.
BELOW_DRAWCHANCE = 10.0
# With fewer seeds a band of the middle half would hold next to nothing.
LEAST_FOR_QUARTILES = 4


class Run(NamedTuple):
    """One training run with its evaluations."""

    path: Path  # its folder
    config: RunConfig  # how it was trained
    evaluations: pd.DataFrame  # one or more: their numbers, by games learned from


def title_of(measure: str) -> str:
    """Return the title of a number of an evaluation."""
    of, less, rival = measure.rpartition("less_")
    name = f"{of or 'reward'} minus {rival}'s" if less else measure
    return TITLES.get(measure, name.replace("_", " "))


def runs_in(path: Path) -> list[Path]:
    """Return folders of runs that have been evaluated: this folder, and those below it."""
    folders = sorted(file.parent for file in path.rglob(CONFIG))
    return [folder for folder in folders if RunFolder(folder).evaluations_file.is_file()]


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Return the run of each folder, each once.

    Raises:
        ValueError: for a damaged file.
    """
    runs = []
    for folder in map(RunFolder, {each.resolve(): each for each in folders}.values()):
        try:
            found = pd.DataFrame(folder.read_evaluations())
            found = found.set_index("timesteps").astype(float)
            if not found["episodes"].size or found[RETURN].isna().any():
                raise ValueError("it holds no evaluation")
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{folder.evaluations_file} is damaged: {error}") from None
        runs.append(Run(folder.path, folder.read_config(), found))
    return runs


def training_of(run: Run) -> list[Any]:
    """Return what runs that differ in their seed alone have in common."""
    config = run.config
    return [config.algorithm, config.hyperparameters, config.env_kwargs, config.start_from]


def alike(runs: Iterable[Run], of: Callable[[Run], Any]) -> list[list[Run]]:
    """Return the runs in groups that have something in common."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(json.dumps(of(run), sort_keys=True, default=str), []).append(run)
    return list(groups.values())


def curves_of(runs: Sequence[Run], measure: str) -> dict[str, pd.DataFrame]:
    """Return the curves of each training, by its name; runs that differ in their seed share it.

    Where runs were evaluated at different times, values between evaluations are interpolated, and
    the curves end where the shortest run does.

    Args:
        runs: at least one.
        measure: a number of their evaluations.

    Returns:
        Values by games learned from, a column for each seed.
    """
    trainings = alike(runs, training_of)
    names = [each[0].config.algorithm for each in trainings]
    curves = {}
    for name, each in zip(names, trainings, strict=True):
        label = name if names.count(name) == 1 else f"{name} ({each[0].path})"
        seeds = dict(enumerate(run.evaluations[measure] for run in each))
        found = pd.concat(seeds, axis=1).sort_index()
        curves[label] = found.interpolate("index", limit_area="inside").dropna()
    return curves


def middle_of(curves: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return the interquartile mean over the seeds, and the ends of the middle half.

    Of few seeds the ends are the lowest and the highest value.

    Source: Agarwal et al. (2021), "Deep reinforcement learning at the edge of the statistical
    precipice".
    """
    share = 0.25 if curves.shape[1] >= LEAST_FOR_QUARTILES else 0.0
    low, high = curves.quantile([share, 1.0 - share], axis=1).to_numpy()
    return np.asarray(trim_mean(curves, 0.25, axis=1)), low, high


def levels_of(runs: Sequence[Run], measure: str) -> dict[str, float]:
    """Return KG and DrawChance in the first evaluation, on the same games, if they have a level.

    Args:
        runs: at least one, evaluated on the same games.
        measure: a number of their evaluations.
    """
    first = pd.DataFrame([run.evaluations.iloc[0] for run in runs])
    if measure not in (MINUS_KG, TRUE_Q) or not {TRUE_Q, *RIVAL_KEYS.values()} <= {*first}:
        return {}
    totals = {name: float((first[TRUE_Q] - first[key]).mean()) for name, key in RIVAL_KEYS.items()}
    zero = totals["KG"] if measure == MINUS_KG else 0.0
    return {name: total - zero for name, total in totals.items()}


def training_sections(folders: Sequence[Path]) -> list[Section]:
    """Return a section for the runs of the same games."""
    return [
        _section(runs) for runs in alike(read_runs(folders), lambda run: run.config.comparison())
    ]


def _section(runs: list[Run]) -> Section:
    first = runs[0].config
    problem = PROBLEMS[first.environment]
    last = pd.DataFrame([run.evaluations.iloc[-1] for run in runs])
    measures = [
        name for name in dict.fromkeys((MINUS_KG, TRUE_Q, problem.goal, RETURN)) if name in last
    ]
    numbers = {
        title_of(name): [format(each, "+.2f" if "less" in name else ".2f") for each in last[name]]
        for name in measures
    }
    cells = pd.DataFrame({
        "run": [run.path.name for run in runs],
        "algorithm": [run.config.algorithm for run in runs],
        "seed": [str(run.config.seed) for run in runs],
        "games learned from": [f"{each:,}" for each in last.index],
        **numbers,
    })  # fmt: skip
    blocks = [_chart(runs, name) for name in measures]
    compared = {run.path.name: RunFolder(run.path).comparison for run in runs}
    ends = [
        (name, each.title, each.difference)
        for name, folder in compared.items() if (folder / "comparison.json").is_file()
        for _, standings in [read_standings(folder)]
        for each in standings if each.policy == standings[0].policy
    ]  # fmt: skip
    if ends:
        title = "The final comparison: differences to the policy that counts"
        blocks.append(pivot(title, "cell", ends, 2))
    return Section(
        title=f"train: {', '.join(run.path.name for run in runs)}",
        lead=(
            f"{'1 run' if len(runs) == 1 else f'{len(runs)} runs'} in {first.environment}, "
            f"evaluated on held-out episodes that {' and '.join(problem.rivals)} play too"
            f"{'; q is the draw density, summed over an episode' if TRUE_Q in last else ''}."
        ),
        settings={
            "seeds": ", ".join(str(run.config.seed) for run in runs),
            "algorithm": first.algorithm,
            **first.hyperparameters,
            **first.env_kwargs,
        },
        versions=first.versions,
        blocks=[*blocks, Block("Last evaluations", cells)],
    )


def _chart(runs: Sequence[Run], measure: str) -> Block:
    figure = new_figure("games learned from", title_of(measure), hovermode="x unified")
    bands = []
    for label, curves in curves_of(runs, measure).items():
        seeds = curves.shape[1]
        if seeds > 1:
            held = "middle half" if seeds >= LEAST_FOR_QUARTILES else "all"
            bands.append(f"{label}: {held} of {seeds} seeds")
        add_line(figure, label, curves.index, *middle_of(curves))
    levels = levels_of(runs, measure)
    for place, label in enumerate(sorted(levels, key=lambda name: -levels[name])):
        # Neighbours are named at different ends: they may lie close together.
        add_level(figure, levels[label], label, side=("right", "left")[place % 2])
    if levels:
        # Random weights lie so far below that they would flatten all that matters.
        best = max(*levels.values(), *(float(np.max(each.y)) for each in figure.data))
        low = levels["DrawChance"] - BELOW_DRAWCHANCE
        figure.update_yaxes(range=[low, best + 0.05 * (best - low)])
    note = f"Interquartile means; bands: {'; '.join(sorted(bands))}" if bands else ""
    return Block(f"Learning curves: {title_of(measure)}", figure, note)
