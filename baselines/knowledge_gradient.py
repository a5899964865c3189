"""KG: the draw density of the next game, and the value of what it teaches for later games.

The rule looks at every opponent after every outcome of every game. The search below bounds the
score of each opponent, and computes scores in the order of the bounds until no bound reaches the
best score. So its choice is the rule's, among equal scores too. Where the bounds leave many, as
among nearly equal opponents, each score is found by two sorted orders instead of a look at all.

The bound rests on one table for all games of a state. With s and l of
``matchenv.baselines.knowledge_gradient_rule``, minus twice the logarithm of the density against k
after a game of another is, but for a constant,

    E_k(s, l) = log V_k + log(1 - x) + y / (1 - x),

with x = L_k^2 l / V_k and y = (g_k + L_k s)^2 / V_k. Let rho be the largest L_k^2 / V_k, so that
l <= rho. On each of a few parts of [0, rho] the logarithm is at least its chord, and 1 / (1 - x) at
least its tangent where the part begins. The sum is linear in l, and a parabola in s of a curvature
of at most 2 rho w, where w is that tangent for the largest x where the part ends. The least of all
opponents is tabulated on even nodes s, at both ends of each part. Between two nodes at a distance h
the least of all chords is at least the linear interpolation, and a parabola is below its chord by
at most rho w h^2 f (1 - f) at the fraction f of the way.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, Self, Unpack

import numpy as np

from matchenv.baselines.knowledge_gradient_rule import (
    OUTCOMES,
    Opponents,
    after_game,
    knowledge_gradient_scores,
    look_ahead,
    other_after_game,
    read_opponents,
    updated_belief_scores,
)
from matchenv.baselines.policy import Floats, Integers, PolicyOptions, ScoringPolicy
from matchenv.belief import (
    FactorisedBelief,
    FullBelief,
    GameConstants,
    belief_named,
)
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.settings import PAPER_BETA
from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.checks import (
    as_flag,
    as_non_negative_number,
    as_positive_number,
    as_probability,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import SMALLEST_DENSITY, density_at_zero
from matchenv.trueskill.normal import INVERSE_SQRT_2PI

PAPER_DISCOUNT = 0.99

# Beliefs that the compiled rule reads.
COMPILED = (FactorisedBelief.name, FullBelief.name)

# Bounds are widened by this share, far more than rounding can take from a density.
SLACK = 1e-9

# Opponents that the bounds leave, from which on two sorted orders are faster than look-aheads.
WORTH_SORTING = 30

# Nodes on each side of s = 0 and parts of [0, rho]; the finer table is made where many are left.
COARSE, FINE, MANY = (8, 1), (32, 8), 1000

# The largest s in units of sqrt(rho), for equal means. Larger shifts are unlikely.
FURTHEST = 4.0

# With a larger rho the differences of variances have too few digits, and no bound is used.
LARGEST_RATE = 1.0 - 1e-6


class Levels(NamedTuple):
    """Lower bounds of the least E of all opponents.

    Attributes:
        lower: at the lower end of each part of [0, rho] and the nodes, shape (parts, 2 nodes + 1).
        upper: at the upper end.
        rho: the largest L_k^2 / V_k.
        step: distance of two nodes.
    """

    lower: Floats
    upper: Floats
    rho: float
    step: float


@compiled
def tabulate_levels(opponents: Opponents, nodes: int, parts: int) -> Levels:
    """Return a table of one state."""
    gaps, variances, loads = opponents.gaps, opponents.variances, opponents.loads
    rho = np.max(loads * loads / variances)
    edges = np.arange(parts + 1) * rho / parts
    # Where all are far away the unlikely outcomes, whose shifts are large, decide.
    nearest = math.sqrt(np.min(gaps * gaps / variances))
    step = (FURTHEST + nearest) * math.sqrt(rho) / nodes
    shape = (parts, 2 * nodes + 1)
    lower, upper = np.full(shape, np.inf), np.full(shape, np.inf)
    for k in range(gaps.size):
        variance, rate = variances[k], loads[k] * loads[k] / variances[k]
        for part in range(parts):
            low, high = rate * edges[part], rate * edges[part + 1]
            level, higher = math.log(variance * (1.0 - low)), math.log(variance * (1.0 - high))
            weight = 1.0 / (1.0 - low)
            larger = weight + weight * weight * (high - low)
            for node in range(2 * nodes + 1):
                gap = gaps[k] + loads[k] * step * (node - nodes)
                square = gap * gap / variance
                lower[part, node] = min(lower[part, node], level + weight * square)
                upper[part, node] = min(upper[part, node], higher + larger * square)
    return Levels(lower, upper, rho, step)


@compiled(inline=True, refcounted=False)
def best_density_bound(levels: Levels, shift: float, loss: float, beta: float) -> float:
    """Return an upper bound of the best density against those who have not played."""
    rho, step = levels.rho, levels.step
    parts, size = levels.lower.shape
    place = shift / step + size // 2
    if not 0.0 <= place < size - 1:
        return INVERSE_SQRT_2PI / (math.sqrt(2.0) * beta)
    node, share = int(place), loss / rho * parts
    part = min(int(share), parts - 1)
    f, lower, upper = place - node, levels.lower[part], levels.upper[part]
    low = lower[node] + f * (lower[node + 1] - lower[node])
    high = upper[node] + f * (upper[node + 1] - upper[node])
    level = low + (share - part) * (high - low)
    weight = 1.0 / (1.0 - rho * rho * part / parts)
    weight += weight * weight * rho * rho / parts
    level -= rho * weight * step * step * f * (1.0 - f)
    return INVERSE_SQRT_2PI * math.exp(-0.5 * level)


@compiled(inline=True, refcounted=False)
def score_bound(
    opponents: Opponents, levels: Levels, j: int, multiplier: float, game: GameConstants
) -> float:
    """Return an upper bound of q_0j + multiplier F_j, infinity where there is none."""
    future = 0.0
    for outcome in OUTCOMES[: 3 if game.draw_margin > 0.0 else 2]:
        probability, shift, loss, gap, variance = after_game(opponents, j, outcome, game)
        best = best_density_bound(levels, shift, loss, game.beta)
        # The density against j is below 1 / sqrt(2 pi (V + g^2)), as exp(x) is above 1 + x.
        if not best * best * (variance + gap * gap) >= INVERSE_SQRT_2PI * INVERSE_SQRT_2PI:
            best = max(best, density_at_zero(gap, variance))
        future += probability * best
    bound = (opponents.densities[j] + multiplier * future) * (1.0 + SLACK)
    return np.inf if math.isnan(bound) else bound


@compiled
def score_bounds(
    opponents: Opponents, multiplier: float, game: GameConstants, fineness: tuple[int, int] = COARSE
) -> Floats:
    """Return an upper bound of every opponent's score, infinity where there is none."""
    bounds, levels = np.full(opponents.gaps.size, np.inf), tabulate_levels(opponents, *fineness)
    if opponents.densities.max() > SMALLEST_DENSITY and levels.rho < LARGEST_RATE:
        for j in range(bounds.size):
            bounds[j] = score_bound(opponents, levels, j, multiplier, game)
    return bounds


class Orders(NamedTuple):
    """The opponents of one state in two orders; none where it does not pay, or loads differ.

    Attributes:
        by_gap: actions from the smallest gap to the largest.
        gaps: gaps in this order.
        by_variance: actions from the smallest variance to the largest.
    """

    by_gap: Integers
    gaps: Floats
    by_variance: Integers


@compiled
def sort_opponents(opponents: Opponents, scored: int) -> Orders:
    """Return the two orders of one state in which so many opponents are scored."""
    gaps, loads = opponents.gaps, opponents.loads
    if scored < WORTH_SORTING or loads.min() < loads.max():
        return Orders(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
    by_gap = np.argsort(gaps)
    return Orders(by_gap, gaps[by_gap], np.argsort(opponents.variances))


@compiled
def best_other_density(
    opponents: Opponents, orders: Orders, j: int, shift: float, loss: float, beta: float
) -> float:
    """Return the best density after a game with j against those who have not played.

    Opponents are read in both orders at once, from the gap that becomes 0 outwards and from the
    smallest variance upwards. Nobody unread has a smaller gap or a smaller variance than those
    last read, which bounds their density: the threshold algorithm.

    Source: Fagin, Lotem, Naor (2003), "Optimal aggregation algorithms for middleware".
    """
    best, target = 0.0, -opponents.loads[0] * shift
    _, largest = other_after_game(opponents, orders.by_variance[-1], shift, loss, beta)
    above = np.searchsorted(orders.gaps, target)
    below = above - 1
    for place in range(orders.gaps.size):
        if above == orders.gaps.size or (
            below >= 0 and target - orders.gaps[below] < orders.gaps[above] - target
        ):
            k, below = orders.by_gap[below], below - 1
        else:
            k, above = orders.by_gap[above], above + 1
        nearest, variance = other_after_game(opponents, k, shift, loss, beta)
        if k != j:
            best = max(best, density_at_zero(nearest, variance))
        k = orders.by_variance[place]
        gap, smallest = other_after_game(opponents, k, shift, loss, beta)
        if k != j:
            best = max(best, density_at_zero(gap, smallest))
        if best >= density_at_zero(nearest, min(max(smallest, nearest * nearest), largest)):
            break
    return best


@compiled
def score_of(
    opponents: Opponents, orders: Orders, j: int, multiplier: float, game: GameConstants
) -> float:
    """Return q_0j + multiplier F_j."""
    if orders.gaps.size == 0:
        return opponents.densities[j] + multiplier * look_ahead(opponents, j, game)
    future = 0.0
    for outcome in OUTCOMES[: 3 if game.draw_margin > 0.0 else 2]:
        probability, shift, loss, gap, variance = after_game(opponents, j, outcome, game)
        others = best_other_density(opponents, orders, j, shift, loss, game.beta)
        future += probability * max(others, density_at_zero(gap, variance))
    return opponents.densities[j] + multiplier * future


@compiled
def knowledge_gradient_action(opponents: Opponents, multiplier: float, game: GameConstants) -> int:
    """Return the action with the highest q_0j + multiplier F_j, the lowest of equals."""
    for fineness in (COARSE, FINE):
        bounds = score_bounds(opponents, multiplier, game, fineness)
        chosen = int(np.argmax(bounds))
        best = score_of(opponents, sort_opponents(opponents, 1), chosen, multiplier, game)
        bounds[chosen] = -np.inf
        left = np.flatnonzero(bounds >= best)
        if left.size < MANY:
            break
    orders = sort_opponents(opponents, left.size)
    for j in left[np.argsort(-bounds[left])]:
        if bounds[j] < best:
            break
        differ = False
        for row in opponents:
            differ |= row[j] != row[chosen]
        if not differ:
            chosen = min(j, chosen)
            continue
        score = score_of(opponents, orders, j, multiplier, game)
        if score > best or (score == best and j < chosen):
            best, chosen = score, j
    return chosen


@compiled
def knowledge_gradient_actions(
    mu: Floats, sigma: Floats, differences: Floats, multipliers: Floats, game: GameConstants
) -> Integers:
    """Return the actions of the first highest ``knowledge_gradient_scores``, shape (B,)."""
    actions = np.empty(mu.shape[0], dtype=np.int64)
    for b in range(mu.shape[0]):
        opponents = read_opponents(mu[b], sigma[b], differences[b], game)
        actions[b] = knowledge_gradient_action(opponents, multipliers[b], game)
    return actions


class KnowledgeGradient(ScoringPolicy):
    """Choose the opponent with the highest q_0j + multiplier F_j.

    F_j is the expected best draw density after the game with j. The multiplier is the number of
    games for which it counts. At most one of ``discount``, ``finite_horizon`` and ``multiplier``
    may be given. Without any of them it is eq. (13) with a discount of 0.99.

    Args:
        discount: gamma of eq. (13), in [0, 1): the multiplier is gamma / (1 - gamma).
        finite_horizon: eq. (12): the multiplier is the number of games that remain after
            the one to be chosen; ``predict`` needs ``horizon`` for it.
        multiplier: the multiplier itself, >= 0.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances no further apart than this are a draw, >= 0.
        tau: standard deviation of a skill's drift before a game, >= 0.
        options: ``horizon`` and ``belief`` as ``Policy``; some beliefs have no drift or draws.

    Raises:
        ValueError: for a bad number, or more than one of the three that set the multiplier.

    Source: Ryzhov, Tariq, Powell (2011), eq. (12) and (13), misprints corrected.
    """

    name: ClassVar[str] = "kg"

    def __init__(
        self,
        discount: float | None = None,
        *,
        finite_horizon: bool = False,
        multiplier: float | None = None,
        beta: float = PAPER_BETA,
        draw_margin: float = 0.0,
        tau: float = 0.0,
        **options: Unpack[PolicyOptions],
    ) -> None:
        super().__init__(**options)
        self.finite_horizon = as_flag("finite_horizon", finite_horizon)
        if (discount is not None) + self.finite_horizon + (multiplier is not None) > 1:
            raise ValueError(
                "give one of discount, finite_horizon and multiplier, got "
                f"discount={discount!r}, finite_horizon={finite_horizon!r}, "
                f"multiplier={multiplier!r}"
            )
        if multiplier is not None:
            self.multiplier = as_non_negative_number("multiplier", multiplier)
        else:
            gamma = as_probability("discount", PAPER_DISCOUNT if discount is None else discount)
            self.multiplier = gamma / (1.0 - gamma)
        self.beta = as_positive_number("beta", beta)
        self.draw_margin = as_non_negative_number("draw_margin", draw_margin)
        self.tau = as_non_negative_number("tau", tau)
        self._game = GameConstants(self.beta, self.draw_margin, self.tau)
        belief_named(self.belief).check_constants(self._game)

    def for_settings(self, settings: Settings) -> Self:
        """Return the same policy for the opponents and the horizon of an environment."""
        policy = super().for_settings(settings)
        policy.horizon = settings.horizon
        return policy

    def _multipliers(self, games_left: Floats) -> Floats:
        if self.finite_horizon:
            return np.maximum(games_left - 1.0, 0.0)
        return np.full(games_left.shape, self.multiplier)

    def _scores(self, state: KnowledgeState, games_left: Floats) -> Floats:
        state.kind.check_constants(self._game)
        multipliers = self._multipliers(games_left)
        if state.belief not in COMPILED:
            return updated_belief_scores(state, multipliers, self._game)
        numbers = state.mu, state.sigma, state.extra, multipliers
        return np.asarray(knowledge_gradient_scores(*numbers, self._game))

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        if state.belief not in COMPILED:
            return super()._choose(state, games_left, rng)
        numbers = state.mu, state.sigma, state.extra, self._multipliers(games_left)
        return np.asarray(knowledge_gradient_actions(*numbers, self._game))
