"""``matchenv.compare``: policies of all kinds, and results as tables and files."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import pandas as pd
import pytest
from stable_baselines3 import PPO

import matchenv
from matchenv.baselines import DrawChance

SMALL: dict[str, Any] = {
    "cells": {"rank": ["top"]},
    "episodes": 4,
    "env_kwargs": {"num_opponents": 5, "horizon": 6},
}


class LeastKnown:
    """A policy without a name, of which the class or an object can be given."""

    def act(self, view: Any, rng: Any) -> Any:
        return view.knowledge_state.sigma[:, 1:].argmax(axis=1)


def test_policies_can_be_names_classes_objects_and_models() -> None:
    env = gym.make("matchenv:Matchmaking-v0", num_opponents=5, horizon=6)
    model = PPO("MlpPolicy", env, n_steps=8, batch_size=8, device="cpu")
    model.learn(8)
    result = matchenv.compare(["pe", LeastKnown, DrawChance(), model], **SMALL)
    assert result.policies[:4] == ("pe", "LeastKnown", "drawchance", "PPO")
    by_name = matchenv.compare("pe", **SMALL)
    standing = by_name.standing(0, "pe").difference
    assert result.standing(0, "pe").difference == standing


def test_a_result_is_a_table_and_files(tmp_path: Path) -> None:
    result = matchenv.compare(["pe", "oracle"], **SMALL)
    assert "oracle *" in result.table()
    assert "pe *" not in result.table()
    frame = result.to_frame()
    assert frame["policy"].tolist() == list(result.policies)
    assert frame.set_index("policy")["needs_truth"].to_dict()["oracle"]
    result.save(tmp_path / "new" / "folder")
    saved = pd.read_csv(tmp_path / "new" / "folder" / "comparison.csv")
    assert saved["difference_mean"].tolist() == pytest.approx(frame["difference_mean"].tolist())


def test_the_same_folder_is_extended(tmp_path: Path) -> None:
    out = tmp_path / "out"
    matchenv.compare("pe", out=out, **SMALL)
    extended = matchenv.compare(["pe", "gittins"], out=out, **{**SMALL, "episodes": 6})
    fresh = matchenv.compare(["pe", "gittins"], **{**SMALL, "episodes": 6})
    assert extended.standings == fresh.standings
