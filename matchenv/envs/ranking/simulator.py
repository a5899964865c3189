"""Episodes of ``Ranking-v0``: pairs of items play, and a joint belief learns. Compiled and pure.

The order that counts is that of the means, equal ones by index. Its loss is the number of pairs
that it has the wrong way round: of all pairs, or of those with one item on each side of a cut.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from matchenv.belief.joint import difference_variance, learn_joint
from matchenv.envs.core.settings import as_given, checked_options
from matchenv.envs.core.simulator import LAST, Facts, Floats, Integers, Keys, Masks, Simulator, Step
from matchenv.envs.ranking.settings import RankingSettings
from matchenv.runtime.compile import compiled
from matchenv.runtime.random import normals, uniform
from matchenv.trueskill.game import draw_probability_of, total_variance, win_probability_of
from matchenv.trueskill.normal import normal_probability

# Streams of random numbers. The k-th game of pair p is at k P + p, whatever else was played.
SKILLS, OUTCOME = range(2)

# Rows of the measures, in the order of their names in ``info``.
MEASURES = ("expected_loss", "true_loss", "kendall_tau", "top_errors")
EXPECTED_LOSS, TRUE_LOSS, KENDALL_TAU, TOP_ERRORS = range(4)


class State(NamedTuple):
    """State of B episodes with n items and P pairs.

    Attributes:
        true_skill: shape (B, n).
        mu: means of the belief, shape (B, n).
        covariance: of the belief, shape (B, n, n).
        met: games of each pair, shape (B, P), int32.
        games: games played, shape (B,).
        allowed: pairs that may play, shape (B, P).
        shown: the observation, shape (B, K), float32.
        key: of the random numbers, shape (B,), uint64.
        measures: of the current belief, shape (4, B), rows as ``MEASURES``.
        outcomes: of the last game for the item of lower index, shape (B,), int8; 0 at first.
    """

    true_skill: Floats
    mu: Floats
    covariance: Floats
    met: NDArray[np.int32]
    games: Integers
    allowed: Masks
    shown: NDArray[np.float32]
    key: Keys
    measures: Floats
    outcomes: NDArray[np.int8]


class Params(NamedTuple):
    """The numbers of ``RankingSettings`` that compiled functions read; names as there."""

    horizon: int
    noise: tuple[float, float]
    cut: int
    k: int
    limit: int
    masks_change: bool
    pairs: Integers


class RankingView(NamedTuple):
    """Knowledge state of B episodes, the input of a policy.

    Attributes:
        mu: shape (B, n).
        covariance: shape (B, n, n).
        games_left: shape (B,), int64.
        true_skill: shape (B, n), for the oracle alone; None where it is not known.
    """

    mu: Floats
    covariance: Floats
    games_left: Integers
    true_skill: Floats | None = None


class RankingSimulator(Simulator[State]):
    """Simulator of ``Ranking-v0``.

    Args:
        settings: of the episodes.
    """

    env_id: ClassVar[str] = "Ranking-v0"
    measures: ClassVar[dict[str, str]] = dict.fromkeys(MEASURES, LAST)
    settings: RankingSettings

    def __init__(self, settings: RankingSettings) -> None:
        self.settings = settings
        self.num_actions = settings.num_pairs
        items, pairs = settings.num_items, settings.num_pairs
        # Means and differences are unbounded, deviations >= 0, and the rest is in [0, 1].
        low = np.zeros(settings.observation_size, dtype=np.float32)
        low[:items] = low[2 * items : 2 * items + pairs] = -np.inf
        high = np.full(settings.observation_size, np.inf, dtype=np.float32)
        high[2 * (items + pairs) :] = 1.0
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self._params = tuple(getattr(settings, name) for name in Params._fields)

    def new_state(self, count: int) -> State:
        """Return the state of ``count`` episodes that have not begun."""
        items, pairs = self.settings.num_items, self.settings.num_pairs
        return State(
            true_skill=np.zeros((count, items)),
            mu=np.zeros((count, items)),
            covariance=np.zeros((count, items, items)),
            met=np.zeros((count, pairs), dtype=np.int32),
            games=np.zeros(count, dtype=np.int64),
            allowed=np.ones((count, pairs), dtype=np.bool_),
            shown=np.zeros((count, self.settings.observation_size), dtype=np.float32),
            key=np.zeros(count, dtype=np.uint64),
            measures=np.zeros((len(MEASURES), count)),
            outcomes=np.zeros(count, dtype=np.int8),
        )

    def given(self, options: Any, count: int | None) -> Floats | None:
        """Check ``true_skill`` of a reset, (n,) or (B, n); arguments as the contract."""
        found = checked_options(options, ["true_skill"])
        if not found:
            return None
        items = self.settings.num_items
        shapes = [(items,)] if count is None else [(items,), (count, items)]
        return as_given("true_skill", found["true_skill"], shapes)

    def begin(self, state: State, rows: Integers, keys: Keys, given: Floats | None = None) -> State:
        """Start episodes; arguments as the contract."""
        settings = self.settings
        if given is None:
            state.true_skill[rows] = settings.sigma * normals(keys, SKILLS, 0, settings.num_items)
        else:
            state.true_skill[rows] = np.broadcast_to(given, state.true_skill.shape)[rows]
        state.mu[rows] = 0.0
        state.covariance[rows] = settings.sigma**2 * np.eye(settings.num_items)
        state.met[rows] = 0
        state.games[rows] = 0
        state.allowed[rows] = settings.free_pairs
        state.key[rows] = keys
        state.outcomes[rows] = 0
        show_all(tuple(state), self._params, rows)
        return state

    def step(self, state: State, actions: Integers, running: Masks) -> Step[State]:
        """Let one pair play in every running episode; arguments as the contract."""
        before = state.measures[EXPECTED_LOSS].copy()
        play_all(tuple(state), self._params, actions, np.flatnonzero(running))
        reward = before - state.measures[EXPECTED_LOSS] - self.settings.cost * running
        over = running & (state.games == self.settings.horizon)
        return Step(state, reward, over, np.zeros_like(running))

    def facts(self, state: State) -> Facts:
        """Return the measures of the current belief, and the last game's outcome."""
        facts: Facts = dict(zip(MEASURES, state.measures, strict=True))
        facts["outcome"] = state.outcomes
        return facts

    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the current observations; a view."""
        return state.shown

    def masks(self, state: State) -> Masks | None:
        """Return the pairs that may play; None where all always may."""
        return state.allowed if self.settings.masks_change else None

    def view(self, state: State) -> tuple[RankingView]:
        """Return the one argument of ``act``."""
        left = self.settings.horizon - state.games
        return (RankingView(state.mu, state.covariance, left, state.true_skill),)

    def describe_allowed(self, mask: Masks) -> str:
        """Describe the pairs that may play."""
        limit = self.settings.max_games_per_pair
        met = "" if limit is None else f" and has played fewer than {limit} games"
        return f"a pair that is not barred{met}"


@compiled
def play_all(
    all_state: tuple[Any, ...], all_params: tuple[Any, ...], actions: Integers, rows: Integers
) -> None:
    """Play one game in each of the rows, and learn from it.

    Args:
        all_state: a ``State`` as a plain tuple, which Numba takes faster.
        all_params: ``Params``, likewise.
        actions: pairs, shape (B,).
        rows: episodes that run.
    """
    state, params = State(*all_state), Params(*all_params)
    for b in rows:
        i, j = params.pairs[actions[b]]
        outcome = play(state, params, b, actions[b])
        learn_joint(state.mu[b], state.covariance[b], (i, j), outcome, params.noise)
        state.outcomes[b] = outcome
        show(state, params, b)


@compiled
def play(state: State, params: Params, row: int, pair: int) -> int:
    """Return the outcome of a pair's next game, from the true skills, and count the game.

    After the last game of an episode all that is not barred is allowed again, so that no mask
    is empty.
    """
    i, j = params.pairs[pair]
    beta, draw_margin = params.noise
    gap = state.true_skill[row, i] - state.true_skill[row, j]
    variance = total_variance(0.0, 0.0, beta)
    pairs = params.pairs.shape[0]
    luck = uniform(state.key[row], OUTCOME, np.int64(state.met[row, pair]) * pairs + pair)
    state.met[row, pair] += 1
    state.games[row] += 1
    if params.limit > 0 and state.met[row, pair] >= params.limit:
        state.allowed[row, pair] = False
        if state.games[row] == params.horizon:
            state.allowed[row] |= state.met[row] > 0
    win = win_probability_of(gap, variance, draw_margin)
    if luck < win:
        return 1
    return 0 if luck < win + draw_probability_of(gap, variance, draw_margin) else -1


@compiled
def show_all(all_state: tuple[Any, ...], all_params: tuple[Any, ...], rows: Integers) -> None:
    """Write the observation and the measures of each row."""
    state, params = State(*all_state), Params(*all_params)
    for row in rows:
        show(state, params, row)


@compiled
def show(state: State, params: Params, row: int) -> None:
    """Write the observation and the measures of one row."""
    mu, covariance, shown = state.mu[row], state.covariance[row], state.shown[row]
    items, pairs = mu.size, params.pairs.shape[0]
    places, true_places = places_of(mu), places_of(state.true_skill[row])
    expected, wrong, misordered, errors = 0.0, 0, 0, 0
    p = 2 * items
    for i in range(items):
        shown[i] = mu[i]
        shown[items + i] = math.sqrt(covariance[i, i])
        errors += places[i] < params.k and true_places[i] >= params.k
        for j in range(i + 1, items):
            gap = mu[i] - mu[j]
            deviation = math.sqrt(difference_variance(covariance, i, j))
            shown[p] = gap
            shown[pairs + p] = deviation
            p += 1
            counts = pair_counts(places[i], places[j], params.cut)
            if counts:
                expected += normal_probability(-abs(gap) / deviation)
            if (places[i] < places[j]) != (true_places[i] < true_places[j]):
                misordered += 1
                wrong += counts
    shown[pairs + p] = (params.horizon - state.games[row]) / params.horizon
    if params.masks_change:
        shown[pairs + p + 1 :] = state.allowed[row]
    state.measures[EXPECTED_LOSS, row] = expected
    state.measures[TRUE_LOSS, row] = wrong
    state.measures[KENDALL_TAU, row] = 1.0 - 2.0 * misordered / pairs
    state.measures[TOP_ERRORS, row] = errors


@compiled
def places_of(values: Floats) -> Integers:
    """Return the place of each item, 0 for the largest value; equal ones by index."""
    places = np.empty(values.size, dtype=np.int64)
    places[np.argsort(-values, kind="mergesort")] = np.arange(values.size)
    return places


@compiled(inline=True)
def pair_counts(place: int, other: int, cut: int) -> bool:
    """Return whether a pair is part of the loss: any, or those that lie across the cut."""
    return cut == 0 or (place < cut) != (other < cut)
