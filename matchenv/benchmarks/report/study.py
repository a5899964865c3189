"""Section of the simulation study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from matchenv.benchmarks.report.charts import LEVEL, Curve, NamedValue, new_figure
from matchenv.benchmarks.report.page import Block, Section, formatted, pivot
from matchenv.benchmarks.report.results import json_of, rows_of
from matchenv.benchmarks.study.figures import LABELS
from matchenv.benchmarks.study.settings import DRAW, FIRST_GAMES
from matchenv.evaluation.estimates import CONFIDENCE, Record, verdicts
from matchenv.evaluation.rollout import ALL

# Titles of the study's measures, without TeX.
TITLES = {name: label.replace(r"$\mu_0$", "mu_0") for name, label in LABELS.items()}
# Settings of the study that its section leaves out.
OMITTED = ("policies", "cells", "command", "made_with")


def study_section(verdict: Record, folder: Path) -> Section:
    """Return the section of ``matchenv study``, given the content of ``verdict.json``."""
    settings = json_of(folder / "settings.json")
    means = _table_of(folder / "windows.csv", settings)
    paired = _questions(_table_of(folder / "paired.csv", settings), settings)
    priors = "one prior"
    if settings.prior_draws > 1:
        priors = f"each of {settings.prior_draws} priors"
    return Section(
        title=f"study: {folder.name}",
        lead=(
            f"The simulation study of Ryzhov, Tariq and Powell (2011): {settings.episodes:,} "
            f"sets of true skills with {priors}, {settings.horizon:,} games each, the same for "
            "all policies. Curves of all measures are in the folder."
        ),
        settings={name: value for name, value in settings.items() if name not in OMITTED},
        versions=verdict.versions,
        blocks=[
            *_charts_of_leads(folder / "leads.csv"),
            *_total_blocks(means, paired, settings),
            Block("The paper's claims", _table_of_claims(verdict.claims)),
            _block_of_means(means),
            _block_of_differences(paired),
        ],
    )


def _table_of(file: Path, settings: Record) -> pd.DataFrame:
    """Return a table of the study, with cells as "rank, prior" instead of "prior_rank".

    As on all pages, a rank without further words is by the prior mean.
    """
    names = {r"^([^_]*)_(.*)$": r"\2, \1"}
    if settings.equal_rank_by == "true_skill":
        names = {r"^equal_(.*)$": r"\1 by true skill, equal", **names}
    return rows_of(file).replace({"cell": names}, regex=True)


def _questions(paired: pd.DataFrame, settings: Record) -> pd.DataFrame:
    """Return the differences in draw density, with verdicts.

    Each question is asked once: neither in both orders of two policies, nor in equal windows of a
    short study.
    """
    policies = list(settings.policies)
    later = paired["policy"].map(policies.index) > paired["other"].map(policies.index)
    questions = paired[(paired["measure"] == DRAW) & later]
    if settings.horizon <= FIRST_GAMES:
        questions = questions[questions["games"] == ALL]
    units = settings.prior_draws
    if units == 1:
        units = settings.episodes
    return questions.assign(verdict=verdicts(list(questions["difference"]), units))


def _total_blocks(means: pd.DataFrame, paired: pd.DataFrame, settings: Record) -> list[Block]:
    """Return the table of the differences in true q per episode to the first policy.

    A single policy has a table of its totals.
    """
    games = float(settings.horizon)
    totals = []
    for row in means[(means["games"] == ALL) & (means["measure"] == DRAW)].itertuples():
        totals.append(NamedValue(row.policy, row.cell, row.mean.times(games)))
    first = next(iter(settings.policies))
    differences = []
    for row in paired[(paired["games"] == ALL) & (paired["other"] == first)].itertuples():
        differences.append(NamedValue(row.policy, row.cell, row.difference.times(games)))
    if not differences:
        return [pivot("True q per episode", totals, 2)]
    return [pivot(f"True q per episode, minus that of {first}", differences, 2)]


def _charts_of_leads(file: Path) -> list[Block]:
    """Return a chart of the leads over the games for each policy and prior, with paired bands."""
    if not file.is_file():  # a study of an earlier version
        return []
    leads = pd.read_csv(file).replace({"cell": {r"^([^_]*)_(.*)$": r"\2, \1"}}, regex=True)
    leads["prior"] = leads["cell"].str.rpartition(", ")[2]
    blocks = []
    for (policy, other, prior), rows in leads.groupby(["policy", "other", "prior"], sort=False):
        curves = []
        has_bands = not rows["low"].isna().any()
        note = "Running totals, paired; a study of a single block of episodes has no bands."
        if has_bands:
            note = f"Running totals, paired, with {100 * CONFIDENCE:.0f} % bands."
        for cell, lead in rows.groupby("cell", sort=False):
            low: Any = lead["low"]
            high: Any = lead["high"]
            if not has_bands:
                low = None
                high = None
            curves.append(Curve(str(cell), lead["game"] + 1, lead["lead"], low, high))
        title = f"{policy} minus {other}, {prior} prior"
        y = f"total true q minus that of {other}"
        figure = new_figure("games", y, curves, hovermode="x unified")
        figure.add_hline(0.0, line=LEVEL["line"])
        blocks.append(Block(title, figure, note))
    return blocks


def _table_of_claims(claims: Sequence[Record]) -> pd.DataFrame:
    rows = []
    for claim in claims:
        findings = [f"{finding.label}: {finding.value:+.4f}" for finding in claim.findings]
        rows.append(
            {
                "claim": claim.text,
                "verdict": claim.verdict,
                "numbers, positive if they support the claim": "; ".join(findings),
            }
        )
    return pd.DataFrame(rows)


def _block_of_means(means: pd.DataFrame) -> Block:
    table = means.replace({"measure": TITLES})
    table = table[["cell", "policy", "games", "measure", "mean"]]
    return Block("Means per game", formatted(table, 4))


def _block_of_differences(paired: pd.DataFrame) -> Block:
    table = paired[["cell", "policy", "other", "games", "difference", "verdict"]]
    return Block(
        f"Paired differences of policies, {TITLES[DRAW]} per game",
        formatted(table, 4),
        "Verdicts are after Holm's correction over the table.",
    )
