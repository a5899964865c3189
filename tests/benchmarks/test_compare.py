"""The comparison against episodes played by hand, SciPy and its own promises."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy import stats

from matchenv import MatchmakingEnv
from matchenv.baselines import DrawChance, KnowledgeGradient, Oracle, RandomOpponent
from matchenv.benchmarks.compare import Comparison, run_comparison
from matchenv.envs.one_player.simulator import OnePlayer
from matchenv.evaluation.estimates import paired_difference
from matchenv.evaluation.seeds import episode_seeds
from matchenv.runtime import jobs
from matchenv.runtime.jobs import RunOptions

SMALL = {"num_opponents": 7, "horizon": 12}


def compared(policies: list[Any], **options: Any) -> Comparison:
    """A small comparison in this process."""
    run = {name: options.pop(name) for name in ("out", "replace_out", "workers", "timing")
           if name in options}  # fmt: skip
    cells = {"rank": options.pop("ranks", ["top", None])}
    if "priors" in options:
        cells["prior"] = options.pop("priors")
    settings = {"episodes": 12, "seed": 3, "env_kwargs": SMALL, "cells": cells}
    return run_comparison(
        policies, run=RunOptions(**{"workers": 1, "quiet": True, **run}), **{**settings, **options}
    )


class TestEpisodes:
    @pytest.mark.parametrize("game", [{}, {"draw_margin": 0.6, "tau": 0.3, "beta": 1.0}])
    @pytest.mark.parametrize("name", ["kg", "drawchance", "oracle"])
    def test_equal_episodes_played_by_hand_in_the_scalar_environment(self, name, game):
        options = {**SMALL, **game}
        comparison = compared(
            [name], ranks=["middle"], priors=["equal"], episodes=3, env_kwargs=options
        )
        for e, seed in enumerate(episode_seeds(3, 0, 3)):
            env = gym.make(
                "Matchmaking-v0", rank="middle", prior="equal", noise="opponent", **options
            )
            base = env.unwrapped
            assert isinstance(base, MatchmakingEnv)
            env.reset(seed=seed)
            beta = {key: value for key, value in game.items() if key == "beta"}
            policy = {
                "kg": lambda game=game: KnowledgeGradient(**game),
                "drawchance": lambda beta=beta: DrawChance(**beta),
                "oracle": lambda base=base: Oracle(lambda: base.true_skill),
            }[name]()
            infos, over = [], False
            while not over:
                action = policy.act(base.knowledge_state, base.games_left)
                _, _, over, _, info = env.step(int(action))
                infos.append(info)
            wins = [1.0 if i["won"] else 0.5 if i["outcome"] == 0 else 0.0 for i in infos]
            expected = {
                "draw_density": sum(i["draw_density"] for i in infos),
                "true_draw_density": sum(i["true_draw_density"] for i in infos),
                "final_squared_error": (base.knowledge_state.mu[0] - base.true_skill[0]) ** 2,
                "skill_difference": np.mean([i["skill_difference"] for i in infos]),
                "win_ratio": np.mean(wins),
            }
            for measure in expected:
                found = comparison.values(measure, 0, name)[e]
                assert found == pytest.approx(expected[measure], rel=1e-12, abs=1e-12), measure

    def test_all_policies_meet_the_same_games(self):
        # A player against one opponent has no choice: equal games give equal numbers.
        comparison = compared(
            ["pe", "random", "thompson"], env_kwargs={"num_opponents": 1, "horizon": 9}
        )
        for policy in comparison.policies:
            for cell in range(2):
                for measure in OnePlayer.measures:
                    np.testing.assert_array_equal(
                        comparison.values(measure, cell, policy),
                        comparison.values(measure, cell, "pe"),
                    )

    def test_noise_is_by_opponent_and_by_game_where_that_is_asked_for(self):
        given, asked, by_game = (
            compared(["kg"], env_kwargs={**SMALL, **more})
            for more in ({}, {"noise": "opponent"}, {"noise": "game"})
        )
        totals = [each.values("win_ratio", 0, "kg") for each in (given, asked, by_game)]
        np.testing.assert_array_equal(totals[0], totals[1])
        assert not np.array_equal(totals[0], totals[2])

    def test_identical_policies_differ_by_exactly_nothing(self):
        comparison = compared(["kg", "kg:discount=0.99", "kg:multiplier=3"], episodes=20)
        for cell in range(2):
            for policy in ("kg", "kg:discount=0.99"):
                difference = comparison.standing(cell, policy).difference
                assert difference == paired_difference(np.zeros(20), np.zeros(20))
                assert (difference.mean, difference.low, difference.high) == (0.0, 0.0, 0.0)
        assert comparison.standing(0, "kg:multiplier=3").difference.mean != 0.0

    def test_episodes_do_not_depend_on_how_many_there_are(self):
        few, many = compared(["kg"], episodes=5), compared(["kg"], episodes=130)
        for name, values in few.rows.columns.items():
            np.testing.assert_array_equal(values, many.rows.columns[name][..., :5])

    def test_random_choices_do_not_depend_on_who_else_plays(self):
        alone, among = compared(["random"]), compared(["thompson", "pe", "random"])
        assert np.array_equal(
            alone.values("draw_density", 0, "random"), among.values("draw_density", 0, "random")
        )

    def test_random_choices_differ_between_blocks(self):
        comparison = compared(["random"], episodes=200, ranks=["top"])
        values = comparison.values("draw_density", 0, "random")
        assert len(set(values)) == 200


class TestStatistics:
    def test_interval_is_that_of_scipy_on_the_saved_episodes(self, tmp_path: Path):
        compared(["pe", "random"], episodes=15, out=tmp_path)
        report = json.loads((tmp_path / "comparison.json").read_text())
        with np.load(tmp_path / "episodes.npz", allow_pickle=False) as saved:
            rows = {name: saved[name] for name in ("true_draw_density", "policy", "rank")}
        for standing in report["standings"]:
            ours, theirs = (
                rows["true_draw_density"][
                    (rows["rank"] == standing["cell"]["rank"]) & (rows["policy"] == policy)
                ]
                for policy in (standing["policy"], "kg")
            )
            assert len(ours) == 15
            difference = standing["difference"]
            if standing["policy"] != "kg":
                interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
                assert difference["low"] == pytest.approx(interval.low, rel=1e-9)
                assert difference["high"] == pytest.approx(interval.high, rel=1e-9)
            assert difference["standard_error"] == pytest.approx(
                stats.sem(ours - theirs), rel=1e-9, abs=1e-300
            )
            assert standing["true_draw_density"]["mean"] == pytest.approx(ours.mean(), rel=1e-12)

    def test_share_closed_is_0_for_drawchance_1_for_the_oracle(self):
        comparison = compared(["pe"])
        for cell in range(2):
            assert comparison.standing(cell, "drawchance").share_closed == 0.0
            assert comparison.standing(cell, "oracle").share_closed == 1.0
            low, pe, high = (
                comparison.standing(cell, name).true_draw_density.mean
                for name in ("drawchance", "pe", "oracle")
            )
            share = comparison.standing(cell, "pe").share_closed
            assert share == pytest.approx((pe - low) / (high - low))


class TestOracle:
    def test_nobody_is_ahead_of_the_oracle_in_any_episode(self):
        comparison = compared(["pe", "kg", "random", "thompson"], episodes=30)
        oracle = comparison.values("true_draw_density", 0, "oracle")
        for policy in comparison.policies:
            assert (comparison.values("true_draw_density", 0, policy) <= oracle + 1e-12).all()


class OwnPolicy(RandomOpponent):
    """A user's own policy."""

    name = "own"


class Rota:
    """A policy with a memory and without a generator: every opponent in turn."""

    name = "rota"

    def __init__(self, belief: str) -> None:
        self.belief = belief

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:  # fmt: skip
        assert observation.shape[-1] == (17 if self.belief == "factorised" else 24)
        last = np.zeros(len(observation), np.int64) if state is None else state
        now = np.where(episode_start, 0, (last + 1) % 7)
        return now, now


class TestOwnPolicies:
    @pytest.mark.parametrize("belief", ["factorised", "full"])
    def test_policy_keeps_its_memory_through_an_episode(self, belief):
        comparison = compared([Rota(belief)], ranks=["bottom"], against="rota")
        for e, seed in enumerate(episode_seeds(3, 0, 12)):
            env = gym.make(
                "Matchmaking-v0", rank="bottom", belief=belief, noise="opponent", **SMALL
            )
            env.reset(seed=seed)
            infos = [env.step(n % 7)[4] for n in range(12)]
            for measure in ("draw_density", "true_draw_density"):
                assert comparison.values(measure, 0, "rota")[e] == pytest.approx(
                    sum(info[measure] for info in infos), rel=1e-12
                )
        assert comparison.standing(0, "rota").difference.mean == 0.0
        assert comparison.policies == ("rota", "drawchance", "oracle")

    def test_true_quality_does_not_depend_on_the_belief(self):
        one, other = compared([Rota("factorised")]), compared([Rota("full")])
        assert np.array_equal(
            one.values("true_draw_density", 0, "rota"), other.values("true_draw_density", 0, "rota")
        )
        assert not np.array_equal(
            one.values("draw_density", 0, "rota"), other.values("draw_density", 0, "rota")
        )


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class TestFolders:
    def test_files_have_the_same_bytes_for_any_number_of_workers(self, tmp_path: Path):
        policies = ["random", "thompson:spread=0.3", OwnPolicy()]
        for workers, folder in ((1, "one"), (2, "two")):
            compared(policies, episodes=210, workers=workers, out=tmp_path / folder)
        one = files_of(tmp_path / "one")
        assert {name for name in one if "/" not in name} == {
            "comparison.csv", "comparison.json", "comparison.txt", "episodes.csv", "episodes.npz",
            "settings.json",
        }  # fmt: skip
        assert files_of(tmp_path / "two") == one

    @pytest.mark.parametrize("finished", [1, 4, 9])
    def test_one_that_was_stopped_goes_on(self, finished, tmp_path: Path, monkeypatch):
        compared(["random", "pe"], out=tmp_path / "once")
        work, worked = jobs.Store.save, []

        def until_stopped(*arguments: Any) -> Any:
            if len(worked) == finished:
                raise KeyboardInterrupt
            worked.append(arguments)
            return work(*arguments)

        monkeypatch.setattr(jobs.Store, "save", until_stopped)
        with pytest.raises(KeyboardInterrupt):
            compared(["random", "pe"], out=tmp_path / "twice")
        worked.clear()
        monkeypatch.setattr(jobs.Store, "save", lambda *job: worked.append(job) or work(*job))
        compared(["random", "pe"], out=tmp_path / "twice")
        assert len(worked) == 10 - finished
        assert files_of(tmp_path / "once") == files_of(tmp_path / "twice")

    def test_another_comparison_is_refused_or_replaced(self, tmp_path: Path):
        compared(["pe"], out=tmp_path)
        with pytest.raises(ValueError, match="seed was 3 and is 4"):
            compared(["pe"], seed=4, out=tmp_path)
        compared(["pe"], seed=4, out=tmp_path, replace_out=True)
        assert json.loads((tmp_path / "comparison.json").read_text())["seed"] == 4

    def test_a_policy_of_the_users_own_counts_by_its_content(self, tmp_path: Path, monkeypatch):
        source = tmp_path / "of_my_own.py"
        source.write_text("from matchenv.baselines import PointEstimate as Mine\n")
        monkeypatch.syspath_prepend(tmp_path)
        compared(["of_my_own:Mine"], out=tmp_path / "out")
        source.write_text("from matchenv.baselines import RandomOpponent as Mine\n")
        with pytest.raises(ValueError, match="policies: "):
            compared(["of_my_own:Mine"], out=tmp_path / "out")


class TestFiles:
    def test_csv_says_what_json_says(self, tmp_path: Path):
        compared(["pe"], out=tmp_path)
        report = json.loads((tmp_path / "comparison.json").read_text())
        with (tmp_path / "comparison.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(report["standings"]) == 8
        for row, standing in zip(rows, report["standings"], strict=True):
            assert (row["rank"], row["policy"]) == (standing["cell"]["rank"], standing["policy"])
            assert float(row["difference_low"]) == standing["difference"]["low"]
            assert float(row["final_squared_error_mean"]) == standing["final_squared_error"]["mean"]
            assert float(row["share_closed"]) == standing["share_closed"]

    def test_decisions_per_second_are_written_only_if_asked_for(self, tmp_path: Path):
        plain = compared(["pe"], out=tmp_path / "plain")
        compared(["pe"], out=tmp_path / "timed", timing=True)
        for name in ("comparison.json", "comparison.csv"):
            assert "decisions_per_second" not in (tmp_path / "plain" / name).read_text()
            assert "decisions_per_second" in (tmp_path / "timed" / name).read_text()
        assert "decisions/s" not in (tmp_path / "plain" / "comparison.txt").read_text()
        assert "decisions/s" in plain.table()

    def test_table_has_a_line_for_each_policy_in_each_cell(self):
        lines = compared(["pe", "kg:multiplier=20"]).table().splitlines()
        for policy in ("pe", "kg:multiplier=20", "kg", "drawchance", "oracle"):
            # Wide tables continue below themselves.
            assert sum(line.split()[:1] == [policy] for line in lines) == 4
        assert max(map(len, lines[3:])) <= 100
        assert "top rank, informative prior" in lines
        assert "any rank, informative prior" in lines
