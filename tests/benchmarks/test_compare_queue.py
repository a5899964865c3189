"""Comparison, tuning and front of the queue: numbers, files, resumption."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from matchenv.benchmarks.compare import run_comparison, run_tuning
from matchenv.benchmarks.compare.queue import group_standings, points_of
from matchenv.cli import run_command
from matchenv.evaluation.registry import family_of
from matchenv.runtime.jobs import RunOptions

SMALL: dict[str, Any] = {
    "env": "MatchmakingQueue-v0",
    "episodes": 4,
    "env_kwargs": {"horizon": 40, "capacity": 6},
    "run": RunOptions(workers=1, quiet=True),
}
BOTH, TWO = {"load": ["thin", "2"]}, {"load": ["2"]}
POLICIES = ("fcfs", "window:width=0.5", "random", "kg:multiplier=2")


@pytest.fixture(scope="module")
def comparison() -> Any:
    return run_comparison(POLICIES, against="window:width=0.5", cells=BOTH, **SMALL)


@pytest.fixture(scope="module")
def tuning() -> Any:
    widths = [f"window:width={width}" for width in (0.5, 3, 1, 0, 0.2, 9)]
    return run_tuning([*widths, "fcfs"], cells=BOTH, **SMALL)


def test_standings_are_those_of_the_runs(comparison: Any) -> None:
    assert len(comparison.standings) == 2 * len(POLICIES)
    standing = comparison.standing(1, "fcfs")
    assert (standing.cell, standing.policy) == ({"load": "2"}, "fcfs")
    ours, theirs = comparison.rows.columns["true_reward"][1, :2, 0]
    interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert standing.difference.mean == pytest.approx((ours - theirs).mean())
    assert (standing.difference.low, standing.difference.high) == pytest.approx(tuple(interval))
    assert standing.true_reward.mean == pytest.approx(ours.mean())
    sums = comparison.rows.arrays["sums"][1, 0, 0]
    assert standing.wait.mean == pytest.approx((sums[:, 0, 2] / sums[:, 0, 0]).mean())


def test_the_group_of_all_has_the_numbers_of_the_standings(comparison: Any) -> None:
    every = [each for each in group_standings(comparison) if each.group == "all"]
    for group, standing in zip(every, comparison.standings, strict=True):
        assert (group.policy, group.load) == (standing.policy, standing.cell["load"])
        assert (group.wait, group.long_wait) == (standing.wait, standing.long_wait)


def test_the_front_is_of_those_that_nobody_of_the_family_beats(tuning: Any) -> None:
    labels = ("kg:multiplier=2,both=true", "kg:both=true", "kg:multiplier=3", "fcfs")
    assert [family_of(label) for label in labels] == ["kg both=true"] * 2 + ["kg", "fcfs"]
    assert family_of("reservation:policy=thompson,reservation=0.5") == "reservation policy=thompson"
    points = [each for each in points_of(tuning.rows, 1) if each.family == "window"]
    for point in points:
        better = [p for p in points if p.wait < point.wait and p.quality > point.quality]
        assert point.best or better
        assert not (point.best and better)
    assert min(points, key=lambda point: point.wait).best
    assert max(points, key=lambda point: point.quality).best


def test_tuning_finds_the_best_of_each_family_on_seeds_of_its_own(
    comparison: Any, tuning: Any
) -> None:
    assert not set(tuning.rows.seeds.flat) & set(comparison.rows.seeds.flat)
    for load, name in enumerate(("thin", "2")):
        means = tuning.rows.columns["true_reward"][load, :, 0].mean(axis=1)
        assert tuning.best(name) == {
            "window": tuning.rows.policies[means[:-1].argmax()], "fcfs": "fcfs"
        }  # fmt: skip
    for each in tuning.tried:
        assert each.behind.mean >= 0.0
        assert (each.behind.mean == 0.0) == each.best or each.behind.mean < 1e-12


def test_policies_and_players_of_the_users_own_come(comparison: Any, tmp_path: Path) -> None:
    class Own:
        name = "own"

        def choose(self, waiting: Any, rng: Any) -> int:
            return min(1, waiting.filled.size)

    found = run_comparison([Own(), "random", "fcfs"], against="fcfs", cells=TWO, **SMALL)
    assert found.standing(0, "own").difference.mean == pytest.approx(0.0, abs=1e-9)
    # Numbers do not depend on who plays beside.
    np.testing.assert_array_equal(
        found.rows.columns["reward"][0, 1], comparison.rows.columns["reward"][1, 2]
    )
    asked = {"policies": ["fcfs"], "against": "fcfs", "cells": TWO, **SMALL}
    founds = []
    for mu in ("3.1", "9.0"):
        file = tmp_path / f"{mu}.csv"
        file.write_text(f"mu,sigma\n3.0,0.1\n{mu},0.1\n")
        kwargs = {"population": file, "newcomers": 0.0}
        founds.append(run_comparison(**{**asked, "env_kwargs": kwargs}))
    qualities = [each.standing(0, "fcfs").true_match_quality.mean for each in founds]
    assert qualities[0] > 0.99 > qualities[1]
    assert founds[0].asked["environment"] != founds[1].asked["environment"]


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queue = ["--env", "MatchmakingQueue-v0", "--episodes", "2", "--workers", "1"]
    queue += ["--horizon", "20", "--load", "2", "--env-kwargs", "capacity=4", "patience=3"]
    compare = ["compare", *queue, "--out", str(tmp_path / "compare")]
    assert run_command([*compare, "--policy", "fcfs", "--against", "fcfs"]) == 0
    printed = capsys.readouterr().out
    assert "2 episodes of MatchmakingQueue-v0, capacity 4, horizon 20, seed 0" in printed
    assert {path.name for path in (tmp_path / "compare").iterdir()} >= {
        "episodes.csv", "episodes.npz", "comparison.txt", "comparison.csv", "comparison.json",
        "groups.csv", "front.csv", "settings.json",
    }  # fmt: skip
    found = json.loads((tmp_path / "compare" / "comparison.json").read_text())
    assert found["against"] == "fcfs"
    assert len(found["groups"]) == 13
    tune = ["tune", *queue, "--out", str(tmp_path / "tune")]
    assert run_command([*tune, "--policy", "window:width={1,2}"]) == 0
    assert re.search(r"^2 +window:width=", capsys.readouterr().out, re.MULTILINE)
    assert (tmp_path / "tune" / "front.csv").exists()
    assert set(json.loads((tmp_path / "tune" / "best.json").read_text())) == {"2"}
