"""Behaviour cloning: the same games for both, and a student that comes to choose alike."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from matchenv import MatchmakingVectorEnv, agents
from matchenv.agents.cloning import CloningConfig, clone, play_lessons, run_cloning
from matchenv.agents.cloning_progress import cloning_progress
from matchenv.agents.config_file import read_config
from matchenv.agents.policies import SHIPPED
from matchenv.baselines import DrawChance, KnowledgeGradient
from matchenv.commands import run_command

SIZE = {"num_opponents": 6, "horizon": 12}
CELLS = [{"rank": "top"}, {"rank": "middle", "prior": "equal"}]
SEED = 2**64


def small_config(**changes):
    config = read_config(CloningConfig, "cloning.yml")
    small = {"env_kwargs": {**SIZE, "belief": "full"}, "cells": CELLS, "rounds": 2, "episodes": 4}
    return replace(config, **{**small, **changes})


def observations(policy, belief, cell, seeds):
    """Of a belief, in the games that a policy's choices make."""
    env = MatchmakingVectorEnv(len(seeds), **SIZE, **cell, belief=policy.belief)
    shown = MatchmakingVectorEnv(len(seeds), **SIZE, **cell, belief=belief)
    seen, _ = env.reset(seed=seeds)
    found = [shown.reset(seed=seeds)[0].copy()]
    for _ in range(SIZE["horizon"] - 1):
        actions, _ = policy.predict(seen)
        seen, *_ = env.step(actions)
        found.append(shown.step(actions)[0].copy())
    return np.stack(found)


@pytest.mark.parametrize(
    ("share", "policy"),
    [(0.0, KnowledgeGradient(horizon=12)), (1.0, DrawChance(horizon=12, belief="full"))],
)
def test_the_student_sees_the_games_that_are_played(share, policy):
    student = DrawChance(horizon=12, belief="full")
    lessons = play_lessons(small_config(teacher="kg", student_share=share), student, SEED)
    seen = lessons.observations.reshape(12, 2, 4, -1)
    for row, cell in enumerate(CELLS):
        seeds = [SEED + 4 * row + i for i in range(4)]
        np.testing.assert_array_equal(seen[:, row], observations(policy, "full", cell, seeds))


def test_the_lessons_are_the_teachers_choices():
    teacher = DrawChance(horizon=12, belief="full")
    config = small_config(teacher="drawchance:belief=full", student_share=0.5)
    lessons = play_lessons(config, KnowledgeGradient(horizon=12, belief="full"), SEED)
    np.testing.assert_array_equal(lessons.actions, teacher.predict(lessons.observations)[0])
    assert 0.0 < lessons.agreement < 1.0
    assert play_lessons(config, teacher, SEED).agreement == 1.0


def test_the_oracle_can_teach():
    config = small_config(teacher="oracle", student_share=0.0)
    lessons = play_lessons(config, DrawChance(horizon=12, belief="full"), SEED)
    actions = lessons.actions.reshape(12, 8)
    # Skills do not drift: the best opponent stays the best.
    np.testing.assert_array_equal(actions, np.broadcast_to(actions[0], actions.shape))


@pytest.mark.parametrize(
    ("policy", "policy_kwargs", "epochs"),
    [
        ("EquivariantPolicy", {}, 2),
        ("MlpPolicy", {"features_extractor_class": "RelativeSkills"}, 4),
    ],
)
def test_the_student_comes_to_choose_alike(policy, policy_kwargs, epochs):
    config = small_config(
        teacher="drawchance:belief=full", policy=policy, policy_kwargs=policy_kwargs,
        episodes=64, rounds=12, epochs=epochs, batch_size=128,
    )  # fmt: skip
    student = config.new_student(3)
    found = list(clone(config, 3, student))
    assert [each.number for each in found] == list(range(1, 13))
    # A choice by lot is the same one in six.
    assert found[-1].agreement > max(0.75, found[0].agreement)
    assert found[-1].loss < 0.5 * found[0].loss


def stopped_after(rounds):
    """A report that interrupts after so many rounds."""

    def report(done):
        if done.number == rounds:
            raise KeyboardInterrupt

    return report


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_cloning_that_was_stopped_goes_on_to_the_same_bytes(tmp_path, rounds):
    config = small_config(rounds=3)
    whole, broken = tmp_path / "whole.safetensors", tmp_path / "broken.safetensors"
    run_cloning(config, whole, seed=5)
    with pytest.raises(KeyboardInterrupt):
        run_cloning(config, broken, seed=5, report=stopped_after(rounds))
    heard = []
    run_cloning(config, broken, seed=5, report=lambda done: heard.append(done.number))
    assert heard == list(range(rounds + 1, 4))
    assert broken.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [broken.name, whole.name]


def test_a_cloning_that_was_stopped_is_not_mixed_with_another(tmp_path):
    out = tmp_path / "clone.safetensors"
    with pytest.raises(KeyboardInterrupt):
        run_cloning(small_config(), out, seed=5, report=stopped_after(1))
    before = out.read_bytes()
    with pytest.raises(ValueError, match=r"clone\.progress holds .* another seed"):
        run_cloning(small_config(), out, seed=6)
    with pytest.raises(ValueError, match="with another teacher, epochs; give the same settings"):
        run_cloning(small_config(teacher="pe", epochs=1), out, seed=5)
    state = tmp_path / "clone.progress" / "progress.safetensors"
    state.write_bytes(state.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"progress\.safetensors is damaged, delete it"):
        run_cloning(small_config(), out, seed=5)
    assert out.read_bytes() == before


def test_two_clonings_do_not_write_to_one_file(tmp_path):
    out = tmp_path / "clone.safetensors"
    with cloning_progress(out, {}), pytest.raises(ValueError, match="in use by process"):
        run_cloning(small_config(), out, seed=5)
    assert not out.exists()


def test_the_command(tmp_path, capsys):
    for name, seed in (("one", "3"), ("two", "3"), ("three", "4")):
        out = str(tmp_path / f"{name}.safetensors")
        assert run_command(["clone", "--quick", "--seed", seed, "--out", out]) == 0
    files = [(tmp_path / f"{name}.safetensors").read_bytes() for name in ("one", "two", "three")]
    assert files[0] == files[1] != files[2]
    assert "round 2 of 2: same choice in" in capsys.readouterr().out
    assert agents.load(tmp_path / "one.safetensors").belief == "full"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--teacher", "nobody"), "nobody"),
        (("--teacher", "kg:speed=3"), "speed"),
        (("--out", "clone.zip"), "out must end in .safetensors"),
        (("--seed", "-1"), "seed"),
        (("--threads", "0"), "threads"),
        (("--device", "abacus"), "device must be auto, cpu"),
    ],
)
def test_the_command_refuses(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run_command(["clone", "--quick", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": 0},
        {"learning_rate": float("nan")},
        {"student_share": 1.5},
        {"policy_kwargs": 3},
        {"cells": []},
        {"env_kwargs": {"speed": 1}},
    ],
)
def test_bad_settings(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        small_config(**change)


def test_a_training_starts_from_a_clone(tmp_path):
    file = tmp_path / "clone.safetensors"
    assert run_command(["clone", "--quick", "--out", str(file)]) == 0
    config = agents.configured(
        "ppo",
        timesteps=64,
        num_envs=2,
        hyperparameters={
            "policy": "EquivariantPolicy",
            "learning_rate": 0,
            "n_steps": 16,
            "batch_size": 32,
        },
        env_kwargs={**SIZE, "belief": "full"},
        evaluation_episodes=2,
        start_from=str(file),
    )
    agents.start_training(tmp_path / "run", config, quiet=True)
    wanted = agents.load(file).network.state_dict()
    found = agents.load(tmp_path / "run").network.state_dict()
    for name, tensor in wanted.items():
        assert torch.equal(found[name], tensor), name
    file.write_bytes(SHIPPED["equivariant"].read_bytes())
    with pytest.raises(ValueError, match="weights that the run began with"):
        agents.start_training(tmp_path / "again", config, quiet=True)


def test_what_a_training_cannot_start_from(tmp_path):
    def start(algo="ppo", **changes):
        config = agents.configured(algo, timesteps=10, env_kwargs=SIZE, **changes)
        agents.start_training(tmp_path / "run", config, quiet=True)

    with pytest.raises(ValueError, match="EquivariantPolicy of 'equivariant' does not fit"):
        start(start_from="equivariant")
    with pytest.raises(ValueError, match="there is no 'nobody'"):
        start(start_from="nobody")
    with pytest.raises(ValueError, match="start_from must be left out for ars"):
        start("ars", start_from="equivariant")
    assert not (tmp_path / "run").exists()


def test_runs_from_before_read_as_without_a_start():
    config = agents.configured("ppo")
    text, _, _ = config.to_text().partition("# sha256")
    for name in ("start_from", "start_from_content"):
        text = text.replace(f"{name}: null\n", "")
    assert "start_from" not in text
    with pytest.warns(UserWarning, match="no checksum"):
        assert agents.RunConfig.from_text(text) == config
