"""Hyperparameter files and configurations: reading, overrides and errors."""

from pathlib import Path

import pytest

from matchenv import NormalPrior
from matchenv.agents.config_file import parse_pairs, read_yaml
from matchenv.agents.environments import ONE_PLAYER, settings_of
from matchenv.agents.run_config import ALGORITHMS, RunConfig, RunFolder, configured
from matchenv.agents.tuning import SPACES, checked_space
from matchenv.envs.one_player.settings import REWARDS


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_valid_defaults(name):
    config = configured(name)
    assert config.algorithm == name
    assert config.timesteps >= 100_000
    assert RunConfig.from_text(config.to_text()) == config
    assert checked_space(name, read_yaml(SPACES, None, name))


def test_arguments_override_the_file(tmp_path):
    file = tmp_path / "mine.yml"
    file.write_text(
        "Matchmaking-v0:\n  n_envs: 4\n  n_timesteps: !!float 1e3\n  policy: MlpPolicy\n"
        "  gamma: 0.9\n  policy_kwargs: {net_arch: [8], activation_fn: tanh}\n"
        "  env_kwargs: {rank: top, belief: full}\n"
    )
    plain = configured("ppo", config_file=file)
    assert (plain.timesteps, plain.num_envs, plain.hyperparameters["gamma"]) == (1000, 4, 0.9)
    config = configured(
        "ppo", config_file=file, timesteps=50, num_envs=2, env_kwargs={"belief": "factorised"},
        hyperparameters={"gamma": 0.8, "policy_kwargs": {"net_arch": [9]}},
    )  # fmt: skip
    assert (config.timesteps, config.num_envs, config.hyperparameters["gamma"]) == (50, 2, 0.8)
    assert config.hyperparameters["policy_kwargs"] == {"net_arch": [9], "activation_fn": "tanh"}
    assert config.env_kwargs == {"rank": "top", "belief": "factorised"}
    assert configured("ppo", config_file=Path("ppo_flat")).env_kwargs == {}


def test_values_of_pairs_are_yaml():
    pairs = ["rank=top", "place=3", "beta=1e-3", "count=1e6", "arch={pi: [64, 64]}", "x=null"]
    assert parse_pairs("env-kwargs", pairs) == {
        "rank": "top", "place": 3, "beta": 0.001, "count": 1_000_000, "arch": {"pi": [64, 64]},
        "x": None,
    }  # fmt: skip
    for bad in (["rank"], ["=top"], ["rank=[1"], ["rank=1", "rank=2"]):
        with pytest.raises(ValueError, match="env-kwargs"):
            parse_pairs("env-kwargs", bad)


BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 12)]
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "config must be YAML"),
        ("- 1", "must have a mapping under 'Matchmaking-v0'"),
        ("Other-v0: {}", "must have a mapping"),
        ("", "must have a mapping"),
        ("Matchmaking-v0: {env_kwargs: top}", "env_kwargs must be a mapping"),
        (BOMB, "aliases"),
        ("Matchmaking-v0: {n_envs: 1}\n" + "# \n" * 50_000, "at most 50,000 characters"),
        (None, "config must be a readable file"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    file = tmp_path / "bad.yml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=message):
        configured("ppo", config_file=file)


def test_a_damaged_configuration_is_refused(tmp_path):
    text = configured("ppo", seed=12).to_text()
    assert "seed: 12" in text
    with pytest.raises(ValueError, match="checksum does not match"):
        RunConfig.from_text(text.replace("seed: 12", "seed: 13"))
    text = text.partition("# sha256")[0]
    with pytest.warns(UserWarning, match="without a checksum"):
        RunConfig.from_text(text)
    folder = RunFolder.create(tmp_path, configured("ppo"))
    for bad, said in ((text.replace("seed: 12", ""), "seed is missing"), ("", ""), ("[1]", "")):
        folder.config_file.write_text(bad)
        message = f"damaged config.*{said}"
        with pytest.warns(match="checksum"), pytest.raises(ValueError, match=message):
            folder.read_config()


OWN_PRIOR = "matchenv.envs.one_player.priors:NormalPrior:mean=25.0,deviation=8.3"


@pytest.mark.parametrize(
    ("env_kwargs", "kept", "cells"),
    [
        ({}, {}, {"rank": ["top", "middle", "bottom"], "prior": ["informative"]}),
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
    rest = {name: value for name, value in expected.items()
            if name in ("num_opponents", "rank_by")}  # fmt: skip
    assert config.comparison() == {"env": ONE_PLAYER, "cells": cells, "env_kwargs": rest}


def test_lists_of_options_are_combined():
    found = settings_of(ONE_PLAYER, {"prior": ["informative", "equal"], "rank": ["top", None]})
    assert [(str(each.prior), each.rank) for each in found] == [
        ("informative", "top"), ("informative", None), ("equal", "top"), ("equal", None),
    ]  # fmt: skip
