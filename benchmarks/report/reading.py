"""Result files as plain data."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matchenv.evaluation.cells import Cell, cells_of
from matchenv.priors import DEFAULT_PRIOR
from matchenv.runtime.files import read_json
from matchenv.runtime.object_spec import is_object_spec
from matchenv.settings import Settings


def json_of(file: Path) -> Any:
    """The content of a JSON file.

    Raises:
        ValueError: for a damaged one; it says what to do.
    """
    try:
        return read_json(file)
    except ValueError as error:
        raise ValueError(f"{file} is damaged, run its command again: {error}") from None


def rows_of(file: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by the names of its columns."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def cell_of(record: Mapping[str, Any], num_opponents: int) -> Cell:
    """The cell that a record names by its rank and its prior; imports nothing that it names."""
    prior = record["prior"]
    named = DEFAULT_PRIOR if is_object_spec(prior) else prior
    by = record.get("rank_by", Settings.rank_by)
    return replace(cells_of((record["rank"],), (named,), num_opponents, by)[0], prior=prior)
