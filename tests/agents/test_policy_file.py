"""Policy files: round trips, and foreign files that run no code."""

import copy
import io
import json
import os
import pickle
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from sb3_contrib import QRDQN, TRPO, MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecFrameStack, VecNormalize

from matchenv import agents
from matchenv.agents import policy_file
from matchenv.agents.config_file import read_hyperparameters
from matchenv.agents.learned_names import RLLIB_FILE
from matchenv.agents.run_config import ALGORITHMS
from matchenv.agents.sb3_policies import SharedDQNPolicy, SharedPolicy
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.population import NormalPopulation
from matchenv.evaluation.registry import (
    ONE_PLAYER,
    QUEUE,
    RANKING,
    candidate_of,
    files_of,
    policy_named,
)
from matchenv.runtime.files import checksum

ENV = {"num_opponents": 3, "horizon": 20}
SETTINGS = Settings.checked(**ENV)
SMALL = {"net_arch": [16]}


def save_random_policy(path, algo="ppo", env_kwargs=ENV, network_kwargs=None, config=None):
    """Save a policy with random weights; return its network and its description."""
    torch.manual_seed(0)
    values = read_hyperparameters(ONE_PLAYER, algo, config)
    kwargs = {**values.get("policy_kwargs", {}), **(network_kwargs or {})}
    description = policy_file.PolicyDescription(algo, values["policy"], kwargs, env_kwargs)
    network = description.network()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    policy_file.save_policy(path, network, description)
    return network, description


@pytest.fixture
def path(tmp_path):
    """A file for a policy."""
    return tmp_path / "policy.safetensors"


@pytest.mark.parametrize(
    ("algo", "belief"), [*((algo, "factorised") for algo in ALGORITHMS), ("ppo", "full")]
)
def test_round_trip(path, algo, belief):
    env_kwargs = {**ENV, "belief": belief}
    network, description = save_random_policy(path, algo, env_kwargs, SMALL)
    content = path.read_bytes()
    again, same_description = policy_file.read_policy(path)
    assert same_description == description
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
    save_random_policy(path, algo, env_kwargs, SMALL)
    assert path.read_bytes() == content
    policy = agents.load(path)
    assert (policy.belief, policy.num_opponents) == (belief, 3)
    # More varied than any the environment gives, so that the actions differ.
    batch = np.random.default_rng(0).normal(0.0, 1.0, (256, *policy.observation_shape))
    actions, _ = policy.predict(batch.astype(np.float32))
    expected, _ = network.predict(batch.astype(np.float32), deterministic=True)
    np.testing.assert_array_equal(actions, expected)
    assert len(set(actions.tolist())) > 1
    one, _ = policy.predict(batch[0])
    assert one.shape == ()
    assert one == actions[0]
    assert copy.deepcopy(policy) is policy  # it remembers nothing of its games
    for bad, message in ((batch[:, 1:], "observation must have shape"), (np.nan * batch, "finite")):
        with pytest.raises(ValueError, match=message):
            policy.predict(bad)


@pytest.mark.parametrize(("rows", "threads"), [((), 1), ((4,), 1), ((1025,), 2)])
def test_small_batches_run_on_one_thread(path, monkeypatch, rows, threads):
    save_random_policy(path, "ppo", ENV, SMALL)
    policy = agents.load(path)
    used = []
    get_distribution = policy.network.get_distribution

    def recorded(observations):
        used.append(torch.get_num_threads())
        return get_distribution(observations)

    monkeypatch.setattr(policy.network, "get_distribution", recorded)
    torch.set_num_threads(2)
    try:
        policy.predict(np.zeros((*rows, *policy.observation_shape)))
        assert used == [threads]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def change_description(path, **changes):
    """Change the description of a policy file and its checksum."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()[policy_file.HEADER])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header = {**header, **changes}
    del header[policy_file.CHECKSUM]
    digest = checksum([policy_file.HEADER, header], arrays)
    metadata = {policy_file.HEADER: json.dumps({**header, policy_file.CHECKSUM: digest})}
    save_file({name: torch.from_numpy(array) for name, array in arrays.items()}, path, metadata)


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "sac"},
        {"policy": "os.system"},
        {"policy_kwargs": {"activation_fn": "os.system"}},
        {"policy_kwargs": {"features_extractor_class": "builtins.eval"}},
        {"policy_kwargs": {"net_arch": [17]}},
        {"policy_kwargs": {"net_arch": [10**9]}},
        {"policy_kwargs": None},
        {"env_kwargs": {"num_opponents": 4}},
        {"env_kwargs": {"no_such": 4}},
        {"env_kwargs": {"num_opponents": 10**12}},
        {"env_kwargs": {"num_opponents": [4]}},
        {"format": 1},
        {"more": 1},
    ],
)
def test_mismatched_headers_are_refused(path, changes):
    # The weights of a plain network fit one number of opponents alone.
    save_random_policy(path, config=Path("ppo_flat"))
    change_description(path)
    agents.load(path)
    change_description(path, **changes)
    with pytest.raises(ValueError, match=r"policy\.safetensors is damaged"):
        agents.load(path)


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_foreign_files_are_refused_and_run_no_code(tmp_path, path, monkeypatch):
    network, description = save_random_policy(path)
    save_file(network.state_dict(), path, {policy_file.HEADER: json.dumps(asdict(description))})
    with pytest.raises(ValueError, match="checksum does not fit"):
        agents.load(path)
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(ValueError, match="no policy of this package"):
        agents.load(path)
    # A third-party prior is not imported.
    (tmp_path / "foreign.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    own = {"prior": "foreign:Leagues", "reward": "foreign:Wins"}
    policy_file.save_policy(path, network, replace(description, env_kwargs={**ENV, **own}))
    assert policy_file.read_policy(path)[1].env_kwargs["prior"] == "foreign:Leagues"
    with torch.no_grad():
        next(network.parameters()).fill_(float("nan"))
    policy_file.save_policy(path, network, description)
    with pytest.raises(ValueError, match="finite"):
        agents.load(path)
    path.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    for name in (path, tmp_path):
        with pytest.raises(ValueError, match="damaged"):
            agents.load(name)
    assert not (tmp_path / "sprung").exists()


SIX = (ONE_PLAYER, {"num_opponents": 6})
POOL = (ONE_PLAYER, {"num_opponents": 5, "availability": 0.5, "mean_stay": 4.0})
LIMITED = (RANKING, {"num_items": 5, "max_games_per_pair": 60})
ROLLOUT = {"n_steps": 16, "batch_size": 16}
RELU = {"policy_kwargs": {"activation_fn": torch.nn.ReLU}}
WIDTHS = {"policy_kwargs": {"net_arch": {"pi": [8], "vf": [4]}}}
# Algorithm, policy and options of a model, and the environment that it plays.
MODELS = {
    "ppo": (PPO, "MlpPolicy", RELU, SIX),
    "shared": (PPO, SharedPolicy, {}, (ONE_PLAYER, {"num_opponents": 6, "belief": "full"})),
    "a2c": (A2C, "MlpPolicy", {}, SIX),
    "dqn": (DQN, "MlpPolicy", {"buffer_size": 10}, SIX),
    "trpo": (TRPO, "MlpPolicy", WIDTHS, SIX),
    "queue": (MaskablePPO, "MlpPolicy", ROLLOUT, (QUEUE, {"capacity": 7, "patience": None})),
    "pool that changes": (MaskablePPO, "MlpPolicy", ROLLOUT, POOL),
    "ranker": (PPO, "MlpPolicy", ROLLOUT, (RANKING, {"num_items": 5, "horizon": 20})),
    "two items": (PPO, "MlpPolicy", ROLLOUT, (RANKING, {"num_items": 2})),
    "ranker with masks": (MaskablePPO, "MlpPolicy", ROLLOUT, LIMITED),
}


@pytest.mark.parametrize("name", MODELS)
def test_zip_files_of_stable_baselines3_are_loaded_without_pickle(tmp_path, name, monkeypatch):
    algorithm, policy_class, options, (env_id, env_kwargs) = MODELS[name]
    envs = gym.make_vec(env_id, 16, **env_kwargs)
    model = algorithm(policy_class, gym.make(env_id, **env_kwargs), device="cpu", seed=0, **options)
    model.save(tmp_path / "model.zip")
    with monkeypatch.context() as patch:
        for reader in ("cloudpickle.loads", "pickle.loads", "pickle.load"):
            patch.setattr(reader, None)
        policy = policy_named(str(tmp_path / "model.zip"), envs.settings)
    batch, _ = envs.reset(seed=0)
    masks = {}
    if algorithm is MaskablePPO:
        masks["action_masks"] = envs.action_masks()
    expected = model.predict(batch, deterministic=True, **masks)[0]
    np.testing.assert_array_equal(policy.predict(batch, **masks)[0], expected)
    # Without masks, they are read from the observations.
    np.testing.assert_array_equal(policy.predict(batch)[0], expected)
    assert policy.is_shared == (name == "shared")


@pytest.mark.parametrize(
    "env",
    [
        {"beta": 0.3, "horizon": 20, "num_opponents": 9},
        {"environment": QUEUE, "beta": 0.3},
        {"environment": RANKING, "beta": 0.2, "num_items": 6},
        {"environment": RANKING, "num_items": 6, "goal": "top", "k": 2},
        {"environment": QUEUE, "population": NormalPopulation(25.0, 8.0), "beta": 4.0},
    ],
)
@pytest.mark.parametrize("algorithm", [PPO, DQN])
def test_saved_models_keep_the_constants_of_their_environment(tmp_path, env, algorithm):
    envs = agents.MatchmakingVecEnv(8, **env)
    if algorithm is PPO:
        model = PPO(SharedPolicy, envs, device="cpu", seed=0)
    else:
        model = DQN(SharedDQNPolicy, envs, device="cpu", seed=0, buffer_size=10)
    model.save(tmp_path / "model.zip")
    steps = [envs.reset()]
    for _ in range(30):
        actions = model.predict(steps[-1], deterministic=True)[0]
        steps.append(envs.step(actions)[0])
    observations = np.concatenate(steps)
    expected = model.predict(observations, deterministic=True)[0]
    settings = envs.natives[0].settings
    for loaded in (
        algorithm.load(tmp_path / "model.zip"),
        agents.load(tmp_path / "model.zip"),
        agents.load(tmp_path / "model.zip", settings=settings),
    ):
        np.testing.assert_array_equal(loaded.predict(observations, deterministic=True)[0], expected)


class OwnPolicy(ActorCriticPolicy):
    """A policy with the weights of its base, and other choices."""

    def _predict(self, observation, deterministic=False):
        return torch.zeros(len(observation))


def test_bad_zip_files_are_refused(tmp_path):
    (tmp_path / "bad.zip").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"bad\.zip is no model that can be read"):
        agents.load(tmp_path / "bad.zip")
    PPO("MlpPolicy", "CartPole-v1", device="cpu").save(tmp_path / "cart.zip")
    with pytest.raises(ValueError, match="not trained on the observations of an environment of"):
        agents.load(tmp_path / "cart.zip")
    QRDQN("MlpPolicy", "Matchmaking-v0", buffer_size=9, device="cpu").save(tmp_path / "odd.zip")
    with pytest.raises(ValueError, match=r"cannot build: .*with its library"):
        agents.load(tmp_path / "odd.zip")
    PPO(OwnPolicy, "Matchmaking-v0", device="cpu").save(tmp_path / "own.zip")
    with pytest.raises(ValueError, match=r"policy class is defined in .*test_policy_file"):
        agents.load(tmp_path / "own.zip")
    PPO("MlpPolicy", "Matchmaking-v0", device="cpu").save(tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    data = json.loads(content["data"])
    weights = torch.load(io.BytesIO(content["policy.pth"]), weights_only=True)
    unknown = {**data["observation_space"], "env_id": "Chess-v0"}
    for changes, tensors, message in (
        ({"observation_space": unknown}, weights, "env must be one of .*, got 'Chess-v0'"),
        ({"policy_kwargs": {"activation_fn": "<class 'mine.Odd'>"}}, weights, "activation_fn"),
        ({"policy_kwargs": {"net_arch": [[]] * 2000}}, weights, "net_arch"),
        ({}, Trap(tmp_path / "sprung"), "no model that can be read: it holds other objects"),
        ({}, {name: tensor * np.nan for name, tensor in weights.items()}, "cannot build"),
    ):
        packed = io.BytesIO()
        torch.save(tensors, packed)
        with zipfile.ZipFile(tmp_path / "changed.zip", "w") as file:
            file.writestr("data", json.dumps(data | changes))
            file.writestr("policy.pth", packed.getvalue())
        with pytest.raises(ValueError, match=message):
            agents.load(tmp_path / "changed.zip")
    assert not (tmp_path / "sprung").exists()


def test_a_model_trained_with_vec_normalize_warns(tmp_path):
    env = VecNormalize(agents.MatchmakingVecEnv(2, **ENV))
    PPO("MlpPolicy", env, n_steps=4, batch_size=8).learn(8).save(tmp_path / "model.zip")
    with pytest.warns(UserWarning, match="trained with VecNormalize"):
        agents.load(tmp_path / "model.zip")


def test_the_shared_network_refuses_what_it_cannot_read():
    envs = agents.MatchmakingVecEnv(2, **ENV)
    PPO(SharedPolicy, VecNormalize(envs, norm_obs=False), n_steps=9, batch_size=9).learn(40)
    model = PPO(SharedPolicy, VecNormalize(envs, norm_obs=True), n_steps=9, batch_size=9)
    with pytest.raises(ValueError, match="norm_obs=False"):
        model.learn(40)
    stacked = VecFrameStack(agents.MatchmakingVecEnv(2, num_opponents=6), 2)
    with pytest.raises(ValueError, match="reads no observations that a wrapper changed"):
        PPO(SharedPolicy, stacked)


def test_missing_policies_are_named(tmp_path):
    for missing in ("no-such-run", tmp_path / "none", tmp_path / "none.safetensors"):
        with pytest.raises(ValueError, match="there is no"):
            agents.load(missing)
    with pytest.raises(ValueError, match="holds no run"):
        agents.load(tmp_path)
    (tmp_path / "config.yml").write_text("algorithm: [")
    with pytest.raises(ValueError, match=f"{tmp_path.name}' cannot be loaded"):
        policy_named(str(tmp_path), SETTINGS)


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"num_opponents": 4}, "9 numbers for 3 actions and .* has 11 numbers for 4 actions"),
        ({"availability": 0.5}, "which has 12 numbers for 3 actions"),
        ({"prior": "equal", "rank": "top", "beta": 0.4, "horizon": 9, "belief": "full"}, ""),
    ],
)
def test_a_plain_network_needs_observations_of_its_size(path, changes, refused):
    save_random_policy(path, config=Path("ppo_flat"))
    settings = Settings.checked(**{**ENV, **changes})
    if refused:
        with pytest.raises(ValueError, match=refused):
            agents.load(path, settings=settings)
        with pytest.raises(ValueError, match=refused):
            policy_named(str(path), settings)
        return
    for policy in (agents.load(path, settings=settings), policy_named(str(path), settings)):
        assert policy.belief == "factorised"
        assert policy.settings == replace(settings, belief="factorised")


def test_a_changed_file_is_loaded_again(tmp_path):
    path = tmp_path / "at 10:15.safetensors"
    save_random_policy(path)
    os.utime(path, (1e9, 1e9))
    first = policy_named(str(path), SETTINGS)
    assert policy_named(str(path), SETTINGS) is first
    network, description = policy_file.read_policy(path)
    with torch.no_grad():
        next(network.parameters()).add_(1.0)
    policy_file.save_policy(path, network, description)
    os.utime(path, (1e9, 1e9))
    again = policy_named(str(path), SETTINGS)
    assert not torch.equal(next(again.network.parameters()), next(first.network.parameters()))


PICKLED = b"cos\nsystem\n(S'false'\ntR."


def rllib_checkpoint(folder):
    """Write a folder like RLlib's, with our file beside the learner's network."""
    module = folder / "learner_group" / "learner" / "rl_module" / "default_policy"
    module.mkdir(parents=True)
    (module / "module_state.pkl").write_bytes(PICKLED)
    save_random_policy(module / RLLIB_FILE)
    return module / RLLIB_FILE


def test_an_rllib_checkpoint_loads_its_learners_only_policy(tmp_path):
    text = str(tmp_path)
    (tmp_path / "algorithm_state.pkl").write_bytes(PICKLED)
    with pytest.raises(ValueError, match=f"one file {RLLIB_FILE}, and has 0"):
        policy_named(text, SETTINGS)
    file = rllib_checkpoint(tmp_path)
    batch = np.random.default_rng(1).uniform(0.5, 2.0, (50, 9)).astype(np.float32)
    expected = policy_named(str(file), SETTINGS).predict(batch)[0]
    np.testing.assert_array_equal(policy_named(text, SETTINGS).predict(batch)[0], expected)
    # The learner's network is newer than the runner's copy.
    other = tmp_path / "env_runner" / "rl_module" / RLLIB_FILE
    other.parent.mkdir(parents=True)
    other.write_bytes(b"")
    assert files_of(text)[0] == [file]
    assert candidate_of(f"{text}/").identity == candidate_of(text).identity
    rllib_checkpoint(tmp_path / "second")
    with pytest.raises(ValueError, match=f"one file {RLLIB_FILE}, and has 2"):
        policy_named(text, SETTINGS)
