"""The command from end to end, against both rating systems written out again from the paper."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import signal
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from matchenv.benchmarks.replay.report import ReplaySettings, run_replay
from matchenv.cli import run_command
from matchenv.envs.queue.population import population_of
from matchenv.logs import replay_trueskill
from matchenv.logs.reading import ReadingSettings, read_log

LOGS = Path(__file__).parent / "data"
CLUB = [
    str(LOGS / "club.csv"),
    "--columns",
    "game=match",
    "time=when",
    "team=side",
    "player=who",
    "score=points",
]
NORMAL = NormalDist()
FILES = {
    *(
        f"{name}.{kind}"
        for name in ("draws", "win_ratio", "calibration", "convergence")
        for kind in ("png", "svg")
    ),
    "bad_rows.csv",
    "ratings.csv",
    "table.txt",
    "report.json",
}


def league() -> list[tuple[str, str, int]]:
    """The games of the league's log: home side, away side and outcome for home."""
    games = []
    for line in (LOGS / "league.csv").read_text(encoding="utf-8").splitlines()[1:]:
        _, home, away, home_score, away_score = line.split(",")[:5]
        if home_score != "NA":
            difference = int(home_score) - int(away_score)
            games.append((home, away, (difference > 0) - (difference < 0)))
    return games


class PlainTrueSkill:
    """TrueSkill for games of two, from the paper's section 3 with plain normal functions."""

    def __init__(self, draw_probability: float) -> None:
        self.belief: dict[str, tuple[float, float]] = {}
        self.beta, self.tau = 25 / 6, 25 / 300
        self.margin = NORMAL.inv_cdf((draw_probability + 1) / 2) * math.sqrt(2) * self.beta

    def foresee(self, a: str, b: str) -> tuple[float, float, list[float]]:
        (mu_a, s_a), (mu_b, s_b) = (self.belief.get(x, (25.0, 25 / 3)) for x in (a, b))
        c2 = s_a**2 + s_b**2 + 2 * self.tau**2 + 2 * self.beta**2
        gap, c = mu_a - mu_b, math.sqrt(c2)
        quality = math.sqrt(2 * self.beta**2 / c2) * math.exp(-(gap**2) / (2 * c2))
        return gap, quality, thirds(gap, self.margin, c)

    def learn(self, a: str, b: str, outcome: int) -> None:
        if outcome < 0:
            a, b, outcome = b, a, 1
        (mu_a, s_a), (mu_b, s_b) = (self.belief.get(x, (25.0, 25 / 3)) for x in (a, b))
        s_a, s_b = (math.hypot(s, self.tau) for s in (s_a, s_b))
        c = math.sqrt(s_a**2 + s_b**2 + 2 * self.beta**2)
        t, e = (mu_a - mu_b) / c, self.margin / c
        if outcome:
            v = NORMAL.pdf(t - e) / NORMAL.cdf(t - e)
            w = v * (v + t - e)
        else:
            total = NORMAL.cdf(e - t) - NORMAL.cdf(-e - t)
            v = (NORMAL.pdf(-e - t) - NORMAL.pdf(e - t)) / total
            w = v**2 + ((e - t) * NORMAL.pdf(e - t) + (e + t) * NORMAL.pdf(e + t)) / total
        self.belief[a] = mu_a + s_a**2 / c * v, s_a * math.sqrt(1 - w * s_a**2 / c**2)
        self.belief[b] = mu_b - s_b**2 / c * v, s_b * math.sqrt(1 - w * s_b**2 / c**2)


class PlainElo:
    """Elo with normal performances, from the paper's section 1."""

    def __init__(self, draw_probability: float) -> None:
        self.rating: dict[str, float] = {}
        self.margin = NORMAL.inv_cdf((draw_probability + 1) / 2) * math.sqrt(2) * 200

    def foresee(self, a: str, b: str) -> tuple[float, float, list[float]]:
        gap = self.rating.get(a, 1200.0) - self.rating.get(b, 1200.0)
        c = math.sqrt(2) * 200
        return gap, -abs(gap), thirds(gap, self.margin, c)

    def learn(self, a: str, b: str, outcome: int) -> None:
        r_a, r_b = (self.rating.get(x, 1200.0) for x in (a, b))
        expected = NORMAL.cdf((r_a - r_b) / (math.sqrt(2) * 200))
        delta = 0.07 * 200 * math.sqrt(math.pi) * ((outcome + 1) / 2 - expected)
        self.rating[a], self.rating[b] = r_a + delta, r_b - delta


class PlainLogisticElo(PlainElo):
    """Elo as most services have it, with the draws of Rao and Kupper."""

    def __init__(self, draw_probability: float) -> None:
        super().__init__(draw_probability)
        self.theta = (1 + draw_probability) / (1 - draw_probability)

    def foresee(self, a: str, b: str) -> tuple[float, float, list[float]]:
        strong, weak = (10 ** (self.rating.get(x, 1200.0) / 400) for x in (a, b))
        win = strong / (strong + self.theta * weak)
        loss = weak / (weak + self.theta * strong)
        gap = self.rating.get(a, 1200.0) - self.rating.get(b, 1200.0)
        return gap, -abs(gap), [loss, 1 - win - loss, win]

    def learn(self, a: str, b: str, outcome: int) -> None:
        r_a, r_b = (self.rating.get(x, 1200.0) for x in (a, b))
        expected = 1 / (1 + 10 ** ((r_b - r_a) / 400))
        delta = 0.07 * 200 * math.sqrt(math.pi) * ((outcome + 1) / 2 - expected)
        self.rating[a], self.rating[b] = r_a + delta, r_b - delta


def thirds(gap: float, margin: float, c: float) -> list[float]:
    """Probabilities of a loss, a draw and a win."""
    win, loss = NORMAL.cdf((gap - margin) / c), NORMAL.cdf((-gap - margin) / c)
    return [loss, 1 - win - loss, win]


@pytest.fixture(scope="module")
def league_report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("league")
    systems = ["trueskill", "elo", "elo-logistic"]
    log = str(LOGS / "league.csv")
    assert run_command(["replay", log, "--systems", *systems, "--out", str(out), "--quiet"]) == 0
    report: dict[str, Any] = json.loads((out / "report.json").read_text())
    return report


@pytest.mark.parametrize(
    ("name", "plain"),
    [("trueskill", PlainTrueSkill), ("elo", PlainElo), ("elo-logistic", PlainLogisticElo)],
)
def test_against_the_paper_written_out_again(
    league_report: dict[str, Any], name: str, plain: type[PlainTrueSkill | PlainElo]
) -> None:
    games = league()
    drawn = sum(outcome == 0 for _, _, outcome in games)
    draw_probability = drawn / len(games)
    assert 0 < drawn < len(games)
    system = plain(draw_probability)
    seen = []
    for home, away, outcome in games:
        seen.append((*system.foresee(home, away), outcome))
        system.learn(home, away, outcome)
    got = league_report["systems"][name]
    assert league_report["settings"]["parameters"]["draw_probability"] == draw_probability

    def error(some: list[Any]) -> float:
        wrong = [gap * outcome <= 0 for gap, _, _, outcome in some if outcome]
        return sum(wrong) / len(wrong)

    assert got["error"]["error"] == pytest.approx(error(seen), abs=1e-12)
    assert got["error"]["pairs"] == len(games) - drawn
    loss = -sum(math.log(p[outcome + 1]) for _, _, p, outcome in seen) / len(seen)
    assert got["log_loss"] == pytest.approx(loss, rel=1e-7)
    # A sort by rounded quality: games that both call equally even keep their order.
    even = sorted(range(len(seen)), key=lambda k: -round(seen[k][1], 9))
    chosen = [seen[k] for k in even[: math.ceil(0.2 * len(seen))]]
    assert got["challenged"][name]["error"] == pytest.approx(error(chosen), abs=1e-12)
    stated = np.array([p[1] for _, _, p, _ in seen])
    counted = np.array(got["draw_forecasts"]["count"])
    assert counted.sum() == len(seen)
    assert np.nansum(
        counted * np.array(got["draw_forecasts"]["stated"], dtype=float)
    ) == pytest.approx(stated.sum(), rel=1e-7)


def test_what_is_said_of_the_log(league_report: dict[str, Any]) -> None:
    log = league_report["log"]
    assert log["file"] == "league.csv"
    assert (log["rows"], log["games_rated"], log["bad_rows"]) == (80, 79, 1)
    assert log["bad_rows_by_reason"] == {"missing score": 1}


@pytest.fixture(scope="module")
def club_results(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, str]]:
    """Folder and screen of two runs with the same settings."""
    results = []
    for name in ("first", "second"):
        out, screen = tmp_path_factory.mktemp(name), io.StringIO()
        with contextlib.redirect_stdout(screen):
            assert run_command(["replay", *CLUB, "--out", str(out), "--top-players", "3"]) == 0
        results.append((out, screen.getvalue()))
    return results


def test_equal_settings_give_equal_bytes(club_results: list[tuple[Path, str]]) -> None:
    (first, first_screen), (second, second_screen) = club_results
    assert first_screen == second_screen
    assert {path.name for path in first.iterdir()} == FILES
    for name in FILES:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_ratings_can_be_the_population_of_the_queue(
    club_results: list[tuple[Path, str]],
) -> None:
    """The file has everyone's belief after the last game, and ``population`` reads it."""
    path = club_results[0][0] / "ratings.csv"
    reading = read_log(Path(CLUB[0]), ReadingSettings(columns=tuple(CLUB[2:7])))
    rated = replay_trueskill(reading.log)
    rows = population_of(path).rows
    np.testing.assert_array_equal(rows[:, [0, 2]], np.column_stack((rated.mu, rated.sigma)))
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "player,mu,sigma,games"
    assert sum(int(line.split(",")[-1]) for line in lines[1:]) == reading.log.player.size


def test_table_on_the_screen_and_in_the_folder(club_results: list[tuple[Path, str]]) -> None:
    folder, screen = club_results[0]
    assert screen.strip() in (folder / "table.txt").read_text(encoding="utf-8")
    for words in ("prediction error", "most even 20 % by elo", "area", "log loss", "settle"):
        assert words in screen
    report = json.loads((folder / "report.json").read_text())
    error = report["systems"]["trueskill"]["error"]["error"]
    assert f"{100 * error:.2f} %" in screen


def test_the_function_prints_nothing_and_leaves_signals_alone(
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    run_replay(read_log(LOGS / "every_fault.csv"), ReplaySettings())
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before
    assert tuple(capfd.readouterr()) == ("", "")


def test_figures_of_a_log_without_draws_have_no_empty_panel(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("game,player,score\n" + "".join(f"{g},a,1\n{g},b,0\n" for g in range(9)))
    run_replay(read_log(log), ReplaySettings(), out=tmp_path)
    draws = (tmp_path / "draws.svg").read_text(encoding="utf-8")
    assert "nan" not in draws
    assert "no draws in this log" in draws
    calibration = (tmp_path / "calibration.svg").read_text(encoding="utf-8")
    assert "Calibration of wins" in calibration
    assert "Calibration of draws" not in calibration


def test_quiet_still_says_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", str(LOGS / "every_fault.csv"), "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "bad rows: 13" in said.err
    assert "player twice in a game: 1" in said.err


@pytest.mark.parametrize("command", ["replay", "fit", "smooth"])
@pytest.mark.parametrize(("good", "strict", "status", "said"), [
    (17, False, 0, "warning: 3 of 20 games are left out (15 %)"),
    (17, True, 1, "3 bad rows; missing score: 3"),
    (9, False, 1, "only 9 of 20 games can be rated; missing score: 11"),
])  # fmt: skip
def test_games_left_out_are_said_first_and_too_many_are_failed_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, good: int, strict: bool,
    status: int, said: str,
) -> None:  # fmt: skip
    rows = "".join(f"{g},a,{1 if g < good else ''}\n{g},b,0\n" for g in range(20))
    (tmp_path / "log.csv").write_text("game,player,score\n" + rows)
    words = [command, str(tmp_path / "log.csv"), *(["--strict"] if strict else [])]
    if command == "fit" and not status:
        status = 2  # too few games to fit
    assert run_command(words) == status
    assert said in capsys.readouterr().err.splitlines()[0]


def test_bad_rows_are_listed_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["replay", str(LOGS / "every_fault.csv"), "--out", str(tmp_path)]) == 0
    assert "line 18: unreadable score ('seven')" in capsys.readouterr().err
    lines = (tmp_path / "bad_rows.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "line,reason,detail"
    assert len(lines) == 14
    assert lines[1].startswith("4,missing score")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--systems", "trueskill", "glicko"], "glicko"),
        (["--systems", "elo", "elo"], "once"),
        (["--challenge-share", "0"], "challenge_share"),
        (["--fair-share", "nan"], "fair_share"),
        (["--bins", "0"], "bins"),
        (["--beta", "-1"], "beta"),
        (["--draw-probability", "1"], "draw_probability"),
        (["--draw-probability", "0", "--systems", "trueskill"], "draw"),
        (["--elo-alpha", "2"], "alpha"),
        (["--columns", "umpire=x"], "umpire"),
    ],
)
def test_refusals_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    out = tmp_path / "out"
    assert (
        run_command(["replay", str(LOGS / "every_fault.csv"), "--out", str(out), *arguments]) == 2
    )
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_an_old_result_survives_a_failed_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report.json").write_text("old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        run_replay(read_log(LOGS / "league.csv"), ReplaySettings(), out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert (tmp_path / "report.json").read_text() == "old"


def test_a_log_of_draws_alone_asks_for_a_draw_probability(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "draws.csv"
    log.write_text("game,player,score\n1,a,1\n1,b,1\n2,b,0\n2,c,0\n")
    for systems in ("trueskill", "elo", "elo-logistic"):
        assert run_command(["replay", str(log), "--systems", systems]) == 2
        assert "draw_probability must be given" in capsys.readouterr().err
        assert (
            run_command(["replay", str(log), "--systems", systems, "--draw-probability", "0.3"])
            == 0
        )


def test_parameters_of_a_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fitted = {"beta": 3.0, "tau": 0.2, "draw_probability": 0.3, "advantage": 1.5, "mu": 20.0}
    (tmp_path / "fit.json").write_text(json.dumps({"parameters": fitted}))
    league, out = str(LOGS / "league.csv"), tmp_path / "out"
    words = ["replay", league, "--fitted", str(tmp_path), "--out", str(out), "--quiet"]
    assert run_command(words) == 0
    report = json.loads((out / "report.json").read_text())
    assert report["settings"]["parameters"].items() >= fitted.items()
    given = [f"--{name.replace('_', '-')}={value}" for name, value in fitted.items()]
    assert run_command(["replay", league, *given, "--out", str(tmp_path / "same"), "--quiet"]) == 0
    same = json.loads((tmp_path / "same" / "report.json").read_text())
    assert same["systems"] == report["systems"]
    capsys.readouterr()
    assert run_command([*words, "--beta", "3"]) == 2
    assert "beta must not be given with fitted" in capsys.readouterr().err
