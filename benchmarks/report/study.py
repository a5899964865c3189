"""The study, and the tuning of policies, on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from matchenv.benchmarks.report.comparisons import json_of, rows_of
from matchenv.benchmarks.report.page import (
    Block,
    Section,
    add_level,
    add_line,
    new_figure,
    pivot,
    points,
    record_table,
    short_text,
)
from matchenv.benchmarks.study.claims import DRAW, OURS
from matchenv.benchmarks.study.figures import GAMES_TOGETHER, GOALS, LABELS, binned
from matchenv.evaluation.estimates import Curve, Estimate, quantile_of
from matchenv.evaluation.rollout import ALL
from matchenv.runtime.files import number, read_npz

# Titles of the measures, without TeX.
TITLES = {name: label.replace(r"$\mu_0$", "mu_0") for name, label in LABELS.items()}
# Settings of a study that stand elsewhere on the page.
LISTS = ("policies", "cells", "format", "command")


def study_section(folder: Path) -> Section:
    """Return the section of ``matchenv study``."""
    settings, verdict = json_of(folder / "settings.json"), json_of(folder / "verdict.json")
    windows, paired = rows_of(folder / "windows.csv"), rows_of(folder / "paired.csv")
    games, draws = float(settings["horizon"]), settings["prior_draws"]
    priors = "one prior" if draws == 1 else f"each of {draws} priors"
    differences = {
        (study_cell(row["cell"]), f"{row['policy']} minus {row['other']}"):
            short_text(row_estimate(row, "difference").times(games), 1)
        for row in paired
        if row["measure"] == DRAW and row["games"] == ALL and row["policy"] == OURS
    } or {(study_cell(cell), ""): "" for cell in settings["cells"]}  # fmt: skip
    return Section(
        kind="study",
        folder=folder.name,
        lead=(
            f"The simulation study of Ryzhov, Tariq and Powell (2011): {settings['episodes']:,} "
            f"sets of true skills with {priors}, "
            f"{settings['horizon']:,} games each, every policy on the same games."
        ),
        settings={name: value for name, value in settings.items() if name not in LISTS},
        versions=verdict["versions"],
        blocks=[
            *(_curves(folder, settings, measure) for measure in TITLES),
            _claims(verdict["claims"]),
            Block("Means of a game", _means(windows, "mean")),
            Block(f"Paired differences of policies, {TITLES[DRAW]} of a game",
                  _means([row for row in paired if row["measure"] == DRAW], "difference")),
        ],
        summary=Block("True q of an episode", pivot("cell", differences)),
    )  # fmt: skip


def _curves(folder: Path, settings: Mapping[str, Any], measure: str) -> Block:
    """Return the curves of one measure, with a menu of the cells."""
    units = settings["episodes"] if settings["prior_draws"] == 1 else settings["prior_draws"]
    figure = new_figure("game", TITLES[measure], hovermode="x unified")
    cell_of_trace: list[str] = []
    for cell in settings["cells"]:
        file = read_npz(folder / "curves" / f"{cell}.npz")
        policies, place = file["policies"].tolist(), file["measures"].tolist().index(measure)
        means, errors = file["mean"][:, place], file["standard_error"][:, place]
        for policy, mean, error in zip(policies, means, errors, strict=True):
            curve = Curve(mean, error, quantile_of(units) * error)
            game, middle, half = binned(curve, GAMES_TOGETHER)
            add_line(figure, policy, game, middle, (middle - half, middle + half),
                     visible=cell == settings["cells"][0])  # fmt: skip
        cell_of_trace += [cell] * (len(figure.data) - len(cell_of_trace))
    if measure in GOALS:
        add_level(figure, GOALS[measure])
    buttons = [
        {"label": study_cell(cell), "method": "restyle",
         "args": [{"visible": [each == cell for each in cell_of_trace]}]}
        for cell in settings["cells"]
    ]  # fmt: skip
    menu = {"buttons": buttons, "x": 0.0, "xanchor": "left", "y": 1.12, "yanchor": "bottom"}
    figure.update_layout(updatemenus=[menu])
    return Block(TITLES[measure], figure, f"Means of {GAMES_TOGETHER} games, with 95 % bands.")


def tune_section(folder: Path) -> Section:
    """Return the section of ``matchenv tune``."""
    found, best = rows_of(folder / "tuning.csv"), json_of(folder / "best.json")
    settings = json_of(folder / "settings.json")
    behind = [row_estimate(row, "behind_mean", "behind_", "_").times(-1.0) for row in found]
    # Names are those of the cells here, since there are many policies.
    figure = points(
        f"{settings.measure} of an episode, behind the best of the family",
        [(row["cell"], row["policy"], value) for row, value in zip(found, behind, strict=True)],
        level=(0.0, "the best"),
    )
    tried = pd.DataFrame(
        {
            **{name: [row[name] for row in found] for name in ("cell", "family", "policy")},
            settings.measure: [f"{number(row['total_mean']):.2f}" for row in found],
            "behind the best": [value.times(-1.0).interval_text(2) for value in behind],
            "verdict": [
                "best" if row["best"] == "True" else value.verdict
                for row, value in zip(found, behind, strict=True)
            ],
        }
    )
    chosen = {(cell, name): each for cell, every in best.items() for name, each in every.items()}
    return Section(
        kind="tune",
        folder=folder.name,
        lead=(
            f"Options of policies on the same {settings.episodes:,} episodes of "
            f"{settings.env} in each cell, on seeds of their own."
        ),
        settings={"seed": settings.seed, **settings.environment},
        blocks=[
            Block("Behind the best of the family", figure),
            Block("All that was tried", tried),
        ],
        summary=Block("The best of each family", pivot("cell", chosen)),
        own_colours=True,
    )


def study_cell(cell: str) -> str:
    """Return the title of a cell of a study by its name."""
    prior, _, rank = cell.partition("_")
    return f"{rank}, {prior}"


def row_estimate(row: Mapping[str, str], mean: str, prefix: str = "", gap: str = " ") -> Estimate:
    """Return an estimate of a row of a CSV file."""
    names = (mean, f"{prefix}standard{gap}error", f"{prefix}low", f"{prefix}high")
    return Estimate(*(number(row[name]) for name in names))


def _claims(claims: Sequence[Mapping[str, Any]]) -> Block:
    rows = [
        {
            "claim": claim["text"],
            "verdict": claim["verdict"],
            "numbers, above 0 for the claim": "; ".join(
                f"{each['label']}: {each['value']:+.4f}" for each in claim["findings"]
            ),
        }
        for claim in claims
    ]
    return Block("The paper's claims", record_table(rows, 4))


def _means(rows: Sequence[Mapping[str, str]], value: str) -> pd.DataFrame:
    """Return the table of one estimate of each row of a CSV file."""
    shown = []
    for row in rows:
        found = row_estimate(row, value)
        texts = {name: row[name] for name in ("policy", "other", "games") if name in row}
        measure = TITLES.get(row["measure"], row["measure"])
        verdict = {"verdict": found.verdict} if "other" in row else {}
        shown.append({"cell": study_cell(row["cell"]), **texts, "measure": measure,
                      value: found, **verdict})  # fmt: skip
    return record_table(shown, 4)
