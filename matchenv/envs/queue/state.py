"""The state of B queues: records in arrays with a row for each queue.

Each player who is logged on has a slot, a column of ``State.players``. Slots of waiting players are
in the line, slots of playing ones in the seats of their games, and all others are free.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.settings import QueueSettings
from matchenv.runtime.arrays import Floats, Integers, Masks

# Structured arrays of the records below.
Records = NDArray[Any]

# No slot.
NONE = -1

# Phases of a queue.
BEFORE_TICK = 0
BEFORE_CHOICE = 1
OVER = 2

# Sides of a game.
NUM_SIDES = 2

# Initial number of slots, which doubles when needed.
FIRST_ROOM = 64

# Time and totals of a queue.
CLOCK = np.dtype(
    [
        ("key", np.uint64),  # of all random numbers of the run
        ("tick", np.int64),  # the current tick, from 0
        ("phase", np.int64),  # BEFORE_TICK, BEFORE_CHOICE or OVER
        ("next_log_on", np.float64),  # time of the next log-on, in ticks
        # Totals since the reset.
        ("logged_on", np.int64),  # players who logged on
        ("queued", np.int64),  # times that a player joined the queue
        ("matched_players", np.int64),  # times that a player left the queue for a game
        ("abandoned", np.int64),  # times that a player gave up
        ("waited", np.int64),  # ticks that all players who left the queue had waited
        ("games_begun", np.int64),  # games that began
        # Current numbers of players.
        ("waiting", np.int64),  # who wait
        ("to_ask", np.int64),  # who wait and had no choice yet in this tick
        ("playing", np.int64),  # in games
        # Positions in the arrays of the state.
        ("focal", np.int64),  # slot of the focal player, or NONE
        ("length", np.int64),  # positions of the line that are in use
        ("cursor", np.int64),  # position in the line of the next choice
        ("num_free", np.int64),  # slots in ``free_players``
        ("oldest", np.int64),  # column of ``games`` with the oldest current game
        ("num_visits", np.int64),  # records in ``visits``
        # Results of the last choice.
        ("reward", np.float64),  # since that choice
        ("match_quality", np.float64),  # of the game that it began, else 0
        ("true_match_quality", np.float64),  # the same under the true skills
    ],
    align=True,
)

# A player.
PLAYER = np.dtype(
    [
        ("number", np.int64),  # in the order of logging on, from 0
        ("played", np.int64),  # games since the log-on
        ("newcomer", np.int64),  # 1 for a newcomer, 0 for a regular
        ("joined", np.int64),  # tick of joining the queue
        ("leaves", np.int64),  # last tick of patience
        ("position", np.int64),  # in the line
        ("mu", np.float64),  # mean of the belief, in skill points
        ("sigma", np.float64),  # standard deviation of the belief
        ("true_skill", np.float64),  # in skill points
    ],
    align=True,
)

# A current game.
GAME = np.dtype(
    [
        ("number", np.int64),  # in the order of beginning, from 0
        ("end", np.int64),  # tick at whose start the game ends
    ],
    align=True,
)

# A visit to the queue that has ended.
VISIT = np.dtype(
    [
        ("tick", np.int64),  # of its end
        ("player", np.int64),  # number of the player
        ("newcomer", np.int64),  # 1 for a newcomer, 0 for a regular
        ("games_played", np.int64),  # by the player before the end of the visit
        ("waited", np.int64),  # ticks
        ("served", np.int64),  # 1 if a game ended it, 0 if the player gave up
        ("mu", np.float64),  # mean of the belief at its end
        ("sigma", np.float64),  # standard deviation of the belief at its end
        ("true_skill", np.float64),  # at its end
        ("match_quality", np.float64),  # of the game, or 0
        ("true_match_quality", np.float64),  # of the game, or 0
    ],
    align=True,
)


class State(NamedTuple):
    """B queues with C actions and room for P players, P / 2 games and V visits.

    Attributes:
        clock: CLOCK records, shape (B,).
        players: PLAYER records, one for each slot, shape (B, P).
        line: slots of waiting players in the order of joining, shape (B, P); NONE for a player who
            left in this tick.
        free_players: slots without a player, a stack, shape (B, P).
        games: GAME records of the current games in the order of beginning, shape (B, P / 2); a
            ring from ``clock["oldest"]`` on.
        seats: slots of the players of these games, one for each side, shape (B, P / 2, 2).
        shown: slots of the players in the observation: the focal player, then the candidates; NONE
            if missing, shape (B, C).
        mask: allowed actions, shape (B, C).
        observation: shape (B, 4 C + 3), float32.
        luck: uniform numbers that decide the first N games, shape (B, N); NaN if not fixed.
        visits: VISIT records, shape (B, V); V is 0 if visits are not recorded.
    """

    clock: Records
    players: Records
    line: Integers
    free_players: Integers
    games: Records
    seats: Integers
    shown: Integers
    mask: Masks
    observation: NDArray[np.float32]
    luck: Floats
    visits: Records

    @property
    def room(self) -> int:
        """P, the number of slots in each queue."""
        return self.players.shape[1]


def empty_state(settings: QueueSettings, count: int) -> State:
    """Return ``count`` queues that have not begun."""
    room = FIRST_ROOM
    most_games = room // NUM_SIDES
    return State(
        clock=np.zeros(count, CLOCK),
        players=np.zeros((count, room), PLAYER),
        line=np.full((count, room), NONE),
        free_players=np.full((count, room), NONE),
        games=np.zeros((count, most_games), GAME),
        seats=np.full((count, most_games, NUM_SIDES), NONE),
        shown=np.full((count, settings.capacity), NONE),
        mask=np.zeros((count, settings.capacity), dtype=np.bool_),
        observation=np.zeros((count, settings.observation_size), dtype=np.float32),
        luck=np.full((count, 0), np.nan),
        visits=np.zeros((count, 0), VISIT),
    )


def grown(state: State) -> State:
    """Return the same queues with twice the room for players, games and visits."""
    clock = state.clock.copy()
    rows = np.arange(len(clock))[:, np.newaxis]
    new_slots = np.arange(state.room, 2 * state.room)
    free_players = doubled(state.free_players)
    free_players[rows, clock["num_free"][:, np.newaxis] + np.arange(state.room)] = new_slots
    clock["num_free"] += state.room
    # The new ring begins with the oldest game.
    most_games = state.games.shape[1]
    in_order = (clock["oldest"][:, np.newaxis] + np.arange(most_games)) % most_games
    clock["oldest"] = 0
    return state._replace(
        clock=clock,
        players=doubled(state.players),
        line=doubled(state.line),
        free_players=free_players,
        games=doubled(state.games[rows, in_order]),
        seats=doubled(state.seats[rows, in_order]),
        visits=doubled(state.visits),
    )


def doubled(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of shape (B, n, ...) with n columns of zeros added."""
    return np.concatenate((array, np.zeros_like(array)), axis=1)
