"""Comparison, tuning and front of the queue: numbers, files, resumption, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("matplotlib")

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
    return run_comparison(
        POLICIES, against="window:width=0.5", cells={"load": ["thin", "2"]}, **SMALL
    )


def test_standings_are_those_of_the_runs(comparison: Any) -> None:
    assert len(comparison.standings) == 2 * len(POLICIES)
    standing = comparison.standing(1, "fcfs")
    assert (standing.cell.name, standing.policy) == ("2", "fcfs")
    ours = comparison.rows.columns["true_reward"][1, 0, 0]
    theirs = comparison.rows.columns["true_reward"][1, 1, 0]
    interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert standing.difference.mean == pytest.approx((ours - theirs).mean())
    assert (standing.difference.low, standing.difference.high) == pytest.approx(tuple(interval))
    assert standing.true_reward.mean == pytest.approx(ours.mean())
    sums = comparison.rows.arrays["sums"][1, 0, 0]
    assert standing.wait.mean == pytest.approx((sums[:, 0, 2] / sums[:, 0, 0]).mean())


def test_groups_make_up_all(comparison: Any) -> None:
    sums = comparison.rows.arrays["sums"]
    np.testing.assert_allclose(sums[..., 1, :] + sums[..., 2, :], sums[..., 0, :])
    np.testing.assert_allclose(sums[..., 3:, :].sum(axis=-2), sums[..., 0, :])
    every = [each for each in group_standings(comparison) if each.group == "all"]
    for group, standing in zip(every, comparison.standings, strict=True):
        assert (group.policy, group.load) == (standing.policy, standing.cell.name)
        assert group.wait == standing.wait
        assert group.long_wait == standing.numbers["long_wait"]


def test_the_front_is_of_those_that_nobody_of_the_family_beats(comparison: Any) -> None:
    labels = ("kg:multiplier=2,both=true", "kg:both=true", "kg:multiplier=3", "fcfs")
    assert [family_of(label) for label in labels] == [
        "kg both=true", "kg both=true", "kg", "fcfs"
    ]  # fmt: skip
    assert family_of("reservation:policy=thompson,reservation=0.5") == "reservation policy=thompson"
    tuning = run_tuning(
        [f"window:width={width}" for width in (0.0, 0.2, 0.5, 1.0, 9.0)],
        cells={"load": ["2"]},
        **SMALL,
    )
    points = points_of(tuning.rows, 0)
    for point in points:
        better = [p for p in points if p.wait < point.wait and p.quality > point.quality]
        assert point.best or better
        assert not (point.best and better)
    assert min(points, key=lambda point: point.wait).best
    assert max(points, key=lambda point: point.quality).best


def test_tuning_finds_the_best_of_each_family_on_seeds_of_its_own(comparison: Any) -> None:
    tuning = run_tuning(
        ["window:width=0.5", "fcfs", "window:width=3", "window:width=1"],
        cells=BOTH,
        measure="reward",
        **SMALL,
    )
    assert not set(tuning.rows.seeds.flat) & set(comparison.rows.seeds.flat)
    for load, name in enumerate(("thin", "2")):
        means = tuning.rows.columns["reward"][load, :, 0].mean(axis=1)
        windows = {tuning.rows.policies[k]: means[k] for k in (0, 2, 3)}
        assert tuning.best(name) == {
            "window": max(windows, key=windows.__getitem__),
            "fcfs": "fcfs",
        }
    for setting in tuning.tried:
        assert setting.behind.mean >= 0.0
        assert (setting.behind.mean == 0.0) == setting.best or setting.behind.mean < 1e-12


def into(folder: Path) -> dict[str, Any]:
    return {**SMALL, "run": RunOptions(out=folder, workers=1, quiet=True)}


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"
            and path.is_file()}  # fmt: skip


def test_a_stopped_comparison_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    for name in ("whole", "resumed"):
        run_comparison(POLICIES, cells={"load": ["thin"]}, **into(tmp_path / name))
    blocks = sorted((tmp_path / "resumed" / "blocks").glob("*.npz"))
    for path in (*blocks[1:], tmp_path / "resumed" / "front.png"):
        path.unlink()
    first = blocks[0].stat().st_mtime_ns
    run_comparison(POLICIES, cells={"load": ["thin"]}, **into(tmp_path / "resumed"))
    assert blocks[0].stat().st_mtime_ns == first
    assert bytes_of(tmp_path / "resumed") == bytes_of(tmp_path / "whole")
    assert {"episodes.csv", "episodes.npz", "comparison.txt", "comparison.csv", "comparison.json",
            "groups.csv", "front.csv", "front.png", "front.svg"} <= bytes_of(
        tmp_path / "whole"
    ).keys()  # fmt: skip
    found = json.loads((tmp_path / "whole" / "comparison.json").read_text())
    assert found["against"] == "kg"
    assert "decisions_per_second" not in found["standings"][0]
    with pytest.raises(ValueError, match="seed was 0 and is 1"):
        run_comparison(POLICIES, cells={"load": ["thin"]}, seed=1, **into(tmp_path / "whole"))


def test_numbers_do_not_depend_on_who_plays_beside(comparison: Any) -> None:
    alone = run_comparison(["random"], against="random", cells=TWO, **SMALL)
    mine = comparison.rows.policies.index("random")
    np.testing.assert_array_equal(
        alone.rows.columns["reward"][0, 0], comparison.rows.columns["reward"][1, mine]
    )


def test_players_of_the_users_own_come(tmp_path: Path) -> None:
    even, uneven = tmp_path / "even.csv", tmp_path / "uneven.csv"
    even.write_text("mu,sigma\n3.0,0.1\n3.1,0.1\n")
    uneven.write_text("mu,sigma\n3.0,0.1\n9.0,0.1\n")
    asked = {"policies": ["fcfs"], "against": "fcfs", "cells": {"load": ["2"]}, **SMALL}
    found = [
        run_comparison(**{**asked, "env_kwargs": {"population": path, "newcomers": 0.0}})
        for path in (even, uneven)
    ]
    qualities = [each.standing(0, "fcfs").true_match_quality.mean for each in found]
    assert qualities[0] > 0.99 > qualities[1]
    assert found[0].asked["environment"] != found[1].asked["environment"]


def test_policies_of_the_users_own_play() -> None:
    class Own:
        name = "own"

        def choose(self, waiting: Any, rng: Any) -> int:
            return min(1, waiting.filled.size)

    found = run_comparison([Own(), "fcfs"], against="fcfs", cells=TWO, **SMALL)
    assert found.standing(0, "own").difference.mean == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"policies": []}, "policies"),
        ({"policies": ["fcfs", "fcfs"]}, "fcfs"),
        ({"policies": ["nobody"]}, "nobody"),
        ({"policies": [object()]}, "act, choose or predict"),
        ({"cells": {"load": []}}, "load"),
        ({"cells": {"load": ["thin", "thin"]}}, "load"),
        ({"cells": {"load": ["high"]}}, "load must be"),
        ({"episodes": 1}, "episodes"),
        ({"seed": -1}, "seed"),
        ({"env_kwargs": {"arrival_rate": 2}}, "arrival_rate"),
        ({"env_kwargs": {"reward": "match_quality"}}, "reward"),
        ({"env_kwargs": {"patience": 0}}, "patience"),
        ({"cells": {"rank": ["top"]}}, "cells may hold load, got 'rank'"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        run_comparison(**{"policies": ["fcfs"], **SMALL, **changes})


def test_a_policy_that_cannot_play_is_named() -> None:
    class Broken:
        name = "broken"

        def predict(self, observation: Any, *_: Any, **__: Any) -> Any:
            raise RuntimeError("wrong size")

    with pytest.raises(ValueError, match=r"'broken' cannot play.*wrong size"):
        run_comparison([Broken()], **SMALL)
    with pytest.raises(ValueError, match="measure"):
        run_tuning(["fcfs"], measure="wait", **SMALL)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queue = ["--env", "MatchmakingQueue-v0", "--episodes", "2", "--workers", "1"]
    queue += ["--horizon", "20", "--load", "2", "--env-kwargs", "capacity=4", "patience=3"]
    assert run_command(["compare", *queue, "--policy", "fcfs", "--against", "fcfs"]) == 0
    printed = capsys.readouterr().out
    assert "2 episodes of MatchmakingQueue-v0, capacity 4, horizon 20, seed 0" in printed
    assert "true q by group" in printed
    tune = ["tune", *queue, "--out", str(tmp_path / "tune")]
    assert run_command([*tune, "--policy", "window:width={1,2}", "--measure", "reward"]) == 0
    assert "| 2 | window:width=" in capsys.readouterr().out
    assert (tmp_path / "tune" / "front.png").exists()
    assert set(json.loads((tmp_path / "tune" / "best.json").read_text())) == {"2"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["compare", "--load", "thin"],
            "with --env MatchmakingQueue-v0 alone may be given, got --load",
        ),
        (
            ["compare", "--env", "MatchmakingQueue-v0", "--rank", "top"],
            "alone may be given, got --rank",
        ),
        (
            ["compare", "--env", "MatchmakingQueue-v0", "--beta", "2", "--env-kwargs", "beta=1"],
            "beta",
        ),
        (["compare", "--env", "MatchmakingQueue-v0", "--env-kwargs", "beta"], "key=value"),
        (["tune", "--policy", "pe", "--measure", "wait"], "measure must be one of"),
    ],
)
def test_options_of_the_other_environment_are_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(words) == 2
    assert said in capsys.readouterr().err
