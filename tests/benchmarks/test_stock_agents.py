"""Trainings of stock agents and their table."""

import csv

import numpy as np
import pytest

from matchenv.agents.environments import settings_of
from matchenv.benchmarks import stock_agents
from matchenv.benchmarks.compare.comparison import problem_of
from matchenv.benchmarks.stock_agents import (
    ONE_PLAYER_PROBLEM,
    PROBLEMS,
    TEAM_PROBLEMS,
    TRAININGS,
    Training,
    over_runs,
    run_stock_agents,
)
from matchenv.evaluation.protocols import LOADS

TOP = ONE_PLAYER_PROBLEM._replace(
    name="top", cells={"rank": ["top"]}, rivals=("kg", "pe"), episodes=4
)
TEAMS = TEAM_PROBLEMS[1]._replace(
    name="teams",
    options={**TEAM_PROBLEMS[1].options, "horizon": 50},
    rivals=("matching", "fcfs"),
    episodes=4,
)
TINY = Training(
    "tiny",
    "PPO, tiny",
    "ppo",
    TOP,
    timesteps=512,
    hyperparameters={"n_envs": 8, "n_steps": 32, "batch_size": 64},
    evaluation_episodes=2,
)
PLAYED = {"top": "true_draw_density", "teams": "true_reward"}


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


def test_every_training_has_a_problem_and_plays_its_options():
    assert len({training.name for training in TRAININGS}) == len(TRAININGS)
    assert {training.problem.name for training in TRAININGS} == {p.name for p in PROBLEMS}
    for training in TRAININGS:
        problem = training.problem
        config = training.run_config()
        assert config.environment == problem.environment
        _, settings, cells = problem_of(problem.environment, problem.cells, problem.options)
        if problem.load is None:
            continue
        (trained,) = settings_of(config.environment, config.env_kwargs)
        (cell,) = cells
        assert (trained.side_size, trained.num_sides) == (settings.side_size, settings.num_sides)
        assert trained.party_sizes == settings.party_sizes
        assert trained.arrival_rate == LOADS[problem.load]
        assert cell.labels == {"load": problem.load}


@pytest.mark.parametrize("problem", [TOP, TEAMS], ids=lambda problem: problem.name)
def test_the_table_holds_the_mean_over_seeds_and_parts_are_kept(tmp_path, monkeypatch, problem):
    training = TINY._replace(problem=problem)
    if problem is TEAMS:
        training = training._replace(algorithm="maskable_ppo")
    monkeypatch.setattr(stock_agents, "TRAININGS", (training,))
    monkeypatch.setattr(stock_agents, "PROBLEMS", (problem,))
    text = run_stock_agents(tmp_path, seeds=(0, 1), quiet=True)
    totals = {}
    with (tmp_path / "comparisons" / problem.name / "episodes.csv").open() as stream:
        for row in csv.DictReader(stream):
            totals.setdefault(row["policy"], []).append(float(row[PLAYED[problem.name]]))
    ours = [totals[str(tmp_path / "tiny" / f"seed{seed}")] for seed in (0, 1)]
    expected = np.mean(ours) - np.mean(totals[problem.rivals[0]])
    (line,) = [line for line in text.splitlines() if line.startswith("PPO, tiny")]
    assert f"{expected:+.2f} [" in line
    assert "512" in line
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.safetensors")}
    assert len(before) == 4
    assert run_stock_agents(tmp_path, seeds=(0, 1), quiet=True) == text
    for file, content in before.items():
        assert file.read_bytes() == content
    for name in ("stock_agents.md", f"learning_{problem.name}.svg", f"learning_{problem.name}.png"):
        assert (tmp_path / name).stat().st_size > 100
