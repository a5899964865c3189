"""Trackers: off by default, refused where they are not installed, told what is recorded."""

import sys
from types import ModuleType

import pytest

from matchenv import agents
from matchenv.agents.callbacks import check_tracker
from matchenv.cli import run_command


class Told:
    """Stands for a tracker's module and its run: keeps what it is told."""

    def __init__(self):
        self.begun, self.numbers, self.ended = [], [], 0

    def log(self, numbers, step):
        self.numbers.append((step, numbers))

    log_metrics = log

    def finish(self):
        self.ended += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended += 1


def stub(monkeypatch, name):
    """A module of this name that keeps what it is told."""
    told, module = Told(), ModuleType(name)
    module.__spec__ = type("Spec", (), {})()
    if name == "wandb":
        module.init = lambda **given: told.begun.append(given) or told
    else:
        module.set_experiment = lambda project: told.begun.append({"project": project})
        module.start_run = lambda **given: told.begun.append(given) or told
        module.log_params = lambda given: told.begun.append(given)
        module.log_metrics = told.log_metrics
    monkeypatch.setitem(sys.modules, name, module)
    return told


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_tracker_is_told_what_is_recorded(tmp_path, small_config, monkeypatch, name):
    told = stub(monkeypatch, name)
    config = small_config(timesteps=256)
    tracked = agents.start_training(tmp_path / "tracked", config, quiet=True, track=name)
    assert told.begun[0]["project"] == "matchenv"
    begun = {key: value for given in told.begun for key, value in given.items()}
    seed = begun["config"]["seed"] if name == "wandb" else begun["seed"]
    assert seed == config.seed
    steps = [step for step, numbers in told.numbers if "evaluation/true_q_less_kg" in numbers]
    assert (steps[0], steps[-1]) == (0, 256)
    assert any("train/loss" in numbers for _, numbers in told.numbers)
    assert told.ended == 1
    plain = agents.start_training(tmp_path / "plain", config, quiet=True)
    assert plain.policy_file.read_bytes() == tracked.policy_file.read_bytes()


def test_a_tracker_ends_with_a_training_that_fails(tmp_path, small_config, monkeypatch):
    told = stub(monkeypatch, "wandb")

    def fail(*_, **__):
        raise OSError("no space")

    monkeypatch.setattr("matchenv.agents.training._train", fail)
    with pytest.raises(OSError, match="no space"):
        agents.start_training(tmp_path / "run", small_config(), quiet=True, track="wandb")
    assert told.ended == 1


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_tracker_that_is_not_installed_is_named(tmp_path, monkeypatch, capsys, name):
    monkeypatch.setattr("matchenv.agents.callbacks.find_spec", lambda _: None)
    monkeypatch.chdir(tmp_path)
    assert run_command(["train", "--track", name, "--timesteps", "64"]) == 2
    assert f"pip install {name}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_other_trackers_are_refused():
    check_tracker(None)
    with pytest.raises(ValueError, match="track must be one of"):
        check_tracker("aim")
