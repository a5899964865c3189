"""Sections of comparisons and tunings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from matchenv.benchmarks.compare.comparison import standing_columns
from matchenv.benchmarks.compare.queue import FURTHER_TABLES
from matchenv.benchmarks.report.charts import Curve, NamedValue, new_figure, points
from matchenv.benchmarks.report.explorer import explorer_of
from matchenv.benchmarks.report.page import Block, Section, formatted, pivot, table_of
from matchenv.benchmarks.report.results import json_of, standings_of
from matchenv.evaluation.estimates import Estimate, Record
from matchenv.evaluation.protocols import Protocol, mean_column, protocol_of
from matchenv.evaluation.tables import Column

AHEAD = "Policies right of the dotted line are ahead of {}. Pale names are hidden."
SELECTED = "The best was selected on these episodes, which favours it: compare it on others."


def compare_section(result: Record, folder: Path) -> Section:
    """Return the section of ``matchenv compare``."""
    standings = standings_of(result)
    protocol: Protocol = protocol_of(result.env)
    measures = protocol.shown or _columns_of_estimates(standings[0])
    blocks = _difference_blocks(standings, result.against, measures[protocol.measure].heading)
    if {"wait", "true_match_quality"} <= standings[0].keys():
        blocks.append(_front_of_loads(standings))
    explorer = explorer_of(result, folder)
    if explorer is not None:
        blocks.append(Block("Who is chosen when", explorer, explorer.note))
    if (folder / "curves.csv").is_file():
        blocks.append(_accuracy_chart(folder / "curves.csv"))
    columns = [Column("cell", "{title}"), *standing_columns(result.against, protocol, measures)]
    blocks.append(Block("All measures", table_of(columns, standings)))
    for table in FURTHER_TABLES:
        if table.records in result and table.is_for(result.environment["side_size"]):
            columns = [Column("load", "{load}"), *table.columns]
            block = Block(table.title, table_of(columns, result[table.records]), table.note)
            blocks.append(block)
    return Section(
        title=f"compare: {folder.name}",
        lead=(
            f"All policies played the same {result.episodes:,} episodes of {result.env} in each "
            f"cell. Differences to {result.against} are paired, with "
            f"{100 * result.confidence:.0f} % intervals."
        ),
        settings={"seed": result.seed, "against": result.against, **result.environment},
        versions=result.versions,
        blocks=blocks,
    )


def _columns_of_estimates(standing: Record) -> Mapping[str, Column]:
    """Return a column for each measure of a standing."""
    columns = {}
    for name, value in standing.items():
        if isinstance(value, Estimate) and name != "difference":
            _, columns[name] = mean_column(name, name.replace("_", " "))
    return columns


def _difference_blocks(standings: Sequence[Record], against: str, heading: str) -> list[Block]:
    """Return chart and table of the differences to a policy; none if it played alone."""
    differences = [
        NamedValue(standing.policy, standing.title, standing.difference)
        for standing in standings
        if standing.policy != against
    ]
    if not differences:
        return []
    title = f"{heading} minus that of {against}"
    chart = points(title, differences, level=(0.0, against))
    return [
        Block(f"Difference to {against}", chart, AHEAD.format(against)),
        pivot(title[:1].upper() + title[1:], differences, 2),
    ]


def _front_of_loads(standings: Sequence[Record]) -> Block:
    """Return the chart of quality against waiting of each policy, a point for each load."""
    rows = []
    for standing in standings:
        wait = standing.wait.mean
        quality = standing.true_match_quality.mean
        rows.append({"name": standing.policy, "wait": wait, "quality": quality})
    return front_chart(pd.DataFrame(rows), "One point per load.")


def front_chart(policies: pd.DataFrame, note: str) -> Block:
    """Return the chart of ``quality`` against ``wait``, with a curve per ``name``."""
    curves = []
    for name, group in policies.groupby("name", sort=False):
        curves.append(Curve(name, group["wait"], group["quality"]))
    figure = new_figure("mean wait, in ticks", "true match quality", curves, "lines+markers")
    return Block("Quality against waiting", figure, note)


def _accuracy_chart(file: Path) -> Block:
    """Return the chart of ``curves.csv``: accuracy over the games, by cell and policy."""
    x = "share_of_games"
    y = "accuracy"
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    table = table.astype({x: float, y: float})
    labels = list(table.columns.drop([x, y]))
    curves = []
    for names, group in table.groupby(labels, sort=False):
        curves.append(Curve(", ".join(map(str, names)), group[x], group[y]))
    return Block("Accuracy over the games", new_figure("share of the games", y, curves))


def tune_section(tried: pd.DataFrame, folder: Path) -> Section:
    """Return the section of ``matchenv tune``, given the rows of ``tuning.csv``."""
    best = json_of(folder / "best.json")
    settings = json_of(folder / "settings.json")
    blocks = [Block("Difference to the best of the family", _chart_of_lead(tried, settings))]
    if (folder / "front.csv").is_file():
        blocks.append(_front_of_families(folder / "front.csv"))
    chosen = []
    for cell, policies in best.items():
        for family, policy in policies.items():
            chosen.append(NamedValue(family, cell, policy))
    blocks.append(pivot("Best of each family", chosen))
    table = tried.replace({"best": {"True": "best", "False": ""}})
    table = table.rename(columns={"total": settings.measure})
    blocks.append(Block("All candidates", formatted(table, 2), SELECTED))
    return Section(
        title=f"tune: {folder.name}",
        lead=(
            f"Options of policies, compared on the same {settings.episodes:,} episodes of "
            f"{settings.env} in each cell, with separate seeds."
        ),
        settings={"seed": settings.seed, **settings.environment},
        blocks=blocks,
    )


def _chart_of_lead(tried: pd.DataFrame, settings: Record) -> go.Figure:
    """Return the chart of the lead of each policy over the best of its family."""
    leads = []
    for row in tried.itertuples():
        # One name per cell and one category per policy, since there are many policies.
        leads.append(NamedValue(row.cell, row.policy, row.behind.times(-1.0)))
    title = f"{settings.measure} per episode, minus that of the best of the family"
    return points(title, leads, level=(0.0, "the best"))


def _front_of_families(file: Path) -> Block:
    """Return the chart of ``front.csv``."""
    table = pd.read_csv(file, dtype={"load": str})
    table = table[table["best"]].sort_values("wait")
    table["name"] = table["family"] + ", " + table["load"]
    return front_chart(table, "The best policy of each family and load.")
