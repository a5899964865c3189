"""Bias of a judgement if the games were matched on something that the log does not show.

``SELECTION_LOGS=8 pytest -m slow -s tests/benchmarks/judge/test_selection.py`` prints the table of
docs/notes.md.
"""

import os
from typing import Any

import numpy as np
import pytest
from simulated_service import BETA, TRUTH, WINDOW, HiddenWindow, simulated_service

from matchenv.baselines.queue import MatchingOracle, MaximumWeightMatching, RandomCandidate
from matchenv.benchmarks.judge import JudgeSettings, judge
from matchenv.evaluation.estimates import Estimate, estimate

LOGS = int(os.environ.get("SELECTION_LOGS", "2"))
GAMES = 3000
RULE = "window:width=3,growth=0.15"
# The matcher of the games, and the parameters given to the judgement.
MATCHERS: dict[str, tuple[Any, Any]] = {
    "at random": (RandomCandidate(), None),
    "on beliefs": (WINDOW, None),
    "on hidden skills": (HiddenWindow(), None),
    "on hidden skills, true parameters given": (HiddenWindow(), TRUTH),
}


def true_and_judged(matcher: Any, parameters: Any, seed: int) -> tuple[bool, dict[str, Any]]:
    """Return whether the fit failed, and the true and judged value of each conclusion."""
    service = simulated_service(matcher, GAMES, seed)
    settings = JudgeSettings(rule=RULE, episodes=20, seed=seed)
    judgement = judge(service.log, settings, policies=["matching", "oracle"], parameters=parameters)
    window = simulated_service(WINDOW, GAMES, seed + 1000)
    matching = simulated_service(MaximumWeightMatching(), GAMES, seed + 1000)
    oracle = simulated_service(MatchingOracle(), GAMES, seed + 1000)
    population: Any = judgement.comparison.settings.population
    contest = judgement.contests[0]
    return judgement.failed, {
        "quality": (service.quality.mean(), judgement.evenness.groups[0].hindsight.mean),
        "deviation": (
            service.skill[service.log.player].std() / BETA,
            population.deviation / judgement.parameters["beta"],
        ),
        "matching minus window": (
            matching.quality.mean() - window.quality.mean(),
            contest.quality.mean,
        ),
        "minutes of waiting": (matching.wait - window.wait, contest.wait.mean),
        "known skills minus matching": (
            oracle.quality.mean() - matching.quality.mean(),
            judgement.learning[0].quality.mean,
        ),
    }


@pytest.mark.slow
def test_conclusions_hold_unless_the_matcher_knew_more() -> None:
    errors: dict[tuple[str, str], Estimate] = {}
    failed: dict[str, int] = {}
    for title, (matcher, parameters) in MATCHERS.items():
        failed[title] = 0
        values: dict[str, list[tuple[float, float]]] = {}
        for seed in range(LOGS):
            fit_failed, conclusions = true_and_judged(matcher, parameters, seed)
            failed[title] += fit_failed
            for name, pair in conclusions.items():
                values.setdefault(name, []).append(pair)
        for name, pairs in values.items():
            true, judged = np.transpose(pairs)
            errors[title, name] = estimate(judged - true)
            print(f"| {title} | {name} | {true.mean():.3f} | {judged.mean():.3f} |")
    # Games that were matched on beliefs can be too few for a forecast.
    failed.pop("on beliefs")
    assert list(failed.values()) == [0, LOGS, 0]
    for title in ("at random", "on beliefs"):
        assert abs(errors[title, "quality"].mean) < 0.08
        assert abs(errors[title, "matching minus window"].mean) < 0.04
    # Skills then seem to vary less.
    assert errors["on hidden skills", "deviation"].mean < -1.0
