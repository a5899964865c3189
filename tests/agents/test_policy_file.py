"""Policies as files: what is read is what was written, and nothing is run."""

import json
import pickle
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sb3_contrib import QRDQN, TRPO, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO

from matchenv import MatchmakingVectorEnv, agents
from matchenv.agents import policy_file
from matchenv.agents.algorithms import ALGORITHMS
from matchenv.agents.environments import ONE_PLAYER, settings_of
from matchenv.agents.policy_file import HEADER, PolicyDescription, read_policy, save_policy
from matchenv.agents.run_config import read_hyperparameters
from matchenv.agents.sb3_policies import SharedPolicy, new_policy
from matchenv.agents.tensor_files import read_tensor_file, write_tensor_file
from matchenv.envs.one_player.settings import Settings

ENV = {"num_opponents": 3, "horizon": 20}


def observations(**env_kwargs):
    return MatchmakingVectorEnv(16, **env_kwargs).reset(seed=0)[0]


def written(path, algo="ppo", env_kwargs=ENV, network_kwargs=None, config=None):
    torch.manual_seed(0)
    values = read_hyperparameters(ALGORITHMS[algo], config)
    kwargs = {**values.get("policy_kwargs", {}), **(network_kwargs or {})}
    description = PolicyDescription(algo, values["policy"], kwargs, env_kwargs)
    (settings,) = settings_of(ONE_PLAYER, env_kwargs)
    network = new_policy(ALGORITHMS[algo], values["policy"], kwargs, settings)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter)
    save_policy(path, network, description)
    return network, description


@pytest.mark.parametrize("belief", ["factorised", "full"])
@pytest.mark.parametrize("algo", ALGORITHMS)
def test_round_trip(tmp_path, algo, belief, networks):
    path = tmp_path / "policy.safetensors"
    env_kwargs = {**ENV, "belief": belief}
    network, description = written(path, algo, env_kwargs, networks[algo])
    again, said = read_policy(path)
    assert said == description
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
    policy = agents.load(path)
    assert policy.belief == belief
    assert policy.num_opponents == 3
    # More varied than any the environment gives, so that the actions differ.
    batch = np.random.default_rng(0).normal(0.0, 1.0, (256, *policy.observation_shape))
    actions, _ = policy.predict(batch.astype(np.float32))
    expected, _ = network.predict(batch.astype(np.float32), deterministic=True)
    np.testing.assert_array_equal(actions, expected)
    assert len(set(actions.tolist())) > 1
    one, _ = policy.predict(batch[0])
    assert one.shape == ()
    assert one == actions[0]


def test_equal_policies_give_equal_bytes(tmp_path):
    written(tmp_path / "a.safetensors")
    written(tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_any_cut_is_noticed(tmp_path):
    path = tmp_path / "policy.safetensors"
    written(path)
    content = path.read_bytes()
    for length in (0, 4, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="damaged"):
            agents.load(path)


def changed(path, **changes):
    """Another description with a checksum that fits: not damage, but made with intent."""
    content = read_tensor_file(path, HEADER)
    write_tensor_file(path, HEADER, {**content.header, **changes}, content.arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "sac"},
        {"policy": "os.system"},
        {"policy_kwargs": {"activation_fn": "os.system"}},
        {"policy_kwargs": {"features_extractor_class": "builtins.eval"}},
        {"policy_kwargs": {"optimizer_class": "Adam"}},
        {"policy_kwargs": {"net_arch": [17]}},
        {"policy_kwargs": {"net_arch": [10**9]}},
        {"policy_kwargs": None},
        {"env_kwargs": {"num_opponents": 4}},
        {"env_kwargs": {"no_such": 4}},
        {"policy_kwargs": {"net_arch": [16_384] * 32}},
        {"policy_kwargs": {"net_arch": {"pi": [16_384] * 2, "vf": []}}},
        {"policy_kwargs": {"n_quantiles": 16_384}},
        {"env_kwargs": {"num_opponents": 1_000_000}},
        {"env_kwargs": {"num_opponents": 10**12}},
        {"env_kwargs": {"num_opponents": [4]}},
        {"format": 1},
        {"more": 1},
    ],
)
def test_headers_that_do_not_fit_are_refused(tmp_path, changes):
    path = tmp_path / "policy.safetensors"
    # The weights of a plain network fit one number of opponents alone.
    written(path, config=Path("ppo_flat"))
    changed(path, **changes)
    with pytest.raises(ValueError, match=r"policy\.safetensors is damaged"):
        agents.load(path)


def test_a_description_is_held_against_the_weights_before_a_network_is_built(tmp_path, monkeypatch):
    path = tmp_path / "policy.safetensors"
    written(path)
    built = []
    monkeypatch.setattr(policy_file, "new_policy", lambda *given: built.append(given))
    changed(path, policy_kwargs={"net_arch": [16_384] * 32})
    with pytest.raises(ValueError, match=r"needs 8,321,\d{3},\d{3} weights at least"):
        agents.load(path)
    changed(path, algorithm="dqn", policy="MlpPolicy", policy_kwargs={},
            env_kwargs={"num_opponents": 1_000_000})  # fmt: skip
    with pytest.raises(ValueError, match=r"weights at least, and it holds"):
        agents.load(path)
    assert not built


def test_a_flipped_bit_is_seen_wherever_it_is(tmp_path):
    path = tmp_path / "policy.safetensors"
    network, description = written(path, "ppo", ENV, {"net_arch": [4]})
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    end = int.from_bytes(content[:8], "little") + 8
    places = [*rng.choice(end, 150, replace=False), *rng.integers(end, len(content), 50)]
    seen = 0
    for place in places:
        bit = 1 << int(rng.integers(8))
        content[place] ^= bit
        path.write_bytes(content)
        content[place] ^= bit
        try:
            found, said = read_policy(path)
        except ValueError:
            seen += 1
            continue
        # A blank in the JSON, say.
        assert said == description
        for name, tensor in network.state_dict().items():
            assert torch.equal(tensor, found.state_dict()[name])
    assert seen > 190


def test_a_file_without_a_checksum_is_read_with_a_warning(tmp_path):
    path = tmp_path / "policy.safetensors"
    network, description = written(path)
    save_file(network.state_dict(), path, {HEADER: json.dumps(asdict(description))})
    with pytest.warns(UserWarning, match="no checksum"):
        again, said = read_policy(path)
    assert said == description
    assert torch.equal(next(again.parameters()), next(network.parameters()))


def test_weights_that_are_not_finite_are_refused(tmp_path):
    path = tmp_path / "policy.safetensors"
    network, description = written(path)
    with torch.no_grad():
        next(network.parameters()).fill_(float("nan"))
    save_policy(path, network, description)
    with pytest.raises(ValueError, match="finite"):
        agents.load(path)


def test_safetensors_of_others_are_refused(tmp_path):
    save_file({"a": torch.zeros(1)}, tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match="no policy"):
        agents.load(tmp_path / "a.safetensors")


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_a_prior_of_somebodys_own_is_not_imported(tmp_path, monkeypatch):
    path = tmp_path / "policy.safetensors"
    network, description = written(path)
    (tmp_path / "foreign.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    own = {"prior": "foreign:Leagues", "reward": "foreign:Wins"}
    save_policy(path, network, replace(description, env_kwargs={**ENV, **own}))
    assert read_policy(path)[1].env_kwargs["prior"] == "foreign:Leagues"


def test_reading_runs_nothing(tmp_path):
    for name in ("a.safetensors", "policy.safetensors"):
        (tmp_path / name).write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
        with pytest.raises(ValueError, match="damaged"):
            agents.load(tmp_path / name)
    with pytest.raises(ValueError, match="damaged"):
        agents.load(tmp_path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("num_opponents", [2, 4])
def test_another_size_is_refused_with_both_sizes(tmp_path, num_opponents):
    path = tmp_path / "policy.safetensors"
    written(path)
    policy = agents.load(path)
    with pytest.raises(ValueError, match=r"num_opponents=3") as error:
        policy.predict(observations(num_opponents=num_opponents))
    assert str(2 * num_opponents + 3) in str(error.value)


def test_observations_that_are_not_finite_are_refused(tmp_path):
    path = tmp_path / "policy.safetensors"
    written(path)
    batch = observations(**ENV)
    batch[3, 2] = np.nan
    with pytest.raises(ValueError, match="finite"):
        agents.load(path).predict(batch)


MODELS = {
    "ppo": (PPO, "MlpPolicy", {"policy_kwargs": {"net_arch": [8], "activation_fn": torch.nn.ReLU}}),
    "shared": (PPO, SharedPolicy, {}),
    "a2c": (A2C, "MlpPolicy", {}),
    "dqn": (DQN, "MlpPolicy", {"buffer_size": 10}),
    "maskable_ppo": (MaskablePPO, "MlpPolicy", {"n_steps": 16, "batch_size": 16}),
    "ppo_lstm": (RecurrentPPO, "MlpLstmPolicy", {"policy_kwargs": {"lstm_hidden_size": 8}}),
    "qrdqn": (QRDQN, "MlpPolicy", {"buffer_size": 10, "policy_kwargs": {"n_quantiles": 5}}),
    "trpo": (TRPO, "MlpPolicy", {"policy_kwargs": {"net_arch": {"pi": [8], "vf": [4]}}}),
}


@pytest.mark.parametrize("name", MODELS)
def test_zips_of_stable_baselines3_say_themselves_what_they_are(tmp_path, name, monkeypatch):
    kind, policy_class, options = MODELS[name]
    env_kwargs = {"belief": "full"} if name == "shared" else {}
    env = gym.make("Matchmaking-v0", num_opponents=6, **env_kwargs)
    model = kind(policy_class, env, device="cpu", seed=0, **options)
    model.save(tmp_path / "model.zip")

    def never(*_, **__):
        raise AssertionError("a pickled object was read")

    settings = Settings.checked(num_opponents=6)
    with monkeypatch.context() as patch:
        for reader in ("cloudpickle.loads", "pickle.loads", "pickle.load"):
            patch.setattr(reader, never)
        policy = agents.policy_named(str(tmp_path / "model.zip"), settings)
    batch = observations(num_opponents=6, belief=policy.belief)
    expected = model.predict(batch, deterministic=True)[0]
    np.testing.assert_array_equal(policy.predict(batch)[0], expected)
    assert policy.is_shared == (name == "shared")
    if not policy.is_shared:
        with pytest.raises(ValueError, match="num_opponents=6 and cannot play with"):
            policy.for_settings(Settings.checked(num_opponents=5))


def test_zips_of_the_queue_and_of_pools_that_change(tmp_path):
    for env in (
        gym.make("MatchmakingQueue-v0", capacity=7),
        gym.make("Matchmaking-v0", num_opponents=5, availability=0.5, mean_stay=4.0),
    ):
        model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=16, device="cpu", seed=0)
        model.save(tmp_path / "model.zip")
        policy = agents.load(tmp_path / "model.zip")
        observation, masks = env.reset(seed=1)[0], env.unwrapped.action_masks()
        expected = model.predict(observation, action_masks=masks, deterministic=True)[0]
        assert policy.predict(observation)[0] == expected
        assert policy.settings is None or policy.settings.capacity == 7


def test_zips_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "bad.zip").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"bad\.zip is no model that can be read"):
        agents.load(tmp_path / "bad.zip")
    PPO("MlpPolicy", "CartPole-v1", device="cpu").save(tmp_path / "cart.zip")
    with pytest.raises(ValueError, match="are those of another environment"):
        agents.load(tmp_path / "cart.zip")
    model = PPO("MlpPolicy", "Matchmaking-v0", device="cpu")
    model.save(tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    data = json.loads(content["data"])
    for changes, message in (
        ({"policy_kwargs": {"net_arch": [16_384] * 30}}, "weights at least"),
        ({"policy_kwargs": {"activation_fn": "<class 'mine.Odd'>"}}, "activation_fn"),
        ({"policy_class": {"__module__": "os"}}, "another library"),
        ({"policy_kwargs": {"net_arch": [[]] * 2000}}, "net_arch"),
    ):
        with zipfile.ZipFile(tmp_path / "changed.zip", "w") as packed:
            for name, each in content.items():
                packed.writestr(name, json.dumps(data | changes) if name == "data" else each)
        with pytest.raises(ValueError, match=message):
            agents.load(tmp_path / "changed.zip")
    torch.save(Trap(tmp_path / "sprung"), tmp_path / "trap.pth")
    with zipfile.ZipFile(tmp_path / "changed.zip", "w") as packed:
        for name, each in content.items():
            trap = (tmp_path / "trap.pth").read_bytes()
            packed.writestr(name, trap if name == "policy.pth" else each)
    with pytest.raises(ValueError, match="no model that can be read"):
        agents.load(tmp_path / "changed.zip")
    assert not (tmp_path / "sprung").exists()


def test_missing_things_are_named(tmp_path):
    for missing in ("no-such-run", tmp_path / "none", tmp_path / "none.safetensors"):
        with pytest.raises(ValueError, match="there is no"):
            agents.load(missing)
    with pytest.raises(ValueError, match="holds no run"):
        agents.load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "differing"),
    [
        ({"beta": 0.4}, r"beta=1\.58\d* and cannot play with beta=0\.4"),
        ({"draw_margin": 0.5}, r"draw_margin=0\.0 and cannot play with draw_margin=0\.5"),
        ({"tau": 0.1, "horizon": 30}, r"horizon=20, tau=0\.0 and .* horizon=30, tau=0\.1"),
        ({"num_opponents": 4}, "num_opponents=3 and cannot play with num_opponents=4"),
    ],
)
def test_other_settings_than_those_of_the_training_are_refused(tmp_path, changes, differing):
    """By a network of fixed size; tests/agents/test_network.py has the shared one."""
    path = tmp_path / "policy.safetensors"
    written(path, config=Path("ppo_flat"))
    settings = Settings.checked(**{**ENV, **changes})
    with pytest.raises(ValueError, match=differing):
        agents.load(path, settings=settings)
    with pytest.raises(ValueError, match=differing):
        agents.policy_named(str(path), settings)


def test_priors_ranks_and_rewards_may_be_others(tmp_path):
    path = tmp_path / "policy.safetensors"
    written(path)
    others = {"prior": "equal", "rank": "top", "reward": "true_draw_density", "belief": "full"}
    policy = agents.policy_named(str(path), Settings.checked(**ENV, **others))
    assert policy.belief == "factorised"
    assert policy.settings == Settings.checked(**ENV)


def test_a_run_that_changed_is_read_again(tmp_path):
    path = tmp_path / "policy.safetensors"
    settings = Settings.checked(**ENV)
    written(path)
    first = agents.policy_named(str(path), settings)
    assert agents.policy_named(str(path), settings) is first
    network, description = read_policy(path)
    with torch.no_grad():
        next(network.parameters()).add_(1.0)
    save_policy(path, network, description)
    again = agents.policy_named(str(path), settings)
    assert not torch.equal(next(again.network.parameters()), next(first.network.parameters()))
