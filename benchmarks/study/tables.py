"""The results of a study as files: curves, paired differences, the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.study.claims import DRAW, Claim
from matchenv.benchmarks.study.results import CellResult
from matchenv.benchmarks.study.settings import MEASURES, StudySettings, windows_of
from matchenv.evaluation.estimates import estimate_over_priors
from matchenv.evaluation.rollout import ALL
from matchenv.evaluation.tables import Column, TableWriter, markdown_table
from matchenv.runtime.files import csv_bytes, npz_bytes

SPREAD = ("least of a prior", "greatest of a prior", "deviation over priors")
ESTIMATE = ("standard error", "low", "high", *SPREAD)


def curve_files(results: Sequence[CellResult]) -> Iterator[tuple[str, bytes]]:
    """Yield the measures of each game in each cell, as .npz and as CSV."""
    for result in results:
        curves = [[result.curve(p, m) for m in MEASURES] for p in result.policies]
        means = np.array([[curve.mean for curve in row] for row in curves])
        errors = np.array([[curve.standard_error for curve in row] for row in curves])
        arrays = {
            "policies": np.array(result.policies),
            "measures": np.array(MEASURES),
            "mean": means,
            "standard_error": errors,
        }
        yield f"curves/{result.cell.name}.npz", npz_bytes(arrays)
        columns = [
            f"{policy} {measure} {what}"
            for policy in result.policies
            for measure in MEASURES
            for what in ("mean", "standard error")
        ]
        both = np.stack([means, errors], axis=2).reshape(len(columns), -1)
        rows = [[n, *both[:, n]] for n in range(both.shape[1])]
        yield f"curves/{result.cell.name}.csv", csv_bytes(["game", *columns], rows)


def windows_csv(results: Sequence[CellResult]) -> bytes:
    """Return means over windows of games, with their spread over draws of the prior."""
    rows = (
        [result.cell.name, policy, measure, window,
         *_numbers(result.values(policy, measure, window))]
        for result in results
        for policy in result.policies
        for measure in MEASURES
        for window in windows_of(result.horizon)
    )  # fmt: skip
    return csv_bytes(["cell", "policy", "measure", "games", "mean", *ESTIMATE], rows)


def paired_csv(results: Sequence[CellResult]) -> bytes:
    """Return differences between policies on the same episodes, each pair both ways round."""
    rows = (
        [result.cell.name, ours, theirs, measure, window,
         *_numbers(result.differences(ours, theirs, measure, window))]
        for result in results
        for ours, theirs in permutations(result.policies, 2)
        for measure in MEASURES
        for window in windows_of(result.horizon)
    )  # fmt: skip
    header = ["cell", "policy", "other", "measure", "games", "difference", *ESTIMATE]
    return csv_bytes(header, rows)


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """Return the mean of values of shape (draws, episodes), and ``ESTIMATE``."""
    found, priors = estimate_over_priors(values), values.mean(axis=1)
    spread = float(priors.std(ddof=1)) if priors.size > 1 else None
    return [found.mean, found.standard_error, found.low, found.high,
            float(priors.min()), float(priors.max()), spread]  # fmt: skip


def verdict_text(claims: Sequence[Claim]) -> str:
    """Return the claims with their numbers, as Markdown."""
    lines = ["# The paper's claims", ""]
    if not claims:
        lines += ["The study lacks PE, DrawChance or KG, or every cell that the paper speaks of."]
    for claim in claims:
        lines += [f"## {claim.text}", "", f"**{claim.verdict}**", ""]
        for finding in claim.findings:
            value = finding.value
            lines.append(f"- {finding.label}: {value.mean:+.5f} (95 % interval "
                         f"{value.low:+.5f} to {value.high:+.5f})")  # fmt: skip
        lines += [""]
    return "\n".join(lines) + "\n"


def summary_text(
    settings: StudySettings, results: Sequence[CellResult], table: TableWriter = markdown_table
) -> str:
    """Return the true draw density of every policy in every cell, as Markdown or as a text table.

    Sums over games, with the difference to the first policy of the list.
    """
    first = results[0].policies[0]
    columns, rows = [Column("cell", "{cell}"), Column("policy", "{policy}")], []
    spans = {
        window: span.stop - span.start for window, span in windows_of(settings.horizon).items()
    }
    for window in (ALL, "first", "last"):
        heading = window if window == ALL else f"{window} {spans[window]}"
        columns += [Column(heading, f"{{{window}.mean:.3f}}"),
                    Column(f"minus {first}", f"{{{window}_more}}")]  # fmt: skip
    for result in results:
        for policy in result.policies:
            row: dict[str, Any] = {"cell": result.cell.title, "policy": policy}
            for window, games in spans.items():
                row[window] = result.window(policy, DRAW, window).times(games)
                more = result.paired(policy, first, DRAW, window).times(games)
                row[f"{window}_more"] = (
                    "" if policy == first else f"{more.mean:+.3f} +- {more.half_width:.3f}"
                )
            rows.append(row)
    draws = settings.prior_draws
    lines = [
        "# True draw density, summed over games",
        "",
        f"{settings.episodes} episodes, {'1 prior' if draws == 1 else f'{draws} priors'}, "
        f"{settings.horizon} games, {settings.num_opponents} opponents, seed {settings.seed}, "
        f"{settings.belief} belief. Intervals are 95 %.",
        "",
        *table(columns, rows),
    ]
    return "\n".join(lines) + "\n"
