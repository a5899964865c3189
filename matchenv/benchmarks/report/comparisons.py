"""Sections of comparisons, tunings, limits and the study; reading of result files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd

from matchenv.benchmarks.compare.comparison import columns as standing_columns
from matchenv.benchmarks.limits.optimum import OPTIMUM
from matchenv.benchmarks.report.page import (
    Block,
    Section,
    new_figure,
    pivot,
    points,
    table_of,
    texts_of,
)
from matchenv.benchmarks.study.figures import LABELS
from matchenv.benchmarks.study.settings import DRAW, FIRST_GAMES
from matchenv.evaluation.estimates import Estimate, Record, recorded, verdicts
from matchenv.evaluation.protocols import LOW_END, Protocol, mean_column, protocol_of
from matchenv.evaluation.rollout import ALL
from matchenv.evaluation.tables import Column
from matchenv.runtime.files import number, read_json

DIFFERENCES = ("difference",)
AHEAD = "Policies right of the dotted line are ahead of {}. Pale names are hidden."
SELECTED = "The best was selected on these episodes, which favours it: compare it on others."
# Titles of the study's measures, without TeX.
TITLES = {name: label.replace(r"$\mu_0$", "mu_0") for name, label in LABELS.items()}
NOT_SHOWN = ("policies", "cells", "command", "made_with")  # settings of the study


def json_of(file: Path) -> Any:
    """Return the content of a JSON file, with records and estimates in place of mappings."""
    return recorded(read_json(file))


def rows_of(file: Path) -> pd.DataFrame:
    """Return the texts of a CSV file, with one column per estimate in place of four."""
    text = file.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        raise ValueError(f"{file} is damaged: its last line is not complete")
    table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    names = list(table)
    for place in (place for place, name in enumerate(names) if name.endswith("low")):
        four = names[place - 2 : place + 2]
        estimates = [Estimate(*map(number, row)) for row in table[four].to_numpy()]
        table = table.drop(columns=four).assign(**{four[0].removesuffix("_mean"): estimates})
    return table


def standings_of(result: Record) -> list[Record]:
    """Return the standings of ``comparison.json`` with the titles of their cells."""
    titles = {tuple(cell.labels.items()): cell.title for cell in result["cells"].values()}
    return [Record(row, title=titles[tuple(row.cell.items())]) for row in result.standings]


def front_of(policies: pd.DataFrame, note: str) -> Block:
    """Return the chart of ``quality`` against ``wait``, with a curve per ``name``."""
    groups = policies.groupby("name", sort=False)
    lines = ((name, group["wait"], group["quality"]) for name, group in groups)
    figure = new_figure("mean wait, in ticks", "true match quality", lines, "lines+markers")
    return Block("Quality against waiting", figure, note)


def compare_section(result: Record, folder: Path) -> Section:
    """Return the section of ``matchenv compare``."""
    standings, against = standings_of(result), result.against
    kind: Protocol = protocol_of(result.env)
    measures = kind.shown or dict(
        mean_column(name, name.replace("_", " ")) for name, value in standings[0].items()
        if isinstance(value, Estimate) and name not in DIFFERENCES
    )  # fmt: skip
    heading = measures[kind.measure].heading
    differences = [
        (row.policy, row.title, row.difference) for row in standings if row.policy != against
    ]
    title = f"{heading} minus that of {against}"
    blocks = [
        Block(f"Difference to {against}", points(title, differences, level=(0.0, against)),
              AHEAD.format(against)),
        pivot(title[:1].upper() + title[1:], differences, 2),
    ] if differences else []  # fmt: skip
    if {"wait", "true_match_quality"} <= standings[0].keys():
        loads = [(row.policy, row.wait.mean, row.true_match_quality.mean) for row in standings]
        table = pd.DataFrame(loads, columns=["name", "wait", "quality"])
        blocks.append(front_of(table, "One point per load."))
    if (folder / "curves.csv").is_file():
        x, y = "share_of_games", "accuracy"
        curves = pd.read_csv(folder / "curves.csv", dtype=str, keep_default_na=False)
        curves = curves.astype({x: float, y: float})
        lines = [
            (", ".join(map(str, names)), curve[x], curve[y])
            for names, curve in curves.groupby(list(curves.columns.drop([x, y])), sort=False)
        ]
        blocks.append(Block("Accuracy over the games", new_figure("share of the games", y, lines)))
    columns = (Column("cell", "{title}"), *standing_columns(against, kind, measures))
    return Section(
        title=f"compare: {folder.name}",
        lead=(
            f"All policies played the same {result.episodes:,} episodes of {result.env} in each "
            f"cell. Differences to {against} are paired, with {100 * result.confidence:.0f} % "
            "intervals."
        ),
        settings={"seed": result.seed, "against": against, **result.environment},
        versions=result.versions,
        blocks=[*blocks, Block("All measures", table_of(columns, standings))],
    )


def tune_section(tried: pd.DataFrame, folder: Path) -> Section:
    """Return the section of ``matchenv tune``."""
    best, settings = json_of(folder / "best.json"), json_of(folder / "settings.json")
    lead = [difference.times(-1.0) for difference in tried["behind"]]
    tried["best"] = tried["best"].replace({"True": "best", "False": ""})
    tried = tried.rename(columns={"total": settings.measure})
    # One name per cell and one category per policy, since there are many policies.
    figure = points(
        f"{settings.measure} per episode, minus that of the best of the family",
        zip(tried["cell"], tried["policy"], lead, strict=True),
        level=(0.0, "the best"),
    )
    blocks = [Block("Difference to the best of the family", figure)]
    if (folder / "front.csv").is_file():
        table = pd.read_csv(folder / "front.csv", dtype={"load": str})
        table = table[table["best"]].sort_values("wait")
        table["name"] = table["family"] + ", " + table["load"]
        blocks.append(front_of(table, "The best policy of each family and load."))
    chosen = [(family, cell, policy) for cell, families in best.items()
              for family, policy in families.items()]  # fmt: skip
    return Section(
        title=f"tune: {folder.name}",
        lead=(
            f"Options of policies, compared on the same {settings.episodes:,} episodes of "
            f"{settings.env} in each cell, with separate seeds."
        ),
        settings={"seed": settings.seed, **settings.environment},
        blocks=[
            *blocks,
            pivot("Best of each family", chosen),
            Block("All candidates", texts_of(tried, 2), SELECTED),
        ],
    )


def bound_section(result: Record, folder: Path) -> Section:
    """Return the section of ``matchenv limits``."""
    rows = [Record(cell, **each) for cell in result.cells for each in cell.pop("policies")]
    lead = (
        "An upper bound for all policies, and policies on the same instances. Room is the bound "
        f"minus a policy's true q; shares are of the distance from {LOW_END} to bound and oracle. "
        "The row told is the Gittins index, given player 0's skill."
    )
    settings = {name: result[name] for name in ("episodes", "seed", "depth")} | result.environment
    return _limits(f"bound: {folder.name}", lead, settings, result.versions, rows, "room")


def optimum_section(result: Record, folder: Path) -> Section:
    """Return the section of ``matchenv limits optimum``."""
    rows = [
        Record({"title": f"{problem.num_opponents} opponents, {problem.horizon} games", **loss})
        for problem in result.problems for loss in problem.losses if loss.policy != OPTIMUM
    ]  # fmt: skip
    lead = (
        "The exact optimum under the belief, and the losses of policies. Gap is a policy's "
        "believed q minus the optimum's."
    )
    settings = {name: value for name, value in result.problems[0].items() if name != "losses"}
    return _limits(f"optimum: {folder.name}", lead, settings, result.versions, rows, "gap")


def _limits(
    title: str, lead: str, settings: Any, versions: Any, rows: list[Record], shown: str
) -> Section:
    """Return the section of rows with ``title``, ``policy`` and the estimate ``shown`` first."""
    values = [(row.policy, row.title, row[shown]) for row in rows]
    table = pd.DataFrame(rows).rename(columns={"saved": "oracle - bound"})
    blocks = [
        Block(shown.capitalize(), points(f"{shown}, in q per episode", values)),
        pivot(shown.capitalize(), values, 3),
        Block("All measures", texts_of(table, 3)),
    ]
    return Section(title, lead, settings, blocks, versions)


def study_section(verdict: Record, folder: Path) -> Section:
    """Return the section of ``matchenv study``."""
    settings = json_of(folder / "settings.json")
    means, paired = (
        rows_of(folder / name).replace({"cell": {r"^([^_]*)_(.*)$": r"\2, \1"}}, regex=True)
        for name in ("windows.csv", "paired.csv")
    )
    draws, games, first = settings.prior_draws, settings.horizon, next(iter(settings.policies))
    priors = "one prior" if draws == 1 else f"each of {draws} priors"
    # Each question once: neither both orders of two policies, nor equal windows of a short study.
    names = list(settings.policies)
    later = paired["policy"].map(names.index) > paired["other"].map(names.index)
    once = (paired["games"] == ALL) | (games > FIRST_GAMES)
    paired = paired[(paired["measure"] == DRAW) & later & once]
    units = settings.episodes if draws == 1 else draws
    paired["verdict"] = verdicts([*paired["difference"]], units)
    levels = means[(means["games"] == ALL) & (means["measure"] == DRAW)]
    totals = [(row.policy, row.cell, row.mean.times(float(games))) for row in levels.itertuples()]
    to_first = paired[(paired["games"] == ALL) & (paired["other"] == first)]
    differences = [
        (row.policy, row.cell, row.difference.times(float(games))) for row in to_first.itertuples()
    ]
    title = "True q per episode" + (f", minus that of {first}" if differences else "")
    claims = [
        {"claim": claim.text, "verdict": claim.verdict,
         "numbers, positive if they support the claim":
             "; ".join(map("{label}: {value:+.4f}".format_map, claim.findings))}
        for claim in verdict.claims
    ]  # fmt: skip
    means = means.replace({"measure": TITLES})[["cell", "policy", "games", "measure", "mean"]]
    paired = paired[["cell", "policy", "other", "games", "difference", "verdict"]]
    return Section(
        title=f"study: {folder.name}",
        lead=(
            f"The simulation study of Ryzhov, Tariq and Powell (2011): {settings['episodes']:,} "
            f"sets of true skills with {priors}, {games:,} games each, the same for all policies. "
            "Curves of all measures are in the folder."
        ),
        settings={name: value for name, value in settings.items() if name not in NOT_SHOWN},
        versions=verdict["versions"],
        blocks=[
            Block("True q per episode", points("true q per episode", totals)),
            pivot(title, differences or totals, 2),
            Block("The paper's claims", pd.DataFrame(claims)),
            Block("Means per game", texts_of(means, 4)),
            Block(
                f"Paired differences of policies, {TITLES[DRAW]} per game",
                texts_of(paired, 4),
                "Verdicts are after Holm's correction over the table.",
            ),
        ],
    )
