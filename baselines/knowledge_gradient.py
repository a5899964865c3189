"""KG: the draw density of the next game, and the value of what it teaches for later games.

The rule looks at every opponent after every outcome of every game. The search below gives each
opponent an upper bound of its score first, and computes scores only where the bound reaches the
best score so far. So its choice is the rule's, among equal scores too.

The bound rests on one table for all games of a state. With s and l of
``matchenv.baselines.knowledge_gradient_rule``, minus twice the logarithm of the density against k
after a game of another is, but for a constant,

    E_k(s, l) = log V_k + log(1 - x) + y / (1 - x),    x = L_k^2 l / V_k,  y = (g_k + L_k s)^2 / V_k
             >= log V_k + y + x (y - 1) - x^2 / (2 (1 - x)).

Without its last term this is linear in l, and a parabola in s whose curvature is at most
C = rho (1 + rho^2), where rho is the largest L_k^2 / V_k and l <= rho. So the least E_k of all
opponents is tabulated on even nodes s, for l = 0 and l = rho. Between two nodes at a distance h
the least of all chords is concave, so it is at least linear interpolation, and a parabola with the
fraction f of the way behind it is below its chord by C h^2 f (1 - f).
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
from matchenv.runtime.checks import as_non_negative_number, as_positive_number, as_probability
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import SMALLEST_DENSITY, density_at_zero
from matchenv.trueskill.normal import INVERSE_SQRT_2PI

PAPER_DISCOUNT = 0.99

# Beliefs that the compiled rule reads.
COMPILED = (FactorisedBelief.name, FullBelief.name)

# Bounds are widened by this share, far more than rounding can take from a density.
SLACK = 1e-9

# Nodes on each side of s = 0, in small pools and in large ones, and the largest s in units of
# sqrt(rho): a shift of more deviations of the difference is as good as impossible.
FEWEST, MOST = 12, 96
OPPONENTS_PER_NODE = 500
FURTHEST = 6.0

# A game shifts the standardised difference by at most its distance to the outcome and this,
# v(0) = sqrt(2 / pi), since v(t) + t falls with t and v falls too.
LARGEST_SHIFT = 0.8

# Below this rho all is exact to the last bit, and divisions by it are not.
LEAST_RATE = 1e-30

# Nobody is left out where the exponential of a squared gap may overflow.
LARGEST_EXPONENT = 600.0


class Levels(NamedTuple):
    """Lower bounds of the least E, relative to E of the best opponent before the game.

    Attributes:
        still: shape (2 H + 1,), at l = 0.
        learned: shape (2 H + 1,), at l = rho.
        within: shape (H + 1,), upper bounds of the best density against those who have not
            played, for any l and an abs(s) up to the i-th node from the middle on.
        contenders: those whom no other opponent outdoes for every s and l within reach: the one
            with the best density before the game, then the others by variance.
        gaps: least and largest gap of a contender.
        loads: least and largest load of a contender.
        rho: the largest L_k^2 / V_k.
        reach: s of the last node.
        density: of the best opponent before the game, once player 0's skill has drifted.
        most: an upper bound of the best draw density after any game.
    """

    still: Floats
    learned: Floats
    within: Floats
    contenders: Integers
    gaps: tuple[float, float]
    loads: tuple[float, float]
    rho: float
    reach: float
    density: float
    most: float


@compiled
def find_contenders(opponents: Opponents, first: int, rho: float, reach: float) -> Integers:
    """Return those who may have the best density after a game of two others.

    V exp(g^2 / V) is at least V + g^2, and at most V + chord g^2 up to the largest g^2 / V that
    ``first`` can have. An opponent whose lower bound is above the upper bound of ``first`` for
    every s and l within reach is left out. ``first`` has the best density before the game.
    """
    gaps, variances, loads = opponents.gaps, opponents.variances, opponents.loads
    gap, variance, load = gaps[first], variances[first], loads[first]
    furthest = (abs(gap) + load * reach) ** 2 / (variance - load * load * rho)
    chord = np.inf
    if furthest < LARGEST_EXPONENT:
        chord = math.expm1(furthest) / furthest if furthest > 0.0 else 1.0
    found = np.empty(gaps.size, dtype=np.int64)
    found[0], count = first, 1
    for k in range(gaps.size):
        # The difference of the two bounds is a parabola in s.
        bend = loads[k] * loads[k] - chord * load * load
        slope = gaps[k] * loads[k] - chord * gap * load
        least = bend * reach * reach - 2.0 * abs(slope) * reach
        if bend > 0.0 and abs(slope) < bend * reach:
            least = -slope * slope / bend
        least += gaps[k] * gaps[k] - chord * gap * gap
        least -= max(0.0, loads[k] * loads[k] - load * load) * rho
        if k != first and not variances[k] - variance + least > SLACK * variances[k]:
            found[count] = k
            count += 1
    return found[:count]


@compiled
def tabulate_levels(opponents: Opponents, first: int, draw_margin: float) -> Levels:
    """Return the table of one state; ``first`` has the best density before the game."""
    shares = 1.0 / np.sqrt(opponents.variances)
    rates = opponents.loads * shares
    rho = np.max(rates * rates)
    furthest = np.max(rates * (LARGEST_SHIFT + (np.abs(opponents.gaps) + draw_margin) * shares))
    reach = min(furthest, FURTHEST * math.sqrt(rho))
    contenders = find_contenders(opponents, first, rho, reach)
    contenders[1:] = contenders[1:][np.argsort(opponents.variances[contenders[1:]])]
    gaps, loads = opponents.gaps[contenders], opponents.loads[contenders]
    half = min(max(FEWEST, opponents.gaps.size // OPPONENTS_PER_NODE), MOST)
    still, learned = np.full(2 * half + 1, np.inf), np.full(2 * half + 1, np.inf)
    variance = opponents.variances[first]
    for k in contenders:
        share, rate = shares[k], rates[k]
        level, learns = math.log(opponents.variances[k] / variance), rho * rate * rate
        least, step = opponents.gaps[k] * share - rate * reach, rate * reach / half
        for i in range(still.size):
            distance = least + step * i
            square = distance * distance
            still[i] = min(still[i], level + square)
            learned[i] = min(learned[i], level - learns + (1.0 + learns) * square)
    before = opponents.gaps[first] ** 2 / variance
    still -= before
    learned -= before
    density = density_at_zero(opponents.gaps[first], variance)
    step, least = reach / half, np.inf
    slack = 0.25 * rho * (1.0 + rho * rho) * step * step + 0.5 * rho**4 / (1.0 - rho * rho)
    within = np.empty(half + 1)
    for i in range(half + 1):
        for node in (half - i, half + i):
            least = min(least, still[node], learned[node])
        within[i] = density * math.exp(-0.5 * (least - slack))
    remaining = np.min(opponents.variances - opponents.loads * opponents.loads * rho)
    most = INVERSE_SQRT_2PI / math.sqrt(remaining)
    spans = (gaps.min(), gaps.max()), (loads.min(), loads.max())
    return Levels(still, learned, within, contenders, *spans, rho, reach, density, most)


@compiled(refcounted=False)
def best_density_bound(levels: Levels, shift: float, loss: float) -> float:
    """Return an upper bound of the best density against those who have not played."""
    rho, half = levels.rho, levels.within.size - 1
    step = levels.reach / half
    place = (shift + levels.reach) / step
    if not 0.0 <= place < 2 * half:
        return levels.most
    node = int(place)
    offset = place - node
    low = levels.still[node] + offset * (levels.still[node + 1] - levels.still[node])
    high = levels.learned[node] + offset * (levels.learned[node + 1] - levels.learned[node])
    level = low + loss / rho * (high - low)
    level -= rho * (1.0 + rho * rho) * step * step * offset * (1.0 - offset)
    level -= 0.5 * (rho * loss) ** 2 / (1.0 - rho * rho)
    return levels.density * math.exp(-0.5 * level)


@compiled(refcounted=False)
def rough_bound(
    opponents: Opponents, levels: Levels, j: int, multiplier: float, game: GameConstants
) -> float:
    """Return an upper bound of q_0j + multiplier F_j, from the largest shift of any outcome."""
    noise, drift = 2.0 * game.beta * game.beta, game.tau * game.tau
    variance, gap = opponents.variances[j] + drift, abs(opponents.gaps[j])
    share = 1.0 / math.sqrt(variance)
    shift = (LARGEST_SHIFT + (gap + game.draw_margin) * share) * share
    half = levels.within.size - 1
    place = opponents.loads[j] * shift * half / levels.reach
    best = levels.within[int(place) + 1] if place < half else levels.most
    # Against j, who has moved too: V exp(g^2 / V) >= V + g^2.
    uncertain = variance - noise
    nearest = max(0.0, gap - uncertain * shift)
    least = noise + (uncertain * noise + opponents.crosses[j]) / variance + nearest * nearest
    best = max(best, INVERSE_SQRT_2PI / math.sqrt(least))
    return (opponents.densities[j] + multiplier * best) * (1.0 + SLACK)


@compiled(refcounted=False)
def close_bound(
    opponents: Opponents, levels: Levels, j: int, multiplier: float, game: GameConstants
) -> float:
    """Return an upper bound of q_0j + multiplier F_j, outcome by outcome."""
    future = 0.0
    for outcome in OUTCOMES[: 3 if game.draw_margin > 0.0 else 2]:
        probability, shift, loss, gap, variance = after_game(opponents, j, outcome, game)
        best = best_density_bound(levels, shift, loss)
        future += probability * max(best, density_at_zero(gap, variance))
    return (opponents.densities[j] + multiplier * future) * (1.0 + SLACK)


@compiled(inline=True, refcounted=False)
def nearest_gap(levels: Levels, shift: float) -> float:
    """Return a lower bound of the contenders' distances to player 0 after a shift."""
    least = levels.gaps[0] + min(levels.loads[0] * shift, levels.loads[1] * shift)
    most = levels.gaps[1] + max(levels.loads[0] * shift, levels.loads[1] * shift)
    return max(0.0, least, -most)


@compiled(inline=True, refcounted=False)
def is_outdone(best: float, gap: float, variance: float) -> bool:
    """Return whether a density is below ``best`` for sure.

    exp(x) >= 1 + x + x^2 / 2 bounds it without an exponential or a root.
    """
    scaled, square = best / INVERSE_SQRT_2PI, gap * gap
    reached = variance * (variance + square) + 0.5 * square * square
    return scaled * scaled * reached > variance * (1.0 + SLACK)


@compiled(refcounted=False)
def score_by_search(
    opponents: Opponents, levels: Levels, j: int, multiplier: float, game: GameConstants
) -> float:
    """Return q_0j + multiplier F_j as the rule computes it, from few densities."""
    value = 0.0
    for outcome in OUTCOMES[: 3 if game.draw_margin > 0.0 else 2]:
        probability, shift, loss, gap, variance = after_game(opponents, j, outcome, game)
        best = density_at_zero(gap, variance)
        everybody = j == levels.contenders[0] or not abs(shift) <= levels.reach
        nearest = nearest_gap(levels, shift)
        for turn in range(opponents.gaps.size if everybody else levels.contenders.size):
            k = turn if everybody else levels.contenders[turn]
            if k == j:
                continue
            if turn > 0 and not everybody:
                least = opponents.variances[k] - levels.loads[1] * levels.loads[1] * loss
                # The bound grows with the variance from here on.
                if least > nearest * nearest and is_outdone(best, nearest, least):
                    break
            gap, variance = other_after_game(opponents, k, shift, loss, game.beta)
            if is_outdone(best, gap, variance):
                continue
            best = max(best, density_at_zero(gap, variance))
        value += probability * best
    return opponents.densities[j] + multiplier * value


@compiled
def knowledge_gradient_action(opponents: Opponents, multiplier: float, game: GameConstants) -> int:
    """Return the action with the highest q_0j + multiplier F_j, the lowest of equals."""
    gaps, variances, loads, crosses, densities = opponents
    first = int(np.argmax(densities))
    levels = tabulate_levels(opponents, first, game.draw_margin)
    bounded = levels.density > SMALLEST_DENSITY and levels.rho > LEAST_RATE
    chosen, best = first, score_by_search(opponents, levels, first, multiplier, game)
    for j in range(gaps.size):
        # Many opponents may be equals of the chosen one in all that counts.
        if j == first or (
            j > chosen
            and gaps[j] == gaps[chosen]
            and variances[j] == variances[chosen]
            and loads[j] == loads[chosen]
            and crosses[j] == crosses[chosen]
        ):
            continue
        # Comparisons let pass whom no bound rules out, NaN too.
        if bounded and rough_bound(opponents, levels, j, multiplier, game) < best:
            continue
        if bounded and close_bound(opponents, levels, j, multiplier, game) < best:
            continue
        score = score_by_search(opponents, levels, j, multiplier, game)
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
        if (discount is not None) + bool(finite_horizon) + (multiplier is not None) > 1:
            raise ValueError(
                "give one of discount, finite_horizon and multiplier, got "
                f"discount={discount!r}, finite_horizon={finite_horizon!r}, "
                f"multiplier={multiplier!r}"
            )
        self.finite_horizon = bool(finite_horizon)
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
        scores: Floats = knowledge_gradient_scores(
            state.mu, state.sigma, state.extra, multipliers, self._game
        )
        return scores

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        if state.belief not in COMPILED:
            return super()._choose(state, games_left, rng)
        actions: Integers = knowledge_gradient_actions(
            state.mu, state.sigma, state.extra, self._multipliers(games_left), self._game
        )
        return actions
