"""The widened belief against dense linear algebra, and where it leaves the index alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from matchenv import KnowledgeState
from matchenv.agents import policy_named
from matchenv.baselines import Gittins, WideGittins
from matchenv.baselines.gittins.widened_belief import kept_precision
from matchenv.belief import GameConstants
from matchenv.episodes import Episodes
from matchenv.settings import Settings

Floats = np.ndarray
BETA = float(np.sqrt(0.5))


def dense(
    mean: float, variances: Floats, precisions: Floats, measured: Floats
) -> tuple[Floats, Floats]:
    """Means and covariance of all skills after measurements of s_0 - s_k, by linear algebra."""
    inverse, told = np.diag(1.0 / variances), mean / variances
    for k, (precision, value) in enumerate(zip(precisions, measured, strict=True), start=1):
        direction = np.zeros(variances.size)
        direction[0], direction[k] = 1.0, -1.0
        inverse += precision * np.outer(direction, direction)
        told = told + precision * value * direction
    covariance = np.linalg.inv(inverse)
    return covariance @ told, covariance


def shown(mu: Floats, covariance: Floats) -> KnowledgeState:
    variances = np.diag(covariance)
    between = variances[0] + variances[1:] - 2.0 * covariance[0, 1:]
    return KnowledgeState(mu, np.sqrt(variances), np.sqrt(between), "full")


def test_measurements_are_put_on_the_wider_prior() -> None:
    rng = np.random.default_rng(3)
    own, field = 3.0, 2.0
    for mean in (0.0, -4.0):
        variances = rng.uniform(0.4, 0.6, 8)
        precisions = np.concatenate((rng.uniform(0.3, 20.0, 5), np.zeros(2)))
        measured = rng.normal(0.0, 2.0, 7)
        narrow = shown(*dense(mean, variances, precisions, measured))
        more = field - variances[1:].mean()
        wide = variances + more
        wide[0] = variances[0] + own * more
        share = np.array([
            kept_precision(*each) for each in zip(precisions, variances[1:], wide[1:], strict=True)
        ])  # fmt: skip
        wanted = shown(*dense(mean, wide, share * precisions, measured / share))
        policy = WideGittins(field_variance=field, own=own, beta=BETA)
        found = policy.widened(narrow)
        np.testing.assert_allclose(found.mu, wanted.mu, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.sigma, wanted.sigma, rtol=1e-9)
        np.testing.assert_allclose(found.extra, wanted.extra, rtol=1e-9)
        assert policy.act(narrow, 50) == Gittins(beta=BETA).act(wanted, 50)


def test_a_first_game_measures_as_much_as_the_wider_prior_says() -> None:
    """Player 0's skill is known, so that the game is about the opponent alone."""
    constants = GameConstants(beta=BETA)

    def precision(variance: float) -> float:
        sigma = np.array([[1e-4, np.sqrt(variance)]])
        state = KnowledgeState(np.zeros((1, 2)), sigma, np.hypot(*sigma.T)[:, None], "full")
        after = state.after_games(np.array([0]), np.array([1]), constants)
        return float(1.0 / after.extra[0, 0] ** 2 - 1.0 / variance)

    for narrow, wide in ((0.5, 1.3), (0.3, 4.0), (1.0, 1.0)):
        first = precision(narrow)
        assert first * kept_precision(first, narrow, wide) == pytest.approx(
            precision(wide), rel=1e-5
        )
        # Many games say what they say, whatever was believed before.
        assert kept_precision(1e4, narrow, wide) == pytest.approx(1.0, abs=1e-3)


def played(games: int, **settings: object) -> Episodes:
    """Twenty episodes after some games with the first opponents in turn."""
    told = Settings.checked(belief="full", num_opponents=9, horizon=60, **settings)
    episodes = Episodes(told, 20)
    generators = [np.random.default_rng(seed) for seed in range(20)]
    episodes.begin(np.arange(20), generators)
    for n in range(games):
        episodes.draw_more_noise(generators)
        episodes.play(np.full(20, n % 9), np.zeros(20, dtype=np.bool_))
    return episodes


@pytest.mark.parametrize(
    ("games", "settings"),
    [
        (5, {"prior": "informative"}),
        (5, {"prior": "equal", "equal_variance": "matching"}),
        (9, {"prior": "equal"}),
    ],
    ids=["means differ", "wide enough", "everybody met"],
)
def test_elsewhere_it_is_the_index(games: int, settings: dict[str, str]) -> None:
    state = played(games, **settings).knowledge_state()
    # With variances of 6 to 7 a field of 6 is none too wide.
    policy = WideGittins(field_variance=6.0 if "equal_variance" in settings else 6.5, horizon=60)
    found = policy.widened(state)
    np.testing.assert_array_equal(found.mu, state.mu)
    np.testing.assert_array_equal(found.extra, state.extra)
    np.testing.assert_array_equal(policy.act(state, 50), Gittins(horizon=60).act(state, 50))


def test_equal_means_are_widened_from_observations_too() -> None:
    episodes = played(6, prior="equal")
    state, policy = episodes.knowledge_state(), policy_named("wide-gittins", episodes.settings)
    wide = policy.widened(state)
    assert (wide.extra > state.extra).all()
    # Rounding to float32 is all that an observation loses.
    rounded = KnowledgeState.from_observation(episodes.observation, "full")
    np.testing.assert_allclose(policy.widened(rounded).mu, wide.mu, rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(policy.widened(rounded).extra, wide.extra, rtol=1e-4)
    np.testing.assert_array_equal(policy.predict(episodes.observation)[0], policy.act(state, 54))


def test_who_is_offline_still_says_how_wide_the_belief_is() -> None:
    state, policy = played(6, prior="equal").knowledge_state(), WideGittins(horizon=60)
    masks = np.zeros((20, 9), dtype=np.bool_)
    masks[:, 2:6] = True
    scores = policy.scores(state, 54)
    wanted = np.where(masks, scores, -np.inf).argmax(axis=1)
    np.testing.assert_array_equal(policy.act(state, 54, action_masks=masks), wanted)


def test_other_beliefs_cannot_be_taken_apart() -> None:
    for settings in (Settings.checked(tau=0.1, num_opponents=9), Settings.checked(num_opponents=9)):
        told = replace(settings, prior="equal", belief="factorised")
        policy = WideGittins(belief="factorised", tau=told.tau, horizon=60)
        episodes = Episodes(told, 4)
        episodes.begin(np.arange(4), [np.random.default_rng(seed) for seed in range(4)])
        state = episodes.knowledge_state()
        index = Gittins(belief="factorised", tau=told.tau, horizon=60)
        np.testing.assert_array_equal(policy.scores(state, 50), index.scores(state, 50))
    assert policy_named("wide-gittins", Settings.checked(tau=0.1)).belief == "factorised"


def test_bad_numbers_are_named() -> None:
    with pytest.raises(ValueError, match="field_variance"):
        WideGittins(field_variance=-1.0)
    with pytest.raises(ValueError, match="own"):
        WideGittins(own=-1.0)
