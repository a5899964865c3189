"""Section of the simulation study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from matchenv.benchmarks.report.charts import NamedValue, points
from matchenv.benchmarks.report.page import Block, Section, formatted, pivot
from matchenv.benchmarks.report.results import json_of, rows_of
from matchenv.benchmarks.study.figures import LABELS
from matchenv.benchmarks.study.settings import DRAW, FIRST_GAMES
from matchenv.evaluation.estimates import Record, verdicts
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
    """Return the chart of true q per episode, and the table of differences to the first policy."""
    games = float(settings.horizon)
    totals = []
    for row in means[(means["games"] == ALL) & (means["measure"] == DRAW)].itertuples():
        totals.append(NamedValue(row.policy, row.cell, row.mean.times(games)))
    first = next(iter(settings.policies))
    differences = []
    for row in paired[(paired["games"] == ALL) & (paired["other"] == first)].itertuples():
        differences.append(NamedValue(row.policy, row.cell, row.difference.times(games)))
    chart = Block("True q per episode", points("true q per episode", totals))
    if not differences:
        return [chart, pivot("True q per episode", totals, 2)]
    return [chart, pivot(f"True q per episode, minus that of {first}", differences, 2)]


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
