"""Rules of ``Ranking-v0``: scores against independent computations, and the shared contract."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate
from scipy.special import ndtr, owens_t
from scipy.stats import norm

from matchenv.baselines import ranking as rules
from matchenv.belief.joint import game_precision
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.ranking import RankingSettings, RankingSimulator, RankingView
from matchenv.evaluation.registry import RANKING, baselines_of, policy_named

BETA = 0.8
SETTINGS = RankingSettings(num_items=6, horizon=50, beta=BETA)


def episodes_after(games: int, **options: Any) -> Episodes[Any]:
    """Return three episodes after random games."""
    settings = RankingSettings(num_items=6, horizon=90, beta=BETA, **options)
    episodes = Episodes.of_seeds(RankingSimulator(settings), range(3))
    rng = np.random.default_rng(5)
    for _ in range(games):
        weights = rng.random((3, settings.num_pairs)) * episodes.masks()
        episodes.step(weights.argmax(axis=1), strict=True)
    return episodes


@pytest.mark.parametrize(("lead", "share"), [(0.0, 0.2), (0.3, 0.01), (1.0, 0.6), (2.5, 0.95)])
def test_the_loss_decrease_matches_owens_t(lead: float, share: float) -> None:
    after = 2.0 * owens_t(lead, math.sqrt((1.0 - share) / share))
    found = rules.loss_decrease(lead, share)
    assert found == pytest.approx(ndtr(-lead) - after, rel=1e-4, abs=1e-15)


@pytest.mark.parametrize(("lead", "spread"), [(0.05, 2.0), (0.5, 0.02), (1.5, 0.5), (3.0, 2.0)])
def test_knowledge_gradient_uses_the_best_number_of_games(lead: float, spread: float) -> None:
    noise = (BETA, 0.0)
    worth = spread * game_precision(lead * math.sqrt(spread), spread, noise)
    games = np.exp(np.linspace(0.0, 15.0, 4000))
    share = games * worth / (1.0 + games * worth)
    after = 2.0 * owens_t(lead, np.sqrt((1.0 - share) / share))
    best = ((ndtr(-lead) - after) / games).max()
    found = rules.pair_score(rules.KNOWLEDGE, lead * math.sqrt(spread), spread, noise)
    assert found > 0.0  # even if one game cannot change the order
    assert 0.8 * best <= found <= best * (1.0 + 1e-4)


@pytest.mark.parametrize("options", [{}, {"goal": "top", "k": 3, "draw_margin": 0.5}])
def test_knowledge_gradient_may_leave_low_scores_out(options: dict[str, Any]) -> None:
    for games in (0, 10, 80):
        episodes = episodes_after(games, **options)
        settings = episodes.simulator.settings
        actions = rules.PairKnowledgeGradient().for_settings(settings).act(episodes.view())
        for row, action in enumerate(actions):
            mu, covariance = episodes.state.mu[row], episodes.state.covariance[row]
            scores = rules.pair_scores(rules.KNOWLEDGE, mu, covariance, settings.game())
            assert action == scores.argmax()


@pytest.mark.parametrize("gap", [0.0, 0.7, -2.0])
def test_information_gain_matches_quadrature(gap: float) -> None:
    spread, scale = 0.9, math.sqrt(2.0) * BETA

    def entropy(win: float) -> float:
        return -sum(each * math.log2(each) for each in (win, 1.0 - win) if each > 0.0)

    rest, _ = integrate.quad(
        lambda x: norm.pdf(x, gap, math.sqrt(spread)) * entropy(ndtr(x / scale)), -9.0, 9.0
    )
    exact = entropy(ndtr(gap / math.sqrt(spread + scale**2))) - rest
    # The closed form approximates the entropy of a probit by a Gaussian, within about 3 %.
    found = rules.pair_score(rules.INFORMATION, gap, spread, (BETA, 0.0))
    assert found == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("items", [2, 4, 5, 6, 9])
def test_round_robin_plays_every_pair_once_in_rounds_of_disjoint_pairs(items: int) -> None:
    settings = RankingSettings(num_items=items)
    turn = rules.turns(items)
    assert sorted(turn) == list(range(settings.num_pairs))
    for played in settings.pairs[np.argsort(turn)].reshape(-1, 2 * (items // 2)):
        assert len(set(played.tolist())) == played.size


@pytest.mark.parametrize("played", [0, 3, 6])
def test_swiss_plays_each_pair_of_neighbours_in_turn(played: int) -> None:
    turns = np.arange(played, played + 3)
    state = episodes_after(20).state
    view = RankingView(state.mu, state.covariance, SETTINGS.horizon - turns)
    actions = rules.Swiss().for_settings(SETTINGS).act(view)
    for row, (action, turn) in enumerate(zip(actions, turns % 5, strict=True)):
        order = np.argsort(-view.mu[row], kind="stable")
        assert set(SETTINGS.pairs[action]) == {order[turn], order[turn + 1]}


def test_the_oracle_plays_misordered_pairs_and_needs_true_skills() -> None:
    episodes = episodes_after(10)
    view = episodes.view(truth=True)
    oracle = rules.RankingOracle().for_settings(SETTINGS)
    for row, action in enumerate(oracle.act(view)):
        i, j = SETTINGS.pairs[action]
        assert (view.mu[row, i] > view.mu[row, j]) != (
            view.true_skill[row, i] > view.true_skill[row, j]
        )
    with pytest.raises(ValueError, match="true_skill"):
        oracle.act(episodes.view())


@pytest.mark.parametrize("name", baselines_of(RANKING))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"goal": "top", "k": 2, "draw_margin": 0.4},
        {"max_games_per_pair": 7, "goal": "best"},
        {"max_games_per_pair": 7, "first_advantage": 0.8},
    ],
)
def test_every_rule_respects_masks_and_goal(name: str, options: dict[str, Any]) -> None:
    episodes = episodes_after(40, **options)
    settings = episodes.simulator.settings
    policy = policy_named(name, settings)
    view = episodes.view(truth=policy.needs_truth)
    actions = policy.act(view, np.random.default_rng(1))
    assert view.action_mask[np.arange(3), actions].all()
    counts_matter = name in ("thompson", "information", "shrinkage", "kg") and settings.cut > 0
    if counts_matter and not episodes.has_masks:
        for row, action in enumerate(actions):
            above = np.argsort(np.argsort(-view.mu[row])) < settings.cut
            i, j = settings.pairs[action]
            assert above[i] != above[j] or name == "thompson"
    if not policy.needs_truth and not policy.stochastic:
        observations = episodes.simulator.observe(episodes.state)
        from_observations = rules.view_of(observations.astype(np.float64), settings)
        for field in ("advantage_mu", "advantage_sigma"):
            numbers = getattr(from_observations, field)
            np.testing.assert_allclose(numbers, getattr(view, field), rtol=1e-6)
        chosen, _ = policy.predict(observations)
        np.testing.assert_array_equal(chosen, actions)
        single, _ = policy.predict(observations[1])
        assert (single.shape, int(single)) == ((), actions[1])
        with pytest.raises(ValueError, match="observation must have shape"):
            policy.predict(np.zeros(4))
    untold = type(policy)()
    with pytest.raises(ValueError, match=r"mu must .* num_items=20 \(see for_set.* got \(3, 6\)"):
        untold.act(view)
    with pytest.raises(ValueError, match="view must be a RankingView, got None"):
        untold.act(None)
