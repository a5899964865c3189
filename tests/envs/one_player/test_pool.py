"""Changing pools: Markov chains, newcomers and masks against theory."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from matchenv import MatchmakingEnv, MatchmakingVectorEnv, Settings
from matchenv.belief import BELIEFS, GameConstants

Masks = NDArray[np.bool_]


def started(count: int, **options: Any) -> MatchmakingVectorEnv:
    """Return a vector environment after a reset."""
    env = MatchmakingVectorEnv(count, **options)
    env.reset(seed=0)
    return env


def masks_of(games: int, count: int, **options: Any) -> Masks:
    """Return masks before the first game and after each, (games + 1, B, M)."""
    env = started(count, horizon=games, **options)
    masks = [env.action_masks().copy()]
    for _ in range(games):
        env.step(masks[-1].argmax(axis=1))
        masks.append(env.action_masks().copy())
    return np.array(masks)


def assert_share(hits: NDArray[Any], expected: float) -> None:
    """Check a share of independent trials within 4.5 standard errors."""
    error = np.sqrt(expected * (1.0 - expected) / hits.size)
    assert abs(hits.mean() - expected) < 4.5 * error, (hits.mean(), expected, error)


@pytest.mark.parametrize(("share", "stay"), [(0.5, 10.0), (0.3, 4.0), (0.8, 25.0)])
def test_each_opponent_is_a_stationary_chain_of_two_states(share: float, stay: float) -> None:
    """With forty opponents the probability that all are offline is below 1e-6."""
    masks = masks_of(60, 100, num_opponents=40, availability=share, mean_stay=stay)
    assert_share(masks[0], share)
    assert_share(masks[-1], share)
    before, after = masks[:-1], masks[1:]
    leave, come = 1.0 / (2.0 * share * stay), 1.0 / (2.0 * (1.0 - share) * stay)
    assert_share(~after[before], leave)
    assert_share(after[~before], come)
    twice = before[:-1] & after[:-1]  # stays have no memory
    assert_share(~after[1:][twice], leave)


def test_the_opponent_who_must_come_online_is_random() -> None:
    """Compare the chain of the whole mask with its transition matrix."""
    share, stay = 0.2, 10.0
    leave, come = 1.0 / (2.0 * share * stay), 1.0 / (2.0 * (1.0 - share) * stay)
    masks = masks_of(50, 400, num_opponents=2, availability=share, mean_stay=stay)
    assert masks.any(axis=2).all()
    states, chain = masks @ np.array([2, 1]), np.array([[1.0 - come, come], [leave, 1.0 - leave]])
    expected = np.kron(chain, chain)
    expected[:, 1:3] += 0.5 * expected[:, :1]
    for state, after in product((1, 2, 3), repeat=2):
        following = states[1:][states[:-1] == state]
        assert_share(following == after, expected[state, after])
    both = masks[0].all(axis=1)
    assert_share(both, share**2)
    assert_share(masks[0, :, 0] & ~both, share * (1 - share) + 0.5 * (1 - share) ** 2)


@pytest.mark.parametrize("belief", sorted(BELIEFS))
@pytest.mark.parametrize("prior", ["informative", "equal"])
def test_newcomers_have_the_turnover_rate_and_a_calibrated_prior(belief: str, prior: str) -> None:
    options: Any = {"num_opponents": 12, "turnover": 0.2, "belief": belief, "prior": prior}
    env = started(40, horizon=60, **options)
    replaced, means, errors = [], [], []
    for game in range(60):
        skills = env.true_skill
        observation, *_ = env.step(np.full(40, game % 12))
        state, now = env.knowledge_state, env.true_skill
        new = now[:, 1:] != skills[:, 1:]
        replaced.append(new)
        np.testing.assert_array_equal(now[:, 0], skills[:, 0])
        mu, sigma = state.mu[:, 1:][new], state.sigma[:, 1:][new]
        assert ((sigma**2 >= 2.0) & (sigma**2 <= 3.0)).all()
        assert prior == "informative" or (mu == 0.0).all()
        # A newcomer's skill is uncorrelated with player 0's.
        apart = state.sigma[:, :1] ** 2 + state.sigma[:, 1:] ** 2
        np.testing.assert_allclose(state.difference_variance[new], apart[new], rtol=1e-12)
        means.append(mu)
        errors.append((now[:, 1:][new] - mu) / sigma)
        shown = state.to_observation((59 - game) / 60)
        np.testing.assert_array_equal(observation, np.hstack((shown, np.ones((40, 12)))))
    assert_share(np.array(replaced), 0.2)
    mu, z = np.concatenate(means), np.concatenate(errors)
    assert np.unique(z).size == z.size
    if prior == "informative":
        assert abs(mu.mean()) < 4.5 * 2.0 / np.sqrt(mu.size)
        assert abs((mu**2).mean() - 4.0) < 4.5 * 4.0 * np.sqrt(2.0 / mu.size)
    spread = 1.0 if prior == "informative" else 6.5 / 2.5
    assert abs((z**2).mean() / spread - 1.0) < (0.06 if prior == "informative" else 0.1)


@pytest.mark.parametrize("belief", sorted(BELIEFS))
def test_departures_do_not_change_beliefs_about_others(belief: str) -> None:
    env = started(8, num_opponents=6, horizon=30, turnover=0.15, belief=belief)
    constants = GameConstants(Settings().beta)
    for game in range(30):
        before, skills, opponents = env.knowledge_state, env.true_skill, np.full(8, game % 6)
        infos = env.step(opponents)[4]
        expected = before.after_games(opponents, infos["outcome"], constants)
        stayed, after = np.array(env.true_skill == skills), env.knowledge_state
        for name, rows in (
            ("mu", stayed),
            ("sigma", stayed),
            ("difference_variance", stayed[:, 1:]),
        ):
            found, wanted = getattr(after, name)[rows], getattr(expected, name)[rows]
            np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_a_seed_has_the_players_and_noise_of_a_constant_pool() -> None:
    changing = MatchmakingEnv(num_opponents=7, horizon=6, availability=0.5)
    constant = MatchmakingEnv(num_opponents=7, horizon=6)
    for seed in (3, None, None):
        changing.reset(seed=seed)
        constant.reset(seed=seed)
        np.testing.assert_array_equal(changing.true_skill, constant.true_skill)
        for _ in range(6):
            action = int(changing.action_masks().argmax())
            result, expected = changing.step(action), constant.step(action)
            assert result[1:4] == expected[1:4]
            assert {name: result[4][name] for name in expected[4]} == expected[4]
            np.testing.assert_array_equal(result[0][:-7], expected[0])


@pytest.mark.parametrize("limit", [None, 5])
def test_actions_do_not_change_the_pool(limit: int | None) -> None:
    options: Any = {"num_opponents": 9, "horizon": 40, "availability": 0.3, "turnover": 0.05}
    one, other = (
        started(6, belief="full", **options),
        started(6, max_games_per_opponent=limit, **options),
    )
    rng, fewer = np.random.default_rng(0), 0
    for _ in range(40):
        free, limited = one.action_masks(), other.action_masks()
        outside = limited & ~free
        assert not outside[(limited & free).any(axis=1)].any()
        assert (outside.sum(axis=1) <= 1).all()
        fewer += (free & ~limited).sum()
        if limit is None:
            np.testing.assert_array_equal(free, limited)
        np.testing.assert_array_equal(one.true_skill, other.true_skill)
        one.step((rng.random((6, 9)) * free).argmax(axis=1))
        other.step((rng.random((6, 9)) * limited).argmax(axis=1))
    assert (fewer > 0) == (limit is not None)


def test_a_single_opponent_is_always_online_and_with_the_shortest_stays_all_alternate() -> None:
    assert masks_of(30, 5, num_opponents=1, availability=0.05, mean_stay=10.0).all()
    masks = masks_of(10, 3, num_opponents=30, availability=0.5, mean_stay=1.0)
    assert (masks[1:] != masks[:-1]).all()
    Settings.checked(availability=0.9, mean_stay=5.0)


@pytest.mark.parametrize("options", [{}, {"availability": 0.4, "mean_stay": 2.0}])
def test_the_limit_of_games_is_kept_and_every_game_has_an_opponent(options: dict[str, Any]) -> None:
    env = MatchmakingVectorEnv(50, num_opponents=4, horizon=12, max_games_per_opponent=3, **options)
    observation, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    met = np.zeros((50, 4), dtype=int)
    for _ in range(12):
        allowed = env.action_masks()
        assert (met[allowed] < 3).all()
        assert allowed.any(axis=1).all()
        if not options:
            np.testing.assert_array_equal(allowed, met < 3)
        np.testing.assert_array_equal(observation[:, -4:], allowed)
        actions = (rng.random((50, 4)) * allowed).argmax(axis=1)
        met[np.arange(50), actions] += 1
        observation, *_ = env.step(actions)
    assert (met == 3).all()


def test_the_limit_counts_games_with_newcomers_anew() -> None:
    env = started(20, num_opponents=3, horizon=300, max_games_per_opponent=100, turnover=0.05)
    games = np.zeros((20, 3), dtype=int)
    for _ in range(300):
        skills, masks = env.true_skill[:, 1:], env.action_masks()
        games[:, 0] += 1
        env.step(np.zeros(20, dtype=int) if games[:, 0].max() < 100 else masks.argmax(axis=1))
        games[env.true_skill[:, 1:] != skills] = 0
        assert env.action_masks()[:, 0][games[:, 0] < 100].all()
