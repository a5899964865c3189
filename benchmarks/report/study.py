"""A study, and the tuning that goes with it, on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from matchenv.benchmarks.report.charts import (
    Palette,
    add_choice,
    add_level,
    add_line,
    add_points,
    new_figure,
    spread_points,
)
from matchenv.benchmarks.report.queue import queue_tuning_section
from matchenv.benchmarks.report.reading import json_of, rows_of
from matchenv.benchmarks.report.section import Chart, Section, Table, pivot, short_text
from matchenv.benchmarks.study.claims import DRAW, OURS
from matchenv.benchmarks.study.figures import GAMES_TOGETHER, GOALS, TITLES, binned
from matchenv.benchmarks.tune.tuning import Tried
from matchenv.evaluation.episode_table import ALL
from matchenv.evaluation.estimates import Curve, Estimate, quantile_of
from matchenv.evaluation.tables import Column
from matchenv.runtime.files import number

STUDY, TUNING = "verdict.json", "tuning.csv"
# How a folder's settings and their own lists go on the page.
LISTS = ("policies", "cells", "format", "command", "purpose")


def study_section(folder: Path, palette: Palette) -> Section:
    """What ``matchenv study`` found."""
    settings, claims = json_of(folder / "settings.json"), json_of(folder / STUDY)
    windows, paired = rows_of(folder / "windows.csv"), rows_of(folder / "paired.csv")
    games = float(settings["horizon"])
    differences = {
        (_name(row["cell"]), f"{row['policy']} less {row['other']}"):
            short_text(_estimate(row, "difference").times(games), 1)
        for row in paired
        if row["measure"] == DRAW and row["games"] == ALL and row["policy"] == OURS
    } or {(_name(cell), ""): "" for cell in settings["cells"]}  # fmt: skip
    return Section(
        kind="study",
        folder=folder.name,
        lead=(
            f"The simulation study of Ryzhov, Tariq and Powell (2011): {settings['episodes']:,} "
            f"sets of true skills with each of {settings['prior_draws']} prior(s), "
            f"{settings['horizon']:,} games each, every policy on the same games."
        ),
        settings=_plain(settings),
        versions=json_of(folder / "versions.json"),
        charts=[_curves(folder, settings, measure, palette) for measure in TITLES],
        tables=[
            Table("The paper's claims", CLAIMS, claims),
            Table("Means of a game", WINDOWS, windows),
            Table(
                f"Paired differences of policies, {TITLES[DRAW]} of a game", PAIRS,
                [row for row in paired if row["measure"] == DRAW],
            ),
        ],
        summary=pivot("True q of an episode", "cell", differences),
    )  # fmt: skip


def tune_section(folder: Path, _: Palette) -> Section:
    """What ``matchenv tune`` found; colours are of cells, not of policies."""
    found = rows_of(folder / TUNING)
    if "load" in found[0]:
        return queue_tuning_section(folder, found)
    palette = Palette(())
    settings = json_of(folder / "settings.json")
    by_cell = {
        cell: [_tried(row) for row in rows]
        for cell, rows in groupby(found, key=lambda row: row["cell"])
    }
    figure = new_figure("", "true q of an episode, behind the best of the cell")
    for cell, tried in by_cell.items():
        add_points(
            figure, palette, _name(cell), [each.policy for each in tried],
            [each.behind.times(-1.0) for each in tried],
        )  # fmt: skip
    spread_points(figure)
    add_level(figure, 0.0, "the best")
    every = [(cell, each) for cell, tried in by_cell.items() for each in tried]
    best = {(_name(cell), "best"): each.policy for cell, each in every if each.best}
    return Section(
        kind="tune",
        folder=folder.name,
        lead=(
            f"KG's multipliers on the same {settings['episodes']:,} episodes with each of "
            f"{settings['prior_draws']} prior(s), on seeds of their own."
        ),
        settings=_plain(settings),
        versions={},
        charts=[Chart("Behind the best multiplier", figure)],
        tables=[Table("All that was tried", TRIED, every)],
        summary=pivot("The best of KG's multipliers", "cell", best),
    )


def _curves(folder: Path, settings: Mapping[str, Any], measure: str, palette: Palette) -> Chart:
    units = settings["episodes"] if settings["prior_draws"] == 1 else settings["prior_draws"]
    figure = new_figure("game", TITLES[measure], hovermode="x unified")
    spans: dict[str, slice] = {}
    for cell in settings["cells"]:
        first = len(figure.data)
        with np.load(folder / "curves" / f"{cell}.npz", allow_pickle=False) as file:
            policies, place = file["policies"].tolist(), file["measures"].tolist().index(measure)
            means, errors = file["mean"][:, place], file["standard_error"][:, place]
        for policy, mean, error in zip(policies, means, errors, strict=True):
            curve = Curve(mean, error, quantile_of(units) * error)
            game, middle, half = binned(curve, GAMES_TOGETHER)
            add_line(
                figure, palette, policy, game, middle, (middle - half, middle + half),
                visible=not spans,
            )  # fmt: skip
        spans[cell] = slice(first, len(figure.data))
    if measure in GOALS:
        add_level(figure, GOALS[measure])
    numbers = range(len(figure.data))
    add_choice(
        figure, {_name(cell): [n in numbers[span] for n in numbers] for cell, span in spans.items()}
    )
    return Chart(TITLES[measure], figure, f"Means of {GAMES_TOGETHER} games, with 95 % bands.")


def _name(cell: str) -> str:
    prior, _, rank = cell.partition("_")
    return f"{rank}, {prior}"


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in LISTS}


def _estimate(row: Mapping[str, str], mean: str, prefix: str = "", gap: str = " ") -> Estimate:
    names = (mean, f"{prefix}standard{gap}error", f"{prefix}low", f"{prefix}high")
    return Estimate(*(number(row[name]) for name in names))


def _tried(row: Mapping[str, str]) -> Tried:
    total, behind = (_estimate(row, f"{n}_mean", f"{n}_", "_") for n in ("total", "behind"))
    return Tried(row["policy"], total, behind, row["best"] == "True")


def _interval(name: str, mean: str, digits: int = 4) -> Column:
    return Column(name, lambda row: _estimate(row, mean).interval_text(digits))


def _findings(claim: Mapping[str, Any]) -> str:
    found: Sequence[Mapping[str, Any]] = claim["findings"]
    return "; ".join(
        f"{each['label']}: {Estimate.from_plain(each['value']).interval_text(4)}" for each in found
    )


CLAIMS = (
    Column("claim", lambda claim: claim["text"]),
    Column("verdict", lambda claim: claim["verdict"]),
    Column("numbers, above 0 for the claim", _findings),
)
_WHERE = (
    Column("cell", lambda row: _name(row["cell"])),
    Column("policy", lambda row: row["policy"]),
)
WINDOWS = (
    *_WHERE,
    Column("measure", lambda row: TITLES.get(row["measure"], row["measure"])),
    Column("games", lambda row: row["games"]),
    _interval("mean", "mean"),
)
PAIRS = (
    *_WHERE,
    Column("other", lambda row: row["other"]),
    Column("games", lambda row: row["games"]),
    _interval("difference", "difference"),
    Column("verdict", lambda row: _estimate(row, "difference").verdict),
)
TRIED = (
    Column("cell", lambda row: _name(row[0])),
    Column("policy", lambda row: row[1].policy),
    Column("true q", lambda row: f"{row[1].total.mean:.2f}"),
    Column("behind the best", lambda row: row[1].behind.interval_text(2)),
    Column("verdict", lambda row: "best" if row[1].best else row[1].behind.times(-1.0).verdict),
)
