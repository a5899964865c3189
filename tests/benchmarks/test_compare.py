"""The comparison against episodes played by hand, SciPy and its own promises; bad input."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy import stats

from matchenv import MatchmakingEnv, NormalPrior
from matchenv.baselines import DrawChance, KnowledgeGradient, Oracle
from matchenv.benchmarks.compare import Comparison, run_comparison
from matchenv.benchmarks.limits.bound import run_bound
from matchenv.benchmarks.study.settings import StudySettings
from matchenv.cli import run_command
from matchenv.evaluation.seeds import episode_seeds
from matchenv.runtime import jobs
from matchenv.runtime.jobs import RunOptions

SMALL = {"num_opponents": 7, "horizon": 12}
TRUE_Q = "true_draw_density"
DRIFT = {"draw_margin": 0.6, "tau": 0.3, "beta": 1.0}


def compared(policies: list[Any], *ranks: str | None, out: Path | None = None,
             **options: Any) -> Comparison:  # fmt: skip
    """A small comparison in this process."""
    cells = {"rank": ranks or ["top", None]}
    settings = {"episodes": 12, "seed": 3, "env_kwargs": SMALL, "cells": cells}
    run = RunOptions(workers=1, quiet=True, out=out)
    return run_comparison(policies, run=run, **{**settings, **options})


class Rota:
    """A user's policy with a memory and without a generator: every opponent in turn."""

    def __init__(self, belief: str) -> None:
        self.belief, self.name = belief, "rota"

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:  # fmt: skip
        assert observation.shape[-1] == (17 if self.belief == "factorised" else 24)
        last = np.zeros(len(observation), np.int64) if state is None else state
        now = np.where(episode_start, 0, (last + 1) % 7)
        return now, now


@pytest.mark.parametrize(
    ("policy", "rank", "prior", "game"),
    [("kg", "middle", "equal", {}), ("kg", "middle", "equal", DRIFT),
     ("drawchance", "top", "equal", {"noise": "game"}), ("oracle", "middle", "equal", DRIFT),
     ("oracle", None, NormalPrior(25, 8.3), {}), (Rota("factorised"), "middle", "equal", {}),
     (Rota("full"), "middle", "equal", {})],
)  # fmt: skip
def test_episodes_are_those_played_by_hand_in_the_scalar_environment(policy, rank, prior, game):
    cells = {"rank": [rank], "prior": [prior]}
    comparison = compared([policy], cells=cells, episodes=2, env_kwargs={**SMALL, **game})
    name, belief = str(getattr(policy, "name", policy)), getattr(policy, "belief", "factorised")
    for e, seed in enumerate(episode_seeds(3, 0, 2)):
        options = {"noise": "opponent", "rank": rank, "prior": prior, "belief": belief}
        env = gym.make("Matchmaking-v0", **{**options, **SMALL, **game})
        base = env.unwrapped
        assert isinstance(base, MatchmakingEnv)
        env.reset(seed=seed)
        player: Any = {
            "kg": KnowledgeGradient(**{each: game[each] for each in DRIFT if each in game}),
            "drawchance": DrawChance(),
            "oracle": Oracle(lambda base=base: base.true_skill),
        }.get(name)
        infos = []
        for n in range(SMALL["horizon"]):
            action = player.act(base.knowledge_state, base.games_left) if player else n % 7
            infos.append(env.step(int(action))[4])
        wins = [1.0 if i["won"] else 0.5 if i["outcome"] == 0 else 0.0 for i in infos]
        expected = {
            "draw_density": sum(i["draw_density"] for i in infos),
            TRUE_Q: sum(i[TRUE_Q] for i in infos),
            "final_squared_error": (base.knowledge_state.mu[0] - base.true_skill[0]) ** 2,
            "skill_difference": np.mean([i["skill_difference"] for i in infos]),
            "win_ratio": np.mean(wins),
        }
        for measure, value in expected.items():
            found = comparison.values(measure, 0, name)[e]
            assert found == pytest.approx(value, rel=1e-12, abs=1e-12), measure


def test_episodes_depend_neither_on_how_many_there_are_nor_on_who_else_plays() -> None:
    few = compared(["kg"], "top", episodes=5).rows
    many = compared(["random", "kg"], "top", episodes=130).rows
    among = compared(["thompson", "random"], "top", episodes=130).rows
    for name, values in few.columns.items():
        np.testing.assert_array_equal(values[:, 0], many.columns[name][:, 1, :, :5])
        np.testing.assert_array_equal(many.columns[name][:, 0], among.columns[name][:, 1])
    # Random choices differ between blocks.
    assert len(set(many.values("draw_density", 0, "random")[0])) == 130


def test_files_hold_the_estimates_of_scipy_on_the_saved_episodes(tmp_path: Path) -> None:
    comparison = compared(["pe", "random"], episodes=15, out=tmp_path)
    report = json.loads((tmp_path / "comparison.json").read_text())
    with (tmp_path / "comparison.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    with np.load(tmp_path / "episodes.npz", allow_pickle=False) as saved:
        rows = {name: saved[name] for name in (TRUE_Q, "policy", "rank")}
    for line, standing in zip(lines, report["standings"], strict=True):
        rank, difference = standing["cell"]["rank"], standing["difference"]
        ours, theirs, low, high = (
            rows[TRUE_Q][(rows["rank"] == rank) & (rows["policy"] == policy)]
            for policy in (standing["policy"], "kg", "drawchance", "oracle")
        )
        assert len(ours) == 15
        assert (ours <= high + 1e-12).all()
        if standing["policy"] != "kg":
            interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
            assert difference["low"] == pytest.approx(interval.low, rel=1e-9)
            assert difference["high"] == pytest.approx(interval.high, rel=1e-9)
        error = stats.sem(ours - theirs)
        assert difference["standard_error"] == pytest.approx(error, rel=1e-9, abs=1e-300)
        assert standing[TRUE_Q]["mean"] == pytest.approx(ours.mean(), rel=1e-12)
        share = (ours - low).mean() / (high - low).mean()
        assert standing["share_closed"] == pytest.approx(share)
        assert (line["rank"], line["policy"]) == (rank, standing["policy"])
        assert float(line["difference_low"]) == difference["low"]
        error = standing["final_squared_error"]["mean"]
        assert float(line["final_squared_error_mean"]) == error
        assert float(line["share_closed"]) == standing["share_closed"]
    # No two runs share the decisions a second.
    assert (comparison.rows.decisions_per_second > 1.0).all()
    assert "decisions/s" in comparison.table()
    for name, timed in (("json", "_per_second"), ("csv", "_per_second"), ("txt", "decisions/s")):
        assert timed not in (tmp_path / f"comparison.{name}").read_text()


def test_the_table_has_a_line_for_each_policy_in_each_cell() -> None:
    lines = compared(["pe", "kg:multiplier=20"]).table().splitlines()
    for policy in ("pe", "kg:multiplier=20", "kg", "drawchance", "oracle"):
        # Wide tables continue below themselves.
        assert sum(line.split()[:1] == [policy] for line in lines) == 4
    assert max(map(len, lines[3:])) <= 100
    assert {"top rank, informative prior", "any rank, informative prior"} <= set(lines)


# Priors of a user's own: by text, as objects, and where they make no sense.

TEXT = "matchenv.envs.one_player.priors:NormalPrior:mean=25.0,deviation=8.3"


def test_a_prior_as_an_object_and_in_a_command_gives_the_same_bytes(tmp_path: Path) -> None:
    cells = {"rank": [None], "prior": [NormalPrior(25, 8.3)]}
    compared(["kg"], cells=cells, out=tmp_path / "object")
    words = ["compare", "--policy=kg", "--rank=any", f"--prior={TEXT}", "--episodes=12", "--seed=3"]
    words += ["--num-opponents=7", "--horizon=12", "--workers=1", "--quiet", "--out"]
    assert run_command([*words, str(tmp_path / "command")]) == 0
    of_object, of_command = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir() if file.is_file()}
        for name in ("object", "command")
    )
    assert of_object == of_command
    assert TEXT in json.loads(of_object["settings.json"])["priors"]
    assert json.loads(of_object["comparison.json"])["standings"][0]["cell"]["prior"] == TEXT


@pytest.mark.parametrize("make", [run_bound, StudySettings])
def test_the_study_and_the_bound_are_for_the_papers_priors(make: Any) -> None:
    with pytest.raises(ValueError, match="priors must be one of 'informative', 'equal', got"):
        make(["kg"], priors=[TEXT])


class Fixed:
    """A model of stable-baselines3's kind, for observations of one size."""

    name = "fixed"

    def predict(self, observation: Any, state: Any = None, *_: Any, **__: Any) -> tuple[Any, Any]:
        if observation.shape[-1] != 101:
            raise ValueError("observation must have 101 numbers")
        return np.zeros(len(observation), np.int64), state


QUEUE = {"env": "MatchmakingQueue-v0"}


@pytest.mark.parametrize(
    ("policies", "options", "message"),
    [
        (["pe"], {"env_kwargs": {"reward": 1}},
         "env_kwargs may hold .*num_opponents, .* got 'reward'"),
        (["pe"], {"env_kwargs": {"prior": 1}}, "env_kwargs may hold .* got 'prior'"),
        ([Fixed()], {"env_kwargs": {"num_opponents": 9}},
         "'fixed' cannot play with num_opponents=9"),
        ([SimpleNamespace(name="my", act=lambda *_, **__: [-1])], {}, "'my' cannot play .*got -1"),
        *((policies, {}, "polic") for policies in ("kg", [], [3], [object()])),
        ([Oracle(np.zeros(50))], {}, "'oracle', not as an object"),
        (["fcfs"], {**QUEUE, "cells": {"load": []}}, "load"),
        (["fcfs"], {**QUEUE, "cells": {"load": ["thin", 0.2]}}, "none of them twice"),
        (["fcfs"], {**QUEUE, "cells": {"load": ["high"]}}, "load must be"),
        (["fcfs"], {**QUEUE, "cells": {"rank": ["top"]}}, "cells may hold load, got 'rank'"),
        (["fcfs"], {**QUEUE, "env_kwargs": {"arrival_rate": 2}}, "arrival_rate"),
        (["fcfs"], {**QUEUE, "env_kwargs": {"patience": 0}}, "patience"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named_before_a_game_is_played(
    policies: Any, options: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(jobs, "results_of")
    with pytest.raises(ValueError, match=message):
        run_comparison(policies, **options)


def test_a_damaged_run_is_named(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    (tmp_path / "config.yml").write_text("algorithm: [")
    (tmp_path / "policy.safetensors").write_bytes(b"no weights")
    with pytest.raises(ValueError, match=f"{tmp_path.name}' cannot be loaded"):
        run_comparison([tmp_path])
