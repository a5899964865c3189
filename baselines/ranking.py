"""Policies of ``Ranking-v0``: rules from a joint belief to the pair that plays next.

Each gives every pair a score, and the allowed pair of the highest score plays; ties go to the
lowest index. ``matchenv.ranking.Ranker`` asks the same rules outside the environment.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.baselines.policy import PredictMixin
from matchenv.belief.joint import difference_variance, game_precision
from matchenv.envs.ranking import RankingSettings, RankingView, pair_counts, places_of
from matchenv.runtime.checks import as_action_masks, as_choice, as_float_array
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import total_variance
from matchenv.trueskill.normal import normal_probability

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Generator = np.random.Generator

# Nodes and weights of Gauss and Legendre on [0, 1].
NODES, WEIGHTS = 0.5 * np.array(np.polynomial.legendre.leggauss(16)) + np.array([[0.5], [0.0]])

# Formulas of ``pair_score``.
WIDEST, UNSURE, INFORMATION, SHRINKAGE, KNOWLEDGE = range(5)


class RankingPolicy(PredictMixin):
    """A rule that chooses the pair that plays next.

    Args:
        name: the rule, one of ``RULES``.
        seed: seed of the policy's own generator, used where none is passed.

    Attributes:
        stochastic: whether equal beliefs may get different choices.
        needs_truth: whether the rule reads the true skills, which no fair policy sees.
        settings: of the environment that it plays, from ``for_settings``.
    """

    settings: RankingSettings = RankingSettings()

    def __init__(self, name: str, *, seed: int | None = None) -> None:
        self.name = as_choice("name", name, RULES)
        self.stochastic, self.needs_truth = name in ("random", "thompson"), name == "oracle"
        self._rng = np.random.default_rng(seed)

    def for_settings(self, settings: RankingSettings) -> Self:
        """Return the same policy for an environment: its items, noise, goal and horizon."""
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
            rng: generator for stochastic policies; None uses the policy's own.
            action_masks: pairs that may play, shape (B, P), True or 1; None for all.

        Returns:
            Actions in [0, P), shape (B,).

        Raises:
            ValueError: for masks of another shape or without a True.
        """
        scores = RULES[self.name](view, self.settings, rng or self._rng)
        if action_masks is not None:
            scores[~as_action_masks(action_masks, scores.shape)] = -math.inf
        return scores.argmax(axis=1)

    def _predict(
        self, observation: Any, action_masks: ArrayLike | None, deterministic: bool
    ) -> Integers:
        numbers = as_float_array("observation", observation)
        size, masks = self.settings.observation_size, action_masks
        if numbers.ndim not in (1, 2) or numbers.shape[-1] != size:
            raise ValueError(
                f"observation must have shape ({size},) or (B, {size}), got {numbers.shape}"
            )
        if masks is None and self.settings.masks_change:
            masks = numbers[..., -self.settings.num_pairs :]
        actions = self.act(
            view_of(np.atleast_2d(numbers), self.settings),
            action_masks=None if masks is None else np.atleast_2d(masks),
        )
        return actions.reshape(numbers.shape[:-1])


def view_of(observations: Floats, settings: RankingSettings) -> RankingView:
    """Return the beliefs that observations show, shape (B, K), of such an environment."""
    items, pairs = settings.num_items, settings.num_pairs
    edges = [items, 2 * items, 2 * items + pairs, 2 * (items + pairs)]
    means, deviations, _, differences, rest = np.split(observations, edges, axis=1)
    i, j = settings.pairs.T
    variances = deviations**2
    covariance = variances[:, :, np.newaxis] * np.eye(items)
    shared = 0.5 * (variances[:, i] + variances[:, j] - differences**2)
    covariance[:, i, j] = covariance[:, j, i] = shared
    left = np.rint(rest[:, 0] * settings.horizon).astype(np.int64)
    return RankingView(np.ascontiguousarray(means), covariance, left)


def random(view: RankingView, settings: RankingSettings, rng: Generator) -> Floats:
    """Score pairs uniformly at random."""
    return rng.random((len(view.mu), settings.num_pairs))


def round_robin(view: RankingView, settings: RankingSettings, rng: Generator) -> Floats:
    """Play every pair once, round by round, then all over again: the circle method.

    A score is minus the number of games until the pair's turn.
    """
    played = settings.horizon - view.games_left[:, np.newaxis]
    return -((turns(settings.num_items) - played) % settings.num_pairs).astype(np.float64)


@cache
def turns(items: int) -> Integers:
    """Return the turn of each pair, shape (P,): by its round, in which nobody plays twice."""
    i, j = np.triu_indices(items, 1)
    last = items - 1 + items % 2
    rounds = np.where(j == last, 2 * i, i + j) % last
    return np.argsort(np.argsort(rounds, kind="stable"))


def swiss(view: RankingView, settings: RankingSettings, rng: Generator) -> Floats:
    """Play neighbours in the present order, one place after another.

    A score is minus the distance of the pair to the neighbours whose turn it is.
    """
    places = np.stack([places_of(mu) for mu in view.mu])
    i, j = settings.pairs.T
    apart = np.abs(places[:, i] - places[:, j])
    turn = (settings.horizon - view.games_left) % (settings.num_items - 1)
    first = np.minimum(places[:, i], places[:, j]) - turn[:, np.newaxis]
    return -(apart * settings.num_items + first % (settings.num_items - 1)).astype(np.float64)


def thompson(view: RankingView, settings: RankingSettings, rng: Generator) -> Floats:
    """Draw skills from the belief; of the neighbours in their order that count, the least sure.

    Other pairs follow by their distance.
    """
    unsure = by_formula(UNSURE, view, settings, rng)
    i, j = settings.pairs.T
    for row, (mu, covariance) in enumerate(zip(view.mu, view.covariance, strict=True)):
        drawn = mu + np.linalg.cholesky(covariance) @ rng.standard_normal(mu.size)
        places = places_of(drawn)
        apart, cut = np.abs(places[i] - places[j]), settings.cut
        counts = (cut == 0) | ((places[i] < cut) != (places[j] < cut))
        unsure[row] -= np.where(counts, apart - 1.0, settings.num_items)
    return unsure


def oracle(view: RankingView, settings: RankingSettings, rng: Generator) -> Floats:
    """Know the true skills: the least sure of the pairs that stand in the wrong order.

    Where all pairs that count stand right, the one that a game makes surest. A score is that of
    ``shrinkage``, plus 1 for a pair in the wrong order.

    Raises:
        ValueError: for a view without true skills.
    """
    if view.true_skill is None:
        raise ValueError("view must have true_skill for the oracle, got None")
    i, j = settings.pairs.T
    wrong = (view.mu[:, i] - view.mu[:, j]) * (view.true_skill[:, i] - view.true_skill[:, j]) < 0.0
    return by_formula(SHRINKAGE, view, settings, rng) + wrong


def by_formula(
    formula: int, view: RankingView, settings: RankingSettings, rng: Generator
) -> Floats:
    """Score pairs by a formula of ``pair_score``, which depends on the pair's difference alone."""
    game = settings.pairs, settings.noise, (settings.cut, 0.0)
    beliefs = zip(view.mu, view.covariance, strict=True)
    return np.stack([pair_scores(formula, mu, covariance, *game) for mu, covariance in beliefs])


# The score of each pair, shape (B, P), of a view, the settings and a generator.
RULES: dict[str, Callable[[RankingView, RankingSettings, Generator], Floats]] = {
    "random": random,
    "round-robin": round_robin,
    "swiss": swiss,
    # The pair whose difference of skills is the least known.
    "widest": partial(by_formula, WIDEST),
    "thompson": thompson,
    "information": partial(by_formula, INFORMATION),
    "shrinkage": partial(by_formula, SHRINKAGE),
    "kg": partial(by_formula, KNOWLEDGE),
    "oracle": oracle,
}


@compiled
def pair_scores(
    rule: int,
    mu: Floats,
    covariance: Floats,
    pairs: Integers,
    noise: tuple[float, float],
    goal: tuple[int, float],
    floor: float = 0.0,
) -> Floats:
    """Return the score of each pair by a formula, shape (P,); -1 for pairs that do not count.

    Args:
        rule: one of the formulas.
        mu: shape (n,).
        covariance: shape (n, n).
        pairs: shape (P, 2).
        noise: beta and the draw margin.
        goal: items above the border that counts, 0 for the whole order; and the difference of
            skills that does not matter.
        floor: with ``KNOWLEDGE``, share of the best score below which a score may be left at -1,
            in [0, 1]: most pairs of many items are so clear that their score need not be known.
    """
    scores, places = np.full(len(pairs), -1.0), places_of(mu)
    cut, indifference = goal
    # No score is above P(misordered), which is at most exp(-lead^2 / 2) / 2.
    best, furthest = 0.0, math.inf
    for p in range(len(pairs)):
        i, j = pairs[p]
        if rule == WIDEST or pair_counts(places[i], places[j], cut):
            gap, spread = abs(mu[i] - mu[j]), difference_variance(covariance, i, j)
            if (gap + indifference) ** 2 <= furthest * spread:
                scores[p] = pair_score(rule, gap, spread, noise, indifference)
                if floor > 0.0 and scores[p] > best:
                    best = scores[p]
                    furthest = -2.0 * math.log(2.0 * floor * best)
    return scores


@compiled
def pair_score(
    rule: int, gap: float, spread: float, noise: tuple[float, float], indifference: float = 0.0
) -> float:
    """Return the score of a pair by a formula.

    ``WIDEST`` is the variance of the difference of skills, and ``UNSURE`` P(misordered), by more
    than the indifference. ``SHRINKAGE`` is P(misordered) times the share of the variance that a
    game takes off.

    ``KNOWLEDGE`` is the expected decrease of a pair's loss per game, by the best number of games of
    that pair. The knowledge gradient asks what one more game is worth. Here that is exactly 0
    wherever no outcome changes the order, and the rule is blind there. As in KG(*) (Frazier and
    Powell, "Paradoxes in learning and the marginal value of information", Decision Analysis,
    2010), a game is therefore valued as part of m games of the same pair, at the m with the largest
    value per game; m games count as the normal measurement of s_i - s_j that is worth as much.

    Args:
        rule: one of the formulas.
        gap: mu_i - mu_j.
        spread: Var(s_i - s_j).
        noise: beta and the draw margin.
        indifference: difference of skills that does not matter; the lead is that much larger.
    """
    if rule == WIDEST:
        return spread
    if rule == INFORMATION:
        return information_gain(gap, spread, noise)
    lead = (abs(gap) + indifference) / math.sqrt(spread)
    if rule == UNSURE:
        return normal_probability(-lead)
    worth = spread * game_precision(gap, spread, noise)
    share = worth / (1.0 + worth)
    if rule == SHRINKAGE or worth == 0.0:  # 0 where the margin makes every game a draw
        return share * normal_probability(-lead)
    repeated = max(share, best_share(lead))
    games = repeated / (worth * (1.0 - repeated))
    return loss_decrease(lead, repeated) / max(1.0, games)


@compiled
def best_share(lead: float) -> float:
    """Return the share of the variance to take off for the largest decrease of the loss per game.

    Games grow with share / (1 - share), and the decrease as exp(-h^2 / (2 share)) sqrt(share): the
    maximum of the ratio is the root of share^2 + (1 + h^2) share = h^2.
    """
    square = lead * lead
    return 2.0 * square / (1.0 + square + math.sqrt((1.0 + square) ** 2 + 4.0 * square))


@compiled
def loss_decrease(lead: float, share: float) -> float:
    """Return the expected decrease of a pair's P(misordered) by a normal measurement.

    With lead ``h = |mu_i - mu_j|`` / deviation and share r^2 of the variance that the measurement
    takes off, the expected P(misordered) after it is 2 T(h, sqrt(1 - r^2) / r) with Owen's T, since
    (s_i - s_j, its posterior mean) is normal with correlation r. The decrease Phi(-h) - 2 T is
    Craig's integral of Phi(-h), cut off at asin(r):

        1 / pi times the integral from 0 to asin(r) of exp(-h^2 / (2 sin^2 t)) dt

    Here it is over x = tan(t / 2), where sin t = 2 x / (1 + x^2).

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
    """Return the mutual information of outcome and skills in bits, draws counted as half a win.

    The closed form of Houlsby, Huszar, Ghahramani and Lengyel, "Bayesian active learning for
    classification and preference learning" (2011), eq. (4), as in ASAP. It does not know the goal.
    """
    variance = total_variance(0.0, 0.0, noise[0])
    win = normal_probability(-abs(gap) / math.sqrt(variance + spread))
    entropy = -win * math.log2(max(win, 1e-300)) - (1.0 - win) * math.log1p(-win) / math.log(2.0)
    width = 0.5 * math.pi * math.log(2.0) * variance
    expected = math.sqrt(width / (width + spread)) * math.exp(-0.5 * gap * gap / (width + spread))
    return entropy - expected
