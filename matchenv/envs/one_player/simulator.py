"""Episodes of ``Matchmaking-v0``: one player, game after game. Compiled and pure.

``play_games`` lets the games happen from the true skills, without beliefs; the belief learns from
their outcomes, without true skills; then the pool changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from matchenv.belief import MU, SIGMA, TRUE_SKILL
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.simulator import Facts, Floats, Integers, Keys, Masks, Simulator, Step
from matchenv.envs.one_player.instances import GivenInstance, Instances, instances_of
from matchenv.envs.one_player.rewards import MEASURES, GamesPlayed
from matchenv.envs.one_player.settings import ANY_RANK, Settings
from matchenv.runtime.compile import compiled
from matchenv.runtime.random import normal, normals, uniform, uniforms
from matchenv.trueskill.game import (
    density_at_zero,
    draw_probability_of,
    quality_per_density,
    total_variance,
    win_probability_of,
)

# Streams of random numbers. Games are counted from 0; players of game n are at n (M + 1) + i.
(MEANS, VARIANCES, SKILLS, OUTCOME, DRIFT, OPPONENT_DRIFT, ONLINE, LEAVES, NEEDED,
 NEWCOMER_MEANS, NEWCOMER_VARIANCES, NEWCOMER_SKILLS) = range(12)  # fmt: skip

(DRAW_DENSITY, MATCH_QUALITY, TRUE_DRAW_DENSITY, SQUARED_ERROR, SKILL_DIFFERENCE) = range(5)


class State(NamedTuple):
    """State of B episodes of player 0 and M opponents.

    Attributes:
        players: mu, sigma and true skill of every player, shape (B, M + 1, 3).
        memory: what the belief keeps besides, shape (B, R, M).
        shown: the observation, shape (B, K), float32.
        games: games played, shape (B,).
        met: games with each opponent, shape (B, M), int32.
        met_before: of these, games with predecessors who have left, shape (B, M), int32.
        online: opponents who are online, shape (B, M).
        allowed: opponents who can be chosen, shape (B, M).
        key: of the random numbers, shape (B,), uint64.
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


class Params(NamedTuple):
    """The numbers of ``Settings`` that compiled functions read; names as there.

    Attributes:
        noise_by_opponent: random numbers of a game by opponent, not by the game's number.
        last_shown: place of the share of games left in an observation.
        limit: ``max_games_per_opponent``, 0 for none.
    """

    horizon: int
    beta: float
    draw_margin: float
    tau: float
    noise_by_opponent: bool
    last_shown: int
    availability: float
    goes_offline: float
    comes_online: float
    turnover: float
    limit: int

    @classmethod
    def of(cls, settings: Settings) -> Params:
        """Return those of an environment's settings."""
        return cls(
            horizon=settings.horizon,
            beta=settings.beta,
            draw_margin=settings.draw_margin,
            tau=settings.tau,
            noise_by_opponent=settings.noise == "opponent",
            last_shown=settings.belief_type.observation_size(settings.num_opponents) - 1,
            availability=settings.availability,
            goes_offline=settings.goes_offline,
            comes_online=settings.comes_online,
            turnover=settings.turnover,
            limit=settings.max_games_per_opponent or 0,
        )


class OnePlayer(Simulator[State]):
    """Simulator of ``Matchmaking-v0``.

    Args:
        settings: of the episodes.
    """

    env_id: ClassVar[str] = "Matchmaking-v0"
    fact_types: ClassVar[Mapping[str, type[np.generic]]] = {
        **dict.fromkeys(MEASURES, np.float64),
        "won": np.bool_,
        "outcome": np.int8,
    }

    settings: Settings

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.num_actions = settings.num_opponents
        self.observation_space = observation_space(settings)
        self.belief = settings.belief_type
        self._params = Params.of(settings)
        self._constants = settings.constants
        self._reward = settings.reward_type
        self._masked = settings.masks_change

    def new_state(self, count: int) -> State:
        """Return the state of ``count`` episodes that have not begun."""
        opponents = self.settings.num_opponents
        return State(
            players=np.zeros((count, opponents + 1, 3)),
            memory=self.belief.new_memory(count, opponents),
            shown=np.zeros((count, self.settings.observation_size), dtype=np.float32),
            games=np.zeros(count, dtype=np.int64),
            met=np.zeros((count, opponents), dtype=np.int32),
            met_before=np.zeros((count, opponents), dtype=np.int32),
            online=np.ones((count, opponents), dtype=np.bool_),
            allowed=np.ones((count, opponents), dtype=np.bool_),
            key=np.zeros(count, dtype=np.uint64),
        )

    def given(self, options: Any, count: int | None) -> GivenInstance | None:
        """Check ``mu``, ``sigma`` and ``true_skill`` of a reset; arguments as the contract."""
        return GivenInstance.from_options(options, self.settings.num_players, count)

    def begin(
        self, state: State, rows: Integers, keys: Keys, given: GivenInstance | None = None
    ) -> State:
        """Start episodes; arguments as the contract."""
        players = self.settings.num_players
        skill_normals = normals(keys, SKILLS, 0, players)
        instances = instances_of(
            self.settings.prior_type,
            Instances(normals(keys, MEANS, 0, players), uniforms(keys, VARIANCES, 0, players),
                      skill_normals),
            self.settings.place,
            by_skill=self.settings.rank_by == "true_skill",
        )  # fmt: skip
        if given is not None:
            instances = given.applied(instances, rows, skill_normals, len(state.games))
        for entry, values in zip((MU, SIGMA, TRUE_SKILL), instances, strict=True):
            state.players[rows, :, entry] = values
        state.key[rows] = keys
        state.games[rows] = 0
        state.met[rows] = 0
        state.met_before[rows] = 0
        self.belief.begin(state.players, state.memory, state.shown, rows)
        state.shown[rows, self._params.last_shown] = 1.0
        if self._masked:
            begin_pool(state, self._params, rows)
            self._show_allowed(state)
        return state

    def step(self, state: State, actions: Integers, running: Masks) -> Step[State]:
        """Play one game in every running episode; arguments as the contract."""
        count = actions.size
        report = np.zeros((len(MEASURES), count))
        outcomes = np.zeros(count, dtype=np.int8)
        terminated = np.zeros(count, dtype=np.bool_)
        games = GamesPlayed(terminated, report, outcomes, actions)
        play_games(state, self._params, running, games)
        report[DRAW_DENSITY] = self.belief.learn(
            state.players, state.memory, state.shown, actions, outcomes, running, self._constants
        )
        np.multiply(
            report[DRAW_DENSITY], quality_per_density(self._constants.beta), report[MATCH_QUALITY]
        )
        if self._masked:
            self._change_pool(state, running)
        reward = self._reward.checked(games, running)
        return Step(state, reward, terminated, np.zeros(count, np.bool_), _facts(games))

    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the current observations; a view."""
        return state.shown

    def masks(self, state: State) -> Masks | None:
        """Return who can be chosen; None where everyone always can."""
        return state.allowed if self._masked else None

    def view(self, state: State) -> tuple[KnowledgeState, Integers]:
        """Return knowledge states and games left; views where that is possible."""
        return self.knowledge_state(state), self.settings.horizon - state.games

    def knowledge_state(self, state: State) -> KnowledgeState:
        """Return the beliefs, shape (B, M + 1); views where that is possible."""
        extra = self.belief.extra(state.players, state.memory)
        mu, sigma = state.players[:, :, MU], state.players[:, :, SIGMA]
        return KnowledgeState.trusted(mu, sigma, extra, self.belief.name)

    def describe_allowed(self, mask: Masks) -> str:
        """Describe the opponents who can be chosen."""
        kind = "an opponent who is online"
        if self._params.limit > 0:
            kind += f" and was met in fewer than {self._params.limit} games"
        return kind

    def _change_pool(self, state: State, running: Masks) -> None:
        left = change_pool(state, self._params, running)
        if left.any():
            rows, opponents = np.nonzero(left)
            changed, field = np.unique(rows, return_inverse=True)
            players, keys = self.settings.num_players, state.key[changed]
            drawn = instances_of(
                self.settings.prior_type.newcomers,
                Instances(*(newcomer_numbers(keys, state.games[changed], players))),
                ANY_RANK,
                by_skill=False,
            )
            for entry, values in zip((MU, SIGMA, TRUE_SKILL), drawn, strict=True):
                state.players[rows, opponents + 1, entry] = values[field, opponents + 1]
            self.belief.replace(state.players, state.memory, state.shown, rows, opponents)
        self._show_allowed(state)

    def _show_allowed(self, state: State) -> None:
        state.shown[:, self._params.last_shown + 1 :] = state.allowed


def observation_space(settings: Settings) -> spaces.Box:
    """Return the box of one observation: mu unbounded, deviations >= 0, shares in [0, 1].

    The last number of the belief's observation is games left / horizon. Where the masks change,
    the mask follows.
    """
    size = settings.observation_size
    low = np.zeros(size, dtype=np.float32)
    low[: settings.num_players] = -np.inf
    high = np.full(size, np.inf, dtype=np.float32)
    high[settings.belief_type.observation_size(settings.num_opponents) - 1 :] = 1.0
    return spaces.Box(low, high, dtype=np.float32)


def _facts(games: GamesPlayed) -> Facts:
    facts: Facts = dict(zip(MEASURES, games.report, strict=True))
    facts["won"] = games.outcomes > 0
    facts["outcome"] = games.outcomes
    return facts


@compiled
def play_games(state: State, params: Params, running: Masks, games: GamesPlayed) -> None:
    """Play one game in every running episode; nothing is believed here.

    Args:
        state: true skills drift; games are counted, and the share of games left is shown.
        params: of the episodes.
        running: shape (B,).
        games: names the opponents; outcomes, ends and the true measures are written, 0 where not
            running.
    """
    variance = total_variance(0.0, 0.0, params.beta)
    for b in range(running.size):
        if not running[b]:
            continue
        j = games.opponents[b]
        index = luck_index(state, params, b, j)
        if params.tau > 0.0:
            drift_0 = normal(state.key[b], DRIFT, state.games[b])
            drift_j = normal(state.key[b], OPPONENT_DRIFT, index)
            state.players[b, 0, TRUE_SKILL] += params.tau * drift_0
            state.players[b, j + 1, TRUE_SKILL] += params.tau * drift_j
        skill = state.players[b, 0, TRUE_SKILL]
        difference = skill - state.players[b, j + 1, TRUE_SKILL]
        luck = uniform(state.key[b], OUTCOME, index)
        games.outcomes[b] = outcome_of(luck, difference, variance, params.draw_margin)
        games.report[TRUE_DRAW_DENSITY, b] = density_at_zero(difference, variance)
        games.report[SQUARED_ERROR, b] = (state.players[b, 0, MU] - skill) ** 2
        games.report[SKILL_DIFFERENCE, b] = difference
        state.met[b, j] += 1
        state.games[b] += 1
        left = params.horizon - state.games[b]
        games.terminated[b] = left == 0
        state.shown[b, params.last_shown] = left / params.horizon


@compiled
def luck_index(state: State, params: Params, row: int, opponent: int) -> int:
    """Return the index of the random numbers of an episode's next game.

    By the number of the game, or by the opponent (0 to M - 1) and how often they have met: then
    policies that meet the same opponents equally often have the same luck with them (common
    random numbers, synchronised; Law, "Simulation modeling and analysis", chapter 11).
    """
    if params.noise_by_opponent:
        return np.int64(state.met[row, opponent]) * state.met.shape[1] + opponent
    return state.games[row]


@compiled
def outcome_of(luck: float, difference: float, variance: float, draw_margin: float) -> int:
    """Return who wins: +1 player 0, -1 the opponent, 0 a draw.

    Args:
        luck: a uniform number; player 0 wins where it is below the probability of winning.
        difference: true skill of player 0 minus the opponent's.
        variance: of the difference of the two performances.
        draw_margin: performances no further apart than this are a draw.
    """
    win = win_probability_of(difference, variance, draw_margin)
    if luck < win:
        return 1
    return 0 if luck < win + draw_probability_of(difference, variance, draw_margin) else -1


@compiled
def begin_pool(state: State, params: Params, rows: Integers) -> None:
    """Bring each opponent online with the stationary probability, ``availability``."""
    count = state.online.shape[1]
    for row in rows:
        for j in range(count):
            number = uniform(state.key[row], ONLINE, j + 1)
            state.online[row, j] = number < params.availability
        allow(state, params, row)


@compiled
def change_pool(state: State, params: Params, running: Masks) -> Masks:
    """Let opponents come, go and leave after a game of every running episode.

    Returns:
        Opponents whose place a newcomer takes, shape (B, M).
    """
    left = np.zeros(state.online.shape, dtype=np.bool_)
    count = state.online.shape[1]
    for b in range(running.size):
        if not running[b]:
            continue
        for j in range(count):
            place = state.games[b] * (count + 1) + j + 1
            if params.availability < 1.0:
                number = uniform(state.key[b], ONLINE, place)
                online = state.online[b, j]
                state.online[b, j] = (
                    number >= params.goes_offline if online else number < params.comes_online
                )
            if params.turnover > 0.0:
                left[b, j] = uniform(state.key[b], LEAVES, place) < params.turnover
                if left[b, j]:
                    state.met_before[b, j] = state.met[b, j]
        allow(state, params, b)
    return left


@compiled
def allow(state: State, params: Params, row: int) -> None:
    """Write who can be chosen: online, and met in fewer games than the limit.

    Where nobody would be, one who is below the limit comes online, all equally likely. At the end
    of an episode the limit does not count.
    """
    count = state.online.shape[1]
    limited = params.limit > 0 and state.games[row] < params.horizon
    chosen, possible = 0, 0
    for j in range(count):
        below = not limited or state.met[row, j] - state.met_before[row, j] < params.limit
        state.allowed[row, j] = below and state.online[row, j]
        possible += below
        chosen += state.allowed[row, j]
    if chosen > 0:
        return
    number = uniform(state.key[row], NEEDED, state.games[row])
    place = min(possible - 1, int(math.floor(number * possible)))
    for j in range(count):
        if not limited or state.met[row, j] - state.met_before[row, j] < params.limit:
            if place == 0:
                state.online[row, j] = True
                state.allowed[row, j] = True
                return
            place -= 1


@compiled
def newcomer_numbers(keys: Keys, games: Integers, players: int) -> tuple[Floats, Floats, Floats]:
    """Draw the numbers of a whole field of newcomers for each of K episodes.

    Args:
        keys: shape (K,).
        games: games played, shape (K,).
        players: M + 1.

    Returns:
        Normals for means, uniforms for variances, normals for skills, shape (K, M + 1) each.
    """
    shape = (keys.size, players)
    means, variances, skills = np.empty(shape), np.empty(shape), np.empty(shape)
    for k in range(keys.size):
        for i in range(players):
            place = games[k] * players + i
            means[k, i] = normal(keys[k], NEWCOMER_MEANS, place)
            variances[k, i] = uniform(keys[k], NEWCOMER_VARIANCES, place)
            skills[k, i] = normal(keys[k], NEWCOMER_SKILLS, place)
    return means, variances, skills
