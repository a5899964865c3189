"""The shared network in every algorithm: any order, any number of opponents, nobody offline."""

import numpy as np
import pytest
import torch

from matchenv import MatchmakingVectorEnv
from matchenv.agents.algorithms import ALGORITHMS
from matchenv.agents.policy_network import new_policy
from matchenv.settings import Settings

SHARED = [name for name, each in ALGORITHMS.items() if "SharedPolicy" in each.policies]
FULL = {"horizon": 40, "belief": "full"}


def policy_of(algo, seed=0, **options):
    torch.manual_seed(0)
    kwargs = {"net_arch": [8], **({"n_quantiles": 3} if algo == "qrdqn" else {})}
    settings = Settings.checked(**{**FULL, **options})
    policy = new_policy(ALGORITHMS[algo], "SharedPolicy", kwargs, settings)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return policy


def observations(opponents, count=64, **options):
    return MatchmakingVectorEnv(count, num_opponents=opponents, **{**FULL, **options}).reset(
        seed=1
    )[0]


def test_every_algorithm_but_the_recurrent_one_has_it():
    assert set(ALGORITHMS) - set(SHARED) == {"ppo_lstm"}


@pytest.mark.parametrize("algo", SHARED)
def test_permuting_the_opponents_permutes_the_choice(algo):
    policy, observation = policy_of(algo, num_opponents=5), observations(5)
    order = np.array([3, 0, 4, 1, 2])
    permuted = observation.copy()
    for first in (1, 7, 12):
        permuted[:, first : first + 5] = observation[:, first : first + 5][:, order]
    actions, again = (
        policy.predict(each, deterministic=True)[0] for each in (observation, permuted)
    )
    np.testing.assert_array_equal(order[again], actions)
    assert len(set(actions.tolist())) > 1


@pytest.mark.parametrize("algo", SHARED)
def test_the_same_weights_fit_any_number_of_opponents(algo):
    few, many = policy_of(algo, num_opponents=4), policy_of(algo, num_opponents=30)
    many.load_state_dict(few.state_dict())
    assert many.predict(observations(30), deterministic=True)[0].shape == (64,)


@pytest.mark.parametrize("algo", SHARED)
def test_nobody_is_chosen_who_is_offline(algo):
    options = {"num_opponents": 6, "availability": 0.4, "mean_stay": 4}
    policy = policy_of(algo, **options)
    observation = observations(6, count=256, availability=0.4, mean_stay=4)
    actions, _ = policy.predict(observation, deterministic=True)
    online = observation[:, -6:]
    assert 0.0 < online.mean() < 1.0
    assert (online[np.arange(256), actions] == 1.0).all()


def test_at_first_all_opponents_are_about_equally_likely():
    torch.manual_seed(0)
    settings = Settings.checked(num_opponents=49, **FULL)
    policy = new_policy(ALGORITHMS["ppo"], "SharedPolicy", {}, settings)
    with torch.no_grad():
        chances = policy.get_distribution(torch.from_numpy(observations(49))).distribution.probs
    assert float(chances.max()) < 2.0 / 49.0
