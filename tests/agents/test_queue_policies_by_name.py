"""The queue's policies from texts."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from matchenv.baselines import KnowledgeGradient, ThompsonSampling
from matchenv.baselines.queue import (
    KnowledgeMatching,
    QueueKnowledgeGradient,
    Reserved,
    WideningWindow,
)
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.registry import POLICIES, QUEUE, policy_class, policy_named

SETTINGS = QueueSettings(capacity=8, beta=0.7, tau=0.1)


@pytest.mark.parametrize("name", [name for name in POLICIES[QUEUE] if name != "reservation"])
def test_each_name_makes_its_policy(name: str) -> None:
    assert type(policy_named(name, SETTINGS)) is policy_class(name, QUEUE)


def test_options_reach_the_policy() -> None:
    window = policy_named("window:width=2,growth=0.5", SETTINGS)
    assert isinstance(window, WideningWindow)
    assert (window.width, window.growth) == (2.0, 0.5)
    kg = policy_named("kg:multiplier=3,both=true,reservation=0.4,fall=0", SETTINGS)
    assert isinstance(kg, QueueKnowledgeGradient)
    assert (kg.multiplier, kg.both, kg.reservation, kg.fall) == (3.0, True, 0.4, 0.0)
    matching = policy_named("kg_matching:multiplier=2", SETTINGS)
    assert isinstance(matching, KnowledgeMatching)
    assert matching.multiplier == 2.0


def test_a_policy_of_one_player_is_told_the_game_and_its_own_options() -> None:
    reserved = policy_named("reservation:policy=kg,multiplier=7,reservation=0.3", SETTINGS)
    assert isinstance(reserved, Reserved)
    assert reserved.reservation == 0.3
    assert isinstance(reserved.policy, KnowledgeGradient)
    assert (reserved.policy.multiplier, reserved.policy.beta) == (7.0, 0.7)
    thompson = policy_named("reservation:policy=thompson", SETTINGS)
    assert isinstance(thompson.policy, ThompsonSampling)
    assert thompson.stochastic


def test_a_class_of_the_users_own_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_queue.py").write_text(
        textwrap.dedent(
            """
            class Last:
                def __init__(self, capacity, patience=1):
                    self.capacity, self.patience = capacity, patience

                def choose(self, waiting, rng):
                    return waiting.filled.size

            class Nothing:
                pass
            """
        )
    )
    monkeypatch.chdir(tmp_path)
    made = policy_named("own_queue:Last:patience=4", SETTINGS)
    assert (made.capacity, made.patience) == (8, 4)
    with pytest.raises(ValueError, match="choose or predict"):
        policy_named("own_queue:Nothing", SETTINGS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nobody", "must be one of fcfs, window"),
        ("window:wide=2", "growth, width"),
        ("window:width=-2", "width must not be negative"),
        ("matching:reservation", "name=value"),
        ("reservation", "reservation:policy=thompson"),
        ("reservation:policy=oracle", "must not know the true skills"),
        ("reservation:policy=nobody", "must be one of pe"),
        ("reservation:policy=pe,spread=1", "spread"),
        ("fcfs:width=1", "none at all"),
    ],
)
def test_bad_texts_are_explained(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        policy_named(text, SETTINGS)
