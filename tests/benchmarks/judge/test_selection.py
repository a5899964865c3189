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

LOGS, GAMES = int(os.environ.get("SELECTION_LOGS", "2")), 3000
RULE = "window:width=3,growth=0.15"
# The matcher of the games, and the parameters given to the judgement.
KINDS: dict[str, tuple[Any, Any]] = {
    "at random": (RandomCandidate(), None),
    "on beliefs": (WINDOW, None),
    "on hidden skills": (HiddenWindow(), None),
    "on hidden skills, true parameters given": (HiddenWindow(), TRUTH),
}


def true_and_judged(matcher: Any, parameters: Any, seed: int) -> tuple[bool, dict[str, Any]]:
    """Return whether the fit failed, and the true and judged value of each conclusion."""
    service = simulated_service(matcher, GAMES, seed)
    settings = JudgeSettings(rule=RULE, episodes=20, seed=seed)
    found = judge(service.log, settings, policies=["matching", "oracle"], parameters=parameters)
    window, matching, oracle = (
        simulated_service(each, GAMES, seed + 1000)
        for each in (WINDOW, MaximumWeightMatching(), MatchingOracle())
    )
    population: Any = found.comparison.settings.population
    return found.failed, {
        "quality": (service.quality.mean(), found.evenness.groups[0].hindsight.mean),
        "deviation": (
            service.skill[service.log.player].std() / BETA,
            population.deviation / found.parameters["beta"],
        ),
        "matching minus window": (
            matching.quality.mean() - window.quality.mean(), found.contests[0].quality.mean,
        ),
        "minutes of waiting": (matching.wait - window.wait, found.contests[0].wait.mean),
        "known skills minus matching": (
            oracle.quality.mean() - matching.quality.mean(), found.learning[0].quality.mean,
        ),
    }  # fmt: skip


@pytest.mark.slow
def test_conclusions_hold_unless_the_matcher_knew_more() -> None:
    errors: dict[tuple[str, str], Estimate] = {}
    failed: dict[str, int] = {}
    for kind, (matcher, parameters) in KINDS.items():
        found = [true_and_judged(matcher, parameters, seed) for seed in range(LOGS)]
        failed[kind] = sum(each for each, _ in found)
        for name in found[0][1]:
            true, judged = np.array([each[name] for _, each in found]).T
            errors[kind, name] = estimate(judged - true)
            print(f"| {kind} | {name} | {true.mean():.3f} | {judged.mean():.3f} |")
    # Games that were matched on beliefs can be too few for a forecast.
    failed.pop("on beliefs")
    assert list(failed.values()) == [0, LOGS, 0]
    for kind in ("at random", "on beliefs"):
        for name, most in (("quality", 0.08), ("matching minus window", 0.04)):
            assert abs(errors[kind, name].mean) < most, (kind, name)
    # Skills then seem to vary less.
    assert errors["on hidden skills", "deviation"].mean < -1.0
