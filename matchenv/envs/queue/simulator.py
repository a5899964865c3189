"""The simulator of ``MatchmakingQueue-v0``: B queues, stepped by one compiled call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from matchenv.envs.core.settings import as_given, checked_options
from matchenv.envs.core.simulator import LAST, Facts, Simulator, Step, observation_box
from matchenv.envs.queue.dynamics import (
    NONE,
    OVER,
    QUEUE,
    VISIT,
    Params,
    State,
    empty_state,
    grown,
    join_all,
    step_all,
)
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.view import NOBODY, QueueView, WaitingPlayers
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks

# Facts that are fields of QUEUE.
TOTALS = ("tick", "queued", "matched_players", "abandoned", "waiting", "playing")
QUALITIES = ("match_quality", "true_match_quality")

# Number of runs for the usual quality, and of choices in each.
USUAL_RUNS, USUAL_CHOICES = 16, 500


class QueueSimulator(Simulator[State]):
    """Simulator of ``MatchmakingQueue-v0``.

    Args:
        settings: of the environment.
        keep_visits: whether to record visits that end, for ``taken_visits``.
    """

    env_id: ClassVar[str] = "MatchmakingQueue-v0"
    measures: ClassVar[dict[str, str]] = {"queued": LAST, "abandoned": LAST}
    settings: QueueSettings

    def __init__(self, settings: QueueSettings, *, keep_visits: bool = False) -> None:
        self.settings = settings
        self.num_actions = settings.capacity
        capacity = settings.capacity
        self.observation_space = observation_box(settings.observation_size, capacity, 2 * capacity)
        self._keeps_visits = keep_visits

    @cached_property
    def params(self) -> Params:
        """Numbers for the compiled functions."""
        settings, population = self.settings, self.settings.population
        usual = usual_quality(settings) if settings.reward == "relative" else 0.0
        numbers = {
            name: getattr(settings, name) for name in Params._fields if hasattr(settings, name)
        }
        numbers["abandonment_cost"] += usual * settings.games_of_player
        numbers["population"] = np.ascontiguousarray(population.rows)
        return Params(
            **numbers,
            mean=population.mean,
            deviation=population.deviation,
            by_truth=settings.reward == "true_match_quality",
            usual=usual,
        )

    def new_state(self, count: int) -> State:
        """Return the state of ``count`` queues that have not begun."""
        state = empty_state(self.settings, count)
        return self.keeping_visits(state) if self._keeps_visits else state

    def given(self, options: Any, count: int | None) -> dict[str, Floats] | None:
        """Check the players who wait at tick 0 and ``"noise"``; see ``Simulator.given``."""
        given = checked_options(options, ("mu", "sigma", "true_skill", "noise"))
        players = set(given) - {"noise"}
        if players and not {"mu", "sigma"} <= players:
            raise ValueError(f"options must hold both 'mu' and 'sigma', got {sorted(given)}")
        rows = [()] if count is None else [(), (count,)]
        for name, value in given.items():
            shape = np.shape(value if name == "noise" else given["mu"])
            if not shape or shape[:-1] not in rows:
                allowed = "(n,)" if count is None else f"(n,) or ({count}, n)"
                raise ValueError(f"options[{name!r}] must have shape {allowed}, got {shape}")
            given[name] = as_given(name, value, [(*row, shape[-1]) for row in rows])
        return given or None

    def begin(
        self, state: State, rows: Integers, keys: Keys, given: dict[str, Floats] | None = None
    ) -> State:
        """Start new runs and advance to the first choice; see ``Simulator.begin``."""
        given = given or {}
        # The focal player wins if u < P(win), so noise z corresponds to u = Phi(-z).
        luck = ndtr(-given.get("noise", np.zeros(0)))
        games, old = luck.shape[-1], state.luck.shape[1]
        if games > old:
            wide = np.pad(state.luck, ((0, 0), (0, games - old)), constant_values=np.nan)
            state = state._replace(luck=wide)
        state.luck[rows] = np.nan
        state.luck[rows, :games] = np.broadcast_to(luck, (len(state.luck), games))[rows]
        mu = given.get("mu", np.zeros(0))
        parts = mu, given.get("sigma", mu), given.get("true_skill", np.full_like(mu, np.nan))
        shape = (len(state.queue), mu.shape[-1])
        while shape[1] > state.room:
            state = grown(state)
        queue, new = state.queue, np.zeros(rows.size, QUEUE)
        new["key"], new["focal"], new["free"] = keys, NONE, state.room
        new["visits"] = queue["visits"][rows]
        queue[rows] = new
        state.free[rows] = np.arange(state.room)[::-1]
        players = (np.ascontiguousarray(np.broadcast_to(part, shape)) for part in parts)
        join_all(state, self.params, rows, *players)
        running = np.zeros(len(queue), dtype=np.bool_)
        running[rows] = True
        return self._advanced(state, np.full(len(queue), NONE), running)

    def step(self, state: State, actions: Integers, running: Masks) -> Step[State]:
        """Carry out a choice in every running queue, up to the next one; see ``Simulator.step``."""
        state = self._advanced(state, actions, running)
        reward = np.where(running, state.queue["reward"], 0.0)
        state.queue["reward"] -= reward
        truncated = (state.queue["phase"] == OVER) & running
        return Step(state, reward, np.zeros_like(running), truncated)

    def _advanced(self, state: State, actions: Integers, running: Masks) -> State:
        """Carry out choices and advance to the next, with larger arrays if needed."""
        while step_all(state, self.params, actions, running):
            state, actions = grown(state), np.full(len(running), NONE)
        return state

    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the current observations, shape (B, 4 C + 3); a view."""
        return state.observation

    def masks(self, state: State) -> Masks:
        """Return the allowed actions, shape (B, C); a view."""
        return state.mask

    def view(self, state: State) -> tuple[QueueView]:
        """Return the view of all queues; see ``Simulator.view``."""
        filled, tick = state.shown != NONE, state.queue["tick"]
        players = np.take_along_axis(state.players, state.shown, axis=1)
        view = QueueView(
            mu=np.where(filled, players["mu"], 0.0),
            sigma=np.where(filled, players["sigma"], 1.0),
            waited=np.where(filled[:, 0], tick - players["joined"][:, 0], 0.0),
            player=np.where(filled, players["number"], NOBODY),
            filled=np.maximum(state.mask.sum(axis=1) - 1, 0),
            tick=tick,
            run=state.queue["key"],
            settings=self.settings,
            everyone=lambda row: self.waiting_players(state, row),
        )
        return (view,)

    def facts(self, state: State) -> Facts:
        """Return totals since the reset, current numbers and the last game's qualities."""
        queue = state.queue
        left = np.maximum(queue["matched_players"] + queue["abandoned"], 1)
        return {
            **{name: queue[name].copy() for name in TOTALS},
            "mean_wait": queue["waited"] / left,
            **{name: queue[name].copy() for name in QUALITIES},
        }

    def describe_allowed(self, mask: Masks) -> str:
        """Describe the allowed actions of one queue."""
        return f"0 to wait or one of {int(mask.sum()) - 1} candidates"

    def restored(self, state: State, arrays: Mapping[str, Any]) -> State:
        """Return a state from saved arrays with any room; see ``Simulator.restored``."""
        growing = ("players", "luck", "visits")
        sizes = [arrays[name].shape[1] if arrays[name].ndim > 1 else 0 for name in growing]
        return super().restored(empty_state(self.settings, len(state.queue), *sizes), arrays)

    def waiting_players(self, state: State, row: int) -> WaitingPlayers:
        """Return copies of all waiting players of one queue."""
        queue, line = state.queue[row], state.line[row, : state.queue[row]["length"]]
        places = line[line != NONE]
        index = np.full(state.room + 1, NOBODY, dtype=np.int64)
        index[places] = np.arange(places.size)
        players = state.players[row, places]
        return WaitingPlayers(
            mu=players["mu"].copy(),
            sigma=players["sigma"].copy(),
            waited=queue["tick"] - players["joined"],
            player=players["number"].copy(),
            focal=int(index[queue["focal"]]),
            candidates=index[state.shown[row, 1:]],
            tick=int(queue["tick"]),
            playing=int(queue["playing"]),
            settings=self.settings,
            true_skill=players["true_skill"].copy(),
        )

    def games(self, state: State, row: int) -> Floats:
        """Return both players' means in each current game, shape (G, 2), oldest first."""
        queue = state.queue[row]
        entries = (queue["first"] + np.arange(queue["playing"])) % state.room
        means: Floats = state.players["mu"][row, state.ring["place"][row, entries]]
        return means.reshape(-1, 2)

    def keeping_visits(self, state: State) -> State:
        """Return a state that records visits."""
        shape = (len(state.queue), 2 * state.room)
        return state if state.visits.size > 0 else state._replace(visits=np.zeros(shape, VISIT))

    def taken_visits(self, state: State) -> dict[str, Floats]:
        """Return and delete the visits that ended since the last call.

        Returns:
            float64 columns ``environment`` and the fields of ``VISIT``, for each environment in the
            order in which visits ended. ``waited`` counts ticks, ``served`` is 1 for a game and 0
            for a player who gave up, ``mu`` and ``sigma`` are the belief at the end of the visit,
            after ``games_played`` games, and the qualities are 0 without a game.
        """
        counts = state.queue["visits"].copy()
        state.queue["visits"] = 0
        kept = np.arange(state.visits.shape[1]) < counts[:, np.newaxis]
        visits = state.visits[kept]
        columns = {name: visits[name].astype(np.float64) for name in VISIT.names or ()}
        return {"environment": np.nonzero(kept)[0].astype(np.float64), **columns}


@lru_cache(maxsize=64)
def usual_quality(settings: QueueSettings) -> float:
    """Return the mean reward for each game of a player under a rule with a widening window.

    The window is one standard deviation of the population plus 8 % for each tick of waiting, a
    common rule in game services. The keys are fixed, so the result depends only on the settings.
    """
    # Two actions suffice for the nearest candidate.
    simulator = QueueSimulator(replace(settings, reward="match_quality", capacity=2))
    rows, running = np.arange(USUAL_RUNS), np.ones(USUAL_RUNS, dtype=np.bool_)
    state = simulator.begin(simulator.new_state(USUAL_RUNS), rows, rows.astype(np.uint64))
    reward, deviation = 0.0, settings.population.deviation
    for _ in range(USUAL_CHOICES):
        (view,) = simulator.view(state)
        window = deviation * (1.0 + 0.08 * view.waited)
        near = np.abs(view.mu[:, 1] - view.mu[:, 0]) <= window
        step = simulator.step(state, (near & state.mask[:, 1]).astype(np.int64), running)
        state, running = step.state, running & ~step.truncated
        reward += float(step.reward.sum())
    queue = state.queue
    games = queue["matched_players"].sum() + settings.games_of_player * queue["abandoned"].sum()
    return reward / max(1.0, float(games))
