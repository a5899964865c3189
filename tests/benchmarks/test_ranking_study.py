"""The study of ``Ranking-v0``: games that rules need, and errors of the stopping rule."""

from pathlib import Path

import numpy as np
import pytest

from matchenv.benchmarks import ranking_study
from matchenv.benchmarks.ranking_study import BINS, WINDOW, games_needed
from matchenv.envs.ranking import RankingSettings


def test_games_needed_end_with_the_first_window_at_the_goal() -> None:
    curves = np.zeros((2, BINS))
    curves[0, 100:] = 1.0
    found = games_needed(curves, np.array([1.0, 1.0]))
    np.testing.assert_allclose(found, [(100 + WINDOW) / BINS, 1.0])


def test_the_oracle_needs_fewer_games_and_finished_blocks_are_reused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking_study, "BLOCK", 2)
    words = ["--items", "10", "--seeds", "4", "--rules", "random", "oracle"]
    words += ["--out", str(tmp_path / "study")]
    ranking_study.main(words)
    first = capsys.readouterr().out
    rows = [line.split() for line in first.splitlines()[1:]]
    assert [row[0] for row in rows] == ["random", "oracle"]
    assert float(rows[1][1]) < 0.6 * float(rows[0][1])
    monkeypatch.setattr(ranking_study, "traces", lambda *_: 1 / 0)
    ranking_study.main(words)
    assert capsys.readouterr().out == first


def test_the_stopping_rule_is_rarely_wrong() -> None:
    """For all distributions of skills, and with a beta that is wrong by a factor of two.

    With an error rate of 5 %, 18 or more errors in 200 runs have a probability of 1 %.
    """
    settings = RankingSettings(num_items=6, horizon=150, goal="best", beta=0.7)
    rows = ranking_study.stops(settings, 200)
    assert len(rows) == 5
    for row in rows:
        assert row.settled > 0.3
        assert row.wrong * 200 < 18
        assert row.wrong <= row.ever
