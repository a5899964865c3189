"""Trainings of stock agents and their table."""

import csv

import numpy as np
import pytest

from matchenv.benchmarks import stock_agents
from matchenv.benchmarks.stock_agents import (
    PROBLEMS,
    TRAININGS,
    Problem,
    Training,
    compared_in,
    over_runs,
    run_stock_agents,
)
from matchenv.evaluation.registry import ONE_PLAYER

TINY = Training(
    "tiny",
    "PPO, tiny",
    "ppo",
    timesteps=512,
    hyperparameters={"n_envs": 8, "n_steps": 32, "batch_size": 64},
    evaluation_episodes=2,
)
TOP = Problem(
    "top",
    ONE_PLAYER,
    {"rank": ["top"]},
    ("kg", "pe"),
    4,
    "true_q_less_kg",
    "true q minus KG's",
    "games",
)


@pytest.mark.parametrize(("of_runs", "of_episodes"), [(0.0, 1.0), (1.0, 0.0), (0.5, 2.0)])
def test_intervals_over_runs_cover_the_mean(of_runs, of_episodes):
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        runs = of_runs * rng.normal(size=(5, 1))
        episodes = of_episodes * rng.normal(size=(1, 30))
        values = 0.7 + runs + episodes + 0.3 * rng.normal(size=(5, 30))
        interval = over_runs(values)
        covered += interval.low <= 0.7 <= interval.high
    # Three standard errors below 95 %; the interval is wide where episodes decide.
    assert covered >= 0.917 * 400


def test_every_training_is_compared_once():
    assert len({training.name for training in TRAININGS}) == len(TRAININGS)
    for training in TRAININGS:
        problems = [problem for problem in PROBLEMS if training in compared_in(problem, [training])]
        assert len(problems) == 1
        config = training.run_config()
        assert config.environment == problems[0].environment
        if training.load is not None:
            (load,) = problems[0].cells["load"]
            assert load == training.load


def test_the_table_holds_the_mean_over_seeds_and_parts_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(stock_agents, "SEEDS", (0, 1))
    monkeypatch.setattr(stock_agents, "TRAININGS", (TINY,))
    monkeypatch.setattr(stock_agents, "PROBLEMS", (TOP,))
    text = run_stock_agents(tmp_path, quiet=True)
    totals = {}
    with (tmp_path / "comparisons" / "top" / "episodes.csv").open() as stream:
        for row in csv.DictReader(stream):
            totals.setdefault(row["policy"], []).append(float(row["true_draw_density"]))
    ours = [totals[str(tmp_path / "tiny" / f"seed{seed}")] for seed in (0, 1)]
    expected = np.mean(ours) - np.mean(totals["kg"])
    (line,) = [line for line in text.splitlines() if line.startswith("PPO, tiny")]
    assert f"{expected:+.2f} [" in line
    assert "512" in line
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.safetensors")}
    assert len(before) == 4
    assert run_stock_agents(tmp_path, quiet=True) == text
    for file, content in before.items():
        assert file.read_bytes() == content
    for name in ("stock_agents.md", "learning_top.svg", "learning_top.png"):
        assert (tmp_path / name).stat().st_size > 100
