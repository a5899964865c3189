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
from matchenv.envs.ranking import RankingSettings, RankingView
from matchenv.evaluation.registry import POLICIES, RANKING, policy_named
from matchenv.evaluation.rollout import Batch

BETA = 0.8
SETTINGS = RankingSettings(num_items=6, horizon=50, beta=BETA)


def batch_after(games: int, **options: Any) -> tuple[Batch, RankingView]:
    """Return three episodes after random games, and their view."""
    batch = Batch(RankingSettings(num_items=6, horizon=90, beta=BETA, **options), range(3))
    rng = np.random.default_rng(5)
    for _ in range(games):
        masks = batch.simulator.masks(batch.state)
        weights = rng.random((3, batch.simulator.num_actions))
        batch.step((weights if masks is None else weights * masks).argmax(axis=1))
    return batch, *batch.simulator.view(batch.state)


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
        batch, view = batch_after(games, **options)
        kg = rules.RankingPolicy("kg").for_settings(batch.simulator.settings)
        all_pairs = np.ones((3, batch.simulator.num_actions), dtype=np.bool_)  # scores all pairs
        np.testing.assert_array_equal(kg.act(view), kg.act(view, action_masks=all_pairs))


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
    view = batch_after(20)[1]._replace(games_left=SETTINGS.horizon - turns)
    actions = rules.RankingPolicy("swiss").for_settings(SETTINGS).act(view)
    for row, (action, turn) in enumerate(zip(actions, turns % 5, strict=True)):
        order = np.argsort(-view.mu[row], kind="stable")
        assert set(SETTINGS.pairs[action]) == {order[turn], order[turn + 1]}


def test_the_oracle_plays_misordered_pairs_and_needs_true_skills() -> None:
    _, view = batch_after(10)
    oracle = rules.RankingPolicy("oracle").for_settings(SETTINGS)
    assert view.true_skill is not None
    for row, action in enumerate(oracle.act(view)):
        i, j = SETTINGS.pairs[action]
        assert (view.mu[row, i] > view.mu[row, j]) != (
            view.true_skill[row, i] > view.true_skill[row, j]
        )
    with pytest.raises(ValueError, match="true_skill"):
        oracle.act(view._replace(true_skill=None))


@pytest.mark.parametrize("name", POLICIES[RANKING])
@pytest.mark.parametrize(
    "options",
    [{}, {"goal": "top", "k": 2, "draw_margin": 0.4}, {"max_games_per_pair": 7, "goal": "best"}],
)
def test_every_rule_respects_masks_and_goal(name: str, options: dict[str, Any]) -> None:
    batch, view = batch_after(40, **options)
    settings: Any = batch.simulator.settings
    policy = policy_named(name, settings)
    masks = batch.simulator.masks(batch.state)
    actions = policy.act(view, rng=np.random.default_rng(1), action_masks=masks)
    assert masks is None or masks[np.arange(3), actions].all()
    if name in ("thompson", "information", "shrinkage", "kg") and settings.cut and masks is None:
        for row, action in enumerate(actions):
            above = np.argsort(np.argsort(-view.mu[row])) < settings.cut
            i, j = settings.pairs[action]
            assert above[i] != above[j] or name == "thompson"
    if not policy.needs_truth and not policy.stochastic:
        chosen, _ = policy.predict(batch.simulator.observe(batch.state))
        np.testing.assert_array_equal(chosen, actions)
        single, _ = policy.predict(batch.simulator.observe(batch.state)[1])
        assert (single.shape, int(single)) == ((), actions[1])
        with pytest.raises(ValueError, match="observation must have shape"):
            policy.predict(np.zeros(4))
    with pytest.raises(ValueError, match=r"mu must .* num_items=20 \(see for_set.* got \(3, 6\)"):
        rules.RankingPolicy(name).act(view)
    with pytest.raises(ValueError, match="view must be a RankingView, got None"):
        rules.RankingPolicy(name).act(None)
