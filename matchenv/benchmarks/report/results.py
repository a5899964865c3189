"""Reading of result files for reports."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd

from matchenv.evaluation.estimates import Estimate, Record, recorded
from matchenv.runtime.files import number, read_json


def content_of(file: Path) -> Any:
    """Return the content of a JSON or a CSV file, see ``json_of`` and ``rows_of``."""
    if file.suffix == ".json":
        return json_of(file)
    return rows_of(file)


def json_of(file: Path) -> Any:
    """Return the content of a JSON file, with records and estimates in place of mappings."""
    return recorded(read_json(file))


def texts_of(file: Path) -> pd.DataFrame:
    """Return the cells of a CSV file as texts.

    Raises:
        ValueError: if the file does not end with a complete line.
    """
    content = file.read_text(encoding="utf-8")
    if not content.endswith("\n"):
        raise ValueError(f"{file} is damaged: its last line is not complete")
    return pd.read_csv(io.StringIO(content), dtype=str, keep_default_na=False)


def rows_of(file: Path) -> pd.DataFrame:
    """Return the texts of a CSV file, with one column per estimate in place of four.

    The four are mean, standard error, low and high; the mean's name is that of the new column.

    Raises:
        ValueError: see ``texts_of``.
    """
    table = texts_of(file)
    names = list(table)
    for position, name in enumerate(names):
        if not name.endswith("low"):
            continue
        columns = names[position - 2 : position + 2]
        estimates = []
        for cells in table[columns].to_numpy():
            mean, standard_error, low, high = map(number, cells)
            estimates.append(Estimate(mean, standard_error, low, high))
        table = table.drop(columns=columns)
        table[columns[0].removesuffix("_mean")] = estimates
    return table


def standings_of(result: Record) -> list[Record]:
    """Return the standings of ``comparison.json`` with the titles of their cells."""
    titles = {}
    for cell in result["cells"].values():
        titles[tuple(cell.labels.items())] = cell.title
    standings = []
    for row in result.standings:
        title = titles[tuple(row.cell.items())]
        standings.append(Record(row, title=title))
    return standings
