"""Sections of trainings: learning curves over seeds, with baselines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from scipy.stats import trim_mean

from matchenv.agents.environments import training_of
from matchenv.agents.run_config import RunConfig, RunFolder
from matchenv.benchmarks.report.charts import Curve, NamedValue, add_curve, new_figure, points
from matchenv.benchmarks.report.page import Block, Section, pivot
from matchenv.benchmarks.report.results import json_of, standings_of
from matchenv.evaluation.estimates import CONFIDENCE, Estimate, t_quantile
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import counted

RETURN = "mean_return"
# Share of the rise to the lowest baseline or last value that charts show: all of that from random
# weights would flatten the rest.
SHOWN_RISE = 0.2
MARGIN = 0.05  # above and below, as a share of the range
LEAST_FOR_QUARTILES = 4  # with fewer seeds, bands show all of them


class Run(NamedTuple):
    """A training run with its evaluations."""

    path: Path  # folder of the run
    config: RunConfig
    evaluations: pd.DataFrame  # a row per evaluation, indexed by games learned from


def title_of(measure: str) -> str:
    """Return the title of a measure of an evaluation."""
    prefix, less, rival = measure.rpartition("less_")
    if less:
        # Differences without the name of a measure are of the reward.
        measure = f"{prefix or 'reward_'}minus_{rival}'s"
    return measure.replace("_", " ")


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Return the run of each distinct folder.

    Raises:
        ValueError: for a damaged file.
    """
    distinct = {folder.resolve(): folder for folder in folders}
    runs = []
    for path in distinct.values():
        folder = RunFolder(path)
        try:
            evaluations = pd.DataFrame(folder.read_evaluations())
            evaluations = evaluations.set_index("timesteps").astype(float)
            if evaluations.empty or evaluations[RETURN].isna().any():
                raise ValueError("it contains no evaluation")
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{folder.evaluations_file} is damaged: {error}") from None
        runs.append(Run(folder.path, folder.read_config(), evaluations))
    return runs


def grouped(runs: Iterable[Run], key: Callable[[Run], Any]) -> list[list[Run]]:
    """Group runs by equal keys, which need not be hashable."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        name = json.dumps(key(run), sort_keys=True, default=str)
        groups.setdefault(name, []).append(run)
    return list(groups.values())


def trainings_of(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs of each training by its name; they differ in their seed."""

    def settings(run: Run) -> tuple[Any, ...]:
        config = run.config
        return config.algorithm, config.hyperparameters, config.env_kwargs, config.start_from

    groups = grouped(runs, settings)
    algorithms = [seeds[0].config.algorithm for seeds in groups]
    trainings = {}
    for algorithm, seeds in zip(algorithms, groups, strict=True):
        name = algorithm
        if algorithms.count(algorithm) > 1:
            name = f"{algorithm} ({seeds[0].path})"
        trainings[name] = seeds
    return trainings


def values_of(settings: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return the value of each setting of some trainings, or each value with its trainings.

    Args:
        settings: name and settings of each run's training.
    """
    names = dict.fromkeys(name for _, values in settings for name in values)
    return {name: _value_text(name, settings) for name in names}


def _value_text(name: str, settings: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    texts: dict[str, None] = {}  # ordered, without repetitions
    distinct = set()
    for training, values in settings:
        value = str(values.get(name, "not given"))
        distinct.add(value)
        texts[f"{value} in {training}"] = None
    if len(distinct) == 1:
        return distinct.pop()
    return "; ".join(texts)


def curves_of(runs: Sequence[Run], measure: str) -> dict[str, pd.DataFrame]:
    """Return the learning curves of each training by name.

    Values are indexed by games learned from, with a column per seed. Runs evaluated at different
    times are interpolated, up to the end of the shortest run.
    """
    curves = {}
    for name, seeds in trainings_of(runs).items():
        values = dict(enumerate(run.evaluations[measure] for run in seeds))
        table = pd.concat(values, axis=1).sort_index()
        curves[name] = table.interpolate("index", limit_area="inside").dropna()
    return curves


def middle_of(curves: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return the interquartile mean over seeds, and the limits of the middle half.

    With few seeds the limits are the lowest and the highest value.

    Source: Agarwal et al. (2021), "Deep reinforcement learning at the edge of the statistical
    precipice".
    """
    share = 0.0
    if curves.shape[1] >= LEAST_FOR_QUARTILES:
        share = 0.25
    low, high = curves.quantile([share, 1.0 - share], axis=1).to_numpy()
    return np.asarray(trim_mean(curves, 0.25, axis=1)), low, high


def interval_of(run: Run, measure: str) -> tuple[Floats, Floats] | None:
    """Return the limits of the intervals of a measure over the episodes of each evaluation.

    None if the run has none.
    """
    evaluations = run.evaluations
    if f"{measure}_low" in evaluations:
        low = evaluations[f"{measure}_low"].to_numpy()
        return low, evaluations[f"{measure}_high"].to_numpy()
    if measure == RETURN and "standard_error" in evaluations:
        count = int(evaluations["episodes"].iloc[0])
        half_width = t_quantile(count) * evaluations["standard_error"].to_numpy()
        mean = evaluations[RETURN].to_numpy()
        return mean - half_width, mean + half_width
    return None


def levels_of(runs: Sequence[Run], measure: str) -> dict[str, float]:
    """Return the baselines' mean values in the first evaluations, if ``measure`` is the goal."""
    problem = training_of(runs[0].config.environment)
    if measure != problem.goal:
        return {}
    first = pd.DataFrame([run.evaluations.iloc[0] for run in runs])
    levels = {}
    for rival in problem.rivals:
        difference = f"{problem.difference}_{rival}"
        if difference in first:
            levels[rival] = float((first[measure] - first[difference]).mean())
    return levels


def training_sections(folders: Sequence[Path]) -> list[Section]:
    """Return a section for each group of runs with the same final comparison."""
    groups = grouped(read_runs(folders), lambda run: run.config.comparison())
    return [_section(runs) for runs in groups]


def _section(runs: Sequence[Run]) -> Section:
    environment = runs[0].config.environment
    problem = training_of(environment)
    last = pd.DataFrame([run.evaluations.iloc[-1] for run in runs])
    names = [run.path.name for run in runs]
    if len(set(names)) < len(names):
        names = [str(run.path) for run in runs]
    blocks = []
    for measure in dict.fromkeys((problem.goal, RETURN)):
        if measure in last:
            blocks.append(_learning_curves(runs, measure))
    blocks += _final_comparisons(dict(zip(names, runs, strict=True)))
    blocks.append(Block("Last evaluations", _table_of_evaluations(runs, names, last)))
    options = []
    versions = []
    for training, runs_of_training in trainings_of(runs).items():
        for run in runs_of_training:
            options.append((training, run.config.options()))
            versions.append((training, run.config.versions))
    seeds = dict.fromkeys(str(run.config.seed) for run in runs)
    return Section(
        title=f"train: {', '.join(names)}",
        lead=(
            f"{counted(len(runs), 'run')} in {environment}. A run is evaluated on the held-out "
            f"episodes of its seed, which {' and '.join(problem.rivals)} play too. Measures are "
            "sums over an episode."
        ),
        settings={**values_of(options), "seed": ", ".join(seeds)},
        versions=values_of(versions),
        blocks=blocks,
    )


def _table_of_evaluations(
    runs: Sequence[Run], names: Sequence[str], last: pd.DataFrame
) -> pd.DataFrame:
    """Return the table of the last evaluation of each run."""
    table = pd.DataFrame(
        {
            "run": names,
            "algorithm": [run.config.algorithm for run in runs],
            "seed": [str(run.config.seed) for run in runs],
            "games learned from": [f"{count:,}" for count in last.index],
        }
    )
    problem = training_of(runs[0].config.environment)
    for measure in dict.fromkeys((problem.goal, *problem.means, RETURN)):
        if measure in last:
            cells = [_evaluation_text(run, measure) for run in runs]
            table[title_of(measure)] = cells
    return table


def _evaluation_text(run: Run, measure: str) -> str:
    """Return the last value of a measure, with its interval if it has one."""
    sign = ""
    if "less" in measure:
        sign = "+"
    mean = run.evaluations[measure].iloc[-1]
    interval = interval_of(run, measure)
    if interval is None:
        return f"{mean:{sign}.2f}"
    low, high = interval
    return f"{Estimate(mean, math.nan, low[-1], high[-1]):{sign}.2f}"


def _final_comparisons(runs: Mapping[str, Run]) -> list[Block]:
    """Return chart and table of the final comparisons of runs; none without a comparison.

    They have the runs by name, and all other policies of the comparisons.
    """
    differences = []
    rivals: dict[str, None] = {}  # ordered, without repetitions
    for name, run in runs.items():
        file = RunFolder(run.path).comparison / "comparison.json"
        if not file.exists():
            continue
        result = json_of(file)
        rivals[result.against] = None
        standings = standings_of(result)
        for standing in standings:
            policy = standing.policy
            if policy == standings[0].policy:  # that of the run
                policy = name
            if policy != result.against:
                differences.append(NamedValue(policy, standing.title, standing.difference))
    if not differences:
        return []
    title = f"Final comparison: differences to {' and '.join(rivals)}"
    chart = points("difference per episode", differences, level=(0.0, " and ".join(rivals)))
    return [Block("Final comparison", chart), pivot(title, differences, 2)]


def _learning_curves(runs: Sequence[Run], measure: str) -> Block:
    """Return the chart of a measure: a curve with a band per training, a line per baseline."""
    title = title_of(measure)
    figure = new_figure("games learned from", title, hovermode="x unified")
    trainings = curves_of(runs, measure)
    bands = []
    for name, curves in trainings.items():
        mean, low, high = middle_of(curves)
        seeds = curves.shape[1]
        interval = interval_of(trainings_of(runs)[name][0], measure)
        if seeds == 1 and interval is not None:
            low, high = interval
            bands.append(f"{name}: {100 * CONFIDENCE:.0f} % interval over the episodes")
        add_curve(figure, Curve(name, curves.index, mean, low, high))
        if seeds >= LEAST_FOR_QUARTILES:
            bands.append(f"{name}: middle half of {seeds} seeds")
        elif seeds > 1:
            bands.append(f"{name}: all of {seeds} seeds")
    levels = levels_of(runs, measure)
    end = max(run.evaluations.index[-1] for run in runs)
    for rival, level in levels.items():
        add_curve(figure, Curve(rival, [0, end], [level, level]), line_dash="dot")
    if levels:
        last = [float(curves.iloc[-1].min()) for curves in trainings.values()]
        _limit_rise(figure, min(*levels.values(), *last))
    note = ""
    if bands:
        note = f"Bands: {'; '.join(sorted(bands))}."
        if any(curves.shape[1] > 1 for curves in trainings.values()):
            note = f"Interquartile means over seeds. {note}"
    return Block(f"Learning curves: {title}", figure, note)


def _limit_rise(figure: go.Figure, level: float) -> None:
    """Show what is above a level, and only ``SHOWN_RISE`` of what is below it."""
    values = np.concatenate([trace.y for trace in figure.data])
    low = level - SHOWN_RISE * (level - values.min())
    high = values.max()
    margin = MARGIN * (high - low)
    figure.update_yaxes(range=[low - margin, high + margin])
