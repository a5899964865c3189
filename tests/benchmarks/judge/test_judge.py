"""``matchenv judge``: its findings, files, rules and errors."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from simulated_service import TRUTH, WINDOW, HiddenWindow, simulated_service

from matchenv.agents.learned_names import SHIPPED
from matchenv.agents.policy_file import read_policy, save_policy
from matchenv.baselines.queue import WideningWindow
from matchenv.benchmarks.compare import run_comparison
from matchenv.benchmarks.compare.queue import group_standings
from matchenv.benchmarks.judge import Judgement, JudgeSettings, judge
from matchenv.benchmarks.judge.judging import NOBODY_WAITS
from matchenv.benchmarks.judge.matchers import differences_of
from matchenv.benchmarks.judge.service import arrivals_of, read_rule
from matchenv.benchmarks.judge.text import judgement_text
from matchenv.benchmarks.report import sections_of
from matchenv.benchmarks.report.judge import judge_section
from matchenv.benchmarks.report.page import page_text
from matchenv.benchmarks.report.results import json_of
from matchenv.evaluation.tables import WIDTH, as_wide_as_the_terminal
from matchenv.evaluation.visits import GROUPS
from matchenv.logs import smooth
from matchenv.logs.match_log import MatchLog
from matchenv.runtime.jobs import RunOptions

SAMPLE = Path(__file__).resolve().parents[3] / "examples" / "games.csv"
RULE = "window:width=3,growth=0.1"
SMALL = JudgeSettings(rule=RULE, episodes=4, horizon=60)
ONE = RunOptions(workers=1, quiet=True)
GIVEN: dict[str, Any] = {"policies": ["matching"], "parameters": TRUTH, "run": ONE}


def judged(log: MatchLog, settings: JudgeSettings = SMALL, **options: Any) -> Judgement:
    return judge(log, settings, **{**GIVEN, **options})


@pytest.fixture(scope="module")
def log() -> MatchLog:
    return simulated_service(WINDOW, 150, 5).log


@pytest.fixture(scope="module")
def judgement(log: MatchLog) -> Judgement:
    return judged(log, policies=["matching", "kg_matching", "oracle"])


def test_the_comparison_equals_run_comparison(judgement: Judgement) -> None:
    comparison = judgement.comparison
    settings = comparison.settings
    again = run_comparison(
        [RULE, "matching", "kg_matching", "oracle"],
        env="MatchmakingQueue-v0",
        against=RULE,
        cells={"load": [repr(judgement.load.ticks_rate)]},
        episodes=4,
        env_kwargs={
            "population": settings.population,
            "newcomers": settings.newcomers,
            "patience": settings.patience,
            "stay": settings.stay,
            "horizon": settings.horizon,
            "beta": settings.beta,
            "draw_margin": settings.draw_margin,
            "tau": settings.tau,
        },
        run=ONE,
    )
    for standing, expected in zip(comparison.standings, again.standings, strict=True):
        for measure in ("true_reward", "wait", "left"):
            assert standing[measure] == expected[measure]
    assert judgement.ours == "matching"
    assert [row.policy for row in judgement.contests] == ["matching", "kg_matching"]
    assert judgement.contests[0].reward == again.standing(0, "matching").difference
    assert [row.group for row in judgement.who_pays] == list(GROUPS)
    groups = [row for row in group_standings(again) if row.policy == "matching"]
    minutes = judgement.load.tick_minutes
    for payer, group in zip(judgement.who_pays, groups, strict=True):
        for name, factor in (("quality", 1.0), ("left", 1.0), ("wait", minutes)):
            difference = group[f"{name}_difference"].mean
            assert payer[name].mean == pytest.approx(factor * difference, nan_ok=True)
        # A shorter wait is ahead.
        if payer.verdicts["wait"] == "ahead":
            assert group.wait_difference.mean < 0.0
        if payer.verdicts["wait"] == "behind":
            assert group.wait_difference.mean > 0.0
    lessons = [(gain.policy, gain.than) for gain in judgement.learning]
    assert lessons == [("oracle", "matching"), ("kg_matching", "matching")]
    oracle = comparison.values("true_reward", 0, "oracle")
    matching = comparison.values("true_reward", 0, "matching")
    assert judgement.learning[0].reward.mean == pytest.approx((oracle - matching).mean())
    assert judgement.learning[0].quality.mean > 0.0


def test_policies_are_compared_with_a_present_matching(log: MatchLog) -> None:
    """The present rule is the first of its family; the oracle is not proposed."""
    present = "matching:fall=0.05"
    settings = replace(SMALL, rule=present)
    judgement = judged(log, settings, policies=["oracle", "kg_matching", "matching"])
    assert judgement.ours == "kg_matching"
    lessons = [(gain.policy, gain.than) for gain in judgement.learning]
    assert lessons == [("oracle", present), ("kg_matching", present)]
    judgement = judged(log, settings, policies=["kg_matching"])
    assert [gain.policy for gain in judgement.learning] == ["kg_matching"]
    assert "Knowing all skills" not in judgement.text


def test_a_group_in_few_runs_has_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two equal differences are no evidence, whatever the 38 runs without the group had."""
    levels = {"matching": 0.6, "fcfs": 0.5}

    def group_values(rows: Any, name: str, cell: int, policy: str, group: str) -> Any:
        values = np.full(40, np.nan)
        values[:2] = levels[policy]
        return values

    monkeypatch.setattr("matchenv.benchmarks.judge.matchers.group_values", group_values)
    runs: Any = SimpleNamespace(
        policies=["matching", "fcfs"],
        against="fcfs",
        episodes=40,
        rows=None,
        values=lambda name, cell, policy: np.full(40, levels[policy]),
    )
    differences = differences_of(runs, 1.0, "matching", judged=True)
    assert differences["contests"][0].verdicts == {
        "reward": "ahead",
        "quality": "undecided",
        "wait": "undecided",
        "left": "undecided",
    }
    assert differences["who_pays"][0].quality.mean == pytest.approx(0.1)


def test_the_text_begins_with_its_conclusion(judgement: Judgement) -> None:
    paragraph, tables = judgement.text.split("\n\n", 1)
    paragraph = " ".join(paragraph.split())
    tables = " ".join(tables.split())
    assert f"{judgement.evenness.groups[0].hindsight.mean:.3f}" in paragraph
    assert f"matching in place of {RULE}" in paragraph
    oracle = judgement.comparison.values("true_reward", 0, "oracle").mean()
    matching = judgement.comparison.values("true_reward", 0, "matching").mean()
    gain = f"{100.0 * (oracle / matching - 1.0):+.1f} % (ahead)"
    assert f"Knowing all skills would change the true reward by {gain}" in paragraph
    for words in (
        "How even were the games?",
        "from the log's times",
        "Who pays, if",
        "How much would learning have gained?",
        "weakest tenth",
        "ahead",
    ):
        assert words in tables
    # A spreadsheet would read 1/10 as a date.
    assert re.search(r"\d/\d", judgement.text) is None


@pytest.mark.parametrize("width", [80, WIDTH, 300])
def test_the_text_fits_the_terminal(
    judgement: Judgement, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with as_wide_as_the_terminal():
        lines = judgement.text.splitlines()
    longest = max(len(line) for line in lines)
    assert 0.8 * min(width, WIDTH) < longest <= min(width, WIDTH)


def test_the_front_has_intervals_and_the_present_rule(judgement: Judgement) -> None:
    section = judge_section(judgement, "log")
    (front,) = (block for block in section.blocks if block.title == "Quality against waiting")
    *others, present = front.content.data
    assert present.name == f"present rule: {RULE}"
    assert (present.x, present.y) == ((0.0,), (0.0,))
    assert [trace.name for trace in others] == [row.policy for row in judgement.contests]
    for trace, row in zip(others, judgement.contests, strict=True):
        assert trace.x[0] - trace.error_x.arrayminus[0] == pytest.approx(row.wait.low)
        assert trace.y[0] + trace.error_y.array[0] == pytest.approx(row.quality.high)
        assert present.marker.size > trace.marker.size


def test_a_failed_fit_has_no_verdicts() -> None:
    log = simulated_service(HiddenWindow(), 400).log
    judgement = judged(log, policies=["fcfs"], parameters=None)
    assert judgement.failed
    assert judgement.text.startswith("log says little about its matcher")
    assert re.search(r"\b(ahead|behind|undecided)\b", judgement.text) is None


@pytest.mark.parametrize(("stay", "patience", "rate"), [(0.8, 6.0, 1.0), (0.9, 6.0, 0.5)])
def test_the_load_has_the_players_whom_no_log_shows(
    stay: float, patience: float, rate: float
) -> None:
    """Those who left the queue without a game; a tick of the service is half a minute."""
    rule = "window:width=3,growth=0.15"
    window = WideningWindow(width=3.0, growth=0.15)
    service = simulated_service(window, 1500, 1, stay=stay, patience=patience, arrival_rate=rate)
    settings = replace(
        SMALL, rule=rule, horizon=300, patience_minutes=0.5 * patience, game_minutes=5.0
    )
    shown = arrivals_of(service.log, settings)
    load = judged(service.log, settings, policies=["fcfs"]).load
    assert shown.stay < stay - 0.05
    assert load.stay == pytest.approx(stay, abs=0.04)
    assert shown.arrival_rate < 0.95 * 2.0 * rate
    assert load.arrival_rate == pytest.approx(2.0 * rate, rel=0.12)
    assert load.ticks_rate == pytest.approx(0.5 * load.arrival_rate)


def test_a_policy_that_changes_during_the_fit_is_refused(
    log: MatchLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "policy.safetensors"
    network, description = read_policy(SHIPPED["ppo-gittins"])
    save_policy(file, network, description)
    next(network.parameters()).data += 1.0

    def change_and_smooth(*arguments: Any, **options: Any) -> Any:
        save_policy(file, network, description)
        return smooth(*arguments, **options)

    monkeypatch.setattr("matchenv.benchmarks.judge.judging.smooth", change_and_smooth)
    with pytest.raises(ValueError, match=r"files of policy .* must stay as they are"):
        judged(log, policies=[f"reservation:policy={file}"])


@pytest.mark.parametrize("horizon", [1, 12])
def test_a_short_horizon_gives_a_result(log: MatchLog, horizon: int) -> None:
    settings = replace(SMALL, episodes=2, horizon=horizon, arrival_rate=0.05)
    judgement = judged(log, settings, policies=["matching", "oracle"])
    assert not re.search(r"\binf\b", judgement.text)
    assert [gain.policy for gain in judgement.learning] == ["oracle"]
    assert judgement.text.startswith("The runs had too few games")
    assert "Minus " not in judgement.text


def test_ours_are_tuned_at_this_load(log: MatchLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of each family plays; ours neither waits for ever nor knows true skills."""
    strict = "matching:reservation=0.99,fall=0"
    easy = "matching:reservation=0.3,fall=0.05"
    kg = "kg_matching:multiplier=1,reservation=0.3,fall=0.05"
    monkeypatch.setattr(
        "matchenv.benchmarks.judge.matchers.tried",
        lambda beta: ["fcfs", easy, strict, kg, "oracle:reservation=0.5"],
    )
    settings = replace(SMALL, episodes=2, tuning_episodes=2, horizon=40)
    judgement = judged(log, settings, policies=())
    assert judgement.tuned["matching"] == easy
    assert set(judgement.tuned) == {"fcfs", "matching", "kg_matching", "oracle"}
    assert judgement.ours in ("fcfs", easy, kg)
    assert judgement.comparison.rows.policies[0] == RULE
    assert strict not in judgement.comparison.rows.policies
    assert [gain.than for gain in judgement.learning] == [easy, easy]
    judgement = judged(log, replace(settings, rule=None), policies=())
    assert judgement.against == NOBODY_WAITS
    assert not judgement.has_rule
    assert "fcfs" not in judgement.tuned


def test_a_log_without_times_and_with_teams() -> None:
    rng = np.random.default_rng(0)
    players = np.array([f"p{k}" for k in range(8)])
    games = [rng.permutation(players)[:4].reshape(2, 2).tolist() for _ in range(30)]
    log = MatchLog.from_games(games, [[1, 0]] * 30)
    settings = replace(SMALL, episodes=2, horizon=20, arrival_rate=1.0, game_minutes=5.0)
    judgement = judged(log, settings)
    assert "games of two players" in " ".join(judgement.notes)
    assert "as given" in judgement.text


def test_bad_input_is_refused_before_the_work(log: MatchLog, tmp_path: Path) -> None:
    one = MatchLog.from_games([[["a"], ["b"]]], [[1, 0]], np.array([0]))
    run = replace(ONE, out=tmp_path / "out")
    with pytest.raises(ValueError, match="at least 20 games"):
        judged(one, run=run)
    for option, value, message in (
        ("policies", ["no_such"], "policy must be one of"),
        ("settings", replace(SMALL, rule="no_such.yml"), "rule must be a"),
        ("settings", replace(SMALL, rule="kg:multiplier={1,2}"), "rule must be one policy, got"),
        ("parameters", {"tau": 1.0}, "parameters must hold beta"),
        ("parameters", {"beta": 1.0, "gamma": 1.0}, "'gamma'"),
        ("parameters", {"beta": 1.0, "sigma": 1.0}, "must have sigma"),
        ("parameters", {"beta": -1.0}, "beta"),
        ("parameters", {"beta": 1.0}, "draw_probability"),
    ):
        with pytest.raises(ValueError, match=message):
            judged(log, **{option: value}, run=run)
    assert list(tmp_path.iterdir()) == []


def test_the_command_its_files_and_the_page(typed: Any) -> None:
    fitted = {"parameters": {"beta": 4.0, "draw_probability": 0.1}}
    Path("window.yml").write_text("window: 3\ngrowth: 0.2\n")
    Path("fit.json").write_text(json.dumps(fitted))
    command = f"judge {SAMPLE} --fitted . --rule window.yml --policy fcfs --episodes 2 --workers 1"
    assert typed(f"{command} --quiet --horizon 60 --out out").status == 0
    for file in (
        "judge.json",
        "judge.html",
        "judge.txt",
        "evenness.csv",
        "fidelity.csv",
        "matchers.csv",
        "who_pays.csv",
        "contests.csv",
        "settings.json",
    ):
        assert Path("out", file).is_file()
    judgement = json_of(Path("out/judge.json"))
    assert judgement.parameters.beta == 4.0
    assert judgement.against == "window 3, growth 0.2 a minute"
    assert judgement.games > 400
    assert Path("out/judge.txt").read_text() == f"{judgement_text(judgement)}\n"
    page = Path("out/judge.html").read_text()
    assert "<script src" not in page
    assert f"Minus the present one, {judgement.against}" in page
    (section,) = sections_of([Path("out")])
    assert section.title == "judge: out"
    assert "How even were the games?" in page_text([section])
    Path("fit.json").write_text(json.dumps({**fitted, "verdict": "undecided"}))
    with pytest.warns(match=r"the fit in \. failed"):
        ended = typed(f"{command} --horizon 10")
    assert ended.out.startswith("The given fit failed: ")
    assert typed(f"{command} --quiet --horizon 11 --out out").status == 0
    assert json.loads(Path("out/settings.json").read_text())["horizon"] == 11
    Path("fit.json").write_text("{}")
    assert "fitted must be" in typed(f"{command} --out bad").refusal
    assert not Path("bad").exists()


NEAREST = """
class Nearest:
    def __init__(self, gap=3.0):
        self.gap = gap

    def act(self, view, rng):
        {}
"""


def rule_file(folder: Path, content: str) -> str:
    """Write a rule, a window or a class, and return its name."""
    name = f"rule_of_{abs(hash(content))}"
    if "class" in content:
        (folder / f"{name}.py").write_text(content)
        return f"{name}:Nearest"
    (folder / name).write_text(content)
    return str(folder / name)


def test_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A tick is half a minute.
    rule = read_rule(rule_file(tmp_path, "window: 3\ngrowth: 0.5"), 0.5)
    assert rule.label == "window 3, growth 0.5 a minute"
    assert rule.identity == "window:width=3,growth=0.25"
    rule = read_rule(rule_file(tmp_path, '{"window": 2.5}'), 0.5)
    assert rule.label == "window 2.5, growth 0 a minute"
    assert rule.identity == "window:width=2.5,growth=0"
    monkeypatch.syspath_prepend(tmp_path)
    name = rule_file(tmp_path, NEAREST.format("return 1 * view.has_candidates")) + ":gap=2"
    rule = read_rule(name, 1.0)
    assert rule.label == name
    assert rule.identity.startswith(f"{name} ")
    assert read_rule("fcfs", 1.0).label == "fcfs"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must hold window"),
        ("[1, 2]", "must hold window"),
        ("{", "must be YAML"),
        ("growth: 1", "must hold window"),
        ("window: -1", "rule window"),
        ("window: 1\nwait: 2", "must hold window"),
        (NEAREST.format("raise KeyError('mmr')"), "cannot play.*'mmr'"),
        (
            NEAREST.format("return [1 // int(count < 3) for count in view.num_candidates]"),
            ": ZeroDivisionError",
        ),
        (NEAREST.format("return view.num_candidates + 10**6"), "actions must be in"),
    ],
)
def test_bad_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, message: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=message):
        read_rule(rule_file(tmp_path, content), 1.0)
