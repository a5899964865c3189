"""The simulated present matcher against the log that it should reproduce."""

import math
from typing import Any

import numpy as np
import pytest
from simulated_service import TRUTH, WINDOW, HiddenWindow, simulated_service

from matchenv.benchmarks.judge import Judgement, JudgeSettings, judge
from matchenv.benchmarks.judge.fidelity import (
    TOLERANCE,
    comparison_with_log,
    difference_of,
    wait_of_log,
)
from matchenv.benchmarks.report.judge import judge_section
from matchenv.benchmarks.report.page import page_text
from matchenv.evaluation.estimates import UNKNOWN, Estimate, Record
from matchenv.logs.match_log import MatchLog
from matchenv.runtime.jobs import RunOptions

RIGHT_RULE = "window:width=3,growth=0.15"
WRONG_RULE = "window:width=20,growth=1"
TIMED = MatchLog.from_games([[["a"], ["b"]]] * 100, [[1, 0]] * 100, np.arange(100) * 60 * 7)


def judged(
    log: MatchLog, rule: str | None, *, episodes: int = 8, horizon: int = 300, **options: Any
) -> Judgement:
    settings = JudgeSettings(rule=rule, episodes=episodes, horizon=horizon)
    options = {"policies": ["matching", "oracle"], "parameters": TRUTH, **options}
    return judge(log, settings, run=RunOptions(workers=1, quiet=True), **options)


@pytest.fixture(scope="module")
def log() -> MatchLog:
    return simulated_service(WINDOW, 1000, 1).log


def all_verdicts(found: Judgement) -> set[str]:
    """Return every verdict that rests on the simulation."""
    words = {row.verdict for row in found.standings}
    for kind in ("contests", "who_pays", "learning"):
        for row in found[kind]:
            words.update(row.verdicts.values())
    return words


def test_the_right_rule_reproduces_the_log(log: MatchLog) -> None:
    found = judged(log, RIGHT_RULE)
    assert not found.fidelity.contradicted
    assert f"The simulated {RIGHT_RULE} reproduces the log" in " ".join(found.text.split())
    assert "ahead" in all_verdicts(found)
    measures = [row.measure for row in found.fidelity.rows]
    assert measures == [
        "quality before the games",
        "quality in hindsight",
        "wait, minutes (log: with pauses)",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_right_rules_stay_within_the_tolerance_and_wrong_ones_do_not(seed: int) -> None:
    log = simulated_service(WINDOW, 1500, seed).log
    right = judged(log, RIGHT_RULE, policies=["fcfs"], episodes=30, horizon=500)
    wrong = judged(log, WRONG_RULE, policies=["fcfs"], episodes=30, horizon=500)
    assert not right.fidelity.contradicted
    assert wrong.fidelity.contradicted
    for row in right.fidelity.rows[:2]:
        assert abs(row.difference.mean) < TOLERANCE
    for row in wrong.fidelity.rows[:2]:
        assert abs(row.difference.mean) > TOLERANCE


def test_verdicts_are_withheld_if_another_rule_made_the_log(log: MatchLog) -> None:
    found = judged(log, WRONG_RULE)
    assert found.fidelity.contradicted
    assert all_verdicts(found) == {""}
    # How even the games were does not rest on the simulation.
    assert "behind" in {row.verdict for row in found.evenness.groups}
    before = found.fidelity.rows[0]
    assert before.log == found.evenness.groups[0].believed
    assert before.simulated == found.standings[0].match_quality
    page = page_text([judge_section(found, "log")])
    for content in (" ".join(found.text.split()), page):
        assert "does not reproduce the log" in content
        assert "So there are no verdicts on other matchers" in content
        assert "something that the matcher knew and the log does not show" in content
        assert f"{before.log:.3f}" in content
        assert f"{before.simulated:.3f}" in content


def test_verdicts_are_withheld_if_the_matcher_knew_more() -> None:
    log = simulated_service(HiddenWindow(), 1000, 1).log
    found = judged(log, RIGHT_RULE)
    assert found.fidelity.contradicted
    assert all_verdicts(found) == {""}


def test_an_unknown_rule_is_not_contradicted_by_more_even_games(log: MatchLog) -> None:
    found = judged(log, None)
    assert not found.fidelity.contradicted
    assert "The rule of the log is unknown; with fcfs, match quality" in " ".join(
        found.text.split()
    )


@pytest.mark.parametrize("reverse", [False, True])
def test_the_order_of_sides_is_no_evidence(log: MatchLog, reverse: bool) -> None:
    """Rows that list the winner first, or last, judge the same games."""
    games = []
    scores = []
    for game in range(log.num_games):
        first, second = log.game_start[game], log.game_start[game] + 1
        sides = [(int(log.rank[side]), log.players[log.player[side]]) for side in (first, second)]
        sides.sort(reverse=reverse)
        games.append([[player] for _, player in sides])
        scores.append([-rank for rank, _ in sides])
    assert log.time is not None
    sorted_log = MatchLog.from_games(games, scores, log.time)
    short: dict[str, Any] = {"policies": ["matching"], "episodes": 2, "horizon": 20}
    expected = judged(log, RIGHT_RULE, **short)
    found = judged(sorted_log, RIGHT_RULE, **short)
    for row, expected_row in zip(found.evenness.groups, expected.evenness.groups, strict=True):
        assert row.hindsight.mean == pytest.approx(expected_row.hindsight.mean, abs=1e-9)
        assert row.believed.mean == pytest.approx(expected_row.believed.mean, abs=1e-9)
    favourites = found.evenness.favourites
    assert favourites.scored.mean == pytest.approx(expected.evenness.favourites.scored.mean)


def estimated(mean: float, half_width: float) -> Estimate:
    return Estimate(mean, half_width / 2.0, mean - half_width, mean + half_width)


def compared(logged: Estimate, simulated: Estimate, has_rule: bool, left: float = 0.0) -> Record:
    return comparison_with_log(
        TIMED,
        Record(believed=logged, hindsight=logged),
        Record(
            match_quality=simulated,
            true_match_quality=simulated,
            wait=estimated(1.0, 0.1),
            left=estimated(left, 0.01),
        ),
        Record(game_minutes=5.0, tick_minutes=0.5),
        30.0,
        has_rule=has_rule,
    )


@pytest.mark.parametrize(
    ("logged", "simulated", "with_rule", "without_rule"),
    [
        (0.438, 0.607, True, True),
        (0.607, 0.438, True, False),
        (0.60, 0.63, False, False),
        # The intervals reach to within the tolerance.
        (0.60, 0.66, False, False),
        (0.66, 0.60, False, False),
    ],
)
def test_qualities_contradict_beyond_intervals_and_tolerance(
    logged: float, simulated: float, with_rule: bool, without_rule: bool
) -> None:
    estimates = (estimated(logged, 0.02), estimated(simulated, 0.01))
    assert compared(*estimates, has_rule=True).contradicted == with_rule
    assert compared(*estimates, has_rule=False).contradicted == without_rule


def test_unknown_qualities_contradict_nothing() -> None:
    found = compared(estimated(0.5, 0.01), UNKNOWN, has_rule=True)
    assert not found.contradicted
    assert not found.rows[0].difference.known


def test_reasons_name_leaving_players() -> None:
    found = compared(estimated(0.438, 0.02), estimated(0.607, 0.01), has_rule=True, left=0.36)
    assert any("36 % of the simulated visits end" in reason for reason in found.reasons)


def test_the_difference_of_independent_estimates() -> None:
    difference = difference_of(estimated(0.7, 0.03), estimated(0.5, 0.04))
    assert difference.mean == pytest.approx(0.2)
    assert difference.half_width == pytest.approx(0.05)
    assert difference.standard_error == pytest.approx(0.025)


def test_waits_between_games_by_hand() -> None:
    """A game every seven minutes, of which five are the game."""
    wait = wait_of_log(TIMED, 5.0, 30.0)
    assert wait.mean == pytest.approx(2.0)
    assert wait.half_width == pytest.approx(0.0, abs=1e-12)
    # Every game begins a session.
    assert math.isnan(wait_of_log(TIMED, 5.0, 6.0).mean)
