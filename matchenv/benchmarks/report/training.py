"""Sections of trainings: learning curves over seeds, with baselines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import trim_mean

from matchenv.agents.environments import training_of
from matchenv.agents.run_config import RunConfig, RunFolder
from matchenv.benchmarks.report.comparisons import json_of, standings_of
from matchenv.benchmarks.report.page import Block, Section, add_line, new_figure, pivot
from matchenv.runtime.arrays import Floats

RETURN = "mean_return"
# Share of the rise to the lowest baseline or last value that charts show: all of that from random
# weights would flatten the rest.
SHOWN_RISE = 0.2
LEAST_FOR_QUARTILES = 4  # with fewer seeds, bands show all of them


class Run(NamedTuple):
    """A training run with its evaluations."""

    path: Path  # folder of the run
    config: RunConfig
    evaluations: pd.DataFrame  # a row per evaluation, indexed by games learned from


def title_of(measure: str) -> str:
    """Return the title of a measure of an evaluation."""
    of, less, rival = measure.rpartition("less_")
    name = f"{of or 'reward_'}minus_{rival}'s" if less else measure
    return name.replace("_", " ")


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Return the run of each distinct folder.

    Raises:
        ValueError: for a damaged file.
    """
    runs = []
    for folder in map(RunFolder, {path.resolve(): path for path in folders}.values()):
        try:
            evaluations = pd.DataFrame(folder.read_evaluations())
            evaluations = evaluations.set_index("timesteps").astype(float)
            if evaluations.empty or evaluations[RETURN].isna().any():
                raise ValueError("it contains no evaluation")
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{folder.evaluations_file} is damaged: {error}") from None
        runs.append(Run(folder.path, folder.read_config(), evaluations))
    return runs


def alike(runs: Iterable[Run], of: Callable[[Run], Any]) -> list[list[Run]]:
    """Group runs by equal values of ``of``."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(json.dumps(of(run), sort_keys=True, default=str), []).append(run)
    return list(groups.values())


def trainings_of(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs of each training by its name; they differ in their seed."""
    shared = attrgetter("algorithm", "hyperparameters", "env_kwargs", "start_from")
    trainings = alike(runs, lambda run: shared(run.config))
    names = [seeds[0].config.algorithm for seeds in trainings]
    return {
        name if names.count(name) == 1 else f"{name} ({seeds[0].path})": seeds
        for name, seeds in zip(names, trainings, strict=True)
    }


def values_of(settings: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return the value of each setting of some trainings, or each value with its trainings."""
    found = {}
    for name in dict.fromkeys(chain.from_iterable(each for _, each in settings)):
        owned = [(str(each.get(name, "not given")), owner) for owner, each in settings]
        first, *others = dict(owned)
        texts = (f"{value} in {owner}" for value, owner in dict.fromkeys(owned))
        found[name] = "; ".join(texts) if others else first
    return found


def curves_of(runs: Sequence[Run], measure: str) -> dict[str, pd.DataFrame]:
    """Return the learning curves of each training by name.

    Values are indexed by games learned from, with a column per seed. Runs evaluated at different
    times are interpolated, up to the end of the shortest run.
    """
    curves = {}
    for label, seeds in trainings_of(runs).items():
        values = dict(enumerate(run.evaluations[measure] for run in seeds))
        table = pd.concat(values, axis=1).sort_index()
        curves[label] = table.interpolate("index", limit_area="inside").dropna()
    return curves


def middle_of(curves: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return the interquartile mean over seeds, and the limits of the middle half.

    With few seeds the limits are the lowest and the highest value.

    Source: Agarwal et al. (2021), "Deep reinforcement learning at the edge of the statistical
    precipice".
    """
    share = 0.25 if curves.shape[1] >= LEAST_FOR_QUARTILES else 0.0
    low, high = curves.quantile([share, 1.0 - share], axis=1).to_numpy()
    return np.asarray(trim_mean(curves, 0.25, axis=1)), low, high


def levels_of(runs: Sequence[Run], measure: str) -> dict[str, float]:
    """Return the baselines' mean values in the first evaluations, if ``measure`` is the goal."""
    problem = training_of(runs[0].config.environment)
    first = pd.DataFrame([run.evaluations.iloc[0] for run in runs])
    return {
        rival: float((first[measure] - first[name]).mean())
        for rival in (problem.rivals if measure == problem.goal else ())
        if (name := f"{problem.difference}_{rival}") in first
    }


def training_sections(folders: Sequence[Path]) -> list[Section]:
    """Return a section for each group of runs with the same final comparison."""
    return [*map(_section, alike(read_runs(folders), lambda run: run.config.comparison()))]


def _section(runs: Sequence[Run]) -> Section:
    environment = runs[0].config.environment
    problem = training_of(environment)
    last = pd.DataFrame([run.evaluations.iloc[-1] for run in runs])
    numbers = {
        title_of(name): [format(value, "+.2f" if "less" in name else ".2f") for value in last[name]]
        for name in dict.fromkeys((problem.goal, *problem.means, RETURN)) if name in last
    }  # fmt: skip
    names = [run.path.name for run in runs]
    if len(set(names)) < len(names):
        names = [str(run.path) for run in runs]
    cells = pd.DataFrame({
        "run": names,
        "algorithm": [run.config.algorithm for run in runs],
        "seed": [str(run.config.seed) for run in runs],
        "games learned from": [f"{count:,}" for count in last.index],
        **numbers,
    })  # fmt: skip
    configs = [(name, run.config) for name, seeds in trainings_of(runs).items() for run in seeds]
    charts = dict.fromkeys((problem.goal, RETURN))
    blocks = [_chart(runs, name) for name in charts if name in last]
    found = {
        name: json_of(file)
        for name, run in zip(names, runs, strict=True)
        for file in RunFolder(run.path).comparison.glob("comparison.json")
    }
    if found:
        against = " and ".join(dict.fromkeys(result.against for result in found.values()))
        ends = [
            (name, row.title, row.difference)
            for name, standings in zip(found, map(standings_of, found.values()), strict=True)
            for row in standings if row.policy == standings[0].policy
        ]  # fmt: skip
        blocks.append(pivot(f"Final comparison: differences to {against}", ends, 2))
    return Section(
        title=f"train: {', '.join(names)}",
        lead=(
            f"{'1 run' if len(runs) == 1 else f'{len(runs)} runs'} in {environment}. A run is "
            "evaluated on the held-out episodes of its seed, which "
            f"{' and '.join(problem.rivals)} play too. Measures are sums over an episode."
        ),
        settings={
            **values_of([(name, config.options()) for name, config in configs]),
            "seed": ", ".join(dict.fromkeys(str(run.config.seed) for run in runs)),
        },
        versions=values_of([(name, config.versions) for name, config in configs]),
        blocks=[*blocks, Block("Last evaluations", cells)],
    )


def _chart(runs: Sequence[Run], measure: str) -> Block:
    figure = new_figure("games learned from", title_of(measure), hovermode="x unified")
    bands, found = [], curves_of(runs, measure)
    for label, curves in found.items():
        seeds = curves.shape[1]
        if seeds > 1:
            held = "middle half" if seeds >= LEAST_FOR_QUARTILES else "all"
            bands.append(f"{label}: {held} of {seeds} seeds")
        add_line(figure, label, curves.index, *middle_of(curves))
    ends, levels = [0, max(run.evaluations.index[-1] for run in runs)], levels_of(runs, measure)
    for rival, level in levels.items():
        add_line(figure, rival, ends, [level, level], line_dash="dot")
    if levels:
        last = [float(curves.iloc[-1].min()) for curves in found.values()]
        low = min(*levels.values(), *last)
        shown = np.concatenate([trace.y for trace in figure.data])
        low, best = low - SHOWN_RISE * (low - shown.min()), shown.max()
        margin = 0.05 * (best - low)
        figure.update_yaxes(range=[low - margin, best + margin])
    note = f"Interquartile means; bands: {'; '.join(sorted(bands))}" if bands else ""
    return Block(f"Learning curves: {title_of(measure)}", figure, note)
