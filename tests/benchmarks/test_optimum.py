"""The optimum against recursions written out here from the papers' formulas."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from matchenv.baselines import DrawChance, KnowledgeGradient
from matchenv.belief.knowledge import KnowledgeState
from matchenv.benchmarks.limits.optimum import (
    OPTIMUM,
    choice_values,
    follow,
    rule_of,
    run_optimum,
    work,
)
from matchenv.envs.core.settings import PAPER_BETA
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import Candidate, candidates_of
from matchenv.runtime.jobs import RunOptions

POLICIES = ("pe", "drawchance", "kg", "kg:multiplier=2", "kg:finite_horizon=true", "optimistic")


def moments(low: float, high: float) -> tuple[float, float, float]:
    """Probability, mean and variance of a standard normal between two numbers."""
    p = norm.cdf(high) - norm.cdf(low)
    edge_low = 0.0 if math.isinf(low) else low * norm.pdf(low)
    edge_high = 0.0 if math.isinf(high) else high * norm.pdf(high)
    mean = (norm.pdf(low) - norm.pdf(high)) / p
    return p, mean, 1.0 + (edge_low - edge_high) / p - mean * mean


class ByHand:
    """The belief model with a dense covariance matrix, and a plain recursion over it."""

    def __init__(self, belief: str, beta: float, draw_margin: float) -> None:
        self.belief, self.beta, self.draw_margin = belief, beta, draw_margin

    def density(self, mean: Any, cov: Any, j: int) -> float:
        variance = cov[0, 0] + cov[j, j] - 2.0 * cov[0, j] + 2.0 * self.beta**2
        return float(norm.pdf(mean[0] - mean[j], scale=math.sqrt(variance)))

    def after(self, mean: Any, cov: Any, j: int) -> list[tuple[float, Any, Any]]:
        """Every outcome's probability and belief: a win, a loss, perhaps a draw."""
        e = np.zeros(len(mean))
        e[0], e[j] = 1.0, -1.0
        c = math.sqrt(e @ cov @ e + 2.0 * self.beta**2)
        gap, margin = (e @ mean) / c, self.draw_margin / c
        cuts = [(margin - gap, math.inf), (-math.inf, -margin - gap)]
        if margin > 0.0:
            cuts.append((-margin - gap, margin - gap))
        found = []
        for low, high in cuts:
            p, shift, spread = moments(low, high)
            direction = cov @ e / c
            new = cov - (1.0 - spread) * np.outer(direction, direction)
            if self.belief == "factorised":
                new = np.diag(np.diag(new))
            found.append((p, mean + direction * shift, new))
        return found

    def value(self, mean: Any, cov: Any, games: int, policy: Any = None) -> float:
        """Of a policy; without one, of the best choices."""
        if games == 0:
            return 0.0
        some = range(1, len(mean)) if policy is None else [policy(mean, cov) + 1]
        return max(
            self.density(mean, cov, j)
            + sum(p * self.value(*belief, games - 1, policy)
                  for p, *belief in self.after(mean, cov, j))
            for j in some
        )  # fmt: skip


def random_prior(opponents: int, count: int = 3, seed: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return 2.0 * rng.standard_normal((count, opponents + 1)), rng.uniform(
        1.0, 2.0, (count, opponents + 1)
    )


def settings_of(opponents: int, games: int, belief: str, **options: Any) -> Settings:
    return Settings.checked(num_opponents=opponents, horizon=games, belief=belief, **options)


def rule_by(policy: Any, settings: Settings, label: str = "mine") -> Any:
    return rule_of(Candidate(label, lambda *_: policy, None), settings)


def zeros(prior: KnowledgeState) -> Any:
    """One set of true skills for each prior, where they do not count."""
    return np.zeros((len(prior), 1, prior.mu.shape[1]))


@pytest.mark.parametrize("belief", ["factorised", "full"])
@pytest.mark.parametrize("draw_margin", [0.0, 0.7])
class TestByHand:
    def test_optimum(self, belief, draw_margin):
        settings = settings_of(2, 3, belief, beta=1.3, draw_margin=draw_margin)
        mu, sigma = random_prior(2)
        hand = ByHand(belief, 1.3, draw_margin)
        prior = KnowledgeState.of_prior(mu, sigma, belief)
        found = choice_values(prior, 3, settings.constants).max(axis=1)
        expected = [hand.value(m, np.diag(s**2), 3) for m, s in zip(mu, sigma, strict=True)]
        assert found == pytest.approx(expected, rel=1e-11)

    def test_drawchance(self, belief, draw_margin):
        settings = settings_of(3, 4, belief, draw_margin=draw_margin)
        mu, sigma = random_prior(3)
        hand = ByHand(belief, PAPER_BETA, draw_margin)

        def densest(mean: Any, cov: Any) -> int:
            return int(np.argmax([hand.density(mean, cov, j) for j in range(1, len(mean))]))

        rule = rule_by(DrawChance(belief=belief), settings)
        prior = KnowledgeState.of_prior(mu, sigma, belief)
        first, found, _ = follow(rule, prior, zeros(prior), settings)
        expected = [
            hand.value(m, np.diag(s**2), 4, densest) for m, s in zip(mu, sigma, strict=True)
        ]
        assert found == pytest.approx(expected, rel=1e-11)
        by_hand = [densest(m, np.diag(s**2)) for m, s in zip(mu, sigma, strict=True)]
        assert first.tolist() == by_hand

    def test_true_q_over_all_outcomes(self, belief, draw_margin):
        games = 3
        settings = settings_of(2, games, belief, draw_margin=draw_margin)
        prior = KnowledgeState.of_prior(*random_prior(2, count=2), belief)
        rule = rule_by(KnowledgeGradient(multiplier=2.0, belief=belief), settings)
        skills = np.random.default_rng(1).standard_normal((2, 4, 3))
        noise = math.sqrt(2.0) * PAPER_BETA
        outcomes = (1, -1, 0) if draw_margin > 0.0 else (1, -1)
        _, _, found = follow(rule, prior, skills, settings)
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
            assert found[b, t] == pytest.approx(total, rel=1e-10)


class TestProperties:
    @pytest.mark.parametrize("belief", ["factorised", "full"])
    def test_no_policy_is_above_the_optimum(self, belief):
        settings = settings_of(3, 5, belief)
        found = work(settings, candidates_of(POLICIES, settings), 0, range(12), 2)
        best = found["believed"][0]
        assert (found["believed"] <= best + 1e-12).all()
        assert found["first_is_best"][0].all()
        # Whoever is as good as the optimum began as well as it.
        assert (found["first_is_best"] | (found["believed"] < best - 1e-12)).all()

    def test_one_game_is_drawchance(self):
        run = RunOptions(workers=1, quiet=True)
        found = run_optimum(
            ["drawchance"], env_kwargs={"horizon": 1}, episodes=30, truths=1, run=run
        )
        optimum, drawchance = found.losses
        assert (optimum.policy, drawchance.policy) == (OPTIMUM, "drawchance")
        assert drawchance.believed.mean == pytest.approx(optimum.believed.mean, rel=1e-14)
        assert optimum.first_is_best == drawchance.first_is_best == 1.0

    def test_a_learned_policy_is_asked_once_for_each_level(self):
        settings = settings_of(2, 4, "full")
        sizes = []

        class First:
            belief, name = "full", "first"

            def predict(self, observation: Any, state: Any, starts: Any) -> tuple[Any, Any]:
                sizes.append(observation.shape)
                assert observation[0, -1] == pytest.approx((5 - len(sizes)) / 4)
                return np.zeros(len(observation), dtype=np.int64), None

        mu, sigma = random_prior(2)
        prior = KnowledgeState.of_prior(mu, sigma, "full")
        _, value, _ = follow(rule_by(First(), settings), prior, zeros(prior), settings)
        assert sizes == [(3 * 2**n, 9) for n in range(4)]
        hand = ByHand("full", PAPER_BETA, 0.0)
        expected = [
            hand.value(m, np.diag(s**2), 4, lambda *_: 0) for m, s in zip(mu, sigma, strict=True)
        ]
        assert value == pytest.approx(expected, rel=1e-11)

    @pytest.mark.parametrize(
        ("policy", "said"),
        [
            ({"memory": (0,)}, "'mine', which has a memory"),
            ({"stochastic": True}, "'mine', which is stochastic"),
            ({"needs_truth": True}, "'mine', which knows the true skills"),
            ({"belief": "factorised"}, "'mine' reads the factorised one, got 'full'"),
            ({"label": OPTIMUM}, "must not be named 'optimum'"),
        ],
    )
    def test_who_does_not_choose_by_the_state_alone_is_refused(self, policy, said):
        class Bad:
            belief, memory = "full", None

            def predict(self, observation: Any, state: Any, starts: Any) -> tuple[Any, Any]:
                return np.zeros(len(observation), dtype=np.int64), self.memory

        settings = settings_of(2, 2, "full")
        bad, label = Bad(), policy.pop("label", "mine")
        for name, value in policy.items():
            setattr(bad, name, value)
        prior = KnowledgeState.of_prior(*random_prior(2), "full")
        with pytest.raises(ValueError, match=said):
            rule_by(bad, settings, label)(prior, 2)
