"""A leaderboard: games in, standings out, and a file that loses nothing."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from matchenv.ratings.leaderboard import Leaderboard
from matchenv.trueskill import rate


def played() -> Leaderboard:
    board = Leaderboard(draw_probability=0.2)
    board.update([["Ada"], ["Grace", "Édith"]], [1, 0], weights=[[1.0], [0.5, 1.0]])
    board.update([["Ada"], ["Grace"], ["Hedy \ud83d"]], [0, 1, 1])
    return board


def test_games_are_rated_as_rate_does() -> None:
    board = played()
    keywords = {"beta": 25.0 / 6.0, "tau": 25.0 / 300.0, "draw_probability": 0.2}
    new = (25.0, 25.0 / 3.0)
    (ada,), (grace, edith) = rate(
        [[new], [new, new]], [1, 0], weights=[[1.0], [0.5, 1.0]], **keywords
    )
    (ada,), (grace,), _ = rate([[ada], [grace], [new]], [0, 1, 1], **keywords)
    assert board["Ada"] == ada
    assert board["Grace"] == grace
    assert board["Édith"] == edith
    assert board["nobody"] == new
    assert "nobody" not in board
    assert len(board) == 4
    assert [board.games_played(name) for name in ("Ada", "Édith", "nobody")] == [2, 1, 0]


def test_repr_says_how_many_players_and_which_parameters() -> None:
    assert repr(played()) == (
        "<Leaderboard of 4 players, mu=25, sigma=8.33333, beta=4.16667, tau=0.0833333, "
        "draw_probability=0.2>"
    )


def test_standings_are_sorted_by_the_conservative_skill() -> None:
    lines = played().standings()
    assert [line.exposed for line in lines] == sorted((x.exposed for x in lines), reverse=True)
    assert lines[0].exposed == pytest.approx(lines[0].mu - 3.0 * lines[0].sigma)
    tied = Leaderboard()
    tied.update([["b"], ["a"]], [0, 0])
    assert [line.name for line in tied.standings()] == ["a", "b"]


def test_a_file_gives_back_every_bit(tmp_path: Path) -> None:
    board = played()
    path = tmp_path / "board.json"
    board.save(path)
    again = Leaderboard.load(path)
    assert again.standings() == board.standings()
    assert list(again) == list(board)
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first
    for one in (board, again):
        one.update([["Ada"], ["new"]], [0, 1])
    assert again.standings() == board.standings()
    assert os.listdir(tmp_path) == ["board.json"]


@pytest.mark.parametrize(
    ("teams", "ranks", "message"),
    [
        ([["a"], ["a"]], [0, 1], "twice"),
        ([["a"], ["b"]], [0, math.nan], "ranks"),
        (["ab", "cd"], [0, 1], "lists of names"),
        ([["a"], [1]], [0, 1], "names"),
        (5, [0, 1], "teams must have one entry for each side, got 5"),
        ([5, 6], [0, 1], "lists of names"),
        ([["a"], []], [0, 1], "at least one member"),
        ([["a"], ["b"]], [0, 0], "ranks must not be equal"),
    ],
)
def test_a_refused_game_changes_nothing(teams: list, ranks: list, message: str) -> None:
    board = Leaderboard(draw_probability=0.0)
    board.update([["a"], ["c"]], [0, 1])
    before = board.standings()
    with pytest.raises(ValueError, match=message):
        board.update(teams, ranks)
    assert board.standings() == before


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content.update(format="another"),
        lambda content: content.pop("players"),
        lambda content: content["players"][0].update(games_played=7),
        lambda content: content["settings"].update(beta=0),
        lambda content: content["settings"].update(speed=1),
    ],
)
def test_a_spoiled_file_is_refused(tmp_path: Path, spoil) -> None:
    path = tmp_path / "board.json"
    played().save(path)
    content = json.loads(path.read_text())
    spoil(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="leaderboard's file"):
        Leaderboard.load(path)


def test_a_file_may_be_changed_by_hand_without_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "board.json"
    played().save(path)
    content = json.loads(path.read_text())
    del content["checksum"]
    content["players"][0].update(mu=30.0)
    path.write_text(json.dumps(content))
    assert Leaderboard.load(path)["Ada"].mu == 30.0
    for change in ({"sigma": -1.0}, {"mu": "25"}, {"mu": None}, {"name": "Grace"}):
        changed = {**content, "players": [{**content["players"][0], **change},
                                          *content["players"][1:]]}  # fmt: skip
        path.write_text(json.dumps(changed))
        with pytest.raises(ValueError, match="leaderboard's file"):
            Leaderboard.load(path)


@pytest.mark.parametrize("keyword", ["sigma", "beta", "tau", "draw_probability"])
def test_bad_settings_are_refused(keyword: str) -> None:
    with pytest.raises(ValueError, match=keyword):
        Leaderboard(**{keyword: -1.0})
