"""The shared network: its numbers and invariances; choices and training with action masks."""

import copy
import json
import pickle
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from dense_belief import some_masks
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import PPO

from matchenv import MatchmakingEnv, MatchmakingVectorEnv, Settings, agents
from matchenv.agents.network import CandidateReader, OpponentReader, reader_of, spaces_of
from matchenv.agents.policy_file import LearnedPolicy, PolicyDescription
from matchenv.agents.run_config import ALGORITHMS
from matchenv.agents.sb3_policies import SharedPolicy
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.envs.queue.population import NormalPopulation
from matchenv.envs.queue.settings import QueueSettings
from matchenv.trueskill import draw_density, match_quality

# PPO with scores that are linear in the numbers of a row.
LINEAR = "linear"
SHARED = [*ALGORITHMS, LINEAR]
BELIEFS = ["factorised", "full"]
ORDER = np.array([3, 0, 4, 1, 2])


def played(games=12, opponents=5, count=32, **options):
    """Return observations in the middle of episodes, and the settings."""
    env = MatchmakingVectorEnv(count, num_opponents=opponents, horizon=40, **options)
    observation, _ = env.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(games):
        masks = env.action_masks()
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        observation = env.step(actions)[0]
    return observation, env.settings


def numbers(observation, settings, **changes):
    reader = OpponentReader(spaces_of(replace(settings, **changes))[0])
    flat = reader(torch.from_numpy(np.asarray(observation, dtype=np.float32)))
    return reader.split(flat)


def permuted(observation, belief):
    reordered = observation.copy()
    starts = [1, 7]
    if belief == "full":
        starts.append(12)
    for first in starts:
        reordered[:, first : first + 5] = observation[:, first : first + 5][:, ORDER]
    return reordered


def learned(algo="ppo", policy="SharedPolicy", **options):
    """Return a policy with random weights for these settings."""
    settings = Settings.checked(**{"num_opponents": 5, "horizon": 40, **options})
    kwargs = {"net_arch": [8]}
    if algo == LINEAR:
        algo = "ppo"
        kwargs = {"net_arch": {"pi": [], "vf": [8]}}
    if policy == "Reader":  # a plain network behind it
        policy = "MlpPolicy"
        kwargs["features_extractor_class"] = "Reader"
    network = PolicyDescription(algo, policy, kwargs, settings.changed()).network()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return LearnedPolicy("some", network, settings.belief, settings)


@pytest.mark.parametrize("belief", BELIEFS)
def test_the_first_number_is_the_relative_log_draw_density(belief):
    observation, settings = played(belief=belief)
    rows, online, context = numbers(observation, settings)
    assert rows.shape == (32, OpponentReader.row_size, 5)
    assert context.shape == (32, OpponentReader.context_size)
    assert (online == 1.0).all()
    mu, sigma = observation[:, :6].astype(float), observation[:, 6:12].astype(float)
    # Only the variance of the difference matters.
    halves = observation[:, 12:17].astype(float) / np.sqrt(2.0)
    sigma_0 = halves
    sigma_k = halves
    if belief == "factorised":
        sigma_0 = sigma[:, :1]
        sigma_k = sigma[:, 1:]
    log_q = np.log(draw_density(mu[:, :1], sigma_0, mu[:, 1:], sigma_k, settings.beta))
    np.testing.assert_allclose(rows[:, 0], log_q - log_q.max(1, keepdims=True), atol=1e-4)


@pytest.mark.parametrize("belief", BELIEFS)
def test_opponents_are_invariant_to_order_and_scale(belief):
    observation, settings = played(belief=belief)
    rows, _, context = numbers(observation, settings)
    again, _, same = numbers(permuted(observation, belief), settings)
    np.testing.assert_allclose(again, rows[:, :, ORDER], atol=1e-4)
    np.testing.assert_allclose(same, context, atol=1e-4)
    shifted = observation.copy()
    shifted[:, :6] += 3.0
    mirrored = observation.copy()
    mirrored[:, :6] *= -1.0
    scaled = observation.copy()
    scaled[:, :-1] *= 2.0
    for changed, beta in ((shifted, 1.0), (mirrored, 1.0), (scaled, 2.0)):
        again, _, same = numbers(changed, settings, beta=beta * settings.beta)
        np.testing.assert_allclose(again, rows, atol=5e-3)
        np.testing.assert_allclose(same, context, atol=5e-3)


def test_offline_opponents_do_not_affect_the_others():
    observation, settings = played(belief="full", availability=0.5, mean_stay=5)
    rows, online, _ = numbers(observation, settings)
    np.testing.assert_array_equal(online, observation[:, -5:])
    assert 0.0 < float(online.mean()) < 1.0
    best = (rows[:, 0] * online - 1e3 * (1.0 - online)).amax(1)
    np.testing.assert_allclose(best, 0.0, atol=1e-6)
    moved = observation.copy()
    offline = np.flatnonzero(online[0].numpy() == 0.0)
    moved[0, 1 + offline] += 50.0
    again, _, _ = numbers(moved, settings)
    kept = online[0] == 1.0
    np.testing.assert_allclose(again[0][:, kept], rows[0][:, kept], atol=1e-6)


def test_candidates_are_invariant_to_scale_and_capacity():
    settings = QueueSettings()
    population = settings.population
    capacity = settings.capacity
    rng = np.random.default_rng(0)
    mu = rng.normal(0, 2, capacity)
    sigma = rng.uniform(0.3, 2, capacity)
    waited = rng.uniform(0, 0.9, capacity)
    queue = np.array([20.0, 7.0, 60.0])

    def read(unit, zero, room):
        players = np.zeros((4, room))
        players[:, :capacity] = zero - unit * mu, abs(unit) * sigma, waited, np.ones(capacity)
        observation = np.concatenate((players.ravel(), queue / (queue + room)))
        scale = abs(unit)
        moved = QueueSettings(
            capacity=room,
            population=NormalPopulation(
                zero + unit * population.mean, scale * population.deviation
            ),
            beta=scale * settings.beta,
        )
        reader = CandidateReader(spaces_of(moved)[0])
        numbers = reader.split(reader(torch.tensor(observation[np.newaxis])))
        assert (numbers.allowed[0, capacity:] == 0.0).all()
        return numbers.rows[:, :, :capacity], numbers.context

    rows, context = read(1.0, 0.0, capacity)
    expected = match_quality(mu[0], sigma[0], mu[1:], sigma[1:], settings.beta)
    np.testing.assert_allclose(rows[0, 0, 1:], expected, rtol=1e-5)
    for other in ((-3.0, 25.0, capacity), (1.0, 0.0, 40)):
        again, same = read(*other)
        torch.testing.assert_close(again, rows)
        torch.testing.assert_close(same, context)


@pytest.mark.parametrize(
    "options",
    [
        {"side_size": 2, "party_sizes": (0.7, 0.3)},
        {"side_size": 5, "party_sizes": (0.6, 0.2, 0.1, 0.05, 0.05)},
        {"num_sides": 3, "side_size": 2},
    ],
)
def test_lobbies_are_invariant_to_scale_and_capacity(options):
    """The same choices in queues whose skills have another unit, origin or capacity.

    There are no newcomers, of whom two can be at the same distance, up to rounding.
    """
    options = {**options, "newcomers": 0.0}
    unit = 3.0
    changes = (
        {},
        {
            "population": NormalPopulation(25.0, unit * QueueSettings().population.deviation),
            "beta": unit * QueueSettings().beta,
        },
        {"capacity": 40},
    )
    queues = []
    for change in changes:
        env = gym.make_vec("MatchmakingQueue-v0", 16, **options, **change)
        reader = reader_of(QueueSettings(**options, **change))["features_extractor_class"]
        queues.append((env, reader(env.single_observation_space)))
    observations = [env.reset(seed=3)[0] for env, _ in queues]
    rng = np.random.default_rng(0)
    for _ in range(60):
        read = [
            reader.split(reader(torch.from_numpy(observation)))
            for (_, reader), observation in zip(queues, observations, strict=True)
        ]
        chances = read[0].allowed.numpy() * rng.random(read[0].allowed.shape)
        for numbers_of_queue in read[1:]:
            rows = numbers_of_queue.rows[:, :, :16]
            torch.testing.assert_close(rows, read[0].rows, atol=1e-3, rtol=1e-3)
            torch.testing.assert_close(
                numbers_of_queue.context, read[0].context, atol=1e-3, rtol=1e-3
            )
        actions = chances.argmax(axis=1)
        observations = [env.step(actions)[0] for env, _ in queues]


OPTIONS = [
    ("Matchmaking-v0", {"num_opponents": 3, "beta": 8.0, "horizon": 30, "belief": "full"}),
    ("Matchmaking-v0", {"num_opponents": 3, "availability": 0.5, "mean_stay": 4.0}),
    ("MatchmakingQueue-v0", {"population": NormalPopulation(25.0, 8.0), "game_length": 3}),
    ("MatchmakingQueue-v0", {"side_size": 3, "party_sizes": (0.5, 0.3, 0.2)}),
    ("Ranking-v0", {"num_items": 5, "barred_pairs": ((0, 3),), "goal": "top", "k": 2}),
]


@pytest.mark.parametrize(("env_id", "options"), OPTIONS)
def test_the_observation_space_tells_the_settings(env_id, options):
    env = gym.make(env_id, **options)
    space = env.observation_space
    native = gym.make_vec(env_id, 2, **options).single_observation_space
    pickled = pickle.loads(pickle.dumps(space))
    for copied in (space, copy.copy(space), copy.deepcopy(space), pickled, native):
        read = copied.settings
        for name in ("beta", "horizon", *options):
            if name == "population":
                expected = env.unwrapped.settings.population
                assert read.population.mean == expected.mean
                assert read.population.deviation == expected.deviation
            else:
                assert getattr(read, name) == getattr(env.unwrapped.settings, name)
        plain = gym.spaces.Box(space.low, space.high)
        assert copied == plain
        assert plain == copied
        json.dumps(copied.options)


@pytest.mark.parametrize(("env_id", "options"), OPTIONS)
def test_a_policy_reads_observations_at_the_scale_of_its_environment(env_id, options):
    """As the adapter does; without it, the options would be the default ones."""
    env = gym.make(env_id, **options)
    model = PPO(SharedPolicy, env, device="cpu", seed=0)
    settings = model.policy.features_extractor.settings
    assert settings.beta == env.unwrapped.settings.beta
    assert settings.horizon == env.unwrapped.settings.horizon
    adapted = PPO(
        SharedPolicy, MatchmakingVecEnv(1, environment=env_id, **options), device="cpu", seed=0
    )
    observation = env.reset(seed=1)[0]
    tensor, _ = model.policy.obs_to_tensor(observation)
    with torch.no_grad():
        first = model.policy.get_distribution(tensor).distribution.logits
        second = adapted.policy.get_distribution(tensor).distribution.logits
    assert torch.equal(first, second)


@pytest.mark.parametrize("reader", [OpponentReader, CandidateReader])
def test_a_reader_refuses_a_space_that_tells_no_settings(reader):
    box = spaces_of(Settings())[0]
    with pytest.raises(ValueError, match="must be that of an environment of matchenv"):
        reader(gym.spaces.Box(box.low, box.high))


@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("algo", SHARED)
def test_policies_are_equivariant_and_play_other_numbers_of_opponents(algo, belief):
    few = learned(algo, belief=belief)
    observation, _ = played(belief=belief, count=64)
    actions = few.predict(observation)[0]
    again = few.predict(permuted(observation, belief))[0]
    np.testing.assert_array_equal(ORDER[again], actions)
    assert len(set(actions.tolist())) > 1
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    many = few.for_settings(Settings.checked(num_opponents=30, horizon=9))
    assert torch.equal(torch.rand(3), expected)  # no random number was drawn
    assert (many.settings.belief, many.settings.horizon) == (belief, 9)
    observation, _ = played(8, 30, 64, belief=belief)
    assert many.observation_shape == observation.shape[1:]
    # A network that was made for 30 opponents and has the same weights.
    network = learned(algo, belief=belief, num_opponents=30, horizon=9).network
    actions = many.predict(observation)[0]
    np.testing.assert_array_equal(actions, network.predict(observation, deterministic=True)[0])
    assert len(set(actions.tolist())) > 1
    assert few.num_opponents == 5  # stays as it was


def test_policies_adapt_to_other_settings():
    observation, _ = played(belief="factorised", count=500)
    for kind in ("Reader", "SharedPolicy"):
        policy = learned(policy=kind)
        other = policy.for_settings(Settings.checked(num_opponents=5, horizon=40, beta=10.0))
        scaled = observation.copy()
        scaled[:, :-1] *= 10.0 / policy.settings.beta
        actions = other.predict(scaled)[0]
        np.testing.assert_array_equal(policy.predict(observation)[0], actions)
        assert (policy.predict(scaled)[0] != actions).any()
    for count in (2, 100_000):
        settings = Settings.checked(num_opponents=count)
        assert learned(num_opponents=20, rank=15).for_settings(settings).num_opponents == count
    drifting = Settings.checked(num_opponents=5, horizon=40, tau=0.1, draw_margin=0.5)
    assert policy.for_settings(drifting).settings.tau == 0.1
    with pytest.raises(ValueError, match=r"reads the full belief and cannot play: tau must"):
        learned(belief="full").for_settings(drifting)
    with pytest.raises(ValueError, match="only plays Matchmaking-v0"):
        policy.for_settings(QueueSettings())


@pytest.mark.parametrize("algo", SHARED)
def test_offline_opponents_are_never_chosen(algo):
    pool = Settings.checked(num_opponents=12, horizon=9, availability=0.4, mean_stay=4.0)
    observation, _ = played(1, 12, 256, availability=0.4, mean_stay=4)
    online = observation[:, -12:]
    assert 0.0 < online.mean() < 1.0
    for policy in (learned(algo, num_opponents=12, availability=0.4), learned(algo)):
        actions = policy.for_settings(pool).predict(observation)[0]
        assert (online[np.arange(256), actions] == 1.0).all()


def test_initial_weights_slightly_prefer_higher_density():
    settings = Settings.checked(num_opponents=49, belief="full", horizon=40)
    policy = PolicyDescription("ppo", "SharedPolicy", {}, settings.changed()).network()
    observation, _ = played(5, 49, belief="full")
    with torch.no_grad():
        chances = policy.get_distribution(torch.from_numpy(observation)).distribution.probs.numpy()
    density = numbers(observation, settings)[0][:, 0].numpy()
    assert chances.max() < 0.7
    np.testing.assert_array_equal(chances.argmax(1), density.argmax(1))


CHANGING: dict[str, Any] = {
    "num_opponents": 6,
    "horizon": 20,
    "availability": 0.5,
    "mean_stay": 4.0,
    "turnover": 0.05,
}
STEADY: dict[str, Any] = {"num_opponents": 6, "horizon": 20}


@pytest.mark.parametrize(
    ("algo", "belief"), [*((algo, "factorised") for algo in ALGORITHMS), ("ppo", "full")]
)
def test_a_masked_choice_follows_the_order_of_the_scores(algo, belief):
    """Masking each chosen action in turn gives the order; all other masks must agree with it."""
    policy = learned(algo, "MlpPolicy", belief=belief, **STEADY)
    plain = MatchmakingVectorEnv(8, belief=belief, **STEADY)
    observation = plain.reset(seed=1)[0]
    rows = np.arange(8)
    order = [policy.predict(observation)[0]]
    masks = np.ones((8, 6), dtype=bool)
    for _ in range(5):
        masks[rows, order[-1]] = False
        order.append(policy.predict(observation, action_masks=masks)[0])
    ranks = np.argsort(np.array(order), axis=0).T
    assert (np.arange(6) == np.sort(np.array(order), axis=0).T).all()
    for masks in some_masks(80, 6, np.random.default_rng(0)).reshape(10, 8, 6):
        expected = np.where(masks, ranks, 99).argmin(axis=1)
        actions, _ = policy.predict(observation, action_masks=masks)
        np.testing.assert_array_equal(actions, expected)
        assert policy.predict(observation[3], action_masks=masks[3].astype(int))[0] == expected[3]
        drawn, _ = policy.predict(observation, deterministic=False, action_masks=masks)
        assert masks[rows, drawn].all()


def test_sampling_uses_the_masked_and_normalised_probabilities():
    policy = learned("ppo", "MlpPolicy", **STEADY)
    row = MatchmakingEnv(**STEADY).reset(seed=0)[0]
    mask = np.array([True, False, True, True, False, False])
    many = np.tile(row, (20_000, 1))
    drawn, _ = policy.predict(many, deterministic=False, action_masks=np.tile(mask, (len(many), 1)))
    with torch.no_grad():
        tensor, _ = policy.network.obs_to_tensor(row)
        chances = policy.network.get_distribution(tensor).distribution.probs[0].numpy() * mask
    chances = chances / chances.sum()
    counts = np.bincount(drawn, minlength=6) / len(many)
    assert (np.abs(counts - chances) < 4.5 * np.sqrt(chances / len(many)) + 1e-12).all()
    with pytest.raises(ValueError, match="they allow none at index 0"):
        policy.predict(many[:2], action_masks=np.zeros((2, 6)))


def test_the_vec_env_provides_masks_to_sb3_contrib():
    env = MatchmakingVecEnv(5, **CHANGING)
    env.reset()
    assert is_masking_supported(env)
    np.testing.assert_array_equal(get_action_masks(env), env.natives[0].action_masks())


@pytest.mark.parametrize("algo", ["a2c", "ppo", "trpo"])
def test_training_on_a_changing_pool_plays_no_masked_action(algo, tmp_path, small_config):
    refusing = {**CHANGING, "invalid_action": "error"}
    config = small_config(algo, timesteps=256, env_kwargs=refusing)
    agents.start_training(tmp_path / "run", config, quiet=True)
