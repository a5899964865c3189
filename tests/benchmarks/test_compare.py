"""The comparison against episodes played by hand, SciPy and its own promises; bad input."""

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
from matchenv.evaluation.estimates import UNKNOWN, paired_difference
from matchenv.evaluation.seeds import episode_seeds
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.parallel import Engine

SMALL = {"num_opponents": 7, "horizon": 12}
TRUE_Q = "true_draw_density"
DRIFT = {"draw_margin": 0.6, "tau": 0.3, "beta": 1.0}


def compared(policies: list[Any], **options: Any) -> Comparison:
    """A small comparison in this process."""
    run = {name: options.pop(name) for name in ("out", "replace_out", "workers")
           if name in options}  # fmt: skip
    cells = {"rank": options.pop("ranks", ["top", None])}
    if "priors" in options:
        cells["prior"] = options.pop("priors")
    settings = {"episodes": 12, "seed": 3, "env_kwargs": SMALL, "cells": cells}
    return run_comparison(
        policies, run=RunOptions(**{"workers": 1, "quiet": True, **run}), **{**settings, **options}
    )


class TestEpisodes:
    @pytest.mark.parametrize(
        ("name", "game"),
        [("kg", {}), ("kg", DRIFT), ("drawchance", {}), ("oracle", DRIFT)],
    )
    def test_equal_episodes_played_by_hand_in_the_scalar_environment(self, name, game):
        options = {**SMALL, **game}
        comparison = compared(
            [name], ranks=["middle"], priors=["equal"], episodes=2, env_kwargs=options
        )
        for e, seed in enumerate(episode_seeds(3, 0, 2)):
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
                TRUE_Q: sum(i[TRUE_Q] for i in infos),
                "final_squared_error": (base.knowledge_state.mu[0] - base.true_skill[0]) ** 2,
                "skill_difference": np.mean([i["skill_difference"] for i in infos]),
                "win_ratio": np.mean(wins),
            }
            for measure in expected:
                found = comparison.values(measure, 0, name)[e]
                assert found == pytest.approx(expected[measure], rel=1e-12, abs=1e-12), measure

    def test_all_policies_meet_the_same_games(self):
        # A player against one opponent has no choice: equal games give equal numbers.
        rows = compared(["pe", "random"], env_kwargs={"num_opponents": 1, "horizon": 9}).rows
        for measure in OnePlayer.measures:
            assert (np.ptp(rows.columns[measure], axis=1) == 0.0).all()

    def test_noise_is_by_opponent_unless_by_game_is_asked_for(self):
        given, asked, by_game = (
            compared(["kg"], env_kwargs={**SMALL, **more}).values("win_ratio", 0, "kg")
            for more in ({}, {"noise": "opponent"}, {"noise": "game"})
        )
        np.testing.assert_array_equal(given, asked)
        assert not np.array_equal(given, by_game)

    def test_identical_policies_differ_by_exactly_nothing(self):
        comparison = compared(["kg", "kg:discount=0.99", "kg:multiplier=3"], episodes=20)
        for policy in ("kg", "kg:discount=0.99"):
            difference = comparison.standing(1, policy).difference
            assert difference == paired_difference(np.zeros(20), np.zeros(20))
        assert comparison.standing(0, "kg:multiplier=3").difference.mean != 0.0

    def test_episodes_depend_neither_on_how_many_there_are_nor_on_who_else_plays(self):
        few = compared(["kg"], episodes=5, ranks=["top"]).rows
        many = compared(["random", "kg"], episodes=130, ranks=["top"]).rows
        among = compared(["thompson", "random"], episodes=130, ranks=["top"]).rows
        for name, values in few.columns.items():
            np.testing.assert_array_equal(values[:, 0], many.columns[name][:, 1, :, :5])
            np.testing.assert_array_equal(many.columns[name][:, 0], among.columns[name][:, 1])
        # Random choices differ between blocks.
        assert len(set(many.values("draw_density", 0, "random")[0])) == 130


class TestStatistics:
    def test_files_hold_the_estimates_of_scipy_on_the_saved_episodes(self, tmp_path: Path):
        compared(["pe", "random"], episodes=15, out=tmp_path)
        report = json.loads((tmp_path / "comparison.json").read_text())
        with (tmp_path / "comparison.csv").open(newline="") as file:
            lines = list(csv.DictReader(file))
        with np.load(tmp_path / "episodes.npz", allow_pickle=False) as saved:
            rows = {name: saved[name] for name in (TRUE_Q, "policy", "rank")}
        for line, standing in zip(lines, report["standings"], strict=True):
            rank, difference = standing["cell"]["rank"], standing["difference"]
            ours, theirs = (
                rows[TRUE_Q][(rows["rank"] == rank) & (rows["policy"] == policy)]
                for policy in (standing["policy"], "kg")
            )
            assert len(ours) == 15
            if standing["policy"] != "kg":
                interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
                assert difference["low"] == pytest.approx(interval.low, rel=1e-9)
                assert difference["high"] == pytest.approx(interval.high, rel=1e-9)
            error = stats.sem(ours - theirs)
            assert difference["standard_error"] == pytest.approx(error, rel=1e-9, abs=1e-300)
            assert standing[TRUE_Q]["mean"] == pytest.approx(ours.mean(), rel=1e-12)
            assert (line["rank"], line["policy"]) == (rank, standing["policy"])
            assert float(line["difference_low"]) == difference["low"]
            error = standing["final_squared_error"]["mean"]
            assert float(line["final_squared_error_mean"]) == error
            assert float(line["share_closed"]) == standing["share_closed"]

    def test_share_closed_is_0_for_drawchance_1_for_the_oracle_whom_nobody_is_ahead_of(self):
        comparison = compared(["pe", "kg", "random"], episodes=30)
        oracle = comparison.values(TRUE_Q, 0, "oracle")
        for policy in comparison.policies:
            assert (comparison.values(TRUE_Q, 0, policy) <= oracle + 1e-12).all()
        standings = [comparison.standing(1, name) for name in ("drawchance", "pe", "oracle")]
        low, pe, high = (each[TRUE_Q].mean for each in standings)
        assert [each.share_closed for each in standings] == [
            0.0, pytest.approx((pe - low) / (high - low)), 1.0
        ]  # fmt: skip


class Rota:
    """A user's policy with a memory and without a generator: every opponent in turn."""

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


@pytest.mark.parametrize("belief", ["factorised", "full"])
def test_a_policy_of_the_users_own_keeps_its_memory_through_an_episode(belief):
    comparison = compared([Rota(belief)], ranks=["bottom"], against="rota")
    for e, seed in enumerate(episode_seeds(3, 0, 3)):
        env = gym.make("Matchmaking-v0", rank="bottom", belief=belief, noise="opponent", **SMALL)
        env.reset(seed=seed)
        infos = [env.step(n % 7)[4] for n in range(12)]
        for measure in ("draw_density", TRUE_Q):
            expected = sum(info[measure] for info in infos)
            assert comparison.values(measure, 0, "rota")[e] == pytest.approx(expected, rel=1e-12)
    assert comparison.standing(0, "rota").difference.mean == 0.0
    assert comparison.policies == ("rota", "drawchance", "oracle")


class OwnPolicy(RandomOpponent):
    """A user's own stochastic policy."""

    name = "own"


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


class TestFolders:
    @pytest.mark.slow  # processes are started; tests/runtime/test_jobs.py starts some each time
    def test_files_have_the_same_bytes_for_any_number_of_workers(self, tmp_path: Path):
        for workers, folder in ((1, "one"), (2, "two")):
            compared(["random", OwnPolicy()], episodes=210, workers=workers, out=tmp_path / folder)
        one = files_of(tmp_path / "one")
        assert {name for name in one if "/" not in name} == {
            "comparison.csv", "comparison.json", "comparison.txt", "episodes.csv", "episodes.npz",
            "settings.json",
        }  # fmt: skip
        assert files_of(tmp_path / "two") == one

    def test_another_comparison_is_refused_or_replaced(self, tmp_path: Path):
        plain = compared(["pe"], out=tmp_path)
        for name in ("comparison.json", "comparison.csv"):
            assert "decisions_per_second" not in (tmp_path / name).read_text()
        assert "decisions/s" not in (tmp_path / "comparison.txt").read_text()
        assert "decisions/s" in plain.table()
        with pytest.raises(ValueError, match="seed was 3 and is 4"):
            compared(["pe"], seed=4, out=tmp_path)
        compared(["pe"], seed=4, out=tmp_path, replace_out=True)
        report = json.loads((tmp_path / "comparison.json").read_text())
        assert report["seed"] == 4
        assert plain.standings[0].decisions_per_second > 0.0


def test_the_table_has_a_line_for_each_policy_in_each_cell() -> None:
    comparison = compared(["pe", "kg:multiplier=20"])
    lines = comparison.table().splitlines()
    for policy in ("pe", "kg:multiplier=20", "kg", "drawchance", "oracle"):
        # Wide tables continue below themselves.
        assert sum(line.split()[:1] == [policy] for line in lines) == 4
    assert max(map(len, lines[3:])) <= 100
    assert {"top rank, informative prior", "any rank, informative prior"} <= set(lines)
    assert comparison.standing(0, "pe").final_squared_error != UNKNOWN


# Bad input: one clear line, and nothing played or written.


@pytest.fixture
def no_games(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("games were played")

    monkeypatch.setattr(Engine, "results", refuse)


class Fixed:
    """A model of stable-baselines3's kind, for observations of one size."""

    name = "fixed"

    def __init__(self, size: int) -> None:
        self.size = size

    def predict(self, observation: Any, state: Any = None, *_: Any, **__: Any) -> tuple[Any, Any]:
        if observation.shape[-1] != self.size:
            raise ValueError(f"observation must have {self.size} numbers")
        return np.zeros(len(observation), np.int64), state


QUEUE = {"env": "MatchmakingQueue-v0"}


@pytest.mark.usefixtures("no_games")
@pytest.mark.parametrize(
    ("policies", "options", "message"),
    [
        (["pe"], {"env_kwargs": {"reward": 1}},
         "env_kwargs may hold .*num_opponents, .* got 'reward'"),
        (["pe"], {"env_kwargs": {"prior": 1}}, "env_kwargs may hold .* got 'prior'"),
        ([Fixed(101)], {"env_kwargs": {"num_opponents": 9}},
         "'fixed' cannot play with num_opponents=9"),
        *((policies, {}, "polic") for policies in ("kg", [], [3], [object()])),
        ([Oracle(np.zeros(50))], {}, "'oracle', not as an object"),
        (["fcfs"], {**QUEUE, "cells": {"load": []}}, "load"),
        (["fcfs"], {**QUEUE, "cells": {"load": ["thin", "thin"]}}, "load"),
        (["fcfs"], {**QUEUE, "cells": {"load": ["high"]}}, "load must be"),
        (["fcfs"], {**QUEUE, "cells": {"rank": ["top"]}}, "cells may hold load, got 'rank'"),
        (["fcfs"], {**QUEUE, "env_kwargs": {"arrival_rate": 2}}, "arrival_rate"),
        (["fcfs"], {**QUEUE, "env_kwargs": {"patience": 0}}, "patience"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(policies, options, message):
    with pytest.raises(ValueError, match=message):
        run_comparison(policies, **options)


@pytest.mark.usefixtures("no_games")
@pytest.mark.parametrize(
    ("folder", "said"), [("empty", "empty holds no run"), ("damaged", "damaged' cannot be loaded")]
)
def test_folder_without_a_good_run_is_refused(folder: str, said: str, tmp_path: Path):
    pytest.importorskip("stable_baselines3")
    path = tmp_path / folder
    path.mkdir()
    if folder == "damaged":
        (path / "config.yml").write_text("algorithm: [")
        (path / "policy.safetensors").write_bytes(b"no weights")
    with pytest.raises(ValueError, match=said):
        run_comparison([path])
