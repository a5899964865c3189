"""Several seeds: each the run that it would be alone, and a summary that says what they share."""

import numpy as np
import pytest

from matchenv import agents
from matchenv.agents.training import train_seeds
from matchenv.benchmarks.compare.training import compare_seeds
from matchenv.cli import run_command
from matchenv.runtime.jobs import RunOptions

RESULTS = ("policy.safetensors", "evaluations.json", "config.yml")
TINY = ["--timesteps", "128", "--num-opponents", "3", "--horizon", "10", "--num-envs", "4",
        "--evaluation-episodes", "2", "--hyperparams", "n_steps=16", "batch_size=32"]  # fmt: skip


def bytes_of(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS}


def test_each_seed_is_the_run_that_it_is_alone_and_a_second_call_changes_nothing(
    tmp_path, small_config
):
    config = small_config(timesteps=256)
    folders = train_seeds(tmp_path / "five", config, [3, 1], workers=1, quiet=True)
    assert [folder.path.name for folder in folders] == ["seed3", "seed1"]
    agents.start_training(tmp_path / "alone", small_config(timesteps=256, seed=3), quiet=True)
    before = [bytes_of(folder.path) for folder in folders]
    assert before[0] == bytes_of(tmp_path / "alone")
    assert before[0] != before[1]
    train_seeds(tmp_path / "five", config, [3, 1], workers=1, quiet=True)
    assert before == [bytes_of(folder.path) for folder in folders]


def test_the_summary_is_of_the_same_games(tmp_path, small_config):
    folders = train_seeds(tmp_path, small_config(timesteps=128), [0, 1], workers=1, quiet=True)
    paths = [folder.path for folder in folders]
    found = compare_seeds(paths, tmp_path, episodes=6, run=RunOptions(workers=1, quiet=True))
    values = found.comparison.values
    spread = found.spread(0)
    for number, path in enumerate(paths):
        ours = values("true_draw_density", 0, str(path))
        assert spread.true_q[number] == pytest.approx(ours.mean())
        for less, other in ((spread.less_against, "kg"), (spread.less_low_end, "drawchance")):
            difference = ours - values("true_draw_density", 0, other)
            assert less[number].mean == pytest.approx(difference.mean())
    lines = found.summary().splitlines()
    assert any(f"{np.mean(spread.true_q):.2f}" in line for line in lines)
    assert (tmp_path / "summary.txt").read_text().splitlines() == lines


def test_the_command_trains_compares_and_sums_up(tmp_path, capsys):
    out = str(tmp_path / "runs")
    options = ["--seeds", "0", "1", "--out", out, "--workers", "1", "--comparison-episodes", "2"]
    assert run_command(["train", *TINY, *options]) == 0
    assert "over 2 seeds" in capsys.readouterr().out
    assert (tmp_path / "runs" / "seed1" / "policy.safetensors").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0", "0"], "different numbers"),
        (["--seeds", "-1", "2"], "seeds must be an integer of at least 0"),
        (["--seeds", "0", "1", "--seed", "4"], "seed must be left out"),
        (["--seeds", "0", "--resume", "runs/none"], "resume is missing"),
    ],
)
def test_bad_seeds_are_refused(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run_command(["train", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_runs_of_another_configuration_are_not_mixed_in(tmp_path, small_config):
    train_seeds(tmp_path, small_config(timesteps=128), [0], workers=1, quiet=True)
    with pytest.raises(ValueError, match="configured otherwise"):
        train_seeds(tmp_path, small_config(timesteps=256), [0], workers=1, quiet=True)
