"""``Ranking-v0``: choose which two items play next, in order to learn their ranking.

Settings, simulator and environments. Items are ranked by posterior mean, ties by index. The loss of
this ranking is its number of misordered pairs: among all pairs, or among those across a cut.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypedDict, Unpack

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from matchenv.belief.joint import NOBODY, difference_variance, learn_joint
from matchenv.envs.core.scalar import ScalarArguments, ScalarEnv
from matchenv.envs.core.settings import (
    LARGEST_OBSERVED,
    LONGEST_HORIZON,
    Options,
    as_fixed,
    as_limit,
    checked_options,
    option,
)
from matchenv.envs.core.simulator import LAST, Numbers, Simulator, Step
from matchenv.envs.core.space import ObservationBox
from matchenv.envs.core.vector import NativeVectorEnv, VectorArguments
from matchenv.envs.core.view import View, truth
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks
from matchenv.runtime.checks import (
    as_action_masks,
    as_choice,
    as_float_array,
    as_integer,
    as_non_negative_number,
    as_number,
    as_positive_number,
    refusal,
)
from matchenv.runtime.compile import compiled
from matchenv.runtime.files import checksum
from matchenv.runtime.random import normals, uniform
from matchenv.trueskill.game import drawn_outcome, performance_variance, win_probability_of
from matchenv.trueskill.normal import normal_probability

GOALS = ("order", "top", "best")
ORDER, TOP, BEST = GOALS

# Pairs, noise, and cut with indifference; see ``RankingSettings.game``.
Game = tuple[Integers, tuple[float, float], tuple[int, float]]

# Games stop at this share of 1 - confidence. The rest is for skills that are not normal: uniform
# ones have more near ties at the top, and the rule would be wrong in 5.6 % of rankings at 95 %.
STOPPING_SHARE = 0.8

# The covariance matrix of this many items takes 800 MB.
MOST_ITEMS = 10_000

# Largest sigma / beta. Rounding of the covariances is visible from 1e7 on, and gives NaN from 1e8.
WIDEST_PRIOR = 1_000_000

# Items of a file with fewer games are left out: their fitted skills are mostly the prior's.
LEAST_GAMES = 20


def stopping_loss(confidence: float) -> float:
    """Return the expected loss at which games stop, for a confidence in [0, 1]."""
    return STOPPING_SHARE * (1.0 - confidence)


def _as_pairs(name: str, value: Any) -> tuple[tuple[int, int], ...]:
    """Return distinct pairs of different items, sorted, the lower index first."""
    pairs = set()
    try:
        for first, second in value:
            i, j = as_integer(name, first, 0), as_integer(name, second, 0)
            if i == j:
                raise ValueError("an item cannot play against itself")
            pairs.add((min(i, j), max(i, j)))
    except (TypeError, ValueError):
        rule = f"{name} must hold pairs of different items, as [[0, 3]]"
        raise refusal(rule, value) from None
    return tuple(sorted(pairs))


class Skills(tuple[float, ...]):
    """Skills that items are drawn from; their ``repr`` is short and identifies them."""

    def __repr__(self) -> str:
        return f"<{len(self)} skills, {checksum([*self])[:16]}>" if self else "()"


def _as_skills(name: str, value: Any) -> Skills:
    """Return skills minus their mean, from numbers or a file of ``matchenv rank --out``."""
    if isinstance(value, str | os.PathLike):
        from matchenv.logs.reading import read_ratings

        file = Path(value)
        ratings = read_ratings(file, name, ("mean", "games"))
        means = np.asarray(ratings["mean"])
        value = means[np.asarray(ratings["games"]) >= LEAST_GAMES]
        if value.size == 0:
            raise ValueError(
                f"{name} must have items with at least {LEAST_GAMES} games, {file} has none"
            )
    skills = as_float_array(name, value)
    if skills.ndim != 1:
        raise ValueError(f"{name} must be numbers, shape (K,), got shape {skills.shape}")
    if skills.size > 0:
        skills = skills - skills.mean()
    as_number(name, np.abs(skills).max(initial=0.0), high=LARGEST_OBSERVED)
    return Skills(skills.tolist())


@dataclass(frozen=True)
class RankingSettings(Options):
    """Settings of ``Ranking-v0``; each option is described at its declaration.

    Raises:
        ValueError: for a value that is not allowed; the message names the option.
    """

    env_id: ClassVar[str] = "Ranking-v0"
    sizes: ClassVar[tuple[str, ...]] = ("num_items", "horizon")

    num_items: int = option(20, as_integer, "number of items", low=2, high=MOST_ITEMS)
    horizon: int = option(400, as_integer, "games in an episode", low=1, high=LONGEST_HORIZON)
    sigma: float = option(
        1.0,
        as_number,
        "standard deviation of the prior of a skill, whose mean is 0",
        low=1.0 / LARGEST_OBSERVED,
        high=LARGEST_OBSERVED,
    )
    beta: float = option(1.0, as_positive_number, "standard deviation of one performance")
    draw_margin: float = option(
        0.0, as_non_negative_number, "performances no further apart are a draw; 0: no draws"
    )
    first_advantage: float = option(
        0.0,
        as_non_negative_number,
        "standard deviation of the prior of the advantage of the item named first, whose mean is "
        "0; 0: no advantage",
    )
    goal: str = option(
        ORDER,
        as_choice,
        'what to learn: the whole `"order"`, the `"top"` k or the `"best"` item',
        known=GOALS,
    )
    k: int = option(1, as_integer, 'items at the top; 1 with `goal="best"`', low=1)
    cost: float = option(0.0, as_non_negative_number, "cost of a game, in misordered pairs")
    max_games_per_pair: int | None = option(
        None, as_limit, "games after which a pair is masked; None for no limit"
    )
    barred_pairs: Any = option((), _as_pairs, "pairs of items that never play, as `[[0, 3]]`")
    skills: Any = option(
        (),
        _as_skills,
        "numbers from which true skills are drawn, without replacement, or a "
        "`ranking.csv` of `matchenv rank` (items with 20 games); empty: the prior",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sigma > WIDEST_PRIOR * self.beta:
            rule = f"sigma must be at most {WIDEST_PRIOR:,} times beta={self.beta:g}"
            raise refusal(rule, self.sigma)
        if self.first_advantage > WIDEST_PRIOR * self.beta:
            rule = f"first_advantage must be at most {WIDEST_PRIOR:,} times beta={self.beta:g}"
            raise refusal(rule, self.first_advantage)
        if self.k >= self.num_items:
            raise ValueError(f"k must be below num_items={self.num_items}, got {self.k!r}")
        if self.goal == BEST and self.k != 1:
            raise ValueError(f"k must be 1 with goal='best', got {self.k!r}")
        if any(j >= self.num_items for _, j in self.barred_pairs):
            rule = f"barred_pairs must hold items below num_items={self.num_items}"
            raise refusal(rule, self.barred_pairs)
        if 0 < len(self.skills) < self.num_items:
            raise ValueError(
                f"skills must be at least num_items={self.num_items}, got {len(self.skills)} (of a "
                f"file, those of items with at least {LEAST_GAMES} games)"
            )
        free = self.num_pairs - len(self.barred_pairs)
        most = self.max_games_per_pair or self.horizon
        if most * free < self.horizon:
            raise ValueError(
                f"max_games_per_pair and barred_pairs must allow horizon={self.horizon} games; "
                f"they leave {most} of each of {free} pairs"
            )

    def plain_options(self) -> dict[str, Any]:
        """Return the plain options without ``skills``, which no observation depends on."""
        plain = super().plain_options()
        del plain["skills"]
        return plain

    @property
    def num_pairs(self) -> int:
        """P = n (n - 1) / 2."""
        return self.num_items * (self.num_items - 1) // 2

    @cached_property
    def _pairs(self) -> Integers:
        return np.stack(np.triu_indices(self.num_items, 1), axis=1)

    @property
    def pairs(self) -> Integers:
        """A copy of the items of each action, shape (P, 2): (0, 1), (0, 2), ..., (n - 2, n - 1)."""
        return self._pairs.copy()

    @property
    def cut(self) -> int:
        """Number of items above the cut: k, or 0 if the goal is the whole order."""
        return 0 if self.goal == ORDER else self.k

    @property
    def noise(self) -> tuple[float, float]:
        """beta and the draw margin."""
        return self.beta, self.draw_margin

    def game(self, indifference: float = 0.0) -> Game:
        """Return the constants of compiled rules: pairs, noise, and cut with indifference.

        Differences of skills up to the indifference do not matter.
        """
        return self._pairs, self.noise, (self.cut, indifference)

    @property
    def masks_change(self) -> bool:
        """True if some pairs can be masked."""
        return self.max_games_per_pair is not None or bool(self.barred_pairs)

    @property
    def has_advantage(self) -> bool:
        """True if the item named first has an advantage, which the belief learns."""
        return self.first_advantage > 0.0

    @property
    def num_coordinates(self) -> int:
        """Size of the joint belief: all skills, and the advantage if there is one."""
        return self.num_items + self.has_advantage

    @property
    def num_belief_numbers(self) -> int:
        """Numbers of an observation before the games left."""
        return 2 * (self.num_coordinates + self.num_pairs)

    @property
    def observation_size(self) -> int:
        """Size of an observation: the belief, games left, and the mask if pairs can be masked."""
        size = self.num_belief_numbers + 1
        if self.masks_change:
            size += self.num_pairs
        return size


class RankingOptions(TypedDict, total=False):
    """The options of ``RankingSettings`` as keyword arguments, for type checkers and editors."""

    num_items: int
    horizon: int
    sigma: float
    beta: float
    draw_margin: float
    first_advantage: float
    goal: str
    k: int
    cost: float
    max_games_per_pair: int | None
    barred_pairs: Any
    skills: Any
    invalid_action: str


# Random streams. The k-th game of pair p has index k P + p, whatever else was played.
SKILLS, OUTCOME, ADVANTAGE = range(3)

# Columns of ``State.measures``, named as in ``info``.
MEASURES = ("expected_loss", "true_loss", "kendall_tau", "top_errors")
EXPECTED_LOSS, TRUE_LOSS, KENDALL_TAU, TOP_ERRORS = range(4)


class State(NamedTuple):
    """State of B episodes with n items and P pairs.

    The belief has m coordinates: the n skills, and the advantage of the item named first if there
    is one.
    """

    true_skill: Floats  # shape (B, n)
    true_advantage: Floats  # shape (B,); 0 without the option
    mu: Floats  # posterior means, shape (B, m)
    covariance: Floats  # posterior covariances, shape (B, m, m)
    met: NDArray[np.int32]  # games of each pair, shape (B, P)
    games: Integers  # games played, shape (B,)
    observation: NDArray[np.float32]  # shape (B, K)
    key: Keys  # keys of the random numbers, shape (B,)
    measures: Floats  # of the current belief, columns as MEASURES, shape (B, 4)
    outcomes: NDArray[np.int8]  # last outcome for the item of lower index, shape (B,); 0 at first


@dataclass(frozen=True, eq=False)
class RankingView(View):
    """What a policy of ``Ranking-v0`` may know in B episodes.

    Attributes:
        mu: posterior means of the skills, shape (B, n).
        covariance: posterior covariances of the skills, shape (B, n, n).
        games_left: games left, including the next one, shape (B,).
        advantage_mu: posterior mean of the advantage of the item named first, shape (B,); 0 by
            default.
        advantage_sigma: its posterior standard deviation, shape (B,); 0 by default, for no
            advantage.
        action_mask: pairs that may play, shape (B, P); all of them by default.
        true_skill: shape (B, n); only for policies with ``needs_truth``.

    Raises:
        ValueError: for masks of another shape or without a True.
    """

    mu: Any
    covariance: Any
    games_left: Any
    advantage_mu: Any = field(default=None, kw_only=True)
    advantage_sigma: Any = field(default=None, kw_only=True)
    action_mask: Any = field(default=None, kw_only=True)
    true_skill: Any = truth()

    def __post_init__(self) -> None:
        episodes, items = self.mu.shape
        mask_shape = (episodes, items * (items - 1) // 2)
        if self.action_mask is None:
            mask = np.ones(mask_shape, dtype=np.bool_)
        else:
            mask = as_action_masks(self.action_mask, mask_shape)
        object.__setattr__(self, "action_mask", mask)
        for name in ("advantage_mu", "advantage_sigma"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(episodes))
        super().__post_init__()


class RankingSimulator(Simulator[State]):
    """Simulator of ``Ranking-v0``; see ``Simulator`` for the methods' arguments."""

    aggregations: ClassVar[dict[str, str]] = dict.fromkeys(MEASURES, LAST)
    settings: RankingSettings

    def __init__(self, settings: RankingSettings) -> None:
        self.settings = settings
        self.num_actions = settings.num_pairs
        items = settings.num_items
        low = np.zeros(settings.observation_size, dtype=np.float32)
        high = np.ones(settings.observation_size, dtype=np.float32)
        low[:items] = -np.inf
        low[2 * items : 2 * items + self.num_actions] = -np.inf
        if settings.has_advantage:
            low[2 * (items + self.num_actions)] = -np.inf
        high[: settings.num_belief_numbers] = np.inf
        self.observation_space = ObservationBox(low, high, settings)
        barred = [i * items + j for i, j in settings.barred_pairs]
        self._free = ~np.isin(settings.pairs @ [items, 1], barred)

    def new_state(self, count: int) -> State:
        """Return the state of ``count`` episodes that have not begun."""
        pairs = self.settings.num_pairs
        coordinates = self.settings.num_coordinates
        return State(
            true_skill=np.zeros((count, self.settings.num_items)),
            true_advantage=np.zeros(count),
            mu=np.zeros((count, coordinates)),
            covariance=np.zeros((count, coordinates, coordinates)),
            met=np.zeros((count, pairs), dtype=np.int32),
            games=np.zeros(count, dtype=np.int64),
            observation=np.zeros((count, self.settings.observation_size), dtype=np.float32),
            key=np.zeros(count, dtype=np.uint64),
            measures=np.zeros((count, len(MEASURES))),
            outcomes=np.zeros(count, dtype=np.int8),
        )

    def reset_options(self, options: Any, count: int | None) -> Floats | None:
        """Check ``true_skill`` of a reset, shape (n,) or (B, n)."""
        checked = checked_options(options, ["true_skill"])
        if not checked:
            return None
        items = self.settings.num_items
        shapes: list[tuple[int, ...]] = [(items,)]
        if count is not None:
            shapes.append((count, items))
        return as_fixed("true_skill", checked["true_skill"], shapes)

    def begin(self, state: State, rows: Integers, keys: Keys, fixed: Floats | None = None) -> State:
        """Start episodes, with fixed true skills or new ones."""
        settings = self.settings
        if fixed is not None:
            state.true_skill[rows] = np.broadcast_to(fixed, state.true_skill.shape)[rows]
        elif settings.skills:
            order = normals(keys, SKILLS, 0, len(settings.skills)).argsort(axis=1)
            state.true_skill[rows] = np.array(settings.skills)[order[:, : settings.num_items]]
        else:
            state.true_skill[rows] = settings.sigma * normals(keys, SKILLS, 0, settings.num_items)
        state.mu[rows] = 0.0
        state.covariance[rows] = settings.sigma**2 * np.eye(settings.num_coordinates)
        if settings.has_advantage:
            luck = normals(keys, ADVANTAGE, 0, 1)[:, 0]
            state.true_advantage[rows] = settings.first_advantage * luck
            state.covariance[rows, -1, -1] = settings.first_advantage**2
        for array in (state.met, state.games, state.outcomes):
            array[rows] = 0
        state.key[rows] = keys
        self._show(state, rows)
        return state

    def step(self, state: State, actions: Integers, running: Masks) -> Step[State]:
        """Play one game in every running episode."""
        loss = state.measures[:, EXPECTED_LOSS].copy()
        rows = np.flatnonzero(running)
        pairs, noise, _ = self.settings.game()
        play(tuple(state), pairs, noise, actions, rows)
        self._show(state, rows)
        reward = loss - state.measures[:, EXPECTED_LOSS] - self.settings.cost * running
        terminated = running & (state.games == self.settings.horizon)
        return Step(state, reward, terminated, np.zeros_like(running))

    def infos(self, state: State) -> Numbers:
        """Return the measures of the current belief and the last outcome."""
        infos: Numbers = dict(zip(MEASURES, state.measures.T.copy(), strict=True))
        infos["outcome"] = state.outcomes.astype(np.int64)
        return infos

    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the current observations; a view."""
        return state.observation

    def masks(self, state: State) -> Masks | None:
        """Return the allowed pairs; None if none can be masked.

        After the last game the limit no longer applies, so that no mask is empty.
        """
        settings = self.settings
        if not settings.masks_change:
            return None
        is_over = state.games[:, np.newaxis] == settings.horizon
        most = settings.max_games_per_pair or settings.horizon
        return self._free & (is_over | (state.met < most))

    def _show(self, state: State, rows: Integers) -> None:
        pairs, _, (cut, _) = self.settings.game()
        show(tuple(state), pairs, (self.settings.horizon, cut, self.settings.k), rows)
        masks = self.masks(state)
        if masks is not None:
            state.observation[rows, -self.num_actions :] = masks[rows]

    def view(self, state: State, *, truth: bool = False) -> RankingView:
        """Return beliefs, games left and allowed pairs; see ``Simulator.view``."""
        items = self.settings.num_items
        advantage_mu = None
        advantage_sigma = None
        if self.settings.has_advantage:
            advantage_mu = state.mu[:, items]
            advantage_sigma = np.sqrt(state.covariance[:, items, items])
        return RankingView(
            mu=state.mu[:, :items],
            covariance=state.covariance[:, :items, :items],
            games_left=self.settings.horizon - state.games,
            advantage_mu=advantage_mu,
            advantage_sigma=advantage_sigma,
            action_mask=self.masks(state),
            true_skill=state.true_skill if truth else None,
        )


@compiled
def play(
    all_state: tuple[Any, ...],
    pairs: Integers,
    noise: tuple[float, float],
    actions: Integers,
    rows: Integers,
) -> None:
    """Play one game in each of the rows and update the belief.

    Args:
        all_state: a ``State`` as a plain tuple, which Numba dispatches faster.
        pairs: items of each action, shape (P, 2).
        noise: beta and the draw margin.
        actions: shape (B,).
        rows: running episodes.
    """
    state = State(*all_state)
    beta, draw_margin = noise
    variance = performance_variance(beta)
    items = state.true_skill.shape[1]
    advantage = NOBODY
    if state.mu.shape[1] > items:
        advantage = items
    for b in rows:
        pair = actions[b]
        i, j = pairs[pair]
        gap = state.true_skill[b, i] - state.true_skill[b, j] + state.true_advantage[b]
        win = win_probability_of(gap, variance, draw_margin)
        u = uniform(state.key[b], OUTCOME, np.int64(state.met[b, pair]) * len(pairs) + pair)
        outcome = drawn_outcome(u, win, gap, variance, draw_margin)
        learn_joint(state.mu[b], state.covariance[b], (i, j, outcome), noise, advantage)
        state.outcomes[b] = outcome
        state.met[b, pair] += 1
        state.games[b] += 1


@compiled
def show(
    all_state: tuple[Any, ...], pairs: Integers, sizes: tuple[int, int, int], rows: Integers
) -> None:
    """Write the measures of each row and its observation, except for the mask.

    Args:
        all_state: a ``State`` as a plain tuple.
        pairs: shape (P, 2).
        sizes: horizon, cut and k.
        rows: episodes.
    """
    state = State(*all_state)
    horizon, cut, k = sizes
    items = state.true_skill.shape[1]
    has_advantage = state.mu.shape[1] > items
    for b in rows:
        mu = state.mu[b, :items]
        covariance = state.covariance[b]
        observation = state.observation[b]
        places = places_of(mu)
        true_places = places_of(state.true_skill[b])
        expected_loss = 0.0
        true_loss = 0
        misordered = 0
        top_errors = 0
        for i in range(items):
            observation[i] = mu[i]
            observation[items + i] = math.sqrt(covariance[i, i])
            top_errors += places[i] < k and true_places[i] >= k
        for p in range(len(pairs)):
            i, j = pairs[p]
            gap = mu[i] - mu[j]
            deviation = math.sqrt(difference_variance(covariance, i, j))
            observation[2 * items + p] = gap
            observation[2 * items + len(pairs) + p] = deviation
            counts = pair_counts(places[i], places[j], cut)
            if counts:
                expected_loss += normal_probability(-abs(gap) / deviation)
            if (places[i] < places[j]) != (true_places[i] < true_places[j]):
                misordered += 1
                true_loss += counts
        position = 2 * (items + len(pairs))
        if has_advantage:
            observation[position] = state.mu[b, items]
            observation[position + 1] = math.sqrt(covariance[items, items])
            position += 2
        observation[position] = (horizon - state.games[b]) / horizon
        state.measures[b, EXPECTED_LOSS] = expected_loss
        state.measures[b, TRUE_LOSS] = true_loss
        state.measures[b, KENDALL_TAU] = 1.0 - 2.0 * misordered / len(pairs)
        state.measures[b, TOP_ERRORS] = top_errors


@compiled
def places_of(values: Floats) -> Integers:
    """Return the place of each item: 0 for the largest value, ties by index."""
    places = np.empty(values.size, dtype=np.int64)
    places[np.argsort(-values, kind="mergesort")] = np.arange(values.size)
    return places


@compiled(inline=True)
def pair_counts(place: int, other: int, cut: int) -> bool:
    """Return whether a pair contributes to the loss: any pair if cut is 0, or those across it."""
    return cut == 0 or (place < cut) != (other < cut)


class RankingArguments(ScalarArguments, RankingOptions):
    """The arguments of ``RankingEnv``, for type checkers and editors."""


class RankingVectorArguments(VectorArguments, RankingOptions):
    """The arguments of ``RankingVectorEnv``, for type checkers and editors."""


class RankingEnv(ScalarEnv, settings=RankingSettings, simulator=RankingSimulator):
    """Choose which two of n items play next, to learn their ranking from few games.

    ## Description

    Models, bots, prompts or players are ranked by pairwise games, and each game has a cost. The
    belief about all skills is one joint normal distribution with all covariances. In the prior,
    skills are independent, each N(0, `sigma`^2). After each game the belief is updated as in
    TrueSkill, also about items that did not play. Learning is the only purpose here, as in ranking
    and selection (Frazier, Powell and Dayanik, "The knowledge-gradient policy for correlated normal
    beliefs", INFORMS Journal on Computing, 2009).

    With `first_advantage`, the item of the lower index in a pair is named first and has an
    advantage h, for example White in chess, or the answer that a judge reads first. Outcomes depend
    on s_i - s_j + h, with the same h in all games of an episode. h has the prior
    N(0, `first_advantage`^2) and is one more coordinate of the belief. It is not part of the
    ranking, and baselines score pairs without it. Each pair always has the same first item, so
    games separate h from skills only with three items or more.

    ## Action Space

    `Discrete(n (n - 1) / 2)` with n = `num_items`: a pair of items, in the order (0, 1), (0, 2),
    ..., (0, n - 1), (1, 2), ..., (n - 2, n - 1); see `settings.pairs`. With `max_games_per_pair` or
    `barred_pairs`, `action_masks()` and `info["action_mask"]` hold the allowed pairs. A forbidden
    pair is replaced by the first allowed one, and `info["invalid_action"]` is True; with
    `invalid_action="error"` it raises a `ValueError`, and nothing changes.

    ## Observation Space

    `Box`, float32, shape `(2 n + 2 P + 1,)` with P = n (n - 1) / 2 pairs:

    | Num                    | Observation                                      | Min  | Max |
    |------------------------|--------------------------------------------------|------|-----|
    | 0 to n - 1             | posterior means                                  | -Inf | Inf |
    | n to 2 n - 1           | posterior standard deviations                    | 0    | Inf |
    | 2 n to 2 n + P - 1     | mean of s_i - s_j for each pair, by action       | -Inf | Inf |
    | 2 n + P to 2 n + 2 P - 1 | standard deviation of s_i - s_j                | 0    | Inf |
    | 2 n + 2 P              | games left / horizon                             | 0    | 1   |

    The deviations determine all covariances of skills. With `first_advantage`, two numbers come
    before the games left: posterior mean and standard deviation of h. If pairs can be masked, the
    mask follows: P numbers that are 0 or 1. Observations contain neither true skills nor the true
    h.

    ## Rewards

    The decrease of the expected loss, minus `cost`. Items are ranked by posterior mean. The loss is
    the number of misordered pairs:

    - `goal="order"` (default): among all pairs;
    - `goal="top"`: among pairs of one item in the top `k` and one outside. If w of the top `k` are
      wrong, at least w^2 such pairs are misordered, so the expected loss is an upper bound on the
      expected number of wrong items;
    - `goal="best"`: the same with `k=1`: the number of items that are better than the first.

    The expected loss is the sum of P(misordered) = Phi(-|mu_i - mu_j| / deviation) over these
    pairs. Without `cost`, the undiscounted return is the decrease over the episode.

    ## Starting State

    True skills are drawn from the prior, or from `skills`, minus their mean; `sigma` should then be
    their deviation. `reset(options={"true_skill": ...})` fixes them, shape (n,). The true h is
    drawn from its prior, from a random stream of its own, so skills are those without the option.
    The k-th game of a pair has its own random number, so that with equal seeds all policies meet
    equal items and equal luck.

    ## Episode End

    The episode terminates after `horizon` games. Only the `max_episode_steps` of `gym.make` and
    `gym.make_vec` truncates it.

    ## Information

    After a reset and each step, for the current belief: `expected_loss`, `true_loss` (misordered
    pairs under the true skills), `kendall_tau` (between the ranking and the true one) and
    `top_errors` (items of the top `k` that do not belong there). `outcome` is the last outcome for
    the item of lower index: +1, -1, or 0 for a draw.

    ## Rendering

    Pictures (`"rgb_array"`, `"human"`; `"rgb_array_list"` through `gym.make`) show the belief about
    every item on the skill axis, the last pair in colour, true skills as marks, and expected and
    true loss after each game. `render_true_skill=False` hides the truth. Pictures need
    `pip install "matchenv[render]"`. `"ansi"` returns the ranking as text.

    ## Arguments

    {options}

    ```python
    import gymnasium as gym
    import matchenv

    env = gym.make("Ranking-v0", num_items=10, goal="top", k=3)
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    ```

    ## Version History

    * v0: initial version
    """

    if TYPE_CHECKING:

        def __init__(self, **arguments: Unpack[RankingArguments]) -> None: ...


class RankingVectorEnv(
    NativeVectorEnv, VectorEnv, settings=RankingSettings, simulator=RankingSimulator
):
    """``num_envs`` copies of ``RankingEnv``, stepped together; see ``NativeVectorEnv``.

    After ``reset(seed=s)``, copy i plays the same games as a scalar environment after
    ``reset(seed=s + i)``.
    """

    if TYPE_CHECKING:

        def __init__(
            self, num_envs: int = 1, **arguments: Unpack[RankingVectorArguments]
        ) -> None: ...
