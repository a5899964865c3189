"""Section of a ranking: leaderboard, who met whom, the leader's probability, next pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from matchenv.benchmarks.report.charts import Curve, add_curve, new_figure
from matchenv.benchmarks.report.page import Block, Section

MOST_ROWS = 200  # of the leaderboard


def rank_section(content: Mapping[str, Any], name: str) -> Section:
    """Return the section of ``matchenv rank``.

    Args:
        content: content of ``rank.json``.
        name: name of the folder.
    """
    settings = {key: content[key] for key in ("goal", "k", "scale", "confidence")}
    lead = [f"{content['num_games']:,} games of {len(content['rows']):,} items", _verdict(content)]
    blocks = [
        Block("Leaderboard", leaderboard(content), ". ".join(content["notes"])),
        Block(
            "Who met whom",
            meetings(content["names"], content["games"], content["scores"]),
            "Colour: score share of the row's item, with draws as half a win; numbers: games.",
        ),
    ]
    if content["history"]:
        blocks.append(_history(content))
    if content["next"]:
        pairs = pd.DataFrame(content["next"], columns=["first", "second"])
        blocks.append(Block("Next pairs", pairs, "The first is to be named first."))
    return Section(f"rank: {name}", ". ".join(lead) + ".", settings, blocks)


def _verdict(content: Mapping[str, Any]) -> str:
    if content["contradicted"]:
        return "The games contradict the model: no verdict on the goal"
    if content["num_unsettled"]:
        return f"Pairs that are not settled for the goal: {content['num_unsettled']:,}"
    return f"The goal is settled at {100.0 * content['confidence']:.12g} %"


def leaderboard(content: Mapping[str, Any]) -> pd.DataFrame:
    """Return the ranking with intervals of skill and place."""
    elo = content["scale"] == "elo"
    points = ("elo", "elo_low", "elo_high") if elo else ("mean", "low", "high")
    form = "{:+.0f} [{:+.0f}, {:+.0f}]" if elo else "{:+.2f} [{:+.2f}, {:+.2f}]"
    top = "best" if content["k"] == 1 else f"top {content['k']}"
    lines: list[dict[str, str]] = []
    for row in content["rows"][:MOST_ROWS]:
        line = {
            "place": str(row["place"] or "retired"),
            "item": row["item"],
            "Elo" if elo else "skill": form.format(*(row[point] for point in points)),
            "95 % places": f"{row['best_place']}-{row['worst_place']}",
            top: f"{100.0 * row['top']:.0f} %",
            "games": f"{row['games']:,}",
        }
        lines.append(line)
    return pd.DataFrame(lines)


def meetings(
    names: Sequence[str], games: Sequence[Sequence[int]], scores: Sequence[Sequence[float]]
) -> go.Figure:
    """Return a heat map of the score shares, with the numbers of games."""
    counts = np.array(games)
    shares = np.where(counts > 0, np.array(scores, dtype=float), np.nan)
    labels = [escape(name, quote=False) for name in names]
    figure = new_figure("against", "")
    figure.add_heatmap(
        z=100.0 * shares,
        x=labels,
        y=labels,
        text=np.where(counts > 0, counts.astype(str), ""),
        texttemplate="%{text}",
        zmin=0.0,
        zmax=100.0,
        colorscale="RdBu",
        colorbar={"title": {"text": "score, %"}},
        name="score share",
        hovertemplate="%{y} against %{x}: %{z:.0f} % of %{text} games<extra></extra>",
    )
    figure.update_layout(height=max(420, 120 + 24 * len(names)), showlegend=False)
    figure.update_yaxes(autorange="reversed")
    return figure


def _history(content: Mapping[str, Any]) -> Block:
    leader = content["rows"][0]["item"]
    goal = "best" if content["k"] == 1 else f"in the top {content['k']}"
    figure = new_figure("games", f"probability of being {goal}")
    games = [step["games"] for step in content["history"]]
    tops = [step["top"] for step in content["history"]]
    add_curve(figure, Curve(leader, games, tops))
    figure.update_yaxes(range=[0.0, 1.02])
    return Block("How the leader's probability grew", figure, f"{leader}, in the order of the log.")
