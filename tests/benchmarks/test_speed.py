"""The speed benchmark: how ratios are computed, and that its sections run."""

from functools import partial
from typing import Any

import pytest

from matchenv.benchmarks import speed


def test_sides_alternate_and_the_first_turn_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    seconds = iter([9.0, 9.0, 1.0, 3.0, 1.0, 1.0, 1.0, 2.0])

    def timed(work: Any, **_: Any) -> float:
        work()
        return next(seconds)

    monkeypatch.setattr(speed, "timeit", timed)
    ours = speed.Side("ours", partial(order.append, "ours"), 10.0)
    rival = speed.Side("rival", partial(order.append, "rival"), 10.0)
    pair = speed.Pair("a against b", "steps/s", ours, rival)
    line = speed.measured(pair, turns=3)
    assert order == ["ours", "rival"] * 4
    assert line == "a against b: 2 (1 to 3) times as fast; steps/s: ours 10, rival 5"


def test_every_section_runs_on_logs_of_games_of_one_size(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {
        "MANY_OPPONENTS": 60,
        "BATCH": 3,
        "GAMES_BEFORE": 2,
        "QUEUES": 2,
        "STEPS": 3,
        "CALLS": 2,
    }
    for name, value in small.items():
        monkeypatch.setattr(speed, name, value)
    speed.main(["--only", "policies", "queue", "--turns", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5
    assert all("times as fast" in line for line in lines)
    with pytest.raises(ValueError, match="turns"):
        speed.main(["--turns", "0"])


def test_games_of_a_random_log_have_one_size_and_distinct_players() -> None:
    players, ranks = speed.players_and_ranks(speed.random_log(3, 20))
    assert len(players) == len(ranks) == 20
    for players_of_game, ranks_of_game in zip(players, ranks, strict=True):
        assert len(set(players_of_game)) == len(ranks_of_game) == 3
