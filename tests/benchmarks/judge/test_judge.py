"""``matchenv judge`` as a whole: its files, its resumption, what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.baselines.queue import WideningWindow
from matchenv.benchmarks.judge import (
    ArrivalSettings,
    Judgement,
    as_plain,
    judge,
    judgement_text,
    run_selection,
    simulated_service,
)
from matchenv.benchmarks.judge.matchers import FAMILIES, NOBODY_WAITS, plain_twin, tried
from matchenv.benchmarks.queue import run_queue_comparison
from matchenv.benchmarks.queue.front import family_of
from matchenv.benchmarks.report import page_text, sections_of
from matchenv.cli import run_command
from matchenv.evaluation.queue_measures import GROUPS
from matchenv.logs.match_log import MatchLog
from matchenv.runtime.jobs import Store

RULE = "window:width=3,growth=0.1"
MODEL = {"beta": 25.0 / 6.0, "draw_probability": 0.1}
SMALL: dict[str, Any] = {
    "rule": RULE,
    "policies": ["matching", "kg_matching", "oracle"],
    "parameters": MODEL,
    "episodes": 4,
    "horizon": 60,
    "workers": 1,
}


@pytest.fixture(scope="module")
def log() -> MatchLog:
    service = simulated_service(WideningWindow(3.0, 0.3), games=150, players=60, seed=5)
    return service.log


@pytest.fixture(scope="module")
def found(log: MatchLog) -> Judgement:
    return judge(log, **SMALL)


def written(log: MatchLog, file: Path) -> Path:
    """The log as a CSV file."""
    assert log.time is not None
    lines = ["game,time,player,rank"]
    for game in range(log.num_games):
        for entry in (2 * game, 2 * game + 1):
            name, rank = log.players[log.player[entry]], log.rank[entry]
            lines.append(f"{game},{log.time[game]},{name},{rank}")
    file.write_text("\n".join(lines) + "\n")
    return file


def test_the_comparison_is_that_of_the_queue(found: Judgement) -> None:
    """The same runs by ``run_queue_comparison``, given the same settings."""
    settings = found.matchers.comparison.settings
    again = run_queue_comparison(
        [RULE, "matching", "kg_matching", "oracle"],
        against=RULE,
        loads=[repr(found.arrivals.ticks_rate)],
        episodes=4,
        env_kwargs={
            "population": settings.population,
            "newcomers": settings.newcomers,
            "patience": settings.patience,
            "stay": settings.stay,
            "horizon": 60,
            "beta": settings.beta,
            "draw_margin": settings.draw_margin,
            "tau": settings.tau,
        },
        workers=1,
        quiet=True,
    )
    for ours, theirs in zip(found.standings, again.standings, strict=True):
        assert ours.true_reward == theirs.true_reward
        assert ours.wait == theirs.wait
    contest = found.contests[0]
    assert contest.policy == "matching" == found.matchers.ours
    assert contest.reward == again.standing(0, "matching").difference
    (group,) = (e for e in again.groups if (e.policy, e.group) == ("matching", "all"))
    assert contest.quality == group.quality_difference
    minutes = found.arrivals.tick_minutes
    assert contest.wait.mean == pytest.approx(minutes * group.wait_difference.mean)
    # To wait less is to be ahead.
    worse = {"ahead": 1.0, "behind": -1.0}.get(contest.verdicts["wait"], 0.0)
    assert worse * contest.wait.mean <= 0.0


def test_what_learning_would_gain(found: Judgement) -> None:
    rows = found.matchers.comparison.rows
    gains = {gain.policy: gain for gain in found.gains}
    for policy in ("oracle", "kg_matching"):
        ours, theirs = (
            rows.values("true_reward", 0, policy),
            rows.values("true_reward", 0, "matching"),
        )
        assert gains[policy].reward.mean == pytest.approx((ours - theirs).mean())
        assert gains[policy].share == pytest.approx((ours - theirs).mean() / theirs.mean())
    assert gains["oracle"].quality.mean > 0.0


def test_the_text_and_the_page_say_it(found: Judgement, tmp_path: Path) -> None:
    plain = as_plain(found)
    text = judgement_text(plain)
    for said in ("How even were the games?", "read off the log's times", "Who pays, if matching",
                 "How much would learning have gained?", RULE):  # fmt: skip
        assert said in text
    assert [row["group"] for row in plain["who_pays"]] == list(GROUPS)


def test_files_resumption_and_the_page(
    log: MatchLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after a few jobs it goes on, and ends with the same bytes."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    options = {**SMALL, "parameters": None, "policies": ["matching"], "horizon": 20}
    judge(log, **options, out=whole)
    save, saved = Store.save, []

    def stops(store: Store, name: str, arrays: Any) -> None:
        save(store, name, arrays)
        saved.append(name)
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "save", stops)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            judge(log, **options, out=parts)
        # A file cut off is done again.
        (parts / "evaluations.npz").write_bytes(b"PK")
    assert len(set(saved)) == len(saved) == 2
    monkeypatch.undo()
    judge(log, **options, out=parts)
    names = ("judge.json", "judge.html", "judge.txt", "evenness.csv", "matchers.csv",
             "who_pays.csv", "less_the_present_one.csv", "settings.json")  # fmt: skip
    for name in names:
        assert (parts / name).read_bytes() == (whole / name).read_bytes(), name
    page = (whole / "judge.html").read_text()
    assert "<script src" not in page
    assert "matching minus window" in page
    (section,) = sections_of([whole])
    assert section.kind == "judge"
    assert "How even were the games?" in page_text([section])
    with pytest.raises(ValueError, match="horizon was 20 and is 21"):
        judge(log, **{**options, "horizon": 21}, out=whole)


def test_ours_are_tuned_at_this_load(log: MatchLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of each family plays, and ours is none that waits for ever or knows the truth."""
    strict, easy = "matching:reservation=0.99,fall=0", "matching:reservation=0.3,fall=0.05"
    kg = "kg_matching:multiplier=1,reservation=0.3,fall=0.05"
    monkeypatch.setattr(
        "matchenv.benchmarks.judge.matchers.tried",
        lambda beta: ["fcfs", easy, strict, kg, "oracle:reservation=0.5"],
    )
    options = {**SMALL, "policies": [], "episodes": 2, "tuning_episodes": 2, "horizon": 40}
    found = judge(log, **options)
    assert found.matchers.tuned["matching"] == easy
    assert set(found.matchers.tuned) == {"fcfs", "matching", "kg_matching", "oracle"}
    assert found.matchers.ours in ("fcfs", easy, kg)
    assert found.matchers.comparison.rows.policies[0] == RULE
    assert strict not in found.matchers.comparison.rows.policies
    # KG is compared with itself less the gain.
    assert [gain.than for gain in found.gains] == [easy, easy]
    found = judge(log, **{**options, "rule": None, "parameters": MODEL})
    assert found.against == "fcfs"
    assert "fcfs" not in found.matchers.tuned


@pytest.mark.parametrize(
    ("label", "twin"),
    [
        (
            "kg_matching:multiplier=1,reservation=0.3,fall=0.05",
            "matching:reservation=0.3,fall=0.05",
        ),
        ("kg:both=true,multiplier=1", "drawchance"),
        ("matching:fall=1", None),
    ],
)
def test_a_gain_is_compared_with_none(label: str, twin: str | None) -> None:
    assert plain_twin(label) == twin


def test_what_is_tried_has_every_family_once() -> None:
    families = {family_of(each) for each in tried(4.0)}
    assert families == {"fcfs", "drawchance", "matching", "kg both=true", "kg_matching", "oracle",
                        "window"}  # fmt: skip
    assert len(FAMILIES) + 1 == len(families)
    assert "window:width=4,growth=0.4" in tried(4.0)


def test_without_a_rule_nobody_waits(log: MatchLog) -> None:
    options = {**SMALL, "rule": None, "policies": ["matching"], "episodes": 2, "horizon": 20}
    found = judge(log, **options)
    assert found.against == NOBODY_WAITS
    assert not found.matchers.has_rule


def test_a_log_without_times_and_with_teams() -> None:
    rng = np.random.default_rng(0)
    names = [[[f"p{k}" for k in side] for side in rng.permutation(8)[:4].reshape(2, 2)]
             for _ in range(30)]  # fmt: skip
    log = MatchLog.from_games(names, [[1, 0]] * 30)
    with pytest.raises(ValueError, match="arrival_rate must be given"):
        judge(log, **SMALL)
    found = judge(log, **{**SMALL, "episodes": 2, "horizon": 20},
                  arrivals=ArrivalSettings(arrival_rate=1.0, game_minutes=5.0))  # fmt: skip
    assert "games of two players" in " ".join(found.notes)
    assert math.isnan(found.arrivals.mean_rate)
    assert "as given" in judgement_text(as_plain(found))


def test_bad_input_in_python(log: MatchLog, tmp_path: Path) -> None:
    assert log.time is not None
    one = MatchLog.from_games([[["a"], ["b"]]], [[1, 0]], np.array([0]))
    back = MatchLog(log.players, log.player, log.team_start, log.game_start, log.rank, log.score,
                    log.time[::-1])  # fmt: skip
    out = tmp_path / "out"
    for bad, said in ((one, "at least 20 games"), (back, "times that do not go backwards")):
        with pytest.raises(ValueError, match=said):
            judge(bad, **SMALL, out=out)
    for option, value, said in (
        ("episodes", 1, "episodes"),
        ("tuning_episodes", 1, "tuning_episodes"),
        ("horizon", 0, "horizon"),
        ("seed", -1, "seed"),
        ("policies", ["no_such"], "policy must be one of"),
        ("rule", "no_such.yml", "rule must be a"),
        ("parameters", {"tau": 1.0}, "parameters must hold beta"),
        ("parameters", {"beta": 1.0, "gamma": 1.0}, "'gamma'"),
        ("parameters", {"beta": 1.0, "sigma": 1.0}, "must have sigma"),
        ("parameters", {"beta": -1.0}, "beta"),
        ("parameters", {"beta": 1.0}, "draw_probability"),
    ):
        with pytest.raises(ValueError, match=said):
            judge(log, **{**SMALL, option: value}, out=out)
    assert not out.exists()


WORDS = ("--policy", "fcfs", "--episodes", "2", "--horizon", "10", "--workers", "1", "--quiet")


def test_the_command(
    log: MatchLog,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    written(log, Path("games.csv"))
    Path("window.yml").write_text("window: 3\ngrowth: 0.2\n")
    assert run_command(["fit", "games.csv", "--out", "fit", "--quiet"]) == 0
    words = ["judge", "games.csv", "--fitted", "fit", "--rule", "window.yml", *WORDS]
    assert run_command([*words, "--out", "out"]) == 0
    found = json.loads(Path("out/judge.json").read_text())
    fitted = json.loads(Path("fit/fit.json").read_text())["parameters"]
    assert found["parameters"]["beta"] == fitted["beta"]
    assert found["against"] == "window:width=3,growth=0.1"
    assert found["games"] == 150
    capsys.readouterr()
    Path("fit/fit.json").write_text("{}")
    Path("raises.py").write_text(
        "class Rule:\n    def choose(self, waiting, rng):\n        1 / 0\n"
    )
    Path("one.csv").write_text("game,player,score\n1,a,1\n1,b,0\n")
    Path("alone.csv").write_text("game,player,score\n1,a,1\n2,a,0\n")
    Path("none.csv").write_text("game,player,score\n")
    for log_name, more, said in (
        ("games.csv", ["--fitted", "fit"], "fitted must be"),
        ("games.csv", ["--fitted", "no_such"], "fitted must be"),
        ("games.csv", ["--fitted", "/dev/full"], "fitted must be"),
        ("games.csv", ["--rule", "raises.py"], "'raises:Rule' cannot play: division by zero"),
        ("one.csv", [], "at least 20 games"),
        ("alone.csv", [], "no game to rate"),
        ("none.csv", [], "no game to rate"),
    ):
        status = run_command(["judge", log_name, *more, *WORDS, "--out", "bad"])
        (error,) = [e for e in capsys.readouterr().err.splitlines() if e.startswith("error: ")]
        assert status == 2, error
        assert said in error
        assert not Path("bad").exists()


@pytest.mark.slow
def test_selection_is_named(tmp_path: Path) -> None:
    """As small as it can be: what it finds is in docs/judge.md."""
    small: dict[str, Any] = {"logs": 2, "games": 100, "players": 16, "episodes": 2, "workers": 1}
    small |= {"out": tmp_path, "quiet": True}
    found = run_selection(**small)
    text = found.table()
    assert "by a window on hidden skills" in text
    for finding in found.findings:
        assert finding.error.mean == pytest.approx(finding.judged - finding.true)
    again = run_selection(**small)
    assert again.table() == text
    with pytest.raises(ValueError, match="logs"):
        run_selection(logs=1)
