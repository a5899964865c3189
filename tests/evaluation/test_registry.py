"""The registry of policies: its names are the names of the classes, and options are checked."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from matchenv.baselines import POLICIES as CLASSES
from matchenv.baselines.ranking import RULES
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation.registry import (
    POLICIES,
    RANKING,
    files_of,
    known_policies,
    policy_class,
    policy_named,
    register_policy,
)


def test_names_are_those_of_the_classes() -> None:
    for env_id, table in POLICIES.items():
        for name in table:
            kind = policy_class(name, env_id)
            assert (kind(name) if env_id == RANKING else kind).name == name
    assert list(POLICIES[RANKING]) == list(RULES)
    assert {name: policy_class(name) for name in POLICIES["Matchmaking-v0"]} == CLASSES
    # No option changes the rule.
    assert policy_named("information:seed=3", RankingSettings()).name == "information"
    with pytest.raises(ValueError, match="a name of seed, got 'name'"):
        policy_named("information:name=kg", RankingSettings())


def test_a_class_by_module_plays_as_the_baseline_by_name() -> None:
    for options in ({}, {"tau": 0.1}, {"beta": 2.0, "draw_margin": 0.1}):
        settings = Settings.checked(**options)
        named = policy_named("gittins", settings)
        assert repr(policy_named("matchenv.baselines:Gittins", settings)) == repr(named)


def test_a_registered_policy_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICIES, "Matchmaking-v0", dict(POLICIES["Matchmaking-v0"]))
    register_policy("mine", "matchenv.baselines.simple:PointEstimate")
    assert "mine" in known_policies()
    assert policy_named("mine:horizon=9", Settings()).name == "pe"
    register_policy("rule", "own_rule:Rule")
    monkeypatch.setitem(sys.modules, "own_rule", SimpleNamespace(__file__=__file__))
    assert Path(__file__) in files_of("rule")
    assert files_of("kg") == []
    with pytest.raises(ValueError, match="name must be new, got 'kg'"):
        register_policy("kg", "matchenv.baselines.simple:PointEstimate")
