"""The leaderboard: a line for each method that was entered, best first."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from matchenv.benchmarks.bench.scoring import Score
from matchenv.evaluation.tables import Column, markdown_table
from matchenv.runtime.files import parsed_json

FILE = "leaderboard.json"


def entries() -> list[dict[str, Any]]:
    """The entries of the leaderboard's file, best first."""
    content = files("matchenv.benchmarks.bench").joinpath(FILE).read_bytes()
    found: list[dict[str, Any]] = parsed_json(content)
    return sorted(found, key=lambda entry: -entry["score"]["value"])


def leaderboard_table() -> list[str]:
    """The leaderboard as Markdown."""
    return markdown_table(COLUMNS, entries())


COLUMNS = (
    Column("method", lambda entry: entry["method"]),
    Column("score", lambda entry: Score(**entry["score"]).text()),
    Column("score of the variants", lambda entry: Score(**entry["variants"]).text()),
    Column("runs", lambda entry: str(entry["runs"])),
    Column("families not played", lambda entry: str(entry["refused"])),
    Column("command", lambda entry: f"`{entry['command']}`"),
)
