"""Hyperparameters: files, overrides, errors, and the search of good ones."""

import csv
from pathlib import Path
from time import process_time

import numpy as np
import pytest
import yaml
from optuna.distributions import FloatDistribution, IntDistribution
from refusals import refusals

from matchenv import NormalPrior, agents
from matchenv.agents import tuning as tuning_module
from matchenv.agents.config_file import (
    SEARCH_SPACES,
    read_hyperparameters,
    read_section,
)
from matchenv.agents.environments import settings_of
from matchenv.agents.run_config import ALGORITHMS, RunConfig, RunFolder, configured
from matchenv.agents.tuning import BEST, TRIALS, checked_space, tune_agent
from matchenv.envs.one_player.priors import DrawnPrior
from matchenv.envs.one_player.settings import REWARDS
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE
from matchenv.runtime.yaml_values import parse_pairs


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_valid_defaults(name):
    config = configured(name)
    assert config.algorithm == name
    assert config.timesteps >= 100_000
    assert RunConfig.from_text(config.to_text()) == config
    assert checked_space(name, read_section(SEARCH_SPACES, name))


def test_arguments_override_the_file(tmp_path):
    file = tmp_path / "mine.yml"
    file.write_text(
        "Matchmaking-v0:\n  n_envs: 4\n  n_timesteps: !!float 1e3\n  policy: MlpPolicy\n"
        "  gamma: 0.9\n  policy_kwargs: {net_arch: [8], activation_fn: tanh}\n"
        "  env_kwargs: {rank: top, belief: full}\n"
    )
    plain = configured("ppo", config_file=file)
    assert plain.timesteps == 1000
    assert plain.num_envs == 4
    assert plain.hyperparameters["gamma"] == 0.9
    config = configured(
        "ppo",
        config_file=file,
        timesteps=50,
        num_envs=2,
        env_kwargs={"belief": "factorised"},
        hyperparameters={"gamma": 0.8, "policy_kwargs": {"net_arch": [9]}},
    )
    assert config.timesteps == 50
    assert config.num_envs == 2
    assert config.hyperparameters["gamma"] == 0.8
    assert config.hyperparameters["policy_kwargs"] == {"net_arch": [9], "activation_fn": "tanh"}
    assert config.env_kwargs == {"rank": "top", "belief": "factorised"}
    assert configured("ppo", config_file=Path("ppo_flat")).env_kwargs == {}


def test_values_of_pairs_are_yaml():
    pairs = ["rank=top", "place=3", "beta=1e-3", "count=1e6", "arch={pi: [64, 64]}", "x=null"]
    assert parse_pairs("env-kwargs", pairs) == {
        "rank": "top",
        "place": 3,
        "beta": 0.001,
        "count": 1_000_000,
        "arch": {"pi": [64, 64]},
        "x": None,
    }
    for bad in (["rank"], ["=top"], ["rank=[1"], ["rank=1", "rank=2"]):
        with pytest.raises(ValueError, match="env-kwargs"):
            parse_pairs("env-kwargs", bad)
    began = process_time()
    parse_pairs("env-kwargs", ["population=" + "9" * 49_000 + "x"])  # 20 s with backtracking
    assert process_time() - began < 2.0


def test_unknown_names_of_files_are_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"file or one of a2c, .*dqn, .*ppo_flat, trpo, got 'nope'"
    ):
        read_hyperparameters(ONE_PLAYER, "ppo", Path("nope"))
    with pytest.raises(ValueError, match=r"hyperparameters of dqn for Matchmaking.* are .*ppo$"):
        read_hyperparameters(QUEUE, "dqn")


test_bad_files_are_refused = refusals(
    ("a: [", "config must be YAML"),
    ("- 1", "must have a mapping under 'Matchmaking-v0'"),
    ("Other-v0: {}", "must have a mapping"),
    ("", "must have a mapping"),
    ("Matchmaking-v0: {env_kwargs: top}", "env_kwargs must be a mapping"),
    ("Matchmaking-v0: {n_envs: 1}\n" + "# \n" * 50_000, "at most 50,000 characters"),
    call=lambda path: configured("ppo", config_file=path),
    file="bad.yml",
)


def test_a_damaged_configuration_is_refused(tmp_path):
    text = configured("ppo", seed=12).to_text()
    assert "seed: 12" in text
    with pytest.raises(ValueError, match="checksum does not match"):
        RunConfig.from_text(text.replace("seed: 12", "seed: 13"))
    text = text.partition("# sha256")[0]
    with pytest.warns(UserWarning, match="without a checksum"):
        RunConfig.from_text(text)
    folder = RunFolder.create(tmp_path, configured("ppo"))
    without_seed = text.replace("seed: 12", "")
    for bad, reason in ((without_seed, "seed is missing"), ("", ""), ("[1]", "")):
        folder.config_file.write_text(bad)
        message = f"damaged config.*{reason}"
        with pytest.warns(match="checksum"), pytest.raises(ValueError, match=message):
            folder.read_config()


OWN_PRIOR = "matchenv.envs.one_player.priors:NormalPrior:mean=25.0,deviation=8.3"


@pytest.mark.parametrize(
    ("env_kwargs", "kept", "cells"),
    [
        ({}, {}, {"rank": ["top", "middle", "bottom"], "prior": ["informative"]}),
        ({"rank": "any"}, {}, {"rank": ["top", "middle", "bottom"], "prior": ["informative"]}),
        ({"rank": 0, "prior": "equal", "belief": "full"}, {}, {"rank": [0], "prior": ["equal"]}),
        (
            {"prior": NormalPrior(25.0, 8.3), "rank_by": "true_skill"},
            {"prior": OWN_PRIOR},
            {"rank": ["top", "middle", "bottom"], "prior": [OWN_PRIOR]},
        ),
        (
            {"prior": ["informative", "equal"], "rank": ["top", None]},
            {},
            {"rank": ["top", None], "prior": ["informative", "equal"]},
        ),
        (
            {"prior": ["informative", OWN_PRIOR], "reward": REWARDS["match_quality"]},
            {"reward": "match_quality"},
            # The means of the second prior are equal.
            {"rank": [None], "prior": ["informative", OWN_PRIOR]},
        ),
    ],
)
def test_the_comparison_has_the_options_of_the_training(env_kwargs, kept, cells):
    config = configured("ppo", env_kwargs={"num_opponents": 5, **env_kwargs})
    expected = {"reward": "true_draw_density", "num_opponents": 5, **env_kwargs, **kept}
    assert config.env_kwargs == expected
    assert RunConfig.from_text(config.to_text()) == config
    shared = {}
    for name in ("num_opponents", "rank_by"):
        if name in expected:
            shared[name] = expected[name]
    assert config.comparison() == {"env": ONE_PLAYER, "cells": cells, "env_kwargs": shared}


def test_equal_names_of_hyperparameters_and_options_are_told_apart():
    config = configured("dqn", env_kwargs={"tau": 0.1}, hyperparameters={"tau": 0.5})
    assert config.options()["tau"] == 0.5
    assert config.options()["env_kwargs.tau"] == 0.1


def test_lists_of_options_are_combined():
    cells = settings_of(ONE_PLAYER, {"prior": ["informative", "equal"], "rank": ["top", "any"]})
    assert [(cell.prior, cell.rank) for cell in cells] == [
        ("informative", "top"),
        ("informative", None),
        ("equal", "top"),
        ("equal", None),
    ]


IN_QUEUE = {"environment": QUEUE}


test_bad_configurations_are_refused = refusals(
    ({"algo": "sac"}, f"algo must be one of {str([*ALGORITHMS])[1:-1]}, got 'sac'"),
    ({"algo": ["ppo"]}, "algo must be one of"),
    ({"timesteps": 0}, "n_timesteps"),
    ({"num_envs": 2**21}, "n_envs"),
    ({"seed": -1}, "seed"),
    ({"evaluation_episodes": 1}, "evaluation_episodes must be greater than or equal to 2"),
    ({"evaluation_episodes": 10**30}, "evaluation_episodes"),
    ({"checkpoint_every": 0}, "checkpoint_every"),
    ({"config_file": Path("no.yml")}, "config must be a YAML file or one of"),
    ({"env_kwargs": {"opponents": 3}}, "num_opponents"),
    ({"env_kwargs": {"rank": []}}, "rank must list at least one value"),
    ({"env_kwargs": {"rank": [["top"]]}}, "names and numbers"),
    ({"env_kwargs": {"horizon": [3, 4]}}, "horizon must be the same"),
    (
        {"env_kwargs": {"turnover": [0, 0.1]}},
        r"turnover must give .* of one size, got \[101, 150\]",
    ),
    (
        {"env_kwargs": {"prior": DrawnPrior.of(NormalPrior(), np.random.default_rng(1), 50)}},
        "prior must be a name, module:Class:key=value, or a",
    ),
    (
        {"algo": "dqn", "env_kwargs": {"availability": 0.5}},
        "algo must be one of a2c, imitation, maskable_ppo, ppo, trpo, .*got dqn with SharedPolicy",
    ),
    ({**IN_QUEUE, "env_kwargs": {"rank": "top"}}, "env_kwargs must be among"),
    ({**IN_QUEUE, "env_kwargs": {"capacity": [4, 6]}}, "capacity must be the same"),
    ({"environment": "CartPole-v1"}, "env must be one of"),
    call=lambda changes: agents.configured(**changes),
)


GOAL = "true_q_less_kg"
TINY = {
    "timesteps": 128,
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
        folder = RunFolder.create(path, config)
        score = config.hyperparameters["gamma"] + config.hyperparameters["learning_rate"]
        evaluations = []
        for step in range(3):
            evaluations.append({"timesteps": step, GOAL: score})
            folder.write_evaluations(0, evaluations)
            writers[0].write({f"evaluation/{GOAL}": score}, {}, step)
        folder.policy_file.write_bytes(b"")

    monkeypatch.setattr(tuning_module, "start_training", start)
    return played


def rows(out):
    with (out / TRIALS).open() as file:
        return list(csv.DictReader(file))


def test_the_search_writes_its_best_hyperparameters(tmp_path, scored):
    study = search(tmp_path, 12)
    assert len(scored) == 12
    assert study.best_params["gamma"] == 0.9
    states = [row["state"] for row in rows(tmp_path)]
    assert set(states) == {"complete", "pruned"}  # the median rule has ended what is worse
    assert len(states) == 12
    for trial in (tmp_path / "trials").iterdir():
        assert len(RunFolder(trial).read_evaluations()) > 1  # none ends before it has learned
    best = max(float(row[GOAL]) for row in rows(tmp_path) if row["state"] == "complete")
    assert study.best_value == pytest.approx(best)
    config = configured("ppo", config_file=tmp_path / BEST)
    assert config.hyperparameters["gamma"] == 0.9
    assert config.hyperparameters["learning_rate"] == pytest.approx(
        study.best_params["learning_rate"]
    )
    assert config.env_kwargs["num_opponents"] == 3
    assert 1e-4 <= study.best_params["learning_rate"] <= 1e-2


def test_an_interrupted_search_continues_with_equal_results(tmp_path, scored, monkeypatch):
    search(tmp_path / "whole", 8)
    start = tuning_module.start_training
    count = len(scored)

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
    with pytest.raises(ValueError, match=r"the search in .* differs in .*seed: rerun with its"):
        search(tmp_path / "stopped", 9, seed=7)
    with pytest.raises(ValueError, match=r"trials must be at least 8, .* got 7"):
        search(tmp_path / "stopped", 7)
    assert rows(tmp_path / "stopped") == rows(tmp_path / "whole")
    file = RunFolder(tmp_path / "stopped" / "trials" / "0003").evaluations_file
    file.write_text(file.read_text().replace("0.5", "0.6").replace("0.9", "0.8"))
    with pytest.raises(ValueError, match=r"0003/evaluations\.json is damaged"):
        search(tmp_path / "stopped", 8)


def test_the_command_searches(typed):
    words = "train --tune 2 --timesteps 128 --num-envs 4 --evaluation-episodes 2 --out out"
    words += " --hyperparams n_steps=16 batch_size=32 --env-kwargs num_opponents=3 horizon=10"
    space = ["gamma=[0.5, 0.9]", "learning_rate={low: 1e-4, high: 1e-2, log: true}"]
    ended = typed([*words.split(), "--space", *space])
    assert ended.status == 0
    assert str(Path("out", BEST)) in ended.out
    assert "2 trials completed, 0 stopped early" in ended.out
    for trial in Path("out", "trials").iterdir():
        assert len(RunFolder(trial).read_evaluations()) > 1
    section = yaml.safe_load(Path("out", BEST).read_text())["Matchmaking-v0"]
    assert section["env_kwargs"]["horizon"] == 10


def test_equal_trials_have_equal_values(tmp_path):
    search(tmp_path, 3, {"gamma": [0.9]}, seed=2**32 - 1)
    assert len({row[GOAL] for row in rows(tmp_path)}) == 1


def test_an_interval_is_of_integers_if_both_ends_are_written_so():
    space = {"gamma": {"low": 0.0, "high": 1.0}, "n_epochs": {"low": 1, "high": 8}}
    distributions = checked_space("ppo", space)
    assert isinstance(distributions["gamma"], FloatDistribution)
    assert isinstance(distributions["n_epochs"], IntDistribution)
