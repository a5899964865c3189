"""Policies of ``Ranking-v0``: rules that choose the next pair from a joint belief.

A rule scores every pair, and the allowed pair with the highest score plays; ties go to the lowest
index. Scores ignore the advantage of the item named first: only skills are ranked.
``matchenv.ranking.Ranker`` uses the same scores outside the environment.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.policy import Baseline, PredictMixin
from matchenv.belief.joint import difference_variance, game_precision
from matchenv.envs.ranking import Game, RankingSettings, RankingView, pair_counts, places_of
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_float_array, as_integer, refusal
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import performance_variance
from matchenv.trueskill.normal import normal_probability

Generator = np.random.Generator

# Gauss-Legendre nodes and weights on [0, 1].
NODES, WEIGHTS = 0.5 * np.array(np.polynomial.legendre.leggauss(16)) + np.array([[0.5], [0.0]])

# Formulas of ``pair_score``.
WIDEST, UNSURE, INFORMATION, SHRINKAGE, KNOWLEDGE = range(5)


class RankingPolicy(Baseline, PredictMixin):
    """A rule that scores every pair; the allowed pair with the highest score plays.

    Args:
        seed: seed of the policy's own generator, the default of ``act``.

    Attributes:
        settings: settings of the environment, from ``for_settings``.
    """

    settings: RankingSettings = RankingSettings()

    def __init__(self, *, seed: int | None = None) -> None:
        if seed is not None:
            seed = as_integer("seed", seed, 0)
        self._rng = np.random.default_rng(seed)

    def for_settings(self, settings: RankingSettings) -> Self:
        """Return the same policy for an environment with other settings."""
        policy = copy.copy(self)
        policy.settings = settings
        return policy

    def act(self, view: RankingView, rng: Generator | None = None) -> Integers:
        """Choose pairs.

        Args:
            view: B beliefs.
            rng: generator of stochastic policies; None for the policy's own.

        Returns:
            Actions in [0, P), shape (B,).

        Raises:
            ValueError: for beliefs about another number of items than the settings have.
        """
        if not isinstance(view, RankingView):
            raise refusal("view must be a RankingView", view)
        items = self.settings.num_items
        if view.mu.shape[1:] != (items,):
            shape = f"(B, {items}) with num_items={items} (see for_settings)"
            raise refusal(f"mu must have shape {shape}", view.mu.shape)
        scores = self._scores(view, self._rng if rng is None else rng)
        scores[~view.action_mask] = -math.inf
        return scores.argmax(axis=1)

    @abstractmethod
    def _scores(self, view: RankingView, rng: Generator) -> Floats:
        """Return the score of each pair, a new array of shape (B, P)."""

    def _predict(
        self, observation: Any, action_masks: ArrayLike | None, deterministic: bool
    ) -> Integers:
        numbers = as_float_array("observation", observation)
        size = self.settings.observation_size
        if numbers.ndim not in (1, 2) or numbers.shape[-1] != size:
            raise refusal(f"observation must have shape ({size},) or (B, {size})", numbers.shape)
        view = view_of(np.atleast_2d(numbers), self.settings, action_masks)
        return self.act(view).reshape(numbers.shape[:-1])


def view_of(
    observations: Floats, settings: RankingSettings, action_masks: ArrayLike | None = None
) -> RankingView:
    """Return what observations show.

    Args:
        observations: shape (B, K).
        settings: of the environment.
        action_masks: allowed pairs, shape (P,) or (B, P); None for those of the observations.

    Raises:
        ValueError: for deviations that are not positive, and bad masks.
    """
    items = settings.num_items
    pairs = settings.num_pairs
    if action_masks is not None:
        action_masks = np.atleast_2d(action_masks)
    elif settings.masks_change:
        action_masks = observations[:, -pairs:]
    mu = np.ascontiguousarray(observations[:, :items])
    sigma = observations[:, items : 2 * items]
    difference_sigma = observations[:, 2 * items + pairs : 2 * (items + pairs)]
    share = observations[:, settings.num_belief_numbers]
    advantage_mu = None
    advantage_sigma = None
    if settings.has_advantage:
        advantage_mu = observations[:, 2 * (items + pairs)]
        advantage_sigma = observations[:, 2 * (items + pairs) + 1]
    if not (sigma > 0.0).all():
        raise ValueError(f"observation must have deviations above 0, got {sigma.min()!r}")
    i, j = settings.pairs.T
    variance = sigma**2
    shared = 0.5 * (variance[:, i] + variance[:, j] - difference_sigma**2)
    covariance = variance[:, :, np.newaxis] * np.eye(items)
    covariance[:, i, j] = shared
    covariance[:, j, i] = shared
    games_left = np.rint(share * settings.horizon).astype(np.int64)
    return RankingView(
        mu,
        covariance,
        games_left,
        advantage_mu=advantage_mu,
        advantage_sigma=advantage_sigma,
        action_mask=action_masks,
    )


class FormulaPolicy(RankingPolicy):
    """A rule whose scores are a formula of ``pair_score``."""

    formula: ClassVar[int]

    def _scores(self, view: RankingView, rng: Generator) -> Floats:
        scores = np.empty(view.action_mask.shape)
        # Without masks only the best score of KG matters.
        is_free = bool(view.action_mask.all())
        floor = 1.0 if self.formula == KNOWLEDGE and is_free else 0.0
        game = self.settings.game()
        for row in range(len(scores)):
            mu = view.mu[row].copy()
            covariance = view.covariance[row].copy()
            scores[row] = pair_scores(self.formula, mu, covariance, game, floor)
        return scores


class Widest(FormulaPolicy):
    """Play the pair whose difference of skills has the largest variance."""

    name: ClassVar[str] = "widest"
    formula: ClassVar[int] = WIDEST


class InformationGain(FormulaPolicy):
    """Play the pair whose outcome tells most about the skills, among pairs that count.

    Source: Houlsby, Huszar, Ghahramani and Lengyel (2011), see ``information_gain``.
    """

    name: ClassVar[str] = "information"
    formula: ClassVar[int] = INFORMATION


class Shrinkage(FormulaPolicy):
    """Play the pair with the largest P(misordered) times the share of variance that goes."""

    name: ClassVar[str] = "shrinkage"
    formula: ClassVar[int] = SHRINKAGE


class PairKnowledgeGradient(FormulaPolicy):
    """Play the pair with the largest expected decrease of P(misordered) for each game.

    Source: Frazier and Powell (2010), see ``pair_score``.
    """

    name: ClassVar[str] = "kg"
    formula: ClassVar[int] = KNOWLEDGE


class RandomPair(RankingPolicy):
    """Play a pair that is drawn uniformly at random."""

    name: ClassVar[str] = "random"
    stochastic: ClassVar[bool] = True

    def _scores(self, view: RankingView, rng: Generator) -> Floats:
        return rng.random(view.action_mask.shape)


class RoundRobin(RankingPolicy):
    """Play every pair once, in rounds of disjoint pairs, then start again.

    The score is minus the number of games until the pair's turn.
    """

    name: ClassVar[str] = "round-robin"

    def _scores(self, view: RankingView, rng: Generator) -> Floats:
        played = self.settings.horizon - view.games_left[:, np.newaxis]
        waits = (turns(self.settings.num_items) - played) % self.settings.num_pairs
        return -waits.astype(np.float64)


@cache
def turns(items: int) -> Integers:
    """Return the turn of each pair in a round robin by the circle method, shape (P,)."""
    i, j = np.triu_indices(items, 1)
    last = items - 1 + items % 2
    rounds = np.where(j == last, 2 * i, i + j) % last
    return np.argsort(np.argsort(rounds, kind="stable"))


class Swiss(RankingPolicy):
    """Play neighbours in the current ranking, each place in turn.

    The score is minus the distance between the pair and the neighbours whose turn it is.
    """

    name: ClassVar[str] = "swiss"

    def _scores(self, view: RankingView, rng: Generator) -> Floats:
        settings = self.settings
        last = settings.num_items - 1
        scores = np.empty(view.action_mask.shape)
        for row, mu in enumerate(view.mu):
            places = places_of(mu.copy())[settings.pairs]
            turn = (settings.horizon - view.games_left[row]) % last
            away = (places.min(axis=1) - turn) % last
            scores[row] = -(np.ptp(places, axis=1) * settings.num_items + away)
        return scores


class ThompsonPair(RankingPolicy):
    """Draw skills from the posterior; score neighbours in their order by P(misordered).

    Only pairs that count for the goal are considered; pairs further apart follow by distance.

    Source: Thompson (1933).
    """

    name: ClassVar[str] = "thompson"
    stochastic: ClassVar[bool] = True

    def _scores(self, view: RankingView, rng: Generator) -> Floats:
        settings = self.settings
        scores = np.empty(view.action_mask.shape)
        for row in range(len(scores)):
            mu = view.mu[row].copy()
            covariance = view.covariance[row].copy()
            drawn = mu + np.linalg.cholesky(covariance) @ rng.standard_normal(mu.size)
            places = places_of(drawn)[settings.pairs]
            counts = np.ones(settings.num_pairs, dtype=np.bool_)
            if settings.cut > 0:
                is_top = places < settings.cut
                counts = is_top[:, 0] != is_top[:, 1]
            penalty = np.where(counts, np.ptp(places, axis=1) - 1.0, settings.num_items)
            scores[row] = pair_scores(UNSURE, mu, covariance, settings.game()) - penalty
        return scores


class RankingOracle(Shrinkage):
    """Play pairs that are misordered under the true skills, then the others, by ``Shrinkage``."""

    name: ClassVar[str] = "oracle"
    needs_truth: ClassVar[bool] = True

    def _scores(self, view: RankingView, rng: Generator) -> Floats:
        if not hasattr(view, "true_skill"):
            raise ValueError("view must have true_skill for the oracle, got none")
        i, j = self.settings.pairs.T
        gaps = view.mu[:, i] - view.mu[:, j]
        true_gaps = view.true_skill[:, i] - view.true_skill[:, j]
        return super()._scores(view, rng) + (gaps * true_gaps < 0.0)


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
    scores = np.full(len(pairs), -1.0)
    places = places_of(mu)
    # A score is at most P(misordered), and that is at most exp(-lead^2 / 2) / 2.
    best = 0.0
    furthest = math.inf
    for p in range(len(pairs)):
        i, j = pairs[p]
        if formula == WIDEST or pair_counts(places[i], places[j], cut):
            gap = abs(mu[i] - mu[j])
            spread = difference_variance(covariance, i, j)
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
    last = math.sqrt(share) / (1.0 + math.sqrt(1.0 - share))
    total = 0.0
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
    variance = performance_variance(noise[0])
    win = normal_probability(-abs(gap) / math.sqrt(variance + spread))
    entropy = -win * math.log2(max(win, 1e-300)) - (1.0 - win) * math.log1p(-win) / math.log(2.0)
    width = 0.5 * math.pi * math.log(2.0) * variance
    expected = math.sqrt(width / (width + spread)) * math.exp(-0.5 * gap * gap / (width + spread))
    return entropy - expected
