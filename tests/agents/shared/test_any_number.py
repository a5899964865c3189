"""A trained shared network plays other fields, horizons and units of skill than its training."""

import numpy as np
import pytest
import torch

from matchenv import MatchmakingVectorEnv
from matchenv.agents.algorithms import ALGORITHMS
from matchenv.agents.policy_network import new_policy
from matchenv.agents.shared.any_number import SharedLearnedPolicy
from matchenv.agents.tasks import OnePlayerTask
from matchenv.settings import Settings

SHARED = [name for name, each in ALGORITHMS.items() if "SharedPolicy" in each.policies]


def learned(algo="ppo", **options):
    """A policy of random weights, as if it had been trained with these settings."""
    settings = Settings.checked(**{"num_opponents": 5, "horizon": 40, **options})
    kwargs = {"net_arch": [8], **({"n_quantiles": 3} if algo == "qrdqn" else {})}
    network = new_policy(ALGORITHMS[algo], "SharedPolicy", kwargs, settings)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return OnePlayerTask().learned("some", network, settings)


def played(settings, count=64, games=6):
    env = MatchmakingVectorEnv(count, **vars(settings))
    observation, _ = env.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(games):
        observation = env.step(rng.integers(settings.num_opponents, size=count))[0]
    return observation


@pytest.mark.parametrize("belief", ["factorised", "full"])
@pytest.mark.parametrize("algo", SHARED)
def test_more_opponents_than_in_the_training(algo, belief):
    few, larger = learned(algo, belief=belief), Settings.checked(num_opponents=30, horizon=9)
    assert isinstance(few, SharedLearnedPolicy)
    many = few.for_settings(larger)
    assert many.settings.belief == few.belief == belief
    observation = played(many.settings)
    assert many.observation_shape == observation.shape[1:]
    actions = many.predict(observation)[0]
    # A network that was made for 30 opponents and has the same weights.
    network = learned(algo, belief=belief, num_opponents=30, horizon=9).network
    np.testing.assert_array_equal(actions, network.predict(observation, deterministic=True)[0])
    assert len(set(actions.tolist())) > 1
    # The policy itself stays what it was.
    assert few.num_opponents == 5


def test_the_unit_of_skill_does_not_matter():
    policy = learned()
    other = policy.for_settings(Settings.checked(num_opponents=5, horizon=40, beta=10.0))
    observation = played(policy.settings)
    scaled = observation.copy()
    scaled[:, :-1] *= 10.0 / policy.settings.beta
    np.testing.assert_array_equal(policy.predict(observation)[0], other.predict(scaled)[0])


def test_fewer_opponents_than_the_place_of_the_training():
    policy = learned(num_opponents=20, rank=15)
    assert policy.for_settings(Settings.checked(num_opponents=2)).num_opponents == 2


def test_draws_and_drift_where_the_belief_follows_them():
    drifting = Settings.checked(num_opponents=5, horizon=40, tau=0.1, draw_margin=0.5)
    assert learned().for_settings(drifting).settings.tau == 0.1
    with pytest.raises(ValueError, match=r"reads the full belief and cannot play: tau must"):
        learned(belief="full").for_settings(drifting)


def test_who_is_offline_is_not_chosen_there_either():
    pool = Settings.checked(num_opponents=12, horizon=9, availability=0.4, mean_stay=4.0)
    observation = played(pool, count=256, games=0)
    actions = learned().for_settings(pool).predict(observation)[0]
    assert (observation[np.arange(256), observation.shape[1] - 12 + actions] == 1.0).all()


def test_to_adapt_a_policy_draws_nothing():
    policy = learned()
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    policy.for_settings(Settings.checked(num_opponents=12))
    assert torch.equal(torch.rand(3), expected)
