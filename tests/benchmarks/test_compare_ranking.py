"""Comparisons in ``Ranking-v0``: games needed for equal accuracy, and the stopping rule."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from matchenv.benchmarks.compare import run_comparison
from matchenv.benchmarks.compare.ranking import SMOOTHED, games_needed
from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation.ranking import POINTS
from matchenv.evaluation.registry import RANKING, policy_named
from matchenv.evaluation.rollout import rollout
from matchenv.runtime.jobs import RunOptions

RUN = RunOptions(workers=1, quiet=True)


def test_games_needed_end_with_the_first_window_at_the_goal() -> None:
    theirs, ours = np.ones((3, POINTS)), np.zeros((3, POINTS))
    ours[:, 100:] = 1.0
    found = games_needed(ours, theirs)
    assert found.mean == found.low == found.high == (100 + POINTS // SMOOTHED) / POINTS
    assert games_needed(ours - 0.5, theirs).mean == 1.0


@pytest.mark.parametrize("options", [{"horizon": 150}, {"horizon": 400, "goal": "top", "k": 2}])
def test_the_summary_follows_the_measures_after_each_game(options: dict[str, Any]) -> None:
    settings = RankingSettings(num_items=5, beta=0.3, **options)

    def make(settings: Any, _: Any) -> Any:
        return policy_named("shrinkage", settings)

    def traces(batch: Any, steps: Any) -> dict[str, Any]:
        rows = [dict(batch.simulator.info(batch.state, 0)) for _ in steps]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    for seed in range(5):
        found = rollout(make, settings, [seed])
        trace = rollout(make, settings, [seed], summary=traces)
        values = trace["kendall_tau"] if settings.cut == 0 else -trace["top_errors"]
        parts = values.reshape(min(POINTS, settings.horizon), -1).mean(axis=1)
        points = parts[np.arange(POINTS) * parts.size // POINTS]
        np.testing.assert_allclose(found["accuracy"][0], points)
        settled, mistaken = trace["expected_loss"] <= 0.05, trace["true_loss"] > 0
        assert found["settled"][0] == settled.any()
        assert found["ever_wrong"][0] == (settled & mistaken).any()
        if settled.any():
            assert found["games_to_settle"][0] == settled.argmax() + 1
            assert found["wrong"][0] == mistaken[settled.argmax()]


def test_the_oracle_needs_fewer_games_than_random_pairs(tmp_path: Path) -> None:
    run = RunOptions(out=tmp_path, workers=1, quiet=True)
    options = {"num_items": 10, "horizon": 400, "beta": 0.7}
    found = run_comparison(["random", "oracle"], env=RANKING, env_kwargs=options, against="random",
                           episodes=60, run=run)  # fmt: skip
    assert found.standing(0, "random").games_needed.mean > 0.7
    assert found.standing(0, "oracle").games_needed.high < 0.6
    assert "games needed: share of the games of random" in found.table()
    curves = pd.read_csv(tmp_path / "curves.csv").set_index("policy").accuracy
    assert curves["oracle"].iloc[-1] == pytest.approx(
        found.values("accuracy", 0, "oracle")[:, -1].mean()
    )


def test_games_needed_in_short_episodes() -> None:
    """A curve reaches its own end there, if it rises; one game is one point of it."""
    found = run_comparison(["kg"], env=RANKING, cells={"horizon": [1, 3, 300]}, episodes=100,
                           env_kwargs={"num_items": 8, "beta": 0.2}, run=RUN)  # fmt: skip
    needed = [standing.games_needed.mean for standing in found.standings]
    assert needed[:2] == [1.0, 1.0]
    assert 0.5 < needed[2] <= 1.0


def test_cells_may_need_their_own_options_and_files_of_skills_count(tmp_path: Path) -> None:
    options = {"max_games_per_pair": 1, "num_items": 8}
    found = run_comparison(["random"], env=RANKING, env_kwargs=options, episodes=2, run=RUN,
                           cells={"horizon": [10, 20], "skills": [range(8), range(9)]})  # fmt: skip
    assert [cell.labels["horizon"] for cell in found.cells] == ["10", "10", "20", "20"]
    assert found.cells[1].labels["skills"].startswith("<9 skills")
    file, run = tmp_path / "ranking.csv", RunOptions(tmp_path / "out", workers=1, quiet=True)
    swept: dict[str, Any] = {"env": RANKING, "cells": {"skills": [str(file)]}, "run": run}
    for scale in (1, 5):
        rows = [f"{k},{scale * k},20" for k in range(20)]
        file.write_text("\n".join(["item,mean,games", *rows]))
        if scale == 1:
            run_comparison(["random"], env_kwargs={"horizon": 5}, episodes=2, **swept)
    with pytest.raises(ValueError, match=r"out holds results .* skills was"):
        run_comparison(["random"], env_kwargs={"horizon": 5}, episodes=2, **swept)
    file.write_text("item,mean,games\na,0.5,19\n")
    with pytest.raises(ValueError, match=r"skills must have items with at least 20 games, .*csv"):
        run_comparison(["random"], **swept)


def test_the_stopping_rule_is_rarely_wrong() -> None:
    """For all distributions of skills, and with a beta that is wrong by a factor of two.

    With an error rate of 5 %, 18 or more errors in 200 episodes have a probability of 1 %. A wrong
    beta is equivalent to skills with another spread than the prior's.
    """
    rng = np.random.default_rng(7)
    normal = rng.normal(size=10_000)
    laws = {
        "normal": (),
        "uniform": rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=10_000),
        "Student's t, 3 degrees": rng.standard_t(3, size=10_000) / np.sqrt(3.0),
        "beta half of the believed": 2.0 * normal,
        "beta twice the believed": 0.5 * normal,
    }
    for skills in laws.values():
        options = {"num_items": 6, "horizon": 150, "goal": "best", "beta": 0.7, "skills": skills}
        found = run_comparison(["kg"], env=RANKING, env_kwargs=options, episodes=200, run=RUN)
        standing = found.standing(0, "kg")
        assert standing.settled.mean > 0.3
        assert standing.wrong.mean * 200 < 18
        assert standing.wrong.mean <= found.values("ever_wrong", 0, "kg").mean()
