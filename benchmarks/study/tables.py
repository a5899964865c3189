"""The results of a study as files: curves, paired differences, the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from matchenv.benchmarks.study.blocks import FIRST_GAMES, LAST_GAMES, WINDOWS
from matchenv.benchmarks.study.claims import Claim
from matchenv.benchmarks.study.estimates import CellResult
from matchenv.benchmarks.study.paths import MEASURES
from matchenv.benchmarks.study.settings import StudySettings
from matchenv.evaluation.result_files import csv_bytes, npz_bytes


def curve_files(results: Sequence[CellResult]) -> Iterator[tuple[str, bytes]]:
    """The measures of each game in each cell, as .npz and as CSV."""
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
    """Means over windows of games, with their spread over priors."""
    header = [
        "cell", "policy", "measure", "games", "mean", "standard error", "low", "high",
        "least of a prior", "greatest of a prior", "deviation over priors",
    ]  # fmt: skip
    rows = []
    for result in results:
        for policy in result.policies:
            for measure in MEASURES:
                for window in WINDOWS:
                    found = result.window(policy, measure, window)
                    priors = result.prior_means(policy, measure, window)
                    spread = float(priors.std(ddof=1)) if priors.size > 1 else None
                    rows.append(
                        [result.cell.name, policy, measure, window, float(found.mean),
                         float(found.standard_error), float(found.low), float(found.high),
                         float(priors.min()), float(priors.max()), spread]
                    )  # fmt: skip
    return csv_bytes(header, rows)


def paired_rows(results: Sequence[CellResult]) -> Iterator[list[Any]]:
    """Differences between policies on the same paths, each pair both ways round."""
    for result in results:
        for ours, theirs in permutations(result.policies, 2):
            for measure in MEASURES:
                for window in WINDOWS:
                    found = result.paired(ours, theirs, measure, window)
                    a = result.prior_means(ours, measure, window)
                    b = result.prior_means(theirs, measure, window)
                    spread = float((a - b).std(ddof=1)) if a.size > 1 else None
                    yield [
                        result.cell.name, ours, theirs, measure, window, float(found.mean),
                        float(found.standard_error), float(found.low), float(found.high),
                        float((a - b).min()), float((a - b).max()), spread,
                    ]  # fmt: skip


def paired_csv(results: Sequence[CellResult]) -> bytes:
    """``paired_rows`` as a file."""
    header = [
        "cell", "policy", "other", "measure", "games", "difference", "standard error", "low",
        "high", "least of a prior", "greatest of a prior", "deviation over priors",
    ]  # fmt: skip
    return csv_bytes(header, paired_rows(results))


def verdict_text(claims: Sequence[Claim]) -> str:
    """The claims with their numbers, as Markdown."""
    lines = ["# The paper's claims", ""]
    if not claims:
        lines += ["The study lacks PE, DrawChance or KG, or every cell that the paper speaks of."]
    for claim in claims:
        lines += [f"## {claim.text}", "", f"**{claim.verdict}**", ""]
        lines += [f"- {finding.text}" for finding in claim.findings]
        lines += [""]
    return "\n".join(lines) + "\n"


def summary_text(settings: StudySettings, results: Sequence[CellResult]) -> str:
    """The true draw density of every policy in every cell, as Markdown.

    Sums over games, with the difference to the first policy of the list.
    """
    horizon = settings.horizon
    spans = {
        "first": min(FIRST_GAMES, horizon),
        "last": min(LAST_GAMES, horizon),
        "all": horizon,
    }
    first = settings.policies[0]
    lines = [
        "# True draw density, summed over games",
        "",
        f"{settings.paths} paths, {settings.priors} prior(s), {horizon} games, "
        f"{settings.opponents} opponents, seed {settings.seed}, {settings.equations} equations. "
        "Intervals are 95 %.",
        "",
        f"| cell | policy | all | less {first} | first {spans['first']} "
        f"| less {first} | last {spans['last']} | less {first} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        for policy in settings.policies:
            cells = [result.cell.title, policy]
            for window in ("all", "first", "last"):
                games = spans[window]
                mean = result.window(policy, "true_draw_density", window)
                cells.append(f"{games * float(mean.mean):.3f}")
                if policy == first:
                    cells.append("")
                    continue
                pair = result.paired(policy, first, "true_draw_density", window)
                cells.append(
                    f"{games * float(pair.mean):+.3f} +- {games * float(pair.half_width):.3f}"
                )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
