"""The files of a judgement: numbers, tables, text, and one page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from matchenv.benchmarks.judge.judgement import Judgement
from matchenv.benchmarks.judge.text import judgement_text
from matchenv.evaluation.estimates import CONFIDENCE, columns_of
from matchenv.runtime.files import json_bytes, records_csv
from matchenv.runtime.provenance import versions

RESULT, PAGE = "judge.json", "judge.html"

# No two runs share it.
CLOCK = "decisions_per_second"


def judgement_files(found: Judgement, asked: Mapping[str, Any]) -> dict[str, bytes]:
    """Content of the result files.

    Args:
        found: the judgement.
        asked: what was asked for, as plain data.
    """
    # The library that draws is slow to load, and not needed without a folder to write to.
    from matchenv.benchmarks.report.judge import judge_page

    plain = as_plain(found, asked)
    content = json_bytes(plain, checked=True)
    tables = {
        "evenness.csv": found.groups,
        "matchers.csv": found.standings,
        "less_the_present_one.csv": found.contests,
        "who_pays.csv": found.payers,
        "learning.csv": found.gains,
    }
    return {
        **{name: records_csv(_records(rows)) for name, rows in tables.items() if rows},
        "judge.txt": f"{judgement_text(plain)}\n".encode(),
        PAGE: judge_page(content).encode(),
        RESULT: content,
    }


def as_plain(found: Judgement, asked: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The judgement as nested dictionaries.

    Args:
        found: the judgement.
        asked: what was asked for.
    """
    comparison = found.matchers.comparison
    return {
        "name": found.name,
        "games": found.games,
        "players": found.players,
        "parameters": dict(found.parameters),
        "fit": None if found.fit is None else asdict(found.fit),
        "notes": list(found.notes),
        "evenness": {
            "groups": [asdict(each) for each in found.groups],
            "strangers": found.strangers,
            "favourites": asdict(found.favourites),
        },
        "load": {**asdict(found.arrivals), "tick_minutes": found.arrivals.tick_minutes},
        "against": found.against,
        "has_rule": found.matchers.has_rule,
        "ours": found.matchers.ours,
        "tuned": found.matchers.tuned,
        "standings": [_without_clock(asdict(each)) for each in found.standings],
        "groups": [asdict(each) for each in comparison.groups],
        "contests": [asdict(each) for each in found.contests],
        "who_pays": [asdict(each) for each in found.payers],
        "learning": [asdict(each) for each in found.gains],
        "environment": comparison.asked["environment"],
        "runs": found.runs,
        "seed": comparison.seed,
        "confidence": CONFIDENCE,
        "asked": dict(asked or {}),
        "versions": versions("scipy", "gymnasium", "rustworkx"),
    }


def _records(rows: Any) -> list[dict[str, Any]]:
    records = [_without_clock(columns_of(each)) for each in rows]
    for row, record in zip(rows, records, strict=True):
        record |= {f"{name}_verdict": word for name, word in getattr(row, "verdicts", {}).items()}
    return records


def _without_clock(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != CLOCK}
