"""Bad input to the comparison: one clear line, and nothing played or written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.baselines import POLICIES, Oracle
from matchenv.benchmarks.compare import run_comparison
from matchenv.cli import run_command
from matchenv.runtime.parallel import Engine

KNOWN = ", ".join(POLICIES)


@pytest.fixture(autouse=True)
def _no_games(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("games were played")

    monkeypatch.setattr(Engine, "results", refuse)


class Fixed:
    """A model of stable-baselines3's kind, for observations of one size."""

    name = "fixed"

    def __init__(self, size: int, action: Any = 0) -> None:
        self.size = size
        self.action = action

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:  # fmt: skip
        if observation.shape[-1] != self.size:
            raise ValueError(f"observation must have {self.size} numbers")
        return np.full(len(observation), self.action), state


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "kgg"], KNOWN),
        (["--against", "nobody"], KNOWN),
        (["--policy", "pe", "pe"], "policies must name each policy once, got 'pe' twice"),
        (["--policy", "kg:mult=3"], "multiplier"),
        (["--policy", "kg:multiplier=-3"], "multiplier must not be negative"),
        (["--policy", "no/such/folder"], "no/such/folder"),
        (["--episodes", "1"], "episodes must be an integer of at least 2, got 1"),
        (["--seed", "-1"], "seed must be an integer of at least 0, got -1"),
        (["--rank", "best"], "rank must be None, 'top', 'middle', 'bottom'"),
        (["--rank", "50"], "[0, 49]"),
        (["--rank", "top", "top"], "top rank, informative prior"),
        (
            ["--prior", "flat"],
            "prior must be one of 'informative', 'equal' or a",
        ),
        (["--prior", "matchenv:NormalPrior"], "rank_by must be 'true_skill' with a rank"),
        (["--prior", "matchenv:Settings"], "prior 'matchenv:Settings' must name a subclass of"),
        (["--workers", "0"], "workers must be an integer of at least 1, got 0"),
        (["--num-opponents", "0"], "num_opponents must be an integer in [1, 1000000], got 0"),
        (["--horizon", "0"], "horizon must be an integer in [1, 1000000000], got 0"),
        (["--beta", "nan"], "beta"),
        (["--draw-margin", "-1"], "draw_margin must not be negative"),
        (["--tau", "inf"], "tau"),
    ],
)
def test_command_says_what_is_wrong_in_one_line(arguments, message, tmp_path: Path, capsys):
    out = tmp_path / "out"
    assert run_command(["compare", *arguments, "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert message in said
    assert not out.exists()


@pytest.mark.parametrize("name", ["reward", "rank", "prior", "opponents"])
def test_unknown_environment_options_are_refused(name):
    with pytest.raises(ValueError, match=f"env_kwargs may hold .*num_opponents, .* got '{name}'"):
        run_comparison(["pe"], env_kwargs={name: 1})


@pytest.mark.parametrize("folder", ["empty", "damaged"])
def test_folder_without_a_good_run_is_refused(folder, tmp_path: Path):
    pytest.importorskip("stable_baselines3")
    path = tmp_path / folder
    path.mkdir()
    if folder == "damaged":
        (path / "config.yml").write_text("algorithm: [")
        (path / "policy.safetensors").write_bytes(b"no weights")
    with pytest.raises(ValueError, match=f"{folder}' cannot be loaded"):
        run_comparison([path])


def test_policy_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"'fixed' cannot play with num_opponents=9"):
        run_comparison([Fixed(101)], env_kwargs={"num_opponents": 9})


@pytest.mark.parametrize("action", [49, -1, 0.5])
def test_policy_that_names_nobody_is_refused(action):
    with pytest.raises(ValueError, match=r"'fixed' cannot play .* actions must be"):
        run_comparison([Fixed(101, action)])


@pytest.mark.parametrize("policies", ["kg", [], [3], [object()]])
def test_policies_must_be_a_list_of_policies(policies):
    with pytest.raises(ValueError, match="polic"):
        run_comparison(policies)


def test_oracle_is_taken_by_name_only():
    with pytest.raises(ValueError, match="'oracle', not as an object"):
        run_comparison([Oracle(np.zeros(50))])
