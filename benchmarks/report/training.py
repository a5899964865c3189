"""Trainings on the page: learning curves over their seeds, beside KG, DrawChance and the bound."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import trim_mean

from matchenv.agents.environments import PROBLEMS, settings_without_code
from matchenv.agents.run_config import RunConfig
from matchenv.agents.run_folder import CONFIG, RunFolder
from matchenv.benchmarks.report.comparisons import compare_section, read_standings
from matchenv.benchmarks.report.page import (
    Block,
    Section,
    add_level,
    add_line,
    new_figure,
    pivot,
    short_text,
)
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.cells import ANY
from matchenv.evaluation.registry import ONE_PLAYER
from matchenv.runtime.files import read_json

Floats = NDArray[np.float64]

# Numbers of an evaluation that a curve may show, and the titles of their axes.
MINUS_KG, TRUE_Q = "true_q_less_kg", "true_draw_density"
MEASURES = {
    MINUS_KG: "true q of an episode minus KG's",
    TRUE_Q: "true q of an episode",
    "draw_density": "q under the belief of an episode",
    "mean_return": "return of an episode",
}
MEASURE = MINUS_KG
# Policies on the same games, and the difference to them in an evaluation.
RIVAL_KEYS = {"KG": MINUS_KG, "DrawChance": "true_q_less_drawchance"}
RIVAL = PROBLEMS[ONE_PLAYER].rivals[0]
# Where the axis of learning curves begins.
BELOW_DRAWCHANCE = 10.0
# With fewer seeds a band of the middle half would hold next to nothing.
LEAST_FOR_QUARTILES = 4


class Run(NamedTuple):
    """One training run with its evaluations."""

    path: Path  # its folder
    config: RunConfig  # how it was trained
    # One or more, each with ``timesteps``, ``episodes`` and the numbers of its evaluation
    evaluations: list[dict[str, Any]]

    @property
    def training(self) -> dict[str, Any]:
        """Return what runs that differ in their seed alone have in common."""
        config = self.config
        return {
            "algorithm": config.algorithm,
            **config.hyperparameters,
            "env_kwargs": config.env_kwargs,
            "start_from": config.start_from,
        }


def title_of(measure: str) -> str:
    """Return the title of a number of an evaluation."""
    of, less, rival = measure.rpartition("less_")
    name = f"{of or 'reward'} minus {rival}'s" if less else measure
    return MEASURES.get(measure, name.replace("_", " "))


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
            evaluations = read_json(folder.evaluations_file)["evaluations"]
            _ = [(each["timesteps"], each["episodes"], each["mean_return"]) for each in evaluations]
            if not evaluations:
                raise ValueError("it holds no evaluation")
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{folder.evaluations_file} is damaged: {error}") from None
        runs.append(Run(folder.path, folder.read_config(), evaluations))
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
        measure: of ``MEASURES``.

    Returns:
        Values by games learned from, a column for each seed.
    """
    trainings = alike(runs, lambda run: run.training)
    names = [each[0].config.algorithm for each in trainings]
    curves = {}
    for name, each in zip(names, trainings, strict=True):
        found = pd.concat(
            {place: pd.DataFrame(run.evaluations).set_index("timesteps")[measure]
             for place, run in enumerate(each)}, axis=1,
        ).astype(float).sort_index()  # fmt: skip
        first = max(found[place].first_valid_index() for place in found)
        last = max(first, min(found[place].last_valid_index() for place in found))
        label = name if names.count(name) == 1 else f"{name} ({each[0].path})"
        curves[label] = found.interpolate("index").loc[first:last]
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


def levels_of(runs: Sequence[Run], measure: str, bound: Path | None = None) -> dict[str, float]:
    """Return KG, DrawChance and the bound, where the measure has such levels.

    The levels of KG and DrawChance are those of the first evaluation, on the same games.

    Args:
        runs: at least one, evaluated on the same games.
        measure: of ``MEASURES``.
        bound: folder of ``matchenv limits`` for these games; None for no such line.

    Raises:
        ValueError: for a folder that holds no bound, or one of other games.
    """
    if measure not in (MINUS_KG, TRUE_Q):
        if bound is not None:
            raise ValueError(f"bound is of {TRUE_Q} or {MINUS_KG}, the measure is {measure}")
        return {}
    first = [run.evaluations[0] for run in runs]
    totals = {
        name: float(np.mean([each[TRUE_Q] - each[key] for each in first]))
        for name, key in RIVAL_KEYS.items()
        if all(key in each for each in first)
    }
    zero = totals["KG"] if measure == MINUS_KG else 0.0
    levels = {name: total - zero for name, total in totals.items()}
    if bound is not None:
        levels["bound"] = _bound(bound, runs[0], minus_kg=measure == MINUS_KG)
    return levels


def _bound(folder: Path, run: Run, *, minus_kg: bool) -> float:
    """Return the bound of the games of a run's evaluations, or how far KG stays below it."""
    try:
        found = read_json(folder / "bound.json")
        played, cells = found["environment"], found["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(
            f"bound must be a folder with the results of matchenv limits, {folder} holds none"
        ) from None
    settings = settings_without_code(ONE_PLAYER, run.config.env_kwargs)
    assert isinstance(settings, Settings)
    rank, prior = ANY if settings.rank is None else str(settings.rank), str(settings.prior)
    here = [each for each in cells if (each["rank"], each["prior"]) == (rank, prior)]
    other = [name for name in played if name != "noise" and played[name] != getattr(settings, name)]
    if other or not here:
        raise ValueError(
            f"bound must be of the games that the runs play, {folder} is not: matchenv limits "
            f"--rank {rank} --prior {prior} --num-opponents "
            f"{settings.num_opponents} --horizon {settings.horizon} --beta {settings.beta!r} "
            "--out DIR"
        )
    if not minus_kg:
        return float(here[0]["bound"]["mean"])
    # Not the difference of the two means: a control variate takes out the chance of both.
    room = [each["room"]["mean"] for each in here[0]["policies"] if each["policy"] == RIVAL]
    if not room:
        raise ValueError(f"bound must include {RIVAL}, that of {folder} does not")
    return float(room[0])


def training_sections(
    folders: Sequence[Path], measure: str = MEASURE, bound: Path | None = None
) -> list[Section]:
    """Return a section for the runs of the same games; measure and bound are of ``levels_of``.

    Where an environment has no such measure, its curves show what its trainings are judged by.
    """
    together = alike(read_runs(folders), lambda run: run.config.comparison())
    return [_section(runs, measure, bound) for runs in together]


def _section(runs: list[Run], measure: str, bound: Path | None) -> Section:
    first = runs[0].config
    problem = PROBLEMS[first.environment]
    compared = {run.path.name: RunFolder(run.path).comparison for run in runs}
    compared = {name: folder for name, folder in compared.items()
                if (folder / "comparison.json").is_file()}  # fmt: skip
    last = [run.evaluations[-1] for run in runs]
    shown = [name for name in (TRUE_Q, MINUS_KG, problem.goal, "mean_return") if name in last[0]]
    if measure not in last[0]:
        measure = problem.goal if problem.goal in shown else "mean_return"
    cells = pd.DataFrame(
        {
            "run": [run.path.name for run in runs],
            "algorithm": [run.config.algorithm for run in runs],
            "seed": [str(run.config.seed) for run in runs],
            "games learned from": [f"{each['timesteps']:,}" for each in last],
            **{
                title_of(name): [
                    format(each[name], "+.2f" if "less" in name else ".2f") for each in last
                ]
                for name in dict.fromkeys(shown)
            },
        }
    )
    blocks = [_chart(runs, measure, bound), Block("Last evaluations", cells)]
    if compared:
        ends: dict[tuple[str, str], str] = {}
        for name, folder in compared.items():
            _, standings = read_standings(folder)
            trained = [each for each in standings if each.policy == standings[0].policy]
            ends |= {(s.title, name): short_text(s.difference, 2) for s in trained}
        title = "The final comparison: differences to the policy that counts"
        blocks.append(Block(title, pivot("cell", ends)))
    return Section(
        kind="train",
        folder=", ".join(run.path.name for run in runs),
        lead=(
            f"{'1 run' if len(runs) == 1 else f'{len(runs)} runs'} in {first.environment}, "
            f"evaluated on held-out episodes that {' and '.join(problem.rivals)} play too"
            f"{'; q is the draw density, summed over an episode' if TRUE_Q in shown else ''}."
        ),
        settings={
            "seeds": ", ".join(str(run.config.seed) for run in runs),
            "algorithm": first.algorithm,
            **first.hyperparameters,
            **first.env_kwargs,
        },
        versions=first.versions,
        blocks=blocks,
        parts=[compare_section(each, name) for name, each in compared.items()],
    )


def _chart(runs: Sequence[Run], measure: str, bound: Path | None) -> Block:
    figure = new_figure("games learned from", title_of(measure), hovermode="x unified")
    bands = []
    for label, curves in curves_of(runs, measure).items():
        times, median, seeds = curves.index, curves.median(axis=1), curves.shape[1]
        if seeds == 1:
            add_line(figure, label, times, median)
            continue
        held = "middle half" if seeds >= LEAST_FOR_QUARTILES else "all"
        bands.append(f"{label}: {held} of {seeds} seeds")
        mean, *band = middle_of(curves)
        add_line(figure, label, times, mean, (band[0], band[1]), name=f"{label}, IQM")
        add_line(figure, label, times, median, name=f"{label}, median", line_dash="dash")
    levels = levels_of(runs, measure, bound)
    for place, label in enumerate(sorted(levels, key=lambda name: -levels[name])):
        # Neighbours are named at different ends: they may lie close together.
        add_level(figure, levels[label], label, side=("right", "left")[place % 2])
    if "DrawChance" in levels:
        # Random weights lie so far below that they would flatten all that matters.
        best = max(*levels.values(), *(float(np.max(each.y)) for each in figure.data))
        low = levels["DrawChance"] - BELOW_DRAWCHANCE
        figure.update_yaxes(range=[low, best + 0.05 * (best - low)])
    return Block("Learning curves", figure, "Bands: " + "; ".join(sorted(bands)) if bands else "")
