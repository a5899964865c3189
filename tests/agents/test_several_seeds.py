"""Several seeds: each the run that it would be alone, and a summary that says what they share."""

import numpy as np
import pytest

from matchenv.agents.training import train_seeds
from matchenv.benchmarks.compare.training import compare_runs
from matchenv.cli import run_command
from matchenv.runtime.jobs import RunOptions

RESULTS = ("policy.safetensors", "evaluations.json", "config.yml")


def bytes_of(folder):
    return {name: (folder.path / name).read_bytes() for name in RESULTS}


@pytest.fixture(scope="module")
def seeds(tmp_path_factory, small_config):
    """The folders of two runs, in one folder."""
    path = tmp_path_factory.mktemp("seeds")
    return train_seeds(path, small_config(), [2, 1], workers=1, quiet=True)


def test_each_seed_is_the_run_that_it_is_alone_and_a_second_call_changes_nothing(
    seeds, trained, small_config
):
    assert [folder.path.name for folder in seeds] == ["seed2", "seed1"]
    before = [bytes_of(folder) for folder in seeds]
    assert before[1] == bytes_of(trained())
    assert before[0] != before[1]
    out = seeds[0].path.parent
    train_seeds(out, small_config(), [2, 1], workers=1, quiet=True)
    assert before == [bytes_of(folder) for folder in seeds]
    with pytest.raises(ValueError, match="configured otherwise"):
        train_seeds(out, small_config(timesteps=256), [1], workers=1, quiet=True)


def test_the_summary_is_of_the_same_games(seeds):
    paths, out = [folder.path for folder in seeds], seeds[0].path.parent
    found, summary = compare_runs(paths, out, episodes=6, run=RunOptions(workers=1, quiet=True))
    ours, kg, drawchance = (
        np.array([found.values("true_draw_density", 0, str(name)).mean() for name in names])
        for names in (paths, ["kg"], ["drawchance"])
    )
    lines = summary.splitlines()
    line = next(each for each in lines if f"{ours.mean():.2f}" in each)
    assert f"{ours.std(ddof=1):.2f}" in line
    for other in (kg, drawchance):
        less = ours - other
        assert f"{less.mean():+.2f} ({less.min():+.2f} to {less.max():+.2f})" in line
    assert (out / "summary.txt").read_text().splitlines() == lines


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
