"""The simulation study on the page."""

from __future__ import annotations

from collections.abc import Mapping
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
    texts_of,
)
from matchenv.benchmarks.study.claims import OURS
from matchenv.benchmarks.study.figures import GAMES_TOGETHER, GOALS, LABELS, binned
from matchenv.benchmarks.study.settings import DRAW
from matchenv.evaluation.estimates import Curve, quantile_of
from matchenv.evaluation.rollout import ALL

# Titles of the measures, without TeX.
TITLES = {name: label.replace(r"$\mu_0$", "mu_0") for name, label in LABELS.items()}
# Settings of a study that stand elsewhere on the page.
LISTS = ("policies", "cells", "format", "command")
# Columns of tables.
MEANS = ["cell", "policy", "games", "measure", "mean"]
PAIRED = ["cell", "policy", "other", "games", "difference", "verdict"]


def study_section(folder: Path) -> Section:
    """Return the section of ``matchenv study``."""
    settings, verdict = json_of(folder / "settings.json"), json_of(folder / "verdict.json")
    means, paired = (
        rows_of(folder / name).assign(cell=lambda rows: rows["cell"].map(study_cell))
        for name in ("windows.csv", "paired.csv")
    )
    draws, games = settings["prior_draws"], settings["horizon"]
    priors = "one prior" if draws == 1 else f"each of {draws} priors"
    paired = paired[paired["measure"] == DRAW]
    paired["verdict"] = [each.verdict for each in paired["difference"]]
    ours = paired[(paired["games"] == ALL) & (paired["policy"] == OURS)]
    totals = [
        (f"{OURS} minus {row.other}", row.cell, row.difference.times(float(games)))
        for row in ours.itertuples()
    ] or [("", study_cell(cell), "") for cell in settings["cells"]]
    claims = [
        {"claim": claim["text"], "verdict": claim["verdict"],
         "numbers, above 0 for the claim": "; ".join(
             f"{each['label']}: {each['value']:+.4f}" for each in claim["findings"])}
        for claim in verdict["claims"]
    ]  # fmt: skip
    return Section(
        title=f"study: {folder.name}",
        lead=(
            f"The simulation study of Ryzhov, Tariq and Powell (2011): {settings['episodes']:,} "
            f"sets of true skills with {priors}, "
            f"{games:,} games each, every policy on the same games."
        ),
        settings={name: value for name, value in settings.items() if name not in LISTS},
        versions=verdict["versions"],
        blocks=[
            *(_curves(folder, settings, measure) for measure in TITLES),
            Block("The paper's claims", pd.DataFrame(claims)),
            Block("Means of a game",
                  texts_of(means.replace({"measure": TITLES})[MEANS], 4)),
            Block(f"Paired differences of policies, {TITLES[DRAW]} of a game",
                  texts_of(paired[PAIRED], 4)),
        ],
        summary=Block("True q of an episode", pivot("cell", totals, 1)),
    )  # fmt: skip


def _curves(folder: Path, settings: Mapping[str, Any], measure: str) -> Block:
    """Return the curves of one measure, with a menu of the cells."""
    units = settings["episodes"] if settings["prior_draws"] == 1 else settings["prior_draws"]
    figure = new_figure("game", TITLES[measure], hovermode="x unified")
    cell_of_trace: list[str] = []
    for cell in settings["cells"]:
        file = pd.read_csv(folder / "curves" / f"{cell}.csv")
        for policy in settings["policies"]:
            mean, error = (file[f"{policy} {measure} {what}"].to_numpy()
                           for what in ("mean", "standard error"))  # fmt: skip
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


def study_cell(cell: str) -> str:
    """Return the title of a cell of a study by its name."""
    prior, _, rank = cell.partition("_")
    return f"{rank}, {prior}"
