"""Checkpoints of RLlib as policies, without RLlib: our file in them is read, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.agents.algorithms import algorithm_by_name
from matchenv.agents.learned_names import RLLIB_FILE
from matchenv.agents.policy_file import PolicyDescription, save_policy
from matchenv.agents.sb3_policies import new_policy
from matchenv.benchmarks.compare import run_comparison
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import files_of, policy_named
from matchenv.runtime.jobs import RunOptions

SIZES: dict[str, Any] = {"num_opponents": 4, "horizon": 6}
SETTINGS = Settings.checked(**SIZES)
PICKLED = b"cos\nsystem\n(S'false'\ntR."


def checkpoint(folder: Path) -> Path:
    """A folder as RLlib writes it, with our file at the learner's network."""
    place = folder / "learner_group" / "learner" / "rl_module" / "default_policy"
    place.mkdir(parents=True)
    (folder / "algorithm_state.pkl").write_bytes(PICKLED)
    (place / "module_state.pkl").write_bytes(PICKLED)
    network = new_policy(algorithm_by_name("ppo"), "SharedPolicy", {}, SETTINGS)
    save_policy(place / RLLIB_FILE, network, PolicyDescription("ppo", "SharedPolicy", {}, SIZES))
    return place / RLLIB_FILE


def test_it_is_the_policy_in_our_file(tmp_path: Path) -> None:
    file = checkpoint(tmp_path)
    text = f"rllib:{tmp_path}"
    observations = np.random.default_rng(1).uniform(0.5, 2.0, (50, 11)).astype(np.float32)
    found = policy_named(text, SETTINGS).predict(observations)[0]
    np.testing.assert_array_equal(found, policy_named(str(file), SETTINGS).predict(observations)[0])
    assert files_of(text) == [file]
    compared = run_comparison(
        ["pe", text],
        against="pe",
        cells={"rank": ["top"]},
        episodes=3,
        env_kwargs=SIZES,
        run=RunOptions(workers=1, quiet=True),
    )
    assert text in compared.table()


def test_the_learners_network_goes_before_the_runners(tmp_path: Path) -> None:
    file = checkpoint(tmp_path)
    other = tmp_path / "env_runner" / "rl_module" / RLLIB_FILE
    other.parent.mkdir(parents=True)
    other.write_bytes(b"")
    assert files_of(f"rllib:{tmp_path}") == [file]


@pytest.mark.parametrize("count", [0, 2])
def test_a_folder_without_our_file_is_refused(count: int, tmp_path: Path) -> None:
    (tmp_path / "algorithm_state.pkl").write_bytes(PICKLED)
    for number in range(count):
        checkpoint(tmp_path / str(number))
    with pytest.raises(ValueError, match=f"one file {RLLIB_FILE}, .* has {count}; other files"):
        policy_named(f"rllib:{tmp_path}", SETTINGS)
    with pytest.raises(ValueError, match="has 0"):
        policy_named(f"rllib:{tmp_path / 'nothing'}", SETTINGS)
