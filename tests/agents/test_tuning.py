"""Hyperparameter search: results, pruning and continuation."""

import csv
from pathlib import Path

import pytest
import yaml

from matchenv.agents import tuning as tuning_module
from matchenv.agents.run_config import RunFolder, configured
from matchenv.agents.tuning import BEST, TRIALS, checked_space, tune_agent

GOAL = "true_q_less_kg"
TINY = {
    "timesteps": 64,
    "num_envs": 4,
    "hyperparameters": {"n_steps": 16, "batch_size": 32},
    "env_kwargs": {"num_opponents": 3, "horizon": 10},
    "evaluation_episodes": 2,
}
SPACE = {"gamma": [0.5, 0.9], "learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}}


def search(out, trials, space=SPACE, **changes):
    return tune_agent(out, configured("ppo", **{**TINY, **changes}), space, trials, quiet=True)


@pytest.fixture
def scored(monkeypatch):
    """Replace trainings by a score that grows with gamma and is equal at every step."""
    played = []

    def start(path: Path, config, *, writers, **_):
        played.append(config)
        folder, found = RunFolder.create(path, config), []
        gamma, rate = (config.hyperparameters[name] for name in ("gamma", "learning_rate"))
        for step in range(3):
            found.append({"timesteps": step, GOAL: gamma + rate})
            folder.write_evaluations(0, found)
            writers[0].write({f"evaluation/{GOAL}": gamma + rate}, {}, step)
        folder.policy_file.write_bytes(b"")

    monkeypatch.setattr(tuning_module, "start_training", start)
    return played


def rows(out):
    with (out / TRIALS).open() as file:
        return list(csv.DictReader(file))


def test_the_search_writes_its_best_hyperparameters(tmp_path, scored):
    found = search(tmp_path, 12)
    assert len(scored) == 12
    assert found.best_params["gamma"] == 0.9
    states = [row["state"] for row in rows(tmp_path)]
    assert set(states) == {"complete", "pruned"}  # the median rule has ended what is worse
    assert len(states) == 12
    played = [len(RunFolder(each).read_evaluations()) for each in (tmp_path / "trials").iterdir()]
    assert min(played) > 1  # no trial ends before it has learned
    best = max(float(row[GOAL]) for row in rows(tmp_path) if row["state"] == "complete")
    assert found.best_value == pytest.approx(best)
    config = configured("ppo", config_file=tmp_path / BEST)
    assert config.hyperparameters["gamma"] == 0.9
    assert config.hyperparameters["learning_rate"] == pytest.approx(
        found.best_params["learning_rate"]
    )
    assert config.env_kwargs["num_opponents"] == 3
    assert 1e-4 <= found.best_params["learning_rate"] <= 1e-2


def test_an_interrupted_search_continues_with_equal_results(tmp_path, scored, monkeypatch):
    search(tmp_path / "whole", 8)
    start, count = tuning_module.start_training, len(scored)

    def stop_in_the_fourth(*arguments, **options):
        if len(scored) == count + 3:
            raise KeyboardInterrupt
        start(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(tuning_module, "start_training", stop_in_the_fourth)
        with pytest.raises(KeyboardInterrupt):
            search(tmp_path / "stopped", 8)
    search(tmp_path / "stopped", 8)
    assert rows(tmp_path / "stopped") == rows(tmp_path / "whole")
    # What is there already is not played again.
    played = len(scored)
    search(tmp_path / "stopped", 8)
    assert len(scored) == played
    with pytest.raises(ValueError, match="configured otherwise"):
        search(tmp_path / "stopped", 9, seed=7)
    file = RunFolder(tmp_path / "stopped" / "trials" / "0003").evaluations_file
    file.write_text(file.read_text().replace("0.5", "0.6").replace("0.9", "0.8"))
    with pytest.raises(ValueError, match=r"0003/evaluations\.json is damaged"):
        search(tmp_path / "stopped", 8)


def test_the_command_searches(typed):
    words = "train --tune 2 --timesteps 64 --num-envs 4 --evaluation-episodes 2 --out out"
    words += " --hyperparams n_steps=16 batch_size=32 --env-kwargs num_opponents=3 horizon=10"
    space = ["gamma=[0.5, 0.9]", "learning_rate={low: 1e-4, high: 1e-2, log: true}"]
    ended = typed([*words.split(), "--space", *space])
    assert (ended.status, str(Path("out", BEST)) in ended.out) == (0, True)
    assert "2 trials completed, 0 stopped early" in ended.out
    trials = [RunFolder(each).read_evaluations() for each in Path("out", "trials").iterdir()]
    assert min(map(len, trials)) > 1
    section = yaml.safe_load(Path("out", BEST).read_text())["Matchmaking-v0"]
    assert section["env_kwargs"]["horizon"] == 10


def test_an_interval_is_of_integers_if_both_ends_are_written_so():
    space = {"gamma": {"low": 0.0, "high": 1.0}, "n_epochs": {"low": 1, "high": 8}}
    kinds = [type(each).__name__ for each in checked_space("ppo", space).values()]
    assert kinds == ["FloatDistribution", "IntDistribution"]
