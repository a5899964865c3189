"""From a name to a policy: baselines, learned policies, classes of the user's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv import MatchmakingVectorEnv, agents
from matchenv.baselines import (
    KnowledgeGradient,
    OptimisticDrawChance,
    ThompsonSampling,
)
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.registry import (
    ONE_PLAYER,
    POLICIES,
    QUEUE,
    expanded,
    known_policies,
    policy_class,
    policy_named,
)

ROOT = Path(__file__).resolve().parents[2]
PAPER = Settings.checked()

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


class Last:
    def __init__(self, capacity, patience=1):
        self.capacity, self.patience = capacity, patience

    def choose(self, waiting, rng):
        return waiting.filled.size


def made(**options):
    return Always(word=repr(options))


def not_a_policy():
    return {}


number = 3
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module in the working folder, of a name that no other test uses."""
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def test_baselines_with_their_options() -> None:
    assert set(known_policies()) >= {"pe", "drawchance", "kg", "random", "oracle", "ppo-gittins"}
    settings = Settings.checked(beta=2.0, horizon=50)
    policy = policy_named("kg:multiplier=20", settings)
    assert isinstance(policy, KnowledgeGradient)
    assert (policy.multiplier, policy.beta, policy.horizon) == (20.0, 2.0, 50)
    assert policy_named("kg:finite_horizon=true", settings).finite_horizon
    assert policy_named("kg:beta=3", settings).beta == 3.0
    policy = policy_named("optimistic:inflation=5,fade=0,belief=full", settings)
    assert isinstance(policy, OptimisticDrawChance)
    assert (policy.inflation, policy.fade, policy.belief) == (5.0, 0.0, "full")
    assert isinstance(policy_named("thompson:spread=0.5,seed=3", settings), ThompsonSampling)


def test_baselines_are_told_the_settings_of_the_environment() -> None:
    settings = Settings.checked(beta=2.0, horizon=50, draw_margin=0.5, belief="full")
    for name in POLICIES[ONE_PLAYER]:
        policy = policy_named(name, settings, lambda: np.zeros(50))
        for argument in ("beta", "horizon", "draw_margin", "tau", "belief"):
            if hasattr(policy, argument):
                assert getattr(policy, argument) == getattr(settings, argument), (name, argument)
        assert policy.horizon == 50
    drifting = policy_named("kg", Settings.checked(tau=0.1))
    assert (drifting.tau, drifting.belief) == (0.1, "factorised")
    assert policy_named("pe:belief=factorised", settings).belief == "factorised"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("elo", r"policy must be one of pe, drawchance, kg.*ppo-gittins.*module:Class.*'elo'"),
        ("", "policy must be one of"),
        ("no/such/folder", "no/such/folder"),
        ("kg:speed=3", r"options of policy 'kg:speed=3' must be name=value with a name of belief"),
        ("kg:multiplier", "must be name=value"),
        ("kg:multiplier=fast", "multiplier must"),
        ("kg:finite_horizon=3", "finite_horizon of policy .* must be true or false"),
        ("kg:belief=half", "belief must be one of"),
        ("random:seed=now", "'random:seed=now' cannot be made"),
        ("oracle", "must know the true skills"),
        ("oracle:true_skill=3", "options of policy"),
        ("ppo-gittins:beta=3", "a learned policy has no options"),
        ("no_such_module:Class", "read as module:Class.*no_such_module.*drawchance"),
        ("json:NoSuch", "read as module:Class.*NoSuch"),
        ("json:JSONDecoder", "must have a method act, choose or predict"),
    ],
)
def test_bad_names_are_told(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        policy_named(text, PAPER)


def test_a_class_of_ones_own(own: str) -> None:
    settings = Settings.checked(beta=2.0, num_opponents=5)
    policy = policy_named(f"{own}:Always:opponent=3,word=hard", settings)
    assert (policy.opponent, policy.beta, policy.num_opponents) == (3, 2.0, 5)
    assert policy.word == "hard"
    actions, _ = policy.predict(MatchmakingVectorEnv(4, num_opponents=5).reset(seed=0)[0])
    np.testing.assert_array_equal(actions, 3)
    assert policy_named(f"{own}:Always:beta=7", settings).beta == 7
    assert policy_named(f"{own}:Always:loud=true", settings).loud is True
    assert policy_named(f"{own}:made:a=1,b=x", settings).word == "{'a': 1, 'b': 'x'}"
    policy = policy_named(f"{own}:Adapts:opponent=2", settings)
    assert (policy.opponent, policy.beta) == (2, 200.0)
    for text, message in (
        (f"{own}:Adapts:beta=-1", "beta must be positive"),
        (f"{own}:Always:speed=3", "with a name of beta, loud, num_opponents, opponent, word"),
        (f"{own}:Always:loud=3", "true or false"),
        (f"{own}:not_a_policy", "must have a method act, choose or predict"),
        (f"{own}:number", "cannot be made"),
        (f"{own}:Nobody", "there is none"),
    ):
        with pytest.raises(ValueError, match=message):
            policy_named(text, settings)


def test_the_working_folder_hides_no_installed_module(own: str, tmp_path: Any) -> None:
    (tmp_path / "matchenv_none.py").write_text("x = 1")
    (tmp_path / "wave.py").write_text("class Mine: predict = print")
    with pytest.raises(ValueError, match="no attribute 'Mine'"):
        policy_named("wave:Mine", PAPER)
    assert sys.path[-1] == str(tmp_path)


def test_braces_are_expanded_as_bash_does() -> None:
    assert expanded(["kg", "a{1}b"]) == ["kg", "a1b"]
    assert expanded(["kg:multiplier={3,5},belief={full,factorised}", "pe"]) == [
        "kg:multiplier=3,belief=full", "kg:multiplier=3,belief=factorised",
        "kg:multiplier=5,belief=full", "kg:multiplier=5,belief=factorised", "pe",
    ]  # fmt: skip
    for text in ("kg:multiplier={3,5", "kg}"):
        with pytest.raises(ValueError, match="braces must come in pairs"):
            expanded([text])


IN_QUEUE = QueueSettings(capacity=8, beta=0.7, tau=0.1)


def test_each_name_of_the_queue_makes_its_policy(own: str) -> None:
    made = policy_named(f"{own}:Last:patience=4", IN_QUEUE)
    assert (made.capacity, made.patience) == (8, 4)
    for name in POLICIES[QUEUE]:
        if name != "reservation":
            assert type(policy_named(name, IN_QUEUE)) is policy_class(name, QUEUE)
    window = policy_named("window:width=2,growth=0.5", IN_QUEUE)
    assert (window.width, window.growth) == (2.0, 0.5)
    kg = policy_named("kg:multiplier=3,both=true,reservation=0.4,fall=0", IN_QUEUE)
    assert (kg.multiplier, kg.both, kg.reservation, kg.fall) == (3.0, True, 0.4, 0.0)


def test_a_policy_of_one_player_in_the_queue_is_told_the_game_and_its_own_options() -> None:
    reserved = policy_named("reservation:policy=kg,multiplier=7,reservation=0.3", IN_QUEUE)
    assert reserved.reservation == 0.3
    assert isinstance(reserved.policy, KnowledgeGradient)
    assert (reserved.policy.multiplier, reserved.policy.beta) == (7.0, 0.7)
    thompson = policy_named("reservation:policy=thompson", IN_QUEUE)
    assert isinstance(thompson.policy, ThompsonSampling)
    assert thompson.stochastic


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
def test_bad_texts_of_the_queue_are_explained(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        policy_named(text, IN_QUEUE)


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_without_the_extra_it_says_what_to_install() -> None:
    pytest.importorskip("stable_baselines3")
    missing = "torch"
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import matchenv.agents as agents\n"
        "from matchenv.envs.one_player.settings import Settings\n"
        "agents.policy_named('kg', Settings.checked())\n"
        "for ask in (lambda: agents.load,\n"
        "            lambda: agents.policy_named('ppo-gittins', Settings.checked())):\n"
        "    try:\n"
        "        ask()\n"
        "    except (ImportError, ValueError) as error:\n"
        "        print(error)\n"
    )
    first, second = run(code).splitlines()
    wanted = f'load needs the package {missing}: pip install "matchenv[agents]"'
    assert first == wanted
    assert second == f"policy 'ppo-gittins' cannot be loaded: {wanted}"


def test_a_comparison_tells_its_policies_beta() -> None:
    pytest.importorskip("stable_baselines3")
    from matchenv.benchmarks.compare import run_comparison
    from matchenv.runtime.jobs import RunOptions

    named, given = (
        run_comparison(
            [policy], against="drawchance", cells={"rank": ["top"]}, episodes=4, seed=3,
            env_kwargs={"beta": 0.4, "horizon": 60}, run=RunOptions(workers=1, quiet=True),
        ).values("true_draw_density", 0, "ppo-gittins")
        for policy in ("ppo-gittins", agents.load("ppo-gittins"))
    )  # fmt: skip
    np.testing.assert_array_equal(given, named)
    with pytest.raises(ValueError, match="tau must be 0"):
        run_comparison([agents.load("ppo-gittins")], env_kwargs={"tau": 0.1})


def test_the_shipped_policy_says_what_it_is_and_plays_any_size() -> None:
    pytest.importorskip("stable_baselines3")
    policy = policy_named("ppo-gittins", Settings.checked(num_opponents=7, horizon=30))
    said = "LearnedPolicy('ppo-gittins', SharedPolicy, num_opponents=7, belief='full')"
    assert repr(policy) == said
    assert (policy.num_opponents, policy.observation_shape) == (7, (24,))
    imitation, *_ = policy.training
    assert (imitation["algorithm"], imitation["teacher"]) == ("imitation", "gittins")
    assert all(each["games"] > 1e6 for each in policy.training)
    with pytest.raises(ValueError, match="tau must be 0"):
        policy_named("ppo-gittins", Settings.checked(tau=0.1))
    assert "versions" not in repr(agents.configured("ppo", seed=3))
    assert "num_opponents=3" in repr(agents.MatchmakingVecEnv(2, num_opponents=3))
