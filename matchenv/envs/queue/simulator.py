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
from matchenv.envs.queue.dynamics import NO_ACTION, Params, log_on_at_reset, step_all
from matchenv.envs.queue.settings import BY_BELIEF, BY_TRUTH, RELATIVE, QueueSettings
from matchenv.envs.queue.state import CLOCK, NONE, NUM_SIDES, OVER, VISIT, State, empty_state, grown
from matchenv.envs.queue.view import NOBODY, QueueView, WaitingPlayers
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks

# Names in ``info`` that are fields of CLOCK.
TOTALS = ("tick", "queued", "matched_players", "abandoned", "waiting", "playing")
QUALITIES = ("match_quality", "true_match_quality")

# Options of a reset: the players who wait at tick 0, and the luck of the first games.
PLAYERS = ("mu", "sigma", "true_skill")
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
        self.observation_space = observation_box(settings, settings.capacity, 2 * settings.capacity)
        self._keeps_visits = keep_visits
        self._params = params_of(settings)

    def new_state(self, count: int) -> State:
        """Return the state of ``count`` queues that have not begun."""
        state = empty_state(self.settings, count)
        if self._keeps_visits:
            state = self.keeping_visits(state)
        return state

    def reset_options(self, options: Any, count: int | None) -> dict[str, Floats] | None:
        """Check the players who wait at tick 0 and ``"noise"``; see ``Simulator.reset_options``."""
        fixed = checked_options(options, (*PLAYERS, NOISE))
        has_players = not set(fixed).isdisjoint(PLAYERS)
        if has_players and not {"mu", "sigma"} <= set(fixed):
            raise ValueError(f"options must hold both 'mu' and 'sigma', got {sorted(fixed)}")
        for name, value in fixed.items():
            # As many players as means.
            shape = np.shape(value if name == NOISE else fixed["mu"])
            fixed[name] = as_fixed(name, value, _allowed_shapes(name, shape, count))
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
        count = len(state.clock)
        shape = (count, mu.shape[-1])

        state = _with_luck(state, rows, noise)
        while state.room < mu.shape[-1]:
            state = grown(state)
        clock = np.zeros(rows.size, CLOCK)
        clock["key"] = keys
        clock["focal"] = NONE
        clock["num_free"] = state.room
        clock["num_visits"] = state.clock["num_visits"][rows]
        state.clock[rows] = clock
        state.free_players[rows] = np.arange(state.room)[::-1]
        log_on_at_reset(
            state,
            self._params,
            rows,
            _in_rows(mu, shape),
            _in_rows(sigma, shape),
            _in_rows(true_skill, shape),
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
        while step_all(state, self._params, actions, running):
            state = grown(state)
            actions = np.full(len(running), NO_ACTION)
        return state

    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the current observations, shape (B, 4 C + 3); a view."""
        return state.observation

    def masks(self, state: State) -> Masks:
        """Return the allowed actions, shape (B, C); a view."""
        return state.mask

    def view(self, state: State, *, truth: bool = False) -> QueueView:
        """Return the focal players and candidates; see ``Simulator.view``."""
        is_player = state.shown != NONE
        tick = state.clock["tick"]
        rows = np.arange(len(tick))[:, np.newaxis]

        def numbers(name: str, missing: float) -> NDArray[Any]:
            """Return a field of the players in the view, shape (B, C)."""
            return np.where(is_player, state.players[name][rows, state.shown], missing)

        return QueueView(
            mu=numbers("mu", 0.0),
            sigma=numbers("sigma", 1.0),
            waited=np.where(is_player[:, 0], tick - numbers("joined", 0)[:, 0], 0.0),
            player=numbers("number", NOBODY),
            tick=tick,
            run=state.clock["key"],
            settings=self.settings,
            waiting_players=lambda row: self.waiting_players(state, row, truth=truth),
            action_mask=state.mask,
            true_skill=numbers("true_skill", 0.0) if truth else None,
        )

    def infos(self, state: State) -> Numbers:
        """Return totals since the reset, current numbers and the last game's qualities."""
        clock = state.clock
        departed = np.maximum(clock["matched_players"] + clock["abandoned"], 1)
        infos: Numbers = {name: clock[name].copy() for name in TOTALS}
        infos["mean_wait"] = clock["waited"] / departed
        for name in QUALITIES:
            infos[name] = clock[name].copy()
        return infos

    def describe_allowed(self, mask: Masks) -> str:
        """Describe the allowed actions of one queue."""
        return f"0 to wait or one of {int(mask.sum()) - 1} candidates"

    def waiting_players(self, state: State, row: int, *, truth: bool = False) -> WaitingPlayers:
        """Return copies of all waiting players of one queue.

        Args:
            state: of the queues.
            row: of the queue.
            truth: whether to add the true skills.
        """
        clock = state.clock[row]
        tick = int(clock["tick"])
        line = state.line[row, : clock["length"]]
        slots = line[line != NONE]
        players = state.players[row]
        # Indices of the players in ``slots``; the last element is that of NONE.
        index = np.empty(state.room + 1, dtype=np.int64)
        index[slots] = np.arange(slots.size)
        index[NONE] = NOBODY
        mask = state.mask[row].copy()
        return WaitingPlayers(
            mu=players["mu"][slots],
            sigma=players["sigma"][slots],
            waited=tick - players["joined"][slots],
            player=players["number"][slots],
            focal=int(index[clock["focal"]]),
            candidates=index[state.shown[row, 1:][mask[1:]]],
            tick=tick,
            playing=int(clock["playing"]),
            settings=self.settings,
            run=int(clock["key"]),
            action_mask=mask,
            true_skill=players["true_skill"][slots] if truth else None,
        )

    def means_in_games(self, state: State, row: int) -> Floats:
        """Return both players' means in each current game, shape (G, 2), oldest first."""
        clock = state.clock[row]
        num_games = clock["playing"] // NUM_SIDES
        columns = (clock["oldest"] + np.arange(num_games)) % state.games.shape[1]
        means: Floats = state.players["mu"][row, state.seats[row, columns]]
        return means

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


def params_of(settings: QueueSettings) -> Params:
    """Return the numbers for the compiled functions."""
    population = settings.population
    usual_quality = 0.0
    if settings.reward == RELATIVE:
        usual_quality = settings.usual_quality
    return Params(
        arrival_rate=settings.arrival_rate,
        newcomers=settings.newcomers,
        patience=settings.patience,
        game_length=settings.game_length,
        stay=settings.stay,
        waiting_cost=settings.waiting_cost,
        abandonment_cost=settings.abandonment_cost + usual_quality * settings.games_of_player,
        horizon=settings.horizon,
        beta=settings.beta,
        draw_margin=settings.draw_margin,
        tau=settings.tau,
        population=np.ascontiguousarray(population.rows),
        mean=population.mean,
        deviation=population.deviation,
        by_truth=settings.reward == BY_TRUTH,
        usual_quality=usual_quality,
    )


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
        plays = view.has_candidates & (np.abs(view.mu[:, 1] - view.mu[:, 0]) <= window)
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
    # The focal player wins if u < P(win), so a standard normal z corresponds to u = Phi(-z).
    luck = np.broadcast_to(ndtr(-noise), (len(state.luck), num_games))
    state.luck[rows] = np.nan
    state.luck[rows, :num_games] = luck[rows]
    return state


def _in_rows(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Return values of shape (n,) or (B, n) as a contiguous array of shape (B, n)."""
    return np.ascontiguousarray(np.broadcast_to(values, shape))
