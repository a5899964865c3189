"""The speed benchmark: how ratios are computed, and that its sections run."""

from typing import Any

import pytest

from matchenv.benchmarks import speed


def test_sides_alternate_and_the_first_turn_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    seconds = iter([9.0, 9.0, 1.0, 3.0, 1.0, 1.0, 1.0, 2.0])
    monkeypatch.setattr(speed, "timeit", lambda work, **_: (work(), next(seconds))[1])
    ours, rival = (
        speed.Side(name, lambda name=name: order.append(name), 10.0)  # type: ignore[misc]
        for name in ("ours", "rival")
    )
    found = speed.measured("a against b", "steps/s", ours, rival, turns=3)
    assert order == ["ours", "rival"] * 4
    assert found == "a against b: 2 (1 to 3) times as fast; steps/s: ours 10, rival 5"


def test_every_section_runs_on_logs_of_games_of_one_size(monkeypatch: Any, capsys: Any) -> None:
    small = {"MANY_OPPONENTS": 60, "BATCH": 3, "GAMES_BEFORE": 2, "QUEUES": 2, "STEPS": 3,
             "CALLS": 2}  # fmt: skip
    for name, value in small.items():
        monkeypatch.setattr(speed, name, value)
    speed.main(["--only", "policies", "queue", "--turns", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5
    assert all("times as fast" in line for line in lines)
    with pytest.raises(ValueError, match="turns"):
        speed.main(["--turns", "0"])
    rows = speed.rows_of(speed.random_log(3, 20))
    assert len(rows) == 20
    assert all(len(set(players)) == len(ranks) == 3 for players, ranks in rows)
