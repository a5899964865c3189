"""Priors of a user's own in the commands: by text, as objects, and where they make no sense."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv import NormalPrior, Prior
from matchenv.belief import TRUE_SKILL
from matchenv.benchmarks.compare import run_comparison
from matchenv.benchmarks.limits.bound import run_bound
from matchenv.benchmarks.study.settings import StudySettings
from matchenv.cli import run_command
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.rollout import Batch
from matchenv.evaluation.seeds import episode_seeds
from matchenv.runtime.jobs import RunOptions

TEXT = "matchenv.envs.one_player.priors:NormalPrior:mean=25.0,deviation=8.3"
SMALL = {"num_opponents": 3, "horizon": 5, "beta": 4.2}


@dataclass(frozen=True)
class Known(Prior):
    """Skills are known but for a little, and differ by a gap."""

    gap: float = 3.0

    def draw(self, normals: Any, uniforms: Any) -> tuple[Any, Any]:
        return self.gap * normals, np.full_like(normals, 0.1)


def compared(prior: Any, **options: Any) -> Any:
    """A small comparison in this process."""
    return run_comparison(
        ["kg"], cells={"rank": [None], "prior": [prior]}, episodes=6, seed=3, env_kwargs=SMALL,
        run=RunOptions(workers=1, quiet=True, **options),
    )  # fmt: skip


def test_object_and_command_give_the_same_bytes(tmp_path: Path) -> None:
    compared(NormalPrior(25, 8.3), out=tmp_path / "object")
    options = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    words = ["compare", "--policy=kg", "--rank=any", f"--prior={TEXT}", "--episodes=6", "--seed=3"]
    out = str(tmp_path / "command")
    assert run_command([*words, "--workers=1", "--quiet", *options, "--out", out]) == 0
    of_object, of_command = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir() if file.is_file()}
        for name in ("object", "command")
    )
    assert of_object == of_command
    assert TEXT in json.loads(of_object["settings.json"])["priors"]
    assert json.loads(of_object["comparison.json"])["standings"][0]["cell"]["prior"] == TEXT


def test_the_games_are_those_of_the_prior() -> None:
    found = compared(Known(gap=50.0)).rows
    settings = Settings(prior=Known(gap=50.0), **SMALL)  # type: ignore[arg-type]
    skills = Batch(settings, episode_seeds(3, 0, 6)).state.players[:, :, TRUE_SKILL]
    gaps = skills[:, :1] - skills[:, 1:]
    # The oracle plays the nearest in every game.
    nearest = np.take_along_axis(gaps, np.abs(gaps).argmin(axis=1)[:, None], axis=1).ravel()
    played = found.values("skill_difference", 0, "oracle").ravel()
    np.testing.assert_allclose(played, nearest, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "why"), [(run_bound, "the bound was"), (StudySettings, "the paper studies")]
)
def test_the_study_and_the_bound_are_for_the_papers_priors(make: Any, why: str) -> None:
    with pytest.raises(ValueError, match=f"priors must be one of .* which {why}"):
        make(["kg"], priors=[TEXT])
