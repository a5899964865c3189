"""``matchenv smooth``: its files, its figure, going on after a stop, and bad input."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from matchenv.benchmarks.replay.fits import SmoothSettings, run_smooth, strongest
from matchenv.cli import run_command
from matchenv.logs import MatchLog, Model, curves_table, read_log, smooth
from matchenv.logs import checkpoint as checkpoint_module

LEAGUE = Path(__file__).parent / "data" / "league.csv"
DRAWS = ["--draw-probability", "0.25"]


def test_the_table_is_what_smooth_gives(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_command(["smooth", str(LEAGUE), "--out", str(out), "--quiet", *DRAWS]) == 0
    log = read_log(LEAGUE).log
    expected = smooth(log, draw_probability=0.25)
    with (out / "curves.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(log.player)
    assert [row["player"] for row in rows] == [
        log.players[k] for k in np.sort(log.player, kind="stable")
    ]
    by_place = {(row["player"], int(row["game"])): row for row in rows}
    game = log.team_game[log.entry_team]
    assert log.time is not None
    for entry, (player, g) in enumerate(zip(log.player, game, strict=True)):
        row = by_place[log.players[player], int(g)]
        assert float(row["mu"]) == expected.mu[entry]
        assert float(row["sigma"]) == expected.sigma[entry]
        assert int(row["time"]) == log.time[g]
    said = json.loads((out / "smooth.json").read_bytes())
    assert said["log_evidence"] == expected.log_evidence
    assert said["settled"] is True
    assert said["parameters"]["draw_probability"] == 0.25
    assert not (out / "smoothing.npz").exists()


def test_the_arrays_are_the_same_as_the_table(tmp_path: Path) -> None:
    words = ["smooth", str(LEAGUE), "--quiet", *DRAWS]
    assert run_command([*words, "--out", str(tmp_path / "a"), "--table", "npz"]) == 0
    log = read_log(LEAGUE).log
    table = curves_table(log, smooth(log, draw_probability=0.25))
    with np.load(tmp_path / "a" / "curves.npz", allow_pickle=False) as found:
        assert_array_equal(found["players"][found["player"]], table["player"])
        for name in ("game", "time", "mu", "sigma"):
            assert_array_equal(found[name], table[name])


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_figure_has_the_players_who_were_named(tmp_path: Path, kind: str, capsys: Any) -> None:
    plot = tmp_path / "new" / f"curves.{kind}"
    words = ["smooth", str(LEAGUE), "--players", "South", "East", "--plot", str(plot), *DRAWS]
    assert run_command(words) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table[1:3]] == ["South", "East"]
    content = plot.read_bytes()
    assert content.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])
    if kind == "svg":
        assert b">South<" in content
        assert b">East<" in content
        assert b">North<" not in content
    assert run_command([*words, "--quiet"]) == 0
    assert plot.read_bytes() == content


def test_parameters_of_a_fit(tmp_path: Path, capsys: Any) -> None:
    fitted = {"beta": 3.0, "tau": 0.2, "draw_probability": 0.3, "advantage": 1.5, "mu": 20.0}
    (tmp_path / "fit.json").write_text(json.dumps({"parameters": fitted}))
    words = ["smooth", str(LEAGUE), "--fitted", str(tmp_path), "--out", str(tmp_path / "out")]
    assert run_command([*words, "--quiet"]) == 0
    said = json.loads((tmp_path / "out" / "smooth.json").read_bytes())
    expected = smooth(read_log(LEAGUE).log, **fitted)
    assert said["log_evidence"] == expected.log_evidence
    assert said["parameters"].items() >= fitted.items()
    capsys.readouterr()
    assert run_command([*words, "--beta", "3"]) == 2
    assert "beta must not be given with fitted" in capsys.readouterr().err


class StoppedError(Exception):
    """What a test stops a smoothing with."""


@pytest.mark.parametrize("damage", [None, b"", b"PK\x03\x04 nothing"])
def test_a_smoothing_that_was_stopped_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    monkeypatch.setattr(checkpoint_module, "SECONDS_BETWEEN", 0.0)
    log, file = read_log(LEAGUE).log, tmp_path / "smoothing.npz"
    options: dict[str, Any] = {"draw_probability": 0.25, "tolerance": 1e-150, "max_iterations": 45}
    whole = smooth(log, **options)
    assert (whole.iterations, whole.settled) == (45, False)
    keep = checkpoint_module.Checkpoint.keep

    def stop(self: Any, arrays: Any) -> None:
        keep(self, arrays)
        if arrays["iterations"] == 20:
            raise StoppedError

    monkeypatch.setattr(checkpoint_module.Checkpoint, "keep", stop)
    with pytest.raises(StoppedError):
        smooth(log, checkpoint=file, **options)
    assert file.exists()
    if damage is not None:
        file.write_bytes(damage)
    walks = []
    monkeypatch.setattr(
        checkpoint_module.Checkpoint,
        "keep",
        lambda _, arrays: walks.append(int(arrays["iterations"])),
    )
    again = smooth(log, checkpoint=file, **options)
    assert (20 in walks) == (damage is not None)
    assert not file.exists()
    for name in ("mu", "sigma", "log_probability"):
        assert_array_equal(getattr(again, name), getattr(whole, name))
    assert (again.log_evidence, again.iterations) == (whole.log_evidence, whole.iterations)


def test_a_checkpoint_of_another_log_or_model_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_module, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(checkpoint_module.Checkpoint, "remove", lambda _: None)
    log, file = read_log(LEAGUE).log, tmp_path / "smoothing.npz"
    smooth(log, draw_probability=0.25, tau=0.0, checkpoint=file, tolerance=1e-150)
    assert file.exists()
    other = smooth(log, draw_probability=0.25, tau=0.1, checkpoint=file)
    expected = smooth(log, draw_probability=0.25, tau=0.1)
    assert_array_equal(other.mu, expected.mu)


def test_levels_of_many_games_settle() -> None:
    """Few players, many games: walks alone move the common level by a hundredth of the way."""
    rng = np.random.default_rng(4)
    skill = rng.normal(28.0, 2.0, 6)
    games, scores = [], []
    for _ in range(3000):
        one, other = rng.choice(6, 2, replace=False)
        gap = skill[one] - skill[other] + 4.0 * np.sqrt(2.0) * rng.normal()
        games.append([[f"p{one}"], [f"p{other}"]])
        scores.append([gap, 0.0])
    log = MatchLog.from_games(games, scores)
    found = smooth(log, beta=4.0, tau=0.05)
    assert found.settled
    assert found.iterations < 60
    # At the fixed point another walk moves nothing, whatever way led there.
    exact = smooth(log, beta=4.0, tau=0.05, tolerance=1e-10, max_iterations=1000)
    assert exact.settled
    assert_allclose(found.mu, exact.mu, atol=1e-3)
    assert_allclose(found.log_evidence, exact.log_evidence, atol=1e-4)


def test_the_strongest_are_those_of_the_highest_bound_at_their_last_game() -> None:
    log = MatchLog.from_games([[["a"], ["b"]], [["b"], ["c"]], [["c"], ["a"]]], [[1, 0]] * 3)
    found = smooth(log, mu=[0.0, 3.0, 1.0], sigma=0.1, beta=1.0, tau=0.0)
    assert strongest(log, found, 2) == ["b", "c"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--players", "Sout"], "among the 5 of the log, got 'Sout'; near to it: South"),
        (["--plot", "curves.gif"], "plot must end in .png, .svg, .pdf, got 'curves.gif'"),
        (["--fitted", "nowhere"], "fitted must be a folder of matchenv fit, got 'nowhere'"),
        (["--beta", "0"], "beta must be"),
        (["--draw-probability", "0"], "draw_probability must be above 0"),
        (["--max-iterations", "0"], "max_iterations must be"),
        (["--tolerance", "nan"], "tolerance"),
        (["--table", "xml"], "--table"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(words: list[str], said: str, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out"
    assert run_command(["smooth", str(LEAGUE), "--out", str(out), *words]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("error: ")
    assert said in error
    assert not out.exists()


def test_a_log_of_one_game_is_refused(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "one.csv").write_text("game,player,score\n1,a,1\n1,b,0\n")
    assert run_command(["smooth", str(tmp_path / "one.csv")]) == 2
    assert "log must hold at least 2 games, got 1" in capsys.readouterr().err


def test_names_too_long_for_arrays_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{g},{p},{k}\n" for g in range(2) for k, p in enumerate(("a" * 900_000, "b")))
    many = "".join(f"{g},x{g}{k},{k}\n" for g in range(2, 200) for k in range(2))
    (tmp_path / "log.csv").write_text(f"game,player,score\n{rows}{many}")
    reading = read_log(tmp_path / "log.csv")
    settings = SmoothSettings(model=Model(draw_probability=0.1), table="npz")
    with pytest.raises(ValueError, match="table must be csv"):
        run_smooth(reading, settings, out=tmp_path / "out")
