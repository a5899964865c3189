"""Levels to compare a learning curve with: KG, DrawChance, and the bound that no policy exceeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from matchenv.agents.environments import (
    ONE_PLAYER,
    RIVAL,
    rival_totals,
    settings_without_code,
)
from matchenv.benchmarks.candidates import LOW_END
from matchenv.benchmarks.compare.report import ENVIRONMENT_OPTIONS
from matchenv.benchmarks.learning_curves.runs import Run
from matchenv.evaluation.cells import Cell
from matchenv.settings import Settings

LESS_KG, TRUE_Q = "true_q_less_kg", "true_draw_density"


@dataclass(frozen=True)
class Level:
    """A line across a figure.

    Attributes:
        label: its name.
        value: how high it lies.
    """

    label: str
    value: float


def check_same_games(runs: Sequence[Run]) -> None:
    """See that the runs were evaluated on the same games, so that one picture may show them.

    Raises:
        ValueError: if not; it names two runs.
    """
    for run in runs[1:]:
        if run.games != runs[0].games:
            raise ValueError(
                "runs in one picture must be evaluated on the same games, which those of "
                f"{runs[0].path} ({runs[0].games}) and {run.path} ({run.games}) are not"
            )


def levels_of(runs: Sequence[Run], measure: str, bound: Path | None = None) -> list[Level]:
    """KG, DrawChance and the bound, where the measure has such levels.

    KG's level is known from the evaluations; DrawChance plays their episodes here.

    Args:
        runs: at least one, evaluated on the same games.
        measure: of ``curves.MEASURES``.
        bound: folder of ``matchenv bound`` for these games; None for no such line.

    Raises:
        ValueError: for a folder that holds no bound, or one of other games.
    """
    if measure not in (LESS_KG, TRUE_Q):
        if bound is not None:
            raise ValueError(f"bound is of {TRUE_Q} or {LESS_KG}, the measure is {measure}")
        return []
    kg = _mean(each[TRUE_Q] - each[LESS_KG] for each in (run.evaluations[0] for run in runs))
    zero = kg if measure == LESS_KG else 0.0
    low = _mean(_drawchance(run) for run in runs)
    levels = [Level("KG", kg - zero), Level("DrawChance", low - zero)]
    if bound is not None:
        levels.append(Level("bound", _bound(bound, runs[0], less_kg=measure == LESS_KG)))
    return levels


def _drawchance(run: Run) -> float:
    episodes = run.evaluations[0]["episodes"]
    totals = rival_totals(
        ONE_PLAYER, run.config.env_kwargs, episodes, run.first_seed, rival=LOW_END
    )
    return float(np.mean(totals))


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


def _bound(folder: Path, run: Run, *, less_kg: bool) -> float:
    """The bound of the games of a run's evaluations, or how far KG stays below it."""
    file = folder / "bound.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        played, cells = found["environment"], found["cells"]
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError):
        raise ValueError(
            f"bound must be a folder with the results of matchenv bound, {folder} holds none"
        ) from None
    settings = settings_without_code(ONE_PLAYER, run.config.env_kwargs)
    assert isinstance(settings, Settings)
    cell = Cell(settings.rank, str(settings.prior), settings.num_opponents)
    here = [each for each in cells if (each["rank"], each["prior"]) == (cell.rank_name, cell.prior)]
    wanted = {name: getattr(settings, name) for name in ENVIRONMENT_OPTIONS}
    if played != wanted or not here:
        raise ValueError(
            f"bound must be of the games that the runs play, {folder} is not: matchenv bound "
            f"--rank {cell.rank_name} --prior {cell.prior} --num-opponents "
            f"{settings.num_opponents} --horizon {settings.horizon} --beta {settings.beta!r} "
            "--out DIR"
        )
    bound: Mapping[str, Any] = here[0]
    if not less_kg:
        return float(bound["bound"]["mean"])
    room = [each["room"]["mean"] for each in bound["policies"] if each["policy"] == RIVAL]
    if not room:
        raise ValueError(f"bound must include {RIVAL}, that of {folder} does not")
    return float(room[0])
