"""The optimum against recursions written from the papers' formulas."""

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dense_belief import DenseBelief
from scipy.stats import norm

from matchenv.baselines import DrawChance, KnowledgeGradient
from matchenv.belief.knowledge import KnowledgeState
from matchenv.benchmarks.limits import optimum as exact
from matchenv.envs.core.settings import PAPER_BETA
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import Candidate, candidates_of
from matchenv.runtime.jobs import RunOptions

POLICIES = ("pe", "drawchance", "kg", "kg:multiplier=2", "kg:finite_horizon=true", "optimistic")


def value(belief: DenseBelief, games: int, policy: Any = None) -> float:
    """Value of a policy, or of the optimum without one, by plain recursion."""
    if games == 0:
        return 0.0
    return max(
        belief.density(j)
        + sum(p * value(after, games - 1, policy) for p, after in belief.after(j).values())
        for j in (range(1, belief.mu.size) if policy is None else [policy(belief) + 1])
    )


def by_hand(prior: tuple[Any, Any], settings: Settings) -> list[DenseBelief]:
    """The beliefs of ``random_prior`` with dense covariances."""
    game = settings.beta, settings.draw_margin, settings.belief == "factorised"
    return [DenseBelief(mu, np.diag(sigma**2), *game) for mu, sigma in zip(*prior, strict=True)]


def random_prior(opponents: int, count: int = 3, seed: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return 2.0 * rng.standard_normal((count, opponents + 1)), rng.uniform(
        1.0, 2.0, (count, opponents + 1)
    )


def settings_of(opponents: int, games: int, belief: str, **options: Any) -> Settings:
    return Settings.checked(num_opponents=opponents, horizon=games, belief=belief, **options)


def rule_by(policy: Any, settings: Settings, label: str = "mine") -> Any:
    return exact.rule_of(Candidate(label, lambda *_: policy, label), settings)


@pytest.mark.parametrize("belief", ["factorised", "full"])
@pytest.mark.parametrize("draw_margin", [0.0, 0.7])
class TestByHand:
    def test_optimum(self, belief, draw_margin):
        settings = settings_of(2, 3, belief, beta=1.3, draw_margin=draw_margin)
        given = random_prior(2)
        prior = KnowledgeState.of_prior(*given, belief)
        actual = exact.choice_values(prior, 3, settings.constants).max(axis=1)
        expected = [value(each, 3) for each in by_hand(given, settings)]
        assert actual == pytest.approx(expected, rel=1e-11)

    def test_drawchance(self, belief, draw_margin):
        settings = settings_of(3, 4, belief, draw_margin=draw_margin)
        given = random_prior(3)

        def densest(each: DenseBelief) -> int:
            return int(each.densities.argmax())

        rule = rule_by(DrawChance(belief=belief), settings)
        prior = KnowledgeState.of_prior(*given, belief)
        first, actual, _ = exact.follow(rule, prior, np.zeros((3, 1, 4)), settings)
        expected = [value(each, 4, densest) for each in by_hand(given, settings)]
        assert actual == pytest.approx(expected, rel=1e-11)
        assert first.tolist() == [densest(each) for each in by_hand(given, settings)]

    def test_true_q_over_all_outcomes(self, belief, draw_margin):
        games = 3
        settings = settings_of(2, games, belief, draw_margin=draw_margin)
        prior = KnowledgeState.of_prior(*random_prior(2, count=2), belief)
        rule = rule_by(KnowledgeGradient(multiplier=2.0, belief=belief), settings)
        skills = np.random.default_rng(1).standard_normal((2, 4, 3))
        noise = math.sqrt(2.0) * PAPER_BETA
        outcomes = (1, -1, 0) if draw_margin > 0.0 else (1, -1)
        _, _, actual = exact.follow(rule, prior, skills, settings)
        for b, t in np.ndindex(2, 4):
            total = 0.0
            for sequence in itertools.product(outcomes, repeat=games):
                probability, densities, state = 1.0, 0.0, prior[b : b + 1]
                for n, outcome in enumerate(sequence):
                    j = int(rule(state, games - n)[0])
                    gap = skills[b, t, 0] - skills[b, t, j + 1]
                    win = norm.sf((draw_margin - gap) / noise)
                    loss = norm.cdf((-draw_margin - gap) / noise)
                    densities += norm.pdf(gap, scale=noise)
                    probability *= {1: win, -1: loss, 0: 1.0 - win - loss}[outcome]
                    state = state.after_games(np.array([j]), outcome, settings.constants)
                total += probability * densities
            assert actual[b, t] == pytest.approx(total, rel=1e-10)


class TestProperties:
    @pytest.mark.parametrize("belief", ["factorised", "full"])
    def test_no_policy_is_above_the_optimum(self, belief):
        settings = settings_of(3, 5, belief)
        actual = exact.solve(settings, candidates_of(POLICIES, settings), 0, range(12), 2)
        best = actual["believed"][0]
        assert (actual["believed"] <= best + 1e-12).all()
        assert actual["first_is_best"][0].all()
        # A policy with the optimal value starts with an optimal choice.
        assert (actual["first_is_best"] | (actual["believed"] < best - 1e-12)).all()

    def test_one_game_is_drawchance(self):
        run = RunOptions(workers=1, quiet=True)
        actual = exact.run_optimum(
            ["drawchance"], env_kwargs={"horizon": 1}, episodes=30, truths=1, run=run
        )
        optimum, drawchance = actual.losses
        assert (optimum.policy, drawchance.policy) == (exact.OPTIMUM, "drawchance")
        assert drawchance.believed.mean == pytest.approx(optimum.believed.mean, rel=1e-14)
        assert optimum.first_is_best == drawchance.first_is_best == 1.0

    def test_a_learned_policy_is_called_once_per_game(self):
        settings = settings_of(2, 4, "full")
        sizes = []

        class First:
            belief, name = "full", "first"

            def predict(self, observation: Any, state: Any, starts: Any) -> tuple[Any, Any]:
                sizes.append(observation.shape)
                assert observation[0, -1] == pytest.approx((5 - len(sizes)) / 4)
                return np.zeros(len(observation), dtype=np.int64), None

        given = random_prior(2)
        prior = KnowledgeState.of_prior(*given, "full")
        rule = rule_by(First(), settings)
        _, actual, _ = exact.follow(rule, prior, np.zeros((3, 1, 3)), settings)
        assert sizes == [(3 * 2**n, 9) for n in range(4)]
        expected = [value(each, 4, lambda *_: 0) for each in by_hand(given, settings)]
        assert actual == pytest.approx(expected, rel=1e-11)

    @pytest.mark.parametrize(
        ("policy", "said"),
        [
            ({"memory": (0,)}, "'mine', which has a memory"),
            ({"stochastic": True}, "'mine', which is stochastic"),
            ({"needs_truth": True}, "'mine', which reads the true skills"),
            ({"belief": "factorised"}, "got 'full': 'mine' reads the factorised one"),
            ({"label": exact.OPTIMUM}, "must not be named 'optimum'"),
            ({"action": -1}, r"must be in \[0, 1\], got -1"),
            ({"action": 0.5}, "must be integers"),
        ],
    )
    def test_policies_must_choose_by_the_state_alone(self, policy, said):
        def act(states: Any, games_left: Any) -> Any:
            assert games_left.tolist() == [2] * len(states)
            return np.zeros(len(states), np.int64)

        def predict(observation: Any, *_: Any) -> tuple[Any, Any]:
            return np.full(len(observation), policy.get("action", 0)), policy.get("memory")

        settings, label = settings_of(2, 2, "full"), policy.get("label", "mine")
        bad = SimpleNamespace(**{"belief": "full", "predict": predict, **policy})
        prior = KnowledgeState.of_prior(*random_prior(2), "full")
        with pytest.raises(ValueError, match=said):
            rule_by(bad, settings, label)(prior, 2)
        good = SimpleNamespace(belief="full", act=act)
        assert not rule_by(good, settings)(prior, 2).any()
