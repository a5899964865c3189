"""The trained agent that ships: small, safe, of its command, and no worse than chance."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from matchenv import agents
from matchenv.agents.evaluation import evaluate
from matchenv.agents.policies import SHIPPED
from matchenv.agents.run_config import configured
from matchenv.baselines import RandomOpponent

TRAINED = [name for name in SHIPPED if name.endswith("-shared")]


@pytest.mark.parametrize("name", TRAINED)
def test_it_loads_without_a_warning_and_is_small(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = agents.load(name)
    assert SHIPPED[name].stat().st_size < 1_000_000
    with safe_open(SHIPPED[name], framework="np") as content:
        assert all(np.isfinite(content.get_tensor(key)).all() for key in content.keys())  # noqa: SIM118
    assert policy.num_opponents == 49


@pytest.mark.parametrize("name", TRAINED)
def test_it_has_learnt(name):
    policy, episodes = agents.load(name), 8
    env_kwargs = {"reward": "draw_density", "belief": policy.belief}
    ours, chance = (
        evaluate(each, env_kwargs, episodes, 5) for each in (policy, RandomOpponent(seed=0))
    )
    assert ours["true_draw_density"] > 1.3 * chance["true_draw_density"]


def test_the_package_has_the_plain_network_by_name():
    assert configured("ppo").hyperparameters["policy"] == "SharedPolicy"
    flat = configured("ppo", config_file=Path("ppo_flat"))
    assert flat.hyperparameters["policy"] == "MlpPolicy"
    assert flat.env_kwargs == {}


def test_options_of_the_environment_go_before_the_files(tmp_path):
    file = tmp_path / "mine.yml"
    section = "n_envs: 4\n  n_timesteps: 1000\n  policy: MlpPolicy\n"
    file.write_text(f"Matchmaking-v0:\n  {section}  env_kwargs: {{rank: top, belief: full}}\n")
    config = configured("ppo", config_file=file, env_kwargs={"belief": "factorised"})
    assert config.env_kwargs == {"rank": "top", "belief": "factorised"}
    file.write_text(f"Matchmaking-v0:\n  {section}  env_kwargs: top\n")
    with pytest.raises(ValueError, match="env_kwargs must be a mapping"):
        configured("ppo", config_file=file)
