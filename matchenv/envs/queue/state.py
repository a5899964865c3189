"""The state of B queues as structured arrays, and the parameters of the compiled functions.

Players have places: columns of ``State.players``. A place is in the line of those who wait, in the
ring of those who play, or free.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.settings import QueueSettings

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Structured arrays; the fields are listed at QUEUE, PLAYER, PARTICIPANT and VISIT.
Records = NDArray[Any]

# An entry of a list of places that is empty.
NONE = -1

# Phases of a queue: a tick is to begin, a choice is awaited, the horizon is reached.
BEGIN, ASK, OVER = range(3)

# Players that a new state has room for; the room doubles where that is not enough.
FIRST_ROOM = 64


def _records(integers: str, reals: str = "", **others: type) -> np.dtype[np.void]:
    fields: list[tuple[str, type]] = [(name, np.int64) for name in integers.split()]
    fields += [(name, np.float64) for name in reals.split()]
    return np.dtype([*fields, *others.items()], align=True)


# A queue. tick; totals since the reset: queued, matched, abandoned, waited (ticks, of all who left
# the queue), logged_on, games; now: waiting and playing players. phase: BEGIN, ASK or OVER.
# focal: place of the player of this step; to_ask: players not asked about yet in this tick.
# free, length and visits: filled entries of State.free, State.line and State.visits; cursor: next
# entry of the line to ask about; first: entry of the ring where its first game begins.
# next_log_on: time at which the next player logs on; reward: since the last choice; the qualities
# are those of the game that the last choice began.
QUEUE = _records(
    "tick queued matched abandoned waited logged_on games waiting playing "
    "phase focal to_ask free length visits cursor first",
    "next_log_on reward match_quality true_match_quality",
    key=np.uint64,
)
# A player: number in the order of logging on, tick of joining the queue, last tick of patience,
# entry of the line, games played, 1 for a newcomer; belief and true skill.
PLAYER = _records("number joined leaves entry games newcomer", "mu sigma true_skill")
# A player in a game under way: place, side, number of the game, tick of its end. The participants
# of one game are consecutive, side by side.
PARTICIPANT = _records("place side game end")
# A visit to the queue that has ended; ``QueueSimulator.taken_visits`` describes it.
VISIT = _records(
    "tick player newcomer games_played waited served",
    "mu sigma true_skill match_quality true_match_quality",
)


class Params(NamedTuple):
    """Numbers of ``QueueSettings`` that the compiled functions need, under their names there.

    Attributes:
        population: shape (K, 3), as ``Population.rows``.
        mean: of a newcomer's belief.
        deviation: of a newcomer's belief.
        by_truth: whether the reward is the true match quality.
        usual: match quality that is subtracted from each player's.
    """

    arrival_rate: float
    newcomers: float
    patience: float
    game_length: int
    stay: float
    waiting_cost: float
    abandonment_cost: float
    horizon: int
    beta: float
    draw_margin: float
    tau: float
    population: Floats
    mean: float
    deviation: float
    by_truth: bool
    usual: float = 0.0

    @classmethod
    def of(cls, settings: QueueSettings) -> Params:
        """Return the parameters of an environment's settings."""
        population = settings.population
        return cls(
            **{name: getattr(settings, name) for name in cls._fields[:11]},
            population=np.ascontiguousarray(population.rows),
            mean=population.mean,
            deviation=population.deviation,
            by_truth=settings.reward == "true_match_quality",
        )


class State(NamedTuple):
    """B queues with room for P players and V visits each, and C actions.

    Attributes:
        queue: QUEUE records, shape (B,).
        players: PLAYER records, shape (B, P).
        line: places of those who wait in the order of joining, shape (B, P); NONE for a player who
            left in this tick.
        free: places without a player, shape (B, P).
        ring: PARTICIPANT records in the order in which games began, shape (B, P); circular.
        shown: places of the focal player and the candidates, shape (B, C); NONE for no one.
        mask: allowed actions, shape (B, C).
        observation: shape (B, 4 C + 3), float32.
        luck: uniform numbers that decide the first N games, shape (B, N); NaN: not fixed.
        visits: VISIT records, shape (B, V); V = 0 where visits are not kept.
    """

    queue: Records
    players: Records
    line: Integers
    free: Integers
    ring: Records
    shown: Integers
    mask: NDArray[np.bool_]
    observation: NDArray[np.float32]
    luck: Floats
    visits: Records

    @property
    def room(self) -> int:
        """P, the players that have room in each queue."""
        return self.line.shape[1]


def empty_state(
    settings: QueueSettings, count: int, room: int = FIRST_ROOM, luck: int = 0, visits: int = 0
) -> State:
    """Return queues that have not begun.

    Args:
        settings: of the environment.
        count: B.
        room: P.
        luck: N.
        visits: V.
    """
    capacity = settings.capacity
    return State(
        queue=np.zeros(count, QUEUE),
        players=np.zeros((count, room), PLAYER),
        line=np.full((count, room), NONE),
        free=np.full((count, room), NONE),
        ring=np.zeros((count, room), PARTICIPANT),
        shown=np.full((count, capacity), NONE),
        mask=np.zeros((count, capacity), dtype=np.bool_),
        observation=np.zeros((count, settings.observation_size), dtype=np.float32),
        luck=np.full((count, luck), np.nan),
        visits=np.zeros((count, visits), VISIT),
    )


def with_room(state: State, room: int) -> State:
    """Return the same queues with room for more players."""
    queue, old, rows = state.queue.copy(), state.room, np.arange(len(state.queue))
    names = ("players", "line", "free", "ring")
    wide = {name: _widened(getattr(state, name), room) for name in names}
    # The ring is opened, so that its first game comes first.
    turned = (queue["first"][:, np.newaxis] + np.arange(old)) % old
    wide["ring"][:, :old] = state.ring[rows[:, np.newaxis], turned]
    queue["first"] = 0
    new = np.arange(old, room)
    for row in rows:
        wide["free"][row, queue["free"][row] : queue["free"][row] + new.size] = new
    queue["free"] += new.size
    return state._replace(queue=queue, **wide)


def with_luck(state: State, rows: Integers, luck: Floats) -> State:
    """Return the same queues with other uniform numbers for the first games of some.

    Args:
        state: not changed.
        rows: the queues, shape (K,).
        luck: shape (B, N) or (N,); all that was fixed before for these queues is forgotten.
    """
    wide = _widened(state.luck, max(state.luck.shape[1], luck.shape[-1]))
    wide[rows] = np.nan
    wide[rows, : luck.shape[-1]] = np.broadcast_to(luck, (len(wide), luck.shape[-1]))[rows]
    return state._replace(luck=wide)


def with_visits(state: State, count: int) -> State:
    """Return the same queues with room for ``count`` visits each."""
    return state._replace(visits=_widened(state.visits, count))


def _widened(array: NDArray[Any], columns: int) -> NDArray[Any]:
    wide = np.zeros((len(array), columns), array.dtype)
    if array.dtype.kind == "f":
        wide[:] = np.nan
    wide[:, : array.shape[1]] = array
    return wide
