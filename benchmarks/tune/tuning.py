"""KG's multipliers against each other on the same episodes, with seeds of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from matchenv.benchmarks.study.results import CellResult, results_of
from matchenv.benchmarks.study.settings import StudyOptions, StudySettings
from matchenv.evaluation.episode_table import ALL, EpisodeTable, play
from matchenv.evaluation.estimates import Estimate, columns_of
from matchenv.evaluation.seeds import TUNING
from matchenv.evaluation.tables import Column, markdown_table
from matchenv.runtime.checks import as_non_negative_number
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.jobs import open_store, write_results
from matchenv.runtime.parallel import Workers, as_engine

MULTIPLIERS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 70.0, 99.0, 200.0, 499.0)
FINITE_HORIZON = "kg:finite_horizon=true"
MEASURE = "true_draw_density"
DEFAULTS: StudyOptions = {"episodes": 200, "prior_draws": 10}


@dataclass(frozen=True)
class Tried:
    """A multiplier in one cell; totals of true draw density over all games.

    Attributes:
        policy: its label.
        total: its total.
        behind: the best policy's total less its own, on the same episodes.
        best: whether it is the best.
    """

    policy: str
    total: Estimate
    behind: Estimate
    best: bool

    @property
    def text(self) -> str:
        """Its total if it is the best, else how far it is behind."""
        if self.best:
            return f"**{self.total.mean:.2f}**"
        return f"-{self.behind.mean:.2f} ({self.behind.half_width:.2f})"


@dataclass(frozen=True)
class Tuning:
    """What was tried.

    Attributes:
        rows: the episodes.
        tried: by name of the cell, in the order of the policies.
    """

    rows: EpisodeTable
    tried: dict[str, list[Tried]]

    def files(self) -> dict[str, bytes]:
        """Content of the result files."""
        every = [(cell, tried) for cell, rows in self.tried.items() for tried in rows]
        best = {cell: tried.policy for cell, tried in every if tried.best}
        return {
            **self.rows.files(),
            "tuning.csv": records_csv([{"cell": cell, **columns_of(t)} for cell, t in every]),
            "best.json": json_bytes(best),
            "tuning.md": tuning_text(self.tried).encode(),
        }


def run_tuning(
    multipliers: Sequence[float] = MULTIPLIERS,
    *,
    workers: Workers = None,
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Unpack[StudyOptions],
) -> Tuning:
    """Try multipliers of KG, and eq. (12) beside them, in the cells of the study.

    Whatever the seed, the tuning never plays an instance of a study.

    Args:
        multipliers: at least one, >= 0, each once.
        workers: as ``matchenv.benchmarks.study.run_study``.
        out: as there.
        quiet: as there.
        options: as there, but for fewer episodes of more priors.

    Raises:
        ValueError: for a bad argument, before anything is played; for a folder with another
            tuning, or with damaged files.
        OSError: if something cannot be written; finished blocks stay.
    """
    as_engine(workers)
    values = [as_non_negative_number("multipliers", value) for value in multipliers]
    names = [*(f"kg:multiplier={value:g}" for value in values), FINITE_HORIZON]
    asked: StudyOptions = {**DEFAULTS, **options}
    settings = StudySettings.checked(names, purpose=TUNING, **asked)
    with open_store(out, {"command": "tune", **settings.described()}) as store:
        rows = play(settings.plan(curves=False), store, workers=workers, quiet=quiet)
        results = results_of(rows, settings.game.horizon)
        tuning = Tuning(rows, {result.cell.name: tried_in(result) for result in results})
        write_results(store, tuning.files().items())
    return tuning


def tried_in(result: CellResult) -> list[Tried]:
    """What was tried in a cell, in the order of the policies."""
    games = float(result.horizon)
    totals = {p: result.window(p, MEASURE, ALL).times(games) for p in result.policies}
    best = max(totals, key=lambda policy: totals[policy].mean)
    return [
        Tried(policy, total, result.paired(best, policy, MEASURE, ALL).times(games), policy == best)
        for policy, total in totals.items()
    ]


def tuning_text(tried: dict[str, list[Tried]]) -> str:
    """For each cell the best, and how far the others are behind it, as Markdown."""

    def column(place: int, policy: str) -> Column:
        name = "games left" if policy == FINITE_HORIZON else policy.partition("=")[2]
        return Column(name, lambda item: item[1][place].text)

    first = next(iter(tried.values()))
    columns = [
        Column("cell", lambda item: item[0]),
        *(column(place, row.policy) for place, row in enumerate(first)),
    ]
    lines = [
        "True draw density over all games, behind the best of the cell (95 % half width).",
        "",
        *markdown_table(columns, list(tried.items())),
    ]
    return "\n".join(lines) + "\n"
