"""Policies of ``Ranking-v0``: rules that choose the next pair from a joint belief.

A rule scores every pair, and the allowed pair with the highest score plays; ties go to the lowest
index. ``matchenv.ranking.Ranker`` uses the same scores outside the environment.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.policy import PredictMixin
from matchenv.belief.joint import difference_variance, game_precision
from matchenv.envs.ranking import Game, RankingSettings, RankingView, pair_counts, places_of
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_action_masks, as_choice, as_float_array, as_integer, refusal
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import total_variance
from matchenv.trueskill.normal import normal_probability

Generator = np.random.Generator

# Gauss-Legendre nodes and weights on [0, 1].
NODES, WEIGHTS = 0.5 * np.array(np.polynomial.legendre.leggauss(16)) + np.array([[0.5], [0.0]])

# Formulas of ``pair_score``.
WIDEST, UNSURE, INFORMATION, SHRINKAGE, KNOWLEDGE = range(5)


class RankingPolicy(PredictMixin):
    """A rule that chooses the pair that plays next.

    Args:
        name: the rule, one of ``RULES``.
        seed: seed of the policy's own generator, the default of ``act``.

    Attributes:
        stochastic: whether choices are random.
        needs_truth: whether the rule reads the true skills.
        settings: settings of the environment, from ``for_settings``.
    """

    settings: RankingSettings = RankingSettings()

    def __init__(self, name: str, *, seed: int | None = None) -> None:
        self.name = as_choice("name", name, RULES)
        self.stochastic, self.needs_truth = name in ("random", "thompson"), name == "oracle"
        self._rng = np.random.default_rng(None if seed is None else as_integer("seed", seed, 0))

    def for_settings(self, settings: RankingSettings) -> Self:
        """Return the same policy for an environment with other settings."""
        policy = copy.copy(self)
        policy.settings = settings
        return policy

    def act(
        self,
        view: RankingView,
        rng: Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """Choose pairs.

        Args:
            view: B beliefs.
            rng: generator of stochastic policies; None for the policy's own.
            action_masks: allowed pairs, shape (B, P), True or 1; None for all.

        Returns:
            Actions in [0, P), shape (B,).

        Raises:
            ValueError: for beliefs about another number of items than the settings have, and for
                masks of another shape or without a True.
        """
        items = self.settings.num_items
        if not isinstance(view, RankingView):
            raise refusal("view must be a RankingView", view)
        if view.mu.shape[1:] != (items,):
            shape = f"(B, {items}) with num_items={items} (see for_settings)"
            raise refusal(f"mu must have shape {shape}", view.mu.shape)
        truths = [None] * len(view.mu) if view.true_skill is None else view.true_skill
        beliefs = map(RankingView, *view[:3], truths)
        rule, settings, generator = RULES[self.name], self.settings, rng or self._rng
        if callable(rule):
            found = [rule(belief, settings, generator) for belief in beliefs]
        else:
            # Without masks only the best score of KG matters.
            floor = 1.0 if rule == KNOWLEDGE and action_masks is None else 0.0
            game = settings.game()
            found = [pair_scores(rule, *belief[:2], game, floor) for belief in beliefs]
        scores = np.stack(found)
        if action_masks is not None:
            scores[~as_action_masks(action_masks, scores.shape)] = -math.inf
        return scores.argmax(axis=1)

    def _predict(
        self, observation: Any, action_masks: ArrayLike | None, deterministic: bool
    ) -> Integers:
        numbers, settings = as_float_array("observation", observation), self.settings
        size, items, pairs = settings.observation_size, settings.num_items, settings.num_pairs
        if numbers.ndim not in (1, 2) or numbers.shape[-1] != size:
            raise refusal(f"observation must have shape ({size},) or (B, {size})", numbers.shape)
        if action_masks is None and settings.masks_change:
            action_masks = numbers[..., -pairs:]
        edges = [items, 2 * items, 2 * items + pairs, 2 * (items + pairs)]
        means, deviations, _, differences, rest = np.split(np.atleast_2d(numbers), edges, axis=1)
        if not (deviations > 0.0).all():
            raise ValueError(f"observation must have deviations above 0, got {deviations.min()!r}")
        i, j = settings.pairs.T
        variances = deviations**2
        covariance = variances[:, :, np.newaxis] * np.eye(items)
        shared = 0.5 * (variances[:, i] + variances[:, j] - differences**2)
        covariance[:, i, j] = covariance[:, j, i] = shared
        left = np.rint(rest[:, 0] * settings.horizon).astype(np.int64)
        actions = self.act(
            RankingView(np.ascontiguousarray(means), covariance, left),
            action_masks=None if action_masks is None else np.atleast_2d(action_masks),
        )
        return actions.reshape(numbers.shape[:-1])


def random(belief: RankingView, settings: RankingSettings, rng: Generator) -> Floats:
    """Score pairs uniformly at random."""
    return rng.random(settings.num_pairs)


def round_robin(belief: RankingView, settings: RankingSettings, rng: Generator) -> Floats:
    """Play every pair once, in rounds of disjoint pairs, then start again.

    The score is minus the number of games until the pair's turn.
    """
    played = settings.horizon - belief.games_left
    return -((turns(settings.num_items) - played) % settings.num_pairs).astype(np.float64)


@cache
def turns(items: int) -> Integers:
    """Return the turn of each pair in a round robin by the circle method, shape (P,)."""
    i, j = np.triu_indices(items, 1)
    last = items - 1 + items % 2
    rounds = np.where(j == last, 2 * i, i + j) % last
    return np.argsort(np.argsort(rounds, kind="stable"))


def swiss(belief: RankingView, settings: RankingSettings, rng: Generator) -> Floats:
    """Play neighbours in the current ranking, each place in turn.

    The score is minus the distance between the pair and the neighbours whose turn it is.
    """
    items, places = settings.num_items, places_of(belief.mu)[settings.pairs]
    turn = (settings.horizon - belief.games_left) % (items - 1)
    away = (places.min(axis=1) - turn) % (items - 1)
    return -(np.ptp(places, axis=1) * items + away).astype(np.float64)


def thompson(belief: RankingView, settings: RankingSettings, rng: Generator) -> Floats:
    """Draw skills from the posterior; score neighbours in their order by P(misordered).

    Only pairs that count for the goal are considered; pairs further apart follow by distance.
    """
    drawn = belief.mu + np.linalg.cholesky(belief.covariance) @ rng.standard_normal(belief.mu.size)
    places, cut = places_of(drawn)[settings.pairs], settings.cut
    counts = (cut == 0) | ((places[:, 0] < cut) != (places[:, 1] < cut))
    penalty = np.where(counts, np.ptp(places, axis=1) - 1.0, settings.num_items)
    return pair_scores(UNSURE, belief.mu, belief.covariance, settings.game()) - penalty


def oracle(belief: RankingView, settings: RankingSettings, rng: Generator) -> Floats:
    """Play pairs that are misordered under the true skills, then the others, by ``shrinkage``.

    Raises:
        ValueError: without true skills.
    """
    if belief.true_skill is None:
        raise ValueError("view must have true_skill for the oracle, got None")
    i, j = settings.pairs.T
    wrong = (belief.mu[i] - belief.mu[j]) * (belief.true_skill[i] - belief.true_skill[j]) < 0.0
    return pair_scores(SHRINKAGE, belief.mu, belief.covariance, settings.game()) + wrong


# A rule is a formula of ``pair_score``, or a function that returns the score of each pair, shape
# (P,), from the belief of one episode.
RULES: dict[str, int | Callable[[RankingView, RankingSettings, Generator], Floats]] = {
    "random": random,
    "round-robin": round_robin,
    "swiss": swiss,
    "widest": WIDEST,
    "thompson": thompson,
    "information": INFORMATION,
    "shrinkage": SHRINKAGE,
    "kg": KNOWLEDGE,
    "oracle": oracle,
}


@compiled
def pair_scores(
    formula: int, mu: Floats, covariance: Floats, game: Game, floor: float = 0.0
) -> Floats:
    """Return the score of each pair by a formula, shape (P,); -1 for pairs that do not count.

    With ``WIDEST`` all pairs count.

    Args:
        formula: one of the formulas.
        mu: posterior means, shape (n,).
        covariance: posterior covariances, shape (n, n).
        game: see ``RankingSettings.game``.
        floor: with ``KNOWLEDGE``, a share in [0, 1] of the best score; lower scores can be left at
            -1, which saves time with many items, where most pairs are clearly ordered.
    """
    pairs, noise, (cut, indifference) = game
    scores, places = np.full(len(pairs), -1.0), places_of(mu)
    # A score is at most P(misordered), and that is at most exp(-lead^2 / 2) / 2.
    best, furthest = 0.0, math.inf
    for p in range(len(pairs)):
        i, j = pairs[p]
        if formula == WIDEST or pair_counts(places[i], places[j], cut):
            gap, spread = abs(mu[i] - mu[j]), difference_variance(covariance, i, j)
            if (gap + indifference) ** 2 <= furthest * spread:
                scores[p] = pair_score(formula, gap, spread, noise, indifference)
                if floor > 0.0 and scores[p] > best:
                    best = scores[p]
                    furthest = -2.0 * math.log(2.0 * floor * best)
    return scores


@compiled
def pair_score(
    formula: int, gap: float, spread: float, noise: tuple[float, float], indifference: float = 0.0
) -> float:
    """Return the score of a pair by a formula.

    - ``WIDEST``: the variance of the difference of skills.
    - ``UNSURE``: P(misordered), by more than the indifference.
    - ``INFORMATION``: see ``information_gain``.
    - ``SHRINKAGE``: P(misordered) times the share of the variance that a game should remove.
    - ``KNOWLEDGE``: the expected decrease of P(misordered) per game, for the best number of games.
      The knowledge gradient of one game is exactly 0 if no outcome changes the order. As in KG(*)
      (Frazier and Powell, "Paradoxes in learning and the marginal value of information", Decision
      Analysis, 2010), a game is therefore valued as one of m games of the pair, for an m whose
      value per game is near the largest (at least 0.8 of it). The m games are replaced by the
      normal measurement of s_i - s_j with the same precision.

    Args:
        formula: one of the formulas.
        gap: mu_i - mu_j.
        spread: Var(s_i - s_j).
        noise: beta and the draw margin.
        indifference: difference of skills that does not matter; it is added to the gap.
    """
    if formula == WIDEST:
        return spread
    if formula == INFORMATION:
        return information_gain(gap, spread, noise)
    lead = (abs(gap) + indifference) / math.sqrt(spread)
    if formula == UNSURE:
        return normal_probability(-lead)
    worth = spread * game_precision(gap, spread, noise)
    share = worth / (1.0 + worth)
    if formula == SHRINKAGE or worth == 0.0:  # 0 if the margin makes every game a draw
        return share * normal_probability(-lead)
    # The decrease is about exp(-h^2 / (2 share)) sqrt(share) and games grow as share / (1 - share),
    # so the best share solves share^2 + (1 + h^2) share = h^2.
    square = lead * lead
    best = 2.0 * square / (1.0 + square + math.sqrt((1.0 + square) ** 2 + 4.0 * square))
    share = max(share, best)
    games = share / (worth * (1.0 - share))
    return loss_decrease(lead, share) / max(1.0, games)


@compiled
def loss_decrease(lead: float, share: float) -> float:
    """Return the expected decrease of P(misordered) by a normal measurement of the difference.

    With lead ``h = |mu_i - mu_j| / deviation`` and removed share r^2 of the variance, s_i - s_j and
    its posterior mean are normal with correlation r. The expected P(misordered) after the
    measurement is 2 T(h, sqrt(1 - r^2) / r) with Owen's T. The decrease Phi(-h) - 2 T is Craig's
    integral of Phi(-h) up to asin(r):

        1 / pi times the integral from 0 to asin(r) of exp(-h^2 / (2 sin^2 t)) dt

    It is evaluated over x = tan(t / 2), with sin t = 2 x / (1 + x^2). The relative error is at most
    0.0025, and below 1e-4 for leads of at least 0.5.

    Args:
        lead: h >= 0.
        share: r^2 in [0, 1].
    """
    last, total = math.sqrt(share) / (1.0 + math.sqrt(1.0 - share)), 0.0
    for k in range(NODES.size):
        x = last * NODES[k]
        square = 1.0 + x * x
        total += WEIGHTS[k] / square * math.exp(-0.125 * (lead * square / x) ** 2)
    return 2.0 * last * total / math.pi


@compiled
def information_gain(gap: float, spread: float, noise: tuple[float, float]) -> float:
    """Approximate the mutual information of outcome and skills in bits, draws as half a win.

    The closed form of Houlsby, Huszar, Ghahramani and Lengyel, "Bayesian active learning for
    classification and preference learning" (2011), eq. (4), with an error of 0.003; it can be below
    0. ASAP has the same criterion, by another formula. The goal only decides which pairs count.
    """
    variance = total_variance(0.0, 0.0, noise[0])
    win = normal_probability(-abs(gap) / math.sqrt(variance + spread))
    entropy = -win * math.log2(max(win, 1e-300)) - (1.0 - win) * math.log1p(-win) / math.log(2.0)
    width = 0.5 * math.pi * math.log(2.0) * variance
    expected = math.sqrt(width / (width + spread)) * math.exp(-0.5 * gap * gap / (width + spread))
    return entropy - expected
