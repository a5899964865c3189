"""The registry of policies: its names are the names of the classes, and options are checked."""

import pytest

from matchenv.baselines import POLICIES as CLASSES
from matchenv.baselines.ranking import RULES
from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation.registry import POLICIES, RANKING, policy_class, policy_named


def test_names_are_those_of_the_classes() -> None:
    for env_id, table in POLICIES.items():
        for name in table:
            kind = policy_class(name, env_id)
            assert (kind(name) if env_id == RANKING else kind).name == name
    assert list(POLICIES[RANKING]) == list(RULES)
    assert {name: policy_class(name) for name in POLICIES["Matchmaking-v0"]} == CLASSES


def test_no_option_changes_the_rule() -> None:
    assert policy_named("information:seed=3", RankingSettings()).name == "information"
    with pytest.raises(ValueError, match="a name of seed, got 'name'"):
        policy_named("information:name=kg", RankingSettings())
