"""``matchenv rank``: what it prints and writes."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from matchenv.cli import run_command
from matchenv.ranking import Ranker

pytest.importorskip("pandas")
GAMES = [("ada", "bo", 2, 1), ("bo", "cy", 1, 1), ("ada", "cy", 3, 0), ("cy", "bo", 0, 2)] * 6


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "games.csv"
    rows = "".join(f"{g},{a},{x}\n{g},{b},{y}\n" for g, (a, b, x, y) in enumerate(GAMES))
    path.write_text(f"game,player,score\n{rows}")
    return path


def test_the_table_the_figure_and_the_state(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["rank", str(log), "--goal", "best", "--next", "2", "--out", str(out)]
    assert run_command(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["ada", "bo", "cy"]
    assert "to play next:" in lines
    assert len(lines) - lines.index("to play next:") == 3
    rows = list(csv.DictReader((out / "ranking.csv").open()))
    assert [row["item"] for row in rows] == ["ada", "bo", "cy"]
    assert [int(row["games"]) for row in rows] == [12, 18, 18]
    assert {path.suffix for path in out.iterdir()} >= {".csv", ".json", ".png", ".svg"}
    ranker = Ranker.load(out / "ranking.json")
    assert ranker.num_games == 24
    # A quarter of the games were drawn.
    assert ranker.settings.draw_margin == pytest.approx(0.4506, abs=1e-3)
    expected = Ranker(["ada", "bo", "cy"], goal="best", draw_margin=ranker.settings.draw_margin)
    for a, b, x, y in GAMES:
        expected.record(a, b, (x > y) - (x < y))
    assert ranker.ranking() == expected.ranking()
    assert [f"  {a} vs {b}" for a, b in expected.next_pairs(2)] == lines[-2:]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--confidence", "0.5"], "the order is settled at 50 %"),
        (["--confidence", "0.9999", "--indifference", "0.2"], "games more settle all of it"),
        (["--goal", "top", "--k", "2"], "expected wrong among the top 2: 0."),
    ],
)
def test_it_says_what_is_settled(
    log: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["rank", str(log), *options]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--goal", "top"], "k must be given"),
        (["--goal", "top", "--k", "3"], "k must be below"),
        (["--next", "-1"], "next must be an integer"),
        (["--confidence", "2"], "confidence must be in"),
        (["--draw-margin", "0"], "outcome must be 1 or -1 with draw_margin=0"),
        (["--sigma", "0"], "sigma must be positive"),
    ],
)
def test_bad_options_are_named(
    log: Path, tmp_path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["rank", str(log), "--out", str(tmp_path / "out"), *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_games_of_teams_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "teams.csv"
    path.write_text("game,team,player,rank\n1,x,a,1\n1,x,b,1\n1,y,c,2\n2,x,a,1\n2,y,b,2\n")
    assert run_command(["rank", str(path)]) == 2
    assert "log must hold games of one player against one other" in capsys.readouterr().err
