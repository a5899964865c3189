"""The simulator of ``MatchmakingQueue-v0``: B queues, stepped by one compiled call."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from matchenv.envs.core.settings import as_fixed, checked_options
from matchenv.envs.core.simulator import LAST, Numbers, Simulator, Step
from matchenv.envs.core.space import observation_box
from matchenv.envs.queue.dynamics import NO_ACTION, log_on_at_reset, step_all
from matchenv.envs.queue.lobby import packing_table
from matchenv.envs.queue.params import TRUE_OFFSET, params_of
from matchenv.envs.queue.settings import ACTION_NUMBERS, BY_BELIEF, QueueSettings
from matchenv.envs.queue.state import (
    CLOCK,
    FORECASTS,
    NOBODY,
    NONE,
    OVER,
    TRUE_WIN_PROBABILITY,
    VISIT,
    WIN_PROBABILITY,
    State,
    chained,
    empty_state,
    free_all_slots,
    grown,
)
from matchenv.envs.queue.view import QueueView, WaitingParties
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks
from matchenv.runtime.checks import refusal

# Names in ``info`` that are fields of CLOCK.
TOTALS = ("tick", "queued", "matched_players", "abandoned", "waiting", "playing")
QUALITIES = ("match_quality", "true_match_quality")

# Options of a reset: the players who wait at tick 0, their parties, and the luck of the first
# games.
PLAYERS = ("mu", "sigma", "true_skill")
PARTY_SIZE = "party_size"
NOISE = "noise"

# Number of runs for the usual quality, and of choices in each.
USUAL_RUNS = 16
USUAL_CHOICES = 500

# Window of the usual rule, in standard deviations of the population, and its growth per tick.
USUAL_WINDOW = 1.0
USUAL_GROWTH = 0.08


class QueueSimulator(Simulator[State]):
    """Simulator of ``MatchmakingQueue-v0``.

    Args:
        settings: of the environment.
        keep_visits: whether to record visits that end, for ``taken_visits``.
    """

    aggregations: ClassVar[dict[str, str]] = {"queued": LAST, "abandoned": LAST}
    settings: QueueSettings

    def __init__(self, settings: QueueSettings, *, keep_visits: bool = False) -> None:
        self.settings = settings
        self.num_actions = settings.capacity
        # A lobby can have more players than a side.
        largest = {}
        if settings.has_lobbies:
            largest[ACTION_NUMBERS * settings.capacity] = float(settings.num_sides)
        self.observation_space = observation_box(
            settings, settings.capacity, 2 * settings.capacity, largest
        )
        self._keeps_visits = keep_visits
        self._params = params_of(settings)
        self._table = None
        if settings.has_lobbies:
            self._table = packing_table(settings.side_size, settings.num_sides)

    def new_state(self, count: int) -> State:
        """Return the state of ``count`` queues that have not begun."""
        state = empty_state(self.settings, count)
        if self._keeps_visits:
            state = self.keeping_visits(state)
        return state

    def reset_options(self, options: Any, count: int | None) -> dict[str, Floats] | None:
        """Check the players who wait at tick 0 and ``"noise"``; see ``Simulator.reset_options``."""
        fixed = checked_options(options, (*PLAYERS, PARTY_SIZE, NOISE))
        has_players = not set(fixed).isdisjoint((*PLAYERS, PARTY_SIZE))
        if has_players and not {"mu", "sigma"} <= set(fixed):
            raise ValueError(f"options must hold both 'mu' and 'sigma', got {sorted(fixed)}")
        if NOISE in fixed and self.settings.num_sides > 2:
            raise ValueError(
                "options can hold 'noise' only with num_sides=2, "
                f"got num_sides={self.settings.num_sides}"
            )
        for name, value in fixed.items():
            # As many players as means.
            shape = np.shape(fixed["mu"] if name in PLAYERS else value)
            fixed[name] = as_fixed(name, value, _allowed_shapes(name, shape, count))
        if PARTY_SIZE in fixed:
            _check_party_sizes(fixed[PARTY_SIZE], fixed["mu"].shape[-1], self.settings.side_size)
        return fixed or None

    def begin(
        self, state: State, rows: Integers, keys: Keys, fixed: dict[str, Floats] | None = None
    ) -> State:
        """Start new runs and advance to the first choice; see ``Simulator.begin``."""
        if fixed is None:
            fixed = {}
        noise = fixed.get(NOISE, np.zeros(0))
        mu = fixed.get("mu", np.zeros(0))
        sigma = fixed.get("sigma", mu)
        true_skill = fixed.get("true_skill", np.full_like(mu, np.nan))
        party_size = fixed.get(PARTY_SIZE, np.ones(mu.shape[-1])).astype(np.int64)
        count = len(state.clock)
        shape = (count, mu.shape[-1])

        state = _with_luck(state, rows, noise)
        while state.room < mu.shape[-1]:
            state = grown(state)
        clock = np.zeros(rows.size, CLOCK)
        clock["key"] = keys
        clock["focal"] = NONE
        clock["last"] = NONE
        clock["num_visits"] = state.clock["num_visits"][rows]
        state.clock[rows] = clock
        free_all_slots(state, rows)
        # The game of the last run's last choice is forgotten.
        state.last_game[rows] = 0.0
        state.last_game[rows, :, FORECASTS : FORECASTS + self.settings.side_size] = NOBODY
        log_on_at_reset(
            state,
            self._params,
            rows,
            _in_rows(mu, shape),
            _in_rows(sigma, shape),
            _in_rows(true_skill, shape),
            _in_rows(party_size, (count, party_size.shape[-1])),
        )
        begins = np.zeros(count, dtype=np.bool_)
        begins[rows] = True
        return self._advanced(state, np.full(count, NO_ACTION), begins)

    def step(self, state: State, actions: Integers, running: Masks) -> Step[State]:
        """Carry out a choice in every running queue, up to the next one; see ``Simulator.step``."""
        state = self._advanced(state, actions, running)
        reward = np.where(running, state.clock["reward"], 0.0)
        state.clock["reward"] -= reward
        truncated = (state.clock["phase"] == OVER) & running
        return Step(state, reward, np.zeros_like(running), truncated)

    def _advanced(self, state: State, actions: Integers, running: Masks) -> State:
        """Carry out choices and advance to the next, with larger arrays if needed."""
        while step_all(state, self._params, self._table, actions, running):
            state = grown(state)
            actions = np.full(len(running), NO_ACTION)
        return state

    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the current observations, shape (B, ``observation_size``); a view."""
        return state.observation

    def masks(self, state: State) -> Masks:
        """Return the allowed actions, shape (B, C); a view."""
        return state.mask

    def view(self, state: State, *, truth: bool = False) -> QueueView:
        """Return the open lobbies and candidates; see ``Simulator.view``."""
        slots = state.entries["slot"]
        is_party = slots != NONE
        has_lobby = is_party[:, 0]
        clock = state.clock
        tick = clock["tick"]
        rows = np.arange(len(tick))[:, np.newaxis]

        def numbers(name: str, missing: float) -> NDArray[Any]:
            """Return a field of the parties in the view, shape (B, C)."""
            return np.where(is_party, state.players[name][rows, slots], missing)

        mu = numbers("party_mu", 0.0)
        sigma = numbers("party_sigma", 1.0)
        size = is_party.astype(np.int64)
        quality = None
        if self.settings.has_lobbies:
            # The first entry is the lobby, not its founder.
            mu[has_lobby, 0] = clock["lobby_mu"][has_lobby]
            sigma[has_lobby, 0] = np.sqrt(clock["lobby_variance"][has_lobby])
            size = numbers("size", 0).astype(np.int64)
            size[:, 0] = clock["seats_taken"]
            quality = state.entries["quality"]
        true_skill = None
        if truth:
            true_skill = self._true_skills(state, rows, slots).sum(axis=2)
            following = state.players["next_party"]
            lobby = chained(rows[:, 0], clock["focal"], following, self.settings.num_seats)
            true_skill[:, 0] = self._true_skills(state, rows, lobby).sum(axis=(1, 2))
        return QueueView(
            mu=mu,
            sigma=sigma,
            waited=np.where(has_lobby, tick - numbers("joined", 0)[:, 0], 0.0),
            party=numbers("party", NOBODY),
            tick=tick,
            run=clock["key"],
            settings=self.settings,
            waiting_parties=lambda row: self.waiting_parties(state, row, truth=truth),
            size=size,
            quality=quality,
            action_mask=state.mask,
            true_skill=true_skill,
        )

    def infos(self, state: State) -> Numbers:
        """Return totals since the reset, current numbers and the last game's qualities."""
        clock = state.clock
        departed = np.maximum(clock["matched_players"] + clock["abandoned"], 1)
        infos: Numbers = {name: clock[name].copy() for name in TOTALS}
        infos["mean_wait"] = clock["waited"] / departed
        for name in QUALITIES:
            infos[name] = clock[name].copy()
        if not self.settings.has_lobbies:
            return infos
        last_game = state.last_game
        end = FORECASTS + self.settings.side_size
        infos["win_probability"] = last_game[:, :, WIN_PROBABILITY].copy()
        infos["true_win_probability"] = last_game[:, :, TRUE_WIN_PROBABILITY].copy()
        infos["parties"] = last_game[:, :, FORECASTS:end].astype(np.int64)
        infos["party_sizes"] = last_game[:, :, end:].astype(np.int64)
        return infos

    def describe_allowed(self, mask: Masks) -> str:
        """Describe the allowed actions of one queue."""
        return f"0 to wait or one of {int(mask.sum()) - 1} candidates"

    def waiting_parties(self, state: State, row: int, *, truth: bool = False) -> WaitingParties:
        """Return copies of all waiting parties of one queue.

        Args:
            state: of the queues.
            row: of the queue.
            truth: whether to add the true skills.
        """
        clock = state.clock[row]
        tick = int(clock["tick"])
        line = state.line[row, : clock["length"]]
        slots = line[line != NONE]
        parties = state.players[row, slots]
        # Indices of the parties in ``slots``; the last element is that of NONE.
        index = np.empty(state.room + 1, dtype=np.int64)
        index[slots] = np.arange(slots.size)
        index[NONE] = NOBODY
        mask = state.mask[row].copy()
        slots_of_members = self._members(state, row, slots)
        is_member = slots_of_members != NONE
        members = state.players[row, slots_of_members]

        def numbers(name: str, missing: float) -> NDArray[Any]:
            """Return a field of the members, shape (Q, n)."""
            return np.where(is_member, members[name], missing)

        lobby = chained(row, clock["focal"], state.players["next_party"], self.settings.num_seats)
        true_skill = None
        member_true_skill = None
        if truth:
            true_skill = self._true_skills(state, row, slots).sum(axis=1)
            member_true_skill = numbers("true_skill", 0.0)
        return WaitingParties(
            mu=parties["party_mu"],
            sigma=parties["party_sigma"],
            waited=tick - parties["joined"].astype(np.int64),
            party=parties["party"],
            focal=int(index[clock["focal"]]),
            candidates=index[state.entries["slot"][row, 1:][mask[1:]]],
            tick=tick,
            playing=int(clock["playing"]),
            settings=self.settings,
            run=int(clock["key"]),
            action_mask=mask,
            size=parties["size"].astype(np.int64),
            member=numbers("number", NOBODY),
            member_mu=numbers("mu", 0.0),
            member_sigma=numbers("sigma", 0.0),
            lobby=index[lobby[lobby != NONE]],
            true_skill=true_skill,
            member_true_skill=member_true_skill,
        )

    def _members(self, state: State, rows: int | Integers, slots: Integers) -> Integers:
        """Return the slots of the members of parties, shape (..., n); NONE for missing ones.

        Args:
            state: of the queues.
            rows: of the queues; broadcasts with ``slots``.
            slots: of parties, or NONE, shape (...).
        """
        return chained(rows, slots, state.players["next_member"], self.settings.side_size)

    def _true_skills(self, state: State, rows: int | Integers, slots: Integers) -> Floats:
        """Return the members' true skills with the ``party_bonus``, as ``_members``; or 0."""
        members = self._members(state, rows, slots)
        offset = self._params.offsets[TRUE_OFFSET, state.players["size"][rows, slots]]
        if isinstance(rows, np.ndarray):
            rows = rows[..., np.newaxis]
        skills = state.players["true_skill"][rows, members]
        return np.where(members == NONE, 0.0, skills + offset[..., np.newaxis])

    def means_in_games(self, state: State, row: int) -> Floats:
        """Return the mean per player of each side in each current game, shape (G, k), oldest first.

        With sides of one player, these are the means of the players.
        """
        settings = self.settings
        clock = state.clock[row]
        num_games = clock["num_games"]
        columns = (clock["oldest"] + np.arange(num_games)) % state.games.shape[1]
        first = state.games["party"][row, columns]
        parties = chained(row, first, state.players["next_party"], settings.num_seats)
        members = self._members(state, row, parties)
        mu = np.where(members == NONE, 0.0, state.players["mu"][row, members]).sum(axis=2)
        means = np.zeros((num_games, settings.num_sides))
        for side in range(settings.num_sides):
            is_on_side = state.players["side"][row, parties] == side
            means[:, side] = np.where(is_on_side, mu, 0.0).sum(axis=1) / settings.side_size
        return means

    def newest_game(self, state: State, row: int) -> tuple[Integers, Floats]:
        """Return the parties of the current game of one queue that began last.

        Returns:
            The side of each of m parties, shape (m,), and the means of its members, shape (m, n),
            NaN beyond the size. Without a game, m is 0.
        """
        clock = state.clock[row]
        num_games = clock["num_games"]
        if num_games == 0:
            return np.empty(0, dtype=np.int64), np.empty((0, self.settings.side_size))
        column = (clock["oldest"] + num_games - 1) % state.games.shape[1]
        first = state.games["party"][row, column]
        parties = chained(row, first, state.players["next_party"], self.settings.num_seats)
        parties = parties[parties != NONE]
        members = self._members(state, row, parties)
        mu = np.where(members == NONE, np.nan, state.players["mu"][row, members])
        return state.players["side"][row, parties].astype(np.int64), mu

    def keeping_visits(self, state: State) -> State:
        """Return a state that records visits."""
        if state.visits.size > 0:
            return state
        return state._replace(visits=np.zeros((len(state.clock), 2 * state.room), VISIT))

    def taken_visits(self, state: State) -> dict[str, Floats]:
        """Return and delete the visits that ended since the last call.

        Returns:
            float64 columns ``environment`` and the fields of ``VISIT``, for each environment in the
            order in which visits ended.
        """
        counts = state.clock["num_visits"].copy()
        state.clock["num_visits"] = 0
        is_recorded = np.arange(state.visits.shape[1]) < counts[:, np.newaxis]
        visits = state.visits[is_recorded]
        columns = {"environment": np.nonzero(is_recorded)[0].astype(np.float64)}
        for name in VISIT.names or ():
            columns[name] = visits[name].astype(np.float64)
        return columns

    def unended_visits(self, state: State) -> dict[str, Floats]:
        """Return the visits of the players who wait.

        Returns:
            float64 columns ``environment``, ``newcomer``, ``true_skill``, ``party_size`` and
            ``waited``, the ticks so far; see ``VISIT``.
        """
        is_waiting = np.arange(state.room) < state.clock["length"][:, np.newaxis]
        is_waiting &= state.line != NONE
        run = np.nonzero(is_waiting)[0]
        slots = state.line[is_waiting]
        members = self._members(state, run, slots)
        # One visit for each member.
        party, _ = np.nonzero(members != NONE)
        players = state.players[run[party], members[members != NONE]]
        parties = state.players[run, slots][party]
        columns = {
            "environment": run[party],
            "newcomer": players["newcomer"],
            "true_skill": players["true_skill"],
            "party_size": parties["size"],
            "waited": state.clock["tick"][run[party]] - parties["joined"].astype(np.int64),
        }
        return {name: column.astype(np.float64) for name, column in columns.items()}


@lru_cache(maxsize=64)
def usual_quality(settings: QueueSettings) -> float:
    """Return the match quality of a usual game, for the option of that name.

    It is the mean reward for each game of a player under a rule with a widening window, a common
    rule in game services; see ``MatchmakingQueueEnv``. The keys are fixed, so the result depends
    only on the settings.
    """
    # Two actions suffice for the nearest candidate.
    simulator = QueueSimulator(replace(settings, reward=BY_BELIEF, capacity=2))
    rows = np.arange(USUAL_RUNS)
    running = np.ones(USUAL_RUNS, dtype=np.bool_)
    state = simulator.begin(simulator.new_state(USUAL_RUNS), rows, rows.astype(np.uint64))
    reward = 0.0
    deviation = settings.population.deviation
    for _ in range(USUAL_CHOICES):
        view = simulator.view(state)
        window = deviation * (USUAL_WINDOW + USUAL_GROWTH * view.waited)
        means = view.mu[:, :2] / np.maximum(view.size[:, :2], 1)
        plays = view.has_candidates & (np.abs(means[:, 1] - means[:, 0]) <= window)
        step = simulator.step(state, plays.astype(np.int64), running)
        state = step.state
        running = running & ~step.truncated
        reward += float(step.reward.sum())
    matched = state.clock["matched_players"].sum()
    lost = settings.games_of_player * state.clock["abandoned"].sum()
    return reward / max(1.0, float(matched + lost))


def _allowed_shapes(name: str, shape: tuple[int, ...], count: int | None) -> list[tuple[int, ...]]:
    """Return the shapes that an option of a reset can have: one row, or one for each queue.

    Args:
        name: of the option.
        shape: of the option, or of the means if it is about players.
        count: B, or None for a single environment.

    Raises:
        ValueError: for a scalar, or another number of rows.
    """
    rows: list[tuple[int, ...]] = [()]
    allowed = "(n,)"
    if count is not None:
        rows.append((count,))
        allowed = f"(n,) or ({count}, n)"
    if not shape or shape[:-1] not in rows:
        raise ValueError(f"options[{name!r}] must have shape {allowed}, got {shape}")
    return [(*row, shape[-1]) for row in rows]


def _check_party_sizes(party_size: Floats, num_players: int, side_size: int) -> None:
    """Refuse sizes of parties that are too large or do not sum to the number of players.

    Args:
        party_size: shape (m,) or (B, m).
        num_players: who wait at tick 0.
        side_size: largest size.
    """
    allowed = np.isin(party_size, np.arange(1, side_size + 1)).all()
    if not allowed or (party_size.sum(axis=-1) != num_players).any():
        raise refusal(
            f"options['party_size'] must be sizes from 1 to side_size={side_size} with sum "
            f"{num_players}, the number of players",
            party_size,
        )


def _with_luck(state: State, rows: Integers, noise: Floats) -> State:
    """Return the state with the luck of the first games in new runs.

    Args:
        state: of the queues.
        rows: the new runs, shape (K,).
        noise: standard normals of the first games, shape (n,) or (B, n).
    """
    num_games = noise.shape[-1]
    more = num_games - state.luck.shape[1]
    if more > 0:
        luck = np.pad(state.luck, ((0, 0), (0, more)), constant_values=np.nan)
        state = state._replace(luck=luck)
    # The founder's side wins if u < P(win), so a standard normal z corresponds to u = Phi(-z).
    luck = np.broadcast_to(ndtr(-noise), (len(state.luck), num_games))
    state.luck[rows] = np.nan
    state.luck[rows, :num_games] = luck[rows]
    return state


def _in_rows(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return values of shape (n,) or (B, n) as a contiguous array of shape (B, n)."""
    return np.ascontiguousarray(np.broadcast_to(values, shape))
