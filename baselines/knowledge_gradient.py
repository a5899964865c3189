"""The knowledge gradient: the next draw density plus the value of what the game teaches.

The rule of ``matchenv.baselines.knowledge_gradient_rule`` evaluates every opponent after every
outcome of every game. The search below computes an upper bound of each score, then scores in
descending order of the bounds until the next bound is below the best score. So it finds the rule's
opponent, ties included. If the bounds leave many opponents, two sorted orders replace the loop over
all of them within a score.

All bounds come from one table per state. With s and l of the rule, minus twice the logarithm of the
density against k after a game against another opponent is, up to a constant,

    E_k(s, l) = log V_k + log(1 - x) + y / (1 - x),

with x = L_k^2 l / V_k and y = (g_k + L_k s)^2 / V_k. Let rho be the largest L_k^2 / V_k, so that
l <= rho. [0, rho] is split into a few parts. On each, the logarithm is at least its chord, and
1 / (1 - x) at least its tangent at the start of the part. The sum is linear in l, and a parabola
in s whose curvature is at most 2 rho w, where w is that tangent for the largest x at the end of the
part. The table holds the minimum over k at evenly spaced nodes s and at both ends of each part.
Between two nodes at distance h, the minimum of all chords is at least the linear interpolation. A
parabola is at most rho w h^2 f (1 - f) below its chord, at the fraction f of the way.

Among many opponents somebody's y is nearly 0. For them there is a second bound: E_k is at least
log(V_k - L_k^2 l). The smallest of these variances is a concave function of l, so that it is at
least its chords between evenly spaced l.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, Unpack

import numpy as np
from numpy.random import Generator

from matchenv.baselines.knowledge_gradient_rule import (
    Opponents,
    after_game,
    knowledge_gradient_scores,
    look_ahead,
    other_after_game,
    possible_outcomes,
    read_opponents,
    updated_belief_scores,
)
from matchenv.baselines.policy import PolicyOptions, ScoringPolicy
from matchenv.belief import FactorisedBelief, FullBelief, GameConstants, belief_named
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.settings import PAPER_BETA
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import (
    as_flag,
    as_non_negative_number,
    as_positive_number,
    as_probability,
    refusal,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import SMALLEST_DENSITY, density_at_zero, performance_variance
from matchenv.trueskill.normal import INVERSE_SQRT_2PI

PAPER_DISCOUNT = 0.99

# Beliefs that the compiled rule supports.
COMPILED = (FactorisedBelief.name, FullBelief.name)

# Relative margin of the bounds, far above the rounding error of a density.
SLACK = 1e-9

# Number of opponents to score from which sorting is faster than evaluating all densities.
WORTH_SORTING = 30

# Nodes on each side of s = 0, and parts of [0, rho]. If the coarse table leaves MANY opponents, the
# fine one is made.
COARSE = (8, 1)
FINE = (32, 8)
MANY = 1000

# Largest s in the table, in units of sqrt(rho), for equal means; larger shifts are unlikely.
FURTHEST = 4.0

# Above this rho, differences of variances lose too many digits, and no bound is used.
LARGEST_RATE = 1.0 - 1e-6


class Levels(NamedTuple):
    """Lower bounds of the minimum of E_k over all opponents, and of their variances."""

    lower: Floats  # at the start of each part of [0, rho] and each node, shape (parts, 2 nodes + 1)
    upper: Floats  # at the end of each part, same shape
    variances: Floats  # smallest V_k - L_k^2 l at evenly spaced l in [0, rho], shape (nodes + 1,)
    rho: float  # the largest L_k^2 / V_k
    step: float  # distance between nodes


@compiled
def tabulate_levels(opponents: Opponents, nodes: int, parts: int) -> Levels:
    """Return the table of one state."""
    gaps = opponents.gaps
    variances = opponents.variances
    loads = opponents.loads
    rho = np.max(loads * loads / variances)
    edges = np.arange(parts + 1) * rho / parts
    # If all opponents are far away, unlikely outcomes with large shifts decide.
    nearest = math.sqrt(np.min(gaps * gaps / variances))
    step = (FURTHEST + nearest) * math.sqrt(rho) / nodes
    shape = (parts, 2 * nodes + 1)
    lower = np.full(shape, np.inf)
    upper = np.full(shape, np.inf)
    smallest = np.full(nodes + 1, np.inf)
    for k in range(gaps.size):
        variance = variances[k]
        rate = loads[k] * loads[k] / variance
        slope = loads[k] * loads[k] * rho / nodes
        for node in range(nodes + 1):
            smallest[node] = min(smallest[node], variance - slope * node)
        for part in range(parts):
            low = rate * edges[part]
            high = rate * edges[part + 1]
            level = math.log(variance * (1.0 - low))
            higher = math.log(variance * (1.0 - high))
            weight = 1.0 / (1.0 - low)
            larger = weight + weight * weight * (high - low)
            for node in range(2 * nodes + 1):
                gap = gaps[k] + loads[k] * step * (node - nodes)
                square = gap * gap / variance
                lower[part, node] = min(lower[part, node], level + weight * square)
                upper[part, node] = min(upper[part, node], higher + larger * square)
    return Levels(lower, upper, smallest, rho, step)


@compiled(inline=True, refcounted=False)
def between(values: Floats, node: int, f: float) -> float:
    """Interpolate linearly at the fraction f of the way from a node to the next."""
    return values[node] + f * (values[node + 1] - values[node])


@compiled(inline=True, refcounted=False)
def best_density_bound(levels: Levels, shift: float, loss: float, beta: float) -> float:
    """Return an upper bound of the best density against an opponent who has not played."""
    rho = levels.rho
    step = levels.step
    parts, size = levels.lower.shape
    position = shift / step + size // 2
    noise = performance_variance(beta)
    share = loss / rho
    if not share <= 1.0 + SLACK:
        return INVERSE_SQRT_2PI / math.sqrt(noise)
    chords = levels.variances.size - 1
    node = min(int(share * chords), chords - 1)
    variance = max(between(levels.variances, node, share * chords - node), noise)
    if not 0.0 <= position < size - 1:
        return INVERSE_SQRT_2PI / math.sqrt(variance)
    share *= parts
    node = int(position)
    part = min(int(share), parts - 1)
    f = position - node
    low = between(levels.lower[part], node, f)
    high = between(levels.upper[part], node, f)
    level = low + (share - part) * (high - low)
    weight = 1.0 / (1.0 - rho * rho * part / parts)
    weight += weight * weight * rho * rho / parts
    level -= rho * weight * step * step * f * (1.0 - f)
    return INVERSE_SQRT_2PI * min(math.exp(-0.5 * level), 1.0 / math.sqrt(variance))


@compiled
def score_bounds(
    opponents: Opponents, multiplier: float, game: GameConstants, fineness: tuple[int, int] = COARSE
) -> Floats:
    """Return an upper bound of every opponent's score, infinity if no bound is known."""
    bounds = np.full(opponents.gaps.size, np.inf)
    levels = tabulate_levels(opponents, *fineness)
    if opponents.densities.max() <= SMALLEST_DENSITY or levels.rho >= LARGEST_RATE:
        return bounds
    for j in range(bounds.size):
        future = 0.0
        for outcome in possible_outcomes(game):
            probability, shift, loss, gap, variance = after_game(opponents, j, outcome, game)
            best = best_density_bound(levels, shift, loss, game.beta)
            # The density against j is below 1 / sqrt(2 pi (V + g^2)), since exp(x) > 1 + x.
            if not best * best * (variance + gap * gap) >= INVERSE_SQRT_2PI * INVERSE_SQRT_2PI:
                best = max(best, density_at_zero(gap, variance))
            future += probability * best
        bound = (opponents.densities[j] + multiplier * future) * (1.0 + SLACK)
        if not math.isnan(bound):
            bounds[j] = bound
    return bounds


class Orders(NamedTuple):
    """The opponents of one state, sorted; empty if sorting does not pay or if loads differ."""

    by_gap: Integers  # actions in ascending order of the gap
    gaps: Floats  # gaps in this order
    by_variance: Integers  # actions in ascending order of the variance


@compiled
def sort_opponents(opponents: Opponents, scored: int) -> Orders:
    """Return the two orders of one state, for ``scored`` calls of ``score_of``."""
    gaps = opponents.gaps
    loads = opponents.loads
    if scored < WORTH_SORTING or loads.min() < loads.max():
        return Orders(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
    by_gap = np.argsort(gaps)
    return Orders(by_gap, gaps[by_gap], np.argsort(opponents.variances))


@compiled
def best_other_density(
    opponents: Opponents, orders: Orders, j: int, shift: float, loss: float, beta: float
) -> float:
    """Return the best density against the others after a game against j.

    This is the threshold algorithm. It reads both orders at once, from the gap that becomes 0
    outwards and from the smallest variance upwards. No unread opponent has a smaller gap or a
    smaller variance than the last ones read, which bounds the remaining densities.

    Source: Fagin, Lotem, Naor (2003), "Optimal aggregation algorithms for middleware".
    """
    best = 0.0
    target = -opponents.loads[0] * shift
    _, largest = other_after_game(opponents, orders.by_variance[-1], shift, loss, beta)
    above = np.searchsorted(orders.gaps, target)
    below = above - 1
    for rank in range(orders.gaps.size):
        if above == orders.gaps.size or (
            below >= 0 and target - orders.gaps[below] < orders.gaps[above] - target
        ):
            k = orders.by_gap[below]
            below -= 1
        else:
            k = orders.by_gap[above]
            above += 1
        nearest, variance = other_after_game(opponents, k, shift, loss, beta)
        if k != j:
            best = max(best, density_at_zero(nearest, variance))
        k = orders.by_variance[rank]
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
    for outcome in possible_outcomes(game):
        probability, shift, loss, gap, variance = after_game(opponents, j, outcome, game)
        others = best_other_density(opponents, orders, j, shift, loss, game.beta)
        future += probability * max(others, density_at_zero(gap, variance))
    return opponents.densities[j] + multiplier * future


@compiled
def knowledge_gradient_action(opponents: Opponents, multiplier: float, game: GameConstants) -> int:
    """Return the action with the highest q_0j + multiplier F_j; ties go to the lowest index."""
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
        for numbers in opponents:
            differ |= numbers[j] != numbers[chosen]
        score = best  # of an opponent who is identical to the best one
        if differ:
            score = score_of(opponents, orders, j, multiplier, game)
        if score > best or (score == best and j < chosen):
            best = score
            chosen = j
    return chosen


@compiled(nogil=True)
def knowledge_gradient_actions(
    mu: Floats, sigma: Floats, differences: Floats, multipliers: Floats, game: GameConstants
) -> Integers:
    """Return the action of each of B states, see ``knowledge_gradient_scores``; shape (B,)."""
    actions = np.empty(mu.shape[0], dtype=np.int64)
    for b in range(mu.shape[0]):
        opponents = read_opponents(mu[b], sigma[b], differences[b], game)
        actions[b] = knowledge_gradient_action(opponents, multipliers[b], game)
    return actions


class KnowledgeGradient(ScoringPolicy):
    """Choose the opponent with the highest q_0j + multiplier F_j.

    F_j is the expected best draw density after a game against j. The multiplier is the number of
    later games that benefit. It is set by one of ``discount``, ``finite_horizon`` and
    ``multiplier``; the default is eq. (13) with a discount of 0.99.

    Args:
        discount: gamma of eq. (13), in [0, 1): the multiplier is gamma / (1 - gamma).
        finite_horizon: eq. (12): the multiplier is the number of games left after the next one;
            ``predict`` then needs ``horizon``.
        scale: factor of the games left with ``finite_horizon``, >= 0; 1 is eq. (12).
        multiplier: the multiplier itself, >= 0.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances no further apart than this are a draw, >= 0.
        tau: standard deviation of a skill's drift before a game, >= 0.
        options: ``horizon`` and ``belief``, see ``Policy``; some beliefs support no drift or draws.

    Raises:
        ValueError: for a value out of range, or more than one option that sets the multiplier.

    Source: Ryzhov, Tariq, Powell (2011), eq. (12) and (13), misprints corrected.
    """

    name: ClassVar[str] = "kg"

    def __init__(
        self,
        discount: float | None = None,
        *,
        finite_horizon: bool = False,
        scale: float = 1.0,
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
                "give at most one of discount, finite_horizon and multiplier, got "
                f"discount={discount!r}, finite_horizon={finite_horizon!r}, "
                f"multiplier={multiplier!r}"
            )
        self.scale = as_non_negative_number("scale", scale)
        if self.scale != 1.0 and not self.finite_horizon:
            raise refusal("scale must be 1 without finite_horizon", scale)
        self.multiplier: float | None = None
        if multiplier is not None:
            self.multiplier = as_non_negative_number("multiplier", multiplier)
        elif not self.finite_horizon:
            gamma = as_probability("discount", PAPER_DISCOUNT if discount is None else discount)
            self.multiplier = gamma / (1.0 - gamma)
        self.beta = as_positive_number("beta", beta)
        self.draw_margin = as_non_negative_number("draw_margin", draw_margin)
        self.tau = as_non_negative_number("tau", tau)
        self._game = GameConstants(self.beta, self.draw_margin, self.tau)
        belief_named(self.belief).check_constants(self._game)

    def _multipliers(self, games_left: Floats) -> Floats:
        if self.multiplier is None:
            return self.scale * np.maximum(games_left - 1.0, 0.0)
        return np.full(games_left.shape, self.multiplier)

    def _scores(self, state: KnowledgeState, games_left: Floats) -> Floats:
        multipliers = self._multipliers(games_left)
        if state.belief not in COMPILED:
            return updated_belief_scores(state, multipliers, self._game)
        return np.asarray(
            knowledge_gradient_scores(
                state.mu, state.sigma, state.difference_sigma, multipliers, self._game
            )
        )

    def _choose(self, state: KnowledgeState, games_left: Floats, rng: Generator) -> Integers:
        if state.belief not in COMPILED:
            return super()._choose(state, games_left, rng)
        multipliers = self._multipliers(games_left)
        return np.asarray(
            knowledge_gradient_actions(
                state.mu, state.sigma, state.difference_sigma, multipliers, self._game
            )
        )
