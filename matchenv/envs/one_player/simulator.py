"""The simulator of ``Matchmaking-v0``.

A step plays the games under the true skills (``play_games``), updates the beliefs from the outcomes
(``Belief.learn``), and changes the pool. The first two are one compiled call for the compiled
beliefs, since a call takes longer than a game.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import (
    MEASURES,
    MU,
    SIGMA,
    TRUE_SKILL,
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
from matchenv.envs.core.settings import as_given, checked_options
from matchenv.envs.core.simulator import LAST, MEAN, SUM, Facts, Simulator, Step, observation_box
from matchenv.envs.one_player.priors import ANY_RANK, instances_of
from matchenv.envs.one_player.settings import MeasureReward, Settings
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks
from matchenv.runtime.compile import code_for, compiled
from matchenv.runtime.random import normal, normals, uniform, uniforms
from matchenv.trueskill.game import (
    LARGEST_LEAD,
    PART,
    TABLE,
    density_at_zero,
    draw_probability_of,
    standardised_lead,
    total_variance,
    win_probability_of,
)
from matchenv.trueskill.normal import TAIL_START, near_mills_ratio, normal_density

# Streams of random numbers. Player i has index i, or n (M + 1) + i after game n. The streams of
# means, variances and skills are consecutive.
(MEANS, VARIANCES, SKILLS, OUTCOME, DRIFT, OPPONENT_DRIFT, ONLINE, LEAVES, NEEDED,
 NEWCOMER_MEANS, NEWCOMER_VARIANCES, NEWCOMER_SKILLS) = range(12)  # fmt: skip

# Offsets of sections in the table of ``play_games``, which ``update_games`` uses afterwards.
SKILL_GAP, ERROR, LUCK, TRUE_DENSITY, WIN = range(0, 5 * PART, PART)

# Beliefs that learn in the compiled step; others learn after it.
LEARN_COMPILED = (FactorisedBelief, FullBelief)
FACTORISED, FULL, OTHER = range(3)


class State(NamedTuple):
    """State of B episodes of player 0 and M opponents.

    Attributes:
        players: mu, sigma and true skill of every player, shape (B, M + 1, 3).
        memory: the belief's own numbers, shape (B, R, M).
        shown: the observations, shape (B, K), float32.
        games: games played, shape (B,).
        met: games with each opponent, shape (B, M), int32; counted only with ``noise="opponent"``
            or ``max_games_per_opponent``.
        met_before: games in ``met`` with departed predecessors, shape (B, M), int32.
        online: opponents who are online, shape (B, M).
        allowed: opponents who can be chosen, shape (B, M).
        key: key of the random numbers, shape (B,), uint64.
        measures: of the last games, a row for each of ``matchenv.belief.MEASURES``, shape (5, B);
            before the first game this and the next two are 0.
        won: whether player 0 won the last game, shape (B,).
        outcomes: outcomes of the last games for player 0, shape (B,), int8.
    """

    players: Floats
    memory: Floats
    shown: NDArray[np.float32]
    games: Integers
    met: NDArray[np.int32]
    met_before: NDArray[np.int32]
    online: Masks
    allowed: Masks
    key: Keys
    measures: Floats
    won: Masks
    outcomes: NDArray[np.int8]

    @property
    def beliefs(self) -> BeliefArrays:
        """The arrays of the beliefs."""
        return BeliefArrays(self.players, self.memory, self.shown)


class Params(NamedTuple):
    """The numbers in ``Settings`` that compiled functions use, and some more.

    Attributes:
        limit: ``max_games_per_opponent``, or 0 for no limit.
        noise_by_opponent: whether ``noise="opponent"``.
        counted: whether games with each opponent are counted.
        last_shown: index of the share of games left in an observation.
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
    last_shown: int


class OnePlayer(Simulator[State]):
    """Simulator of ``Matchmaking-v0``.

    Args:
        settings: of the episodes.
    """

    env_id: ClassVar[str] = "Matchmaking-v0"
    measures: ClassVar[dict[str, str]] = {
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
        # Index of the share of games left, after which come masks.
        self._last_shown = self.belief.observation_size(settings.num_opponents) - 1
        self.observation_space = observation_box(
            settings.observation_size, settings.num_players, self._last_shown
        )
        by_opponent, limit = settings.noise == "opponent", settings.max_games_per_opponent
        numbers: dict[str, Any] = {
            name: getattr(settings, name) for name in Params._fields if hasattr(settings, name)
        }
        self._params = Params(
            **numbers,
            limit=limit or 0,
            noise_by_opponent=by_opponent,
            counted=by_opponent or limit is not None,
            last_shown=self._last_shown,
        )
        self._workspace = np.empty(TABLE), np.empty(PART, np.int64)
        self._constants = settings.constants
        self._learns = [*LEARN_COMPILED, type(self.belief)].index(type(self.belief))
        self._reward = reward = settings.reward_type
        self._reward_row = MEASURES.index(reward.name) if type(reward) is MeasureReward else None
        self._masked = settings.masks_change

    def new_state(self, count: int) -> State:
        """Return the state of ``count`` episodes that have not begun."""
        opponents = self.settings.num_opponents
        return State(
            players=np.zeros((count, opponents + 1, 3)),
            memory=np.zeros((count, self.belief.memory_rows, opponents)),
            shown=np.zeros((count, self.settings.observation_size), dtype=np.float32),
            games=np.zeros(count, dtype=np.int64),
            met=np.zeros((count, opponents), dtype=np.int32),
            met_before=np.zeros((count, opponents), dtype=np.int32),
            online=np.ones((count, opponents), dtype=np.bool_),
            allowed=np.ones((count, opponents), dtype=np.bool_),
            key=np.zeros(count, dtype=np.uint64),
            measures=np.zeros((len(MEASURES), count)),
            won=np.zeros(count, dtype=np.bool_),
            outcomes=np.zeros(count, dtype=np.int8),
        )

    def given(self, options: Any, count: int | None) -> dict[str, Floats] | None:
        """Check ``mu``, ``sigma`` and ``true_skill`` of a reset; see ``Simulator.given``."""
        players = self.settings.num_players
        shapes = [(players,)] if count is None else [(players,), (count, players)]
        given = checked_options(options, ("mu", "sigma", "true_skill"))
        return {name: as_given(name, value, shapes) for name, value in given.items()} or None

    def begin(
        self, state: State, rows: Integers, keys: Keys, given: dict[str, Floats] | None = None
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
        if given is not None:
            shape = (len(state.games), players)
            fixed = {name: np.broadcast_to(array, shape)[rows] for name, array in given.items()}
            mu, sigma = fixed.get("mu", mu), fixed.get("sigma", sigma)
            skill = fixed.get("true_skill", mu + sigma * numbers[2])
        for entry, values in ((MU, mu), (SIGMA, sigma), (TRUE_SKILL, skill)):
            state.players[rows, :, entry] = values
        state.key[rows] = keys
        state.measures[:, rows] = 0.0
        for counts in (state.games, state.met, state.met_before, state.won, state.outcomes):
            counts[rows] = 0
        self.belief.begin(state.beliefs, rows)
        state.shown[rows, self._last_shown] = 1.0
        if self._masked:
            self._change_pool(state, rows)
        return state

    def step(self, state: State, actions: Integers, running: Masks) -> Step[State]:
        """Play one game in every running episode; see ``Simulator.step``."""
        count = actions.size
        terminated, truncated = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        played = (actions, running, terminated)
        step_code()(state, self._params, played, self._learns, *self._workspace)
        if self._learns == OTHER:
            self.belief.learn(state.beliefs, games_of(state, *played), self._constants)
        if self._masked:
            self._change_pool(state, np.flatnonzero(running))
        if self._reward_row is not None:
            reward = state.measures[self._reward_row].copy()
        else:
            reward = self._reward.checked(games_of(state, *played), running)
        return Step(state, reward, terminated, truncated)

    def facts(self, state: State) -> Facts:
        """Return the measures and the outcome of the last games."""
        measures = zip(MEASURES, state.measures.copy(), strict=True)
        return {**dict(measures), "won": state.won.copy(), "outcome": state.outcomes.copy()}

    def measured(self, state: State) -> Facts:
        """Return the facts, the share of games won and the error of mu_0 after the game."""
        mu, skill = state.players[:, 0, MU], state.players[:, 0, TRUE_SKILL]
        won = 0.5 * (1.0 + state.outcomes)
        return {**self.facts(state), "win_ratio": won, "final_squared_error": (mu - skill) ** 2}

    def true_skill(self, state: State) -> Floats:
        """Return the true skills of player 0 and the opponents, shape (B, M + 1); a view."""
        return state.players[:, :, TRUE_SKILL]

    def info(self, state: State, row: int) -> dict[str, Any]:
        """Return the facts of one episode as NumPy scalars."""
        # The default spends most of a single step's time on views; even strict= costs a fifth.
        info: dict[str, Any] = dict(zip(MEASURES, state.measures[:, row].flat))  # noqa: B905
        # Gymnasium's vectors infer the dtype of Python's bool, but not of NumPy's.
        info["won"], info["outcome"] = bool(state.won[row]), state.outcomes[row]
        return info

    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the current observations; a view."""
        return state.shown

    def masks(self, state: State) -> Masks | None:
        """Return the allowed opponents; a view, or None if all are always allowed."""
        return state.allowed if self._masked else None

    def view(self, state: State) -> tuple[KnowledgeState, Integers]:
        """Return knowledge states and games left; see ``Simulator.view``."""
        return self.knowledge_state(state), self.settings.horizon - state.games

    def knowledge_state(self, state: State) -> KnowledgeState:
        """Return the beliefs, shape (B, M + 1); views of the state where possible."""
        extra = self.belief.extra(state.players, state.memory)
        mu, sigma = state.players[:, :, MU], state.players[:, :, SIGMA]
        return KnowledgeState.trusted(mu, sigma, extra, self.belief.name)

    def replacement(self, state: State, rows: Integers, actions: Integers) -> Integers:
        """Return the allowed opponents with the nearest means, the first among equals."""
        mu = state.players[rows, 1:, MU]
        gap = np.abs(mu - np.take_along_axis(mu, actions[:, np.newaxis], axis=1))
        return np.where(state.allowed[rows], gap, np.inf).argmin(axis=1)

    def describe_allowed(self, mask: Masks) -> str:
        """Describe the allowed opponents."""
        limit = self.settings.max_games_per_opponent
        limited = "" if limit is None else f" and was met in fewer than {limit} games"
        return f"an opponent who is online{limited}"

    def _change_pool(self, state: State, rows: Integers) -> None:
        """Change the pools of these episodes before their next game."""
        left = change_pool(state, self._params, rows)
        if left.any():
            players = self.settings.num_players
            for game in np.unique(state.games[left.any(axis=1)]).tolist():
                changed = np.flatnonzero(left.any(axis=1) & (state.games == game))
                numbers = numbers_of_players(
                    state.key[changed], NEWCOMER_MEANS, game * players, players
                )
                drawn = instances_of(self.settings.prior_type, numbers, ANY_RANK, by_skill=False)
                index, opponents = np.nonzero(left[changed])
                for entry, values in zip((MU, SIGMA, TRUE_SKILL), drawn, strict=True):
                    state.players[changed[index], opponents + 1, entry] = values[
                        index, opponents + 1
                    ]
            self.belief.replace(state.beliefs, *np.nonzero(left))
        state.shown[:, self._last_shown + 1 :] = state.allowed


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
    beliefs = BeliefArrays(state.players, state.memory, state.shown)
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
                for measure in range(len(games.measures)):
                    games.measures[measure, b] = 0.0
                games.won[b], games.outcomes[b] = False, 0
                continue
            win, luck = table[WIN + k], table[LUCK + k]
            outcome = 1 if luck < win else -1
            if params.draw_margin > 0.0 and luck >= win:
                variance = total_variance(0.0, 0.0, params.beta)
                draw = draw_probability_of(table[SKILL_GAP + k], variance, params.draw_margin)
                outcome = 0 if luck < win + draw else -1
            games.won[b], games.outcomes[b] = outcome > 0, outcome
            games.measures[TRUE_DRAW_DENSITY, b] = table[TRUE_DENSITY + k]
            games.measures[SQUARED_ERROR, b] = table[ERROR + k] * table[ERROR + k]
            games.measures[SKILL_DIFFERENCE, b] = table[SKILL_GAP + k]
            if params.counted:
                state.met[b, games.opponents[b]] += 1
            state.games[b] += 1
            left = params.horizon - state.games[b]
            games.terminated[b] = left == 0
            state.shown[b, params.last_shown] = left / params.horizon


@compiled(refcounted=False)
def decide_games(table: Floats, size: int, beta: float, draw_margin: float) -> None:
    """Write the win probability and the draw density of the games in a block."""
    variance = total_variance(0.0, 0.0, beta)
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
            place = state.games[b] * (count + 1) + j + 1
            if begins or params.availability < 1.0:
                number = uniform(state.key[b], ONLINE, place)
                if begins:
                    state.online[b, j] = number < params.availability  # the stationary law
                elif state.online[b, j]:
                    state.online[b, j] = number >= params.goes_offline
                else:
                    state.online[b, j] = number < params.comes_online
            if params.turnover > 0.0 and not begins:
                left[b, j] = uniform(state.key[b], LEAVES, place) < params.turnover
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
    chosen, possible = 0, 0
    if not state.online[row].any():
        number = uniform(state.key[row], NEEDED, state.games[row])
        state.online[row, int(number * count)] = True
    for j in range(count):
        below = not limited or state.met[row, j] - state.met_before[row, j] < params.limit
        state.allowed[row, j] = below and state.online[row, j]
        possible += below
        chosen += state.allowed[row, j]
    if chosen > 0:
        return
    number = uniform(state.key[row], NEEDED, state.games[row])
    place = min(possible - 1, int(number * possible))
    for j in range(count):
        if not limited or state.met[row, j] - state.met_before[row, j] < params.limit:
            if place == 0:
                state.allowed[row, j] = True
                return
            place -= 1


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
    win = outcome_probabilities(gap, np.full(gap.size, 2.0 * beta * beta), 1, 0.0)
    luck = uniforms(np.array([key]), OUTCOME, 0, games * gap.size)
    won: Masks = win > luck.reshape(games, gap.size)
    return won.T
