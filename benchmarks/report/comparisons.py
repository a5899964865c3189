"""Comparisons, tunings, limits and the study on the page, and the reading of result files."""

from __future__ import annotations

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
from matchenv.benchmarks.study.settings import DRAW
from matchenv.envs import part_of
from matchenv.evaluation.estimates import Estimate, Record, recorded
from matchenv.evaluation.protocols import LOW_END, Protocol, mean_column
from matchenv.evaluation.rollout import ALL
from matchenv.evaluation.tables import Column
from matchenv.runtime.files import number, read_json

DIFFERENCES = ("difference", "belief_difference")
AHEAD = "Above the dotted line a policy is ahead of {}. Names in grey are hidden."
# Titles of the study's measures, without TeX, and its settings that stand elsewhere on the page.
TITLES = {name: label.replace(r"$\mu_0$", "mu_0") for name, label in LABELS.items()}
LISTS = ("policies", "cells", "format", "command")


def json_of(file: Path) -> Any:
    """Return the content of a JSON file: mappings as records, with estimates among them."""
    return recorded(read_json(file))


def rows_of(file: Path) -> pd.DataFrame:
    """Return a CSV file as texts, where the four columns of an estimate are one."""
    found = pd.read_csv(file, dtype=str, keep_default_na=False)
    names = list(found)
    for place in (place for place, name in enumerate(names) if name.endswith("low")):
        four = names[place - 2 : place + 2]
        estimates = [Estimate(*map(number, row)) for row in found[four].to_numpy()]
        found = found.drop(columns=four).assign(**{four[0].removesuffix("_mean"): estimates})
    return found


def read_standings(folder: Path) -> tuple[Record, list[Record]]:
    """Return the content of a comparison's file, and its standings, each with its cell's title."""
    found = json_of(folder / "comparison.json")
    titles = {tuple(each.labels.items()): each.title for each in found["cells"].values()}
    return found, [Record(each, title=titles[tuple(each.cell.items())]) for each in found.standings]


def front_of(policies: pd.DataFrame, note: str) -> Block:
    """Return the curves of ``quality`` against ``wait`` by ``name``."""
    lines = ((name, each["wait"], each["quality"])
             for name, each in policies.groupby("name", sort=False))  # fmt: skip
    figure = new_figure("mean wait, in ticks", "true match quality", lines, "lines+markers")
    return Block("Quality against waiting", figure, note)


def compare_section(folder: Path) -> Section:
    """Return the section of ``matchenv compare``."""
    found, standings = read_standings(folder)
    against = found.against
    kind: Protocol = part_of(found.env, "protocol")
    known = kind.shown or dict(
        mean_column(name, name.replace("_", " ")) for name, value in standings[0].items()
        if isinstance(value, Estimate) and name not in DIFFERENCES
    )  # fmt: skip
    judged = known[kind.measure].heading
    differences = [
        (each.policy, each.title, each.difference) for each in standings if each.policy != against
    ]
    what = f"{judged} minus that of {against}"
    less = points(what, differences, level=(0.0, against))
    blocks = [
        Block(f"Difference to {against}", less, AHEAD.format(against)),
        pivot(what.capitalize(), "cell", differences, 2),
    ] if differences else []  # fmt: skip
    if {"wait", "true_match_quality"} <= standings[0].keys():
        loads = pd.DataFrame([
            {"name": each.policy, "wait": each.wait.mean, "quality": each.true_match_quality.mean}
            for each in standings
        ])  # fmt: skip
        blocks.append(front_of(loads, "A policy's points are the loads."))
    columns = (Column("cell", "{title}"), *standing_columns(against, kind, known))
    return Section(
        title=f"compare: {folder.name}",
        lead=(
            f"Every policy played the same {found.episodes:,} episodes of {found.env} in "
            f"each cell; differences to {against} are paired, their intervals of "
            f"{100 * found.confidence:.0f} %."
        ),
        settings={"seed": found.seed, "against": against, **found.environment},
        versions=found.versions,
        blocks=[*blocks, Block("All measures", table_of(columns, standings))],
    )


def tune_section(folder: Path) -> Section:
    """Return the section of ``matchenv tune``."""
    tried, best = rows_of(folder / "tuning.csv"), json_of(folder / "best.json")
    settings = json_of(folder / "settings.json")
    lead = [each.times(-1.0) for each in tried["behind"]]
    verdicts = [
        "best" if best == "True" else each.verdict
        for best, each in zip(tried.pop("best"), lead, strict=True)
    ]
    tried = tried.assign(verdict=verdicts).rename(columns={"total": settings.measure})
    # Names are those of the cells here, since there are many policies.
    figure = points(
        f"{settings.measure} of an episode, behind the best of the family",
        zip(tried["cell"], tried["policy"], lead, strict=True),
        level=(0.0, "the best"),
    )
    blocks = [Block("Behind the best of the family", figure)]
    if (folder / "front.csv").is_file():
        table = pd.read_csv(folder / "front.csv")
        table = table[table["best"]].sort_values("wait")
        table["name"] = table["family"] + ", " + table["load"]
        blocks.append(front_of(table, "The best of each family and load."))
    chosen = [(family, cell, policy) for cell, found in best.items()
              for family, policy in found.items()]  # fmt: skip
    return Section(
        title=f"tune: {folder.name}",
        lead=(
            f"Options of policies on the same {settings.episodes:,} episodes of "
            f"{settings.env} in each cell, on seeds of their own."
        ),
        settings={"seed": settings.seed, **settings.environment},
        blocks=[
            *blocks,
            pivot("The best of each family", "cell", chosen),
            Block("All that was tried", texts_of(tried, 2)),
        ],
    )


def bound_section(folder: Path) -> Section:
    """Return the section of ``matchenv limits``."""
    found = json_of(folder / "bound.json")
    rows = [Record(cell, **each) for cell in found.cells for each in cell.pop("policies")]
    lead = (
        "What no policy can exceed, beside policies on the same instances. Room is the bound minus "
        f"the true q of a policy; shares are of the distance from {LOW_END} to bound and oracle."
    )
    settings = {name: found[name] for name in ("episodes", "seed", "depth")} | found.environment
    return _limits(f"bound: {folder.name}", lead, settings, found.versions, rows, "room")


def optimum_section(folder: Path) -> Section:
    """Return the section of ``matchenv limits optimum``."""
    found = json_of(folder / "optimum.json")
    rows = [
        Record({"title": f"{each.num_opponents} opponents, {each.horizon} games", **loss})
        for each in found.problems for loss in each.losses if loss.policy != OPTIMUM
    ]  # fmt: skip
    lead = (
        "The exact optimum under the belief, and what policies lose: gap is the believed q minus "
        "that of the optimum."
    )
    settings = {name: each for name, each in found.problems[0].items() if name != "losses"}
    return _limits(f"optimum: {folder.name}", lead, settings, found.versions, rows, "gap")


def _limits(
    title: str, lead: str, settings: Any, versions: Any, rows: list[Record], shown: str
) -> Section:
    """Return the section of rows with a ``title`` and a ``policy``; one estimate is shown first."""
    values, what = (
        [(row.policy, row.title, row[shown]) for row in rows],
        f"{shown}, in q of an episode",
    )
    blocks = [
        Block(shown.capitalize(), points(what, values)),
        pivot(shown.capitalize(), "cell", values, 3),
        Block("All numbers", texts_of(pd.DataFrame(rows), 3)),
    ]
    return Section(title, lead, settings, blocks, versions)


def study_section(folder: Path) -> Section:
    """Return the section of ``matchenv study``."""
    settings, verdict = json_of(folder / "settings.json"), json_of(folder / "verdict.json")
    means, paired = (
        rows_of(folder / name).assign(cell=lambda rows: rows["cell"].map(study_cell))
        for name in ("windows.csv", "paired.csv")
    )
    draws, games, first = (
        settings["prior_draws"],
        settings["horizon"],
        next(iter(settings.policies)),
    )
    priors = "one prior" if draws == 1 else f"each of {draws} priors"
    paired = paired[paired["measure"] == DRAW]
    paired["verdict"] = [each.verdict for each in paired["difference"]]
    levels = means[(means["games"] == ALL) & (means["measure"] == DRAW)]
    totals = [(row.policy, row.cell, row.mean.times(float(games))) for row in levels.itertuples()]
    less = paired[(paired["games"] == ALL) & (paired["other"] == first)]
    differences = [
        (f"{row.policy} minus {first}", row.cell, row.difference.times(float(games)))
        for row in less.itertuples()
    ]
    claims = [
        {"claim": claim["text"], "verdict": claim["verdict"],
         "numbers, above 0 for the claim": "; ".join(
             f"{each['label']}: {each['value']:+.4f}" for each in claim["findings"])}
        for claim in verdict["claims"]
    ]  # fmt: skip
    means = means.replace({"measure": TITLES})[["cell", "policy", "games", "measure", "mean"]]
    paired = paired[["cell", "policy", "other", "games", "difference", "verdict"]]
    return Section(
        title=f"study: {folder.name}",
        lead=(
            f"The simulation study of Ryzhov, Tariq and Powell (2011): {settings['episodes']:,} "
            f"sets of true skills with {priors}, {games:,} games each, every policy on the same "
            "games. Its folder has the curves of all measures."
        ),
        settings={name: value for name, value in settings.items() if name not in LISTS},
        versions=verdict["versions"],
        blocks=[
            Block("True q of an episode", points("true q of an episode", totals)),
            pivot("True q of an episode", "cell", differences or totals, 2),
            Block("The paper's claims", pd.DataFrame(claims)),
            Block("Means of a game", texts_of(means, 4)),
            Block(f"Paired differences of policies, {TITLES[DRAW]} of a game", texts_of(paired, 4)),
        ],
    )


def study_cell(cell: str) -> str:
    """Return the title of a cell of a study by its name."""
    prior, _, rank = cell.partition("_")
    return f"{rank}, {prior}"
