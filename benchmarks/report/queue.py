"""Comparisons and tunings in the queue on the page."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from matchenv.benchmarks.report.charts import (
    HIDDEN_AT_FIRST,
    Palette,
    add_level,
    add_line,
    add_points,
    new_figure,
    spread_points,
)
from matchenv.benchmarks.report.reading import json_of
from matchenv.benchmarks.report.section import Chart, Section, Table, pivot, short_text
from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.tables import Column

# Only a comparison in the queue writes this one.
COMPARISON = "groups.csv"

Standing = Mapping[str, Any]


def queue_section(folder: Path, palette: Palette) -> Section:
    """What ``matchenv compare --env MatchmakingQueue-v0`` found."""
    found = json_of(folder / "comparison.json")
    against, standings = found["against"], found["standings"]
    differences = {
        (each["load"], each["policy"]): short_text(_of(each, "difference"), 1)
        for each in standings
        if each["policy"] != against
    }
    return Section(
        kind="compare",
        folder=folder.name,
        lead=(
            f"Every policy matched the same {found['episodes']:,} runs of "
            f"{found['environment']['horizon']:,} ticks under each load. The true reward is the "
            "match quality under the true skills, less what waiting and leaving cost; "
            f"differences to {against} are paired, their intervals of "
            f"{100 * found['confidence']:.0f} %."
        ),
        settings={"seed": found["seed"], **found["loads"], **found["environment"]},
        versions=found["versions"],
        charts=[
            _differences(standings, against, palette),
            _front(standings, palette),
        ],
        tables=[Table("All loads", _columns(against), standings)],
        summary=pivot(f"True reward less that of {against}", "load", differences),
    )


def queue_tuning_section(folder: Path, tried: list[dict[str, str]]) -> Section:
    """What ``matchenv tune --env MatchmakingQueue-v0`` found.

    Args:
        folder: of the results.
        tried: the rows of its ``tuning.csv``.
    """
    settings, best = json_of(folder / "settings.json"), json_of(folder / "best.json")
    columns = [
        Column("load", lambda row: row["load"]),
        Column("family", lambda row: row["family"]),
        Column("policy", lambda row: row["policy"]),
        Column("total", lambda row: f"{float(row['total_mean']):.2f}"),
        Column("behind the best", lambda row: f"{float(row['behind_mean']):.2f}"),
        Column("verdict", lambda row: "best" if row["best"] == "True" else ""),
    ]
    chosen = {(load, name): each for load, every in best.items() for name, each in every.items()}
    known = ("seed", "episodes", "measure")
    return Section(
        kind="tune",
        folder=folder.name,
        lead="Policies of the queue with several settings, on seeds of their own.",
        settings={name: settings[name] for name in known if name in settings},
        versions={},
        charts=[],
        tables=[Table("All that was tried", columns, tried)],
        summary=pivot("The best of each family", "load", chosen),
    )


def _of(standing: Standing, name: str) -> Estimate:
    return Estimate.from_plain(standing[name])


def _columns(against: str) -> tuple[Column, ...]:
    return (
        Column("load", lambda s: s["load"]),
        Column("policy", lambda s: s["policy"]),
        Column("true reward", lambda s: f"{_of(s, 'true_reward').mean:.1f}"),
        Column(f"true - {against}", lambda s: _of(s, "difference").interval_text(1)),
        Column("true q", lambda s: f"{_of(s, 'true_match_quality').mean:.3f}"),
        Column("wait", lambda s: f"{_of(s, 'wait').mean:.2f}"),
        Column("left", lambda s: f"{100.0 * _of(s, 'left').mean:.2f} %"),
        Column(
            "verdict",
            lambda s: "" if s["policy"] == against else _of(s, "difference").verdict,
        ),
    )


def _by_policy(standings: list[Standing]) -> dict[str, list[Standing]]:
    def name(standing: Standing) -> str:
        return str(standing["policy"])

    return {policy: [*rows] for policy, rows in groupby(sorted(standings, key=name), key=name)}


def _differences(standings: list[Standing], against: str, palette: Palette) -> Chart:
    figure = new_figure("load", f"true reward less that of {against}")
    for policy, rows in _by_policy(standings).items():
        if policy != against:
            add_points(
                figure, palette, policy, [each["load"] for each in rows],
                [_of(each, "difference") for each in rows], hidden=policy in HIDDEN_AT_FIRST,
            )  # fmt: skip
    spread_points(figure)
    add_level(figure, 0.0, against)
    note = f"Above the dotted line a policy is ahead of {against}. Names in grey are hidden."
    return Chart(f"Difference to {against}", figure, note)


def _front(standings: list[Standing], palette: Palette) -> Chart:
    figure = new_figure("mean wait, in ticks", "true match quality")
    for policy, rows in _by_policy(standings).items():
        waits, qualities = (
            [_of(each, name).mean for each in rows] for name in ("wait", "true_match_quality")
        )
        add_line(figure, palette, policy, waits, qualities, markers=True)
    return Chart("Quality against waiting", figure, "A policy's points are the loads.")
