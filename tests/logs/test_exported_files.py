"""Files as services and sports export them are read without options, and rate players correctly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from exported_files import FILES, File, football
from scipy.stats import spearmanr

from matchenv.logs import fit, read_log, replay_trueskill
from matchenv.logs.reading import reading_text

# What the reader says of each file.
SAID = {
    "faf": ("time: 'scoreTime', read as iso", "'place' is no result: members", "--partial-play"),
    "bar": ("time: 'startTime', read as iso", "team 'team'"),
    "open_dota": ("numbers in seconds, 2023-01-20 09:00:00", "player 'account_id'"),
    "lichess": ("first side: by 'white_id'", "numbers in milliseconds, 2023-01-20"),
    "football": ("read as day/month/year, 2023-01-20 09:00:00", "cp1252", "'FTR'"),
    "tennis": ("time: 'tourney_date', read as yyyymmdd", "rated as their winner says"),
    "races": ("'team' does not name the sides", "agrees with 'position'"),
    "arena": ("first side: by 'model_a'", "time: 'tstamp', read as numbers in seconds"),
}


@pytest.mark.parametrize("exported", FILES, ids=lambda exported: exported.__name__)
def test_ratings_of_an_exported_file(exported: Callable[[int], File], tmp_path: Path) -> None:
    file = exported(3)
    path = tmp_path / file.name
    path.write_text(file.content, encoding="cp1252" if exported is football else "utf-8")
    reading = read_log(path)
    assert reading.bad_rows == []
    assert set(reading.log.players) == set(file.skills)
    said = reading_text(reading)
    for words in SAID[exported.__name__]:
        assert words in said
    rated = replay_trueskill(reading.log)
    truth = [file.skills[name] for name in reading.log.players]
    assert spearmanr(rated.mu, truth).statistic > 0.7


def test_an_advantage_is_found_only_where_there_is_one(tmp_path: Path) -> None:
    """White is ahead by 0.2 deviations of the skill; matches of tennis have no first side."""
    found = {}
    for exported in FILES:
        if exported.__name__ not in ("lichess", "tennis", "arena"):
            continue
        file = exported(3)
        path = tmp_path / file.name
        path.write_text(file.content)
        found[exported.__name__] = fit(read_log(path).log)
    low, high = found["lichess"].intervals["advantage"]
    assert 0.0 < low < high
    assert "advantage" not in found["tennis"].intervals
    low, high = found["arena"].intervals["advantage"]
    assert low < 0.0 < high
    assert not any(fitted.failed for fitted in found.values())
