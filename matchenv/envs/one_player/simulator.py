"""The simulator of ``Matchmaking-v0``.

A step plays the games under the true skills (``play_games``), updates the beliefs from the outcomes
(``Belief.learn``), and changes the pool. The first two are one compiled call for the compiled
beliefs, since a call takes longer than a game.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import (
    MEASURES,
    MU,
    SIGMA,
    TRUE_SKILL,
    Belief,
    BeliefArrays,
    FactorisedBelief,
    FullBelief,
    GameConstants,
    GamesPlayed,
)
from matchenv.belief.belief import (
    SKILL_DIFFERENCE,
    SQUARED_ERROR,
    TRUE_DRAW_DENSITY,
    learn_factorised,
    outcome_probabilities,
)
from matchenv.belief.full import learn_full
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.settings import as_fixed, checked_options
from matchenv.envs.core.simulator import LAST, MEAN, SUM, Numbers, Simulator, Step
from matchenv.envs.core.space import observation_box
from matchenv.envs.core.view import View, read_only, truth
from matchenv.envs.one_player.priors import ANY_RANK, instances_of
from matchenv.envs.one_player.settings import MeasureReward, Settings
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks
from matchenv.runtime.checks import as_action_masks, as_non_negative_array, refusal
from matchenv.runtime.compile import code_for, compiled
from matchenv.runtime.random import normal, normals, uniform, uniforms
from matchenv.trueskill.game import (
    LARGEST_LEAD,
    PART,
    TABLE,
    density_at_zero,
    drawn_outcome,
    performance_variance,
    standardised_lead,
    win_probability_of,
)
from matchenv.trueskill.normal import TAIL_START, near_mills_ratio, normal_density

# Streams of random numbers. Player i has index i, or n (M + 1) + i after game n. The streams of
# means, variances and skills are consecutive.
MEANS = 0
VARIANCES = 1
SKILLS = 2
OUTCOME = 3
DRIFT = 4
OPPONENT_DRIFT = 5
ONLINE = 6
LEAVES = 7
NEEDED = 8
NEWCOMER_MEANS = 9
NEWCOMER_VARIANCES = 10
NEWCOMER_SKILLS = 11

# Offsets of sections in the table of ``play_games``, which ``update_games`` uses afterwards.
SKILL_GAP, ERROR, LUCK, TRUE_DENSITY, WIN = range(0, 5 * PART, PART)

# How a belief learns: two of them in the compiled step, all others after it.
FACTORISED = 0
FULL = 1
OTHER = 2
LEARNS: dict[type[Belief], int] = {FactorisedBelief: FACTORISED, FullBelief: FULL}


class State(NamedTuple):
    """State of B episodes of player 0 and M opponents.

    Attributes:
        players: mu, sigma and true skill of every player, shape (B, M + 1, 3).
        memory: the belief's own numbers, shape (B, R, M).
        observation: shape (B, K), float32.
        games: games played, shape (B,).
        met: games with each opponent, shape (B, M), int32; counted only with ``noise="opponent"``
            or ``max_games_per_opponent``.
        met_before: games in ``met`` with departed predecessors, shape (B, M), int32.
        online: opponents who are online, shape (B, M).
        mask: opponents who can be chosen, shape (B, M).
        key: key of the random numbers, shape (B,), uint64.
        measures: of the last games, a column for each of ``matchenv.belief.MEASURES``, shape
            (B, 5); before the first game this and the next two are 0.
        won: whether player 0 won the last game, shape (B,).
        outcomes: outcomes of the last games for player 0, shape (B,), int8.
    """

    players: Floats
    memory: Floats
    observation: NDArray[np.float32]
    games: Integers
    met: NDArray[np.int32]
    met_before: NDArray[np.int32]
    online: Masks
    mask: Masks
    key: Keys
    measures: Floats
    won: Masks
    outcomes: NDArray[np.int8]

    @property
    def beliefs(self) -> BeliefArrays:
        """The arrays of the beliefs."""
        return BeliefArrays(self.players, self.memory, self.observation)


class Params(NamedTuple):
    """The numbers in ``Settings`` that compiled functions use, and some more.

    Attributes:
        limit: ``max_games_per_opponent``, or 0 for no limit.
        noise_by_opponent: whether ``noise="opponent"``.
        counted: whether games with each opponent are counted.
        share_column: column of the share of games left in an observation.
    """

    horizon: int
    beta: float
    draw_margin: float
    tau: float
    availability: float
    turnover: float
    goes_offline: float
    comes_online: float
    limit: int
    noise_by_opponent: bool
    counted: bool
    share_column: int


@dataclass(frozen=True, eq=False)
class MatchmakingView(View):
    """What a policy of ``Matchmaking-v0`` may know in B episodes.

    A view made by hand can also be of one episode, without the first axis:
    ``MatchmakingView(KnowledgeState(mu=..., sigma=...), games_left=10)``.

    Attributes:
        knowledge_state: beliefs of the policy's kind, shape (B, M + 1).
        games_left: games left, including the next one, broadcast to shape (B,).
        action_mask: opponents who can be chosen, shape (B, M); all of them by default.
        true_skill: shape (B, M + 1); only for policies with ``needs_truth``.

    Raises:
        ValueError: for games left that are negative, not finite or of another shape, and for masks
            of another shape or without a True.
    """

    knowledge_state: KnowledgeState
    games_left: Any
    action_mask: Any = field(default=None, kw_only=True)
    true_skill: Any = truth()

    def __post_init__(self) -> None:
        if not isinstance(self.knowledge_state, KnowledgeState):
            raise refusal("knowledge_state must be a KnowledgeState", self.knowledge_state)
        shape = self.knowledge_state.batch_shape
        games_left = as_non_negative_array("games_left", self.games_left)
        try:
            games_left = np.broadcast_to(games_left, shape)
        except ValueError:
            rule = f"games_left must broadcast to shape {shape}"
            raise refusal(rule, games_left.shape) from None
        object.__setattr__(self, "games_left", games_left)
        mask_shape = (*shape, self.knowledge_state.num_opponents)
        if self.action_mask is None:
            mask = np.ones(mask_shape, dtype=np.bool_)
        else:
            mask = as_action_masks(self.action_mask, mask_shape)
        object.__setattr__(self, "action_mask", mask)
        super().__post_init__()


class OnePlayer(Simulator[State]):
    """Simulator of ``Matchmaking-v0``.

    Args:
        settings: of the episodes.
    """

    aggregations: ClassVar[dict[str, str]] = {
        "draw_density": SUM,
        "match_quality": SUM,
        "true_draw_density": SUM,
        "squared_error": MEAN,
        "skill_difference": MEAN,
        "win_ratio": MEAN,
        "final_squared_error": LAST,
    }
    settings: Settings

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.num_actions = settings.num_opponents
        self.belief = settings.belief_type
        # The mask follows the share of games left.
        self._share_column = self.belief.observation_size(settings.num_opponents) - 1
        self.observation_space = observation_box(settings, settings.num_players, self._share_column)
        by_opponent = settings.noise == "opponent"
        limit = settings.max_games_per_opponent
        self._params = Params(
            horizon=settings.horizon,
            beta=settings.beta,
            draw_margin=settings.draw_margin,
            tau=settings.tau,
            availability=settings.availability,
            turnover=settings.turnover,
            goes_offline=settings.goes_offline,
            comes_online=settings.comes_online,
            limit=limit or 0,
            noise_by_opponent=by_opponent,
            counted=by_opponent or limit is not None,
            share_column=self._share_column,
        )
        self._workspace = (np.empty(TABLE), np.empty(PART, np.int64))
        self._constants = settings.constants
        self._learns = LEARNS.get(type(self.belief), OTHER)
        self._reward = settings.reward_type
        self._reward_column: int | None = None
        if type(self._reward) is MeasureReward:
            self._reward_column = MEASURES.index(self._reward.name)
        self._has_masks = settings.masks_change

    def new_state(self, count: int) -> State:
        """Return the state of ``count`` episodes that have not begun."""
        opponents = self.settings.num_opponents
        return State(
            players=np.zeros((count, opponents + 1, 3)),
            memory=np.zeros((count, self.belief.memory_rows, opponents)),
            observation=np.zeros((count, self.settings.observation_size), dtype=np.float32),
            games=np.zeros(count, dtype=np.int64),
            met=np.zeros((count, opponents), dtype=np.int32),
            met_before=np.zeros((count, opponents), dtype=np.int32),
            online=np.ones((count, opponents), dtype=np.bool_),
            mask=np.ones((count, opponents), dtype=np.bool_),
            key=np.zeros(count, dtype=np.uint64),
            # A column, which infos and rewards copy, is contiguous.
            measures=np.zeros((count, len(MEASURES)), order="F"),
            won=np.zeros(count, dtype=np.bool_),
            outcomes=np.zeros(count, dtype=np.int8),
        )

    def reset_options(self, options: Any, count: int | None) -> dict[str, Floats] | None:
        """Check ``mu``, ``sigma`` and ``true_skill``; see ``Simulator.reset_options``."""
        players = self.settings.num_players
        shapes: list[tuple[int, ...]] = [(players,)]
        if count is not None:
            shapes.append((count, players))
        fixed = {}
        for name, value in checked_options(options, ("mu", "sigma", "true_skill")).items():
            fixed[name] = as_fixed(name, value, shapes)
        return fixed or None

    def begin(
        self, state: State, rows: Integers, keys: Keys, fixed: dict[str, Floats] | None = None
    ) -> State:
        """Start episodes; see ``Simulator.begin``."""
        players = self.settings.num_players
        numbers = numbers_of_players(keys, MEANS, 0, players)
        mu, sigma, skill = instances_of(
            self.settings.prior_type,
            numbers,
            self.settings.place,
            by_skill=self.settings.rank_by == "true_skill",
        )
        if fixed is not None:
            shape = (len(state.games), players)
            in_rows = {name: np.broadcast_to(array, shape)[rows] for name, array in fixed.items()}
            mu = in_rows.get("mu", mu)
            sigma = in_rows.get("sigma", sigma)
            skill = in_rows.get("true_skill", mu + sigma * numbers[2])
        state.players[rows, :, MU] = mu
        state.players[rows, :, SIGMA] = sigma
        state.players[rows, :, TRUE_SKILL] = skill
        state.key[rows] = keys
        for array in (
            state.games,
            state.met,
            state.met_before,
            state.measures,
            state.won,
            state.outcomes,
        ):
            array[rows] = 0
        self.belief.begin(state.beliefs, rows)
        state.observation[rows, self._share_column] = 1.0
        if self._has_masks:
            self._change_pool(state, rows)
        return state

    def step(self, state: State, actions: Integers, running: Masks) -> Step[State]:
        """Play one game in every running episode; see ``Simulator.step``."""
        terminated = np.zeros(actions.size, np.bool_)
        truncated = np.zeros(actions.size, np.bool_)
        played = (actions, running, terminated)
        step_code()(state, self._params, played, self._learns, *self._workspace)
        if self._learns == OTHER:
            self.belief.learn(state.beliefs, games_of(state, *played), self._constants)
        if self._has_masks:
            self._change_pool(state, np.flatnonzero(running))
        if self._reward_column is not None:
            reward = state.measures[:, self._reward_column].copy()
        else:
            reward = self._reward.checked(games_of(state, *played), running)
        return Step(state, reward, terminated, truncated)

    def infos(self, state: State) -> Numbers:
        """Return the measures and the outcome of the last games."""
        infos: Numbers = dict(zip(MEASURES, state.measures.T.copy(), strict=True))
        infos["won"] = state.won.copy()
        infos["outcome"] = state.outcomes.astype(np.int64)
        return infos

    def measures(self, state: State) -> Numbers:
        """Return the infos, the share of games won and the error of mu_0 after the game."""
        measures = self.infos(state)
        measures["win_ratio"] = 0.5 * (1.0 + state.outcomes)
        error = state.players[:, 0, MU] - state.players[:, 0, TRUE_SKILL]
        measures["final_squared_error"] = error**2
        return measures

    def info(self, state: State, row: int) -> dict[str, Any]:
        """Return the ``info`` of one episode; see ``Simulator.info``."""
        # The default spends most of a single step's time on views; even strict= costs a fifth.
        info: dict[str, Any] = dict(zip(MEASURES, state.measures[row].tolist()))  # noqa: B905
        info["won"] = state.won.item(row)
        info["outcome"] = state.outcomes.item(row)
        return info

    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the current observations; a view."""
        return state.observation

    def masks(self, state: State) -> Masks | None:
        """Return the allowed opponents; a view, or None if all are always allowed."""
        return state.mask if self._has_masks else None

    def view(self, state: State, *, truth: bool = False) -> MatchmakingView:
        """Return beliefs, games left and allowed opponents; see ``Simulator.view``."""
        return MatchmakingView(
            knowledge_state=self.knowledge_state(state),
            games_left=self.settings.horizon - state.games,
            action_mask=state.mask,
            true_skill=state.players[:, :, TRUE_SKILL] if truth else None,
        )

    def knowledge_state(self, state: State) -> KnowledgeState:
        """Return the beliefs, shape (B, M + 1); views of the state where possible."""
        return KnowledgeState.trusted(
            read_only(state.players[:, :, MU]),
            read_only(state.players[:, :, SIGMA]),
            read_only(self.belief.difference_sigma(state.players, state.memory)),
            self.belief.name,
        )

    def replacement(self, state: State, rows: Integers, actions: Integers) -> Integers:
        """Return the allowed opponents with the nearest means, the first among equals."""
        mu = state.players[rows, 1:, MU]
        gap = np.abs(mu - np.take_along_axis(mu, actions[:, np.newaxis], axis=1))
        return np.where(state.mask[rows], gap, np.inf).argmin(axis=1)

    def describe_allowed(self, mask: Masks) -> str:
        """Describe the allowed opponents."""
        limit = self.settings.max_games_per_opponent
        if limit is None:
            return "an opponent who is online"
        return f"an opponent who is online and was met in fewer than {limit} games"

    def _change_pool(self, state: State, rows: Integers) -> None:
        """Change the pools of these episodes before their next game."""
        left = change_pool(state, self._params, rows)
        if left.any():
            self._replace(state, left)
        state.observation[:, self._share_column + 1 :] = state.mask

    def _replace(self, state: State, left: Masks) -> None:
        """Draw newcomers in place of the opponents who left, shape (B, M)."""
        players = self.settings.num_players
        has_newcomers = left.any(axis=1)
        # The random numbers of newcomers have an index that depends on the games played.
        for games in np.unique(state.games[has_newcomers]).tolist():
            rows = np.flatnonzero(has_newcomers & (state.games == games))
            numbers = numbers_of_players(state.key[rows], NEWCOMER_MEANS, games * players, players)
            drawn = instances_of(self.settings.prior_type, numbers, ANY_RANK, by_skill=False)
            index, opponents = np.nonzero(left[rows])
            for column, values in zip((MU, SIGMA, TRUE_SKILL), drawn, strict=True):
                newcomers = values[index, opponents + 1]
                state.players[rows[index], opponents + 1, column] = newcomers
        self.belief.replace(state.beliefs, *np.nonzero(left))


def games_of(state: State, opponents: Integers, running: Masks, terminated: Masks) -> GamesPlayed:
    """Return the games of a step for custom beliefs and rewards."""
    return GamesPlayed(opponents, running, terminated, state.measures, state.won, state.outcomes)


@cache
def step_code() -> Any:
    """Return the compiled code of ``step_games`` for all settings."""
    simulator = OnePlayer(Settings())
    state = simulator.new_state(4)
    played = state.games[::2], state.won[::2], state.won[::2]  # also for arrays with strides
    return code_for(step_games, state, simulator._params, played, OTHER, *simulator._workspace)


@compiled(refcounted=False)
def step_games(
    state: State,
    params: Params,
    played: tuple[Integers, Masks, Masks],
    learns: int,
    table: Floats,
    indices: Integers,
) -> None:
    """Play one game in every running episode, and update a compiled belief.

    Args:
        state: changed.
        params: of the episodes.
        played: opponents and running episodes; terminated episodes, which are written.
        learns: FACTORISED, FULL or OTHER.
        table: workspace, shape (TABLE,).
        indices: workspace, shape (PART,).
    """
    games = GamesPlayed(played[0], played[1], played[2], state.measures, state.won, state.outcomes)
    play_games(state, params, games, table, indices)
    constants = GameConstants(params.beta, params.draw_margin, params.tau)
    beliefs = BeliefArrays(state.players, state.memory, state.observation)
    if learns == FACTORISED:
        learn_factorised(beliefs, games, constants, table)
    elif learns == FULL:
        learn_full(beliefs, games, constants)


@compiled(inline=True, refcounted=False)
def play_games(
    state: State, params: Params, games: GamesPlayed, table: Floats, indices: Integers
) -> None:
    """Play one game in every running episode under the true skills, without beliefs.

    This drifts true skills, counts games and shows the share of games left. Games are processed in
    blocks of PART, which stay in cache; short loops without calls are vectorised. The index of a
    game's random number is the number of the game, or with ``noise="opponent"`` the opponent and
    the number of their games. Then policies that play the same opponents equally often have equal
    luck with them (synchronised common random numbers; Law, "Simulation modeling and analysis",
    chapter 11).

    Args:
        state: changed, except for the beliefs.
        params: of the episodes.
        games: ``opponents`` and ``running`` are read; all but the belief's measures is written.
        table: workspace, shape (TABLE,).
        indices: workspace, shape (PART,).
    """
    variance = performance_variance(params.beta)
    for first in range(0, games.running.size, PART):
        size = min(PART, games.running.size - first)
        for k in range(size):
            b = first + k
            if not games.running[b]:
                continue
            j = games.opponents[b]
            indices[k] = state.games[b]
            if params.noise_by_opponent:
                indices[k] = np.int64(state.met[b, j]) * state.met.shape[1] + j
            if params.tau > 0.0:
                drift_0 = normal(state.key[b], DRIFT, state.games[b])
                drift_j = normal(state.key[b], OPPONENT_DRIFT, indices[k])
                state.players[b, 0, TRUE_SKILL] += params.tau * drift_0
                state.players[b, j + 1, TRUE_SKILL] += params.tau * drift_j
            skill = state.players[b, 0, TRUE_SKILL]
            table[SKILL_GAP + k] = skill - state.players[b, j + 1, TRUE_SKILL]
            table[ERROR + k] = state.players[b, 0, MU] - skill
        for k in range(size):
            table[LUCK + k] = uniform(state.key[first + k], OUTCOME, indices[k])
        decide_games(table, size, params.beta, params.draw_margin)
        for k in range(size):
            b = first + k
            if not games.running[b]:
                for measure in range(games.measures.shape[1]):
                    games.measures[b, measure] = 0.0
                games.won[b] = False
                games.outcomes[b] = 0
                continue
            outcome = drawn_outcome(
                table[LUCK + k], table[WIN + k], table[SKILL_GAP + k], variance, params.draw_margin
            )
            games.won[b] = outcome > 0
            games.outcomes[b] = outcome
            games.measures[b, TRUE_DRAW_DENSITY] = table[TRUE_DENSITY + k]
            games.measures[b, SQUARED_ERROR] = table[ERROR + k] * table[ERROR + k]
            games.measures[b, SKILL_DIFFERENCE] = table[SKILL_GAP + k]
            if params.counted:
                state.met[b, games.opponents[b]] += 1
            state.games[b] += 1
            left = params.horizon - state.games[b]
            games.terminated[b] = left == 0
            state.observation[b, params.share_column] = left / params.horizon


@compiled(refcounted=False)
def decide_games(table: Floats, size: int, beta: float, draw_margin: float) -> None:
    """Write the win probability and the draw density of the games in a block."""
    variance = performance_variance(beta)
    others = 0
    for k in range(min(size, PART)):
        gap = table[SKILL_GAP + k]
        lead = standardised_lead(gap, variance, 1, draw_margin)
        far = abs(lead)
        others += far >= TAIL_START
        above, below = near_mills_ratio(min(far, LARGEST_LEAD))
        tail = normal_density(far) * above / below
        table[WIN + k] = tail if lead < 0.0 else 1.0 - tail
        table[TRUE_DENSITY + k] = density_at_zero(gap, variance)
    if others > 0:
        for k in range(size):
            if abs(standardised_lead(table[SKILL_GAP + k], variance, 1, draw_margin)) >= TAIL_START:
                table[WIN + k] = win_probability_of(table[SKILL_GAP + k], variance, draw_margin)


@compiled
def change_pool(state: State, params: Params, rows: Integers) -> Masks:
    """Change who is online after a game, or draw it before the first game.

    Returns:
        Opponents who are replaced by newcomers, shape (B, M).
    """
    left = np.zeros(state.online.shape, dtype=np.bool_)
    count = state.online.shape[1]
    for b in rows:
        begins = state.games[b] == 0
        for j in range(count):
            index = state.games[b] * (count + 1) + j + 1
            if begins or params.availability < 1.0:
                number = uniform(state.key[b], ONLINE, index)
                if begins:
                    state.online[b, j] = number < params.availability  # the stationary law
                elif state.online[b, j]:
                    state.online[b, j] = number >= params.goes_offline
                else:
                    state.online[b, j] = number < params.comes_online
            if params.turnover > 0.0 and not begins:
                left[b, j] = uniform(state.key[b], LEAVES, index) < params.turnover
                if left[b, j]:
                    state.met_before[b, j] = state.met[b, j]
        allow(state, params, b)
    return left


@compiled
def allow(state: State, params: Params, row: int) -> None:
    """Write who can be chosen: opponents who are online and below the limit of games.

    If nobody is online, a random opponent comes online, whatever was played. If all who are online
    are at the limit, a random one below it can be chosen for one game. The limit does not apply at
    the end of an episode.
    """
    count = state.online.shape[1]
    limited = params.limit > 0 and state.games[row] < params.horizon
    if not state.online[row].any():
        number = uniform(state.key[row], NEEDED, state.games[row])
        state.online[row, int(number * count)] = True
    num_allowed = 0
    num_below = 0
    for j in range(count):
        is_below = not limited or state.met[row, j] - state.met_before[row, j] < params.limit
        state.mask[row, j] = is_below and state.online[row, j]
        num_below += is_below
        num_allowed += state.mask[row, j]
    if num_allowed > 0:
        return
    number = uniform(state.key[row], NEEDED, state.games[row])
    skipped = min(num_below - 1, int(number * num_below))
    for j in range(count):
        if not limited or state.met[row, j] - state.met_before[row, j] < params.limit:
            if skipped == 0:
                state.mask[row, j] = True
                return
            skipped -= 1


def numbers_of_players(
    keys: Keys, stream: int, first: int, players: int
) -> tuple[Floats, Floats, Floats]:
    """Return the random numbers of all players of K episodes for ``instances_of``.

    Args:
        keys: shape (K,).
        stream: stream of the means; those of variances and skills follow it.
        first: index of player 0.
        players: M + 1.
    """
    return (
        normals(keys, stream, first, players),
        uniforms(keys, stream + 1, first, players),
        normals(keys, stream + 2, first, players),
    )


def wins_ahead(key: np.uint64, true_skill: Floats, games: int, beta: float) -> Masks:
    """Return whether player 0 wins the first, second, ... game with each opponent: (M, games).

    These are the outcomes of an episode with ``noise="opponent"`` and without draws or drift.

    Args:
        key: of the episode.
        true_skill: shape (M + 1,).
        games: number of games with each opponent.
        beta: standard deviation of one performance around skill.
    """
    gap = true_skill[0] - true_skill[1:]
    win = outcome_probabilities(gap, np.full(gap.size, performance_variance(beta)), 1, 0.0)
    luck = uniforms(np.array([key]), OUTCOME, 0, games * gap.size)
    won: Masks = win > luck.reshape(games, gap.size)
    return won.T
