"""Policies by name: baselines, learned policies and third-party classes."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from refusals import refusals

from matchenv import MatchmakingVectorEnv, agents
from matchenv import baselines as rules
from matchenv.baselines.queue.candidates import QueueKnowledgeGradient, Reserved, WideningWindow
from matchenv.benchmarks.compare import run_comparison
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation import registry
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE, RANKING, baselines_of, policy_named
from matchenv.evaluation.rollout import rollout

GAME = Settings.checked(beta=2.0, horizon=50)
IN_QUEUE = QueueSettings(capacity=8, beta=0.7, tau=0.1)

OWN = """
import numpy as np

class Always:
    name = "always"

    def __init__(self, opponent=0, *, beta=1.0, num_opponents=1, word="", loud=False):
        self.opponent, self.beta, self.num_opponents = opponent, beta, num_opponents
        self.word, self.loud = word, loud

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return np.full(len(observation), self.opponent), state


class Adapts(Always):
    def for_settings(self, settings):
        if self.beta < 0:
            raise ValueError("beta must be positive")
        return Always(self.opponent, beta=100.0 * settings.beta)


class Fixed(Always):
    def __init__(self, horizon):
        self._horizon = horizon

    horizon = property(lambda self: self._horizon)


class Last:
    def __init__(self, capacity, patience=1):
        self.capacity, self.patience = capacity, patience

    def act(self, view, rng):
        return view.action_mask.sum(axis=1) - 1


def made(**options):
    return Always(word=repr(options))


number = 3
"""


@pytest.mark.parametrize(
    ("text", "settings", "kind", "expected"),
    [
        ("kg:multiplier=20", GAME, rules.KnowledgeGradient, {"multiplier": 20.0, "horizon": 50}),
        ("kg:finite_horizon=true", GAME, rules.KnowledgeGradient, {"finite_horizon": True}),
        ("kg:beta=3", GAME, rules.KnowledgeGradient, {"beta": 3.0}),
        ("kg", Settings.checked(tau=0.1), rules.KnowledgeGradient, {"tau": 0.1}),
        ("gittins", Settings(), rules.Gittins, {"belief": "full"}),
        ("gittins:belief=factorised", Settings(), rules.Gittins, {"belief": "factorised"}),
        ("gittins", Settings(tau=0.1), rules.Gittins, {"belief": "factorised"}),
        ("matchenv.baselines:Gittins", Settings(tau=0.1), rules.Gittins, {"belief": "factorised"}),
        (
            "optimistic:inflation=5,fade=0,belief=full", GAME, rules.OptimisticDrawChance,
            {"inflation": 5.0, "fade": 0.0, "belief": "full"},
        ),
        ("pe:belief=factorised", GAME, rules.PointEstimate, {"belief": "factorised"}),
        ("thompson:spread=0.5,seed=3", GAME, rules.ThompsonSampling, {"spread": 0.5}),
        ("window:width=2,growth=0.5", IN_QUEUE, WideningWindow, {"width": 2.0, "growth": 0.5}),
        (
            "kg:multiplier=3,both=true,reservation=0.4,fall=0", IN_QUEUE, QueueKnowledgeGradient,
            {"multiplier": 3.0, "both": True, "reservation": 0.4, "fall": 0.0},
        ),
        ("reservation:policy=kg,reservation=0.3", IN_QUEUE, Reserved, {"reservation": 0.3}),
        ("reservation:policy=thompson", IN_QUEUE, Reserved, {"stochastic": True}),
    ],
)  # fmt: skip
def test_names_with_options(text: str, settings: Any, kind: type, expected: dict) -> None:
    policy = policy_named(text, settings)
    assert type(policy) is kind
    assert {name: getattr(policy, name) for name in expected} == expected


def test_a_learned_policy_with_a_reservation_plays_any_number_of_candidates() -> None:
    settings = QueueSettings(capacity=8)
    found = rollout(policy_named("reservation:policy=ppo-gittins", settings), settings, range(2))
    assert (found["match_quality"] > 0.0).all()


def test_baselines_receive_the_settings_of_the_environment() -> None:
    assert set(registry.known_policies()) == {*baselines_of(ONE_PLAYER), "ppo-gittins"}
    settings = Settings.checked(beta=2.0, horizon=50, draw_margin=0.5, belief="full")
    for name in baselines_of(ONE_PLAYER):
        policy = policy_named(name, settings)
        for argument in ("beta", "horizon", "draw_margin", "tau", "belief"):
            if hasattr(policy, argument):
                assert getattr(policy, argument) == getattr(settings, argument), (name, argument)
        assert policy.horizon == 50
    for name in set(baselines_of(QUEUE)) - {"reservation"}:
        assert type(policy_named(name, IN_QUEUE)) is registry.policy_class(name, QUEUE)
    inner = policy_named("reservation:policy=kg,multiplier=7,reservation=0.3", IN_QUEUE).policy
    assert (type(inner), inner.multiplier, inner.beta) == (rules.KnowledgeGradient, 7.0, 0.7)


BAD_NAMES = {
    GAME: {
        "elo": r"policy must be one of pe, drawchance, kg.*ppo-gittins.*module:Class.*'elo'",
        "": "policy must be one of",
        "no/such/folder": "no/such/folder",
        "kg:speed=3": r"options of policy 'kg:speed=3' must be name=value with a name of belief",
        "kg:multiplier": "must be name=value",
        "kg:multiplier=fast": "multiplier must",
        "kg:finite_horizon=3": "finite_horizon of policy .* must be true or false",
        "kg:belief=half": "belief must be one of",
        "random:seed=now": "seed must be an integer of at least 0, got 'now'",
        "ppo-gittins:beta=3": "a learned policy has no options",
        "no_such_module:Class": "read as module:Class.*no_such_module.*drawchance",
        "json:NoSuch": "read as module:Class.*NoSuch",
        "json:JSONDecoder": "must have a method act or predict",
    },
    IN_QUEUE: {
        "nobody": "must be one of fcfs, window",
        "window:wide=2": "growth, width",
        "window:width=-2": "width must not be negative",
        "reservation": "reservation:policy=thompson",
        "reservation:policy=oracle": "must not read the true skills",
        "reservation:policy=nobody": "must be one of pe",
        "reservation:policy=pe,spread=1": "spread",
        "fcfs:width=1": "none at all",
    },
}


test_bad_names_are_refused = refusals(
    *((settings, *each) for settings, texts in BAD_NAMES.items() for each in texts.items()),
    call=lambda settings, text: policy_named(text, settings),
)


def test_third_party_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_policies.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    settings = Settings.checked(beta=2.0, num_opponents=5)
    policy = policy_named("own_policies:Always:opponent=3,word=hard", settings)
    assert (policy.opponent, policy.beta, policy.num_opponents) == (3, 2.0, 5)
    assert policy.word == "hard"
    actions, _ = policy.predict(MatchmakingVectorEnv(4, num_opponents=5).reset(seed=0)[0])
    np.testing.assert_array_equal(actions, 3)
    assert policy_named("own_policies:Always:beta=7", settings).beta == 7
    assert policy_named("own_policies:Always:loud=true", settings).loud is True
    assert policy_named("own_policies:Fixed:horizon=20", settings).horizon == 20
    assert policy_named("own_policies:made:a=1,b=x", settings).word == "{'a': 1, 'b': 'x'}"
    policy = policy_named("own_policies:Adapts:opponent=2", settings)
    assert (policy.opponent, policy.beta) == (2, 200.0)
    made = policy_named("own_policies:Last:patience=4", IN_QUEUE)
    assert (made.capacity, made.patience) == (8, 4)
    for text, message in (
        ("own_policies:Adapts:beta=-1", "beta must be positive"),
        ("own_policies:Always:speed=3", "with a name of beta, loud, num_opponents, opponent, word"),
        ("own_policies:Always:loud=3", "true or false"),
        ("own_policies:number", "cannot be made"),
    ):
        with pytest.raises(ValueError, match=message):
            policy_named(text, settings)
    # The working folder shadows no installed module.
    (tmp_path / "wave.py").write_text("class Mine: predict = print")
    with pytest.raises(ValueError, match="no attribute 'Mine'"):
        policy_named("wave:Mine", GAME)
    assert sys.path[-1] == str(tmp_path)


def test_braces_are_expanded_as_bash_does() -> None:
    assert registry.expanded(["kg", "a{1}b"]) == ["kg", "a1b"]
    assert registry.expanded(["kg:multiplier={3,5},belief={full,factorised}", "pe"]) == [
        "kg:multiplier=3,belief=full", "kg:multiplier=3,belief=factorised",
        "kg:multiplier=5,belief=full", "kg:multiplier=5,belief=factorised", "pe",
    ]  # fmt: skip
    assert registry.expanded(["kg:multiplier=[3, 5]", "runs/a[1]", "x={low: 1, high: 8}"]) == [
        "kg:multiplier=3", "kg:multiplier=5", "runs/a[1]", "x={low: 1, high: 8}",
    ]  # fmt: skip
    for text in ("kg:multiplier={3,5", "kg}"):
        with pytest.raises(ValueError, match="braces must come in pairs"):
            registry.expanded([text])


def test_the_packaged_policy_has_provenance_and_plays_any_size() -> None:
    policy = policy_named("ppo-gittins", Settings.checked(num_opponents=7, horizon=30))
    said = "LearnedPolicy('ppo-gittins', SharedPolicy, num_opponents=7, belief='full')"
    assert repr(policy) == said
    (file,), _ = registry.files_of("ppo-gittins")
    assert file.name == "ppo-gittins.safetensors"
    assert (policy.num_opponents, policy.observation_shape) == (7, (24,))
    imitation, *_ = policy.training
    assert (imitation["algorithm"], imitation["teacher"]) == ("imitation", "gittins")
    assert all(each["games"] > 1e6 for each in policy.training)
    with pytest.raises(ValueError, match="tau must be 0"):
        policy_named("ppo-gittins", Settings.checked(tau=0.1))
    with pytest.raises(ValueError, match="tau must be 0"):
        run_comparison([agents.load("ppo-gittins")], env_kwargs={"tau": 0.1})
    assert "versions" not in repr(agents.configured("ppo", seed=3))
    assert "num_opponents=3" in repr(agents.MatchmakingVecEnv(2, num_opponents=3))


def test_names_are_those_of_the_classes() -> None:
    for env_id in (ONE_PLAYER, QUEUE, RANKING):
        for name in baselines_of(env_id):
            assert registry.policy_class(name, env_id).name == name
    assert {name: registry.policy_class(name) for name in baselines_of(ONE_PLAYER)} == (
        rules.POLICIES
    )
    # No option changes the rule.
    assert policy_named("information:seed=3", RankingSettings()).name == "information"
    with pytest.raises(ValueError, match="a name of seed, got 'name'"):
        policy_named("information:name=kg", RankingSettings())


def test_a_registered_policy_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {})
    registry.register_policy("mine", "matchenv.baselines.simple:PointEstimate")
    assert "mine" in registry.known_policies()
    assert policy_named("mine:horizon=9", Settings()).name == "pe"
    registry.register_policy("rule", "own_rule:Rule")
    monkeypatch.setitem(sys.modules, "own_rule", SimpleNamespace(__file__=__file__, __spec__=None))
    assert Path(__file__) in registry.files_of("rule")[0]
    assert registry.files_of("kg")[0] == []
    with pytest.raises(ValueError, match="name must be new, got 'kg'"):
        registry.register_policy("kg", "matchenv.baselines.simple:PointEstimate")
