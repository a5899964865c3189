"""``replay``, ``fit`` and ``smooth`` against the package trueskill and Elo; refusals of logs."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest
import trueskill
from numpy.testing import assert_array_equal

from matchenv.benchmarks.replay.fits import strongest
from matchenv.cli import run_command
from matchenv.envs.queue.settings import population_of
from matchenv.logs import MatchLog, read_log, replay_trueskill, smooth

LEAGUE = Path(__file__).parent / "data" / "league.csv"
NORMAL = NormalDist()


# Each command, and the files that it writes.
WRITTEN = {
    "replay": {"bad_rows.csv", "ratings.csv", "table.txt", "report.json", "report.html"},
    "fit": {"fit.json"},
    "smooth": {"curves.csv", "smooth.json", "report.html"},
}


@pytest.fixture(scope="module")
def league_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("league")
    for name in WRITTEN:
        assert run_command([name, str(LEAGUE), "--out", str(out / name), "--quiet"]) == 0
    return out


def test_report_against_the_formulas_of_the_paper(league_folder: Path) -> None:
    report = json.loads((league_folder / "replay" / "report.json").read_text())
    log, got = report["log"], report["systems"]["trueskill"]
    counts = log["file"], log["rows"], log["games_rated"], log["bad_rows"]
    assert counts == ("league.csv", 80, 79, 1)
    assert log["bad_rows_by_reason"] == {"missing score": 1}
    games = read_log(LEAGUE).log
    outcomes = np.diff(games.rank.reshape(-1, 2).astype(int))[:, 0].tolist()
    draws = outcomes.count(0) / len(outcomes)
    assert report["settings"]["parameters"]["draw_probability"] == draws
    rules, belief, seen = trueskill.TrueSkill(draw_probability=draws, backend="scipy"), {}, []
    margin = NORMAL.inv_cdf((draws + 1) / 2) * math.sqrt(2) * rules.beta
    for pair, outcome in zip(games.player.reshape(-1, 2).tolist(), outcomes, strict=True):
        one, other = (belief.get(player, rules.create_rating()) for player in pair)
        noise = 2 * rules.tau**2 + 2 * rules.beta**2
        gap, c = one.mu - other.mu, math.sqrt(one.sigma**2 + other.sigma**2 + noise)
        quality = math.sqrt(2) * rules.beta / c * math.exp(-((gap / c) ** 2) / 2)
        win, loss = NORMAL.cdf((gap - margin) / c), NORMAL.cdf((-gap - margin) / c)
        seen.append((gap, quality, [loss, 1 - win - loss, win], outcome))
        rated = rules.rate([[one], [other]], ranks=[-outcome, 0])
        belief |= zip(pair, itertools.chain(*rated), strict=True)

    def error(some: list[Any]) -> float:
        wrong = [gap * outcome <= 0 for gap, _, _, outcome in some if outcome]
        return sum(wrong) / len(wrong)

    assert got["error"]["error"] == pytest.approx(error(seen), abs=1e-12)
    loss = -sum(math.log(p[outcome + 1]) for _, _, p, outcome in seen) / len(seen)
    assert got["log_loss"] == pytest.approx(loss, rel=1e-7)
    # Rounded, so that games of equal quality keep their order.
    even = sorted(range(len(seen)), key=lambda k: -round(seen[k][1], 9))
    chosen = [seen[k] for k in even[: math.ceil(0.2 * len(seen))]]
    assert got["challenged"]["trueskill"]["error"] == pytest.approx(error(chosen), abs=1e-12)
    forecasts = got["draw_forecasts"]
    stated = np.nansum(forecasts["count"] * np.array(forecasts["stated"], dtype=float))
    assert sum(forecasts["count"]) == len(seen)
    assert stated == pytest.approx(sum(p[1] for _, _, p, _ in seen), rel=1e-7)


@pytest.mark.parametrize("command", WRITTEN)
def test_equal_settings_give_equal_files(
    command: str, league_folder: Path, tmp_path: Path, typed: Any
) -> None:
    ended = typed(f"{command} {LEAGUE} --out {tmp_path}")
    assert (ended.status, str(tmp_path) in ended.error) == (0, True)
    if command == "replay":
        assert ended.out.strip() in (tmp_path / "table.txt").read_text("utf-8")
    for folder in (league_folder / command, tmp_path):
        assert {path.name for path in folder.iterdir()} == WRITTEN[command]
    for name in WRITTEN[command]:
        whole = (league_folder / command / name).read_bytes()
        assert (tmp_path / name).read_bytes() == whole, name


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        ("replay", "--systems elo elo", "once"),
        ("replay", "--challenge-share 0", "challenge_share"),
        ("replay", "--fair-share nan", "fair_share"),
        ("replay", "--systems elo:alpha=2", "alpha"),
        ("fit", "--train-share 1", "train_share"),
        ("smooth", "--max-iterations 0", "max_iterations must be"),
        ("smooth", "--tolerance nan", "tolerance"),
        ("smooth", "--players Sout", "among the 5 of the log, got 'Sout'; near to it: South"),
        (
            "rank",
            "--draw-margin 0",
            "1 or -1 with draw_margin=0, got 0 for 'North' against 'South'",
        ),
        *((name, "--columns umpire=x", "umpire") for name in ("replay", "fit", "smooth", "rank")),
        *((command, words, said) for command in ("replay", "smooth") for words, said in (
            ("--beta 0", "beta must be"),
            ("--draw-probability 1", "draw_probability"),
            ("--draw-probability 0", "draw_probability must be above 0"),
            ("--fitted nowhere", "fitted must be a folder of matchenv fit, got 'nowhere'"),
        )),
    ],
)  # fmt: skip
def test_bad_input_gives_one_line_and_no_files(
    command: str, words: str, said: str, typed: Any
) -> None:
    assert said in typed(f"{command} {LEAGUE} --out out {words}").refusal
    assert not Path("out").exists()


@pytest.mark.parametrize(("command", "good", "status", "said"), [
    ("replay --quiet", 34, 0, "warning: 6 of 40 games are left out (15 %)"),
    ("smooth --strict", 34, 1, "6 bad rows; missing score: 6"),
    ("fit", 19, 1, "only 19 of 40 games can be rated; missing score: 21"),
])  # fmt: skip
def test_games_left_out_are_reported_first_and_too_many_are_an_error(
    command: str, good: int, status: int, said: str, typed: Any
) -> None:
    rows = "".join(f"{g},a,{g % 2 if g < good else ''}\n{g},b,0\n" for g in range(40))
    Path("log.csv").write_text("game,player,score\n" + rows)
    ended = typed(f"{command} log.csv")
    assert (ended.status, ended.out) == (status, "")
    assert said in ended.error.splitlines()[0]
    assert ("  missing score: 6" in ended.error) == (status == 0)


def test_ratings_are_a_population_of_the_queue(league_folder: Path) -> None:
    log = read_log(LEAGUE).log
    rated = replay_trueskill(log)
    table = league_folder / "replay" / "ratings.csv"
    rows = population_of(table).rows
    assert_array_equal(rows[:, [0, 2]], np.column_stack((rated.mu, rated.sigma)))
    heading, *lines = table.read_text(encoding="utf-8").splitlines()
    assert heading == "player,mu,sigma,games"
    played = Counter(log.players[k] for k in log.player)
    assert [line.split(",")[::3] for line in lines] == [[n, str(played[n])] for n in log.players]


@pytest.mark.parametrize(
    ("command", "name"), [("replay", "ratings"), ("smooth", "curves"), ("rank", "ranking")]
)
def test_a_command_does_not_replace_its_log(command: str, name: str, typed: Any) -> None:
    content = "game,player,score\n1,a,1\n1,b,0\n"
    Path(f"{name}.csv").write_text(content)
    refusal = typed(f"{command} {name}.csv --out .").refusal
    assert "out must not have the log among its files" in refusal
    assert Path(f"{name}.csv").read_text() == content
    assert "must be a path, got ''" in typed(f"{command} {name}.csv --out=").refusal


def test_a_log_without_draws_has_no_empty_figure(typed: Any) -> None:
    rows = "".join(f"{g},a,{2 * (g % 2)}\n{g},b,1\n" for g in range(9))
    Path("log.csv").write_text("game,player,score\n" + rows)
    Path("ratings.csv").write_text("player,mu,sigma,games\n")  # of another log's replay
    for kept in (True, False):  # another file of this name stays
        assert typed("replay log.csv --systems elo --out . --quiet").status == 0
        assert Path("ratings.csv").exists() == kept
    page = Path("report.html").read_text("utf-8")
    for title in ("Calibration of wins", "Ratings of the top players, elo"):
        assert f"<h3>{title}</h3>" in page
    for title in ("Draws found", "Calibration of draws"):
        assert f"<h3>{title}" not in page


@pytest.mark.parametrize("command", ["replay", "smooth"])
def test_parameters_of_a_fit(command: str, typed: Any) -> None:
    fitted = {"beta": 3.0, "tau": 0.2, "draw_probability": 0.3, "advantage": 1.5, "mu": 20.0}
    Path("fit.json").write_text(json.dumps({"parameters": fitted}))
    given = [f"--{name.replace('_', '-')}={value}" for name, value in fitted.items()]
    said = [typed([command, str(LEAGUE), *more]) for more in (["--fitted", "."], given, [])]
    assert [ended.status for ended in said] == [0, 0, 0]
    assert said[0].out == said[1].out != said[2].out
    refusal = typed(f"{command} {LEAGUE} --fitted . --beta 3").refusal
    assert "parameters are those of --fitted, got --beta" in refusal


def test_curves_and_evidence_equal_those_of_smooth(league_folder: Path) -> None:
    log = read_log(LEAGUE).log
    expected = smooth(log)
    rows = pd.read_csv(league_folder / "smooth" / "curves.csv")
    names = np.array(log.players)[log.player]
    rows = rows.set_index(["player", "game"])
    assert rows.index.is_unique
    rows = rows.loc[[*zip(names, log.entry_game, strict=True)]]
    beliefs = {"mu": expected.mu, "sigma": expected.sigma, "time": log.time[log.entry_game]}
    for name, values in beliefs.items():
        assert_array_equal(rows[name], values)
    said = json.loads((league_folder / "smooth" / "smooth.json").read_bytes())
    assert (said["log_evidence"], said["settled"]) == (expected.log_evidence, True)


def test_the_page_shows_the_named_players(typed: Any) -> None:
    table = typed(f"smooth {LEAGUE} --players South East --out .").out.splitlines()
    assert [line.split()[0] for line in table[1:3]] == ["South", "East"]
    page = Path("report.html").read_text("utf-8")
    assert [name in page for name in ('"South"', '"East"', '"North"')] == [True, True, False]


def test_the_strongest_have_the_highest_bound_at_their_last_game() -> None:
    log = MatchLog.from_games([[["a"], ["b"]], [["b"], ["c"]], [["c"], ["a"]]], [[1, 0]] * 3)
    found = smooth(log, mu=[0.0, 3.0, 1.0], sigma=0.1, beta=1.0, tau=0.0)
    assert strongest(log, found, 2) == ["b", "c"]
