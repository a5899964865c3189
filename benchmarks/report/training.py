"""Trainings on the page: learning curves over their seeds, beside baselines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
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
from matchenv.benchmarks.report.page import Block, Section, add_line, new_figure, pivot

Floats = NDArray[np.float64]

RETURN = "mean_return"
# The axis of learning curves begins so far below the baselines: random weights would flatten it.
BELOW_BASELINES = 10.0
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
    name = f"{of or 'reward_'}minus_{rival}'s" if less else measure
    return name.replace("_", " ")


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
            if found.empty or found[RETURN].isna().any():
                raise ValueError("it holds no evaluation")
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{folder.evaluations_file} is damaged: {error}") from None
        runs.append(Run(folder.path, folder.read_config(), found))
    return runs


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
    same = attrgetter("algorithm", "hyperparameters", "env_kwargs", "start_from")
    trainings = alike(runs, lambda run: same(run.config))
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
    """Return where the baselines lie in the first evaluations; none but for what counts.

    Args:
        runs: at least one, evaluated on the same games.
        measure: a number of their evaluations.
    """
    problem = PROBLEMS[runs[0].config.environment]
    first = pd.DataFrame([run.evaluations.iloc[0] for run in runs])
    rivals = problem.rivals if measure == problem.goal else ()
    differences = {rival: f"{problem.difference}_{rival}" for rival in rivals}
    return {
        rival: float((first[measure] - first[name]).mean())
        for rival, name in differences.items() if name in first
    }  # fmt: skip


def training_sections(folders: Sequence[Path]) -> list[Section]:
    """Return a section for the runs of the same games."""
    return [
        _section(runs) for runs in alike(read_runs(folders), lambda run: run.config.comparison())
    ]


def _section(runs: list[Run]) -> Section:
    first = runs[0].config
    problem = PROBLEMS[first.environment]
    last = pd.DataFrame([run.evaluations.iloc[-1] for run in runs])
    numbers = {
        title_of(name): [format(each, "+.2f" if "less" in name else ".2f") for each in last[name]]
        for name in dict.fromkeys((problem.goal, *problem.means, RETURN)) if name in last
    }  # fmt: skip
    cells = pd.DataFrame({
        "run": [run.path.name for run in runs],
        "algorithm": [run.config.algorithm for run in runs],
        "seed": [str(run.config.seed) for run in runs],
        "games learned from": [f"{each:,}" for each in last.index],
        **numbers,
    })  # fmt: skip
    charts = dict.fromkeys((problem.goal, RETURN))
    blocks = [_chart(runs, name) for name in charts if name in last]
    ends = [
        (run.path.name, each.title, each.difference)
        for run in runs if (RunFolder(run.path).comparison / "comparison.json").is_file()
        for _, standings in [read_standings(RunFolder(run.path).comparison)]
        for each in standings if each.policy == standings[0].policy
    ]  # fmt: skip
    if ends:
        title = "The final comparison: differences to the policy that counts"
        blocks.append(pivot(title, "cell", ends, 2))
    return Section(
        title=f"train: {', '.join(run.path.name for run in runs)}",
        lead=(
            f"{'1 run' if len(runs) == 1 else f'{len(runs)} runs'} in {first.environment}, "
            f"evaluated on held-out episodes that {' and '.join(problem.rivals)} play too. "
            "Numbers are sums over an episode."
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
    ends, levels = [0, max(run.evaluations.index[-1] for run in runs)], levels_of(runs, measure)
    for rival, level in levels.items():
        add_line(figure, rival, ends, [level, level], line_dash="dot")
    if levels:
        low = min(levels.values()) - BELOW_BASELINES
        best = max(float(np.max(each.y)) for each in figure.data)
        figure.update_yaxes(range=[low, best + 0.05 * (best - low)])
    note = f"Interquartile means; bands: {'; '.join(sorted(bands))}" if bands else ""
    return Block(f"Learning curves: {title_of(measure)}", figure, note)
