"""Settings, simulator and environments of ``Lobby-v0``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.scalar import ScalarEnv
from matchenv.envs.core.settings import Options, checked_options, option
from matchenv.envs.core.simulator import SUM, Numbers, Simulator, Step
from matchenv.envs.core.space import observation_box
from matchenv.envs.core.vector import NativeVectorEnv
from matchenv.envs.core.view import View, truth
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks
from matchenv.runtime.checks import as_integer, as_positive_number
from matchenv.runtime.random import normal, normals

# Random streams.
LEVELS = 0
NOISE = 1


@dataclass(frozen=True)
class LobbySettings(Options):
    """Settings of ``Lobby-v0``."""

    env_id: ClassVar[str] = "Lobby-v0"
    sizes: ClassVar[tuple[str, ...]] = ("num_tables", "horizon")

    num_tables: int = option(5, as_integer, "number of tables", low=1, high=1000)
    horizon: int = option(20, as_integer, "games in an episode", low=1, high=10_000)
    noise: float = option(1.0, as_positive_number, "standard deviation of one game")

    @property
    def observation_size(self) -> int:
        """Means and deviations of all tables, and the share of games left."""
        return 2 * self.num_tables + 1


class State(NamedTuple):
    """State of B episodes with M tables."""

    true_skill: Floats  # levels of the tables, shape (B, M)
    totals: Floats  # sums of the games at each table, shape (B, M)
    played: Integers  # games at each table, shape (B, M)
    games: Integers  # games in all, shape (B,)
    level: Floats  # level of the last table, shape (B,)
    key: Keys  # shape (B,)


@dataclass(frozen=True, eq=False)
class LobbyView(View):
    """What a policy may know: posterior means and deviations, shape (B, M)."""

    mu: Floats
    sigma: Floats
    true_skill: Any = truth()


class LobbySimulator(Simulator[State]):
    """Normal games, with a standard normal prior of each level."""

    aggregations: ClassVar[dict[str, str]] = {"level": SUM}
    settings: LobbySettings

    def __init__(self, settings: LobbySettings) -> None:
        self.settings = settings
        self.num_actions = settings.num_tables
        self.observation_space = observation_box(
            settings, settings.num_tables, 2 * settings.num_tables
        )

    def new_state(self, count: int) -> State:
        """Return episodes that have not begun."""
        shape = (count, self.num_actions)
        return State(
            true_skill=np.zeros(shape),
            totals=np.zeros(shape),
            played=np.zeros(shape, dtype=np.int64),
            games=np.zeros(count, dtype=np.int64),
            level=np.zeros(count),
            key=np.zeros(count, dtype=np.uint64),
        )

    def reset_options(self, options: Any, count: int | None) -> None:
        """Refuse all options."""
        checked_options(options, ())

    def begin(self, state: State, rows: Integers, keys: Keys, fixed: Any = None) -> State:
        """Start episodes."""
        state.key[rows] = keys
        state.true_skill[rows] = normals(keys, LEVELS, 0, self.num_actions)
        for array in (state.totals, state.played, state.games, state.level):
            array[rows] = 0
        return state

    def step(self, state: State, actions: Integers, running: Masks) -> Step[State]:
        """Play a game at each chosen table."""
        rewards = np.zeros(running.size)
        over = np.zeros(running.size, dtype=np.bool_)
        for row in np.flatnonzero(running).tolist():
            table = actions[row]
            state.level[row] = state.true_skill[row, table]
            luck = normal(state.key[row], NOISE, int(state.games[row]))
            rewards[row] = state.level[row] + self.settings.noise * luck
            state.totals[row, table] += rewards[row]
            state.played[row, table] += 1
            state.games[row] += 1
            over[row] = state.games[row] == self.settings.horizon
        return Step(state, rewards, over, np.zeros_like(over))

    def beliefs(self, state: State) -> tuple[Floats, Floats]:
        """Return posterior means and deviations, shape (B, M) each."""
        precision = 1.0 + state.played / self.settings.noise**2
        return state.totals / self.settings.noise**2 / precision, 1.0 / np.sqrt(precision)

    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the observations."""
        mu, sigma = self.beliefs(state)
        left = 1.0 - state.games / self.settings.horizon
        return np.column_stack((mu, sigma, left)).astype(np.float32)

    def masks(self, state: State) -> None:
        """Return None, since all tables can always be chosen."""
        return

    def view(self, state: State, *, truth: bool = False) -> LobbyView:
        """Return what a policy may know."""
        mu, sigma = self.beliefs(state)
        mask = np.ones(mu.shape, dtype=np.bool_)
        levels = state.true_skill if truth else None
        return LobbyView(mu, sigma, true_skill=levels, action_mask=mask)

    def infos(self, state: State) -> Numbers:
        """Return the level of the last table."""
        return {"level": state.level.copy()}


class LobbyEnv(ScalarEnv, settings=LobbySettings, simulator=LobbySimulator):
    """One lobby.

    {options}
    """


class LobbyVectorEnv(NativeVectorEnv, settings=LobbySettings, simulator=LobbySimulator):
    """Several lobbies.

    {options}
    """
