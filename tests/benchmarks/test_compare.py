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
from matchenv.benchmarks.compare.playing import MEASURES
from matchenv.benchmarks.compare.seeds import episode_seeds
from matchenv.benchmarks.compare.statistics import paired_difference, share_closed

SMALL = {"num_opponents": 7, "horizon": 12}


def compared(policies: list[Any], **options: Any) -> Comparison:
    """A small comparison in this process."""
    settings: dict[str, Any] = {
        "ranks": ["top", None],
        "episodes": 12,
        "seed": 3,
        "env_kwargs": SMALL,
        "workers": 1,
        "quiet": True,
    }
    return run_comparison(policies, **{**settings, **options})


class TestEpisodes:
    @pytest.mark.parametrize("game", [{}, {"draw_margin": 0.6, "tau": 0.3, "beta": 1.0}])
    @pytest.mark.parametrize("name", ["kg", "drawchance", "oracle"])
    def test_equal_episodes_played_by_hand_in_the_scalar_environment(self, name, game):
        options = {**SMALL, **game}
        comparison = compared(
            [name], ranks=["middle"], priors=["equal"], episodes=3, env_kwargs=options
        )
        for e, seed in enumerate(episode_seeds(3, 0, 3)):
            env = gym.make("Matchmaking-v0", rank="middle", prior="equal", **options)
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
                "squared_error": (base.knowledge_state.mu[0] - base.true_skill[0]) ** 2,
                "skill_difference": np.mean([i["skill_difference"] for i in infos]),
                "win_ratio": np.mean(wins),
            }
            for measure in MEASURES:
                found = comparison.values(measure, 0, name)[e]
                assert found == pytest.approx(expected[measure], rel=1e-12, abs=1e-12), measure

    def test_all_policies_meet_the_same_games(self):
        # A player against one opponent has no choice: equal games give equal numbers.
        comparison = compared(
            ["pe", "random", "thompson"], env_kwargs={"num_opponents": 1, "horizon": 9}
        )
        for policy in comparison.policies:
            assert np.array_equal(
                comparison.measures[:, :, comparison.policies.index(policy)],
                comparison.measures[:, :, 0],
            )

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
        assert np.array_equal(few.measures, many.measures[..., :5])

    def test_lots_do_not_depend_on_who_else_plays(self):
        alone, among = compared(["random"]), compared(["thompson", "pe", "random"])
        assert np.array_equal(
            alone.values("draw_density", 0, "random"), among.values("draw_density", 0, "random")
        )

    def test_lots_differ_between_blocks(self):
        comparison = compared(["random"], episodes=200, ranks=["top"])
        values = comparison.values("draw_density", 0, "random")
        assert len(set(values)) == 200

    def test_seeds_of_episodes_are_their_own(self):
        assert episode_seeds(5, 0, 8)[3:] == episode_seeds(5, 3, 5)
        assert len({*episode_seeds(5, 0, 2000), *episode_seeds(6, 0, 2000)}) == 4000


class TestStatistics:
    def test_interval_is_that_of_scipy_on_the_saved_episodes(self, tmp_path: Path):
        compared(["pe", "random"], episodes=15, out=tmp_path)
        report = json.loads((tmp_path / "comparison.json").read_text())
        with np.load(tmp_path / "episodes.npz", allow_pickle=False) as saved:
            true_q, policies = saved["true_draw_density"], list(saved["policies"])
            ranks = list(saved["ranks"])
        assert true_q.shape == (2, 5, 15)
        for standing in report["standings"]:
            cell = ranks.index(standing["cell"]["rank"])
            ours = true_q[cell, policies.index(standing["policy"])]
            theirs = true_q[cell, policies.index("kg")]
            difference = standing["difference"]
            if standing["policy"] != "kg":
                interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
                assert difference["low"] == pytest.approx(interval.low, rel=1e-9)
                assert difference["high"] == pytest.approx(interval.high, rel=1e-9)
            assert difference["standard_error"] == pytest.approx(
                stats.sem(ours - theirs), rel=1e-9, abs=1e-300
            )
            assert standing["true_draw_density"]["mean"] == pytest.approx(ours.mean(), rel=1e-12)

    def test_interval_covers_as_often_as_it_says(self):
        rng = np.random.default_rng(11)
        trials = 2000
        hits = 0
        for _ in range(trials):
            difference = paired_difference(rng.normal(1.0, 2.0, 6), rng.normal(0.0, 1.0, 6))
            hits += difference.low <= 1.0 <= difference.high
        assert abs(hits / trials - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / trials)

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

    def test_share_of_no_distance_is_no_number(self):
        assert np.isnan(share_closed(np.ones(3), np.ones(3), np.ones(3)))
        assert share_closed(np.full(4, 1.5), np.ones(4), np.full(4, 2.0)) == 0.5


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
            env = gym.make("Matchmaking-v0", rank="bottom", belief=belief, **SMALL)
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


class TestWorkers:
    def test_files_have_the_same_bytes_for_any_number_of_workers(self, tmp_path: Path):
        policies = ["random", "thompson:spread=0.3", OwnPolicy()]
        for workers, folder in ((1, "one"), (2, "two"), (3, "three")):
            compared(policies, episodes=210, workers=workers, out=tmp_path / folder)
        files = sorted(path.name for path in (tmp_path / "one").iterdir())
        assert files == ["comparison.csv", "comparison.json", "comparison.txt", "episodes.npz"]
        for folder in ("two", "three"):
            assert sorted(path.name for path in (tmp_path / folder).iterdir()) == files
            for name in files:
                assert (tmp_path / "one" / name).read_bytes() == (
                    tmp_path / folder / name
                ).read_bytes(), name


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
            assert float(row["squared_error_mean"]) == standing["squared_error"]["mean"]
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
            assert sum(line.split()[:1] == [policy] for line in lines) == 2
        assert "top rank, informative prior" in lines
        assert "any rank, informative prior" in lines
